"""Reading chosen frames of a sound file with the least decoding, several stretches of it at a time.

A stretch goes from a keyframe to the last wanted frame that builds on it. Before that frame,
pictures that nothing builds on are left out by the decoder, and nothing behind it is fed to it at
all. Every worker has a file handle and a decoder of its own. Whatever is not as the timeline says
ends the attempt with `UnsoundError`: then `decoding.decoded` finds out what is on screen instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from procedural_evals import decoding
from procedural_evals.decoding import Feed, Source, VideoError, demuxed, drain, opened
from procedural_evals.timelines import Timeline

Int64 = npt.NDArray[np.int64]
#: Takes the picture of a frame by its place among the wanted ones.
Take = Callable[[int, VideoFrame], None]

# Formats whose pictures say that no other one builds on them; others mean layers by it (H.265).
_NAMES_DISPENSABLE = {"h264"}
# Rough cost of decoding a picture, in seconds a pixel, and of opening a file and a decoder; they
# only decide how many workers are worth their start.
_SECONDS_A_PIXEL = 3e-9
_SECONDS_TO_START = 0.015
_SECONDS_TO_PROBE = 0.03
# Each worker holds the pictures that its decoder keeps: of 1080p about 50 MB.
_MOST_WORKERS = 8
# Stretches are dealt out in so many heaps a worker, so that none is left with a long last one.
_HEAPS = 3
# A decoder's threads beyond the processors: with as many as these a keyframe and what builds on it
# are worked on at the same time, at no cost in processor time (measured), and a busy machine's
# scheduler keeps the decoder going.
_LEAST_THREADS = 3


class UnsoundError(Exception):
    """Something is not as the timeline says: a packet elsewhere, or one that does not decode."""


class Stretch(NamedTuple):
    """Packets from a keyframe on, by how many lie before them, and the frames wanted of them."""

    key: int
    """Index of the keyframe."""
    first: int
    last: int
    wanted: dict[int, int]
    """Stamp -> place among the wanted frames."""

    @property
    def packets(self) -> int:
        """Number of packets to be read."""
        return self.last - self.first + 1


def stretches(timeline: Timeline, numbers: Int64) -> list[Stretch]:
    """What has to be decoded for these ascending frame numbers, a stretch for each keyframe.

    Raises UnsoundError where a frame has no keyframe before it.
    """
    stamps, orders = timeline.stamps[numbers], timeline.orders[numbers]
    keys = np.searchsorted(timeline.key_stamps, stamps, side="right") - 1
    if (keys < 0).any() or (orders < timeline.key_orders[keys]).any():
        raise UnsoundError("a frame before the first keyframe")
    found = []
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(keys)], strict=True):
        key = int(keys[begin])
        wanted = dict(zip(stamps[begin:end].tolist(), range(begin, end), strict=True))
        first, last = int(timeline.key_orders[key]), int(orders[begin:end].max())
        found.append(Stretch(key, first, last, wanted))
    return found


def joined(parts: Iterable[Stretch], worth: int) -> list[Stretch]:
    """Stretches that lie at most `worth` packets apart made one: reading on costs less there."""
    done: list[Stretch] = []
    for part in parts:
        if done and done[-1].first <= part.first <= done[-1].last + worth:
            before = done.pop()
            last = max(before.last, part.last)
            part = Stretch(before.key, before.first, last, before.wanted | part.wanted)
        done.append(part)
    return done


def heaps(parts: list[Stretch], count: int) -> list[list[Stretch]]:
    """Neighbouring stretches in about `count` heaps of about equal work, the largest first."""
    share = sum(part.packets for part in parts) / count
    dealt: list[list[Stretch]] = [[]]
    packets = 0
    for part in parts:
        if dealt[-1] and packets + part.packets / 2 > share:
            dealt.append([])
            packets = 0
        dealt[-1].append(part)
        packets += part.packets
    return sorted(dealt, key=lambda heap: -sum(part.packets for part in heap))


def read(source: Source, timeline: Timeline, numbers: Int64, brush: Callable[[], Take]) -> None:
    """Hand each wanted frame to a `Take`, one made by `brush` in every worker.

    Raises UnsoundError where one cannot be had this way; some may have been handed over then.
    """
    if timeline.numbered:
        raise UnsoundError("frames without timestamps")
    parts = stretches(timeline, numbers)
    container, stream = source.open(timeline.described)
    if stream.codec_context.is_open:  # by an attempt before: its threads are chosen already
        container, stream = source.open(timeline.described, anew=True)
    size = stream.codec_context.width * stream.codec_context.height
    workers, threads = _staff(parts, size, bool(timeline.described))
    queue: SimpleQueue[list[Stretch]] = SimpleQueue()
    for heap in heaps(parts, _HEAPS * workers if workers > 1 else 1):
        queue.put(joined(heap, decoding._WORTH_A_JUMP))
    stop = threading.Event()

    def work(container: InputContainer, stream: VideoStream) -> None:
        stream.codec_context.thread_count = threads
        reader = _Reader(container, stream, timeline, stop)
        take = brush()
        with suppress(Empty):
            while not stop.is_set():
                for part in queue.get_nowait():
                    reader.read(part, take)

    def work_elsewhere() -> None:
        try:
            with opened(source.path, timeline.described, threads) as (container, stream):
                work(container, stream)
        except BaseException:
            stop.set()
            raise

    if workers == 1:
        work(container, stream)
        return
    with ThreadPoolExecutor(workers - 1, "frames") as pool:
        others = [pool.submit(work_elsewhere) for _ in range(workers - 1)]
        try:
            work(container, stream)
        except BaseException:
            stop.set()
            raise
        for other in others:
            other.result()


def _staff(parts: list[Stretch], size: int, described: bool) -> tuple[int, int]:
    """How many workers read, and how many threads each of their decoders has.

    A decoder of several threads has to fill its pipeline after every jump; several decoders keep
    the processors busy meanwhile, but each one must be opened first.
    """
    packets, cores = sum(part.packets for part in parts), _cores()
    start = _SECONDS_TO_START if described else _SECONDS_TO_PROBE
    worth = int(packets * size * _SECONDS_A_PIXEL / (2 * start))
    workers = max(1, min(cores, len(parts), worth))
    return workers, max(_LEAST_THREADS, cores // workers + 1)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    return min(found, _MOST_WORKERS)


class _Reader(Feed):
    """Reads stretches of one opened file."""

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        timeline: Timeline,
        stop: threading.Event,
    ) -> None:
        super().__init__(container, stream, timeline)
        self._line = timeline
        self._stop = stop
        self._dispensable = stream.codec_context.name in _NAMES_DISPENSABLE

    def read(self, part: Stretch, take: Take) -> None:
        """Hand over the stretch's wanted frames; UnsoundError where one does not come."""
        order, packets = self._landed(part)
        context = self._stream.codec_context
        missing = dict(part.wanted)
        key = int(self._line.key_stamps[part.key])
        for packet in packets:
            if self._stop.is_set():
                raise UnsoundError("another worker gave up")
            if not packet.size or packet.pts != self._line.packets[order]:
                raise UnsoundError(f"packet {order} is not where it should be")
            if self._dispensable:
                context.skip_frame = "DEFAULT" if packet.pts in part.wanted else "NONREF"
            frames = self._decode(packet)
            if order == part.last:
                frames += self._rest()
            for frame in frames:
                if frame.is_corrupt and (frame.pts is None or frame.pts >= key):
                    raise UnsoundError("a frame is incomplete")
                place = missing.pop(frame.pts, None)  # type: ignore[arg-type]
                if place is not None:
                    take(place, frame)
            if self.broken:
                raise UnsoundError("a packet does not decode")
            if order == part.last:
                break
            order += 1
        if missing:
            raise UnsoundError("a frame did not come")

    def _rest(self) -> list[VideoFrame]:
        """What the decoder still holds."""
        try:
            return self._stream.decode(None)
        except av.error.FFmpegError:
            self.broken += 1
            return []

    def _landed(self, part: Stretch) -> tuple[int, Iterator[Packet]]:
        """The packets from the stretch's keyframe on, and how many lie before them."""
        drain(self._stream)
        line = self._line
        # Containers index keyframes by decoding time (MP4) or by presentation time (Matroska).
        for ticks in (line.key_dts[part.key], line.key_stamps[part.key]):
            with suppress(av.error.FFmpegError, VideoError):
                self._container.seek(int(ticks), stream=self._stream)
                packets = demuxed(self._container, self._stream)
                first = next(packets, None)
                if first is not None and first.pts == line.packets[part.first]:
                    return part.first, chain([first], packets)
        raise UnsoundError(f"no way to the keyframe {part.key}")
