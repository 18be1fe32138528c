"""Messages become what processors take: the frames we read, with the times they are shown at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from procedural_evals import video
from procedural_evals.harness.hf_media import FramePlan, prompt_of
from tests.numbered_clips import numbered_picture, shown_number, write_clip


def message(*content: dict, role: str = "user") -> list[dict]:
    return [{"role": role, "content": list(content)}]


def seconds(metadata: dict) -> list[float]:
    """Times as processors compute them."""
    return [index / metadata["fps"] for index in metadata["frames_indices"]]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "clip.mp4", 91, rate=30)


def test_media_keep_their_order(clip: Path) -> None:
    red, blue = Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")
    content = (
        {"type": "image", "url": red},
        {"type": "text", "text": "then"},
        {"type": "video", "url": str(clip)},
        {"type": "image", "url": blue},
        {"type": "text", "text": "what?"},
    )
    prompt = prompt_of(message(*content), FramePlan(4))
    kinds = [part["type"] for part in prompt.conversation[0]["content"]]
    assert kinds == ["image", "text", "video", "image", "text"]
    assert [picture.getpixel((0, 0)) for picture in prompt.images] == [(255, 0, 0), (0, 0, 255)]
    assert prompt.text == "then\nwhat?"
    assert [shown_number(frame) for frame in prompt.videos[0]] == [0, 30, 60, 90]
    assert prompt.frame_times == [0, 1, 2, 3]


def test_text_may_stand_without_parts() -> None:
    messages = [{"role": "system", "content": "Be brief."}, *message({"type": "text", "text": "?"})]
    prompt = prompt_of(messages, FramePlan())
    assert [turn["role"] for turn in prompt.conversation] == ["system", "user"]
    assert prompt.text == "Be brief.\n?"


def test_the_times_in_the_metadata_are_those_of_the_frames(clip: Path) -> None:
    prompt = prompt_of(message({"type": "video", "url": str(clip)}), FramePlan(7))
    (metadata,) = prompt.metadata
    np.testing.assert_allclose(seconds(metadata), prompt.frame_times, atol=0.001)
    assert metadata["frames_indices"] == [0, 15, 30, 45, 60, 75, 90]
    assert metadata["total_num_frames"] == 91
    assert metadata["fps"] == pytest.approx(30)
    assert metadata["duration"] == pytest.approx(91 / 30)


def test_variable_rates_keep_their_times(tmp_path: Path) -> None:
    ticks = [0, 1, 2, 3, 50, 51, 52, 90]
    path = write_clip(tmp_path / "uneven.mp4", ticks)
    prompt = prompt_of(message({"type": "video", "url": str(path)}), FramePlan(8))
    np.testing.assert_allclose(seconds(prompt.metadata[0]), np.array(ticks) / 30, atol=0.0006)
    sampled_fps = 8 / prompt.metadata[0]["total_num_frames"] * prompt.metadata[0]["fps"]
    assert sampled_fps == pytest.approx(8 / video.probe(path).duration, rel=0.01)


def test_a_range_counts_from_its_own_start(clip: Path) -> None:
    by_mapping = {"type": "video", "url": {"path": str(clip), "start": 1.0, "end": 2.0}}
    by_protocol = {"type": "video", "url": str(clip), "start_time": 1.0, "end_time": 2.0}
    for part in (by_mapping, by_protocol):
        prompt = prompt_of(message(part), FramePlan(4))
        assert [shown_number(frame) for frame in prompt.videos[0]] == [30, 40, 49, 59]
        assert prompt.metadata[0]["frames_indices"] == [0, 10, 19, 29]
        assert prompt.metadata[0]["total_num_frames"] == 30
        assert prompt.metadata[0]["duration"] == pytest.approx(1.0)
        np.testing.assert_allclose(prompt.frame_times, np.array([30, 40, 49, 59]) / 30, atol=0.001)


def test_the_last_frame_is_repeated_to_fill_a_patch(clip: Path) -> None:
    prompt = prompt_of(message({"type": "video", "url": str(clip)}), FramePlan(3, multiple=2))
    assert [shown_number(frame) for frame in prompt.videos[0]] == [0, 45, 90, 90]
    assert prompt.metadata[0]["frames_indices"] == [0, 45, 90, 90]
    assert prompt.frame_times == [0, 1.5, 3]


def test_fps_decides_the_number_of_frames_up_to_the_most(clip: Path) -> None:
    part = {"type": "video", "url": str(clip)}
    assert len(prompt_of(message(part), FramePlan(32, fps=2)).videos[0]) == 7
    assert len(prompt_of(message(part), FramePlan(4, fps=2)).videos[0]) == 4
    assert len(prompt_of(message(part), FramePlan(32, fps=0.1)).videos[0]) == 1


def test_models_without_video_get_single_pictures(clip: Path) -> None:
    content = ({"type": "video", "url": str(clip)}, {"type": "text", "text": "what?"})
    prompt = prompt_of(message(*content), FramePlan(3, multiple=2, as_images=True))
    assert [part["type"] for part in prompt.conversation[0]["content"]] == ["image"] * 3 + ["text"]
    assert [shown_number(np.asarray(picture)) for picture in prompt.images] == [0, 45, 90]
    assert not prompt.videos


def test_large_pictures_are_scaled_down(clip: Path, tmp_path: Path) -> None:
    Image.fromarray(numbered_picture(5)).save(tmp_path / "five.png")
    content = ({"type": "video", "url": str(clip)}, {"type": "image", "url": tmp_path / "five.png"})
    prompt = prompt_of(message(*content), FramePlan(2, max_pixels=80 * 48))
    assert prompt.videos[0].shape == (2, 48, 80, 3)
    assert prompt.images[0].size == (80, 48)
    assert prompt.metadata[0]["width"] == 80
    small = prompt_of(message(*content), FramePlan(2, max_pixels=1000 * 1000))
    assert small.images[0].size == (160, 96)


@pytest.mark.parametrize(
    ("part", "error", "text"),
    [
        ({"type": "video", "url": "absent.mp4"}, FileNotFoundError, r"absent\.mp4"),
        ({"type": "image", "url": "absent.png"}, FileNotFoundError, r"absent\.png"),
        ({"type": "video", "url": 3}, ValueError, "got int"),
        ({"type": "audio", "url": "a.wav"}, ValueError, "holds audio"),
        ({"type": "image"}, KeyError, "url"),
    ],
)
def test_what_cannot_be_shown_is_named(part: dict, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        prompt_of(message(part), FramePlan())


def test_a_range_outside_the_video_is_named(clip: Path) -> None:
    part = {"type": "video", "url": str(clip), "start_time": 9.0, "end_time": 12.0}
    with pytest.raises(ValueError, match=r"clip\.mp4 lasts from 0 to 3\.033 s.*\[9, 12\)"):
        prompt_of(message(part), FramePlan())


@pytest.mark.parametrize("name", ["max_num_frames", "fps", "max_pixels"])
def test_plans_without_frames_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=0"):
        FramePlan(**{name: 0})
