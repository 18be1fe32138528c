"""Cutting a clip out of a recording, for models that take a whole file and decode it themselves."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from procedural_evals import video
from procedural_evals.video import UInt8

_VERSION = 1  # raised whenever the same call would write another clip


def cut_clip(
    path: Path,
    start: float,
    end: float,
    folder: Path,
    *,
    fps: float = 2.0,
    size: tuple[int, int] | None = None,
) -> Path:
    """A file that holds the frames on screen in `[start, end)`, `fps` of them a second.

    Args:
        path: the recording.
        start: seconds from the recording's first frame.
        end: seconds, exclusive; nothing at or after it gets into the clip.
        folder: where clips are kept; the same cut is made once.
        fps: frames a second of the clip; its first frame is the one on screen at `start`.
        size: (width, height) of the clip in even pixels; the recording's when left out.

    Returns the clip's path. Raises what `video.sample_frames` raises for a bad file or range.
    """
    if not 0 <= start < end:
        raise ValueError(f"{path}: the clip [{start}, {end}) is empty or starts before 0")
    if fps <= 0:
        raise ValueError(f"fps: {fps}; a positive number is needed")
    stat = path.stat()
    key = repr(
        (_VERSION, str(path.resolve()), stat.st_size, stat.st_mtime_ns, start, end, fps, size)
    )
    target = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.mp4"
    # Half open: a time that falls on the end by rounding is left out.
    times = np.arange(start, end - 1e-6, 1 / fps)
    write_once(target, lambda partial: _write(path, times, partial, fps, size))
    return target


def write_once(target: Path, write: Callable[[Path], None]) -> None:
    """Make a file that is not there yet, whole or not at all, whoever else makes it meanwhile."""
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.stem}.{os.getpid()}.partial{target.suffix}")
    try:
        write(partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _write(
    path: Path, times: np.ndarray, target: Path, fps: float, size: tuple[int, int] | None
) -> None:
    def frames() -> Iterator[UInt8]:
        for first in range(0, len(times), 32):  # a few frames in memory, however long the clip
            chosen = times[first : first + 32]
            yield from video.sample_frames(path, times=chosen, size=size, strict=True).frames

    write_video(target, frames(), Fraction(fps).limit_denominator(1000))


def write_video(target: Path, frames: Iterable[UInt8], fps: Fraction) -> None:
    """Write pictures, uint8 RGB [h, w, 3] of one size, as an H.264 file of `fps` a second.

    A last row or column that makes a side odd is left out: the colours of pixels go by twos.
    """
    import av

    with av.open(str(target), "w") as container:
        stream = None
        for frame in frames:
            if stream is None:
                height, width = (side - side % 2 for side in frame.shape[:2])
                stream = container.add_stream("libx264", rate=fps)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.options = {"crf": "18", "preset": "veryfast"}
            picture = np.ascontiguousarray(frame[: stream.height, : stream.width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        if stream is not None:
            container.mux(stream.encode())
