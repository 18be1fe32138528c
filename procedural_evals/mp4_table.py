"""When the samples of an MP4 or MOV file are shown, read from its sample tables alone.

FFmpeg has the same tables in memory after opening a file but hands them out one packet at a time,
which for half an hour of video takes longer than decoding a few frames of it. Only plain files are
read here: no fragments, one coded format a track, an edit list that cuts nothing off. For all
others the answer is None, and the packets have to be listed. Format: ISO/IEC 14496-12.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

# Tables of a day of video at 60 frames a second need less.
_LARGEST = 256 << 20
# The parameters of these are in their sample entry: opening them needs no decoding.
_DESCRIBED = {b"avc1", b"avc3"}


class SampleTable(NamedTuple):
    """One video track's samples, in the order of the file."""

    track: int
    """The track's number, which FFmpeg calls the stream's id."""
    timescale: int
    """Ticks a second."""
    decoded: Int64
    """Decoding times in ticks, from 0."""
    shown: Int64
    """Presentation times in ticks, on the same clock before the edit list."""
    keys: Int64
    """Indices of the keyframes, ascending."""
    described: tuple[bool, ...]
    """For each track of the file whether its sample entry describes its coding in full."""


def sample_table(path: str | PathLike[str]) -> SampleTable | None:
    """The table of a file's only video track; None where the file is not a plain MP4 of one."""
    try:
        movie = _movie(Path(path))
        return None if movie is None else _only_video(movie)
    except (struct.error, ValueError, IndexError, OverflowError):
        return None  # a table that contradicts itself is for FFmpeg to make something of


def _movie(path: Path) -> bytes | None:
    """The content of the file's movie box."""
    size = path.stat().st_size
    with path.open("rb") as file:
        position = 0
        while position + 8 <= size:
            file.seek(position)
            length, kind = struct.unpack(">I4s", file.read(8))
            head = 8
            if length == 1:
                length, head = struct.unpack(">Q", file.read(8))[0], 16
            if position == 0 and kind not in {b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"}:
                return None
            if length < head or kind == b"moof":
                return None
            if kind == b"moov":
                return file.read(length - head) if length <= _LARGEST else None
            position += length
    return None


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each box; of this size none is longer than 32 bits can say."""
    position = 0
    while position + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        if length < 8 or position + length > len(data):
            raise ValueError(f"box {kind!r} of {length} bytes")
        yield kind, data[position + 8 : position + length]
        position += length


def _only_video(movie: bytes) -> SampleTable | None:
    tracks, scale = [], 0
    for kind, content in _boxes(movie):
        if kind in {b"mvex", b"cmov"}:  # goes on in fragments; is compressed
            return None
        if kind == b"mvhd":
            scale = _timescale(content)
        if kind == b"trak":
            tracks.append(_inside(content))
    videos = [track for track in tracks if track[b"mdia/hdlr"][8:12] == b"vide"]
    if len(videos) != 1 or not scale:
        return None
    described = tuple(track[b"mdia/minf/stbl/stsd"][12:16] in _DESCRIBED for track in tracks)
    return _table(videos[0], scale, described)


def _inside(track: bytes, path: bytes = b"") -> dict[bytes, bytes]:
    """Content of the boxes in a track by their path, for example `mdia/minf/stbl/stts`."""
    found: dict[bytes, bytes] = {}
    for kind, content in _boxes(track):
        if kind in {b"mdia", b"minf", b"stbl", b"edts"}:
            found |= _inside(content, path + kind + b"/")
        elif path + kind in found:
            raise ValueError(f"two boxes {kind!r}")
        else:
            found[path + kind] = content
    return found


def _timescale(header: bytes) -> int:
    """Of a movie's or a medium's header: behind two times of 4 or, in version 1, 8 bytes."""
    scale: int = struct.unpack_from(">I", header, 20 if header[0] == 1 else 12)[0]
    return scale


def _numbers(table: bytes, columns: int, skip: int = 8) -> Int64:
    """The big-endian 32-bit numbers of a table, signed, behind version, flags and their count."""
    count = struct.unpack_from(">I", table, skip - 4)[0]
    flat = np.frombuffer(table, ">i4", count * columns, skip).astype(np.int64)
    return flat.reshape(count, columns)


def _table(
    track: dict[bytes, bytes], movie_scale: int, described: tuple[bool, ...]
) -> SampleTable | None:
    boxes = {path.rpartition(b"/")[2]: content for path, content in track.items()}
    if struct.unpack_from(">I", boxes[b"stsd"], 4)[0] != 1 or b"stsz" not in boxes:
        return None
    fixed, samples = struct.unpack_from(">II", boxes[b"stsz"], 4)
    # An empty sample is no packet.
    if not samples or (not fixed and not _numbers(boxes[b"stsz"], 1, 12).all()):
        return None
    counts, steps = _numbers(boxes[b"stts"], 2).T
    if (steps < 0).any() or (counts < 0).any() or counts.sum() != samples:
        return None
    decoded = np.concatenate([[0], np.cumsum(np.repeat(steps, counts))[:-1]])
    shown = decoded
    if b"ctts" in boxes:
        counts, offsets = _numbers(boxes[b"ctts"], 2).T
        if (counts < 0).any() or counts.sum() != samples:
            return None
        shown = decoded + np.repeat(offsets, counts)
    keys = _numbers(boxes[b"stss"], 1)[:, 0] - 1 if b"stss" in boxes else np.arange(samples)
    if not len(keys) or keys[0] < 0 or keys[-1] >= samples or (np.diff(keys) <= 0).any():
        return None
    timescale = _timescale(boxes[b"mdhd"])
    if not timescale or not _shows_all(boxes.get(b"elst"), shown, timescale / movie_scale):
        return None
    place = 20 if boxes[b"tkhd"][0] == 1 else 12
    number = struct.unpack_from(">I", boxes[b"tkhd"], place)[0]
    return SampleTable(number, timescale, decoded, shown, keys, described)


def _shows_all(edits: bytes | None, shown: Int64, ticks: float) -> bool:
    """Whether an edit list, of units of so many ticks, leaves in every sample, once, in order.

    It may begin with an empty edit, which delays the track.
    """
    if edits is None:
        return True
    entry = ">Qqhh" if edits[0] == 1 else ">Iihh"
    count = struct.unpack_from(">I", edits, 4)[0]
    listed = [
        struct.unpack_from(entry, edits, 8 + n * struct.calcsize(entry)) for n in range(count)
    ]
    if listed and listed[0][1] == -1:
        del listed[0]
    if len(listed) != 1:
        return not count
    length, begin, *rate = listed[0]
    inside = begin <= shown.min() and shown.max() < begin + int(length * ticks)
    return bool(inside) and rate == [1, 0]
