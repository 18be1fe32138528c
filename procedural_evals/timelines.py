"""When each frame of a file is shown, known before anything is decoded.

The tables of a plain MP4 say it (`mp4_table`), and FFmpeg is asked only whether its first and last
packets agree. The packets of other files are listed one by one. Only a file without usable
timestamps is decoded.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from procedural_evals.containers import missing_bytes
from procedural_evals.decoding import (
    Feed,
    Source,
    StrPath,
    VideoError,
    demuxed,
    existing,
    frame_rate,
)
from procedural_evals.mp4_table import SampleTable, sample_table

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]

# Matroska and WebM round every timestamp to a whole millisecond. A time that misses a frame's start
# by no more than this means that start.
_CLOCK = 0.001 + 1e-6
# FFmpeg's own choice for streams without a frame rate.
_FALLBACK_RATE = 25
# Stands in the list of packets for one without a timestamp.
_NO_STAMP = np.iinfo(np.int64).min
# The last frame shown is among the last packets of the file; decoders reorder no farther.
_TAIL = 64
_KEPT = 32


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
    packets: Int64
    """Stamps of all packets in the order of the file; none when numbered."""
    orders: Int64
    """For each frame how many packets lie before its own."""
    listed: bool = True
    """Whether FFmpeg listed each packet; else a table of the file says so."""
    described: tuple[bool, ...] = ()
    """For each stream whether it can be opened without decoding a part of it; none: unknown."""

    def number_of(self, stamp: int) -> int:
        """Number of the frame with this stamp, or of the one before it."""
        return max(0, int(np.searchsorted(self.stamps, stamp, side="right")) - 1)


def truncation(path: StrPath, lacking: int) -> str:
    """What to say about a file that lacks bytes at its end."""
    return f"{path} is truncated: the last {lacking} bytes are missing; get the file again"


_kept: OrderedDict[tuple[str, int, int], Timeline] = OrderedDict()
_lock = threading.Lock()


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # another thread may hold it while a process is forked
    os.register_at_fork(after_in_child=_new_lock)


def timeline_of(path: StrPath, source: Source | None = None, *, listed: bool = False) -> Timeline:
    """When each frame of a file is shown; kept for the files read last, as long as unchanged.

    Reads from `source` where that is given. `listed` asks for a list of all packets and believes
    no table. Raises what `video.probe` raises.
    """
    file = existing(path)
    stat = file.stat()
    key = (str(file.absolute()), stat.st_mtime_ns, stat.st_size)
    with _lock:
        found = _kept.get(key)
        if found is not None and (found.listed or not listed):
            _kept.move_to_end(key)
            return found
    if source is None:
        with Source(path) as own:
            found = _timeline(path, stat.st_size, own, listed)
    else:
        found = _timeline(path, stat.st_size, source, listed)
    with _lock:
        _kept[key] = found
        _kept.move_to_end(key)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Drop what is kept of all files, as in a new process."""
    with _lock:
        _kept.clear()


def _timeline(path: StrPath, size: int, source: Source, listed: bool) -> Timeline:
    lacking = missing_bytes(path)
    if lacking:
        raise VideoError(truncation(path, lacking))
    table = None if listed else sample_table(path)
    if table is not None:
        container, stream = source.open(table.described)
        found = _tabled(table, container, stream)
        if found is not None:
            return found
    container, stream = source.open(anew=True)
    packets = [_described(packet) for packet in demuxed(container, stream) if packet.size]
    if not packets:
        raise VideoError(f"{path} holds no frame")
    if lacking is None and (packets[-1].corrupt or packets[-1].end > size):
        raise VideoError(f"{path} is truncated inside its last frame; get the file again")
    # AVI keeps no presentation times: where frames are reordered FFmpeg can only guess them.
    guessed = container.format.name == "avi" and bool(stream.codec_context.has_b_frames)
    timeline = None if guessed else _indexed(packets, stream.time_base, frame_rate(stream))
    return timeline or _counted(path)


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
    places = np.array([n for n, packet in enumerate(packets) if not packet.discard], np.int64)
    last = next(packet for packet in shown if packet.pts == stamps[-1])
    return _timed(
        stamps,
        base,
        last.duration,
        rate,
        key_stamps=key_stamps,
        key_orders=key_orders,
        key_dts=key_dts,
        packets=np.array([_NO_STAMP if p.pts is None else p.pts for p in packets], np.int64),
        orders=places[np.argsort([packet.pts or 0 for packet in shown], kind="stable")],
    )


def _tabled(table: SampleTable, container: InputContainer, stream: VideoStream) -> Timeline | None:
    """The timeline that an MP4's table gives; None where FFmpeg's packets contradict it."""
    base = stream.time_base
    first = next(demuxed(container, stream), None)
    if (
        (stream.id, base) != (table.track, Fraction(1, table.timescale))
        or first is None
        or first.pts is None
        or first.dts is None
    ):
        return None
    packets = table.shown + (first.pts - int(table.shown[0]))
    decoded = table.decoded + first.dts
    orders = np.argsort(packets, kind="stable")
    stamps = packets[orders]
    last = int(orders[-1])
    if last < len(packets) - _TAIL or not (np.diff(stamps) > 0).all():
        return None
    container.seek(int(decoded[last]), any_frame=True, stream=stream)
    tail = [_described(p) for p in islice(demuxed(container, stream), 2 * _TAIL) if p.size]
    begin = len(packets) - len(tail)
    expected = np.stack([packets[begin:], decoded[begin:]], axis=1).tolist()
    if [[p.pts, p.dts] for p in tail] != expected or any(p.discard for p in tail):
        return None
    shown_last = [packet for packet in tail if packet.pts == stamps[-1]]
    if not shown_last:
        return None
    by_stamp = table.keys[np.argsort(packets[table.keys], kind="stable")]
    return _timed(
        stamps,
        Fraction(1, table.timescale),
        shown_last[0].duration,
        frame_rate(stream),
        key_stamps=packets[by_stamp],
        key_orders=by_stamp,
        key_dts=decoded[by_stamp],
        packets=packets,
        orders=orders,
        listed=False,
        described=table.described,
    )


def _timed(
    stamps: Int64,
    base: Fraction,
    last_duration: int,
    rate: Fraction | None,
    *,
    key_stamps: Int64,
    key_orders: Int64,
    key_dts: Int64,
    packets: Int64,
    orders: Int64,
    listed: bool = True,
    described: tuple[bool, ...] = (),
) -> Timeline:
    times = _seconds(stamps, base)
    return Timeline(
        stamps=stamps,
        times=times,
        end=float(times[-1]) + (last_duration * float(base) or _period(times, rate)),
        slack=_slack(times),
        start_time=float(int(stamps[0]) * base),
        numbered=False,
        key_stamps=key_stamps,
        key_orders=key_orders,
        key_dts=key_dts,
        packets=packets,
        orders=orders,
        listed=listed,
        described=described,
    )


def _counted(path: StrPath) -> Timeline:
    """The timeline of a file that must be decoded for it: frames are numbered as they come."""
    with Source(path) as source:
        container, stream = source.open()
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
        packets=nothing,
        orders=nothing,
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
