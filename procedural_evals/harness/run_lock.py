"""Two runs that ask the same of the same model at the same time would pay for everything twice."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import filelock
from loguru import logger


class RunningAlreadyError(RuntimeError):
    """Another process is asking the same; the message names it."""


@contextlib.contextmanager
def hold(folder: Path, settings: str) -> Iterator[None]:
    """Hold the lock of these settings in a folder; it falls when the process ends, however it ends.

    Raises RunningAlreadyError while another process holds it. Where the file system knows no locks,
    that is said and the run goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{settings}.lock"
    lock = filelock.FileLock(path)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        holder = path.read_text(encoding="utf-8").strip() or "another process"
        raise RunningAlreadyError(
            f"{holder} is asking the same of this model now, with replies kept in {folder}; wait "
            "for its end, or choose another --output_path"
        ) from None
    except (NotImplementedError, OSError) as error:
        logger.warning(f"{path}: no locks here ({error}); start the same run only once at a time")
        yield
        return
    try:
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
        yield
    finally:
        lock.release()
