"""Several decoders read stretches of a file at a time, and nobody shares one."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from procedural_evals import decoding, segments, timelines, video
from procedural_evals.segments import Stretch
from tests.numbered_clips import numbered_picture, shown_number, write_clip


def numbers(frames: np.ndarray) -> list[int]:
    return [shown_number(frame) for frame in frames]


@pytest.fixture
def many_workers(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Four workers even for little work; the containers that were read by them."""
    used: set[int] = set()
    monkeypatch.setattr(segments, "_cores", lambda: 4)
    monkeypatch.setattr(segments, "_SECONDS_A_PIXEL", 1.0)
    read = segments._Reader.read

    def spy(reader: segments._Reader, part: Stretch, take: segments.Take) -> None:
        used.add(id(reader))
        read(reader, part, take)

    monkeypatch.setattr(segments._Reader, "read", spy)
    return used


def test_stretches_go_from_a_keyframe_to_the_last_wanted_frame(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 60, gop=10, b_frames=0, options={"sc_threshold": "0"})
    timeline = timelines.timeline_of(clip)
    parts = segments.stretches(timeline, np.array([0, 4, 25, 27, 50]))
    assert [(part.first, part.last) for part in parts] == [(0, 4), (20, 27), (50, 50)]
    assert [sorted(part.wanted.values()) for part in parts] == [[0, 1], [2, 3], [4]]
    assert [(part.first, part.last) for part in segments.joined(parts, 16)] == [(0, 27), (50, 50)]
    assert len(segments.joined(parts, 15)) == 3


def test_heaps_are_of_about_equal_work_and_keep_neighbours_together() -> None:
    parts = [Stretch(n, 100 * n, 100 * n + 9, {n: n}) for n in range(10)]
    parts[3] = parts[3]._replace(last=399)
    dealt = segments.heaps(parts, 4)
    assert sorted(part.key for heap in dealt for part in heap) == list(range(10))
    assert parts[3] in dealt[0]
    assert all(
        np.diff([part.key for part in heap]).tolist() == [1] * (len(heap) - 1) for heap in dealt
    )
    work = [sum(part.packets for part in heap) for heap in dealt]
    assert work == sorted(work, reverse=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clip.mp4", {"b_frames": 2}),
        ("clip.mp4", {"options": {"x264-params": "open-gop=1:bframes=3:b-pyramid=normal"}}),
        ("clip.mkv", {}),
        ("clip.webm", {"codec": "libvpx-vp9", "options": {"deadline": "realtime"}}),
        ("clip.ts", {}),
        ("clip.h264", {"b_frames": 2}),
    ],
)
def test_many_workers_give_what_one_pass_gives(
    tmp_path: Path, name: str, options: dict, many_workers: set[int]
) -> None:
    clip = write_clip(tmp_path / name, 120, **options)
    in_order = np.stack([frame for _, frame in video.iter_frames(clip)])
    for count in (1, 7, 40, 120):
        read = video.sample_frames(clip, count=count)
        np.testing.assert_array_equal(read.frames, in_order[numbers(read.frames)])
        assert len(read.frames) == count
    if name.endswith(("mp4", "mkv")):
        assert len(many_workers) > 4


def test_pictures_that_nothing_builds_on_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"x264-params": "bframes=3:b-adapt=0:b-pyramid=none", "sc_threshold": "0"}
    clip = write_clip(tmp_path / "clip.mp4", 121, gop=200, options=options)
    in_order = np.stack([frame for _, frame in video.iter_frames(clip)])
    came: list[int] = []
    decode = decoding.Feed._decode
    monkeypatch.setattr(
        decoding.Feed, "_decode", lambda feed, packet: came.extend(f := decode(feed, packet)) or f
    )
    for wanted in ([120], [117, 118], [3, 50, 111]):
        came.clear()
        read = video.sample_frames(clip, times=np.array(wanted) / 30)
        np.testing.assert_array_equal(read.frames, in_order[wanted])
        assert len(came) < 50


def test_a_broken_stretch_is_read_with_care(tmp_path: Path, many_workers: set[int]) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 90, gop=10, b_frames=0, options={"sc_threshold": "0"})
    data = bytearray(clip.read_bytes())
    with av.open(str(clip)) as container:
        places = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    for position, size in places[25:50]:
        data[position : position + size] = bytes(size)
    clip.write_bytes(data)
    read = video.sample_frames(clip, times=np.array([10, 24, 30, 49, 50, 80]) / 30)
    assert numbers(read.frames) == [10, 24, 24, 24, 50, 80]
    assert many_workers


def test_the_first_frame_decides_the_size_where_it_changes(
    tmp_path: Path, many_workers: set[int]
) -> None:
    clip = tmp_path / "clip.ts"
    parts = [
        write_clip(tmp_path / f"{n}.ts", range(30 * n, 30 * n + 30), size=size, format="mpegts")
        for n, size in enumerate([(160, 96), (320, 192)])
    ]
    clip.write_bytes(b"".join(part.read_bytes() for part in parts))
    read = video.sample_frames(clip, count=60)
    assert read.frames.shape[1:] == (96, 160, 3)


def test_threads_read_the_same_file_at_a_time(tmp_path: Path, many_workers: set[int]) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 120)
    requests = [[n, 60, 119 - n] for n in range(24)]
    with ThreadPoolExecutor(6) as pool:
        read = pool.map(lambda n: video.sample_frames(clip, times=np.array(n) / 30), requests)
        assert [numbers(one.frames) for one in read] == requests


def _shown(clip: str) -> list[int]:
    return numbers(video.sample_frames(clip, count=5).frames)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes_started_after_reading_read_on_their_own(tmp_path: Path, way: str) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 121)
    assert _shown(str(clip)) == [0, 30, 60, 90, 120]
    with multiprocessing.get_context(way).Pool(2) as pool:
        told = pool.map_async(_shown, [str(clip)] * 4).get(timeout=60)
    assert told == [[0, 30, 60, 90, 120]] * 4


def hour(path: Path) -> Path:
    """An hour of 1080p at 30 frames a second: two seconds, 1,800 times."""
    unit = path.with_name("unit.mp4")
    with av.open(str(unit), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        stream.codec_context.gop_size = 60
        for number in range(60):
            frame = av.VideoFrame.from_ndarray(numbered_picture(number, 1920, 1080))
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with av.open(str(unit)) as source, av.open(str(path), "w") as target:
        taken = source.streams.video[0]
        stream = target.add_stream_from_template(taken)
        packets = [
            (bytes(packet), packet.pts, packet.dts, packet.is_keyframe)
            for packet in source.demux(taken)
            if packet.size
        ]
        for copy in range(1800):
            for content, pts, dts, key in packets:
                packet = av.Packet(content)
                packet.stream, packet.time_base, packet.is_keyframe = stream, taken.time_base, key
                shift = int(copy * 2 / taken.time_base)
                packet.pts, packet.dts = pts + shift, dts + shift
                target.mux(packet)
    return path


PEAK = """
import resource, sys
from procedural_evals import video
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read = video.sample_frames(sys.argv[1], count=64, size=(320, 180))
assert read.frames.shape == (64, 180, 320, 3), read.frames.shape
assert read.times[-1] > 3599.9, read.times
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hour.mp4", "hour.mkv"])
def test_an_hour_of_1080p_needs_little_memory(tmp_path: Path, name: str) -> None:
    clip = hour(tmp_path / name)
    assert video.frame_count(clip) == 108_000
    told = subprocess.run(
        [sys.executable, "-c", PEAK, str(clip)], capture_output=True, text=True, check=True
    )
    # 64 frames as stored are 400 MB, the decoders' own pictures some 3 MB each.
    assert int(told.stdout) / 1024 < 250
