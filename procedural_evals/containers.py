"""Whether a video file is all there, told from the lengths that its own structure declares.

MP4/MOV is a row of boxes, Matroska/WebM one segment; both say how long they are. A download that
broke off is shorter than that. Nothing is decoded and only a few bytes are read.
"""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import BinaryIO

_EBML = 0x1A45DFA3
_SEGMENT = 0x18538067
# Only these boxes are believed: bytes that some writers leave behind the last box are not a box.
_LONG_BOXES = {b"mdat", b"moov", b"moof"}


def missing_bytes(path: str | PathLike[str]) -> int | None:
    """How many bytes a file lacks at its end; None where its format does not say.

    0 for a complete MP4, MOV, MKV or WebM file. None for other formats and for a Matroska segment
    of unknown length, as live recorders write it.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([0, 0, 0, 8]) + b"ftyp" + bytes([0, 0, 0, 16]) + b"mdat")
    ...     file.flush()
    ...     missing_bytes(file.name)
    8
    """
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        head = file.read(8)
        file.seek(0)
        if head[4:8] in {b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"styp"}:
            return _missing_from_boxes(file, size)
        if head[:4] == _EBML.to_bytes(4, "big"):
            return _missing_from_segment(file, size)
    return None


def _missing_from_boxes(file: BinaryIO, size: int) -> int:
    position = 0
    while position + 8 <= size:
        file.seek(position)
        length, kind = struct.unpack(">I4s", file.read(8))
        if length == 1:
            wide = file.read(8)
            length = struct.unpack(">Q", wide)[0] if len(wide) == 8 else 16
        if length < 8:  # 0: the box reaches to the end of the file, whatever that is
            return 0
        if position + length > size:
            return position + length - size if kind in _LONG_BOXES else 0
        position += length
    return 0


def _missing_from_segment(file: BinaryIO, size: int) -> int | None:
    while True:
        element = _vint(file, keep_marker=True)
        length = _vint(file, keep_marker=False)
        if element is None or length is None:
            return None
        if element == _SEGMENT:
            return max(0, file.tell() + length - size)
        file.seek(length, 1)


def _vint(file: BinaryIO, *, keep_marker: bool) -> int | None:
    """An EBML number of 1 to 8 bytes; None at the end of the file and for "unknown"."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    width = 9 - first[0].bit_length()
    rest = file.read(width - 1)
    if len(rest) < width - 1:
        return None
    value = int.from_bytes(first + rest, "big")
    if keep_marker:
        return value
    value &= (1 << 7 * width) - 1
    return None if value == (1 << 7 * width) - 1 else value
