"""Replies on disk, so that an interrupted or repeated run pays only for what is new.

One SQLite file in WAL mode. A reply is a row that is added as soon as it is there and never
changed; a process that is killed loses at most the replies that were on their way, and two
processes may use one file at once. A reply's key is the SHA-256 of what it depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from procedural_evals.judge.client import Message, Reply

CACHE_VARIABLE = "PROCEDURAL_EVALS_CACHE"
FILE_NAME = "judge-replies.sqlite3"
BUSY_SECONDS = 60.0
_SET_UP_TRIES = 100

_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    added TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    model TEXT NOT NULL,
    reply TEXT NOT NULL
)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS replies_by_key ON replies (key)"
_GET = "SELECT reply FROM replies WHERE key = ? ORDER BY number DESC LIMIT 1"
_ADD = "INSERT INTO replies (key, model, reply) VALUES (?, ?, ?)"
_ADD_NEW = """
INSERT INTO replies (key, model, reply) SELECT :key, :model, :reply
WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = :key)
"""


def default_folder() -> Path:
    """$PROCEDURAL_EVALS_CACHE, or procedural-evals in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "procedural-evals"


def reply_key(
    base_url: str,
    model: str,
    rubric: str,
    messages: Sequence[Message],
    arguments: Mapping[str, Any],
) -> str:
    """SHA-256 of everything that a reply depends on, 64 hex digits.

    The server's address is part of it, because two servers may give different models one name; how
    the address is spelled (a slash at its end, capitals in the host) is not. `rubric` is its id:
    name, version and hash.

    >>> url, messages = "http://localhost:1/v1", [{"role": "user", "content": "?"}]
    >>> one = reply_key(url, "m", "r@1", messages, {"a": 1, "b": 2})
    >>> one == reply_key(url + "/", "m", "r@1", messages, {"b": 2, "a": 1})
    True
    """
    server = urlsplit(base_url.rstrip("/"))
    address = server._replace(netloc=server.netloc.lower()).geturl()
    content = [address, model, rubric, list(messages), dict(arguments)]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _set_up(file: sqlite3.Connection) -> None:
    # Two processes that make the file at one moment may find it locked without any waiting.
    for _ in range(_SET_UP_TRIES):
        try:
            # In WAL mode a commit survives a killed process without waiting for the disk.
            mode = file.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            file.execute(f"PRAGMA synchronous={'NORMAL' if mode == 'wal' else 'FULL'}")
            file.execute(_TABLE)
            file.execute(_INDEX)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            time.sleep(0.05)
    raise sqlite3.OperationalError("another process keeps the file locked")


class ReplyCache:
    """The replies kept in a folder; the folder and its file are made at the first use.

    The first use raises ValueError when the file is no cache. A context manager that closes itself.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.path = (default_folder() if folder is None else Path(folder)) / FILE_NAME
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None

    def _opened(self) -> sqlite3.Connection:
        """The open file; call it with the lock held."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,  # the event loop may be another thread's; the lock guards
            )
            try:
                _set_up(file)
            except sqlite3.DatabaseError as error:
                file.close()
                raise ValueError(
                    f"{self.path}: {error}; move the file away, or choose another cache folder"
                ) from None
            self._file = file
        return self._file

    def get(self, key: str) -> Reply | None:
        """The reply kept under this key, None when there is none."""
        with self._lock:
            row = self._opened().execute(_GET, (key,)).fetchone()
        return None if row is None else Reply(**json.loads(row[0]))

    def add(self, key: str, model: str, reply: Reply, again: bool = False) -> Reply:
        """Keep a reply and return the one that counts.

        When another process was first, its reply counts and this one is dropped; with `again` (the
        first one was of no use) this one counts from now on.
        """
        text = json.dumps(vars(reply), ensure_ascii=True)
        with self._lock:
            file = self._opened()
            if again:
                file.execute(_ADD, (key, model, text))
            else:
                file.execute(_ADD_NEW, {"key": key, "model": model, "reply": text})
            row = file.execute(_GET, (key,)).fetchone()
        return Reply(**json.loads(row[0]))

    def __len__(self) -> int:
        """How many keys have a reply."""
        with self._lock:
            row = self._opened().execute("SELECT COUNT(DISTINCT key) FROM replies").fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    def __enter__(self) -> ReplyCache:
        """The cache itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()
