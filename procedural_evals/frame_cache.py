"""Decoded frames kept on disk, so that many models asked about the same videos share one decoding.

An entry belongs to a file as it was (path, size, time of change), to what was asked of it and to
the decoder; when any of these changes it is another entry. Its pixels are kept as they are: on the
clips of `benchmarks/frames.py` and on Flat-Pack Bench videos decoding gives 30 to 50 MB/s a core,
zlib at its fastest gives 230 to 270 MB/s for half of the space, and the bare pixels give over 500.

`$PROCEDURAL_EVALS_FRAME_CACHE` is how much may be kept, for example 20GB; 0 turns it off. The
entries used least recently make room. Any number of processes may share the folder,
`folders.cache("frames")`: an entry comes into being whole, and one that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from procedural_evals import folders, video

_LOG = logging.getLogger(__name__)

SIZE_VARIABLE = "PROCEDURAL_EVALS_FRAME_CACHE"
DEFAULT_SIZE = "4GB"

_VERSION = 1  # raised whenever entries are written in another form
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_ENTRY, _PART = ".frames", ".part"
_ABANDONED = 3600.0
"""Seconds after which an unfinished entry belongs to no process any more."""

_writes = True

Notes = dict[str, Any]


def size_limit(text: str | None = None) -> int:
    """Bytes that may be kept: of a text, or as the environment says.

    >>> size_limit("1.5 GB"), size_limit("0")
    (1500000000, 0)
    """
    asked = text or os.environ.get(SIZE_VARIABLE) or DEFAULT_SIZE
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b?)\s*", asked, re.IGNORECASE)
    unit = found[2].upper() if found else ""
    unit += "B" if unit in {"K", "M", "G", "T"} else ""
    if not found:
        raise ValueError(f"${SIZE_VARIABLE}={asked}: a size is needed, as {DEFAULT_SIZE}, or 0")
    return int(float(found[1]) * _UNITS[unit])


def sample_frames(path: str | os.PathLike[str], **request: Any) -> video.Frames:
    """What `video.sample_frames` gives for the same arguments, kept."""

    def read() -> tuple[np.ndarray, Notes]:
        shown = video.sample_frames(path, **request)
        return shown.frames, {"times": shown.times.tolist()}

    frames, notes = kept(path, {"call": "sample_frames", **request}, read)
    return video.Frames(frames, np.array(notes["times"], dtype=np.float64))


def kept(
    path: str | os.PathLike[str],
    request: Mapping[str, Any],
    read: Callable[[], tuple[np.ndarray, Notes]],
) -> tuple[np.ndarray, Notes]:
    """What `read` returns, from the cache where it is there.

    Args:
        path: the video.
        request: what is asked of it: names and plain values, arrays among them.
        read: decodes; returns uint8 pictures and notes on them that JSON can hold. What it raises
            goes through, and is not kept.
    """
    limit = size_limit()
    entry = _entry(Path(path), request) if limit else None
    if entry is None:
        return read()
    found = _load(entry)
    if found is None:
        found = read()
        _save(entry, *found, limit)
    return found


def _entry(path: Path, request: Mapping[str, Any]) -> Path | None:
    """Where the answer is kept; None for a file that is not there."""
    try:
        stat = path.stat()
    except OSError:
        return None
    known = {
        "version": _VERSION,
        "decoder": video.DECODER_VERSION,
        "path": str(path.absolute()),
        "size": stat.st_size,
        "changed": stat.st_mtime_ns,
        "request": dict(request),
    }
    text = json.dumps(known, sort_keys=True, default=lambda value: np.asarray(value).tolist())
    return folders.cache("frames") / (hashlib.sha256(text.encode()).hexdigest() + _ENTRY)


def _load(entry: Path) -> tuple[np.ndarray, Notes] | None:
    """A whole entry, or None; it counts as used now."""
    try:
        with entry.open("rb") as file:
            head = json.loads(file.readline())
            shape = tuple(int(side) for side in head["shape"])
            if min(shape) < 1 or entry.stat().st_size - file.tell() != int(np.prod(shape)):
                raise ValueError("another size")
            pictures = np.empty(shape, dtype=np.uint8)
            file.readinto(_bytes_of(pictures))
        if zlib.crc32(_bytes_of(pictures)) != head["crc32"]:
            raise ValueError("another checksum")
        notes: Notes = head["notes"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.info("%s is damaged (%s): the frames are decoded again", entry, error)
        return None
    with suppress(OSError):
        os.utime(entry)
    return pictures, notes


def _bytes_of(pictures: np.ndarray) -> memoryview:
    buffer: Any = pictures  # which numpy's annotations deny on Python 3.10
    return memoryview(buffer).cast("B")


def _save(entry: Path, pictures: np.ndarray, notes: Notes, limit: int) -> None:
    """Keep an entry; where that fails, say so once and keep nothing more."""
    global _writes
    if not _writes or pictures.nbytes > limit:
        return
    pictures = np.ascontiguousarray(pictures, dtype=np.uint8)
    content = _bytes_of(pictures)
    head = {"shape": pictures.shape, "crc32": zlib.crc32(content), "notes": notes}
    part: Path | None = None
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=entry.parent, suffix=_PART, delete=False) as file:
            part = Path(file.name)
            file.write(json.dumps(head).encode() + b"\n")
            file.write(content)
        part.replace(entry)
        _make_room(entry, limit)
    except OSError as error:
        _writes = False
        _LOG.warning(
            "decoded frames are not kept any more: %s. Free some space, or set $%s to a size or 0",
            error,
            SIZE_VARIABLE,
        )
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _make_room(newest: Path, limit: int) -> None:
    """Remove the entries used least recently until the others take no more than the limit."""
    entries = []
    for file in newest.parent.iterdir():
        with suppress(OSError):  # another process may remove it now
            stat = file.stat()
            if file.suffix == _ENTRY:
                entries.append((file == newest, stat.st_mtime_ns, stat.st_size, file))
            elif file.suffix == _PART and time.time() - stat.st_mtime > _ABANDONED:
                file.unlink()
    taken = sum(size for _, _, size, _ in entries)
    for _, _, size, file in sorted(entries):
        if taken <= limit:
            break
        with suppress(FileNotFoundError):
            file.unlink()
        taken -= size
