"""Replies of a model, written down one by one: what an interrupted run goes on from.

A log is a folder of JSON lines. Every process that adds to it writes a file of its own, named by
the time at which it began, and never appends to an older one: so several processes need no lock,
and what power loss has torn off one file is never glued to what comes after. Of two replies under
one key the later one holds.

A line is flushed before `append` returns, which is all that a killed process needs, and brought to
the disk (fsync) within a second by a thread beside it, so that power loss costs a second of replies
and a slow file system does not hold up requests that are under way.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from loguru import logger

#: Below a run's output path.
FOLDER = ".responses"
#: Set, a run asks for everything anew (`procedural-evals run --fresh`).
FRESH_VARIABLE = "PROCEDURAL_EVALS_FRESH"

FORMAT = 1
SYNC_SECONDS = 1.0
# Kept free for the replies that are already on their way when the disk turns out to be full.
RESERVE_BYTES = 256 * 1024
_RESERVE = "reserve"


class LogWriteError(OSError):
    """The log cannot be written; the message says where, why, and how to go on."""


@dataclass(frozen=True)
class Entry:
    """One reply.

    Attributes:
        key: stands for everything that the reply depends on (see `reply_keys`).
        task: name of the task.
        item: the row's own id.
        repeat: which of several replies to the same request, from 0.
        reply: the model's words, never a failure.
        tokens: counts as lmms-eval names them; None where the model reports none.
        frame_times: seconds from the start of the video, of the frames that were shown.
        parts: a short hash of each thing that the key covers, to say which one has changed.
        time: when it was written, ISO 8601, UTC.
    """

    key: str
    task: str
    item: str
    repeat: int
    reply: str
    tokens: dict[str, int] | None = None
    frame_times: tuple[float, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    time: str = ""


@dataclass
class Found:
    """What a log holds for the keys that were looked for.

    Attributes:
        replies: the newest reply to each key.
        others: for a (item, repeat) that was looked for, the parts of its replies under other keys.
        broken: lines that are no reply: torn by power loss or a full disk.
    """

    replies: dict[str, Entry] = field(default_factory=dict)
    others: dict[tuple[str, int], list[Mapping[str, str]]] = field(default_factory=dict)
    broken: int = 0


def read(folder: Path, wanted: Mapping[str, tuple[str, int]]) -> Found:
    """The replies in a folder to these keys, each key with its (item, repeat).

    Lines that are no JSON object of ours are passed over and counted. A reply that is older than a
    request to ask its key anew does not count.
    """
    found = Found()
    looked_for = set(wanted.values())
    void: dict[str, str] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in _lines(file, found):
            if "anew" in line:
                void |= {key: max(line["time"], void.get(key, "")) for key in line["anew"]}
            elif "reply" not in line:
                continue  # the first line of a file
            elif (entry := _entry(line)).key in wanted:
                known = found.replies.get(entry.key)
                if known is None or known.time <= entry.time:
                    found.replies[entry.key] = entry
            elif (entry.item, entry.repeat) in looked_for:
                found.others.setdefault((entry.item, entry.repeat), []).append(entry.parts)
    found.replies = {
        key: entry for key, entry in found.replies.items() if entry.time >= void.get(key, "")
    }
    return found


def _lines(file: Path, found: Found) -> Iterator[dict[str, Any]]:
    broken = 0
    for raw in file.read_bytes().split(b"\n"):
        if not raw.strip():
            continue
        try:
            line = json.loads(raw)
            sound = line["time"] and ("reply" not in line or _entry(line))
        except (ValueError, TypeError, KeyError):
            sound = False
        if sound:
            yield line
        else:
            broken += 1
    if broken:
        found.broken += broken
        logger.warning(
            f"{file}: {broken} torn or damaged lines are left out (after a power loss or on a full "
            "disk the last ones are); those requests are made again"
        )


def _entry(line: dict[str, Any]) -> Entry:
    names = Entry.__dataclass_fields__
    values = {name: value for name, value in line.items() if name in names}
    return Entry(**values | {"frame_times": tuple(line.get("frame_times", ()))})


class ResponseLog:
    """The file in a log's folder to which this process appends; made with the first line.

    Args:
        folder: of the log; made with the first line.
        about: what every reply in this file was given under, for people who read it.
    """

    def __init__(self, folder: Path, about: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.unwritten: list[Entry] = []
        """Replies that could not be written, in order."""
        self.error: OSError | None = None
        """Why nothing more can be written."""
        self._about = dict(about or {})
        self._file: int | None = None
        began = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S.%f")
        self._path = folder / f"{began}-{uuid.uuid4().hex[:8]}.jsonl"
        self._size = 0
        self._due = False
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> ResponseLog:
        """The log itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def open(self) -> None:
        """Make the file, before anything is asked; LogWriteError when that is impossible."""
        if self._file is not None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._keep_reserve()
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            self._write([{"format": FORMAT, "time": _now(), **self._about}])
            _sync_folder(self.folder)
        except OSError as error:
            self.error = error
            raise self._failure() from error

    def ask_anew(self, keys: Collection[str]) -> None:
        """Let no older reply to these keys count any more."""
        self.open()
        try:
            self._write([{"anew": sorted(keys), "time": _now()}])
        except OSError as error:
            self.error = error
            raise self._failure() from error

    def append(self, entries: Iterable[Entry]) -> None:
        """Write replies down.

        Raises LogWriteError when that fails, or has failed before. On a full disk the replies in
        hand still go into the space kept free, where that suffices; `unwritten` has the others.
        """
        entries = list(entries)
        try:
            self.open()
            self._write(asdict(entry) | {"time": _now()} for entry in entries)
        except OSError as error:
            self.error = self.error or error
            if not self._written_in_reserve(entries):
                self.unwritten += entries
        self.check()

    def check(self) -> None:
        """Raise LogWriteError when something could not be written."""
        if self.error is not None:
            raise self._failure()

    def close(self) -> None:
        """Bring everything to the disk."""
        if self._timer is not None:
            self._timer.cancel()
        self._sync()
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Whole lines or none of them."""
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        assert self._file is not None, "the file is open"
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
                os.lseek(self._file, self._size, os.SEEK_SET)
            raise
        self._size += len(data)
        if not self._due:
            self._due = True
            self._timer = threading.Timer(SYNC_SECONDS, self._sync)
            self._timer.daemon = True
            self._timer.start()

    def _sync(self) -> None:
        self._due = False  # first: what is written from here on needs another one
        with self._lock:
            if self._file is not None:
                try:
                    os.fsync(self._file)
                except OSError as error:  # some file systems find out only now that they are full
                    self.error = self.error or error

    def _keep_reserve(self) -> None:
        path = self.folder / _RESERVE
        if path.is_file() and path.stat().st_size == RESERVE_BYTES:
            return
        # Random, so that a file system which compresses keeps the space as well.
        path.write_bytes(os.urandom(RESERVE_BYTES))

    def _written_in_reserve(self, entries: list[Entry]) -> bool:
        """Give the space kept free to the replies in hand."""
        if self._file is None:
            return False
        try:
            (self.folder / _RESERVE).unlink(missing_ok=True)
            self._write(asdict(entry) | {"time": _now()} for entry in entries)
        except OSError:
            return False
        return True

    def _failure(self) -> LogWriteError:
        names = ", ".join(f"{entry.task} {entry.item}" for entry in self.unwritten)
        lost = f" Not kept: {names}." if names else ""
        return LogWriteError(
            f"{self._path}: {self.error}.{lost} All earlier replies are kept; make room, and the "
            "same command goes on from there"
        )


def _sync_folder(folder: Path) -> None:
    """Bring the file's name to the disk as well."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")
