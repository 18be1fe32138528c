"""Frames of video files and the times at which they are on screen, read with PyAV alone.

Times are seconds (float64) after the first frame of the file, whatever the timestamp that the
container gives to that frame: 0.0 is the first frame. A frame stays on screen from its own time
until the time of the next one. Ranges are half-open, `[start, end)`.

Reading a few frames out of many costs no more than one pass over the file: it is known when each
frame is shown before one is decoded, and only what the wanted ones build on is decoded then, by as
many threads as there are processors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace, Interpolation, VideoReformatter
from av.video.stream import VideoStream

from procedural_evals import segments
from procedural_evals.containers import missing_bytes
from procedural_evals.decoding import (
    Feed,
    Source,
    StrPath,
    VideoError,
    decoded,
    existing,
    frame_rate,
    opened,
)
from procedural_evals.timelines import Float64, Int64, Timeline, timeline_of, truncation

__all__ = [
    "DECODER_VERSION",
    "RULES",
    "Frames",
    "VideoError",
    "VideoInfo",
    "check_video",
    "frame_count",
    "frame_times",
    "iter_frames",
    "planned_times",
    "probe",
    "sample_frames",
]

UInt8 = npt.NDArray[np.uint8]

#: What may stand in for a broken frame under `strict`: one at most so many frames, or so many
#: seconds, older.
MOST_BROKEN = 1
LATEST_STAND_IN = 0.5

# Raised by one whenever the same call may return other frames or other pixels than before.
_RULES_VERSION = 2
_LIBAVCODEC = ".".join(str(part) for part in av.library_versions.get("libavcodec", ()))
#: Names what decides which pixels come back; a result that depends on frames records it.
DECODER_VERSION = f"frames-{_RULES_VERSION} av-{av.__version__} libavcodec-{_LIBAVCODEC}"

# The stream's tag for its colour matrix -> the converter's name for it; others mean BT.601.
_MATRICES = {1: Colorspace.ITU709, 4: Colorspace.FCC, 7: Colorspace.SMPTE240M}


class Frames(NamedTuple):
    """Frames with the times at which they come on screen."""

    frames: UInt8
    """RGB, shape [n, height, width, 3]."""
    times: Float64
    """Seconds after the first frame of the file, shape [n]."""


@dataclass(frozen=True)
class VideoInfo:
    """What a file says about its video stream."""

    path: str
    width: int
    """Pixels as shown, that is after the rotation."""
    height: int
    frames: int | None
    """Number of frames that the header promises; None where it promises none (WebM, MKV)."""
    duration: float
    """Seconds from the first frame's start to the last frame's end."""
    fps: float
    """Average frames per second."""
    codec: str
    start_time: float
    """Seconds that the container gives to the first frame; all other times count from it."""
    rotation: int
    """Degrees counter-clockwise (0, 90, 180, 270) by which stored frames are turned to be shown."""


def _quarter_turns(frame: VideoFrame) -> int:
    """Counter-clockwise quarter turns (0 to 3) that bring a stored frame upright."""
    return round(frame.rotation / 90) % 4


class _Painter:
    """Turns decoded frames into upright RGB arrays, all of the first one's size."""

    def __init__(self, size: tuple[int, int] | None) -> None:
        self._size = size
        # One for all frames: a frame's own converter would be set up anew each time.
        self._converter = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> UInt8:
        turns = _quarter_turns(frame)
        stored = (frame.width, frame.height)
        if self._size is None:
            self._size = stored if turns % 2 == 0 else stored[::-1]
        width, height = self._size if turns % 2 == 0 else self._size[::-1]
        # Unless told, the converter takes every picture for BT.601 in limited range.
        picture = self._converter.reformat(
            frame,
            width,
            height,
            "rgb24",
            src_colorspace=_MATRICES.get(frame.colorspace, Colorspace.DEFAULT),
            dst_colorspace=Colorspace.DEFAULT,
            src_color_range=frame.color_range,
            interpolation=Interpolation.BICUBIC,
        ).to_ndarray()
        return np.rot90(picture, turns).astype(np.uint8, copy=False)


class _Canvas:
    """Upright RGB arrays of frames, painted in any order, by several threads."""

    def __init__(self, count: int, size: tuple[int, int] | None) -> None:
        self.frames: UInt8 | None = None
        self._count = count
        self._size = size
        self._lock = threading.Lock()

    def brush(self) -> segments.Take:
        """A function, for one thread, that paints a frame into its place."""
        painter = _Painter(self._size)

        def paint(place: int, frame: VideoFrame) -> None:
            picture = painter(frame)
            with self._lock:
                if self.frames is None:
                    self.frames = np.empty((self._count, *picture.shape), dtype=np.uint8)
            if picture.shape != self.frames.shape[1:]:
                raise segments.UnsoundError("the size changes on the way")
            self.frames[place] = picture

        return paint


def probe(path: StrPath) -> VideoInfo:
    """What a file says about its video stream; decodes one frame and lists the packets.

    Raises `FileNotFoundError` when there is no such file and `VideoError` when it is not a
    readable video.
    """
    # Headers are not asked for times: they estimate the duration, sum up decoding times, or count
    # from 0 and not from the first frame.
    timeline = timeline_of(path)
    with opened(path, timeline.described, threads=1) as (container, stream):
        frame = _first_frame(path, container, stream)
        turns = _quarter_turns(frame)
        rate = frame_rate(stream)
        frames = stream.frames or None
        codec = stream.codec_context.name
    width, height = (frame.width, frame.height) if turns % 2 == 0 else (frame.height, frame.width)
    return VideoInfo(
        path=str(path),
        width=width,
        height=height,
        frames=frames,
        duration=timeline.end,
        fps=len(timeline.times) / timeline.end if timeline.numbered or not rate else float(rate),
        codec=codec,
        start_time=timeline.start_time,
        rotation=90 * turns,
    )


def _first_frame(path: StrPath, container: InputContainer, stream: VideoStream) -> VideoFrame:
    first = next(Feed(container, stream), None)
    if first is None:
        raise VideoError(f"{path}: no frame decodes")
    return first[1]


def check_video(path: StrPath) -> str | None:
    """Why a file cannot be used as a video, or None when nothing is wrong with it.

    Looks at the file's structure and decodes its first frame. Finds a missing, an empty and a
    truncated file, one without a video stream and one of which no frame decodes; damage farther
    inside shows only when the frames are read.
    """
    lacking: int | None = None
    try:
        # Cut within its index, a file does not even open; that it is cut says more.
        lacking = missing_bytes(existing(path))
        with opened(path) as (container, stream):
            if not lacking:
                _first_frame(path, container, stream)
        if lacking is None:
            timeline_of(path)  # the structure does not tell, the last packet does
    except (VideoError, OSError) as error:
        return truncation(path, lacking) if lacking else str(error)
    return truncation(path, lacking) if lacking else None


def frame_times(path: StrPath) -> Float64:
    """When each frame comes on screen, in seconds after the first, ascending, shape [frames].

    The packets are listed, not decoded; only a file without usable timestamps is decoded.
    """
    times: Float64 = timeline_of(path).times.copy()
    return times


def frame_count(path: StrPath) -> int:
    """Number of frames that the file holds, whatever its header promises."""
    return len(timeline_of(path).times)


def _uniform(frames: int, count: int) -> Int64:
    """Evenly spread frame numbers, the first and the last frame among them.

    >>> _uniform(10, 4).tolist()
    [0, 3, 6, 9]
    >>> _uniform(3, 8).tolist()
    [0, 1, 2]
    """
    return np.unique(np.linspace(0, frames - 1, count).round().astype(np.int64))


def _stride_from_end(times: Float64, count: int) -> Int64:
    """One frame a second, every k-th counted back from the last: the smallest k that fits.

    ProMQA-Assembly's rule: the last one is always in, and of more seconds than `count` between
    half of `count` and `count` frames come out.

    >>> _stride_from_end(np.arange(70.0), 25).tolist()[-3:]
    [63, 66, 69]
    """
    _, first = np.unique(np.floor(times), return_index=True)
    return first[:: -_ceil_ratio(len(first), count)][::-1].astype(np.int64)


def _ceil_ratio(a: int, b: int) -> int:
    return -(-a // b)


#: How `count` frames are picked in a range: name -> function of the ascending times of the frames
#: there (seconds, float64 [n]) and of the count, returning distinct ascending indices into them.
RULES: dict[str, Callable[[Float64, int], Int64]] = {
    "uniform": lambda times, count: _uniform(len(times), count),
    "stride_from_end": _stride_from_end,
}


def sample_frames(
    path: StrPath,
    *,
    times: Sequence[float] | Float64 | None = None,
    count: int | None = None,
    start: float | None = None,
    end: float | None = None,
    size: tuple[int, int] | None = None,
    rule: str = "uniform",
    strict: bool = False,
) -> Frames:
    """Read chosen frames; only these are kept in memory.

    Parameters
    ----------
    path:
        A local file.
    times:
        Seconds, in any order. For each one comes the frame that is on screen then: the last one
        that starts at or before it. Two times within one frame give that frame twice.
    count:
        Number of frames, picked by `rule` out of those that start in `[start, end)`. Where fewer
        start there, each of them comes once; where none does, the frame on screen at `start`.
    start, end:
        Seconds, for `count` only; the whole file when left out.
    size:
        (width, height) in pixels to which the frames are scaled; as stored when left out.
    rule:
        A name in `RULES`. "uniform" spreads the frames evenly, first and last included;
        "stride_from_end" takes one frame a second, every k-th back from the last.
    strict:
        Raise VideoError where the frame before a broken one is too old to stand in for it, by
        `MOST_BROKEN` and `LATEST_STAND_IN`: what a model is scored on must be what was asked for.

    Returns
    -------
    Frames
        `frames`, uint8 RGB [n, height, width, 3], turned upright; `times`, float64 [n]: when each
        of them comes on screen. Where a frame does not decode there is the one before it, as a
        player would show it: its time tells, and a warning is logged.

    Raises
    ------
    ValueError
        for a time or a range outside the video, and for contradictory arguments
    FileNotFoundError, VideoError
        for a missing, unreadable or truncated file

    Notes
    -----
    A time that misses a frame's start by at most one millisecond means that start: Matroska and
    WebM keep no finer times.
    """
    if (times is None) == (count is None):
        raise ValueError("give either times= or count=")
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(sorted(RULES))}")
    if size is not None and min(size) < 1:
        raise ValueError(f"size is (width, height) of at least one pixel each, got {size}")
    if times is not None and (start is not None or end is not None):
        raise ValueError("start= and end= go with count=; times= alone says which frames")
    if times is None and (count is None or count < 1):
        raise ValueError(f"count must be at least 1, got {count}")
    with Source(path) as source:
        timeline = timeline_of(path, source)
        while True:
            if times is not None:
                numbers = _on_screen(timeline, np.asarray(times, dtype=np.float64), path)
                wanted, places = np.unique(numbers, return_inverse=True)
            else:
                low, high = _range(timeline, start, end, path)
                wanted = low + RULES[rule](timeline.times[low:high], count or 1)
            shown = _read(source, timeline, wanted, size, strict)
            if shown is not None:
                break
            timeline = timeline_of(path, source, listed=True)
    if times is not None:
        return Frames(shown.frames[places], shown.times[places])
    # A broken frame's stand-in may be its neighbour, which was picked as well.
    fresh = np.diff(np.maximum.accumulate(shown.times), prepend=-1.0) > 0
    return shown if fresh.all() else Frames(shown.frames[fresh], shown.times[fresh])


def planned_times(
    path: StrPath,
    count: int,
    start: float | None = None,
    end: float | None = None,
    rule: str = "uniform",
) -> Float64:
    """When the frames come on screen that `sample_frames` picks, float64 [n]; decodes nothing.

    Raises what `sample_frames` raises for the same arguments.
    """
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(sorted(RULES))}")
    timeline = timeline_of(path)
    low, high = _range(timeline, start, end, path)
    times: Float64 = timeline.times[low + RULES[rule](timeline.times[low:high], count)]
    return times


def iter_frames(
    path: StrPath, *, size: tuple[int, int] | None = None
) -> Iterator[tuple[float, UInt8]]:
    """Read all frames in order: pairs of seconds and uint8 RGB [height, width, 3].

    Keeps one frame in memory. A frame that does not decode is left out.
    """
    timeline = timeline_of(path, listed=True)
    painter = _Painter(size)
    last = -1
    for number, frame in decoded(path, timeline, np.arange(len(timeline.times)), jump=False):
        if number > last:
            yield float(timeline.times[number]), painter(frame)
        last = number


def _on_screen(timeline: Timeline, times: Float64, path: StrPath) -> Int64:
    """Numbers of the frames that are on screen at the given times."""
    if times.ndim != 1 or not times.size:
        raise ValueError(f"times is a list of at least one number, got shape {times.shape}")
    inside = (times >= -timeline.slack) & (times < timeline.end + timeline.slack)
    if not inside.all():
        raise ValueError(
            f"{path} lasts from 0 to {timeline.end:.3f} s: no frame is on screen at "
            f"{times[~inside][0]:g} s"
        )
    numbers = np.searchsorted(timeline.times, times + timeline.slack, side="right") - 1
    return np.maximum(numbers, 0).astype(np.int64)


def _range(
    timeline: Timeline, start: float | None, end: float | None, path: StrPath
) -> tuple[int, int]:
    """First and one past the last of the frames that a range [start, end) means."""
    first = 0.0 if start is None else float(start)
    last = timeline.end if end is None else float(end)
    # Written so that NaN fails as well.
    if not (0 <= first < min(last, timeline.end - timeline.slack)):
        raise ValueError(
            f"{path} lasts from 0 to {timeline.end:.3f} s: no part of it is in "
            f"[{first:g}, {last:g})"
        )
    ends = np.array([first, last]) - timeline.slack
    low, high = (int(number) for number in np.searchsorted(timeline.times, ends))
    return (low, high) if low < high else (low - 1, low)


def _read(
    source: Source,
    timeline: Timeline,
    numbers: Int64,
    size: tuple[int, int] | None,
    strict: bool,
) -> Frames | None:
    """The frames with these ascending numbers, or what is on screen instead of a broken one.

    None where the file is not as its own tables say, so that its packets have to be listed. Raises
    VideoError, where asked to be strict, when what is on screen is of another time.
    """
    canvas = _Canvas(len(numbers), size)
    try:
        segments.read(source, timeline, numbers, canvas.brush)
        assert canvas.frames is not None, "at least one frame was asked for"
        return Frames(canvas.frames, timeline.times[numbers])
    except segments.UnsoundError:
        return _stand_ins(source.path, timeline, numbers, size, strict) if timeline.listed else None


def _stand_ins(
    path: StrPath,
    timeline: Timeline,
    numbers: Int64,
    size: tuple[int, int] | None,
    strict: bool,
) -> Frames:
    """The same of a file in which something is broken, read from one keyframe to the next."""
    painter = _Painter(size)
    frames: UInt8 | None = None
    times = np.empty(len(numbers), dtype=np.float64)
    for slot, (number, frame) in enumerate(decoded(path, timeline, numbers)):
        late = timeline.times[numbers[slot]] - timeline.times[number]
        if strict and numbers[slot] - number > MOST_BROKEN and late > LATEST_STAND_IN:
            raise VideoError(
                f"{path} is damaged: no frame decodes from {timeline.times[number + 1]:.2f} s to "
                f"{timeline.times[numbers[slot]]:.2f} s"
            )
        picture = painter(frame)
        if frames is None:
            frames = np.empty((len(numbers), *picture.shape), dtype=np.uint8)
        frames[slot], times[slot] = picture, timeline.times[number]
    assert frames is not None, "at least one frame was asked for"
    return Frames(frames, times)
