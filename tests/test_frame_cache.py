"""Frames are decoded once for all models, and the cache never stands in the way of an item."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from procedural_evals import decoding, frame_cache, video
from procedural_evals.harness import hf_media, protocols
from tests.numbered_clips import shown_number, write_clip


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(frame_cache.SIZE_VARIABLE, "50MB")
    monkeypatch.setattr(frame_cache, "_writes", True)
    return tmp_path / "cache" / "frames"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "clip.mp4", 90)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One item for each packet that is decoded."""
    fed: list[int] = []
    decode = decoding.Feed._decode
    monkeypatch.setattr(
        decoding.Feed, "_decode", lambda feed, packet: fed.append(1) or decode(feed, packet)
    )
    hf_media.read_clip.cache_clear()
    yield fed
    hf_media.read_clip.cache_clear()


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


def test_the_second_model_decodes_nothing(cache: Path, clip: Path, decoded: list[int]) -> None:
    doc = {"video": {"path": str(clip)}, "clip_start": 1.0, "clip_end": 2.0}
    plan = protocols.FramePlan(3, size=(80, 48))
    message = [{"role": "user", "content": [{"type": "video", "url": str(clip)}]}]

    def one_model() -> tuple[list[int], list[int], object]:
        hf_media.read_clip.cache_clear()  # as in another process
        pictures, times = protocols._sampled(doc, plan)
        prompt = hf_media.prompt_of(message, hf_media.FramePlan(4, multiple=3, max_pixels=5000))
        return (
            [shown_number(np.asarray(picture)) for picture in pictures],
            [shown_number(frame) for frame in prompt.videos[0]],
            (times, prompt.frame_times, prompt.metadata, prompt.videos[0].tobytes()),
        )

    first = one_model()
    assert first[:2] == ([30, 44, 59], [0, 30, 59, 89, 89, 89])
    assert decoded
    decoded.clear()
    assert one_model() == first
    assert not decoded
    assert len(entries(cache)) == 2


def test_another_question_is_another_entry(cache: Path, clip: Path, decoded: list[int]) -> None:
    first = {"count": 3}
    for request in (
        first,
        {"count": 4},
        {"count": 3, "size": (80, 48)},
        {"count": 3, "start": 1.0},
        {"count": 3, "rule": "stride_from_end"},
        {"times": [0.0, 1.0]},
        {"times": np.array([1.0, 0.0])},
    ):
        decoded.clear()
        kept = frame_cache.sample_frames(clip, **request)
        assert decoded
        decoded.clear()
        again, plain = frame_cache.sample_frames(clip, **request), None
        assert not decoded
        plain = video.sample_frames(clip, **request)
        for read in (kept, again):
            np.testing.assert_array_equal(read.frames, plain.frames)
            assert read.times.tolist() == plain.times.tolist()
    write_clip(clip, range(45, 90))
    assert shown_number(frame_cache.sample_frames(clip, **first).frames[2]) == 44
    decoded.clear()
    frame_cache.sample_frames(clip, **first)
    assert not decoded


def test_what_cannot_be_read_is_not_kept(cache: Path, clip: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="no part of it is in"):
            frame_cache.sample_frames(clip, count=3, start=9.0)
        with pytest.raises(FileNotFoundError, match=r"absent\.mp4"):
            frame_cache.sample_frames("absent.mp4", count=3)
    assert not cache.exists()


READER = """
import sys
import numpy as np
from procedural_evals import frame_cache
for count in range(1, 9):
    read = frame_cache.sample_frames(sys.argv[1], count=count)
    print(count, read.times.tolist(), int(read.frames.sum(dtype=np.int64)))
"""


def test_two_processes_share_it(cache: Path, clip: Path, decoded: list[int]) -> None:
    command = [sys.executable, "-c", READER, str(clip)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=60)[0] for process in both]
    assert told[0] == told[1]
    assert len(told[0].splitlines()) == 8
    assert len(entries(cache)) == 8
    assert {entry.suffix for entry in entries(cache)} == {".frames"}
    for count in range(1, 9):
        frame_cache.sample_frames(clip, count=count)
    assert not decoded


def test_the_least_recently_used_make_room(
    cache: Path, clip: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = 160 * 96 * 3
    monkeypatch.setenv(frame_cache.SIZE_VARIABLE, str(int(3.5 * picture)))
    for second in (0.0, 1.0, 2.0):
        frame_cache.sample_frames(clip, times=[second])
    frame_cache.sample_frames(clip, times=[0.0])  # used again, so that 1.0 is the oldest
    frame_cache.sample_frames(clip, times=[2.5])
    assert len(entries(cache)) == 3
    decoded.clear()
    for second in (0.0, 2.0, 2.5):
        frame_cache.sample_frames(clip, times=[second])
    assert not decoded
    frame_cache.sample_frames(clip, times=[1.0])
    assert decoded
    assert sum(entry.stat().st_size for entry in entries(cache)) <= 3.5 * picture
    before = entries(cache)
    frame_cache.sample_frames(clip, count=9)  # larger than the whole cache
    assert entries(cache) == before


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "torn": lambda content: content[:-100],
    "torn in its head": lambda content: content[:20],
    "empty": lambda content: b"",
    "a flipped bit": lambda content: content[:-50] + bytes([content[-50] ^ 1]) + content[-49:],
    "longer": lambda content: content + b"x",
    "of another size": lambda content: content.replace(b"[3, 96", b"[9, 96"),
    "no entry at all": lambda content: b"[1]\n" + content,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_decoded_again(
    cache: Path, clip: Path, decoded: list[int], damage: Callable[[bytes], bytes]
) -> None:
    first = frame_cache.sample_frames(clip, count=3)
    (entry,) = entries(cache)
    content = entry.read_bytes()
    assert damage(content) != content
    entry.write_bytes(damage(content))
    decoded.clear()
    np.testing.assert_array_equal(frame_cache.sample_frames(clip, count=3).frames, first.frames)
    assert decoded
    assert entry.read_bytes() == content


FULL = """
import logging, resource, sys
import numpy as np
logging.basicConfig(format="%(message)s", stream=sys.stdout)
from procedural_evals import frame_cache
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))  # a picture, not two
for count in (1, 2, 3, 4):
    print(len(frame_cache.sample_frames(sys.argv[1], count=count).frames))
"""


def test_a_full_disk_costs_one_warning_and_no_item(cache: Path, clip: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(clip)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line for line in told if line.isdecimal()] == ["1", "2", "3", "4"]
    (warning,) = [line for line in told if not line.isdecimal()]
    assert "decoded frames are not kept any more: " in warning
    assert f"${frame_cache.SIZE_VARIABLE}" in warning
    assert len(entries(cache)) == 1  # of the first picture; nothing unfinished is left


def test_a_folder_that_cannot_be_made_costs_one_warning(
    tmp_path: Path,
    cache: Path,
    clip: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "taken"))
    with caplog.at_level(logging.WARNING):
        for count in (1, 2):
            assert len(frame_cache.sample_frames(clip, count=count).frames) == count
    assert len(caplog.records) == 1


def test_it_can_be_turned_off(cache: Path, clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(frame_cache.SIZE_VARIABLE, "0")
    assert len(frame_cache.sample_frames(clip, count=2).frames) == 2
    assert not cache.exists()


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), ("0.5T", 5 * 10**11), ("123", 123), ("0", 0)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert frame_cache.size_limit(text) == size


@pytest.mark.parametrize("text", ["lots", "-1", "2 GiB", "1,5GB"])
def test_other_sizes_are_named(text: str, monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    monkeypatch.setenv(frame_cache.SIZE_VARIABLE, text)
    with pytest.raises(ValueError, match=f"PROCEDURAL_EVALS_FRAME_CACHE={text}: a size is needed"):
        frame_cache.sample_frames(clip, count=1)
