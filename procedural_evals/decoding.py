"""Decoding the frames of a file in the order in which they are shown, with jumps to keyframes.

The floor under `video`: a timeline lists when each frame is shown without decoding anything, and
`decoded` gives the pictures that are on screen with the least decoding.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from procedural_evals.containers import missing_bytes

_LOG = logging.getLogger(__name__)

StrPath = str | PathLike[str]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

# Matroska and WebM round every timestamp to a whole millisecond. A time that misses a frame's start
# by no more than this means that start.
_CLOCK = 0.001 + 1e-6
# A jump empties the decoder's pipeline; below this many skipped frames decoding on is cheaper.
_WORTH_A_JUMP = 8
# FFmpeg's own choice for streams without a frame rate.
_FALLBACK_RATE = 25


class VideoError(ValueError):
    """A file that cannot be read as video. The message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Timeline:
    """When each frame is shown, and from which packets decoding may start.

    A frame is known by its stamp: its presentation timestamp in ticks, or its number in the order
    of presentation where the file's timestamps are missing or cannot be right.
    """

    stamps: Int64
    """Ascending, one a frame."""
    times: Float64
    """Seconds after the first frame, one a frame."""
    end: float
    """When the last frame goes off screen."""
    slack: float
    """Seconds by which a time may miss a frame's start and still mean it."""
    start_time: float
    numbered: bool
    key_stamps: Int64
    """Stamps of the keyframes, ascending; none when numbered. Beside them: how many packets lie
    before each in the file, and its decoding timestamp."""
    key_orders: Int64
    key_dts: Int64

    def number_of(self, stamp: int) -> int:
        """Number of the frame with this stamp, or of the one before it."""
        return max(0, int(np.searchsorted(self.stamps, stamp, side="right")) - 1)


def _existing(path: StrPath) -> Path:
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"no video file at {file}")
    if file.is_dir():
        raise VideoError(f"{file} is a folder, not a video file")
    if file.stat().st_size == 0:
        raise VideoError(f"{file} is empty (0 bytes)")
    return file


@contextmanager
def opened(path: StrPath) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file and its video stream; raises what `video.probe` raises."""
    file = _existing(path)
    try:
        container = av.open(str(file), metadata_errors="ignore")
    except Exception as error:  # of several bases: damaged sizes even end as MemoryError
        raise VideoError(f"{file} does not open as a video: {error}") from error
    with container:
        stream = _video_stream(container)
        if stream is None:
            raise VideoError(f"{file} has no video stream")
        # PyAV would crash on a codec that it has no decoder for; its annotations deny the None.
        if getattr(stream, "codec_context", None) is None:
            raise VideoError(f"{file}: no decoder for its codec")
        stream.thread_type = "AUTO"  # type: ignore[assignment]
        try:
            yield container, stream
        finally:
            _drain(stream)


def _demuxed(container: InputContainer, stream: VideoStream) -> Iterator[Packet]:
    """The stream's packets and, at the end, an empty one that empties the decoder."""
    try:
        yield from container.demux(stream)
    except (
        av.error.FFmpegError,
        IndexError,
    ) as error:  # IndexError: of a stream that turns up late
        raise VideoError(f"{container.name} is damaged: {error}") from error


def _drain(stream: VideoStream) -> None:
    """Let the decoder's threads finish what they have begun.

    PyAV holds Python's lock while it stops or resets them; a thread that then wants to log through
    PyAV's callback waits for that lock for ever. Once drained they are idle.
    """
    if stream.codec_context.is_open:
        with suppress(av.error.FFmpegError):
            stream.decode(None)


def _video_stream(container: InputContainer) -> VideoStream | None:
    """The stream that FFmpeg calls the best one, cover pictures left out."""
    streams = [
        stream
        for stream in container.streams.video
        if not stream.disposition & Disposition.attached_pic
    ]
    best = container.streams.best("video")
    return next((stream for stream in streams if stream is best), streams[0] if streams else None)


def frame_rate(stream: VideoStream) -> Fraction | None:
    """Frames per second that the header gives."""
    return stream.average_rate or stream.guessed_rate or stream.base_rate or None


class Feed:
    """Decodes an opened stream: pairs of stamp and frame, in the order of presentation."""

    def __init__(
        self, container: InputContainer, stream: VideoStream, timeline: Timeline | None = None
    ) -> None:
        self.broken = 0
        """Packets, or frames without a timestamp, that were skipped."""
        self.damaged = 0
        """Frames that the decoder patched up from incomplete data."""
        self.jumped = False
        self.lost = False
        """A jump landed somewhere else than on a keyframe before its target."""
        self._container = container
        self._stream = stream
        self._timeline = timeline
        self._packets: Iterator[Packet] = _demuxed(container, stream)
        self._position = -1
        self._numbered = timeline is None or timeline.numbered
        self._next_number = 0
        self._earliest: int | None = None
        self._ready: deque[VideoFrame] = deque()

    def __iter__(self) -> Iterator[tuple[int, VideoFrame]]:
        return self

    def __next__(self) -> tuple[int, VideoFrame]:
        while True:
            while not self._ready:
                self._ready.extend(self._decode(next(self._packets)))
            frame = self._ready.popleft()
            if self._numbered:
                self._next_number += 1
                return self._next_number - 1, frame
            stamp: int | None = frame.pts
            if stamp is None:
                self.broken += 1
            elif self._earliest is None or stamp >= self._earliest:
                return stamp, frame

    def _decode(self, packet: Packet) -> list[VideoFrame]:
        self._position += 1
        try:
            frames = self._stream.decode(packet)
        except av.error.FFmpegError:
            self.broken += 1
            return []
        self.damaged += sum(frame.is_corrupt for frame in frames)
        return frames

    def jump_towards(self, stamp: int) -> bool:
        """Go to the last keyframe at or before a stamp where that skips enough; whether it went."""
        timeline = self._timeline
        if timeline is None or timeline.numbered:
            return False
        key = int(np.searchsorted(timeline.key_stamps, stamp, side="right")) - 1
        if key < 0 or timeline.key_orders[key] - self._position <= _WORTH_A_JUMP:
            return False
        self._ready.clear()
        _drain(self._stream)
        # Containers index keyframes by presentation time (Matroska) or by decoding time (MP4).
        for ticks in (timeline.key_stamps[key], timeline.key_dts[key]):
            with suppress(av.error.FFmpegError):
                self._container.seek(int(ticks), stream=self._stream)
            packets = _demuxed(self._container, self._stream)
            first = next(packets, None)
            if first is None or first.pts is None:
                continue
            landed = np.flatnonzero(timeline.key_stamps[: key + 1] == first.pts)
            if landed.size and timeline.key_orders[landed[0]] > self._position:
                self._packets = chain([first], packets)
                self._position = int(timeline.key_orders[landed[0]]) - 1
                # Frames shown before this keyframe may need pictures from before the jump.
                self._earliest = first.pts
                self.jumped = True
                return True
        self.lost = True
        return True


def truncation(path: StrPath, lacking: int) -> str:
    """What to say about a file that lacks bytes at its end."""
    return f"{path} is truncated: the last {lacking} bytes are missing; get the file again"


class _Listed(NamedTuple):
    """What a packet says about its frame; its data is not kept."""

    pts: int | None
    dts: int | None
    duration: int
    key: bool
    discard: bool
    end: int
    """Position in the file of the first byte after it; 0 when unknown."""
    corrupt: bool


def timeline_of(path: StrPath) -> Timeline:
    """When each frame of a file is shown; kept for the files read last, as long as unchanged."""
    file = _existing(path)
    stat = file.stat()
    return _listed(str(file.absolute()), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _listed(path: str, modified: int, size: int) -> Timeline:
    """List the packets of a file; `modified` and `size` make a changed file another file."""
    lacking = missing_bytes(path)
    if lacking:
        raise VideoError(truncation(path, lacking))
    with opened(path) as (container, stream):
        packets = [_described(packet) for packet in _demuxed(container, stream) if packet.size]
        if not packets:
            raise VideoError(f"{path} holds no frame")
        if lacking is None and (packets[-1].corrupt or packets[-1].end > size):
            raise VideoError(f"{path} is truncated inside its last frame; get the file again")
        # AVI keeps no presentation times: where frames are reordered FFmpeg can only guess them.
        guessed = container.format.name == "avi" and bool(stream.codec_context.has_b_frames)
        base, rate = stream.time_base, frame_rate(stream)
    timeline = None if guessed else _indexed(packets, base, rate)
    return timeline or _counted(path)


def _described(packet: Packet) -> _Listed:
    return _Listed(
        pts=packet.pts,
        dts=packet.dts,
        duration=packet.duration or 0,
        key=packet.is_keyframe,
        discard=packet.is_discard,
        end=0 if packet.pos is None or packet.pos < 0 else packet.pos + packet.size,
        corrupt=packet.is_corrupt,
    )


def _indexed(
    packets: Sequence[_Listed], base: Fraction | None, rate: Fraction | None
) -> Timeline | None:
    """The timeline that the packets' timestamps give; None where some lack or are there twice."""
    shown = [packet for packet in packets if not packet.discard]
    stamps = np.array(sorted({packet.pts for packet in shown if packet.pts is not None}), np.int64)
    if base is None or not shown or len(stamps) < len(shown):
        return None
    keys = sorted(
        (packet.pts, before, packet.pts if packet.dts is None else packet.dts)
        for before, packet in enumerate(packets)
        if packet.key and packet.pts is not None
    )
    key_stamps, key_orders, key_dts = np.array(keys, np.int64).reshape(-1, 3).T
    times = _seconds(stamps, base)
    last = next(packet for packet in shown if packet.pts == stamps[-1])
    return Timeline(
        stamps=stamps,
        times=times,
        end=float(times[-1]) + (last.duration * float(base) or _period(times, rate)),
        slack=_slack(times),
        start_time=float(int(stamps[0]) * base),
        numbered=False,
        key_stamps=key_stamps,
        key_orders=key_orders,
        key_dts=key_dts,
    )


def _counted(path: str) -> Timeline:
    """The timeline of a file that must be decoded for it: frames are numbered as they come."""
    with opened(path) as (container, stream):
        ticks = [frame.pts for _, frame in Feed(container, stream)]
        # The average is made of timestamps, and those of such a file are not to be had.
        base, rate = stream.time_base, stream.guessed_rate or frame_rate(stream)
    if not ticks:
        raise VideoError(f"{path}: no frame decodes")
    stamps = np.arange(len(ticks))
    known = np.array([tick for tick in ticks if tick is not None], np.int64)
    if base is not None and len(known) == len(ticks) and (np.diff(known) > 0).all():
        times = _seconds(known, base)
        start_time = float(int(known[0]) * base)
    else:
        times = stamps.astype(np.float64) * _period(np.zeros(1), rate)
        start_time = 0.0
    nothing = np.zeros(0, np.int64)
    return Timeline(
        stamps=stamps,
        times=times,
        end=float(times[-1]) + _period(times, rate),
        slack=_slack(times),
        start_time=start_time,
        numbered=True,
        key_stamps=nothing,
        key_orders=nothing,
        key_dts=nothing,
    )


def _seconds(ticks: Int64, base: Fraction) -> Float64:
    """Seconds after the first of the ticks; one rounding each, so equal times stay equal."""
    seconds: Float64 = (ticks - ticks[0]) * base.numerator / base.denominator
    return seconds


def _period(times: Float64, rate: Fraction | None) -> float:
    """Seconds that a frame stays on screen where nothing says it for this one."""
    if len(times) > 1:
        return float(np.median(np.diff(times)))
    return 1 / float(rate or _FALLBACK_RATE)


def _slack(times: Float64) -> float:
    return _CLOCK if len(times) < 2 else min(_CLOCK, float(np.diff(times).min()) / 4)


def decoded(
    path: StrPath, timeline: Timeline, numbers: Int64, *, jump: bool = True
) -> Iterator[tuple[int, VideoFrame]]:
    """For each ascending frame number, the number and picture of the frame that is on screen."""
    with opened(path) as (container, stream):
        feed = Feed(container, stream, timeline)
        shown: tuple[int, VideoFrame] | None = None
        ahead: tuple[int, VideoFrame] | None = None
        for index, number in enumerate(numbers):
            stamp = int(timeline.stamps[number])
            if jump and feed.jump_towards(stamp):
                shown = ahead = None
            while not feed.lost and (shown is None or shown[0] < stamp):
                ahead = ahead or next(feed, None)
                if ahead is None or ahead[0] > stamp:
                    break
                shown, ahead = ahead, None
            if feed.lost or (shown is None and feed.jumped):
                # The jump missed, or met broken frames only: what is on screen comes from before.
                yield from decoded(path, timeline, numbers[index:], jump=False)
                return
            best = shown or ahead
            if best is None:
                raise VideoError(f"{path}: no frame decodes, {feed.broken} packets are broken")
            yield timeline.number_of(best[0]), best[1]
        if feed.broken or feed.damaged:
            _LOG.warning(
                "%s: %d broken packets were skipped, %d frames are incomplete",
                path,
                feed.broken,
                feed.damaged,
            )
