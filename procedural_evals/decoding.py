"""Opening a file, and decoding its frames in the order in which they are shown.

The floor under `video`. `decoded` gives the pictures that are on screen, one thread and one file
handle, and knows what to do where frames are broken; `segments` is the fast way for sound files.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

if TYPE_CHECKING:
    from procedural_evals.timelines import Timeline

_LOG = logging.getLogger(__name__)

StrPath = str | PathLike[str]
Int64 = npt.NDArray[np.int64]

# A jump empties the decoder's pipeline; below this many skipped frames decoding on is cheaper.
_WORTH_A_JUMP = 4


class VideoError(ValueError):
    """A file that cannot be read as video. The message names the file and what is wrong with it."""


def existing(path: StrPath) -> Path:
    """The path of a file that is there and not empty; raises what `video.probe` raises."""
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"no video file at {file}")
    if file.is_dir():
        raise VideoError(f"{file} is a folder, not a video file")
    if file.stat().st_size == 0:
        raise VideoError(f"{file} is empty (0 bytes)")
    return file


@contextmanager
def opened(
    path: StrPath, described: tuple[bool, ...] = (), threads: int = 0
) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file and its video stream; raises what `video.probe` raises.

    `described` says for each stream whether its header describes the coding in full: FFmpeg then
    decodes no frames to find out. `threads` decode; 0: as many as FFmpeg thinks right.
    """
    file = existing(path)
    # A dictionary of the decoder's options for each stream, whatever PyAV's annotations say.
    probing: list[Any] = [{"skip_frame": "all"} if known else {} for known in described]
    try:
        container = av.open(str(file), metadata_errors="ignore", stream_options=probing)
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
        stream.codec_context.thread_count = threads
        try:
            yield container, stream
        finally:
            drain(stream)


class Source:
    """A file that is opened when something of it is first needed, and closed with the block.

    Belongs to the thread that made it.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self._stack = ExitStack()
        self._open: tuple[InputContainer, VideoStream] | None = None

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(
        self, described: tuple[bool, ...] = (), *, anew: bool = False
    ) -> tuple[InputContainer, VideoStream]:
        """The container and its video stream, opened as by `opened`; `anew`: at the beginning."""
        if anew:
            self._stack.close()
            self._open = None
        if self._open is None:
            self._open = self._stack.enter_context(opened(self.path, described))
        return self._open


def demuxed(container: InputContainer, stream: VideoStream) -> Iterator[Packet]:
    """The stream's packets and, at the end, an empty one that empties the decoder."""
    try:
        yield from container.demux(stream)
    except (
        av.error.FFmpegError,
        IndexError,
    ) as error:  # IndexError: of a stream that turns up late
        raise VideoError(f"{container.name} is damaged: {error}") from error


def drain(stream: VideoStream) -> None:
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
        self.doubtful = 0
        """Frames that were left out because they build on a packet that does not decode."""
        self.jumped = False
        self.lost = False
        """A jump landed somewhere else than on a keyframe before its target."""
        self._container = container
        self._stream = stream
        self._timeline = timeline
        self._packets: Iterator[Packet] = demuxed(container, stream)
        self._position = -1
        self._numbered = timeline is None or timeline.numbered
        self._next_number = 0
        self._earliest: int | None = None
        self._in_doubt = False
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
            # What follows a broken picture decodes without complaint, from an older one in its
            # place, and shows something of that: until a keyframe it is as good as broken.
            self._in_doubt &= not frame.key_frame
            if stamp is None:
                self.broken += 1
            elif self._in_doubt:
                self.doubtful += 1
            elif self._earliest is None or stamp >= self._earliest:
                return stamp, frame

    def _decode(self, packet: Packet) -> list[VideoFrame]:
        self._position += 1
        try:
            frames = self._stream.decode(packet)
        except av.error.FFmpegError:
            self.broken += 1
            self._in_doubt = True
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
        self._in_doubt = False
        drain(self._stream)
        # Containers index keyframes by presentation time (Matroska) or by decoding time (MP4).
        for ticks in (timeline.key_stamps[key], timeline.key_dts[key]):
            with suppress(av.error.FFmpegError):
                self._container.seek(int(ticks), stream=self._stream)
            packets = demuxed(self._container, self._stream)
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
                "%s: %d broken packets and %d frames that build on them were skipped, "
                "%d frames are incomplete",
                path,
                feed.broken,
                feed.doubtful,
                feed.damaged,
            )
