"""What an MP4's own tables say about its frames is what FFmpeg says, or it is not believed."""

from __future__ import annotations

import struct
from dataclasses import fields
from pathlib import Path

import av
import numpy as np
import pytest

from procedural_evals import mp4_table, timelines, video
from tests.numbered_clips import shown_number, turn_mp4, write_clip

UNEVEN = [0, 1, 2, 5, 9, 10, 40, 41, 43, 44, 45, 46, 113, 114, 120]

PLAIN = {
    "B-frames": {"ticks": 70, "b_frames": 2},
    "no B-frames": {"ticks": 70, "b_frames": 0},
    "open groups": {"ticks": 70, "options": {"x264-params": "open-gop=1:bframes=3"}},
    "uneven": {"ticks": UNEVEN},
    "late": {"ticks": range(300, 340)},
    "one frame": {"ticks": 1},
    "index first": {"ticks": 70, "format_options": {"movflags": "faststart"}},
    "negative offsets": {"ticks": 70, "format_options": {"movflags": "negative_cts_offsets"}},
    "H.265": {"ticks": 70, "codec": "libx265", "options": {"x265-params": "log-level=none"}},
    "MPEG-4": {"ticks": 70, "codec": "mpeg4", "b_frames": 2},
    "only keyframes": {"ticks": 20, "codec": "mjpeg", "pixels": "yuvj420p", "gop": 1},
}


@pytest.mark.parametrize("options", PLAIN.values(), ids=[n.replace(" ", "-") for n in PLAIN])
@pytest.mark.parametrize("name", ["clip.mp4", "clip.mov"])
def test_tables_say_what_the_packets_say(tmp_path: Path, name: str, options: dict) -> None:
    clip = write_clip(tmp_path / name, **options)
    table, packets = timelines.timeline_of(clip), timelines.timeline_of(clip, listed=True)
    assert not table.listed
    assert packets.listed
    for field in fields(timelines.Timeline):
        if field.name not in {"listed", "described"}:
            np.testing.assert_array_equal(
                getattr(table, field.name), getattr(packets, field.name), err_msg=field.name
            )
    timelines.forget()
    read = video.sample_frames(clip, times=table.times[::-1])
    ticks = options["ticks"]
    count = ticks if isinstance(ticks, int) else len(ticks)
    assert [shown_number(frame) for frame in read.frames] == list(range(count))[::-1]


def test_the_packets_of_a_plain_file_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 700, gop=30)
    seen = []
    described = timelines._described
    monkeypatch.setattr(timelines, "_described", lambda p: seen.append(1) or described(p))
    assert video.frame_count(clip) == 700
    assert len(seen) < 20


def edited(path: Path, cut: int, length: int | None = None) -> Path:
    """Let the edit list of an MP4 begin so many ticks later, or show so many units of the movie."""
    data = bytearray(path.read_bytes())
    place = data.index(b"elst") + 4
    version, _, count, shown, begin = struct.unpack_from(">B3sIIi", data, place)
    assert (version, count) == (0, 1), "a short edit list of one edit"
    struct.pack_into(">Ii", data, place + 8, length or shown, begin + cut)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("cut", "length"), [(15360 // 2, None), (0, 1000)], ids=["begin", "end"])
def test_an_edit_list_that_cuts_is_left_to_ffmpeg(
    tmp_path: Path, cut: int, length: int | None
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 90, b_frames=2)
    assert mp4_table.sample_table(clip) is not None
    edited(clip, cut, length)
    assert mp4_table.sample_table(clip) is None
    with av.open(str(clip)) as container:
        shown = [shown_number(frame.to_ndarray(format="rgb24")) for frame in container.decode()]
    assert shown != list(range(90))
    assert [shown_number(frame) for frame in video.sample_frames(clip, count=200).frames] == shown


def test_other_files_have_no_table(tmp_path: Path) -> None:
    fragments = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    for clip in (
        write_clip(tmp_path / "fragments.mp4", 30, format_options=fragments),
        write_clip(tmp_path / "two.mp4", 10, extra_streams=1),
        write_clip(tmp_path / "clip.mkv", 10),
        write_clip(tmp_path / "clip.ts", 10),
    ):
        assert mp4_table.sample_table(clip) is None
    (tmp_path / "text.mp4").write_text("no video at all")
    assert mp4_table.sample_table(tmp_path / "text.mp4") is None


@pytest.mark.parametrize("box", [b"stts", b"ctts", b"stsz", b"stss", b"mdhd", b"elst", b"stsd"])
def test_a_table_that_contradicts_itself_is_not_believed(tmp_path: Path, box: bytes) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 60, b_frames=2)
    whole = clip.read_bytes()
    place = whole.index(box) + 4
    for offset in range(0, 16, 4):
        for word in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
            data = bytearray(whole)
            struct.pack_into(">I", data, place + offset, word)
            clip.write_bytes(data)
            mp4_table.sample_table(clip)  # whatever it says, it does not fail


LIES = {
    "the first frame is later": lambda shown: np.concatenate([[shown[0] + 99], shown[1:]]),
    "two frames change places": lambda shown: shown[[*range(30), 31, 30, *range(32, len(shown))]],
    "the last frame is missing": lambda shown: shown[:-1],
}


@pytest.mark.parametrize("lie", LIES.values(), ids=[name.replace(" ", "-") for name in LIES])
def test_a_table_that_lies_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: object
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 90, gop=10, b_frames=0)

    def lying(path: Path) -> mp4_table.SampleTable:
        told = mp4_table.sample_table(path)
        shown = lie(told.shown)
        return told._replace(shown=shown, decoded=told.decoded[: len(shown)])

    monkeypatch.setattr(timelines, "sample_table", lying)
    assert [shown_number(frame) for frame in video.sample_frames(clip, count=90).frames] == list(
        range(90)
    )
    assert timelines.timeline_of(clip).listed


def test_a_turned_picture_needs_no_other_opening(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 30)
    turn_mp4(clip, 1)
    assert timelines.timeline_of(clip).described == (True,)
    assert video.probe(clip).rotation == 270
    assert video.sample_frames(clip, count=2).frames.shape == (2, 160, 96, 3)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("begin", [0, 160])
@pytest.mark.parametrize("ticks", [range(45), UNEVEN], ids=["constant", "variable"])
def test_every_frame_is_found_by_its_time_and_by_its_range(
    tmp_path: Path, name: str, b_frames: int, begin: int, ticks: list[int]
) -> None:
    clip = write_clip(tmp_path / name, [begin + tick for tick in ticks], b_frames=b_frames)
    times = video.frame_times(clip)
    np.testing.assert_allclose(times, np.array(ticks) / 30, atol=0.00101)
    frames = list(range(len(times)))
    ends = np.append(times[1:], video.probe(clip).duration)

    def shown(read: video.Frames) -> list[int]:
        np.testing.assert_array_equal(read.times, times[[shown_number(f) for f in read.frames]])
        return [shown_number(frame) for frame in read.frames]

    assert shown(video.sample_frames(clip, count=1000)) == frames
    assert shown(video.sample_frames(clip, times=times)) == frames
    assert shown(video.sample_frames(clip, times=(times + ends) / 2)) == frames
    assert shown(video.sample_frames(clip, times=ends - 0.002)) == frames
    for number in (0, 1, 7, len(times) - 1):
        start, end = times[number], ends[number]
        assert shown(video.sample_frames(clip, count=9, start=start, end=end)) == [number]
        from_here = shown(video.sample_frames(clip, count=1000, start=start))
        assert from_here == frames[number:]
        if number:
            before = shown(video.sample_frames(clip, count=1000, start=0, end=start))
            assert before == frames[:number]


def test_changed_tables_are_read_anew(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 30)
    first = timelines.timeline_of(clip)
    assert timelines.timeline_of(clip) is first
    write_clip(clip, 31)
    assert len(timelines.timeline_of(clip).times) == 31
