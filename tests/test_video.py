"""Frames are the ones that were asked for, whatever the file looks like."""

from __future__ import annotations

import logging
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from procedural_evals import decoding, video
from tests.numbered_clips import numbered_picture, shown_number, turn_mp4, write_clip

NTSC = Fraction(30000, 1001)
# Ticks of 1/30 s; neighbours from one tick to two seconds apart.
UNEVEN = [0, 1, 2, 5, 9, 10, 40, 41, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 113, 114, 120]


def numbers(frames: np.ndarray) -> list[int]:
    return [shown_number(frame) for frame in frames]


def test_the_number_of_a_picture_survives_compression(tmp_path: Path) -> None:
    assert [shown_number(numbered_picture(n)) for n in range(1024)] == list(range(1024))
    clip = write_clip(tmp_path / "clip.mp4", 40)
    with av.open(str(clip)) as container:
        shown = numbers([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    assert shown == list(range(40))


FILES = {
    "h264 with B-frames in MP4": ("clip.mp4", {"b_frames": 2}),
    "open groups of pictures": ("clip.mp4", {"options": {"x264-params": "open-gop=1:bframes=3"}}),
    "H.265": ("clip.mp4", {"codec": "libx265", "options": {"x265-params": "log-level=none"}}),
    "AV1": ("clip.mp4", {"codec": "libsvtav1", "options": {"preset": "12"}}),
    "fragmented MP4": (
        "clip.mp4",
        {"format_options": {"movflags": "frag_keyframe+empty_moov+default_base_moof"}},
    ),
    "h264 in Matroska": ("clip.mkv", {}),
    "VP9 in WebM": ("clip.webm", {"codec": "libvpx-vp9", "options": {"deadline": "realtime"}}),
    "VP8 in WebM": ("clip.webm", {"codec": "libvpx", "options": {"deadline": "realtime"}}),
    "transport stream": ("clip.ts", {}),
    "program stream": ("clip.mpg", {"codec": "mpeg2video", "b_frames": 2}),
    "AVI without B-frames": ("clip.avi", {"codec": "mpeg4"}),
    "AVI with B-frames": ("clip.avi", {"codec": "libx264", "b_frames": 2}),
    "bare h264 without timestamps": ("clip.h264", {"b_frames": 2}),
    "only keyframes": ("clip.avi", {"codec": "mjpeg", "pixels": "yuvj420p", "gop": 1}),
}


@pytest.fixture(scope="module", params=FILES, ids=lambda name: name.replace(" ", "-"))
def clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    name, options = FILES[request.param]
    return write_clip(tmp_path_factory.mktemp("clip") / name, 90, **options)


def test_every_frame_is_read_once_in_order_at_its_time(clip: Path) -> None:
    read = [(time, shown_number(frame)) for time, frame in video.iter_frames(clip)]
    assert [number for _, number in read] == list(range(90))
    # Matroska and WebM keep whole milliseconds.
    np.testing.assert_allclose([time for time, _ in read], np.arange(90) / 30, atol=0.00101)
    assert video.frame_count(clip) == 90
    assert video.check_video(clip) is None


@pytest.mark.parametrize("worth", [0, 8, 10**9], ids=["always", "as-shipped", "never"])
def test_jumping_to_keyframes_gives_what_reading_on_gives(
    clip: Path, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_order = dict(enumerate(frame for _, frame in video.iter_frames(clip)))
    monkeypatch.setattr(decoding, "_WORTH_A_JUMP", worth)
    times = video.frame_times(clip)
    for wanted in ([0], [89], [0, 89], [30, 31, 32], [11, 12, 13, 60], [5, 35, 65], [88, 3, 47, 3]):
        read = video.sample_frames(clip, times=times[wanted])
        assert numbers(read.frames) == wanted
        np.testing.assert_array_equal(read.times, times[wanted])
        np.testing.assert_array_equal(read.frames, np.stack([in_order[n] for n in wanted]))


def test_probe_agrees_with_the_frames(clip: Path) -> None:
    info = video.probe(clip)
    assert (info.width, info.height, info.rotation) == (160, 96, 0)
    assert info.duration == pytest.approx(3.0, abs=0.003)
    assert info.fps == pytest.approx(30, rel=0.002)
    assert info.frames in (90, None)


def test_probe_says_what_the_header_says(tmp_path: Path) -> None:
    info = video.probe(write_clip(tmp_path / "clip.mp4", 45, rate=NTSC))
    assert info.codec == "h264"
    assert info.frames == 45
    assert info.fps == float(NTSC)
    assert info.duration == pytest.approx(45 / NTSC)
    webm = write_clip(tmp_path / "clip.webm", 10, codec="libvpx")
    assert video.probe(webm).frames is None
    assert video.probe(webm).codec == "vp8"


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_variable_rate_shows_each_frame_from_its_own_time(tmp_path: Path, name: str) -> None:
    clip = write_clip(tmp_path / name, UNEVEN)
    seconds = np.array(UNEVEN) / 30
    np.testing.assert_allclose(video.frame_times(clip), seconds, atol=0.00101)
    asked = np.arange(0, 4, 0.05)
    read = video.sample_frames(clip, times=asked)
    on_screen = [int(np.searchsorted(seconds, t + 1e-3, side="right")) - 1 for t in asked]
    assert numbers(read.frames) == on_screen
    np.testing.assert_allclose(read.times, seconds[on_screen], atol=0.00101)
    # The header of the MP4 sums up decoding times, which end earlier.
    assert video.probe(clip).duration == pytest.approx(121 / 30, abs=0.05)


def test_ntsc_rate_does_not_drift(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 700, rate=NTSC, gop=250)
    asked = [n * 1001 / 30000 for n in (0, 1, 299, 300, 599, 699)]
    assert numbers(video.sample_frames(clip, times=asked).frames) == [0, 1, 299, 300, 599, 699]
    just_before = [t - 0.002 for t in asked[1:]]
    assert numbers(video.sample_frames(clip, times=just_before).frames) == [0, 298, 299, 598, 698]


def test_whole_milliseconds_of_matroska_still_mean_the_frame(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mkv", 90)
    assert numbers(video.sample_frames(clip, times=np.arange(90) / 30).frames) == list(range(90))


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.ts"])
def test_times_count_from_the_first_frame(tmp_path: Path, name: str) -> None:
    clip = write_clip(tmp_path / name, range(150, 180))
    assert video.probe(clip).start_time >= 5
    assert video.probe(clip).duration == pytest.approx(1.0, abs=0.002)
    assert numbers(video.sample_frames(clip, times=[0, 0.5, 0.99]).frames) == [0, 15, 29]
    assert numbers(video.sample_frames(clip, count=3, start=0.5).frames) == [15, 22, 29]


def test_count_spreads_over_the_range_with_both_ends(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 90)
    assert numbers(video.sample_frames(clip, count=4).frames) == [0, 30, 59, 89]
    read = video.sample_frames(clip, count=3, start=1.0, end=2.0)
    assert numbers(read.frames) == [30, 44, 59]  # 60 starts at 2.0, which is outside
    np.testing.assert_allclose(read.times, np.array([30, 44, 59]) / 30)
    assert numbers(video.sample_frames(clip, count=1).frames) == [0]
    assert numbers(video.sample_frames(clip, count=2, start=2.9, end=99).frames) == [87, 89]


def test_fewer_frames_than_asked_for_come_once_each(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 5)
    assert numbers(video.sample_frames(clip, count=32).frames) == [0, 1, 2, 3, 4]
    assert numbers(video.sample_frames(clip, times=[0.01, 0.02, 0.15]).frames) == [0, 0, 4]


def test_a_range_between_two_frames_has_the_one_on_screen(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 6, rate=1)
    assert numbers(video.sample_frames(clip, count=4, start=2.2, end=2.8).frames) == [2]
    assert numbers(video.sample_frames(clip, count=4, start=5.5).frames) == [5]


def test_one_frame_is_a_video(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 1, rate=2)
    read = video.sample_frames(clip, count=8)
    assert read.frames.shape == (1, 96, 160, 3)
    assert read.times.tolist() == [0.0]
    assert video.probe(clip).duration == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [1.0, 3.5]}, r"lasts from 0 to 3\.000 s: no frame is on screen at 3\.5 s"),
        ({"times": [-0.1]}, r"no frame is on screen at -0\.1 s"),
        ({"times": [float("nan")]}, "no frame is on screen at nan s"),
        ({"times": []}, "at least one number"),
        ({"count": 4, "start": 3.0, "end": 9.0}, r"no part of it is in \[3, 9\)"),
        ({"count": 4, "start": 2.0, "end": 2.0}, r"no part of it is in \[2, 2\)"),
        ({"count": 4, "start": -1.0}, r"no part of it is in \[-1, 3\)"),
        ({"count": 4, "end": float("nan")}, r"\[0, nan\)"),
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"count": 2, "rule": "best"}, r"unknown rule 'best'; known: .*uniform"),
        ({"count": 2, "times": [0.0]}, "either times= or count="),
        ({}, "either times= or count="),
        ({"times": [0.0], "end": 1.0}, "go with count="),
        ({"count": 2, "size": (0, 5)}, r"got \(0, 5\)"),
    ],
)
def test_wrong_requests_are_named(tmp_path: Path, arguments: dict, message: str) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 90)
    with pytest.raises(ValueError, match=message):
        video.sample_frames(clip, **arguments)


def test_frames_are_scaled_to_the_size_asked_for(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 30)
    read = video.sample_frames(clip, count=3, size=(240, 60))
    assert read.frames.shape == (3, 60, 240, 3)
    assert numbers(read.frames) == [0, 14, 29]


@pytest.mark.parametrize("size", [(161, 97), (159, 95), (171, 96)])
def test_odd_sizes_are_kept(tmp_path: Path, size: tuple[int, int]) -> None:
    clip = write_clip(tmp_path / "clip.mkv", 12, codec="ffv1", pixels="bgr0", size=size)
    read = video.sample_frames(clip, count=12)
    assert read.frames.shape == (12, size[1], size[0], 3)
    np.testing.assert_array_equal(read.frames[7], numbered_picture(7, *size))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_rotation_of_phone_videos_is_honoured(tmp_path: Path, turns: int) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 30)
    upright = video.sample_frames(clip, count=3).frames
    turn_mp4(clip, turns)
    info = video.probe(clip)
    assert (info.width, info.height) == ((96, 160) if turns % 2 else (160, 96))
    assert info.rotation == 360 - 90 * turns
    read = video.sample_frames(clip, count=3).frames
    np.testing.assert_array_equal(read, np.rot90(upright, -turns, axes=(1, 2)))
    small = video.sample_frames(clip, count=3, size=(info.width // 2, info.height // 2)).frames
    assert small.shape == (3, info.height // 2, info.width // 2, 3)
    assert numbers(np.rot90(small, turns, axes=(1, 2))) == [0, 14, 29]


def test_the_colour_matrix_of_the_stream_is_used(tmp_path: Path) -> None:
    colour = np.full((64, 64, 3), (200, 60, 30), np.uint8)
    pictures = {}
    for name, matrix, tag in (("hd", "ITU709", 1), ("sd", "ITU601", 6)):
        frame = av.VideoFrame.from_ndarray(colour).reformat(
            format="yuv444p", src_colorspace="DEFAULT", dst_colorspace=matrix
        )
        frame.pts, frame.time_base = 0, Fraction(1, 30)
        frame.colorspace = tag
        with av.open(str(tmp_path / f"{name}.mp4"), "w") as container:
            stream = container.add_stream("libx264", rate=30, options={"qp": "1"})
            stream.width = stream.height = 64
            stream.pix_fmt = "yuv444p"
            stream.codec_context.colorspace = tag
            container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        pictures[name] = video.sample_frames(tmp_path / f"{name}.mp4", count=1).frames[0]
    for picture in pictures.values():
        assert np.abs(picture.astype(int) - colour).max() <= 4


def test_the_default_one_of_two_video_streams_is_read(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 40, extra_streams=1)
    assert (video.probe(clip).width, video.probe(clip).height) == (160, 96)
    assert numbers(video.sample_frames(clip, count=3).frames) == [0, 20, 39]


def test_only_the_frames_near_the_wanted_ones_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 600, gop=30, options={"sc_threshold": "0"})
    fed: list[int] = []
    decode = decoding.Feed._decode
    monkeypatch.setattr(
        decoding.Feed, "_decode", lambda feed, packet: fed.append(1) or decode(feed, packet)
    )
    assert numbers(video.sample_frames(clip, times=[0, 10.1, 19.9]).frames) == [0, 303, 597]
    assert len(fed) < 150
    fed.clear()
    assert len(video.sample_frames(clip, count=300).frames) == 300
    assert len(fed) <= 601  # no packet twice; the last one empties the decoder


def test_missing_empty_and_foreign_files_are_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent.mp4"
    for read in (video.probe, video.frame_count, lambda path: video.sample_frames(path, count=1)):
        with pytest.raises(FileNotFoundError, match=r"no video file at .*absent\.mp4"):
            read(absent)
    assert "absent.mp4" in (video.check_video(absent) or "")
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("not a video")
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 2048), np.float32), "fltp", "mono")
        frame.sample_rate = 48000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    for name, reason in {
        "empty.mp4": r"empty\.mp4 is empty \(0 bytes\)",
        "text.mp4": r"text\.mp4 does not open as a video",
        "sound.mp4": r"sound\.mp4 has no video stream",
        ".": "is a folder",
    }.items():
        path = tmp_path / name
        for read in (video.probe, video.frame_times, lambda p: video.sample_frames(p, count=1)):
            with pytest.raises(video.VideoError, match=reason):
                read(path)
        assert video.check_video(path) is not None


def test_an_unknown_codec_is_named_and_does_not_crash(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 10)
    clip.write_bytes(clip.read_bytes().replace(b"avc1", b"zzzz"))
    with pytest.raises(video.VideoError, match=r"clip\.mp4: no decoder for its codec"):
        video.sample_frames(clip, count=2)
    assert "no decoder" in (video.check_video(clip) or "")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("moov-first.mp4", {"format_options": {"movflags": "faststart"}}),
        ("moov-last.mp4", {}),
        ("clip.mkv", {}),
        ("clip.webm", {"codec": "libvpx"}),
        ("clip.avi", {"codec": "mpeg4"}),
    ],
)
def test_a_truncated_file_is_refused(tmp_path: Path, name: str, options: dict) -> None:
    clip = write_clip(tmp_path / name, 90, **options)
    data = clip.read_bytes()
    assert video.check_video(clip) is None
    with av.open(str(clip)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        inside = packets[60].pos + packets[60].size // 2
        del packets
    clip.write_bytes(data[:inside])
    reason = video.check_video(clip)
    assert reason is not None
    assert name in reason
    with pytest.raises(video.VideoError, match=name):
        video.sample_frames(clip, count=4)


def damaged(path: Path, first: int, last: int) -> Path:
    """Overwrite the data of the packets from `first` up to `last` with zeros."""
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        places = [(p.pos, p.size) for p in container.demux(video=0) if p.size]
    for position, size in places[first:last]:
        data[position : position + size] = bytes(size)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("worth", [0, 10**9], ids=["jumping", "reading-on"])
def test_broken_frames_are_skipped_and_reported(
    tmp_path: Path,
    worth: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(decoding, "_WORTH_A_JUMP", worth)
    clip = write_clip(tmp_path / "clip.mp4", 90, gop=10, b_frames=0, options={"sc_threshold": "0"})
    damaged(clip, 25, 50)
    with caplog.at_level(logging.WARNING):
        read = video.sample_frames(clip, times=np.array([10, 24, 30, 49, 50, 80]) / 30)
    # 25 to 49 do not decode, two groups of pictures are lost whole: 24 stays on screen.
    assert numbers(read.frames) == [10, 24, 24, 24, 50, 80]
    np.testing.assert_allclose(read.times, np.array([10, 24, 24, 24, 50, 80]) / 30)
    assert "clip.mp4" in caplog.text
    spread = video.sample_frames(clip, count=9)  # 0, 11, 22, 33, 44, 56, ...
    assert numbers(spread.frames) == [0, 11, 22, 24, 56, 67, 78, 89]


def test_a_header_may_promise_more_frames_than_decode(tmp_path: Path) -> None:
    clip = damaged(write_clip(tmp_path / "clip.mp4", 60, b_frames=0), 40, 60)
    assert video.probe(clip).frames == 60
    assert numbers(video.sample_frames(clip, count=7).frames) == [0, 10, 20, 30, 39]
    assert [shown_number(frame) for _, frame in video.iter_frames(clip)] == list(range(40))


def test_a_broken_start_gives_the_first_frame_that_decodes(tmp_path: Path) -> None:
    clip = damaged(write_clip(tmp_path / "clip.mp4", 60, b_frames=0, gop=10), 0, 10)
    read = video.sample_frames(clip, count=3)
    assert numbers(read.frames) == [10, 30, 59]
    np.testing.assert_allclose(read.times, np.array([10, 30, 59]) / 30)


def test_nothing_that_decodes_is_an_error(tmp_path: Path) -> None:
    clip = damaged(write_clip(tmp_path / "clip.mp4", 30, b_frames=0), 0, 30)
    with pytest.raises(video.VideoError, match=r"clip\.mp4: no frame decodes"):
        video.sample_frames(clip, count=3)
    assert "no frame decodes" in (video.check_video(clip) or "")


def test_a_replaced_file_is_read_anew(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 30)
    assert video.frame_count(clip) == 30
    write_clip(clip, 45)
    assert video.frame_count(clip) == 45


def test_readers_do_not_hang_when_pyav_logs_to_python(tmp_path: Path) -> None:
    """PyAV holds Python's lock while it resets decoder threads, which may wait for it to log."""
    clip = damaged(write_clip(tmp_path / "clip.mp4", 90, b_frames=0), 4, 30)
    script = f"""
import av
from procedural_evals import video
av.logging.set_level(av.logging.PANIC)
for _ in range(20):
    assert len(video.sample_frames({str(clip)!r}, times=[0.0, 2.9]).frames) == 2
"""
    # In a process of its own: one that hangs so cannot be interrupted.
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_decoder_is_named_for_the_records() -> None:
    assert av.__version__ in video.DECODER_VERSION


def test_real_video_has_frame_n_at_n_seconds(shared: Path) -> None:
    folder = shared / "data" / "flat-pack-bench" / "media-sample"
    (path,) = folder.glob("*.mp4")
    info = video.probe(path)
    assert (info.width, info.height, info.frames, info.fps) == (640, 480, 255, 1.0)
    assert video.check_video(path) is None
    np.testing.assert_array_equal(video.frame_times(path), np.arange(255.0))
    wanted = [72, 249, 0, 254]
    read = video.sample_frames(path, times=wanted)
    np.testing.assert_array_equal(read.times, wanted)
    in_order = dict(video.iter_frames(path))
    for frame, second in zip(read.frames, wanted, strict=True):
        np.testing.assert_array_equal(frame, in_order[second])


@pytest.mark.parametrize("rule", video.RULES)
@pytest.mark.parametrize("bounds", [(None, None), (1.0, 3.2)])
def test_planned_times_are_those_of_the_frames_that_come(
    clip: Path, rule: str, bounds: tuple[float | None, float | None]
) -> None:
    start, end = bounds
    planned = video.planned_times(clip, 5, start, end, rule)
    shown = video.sample_frames(clip, count=5, start=start, end=end, rule=rule)
    assert planned.tolist() == shown.times.tolist()
