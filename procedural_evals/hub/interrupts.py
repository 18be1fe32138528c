"""Ctrl-C while files are sent: the first finishes the files under way, the second does not wait.

huggingface_hub sends several files at once and, when interrupted, waits for these in silence.
Waiting is worth it (a finished file is not sent again), but nobody should have to wait unawares.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit status of a program that was ended by Ctrl-C.
INTERRUPTED = 130


@contextmanager
def two_steps(progress: Callable[[], str]) -> Iterator[None]:
    """Say what the first Ctrl-C does, and end the process at the second.

    Outside the main thread, which alone receives Ctrl-C, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            print(f"\nstopped at once. {progress()}", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)  # threads that send would be waited for otherwise
        print(
            "\nstopping when the files that are being sent have arrived; Ctrl-C again: at once",
            file=sys.stderr,
            flush=True,
        )
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
