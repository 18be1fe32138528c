"""The ego video agrees with the frame times, and the decoded frames lie before the boundary."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from procedural_evals.dyad.media import video_problem
from procedural_evals.dyad.records import Session
from procedural_evals.dyad.windows import ModeExample, mode_input, window_before
from procedural_evals.video import sample_frames
from tests.numbered_clips import shown_number, write_clip

RATE = 10


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A recording whose first frame was taken 0.4 s after the session began."""
    folder = tmp_path_factory.mktemp("s01")
    write_clip(folder / "ego_rgb.mp4", 80, rate=RATE)
    times = np.round(np.arange(80) / RATE + 0.4, 6)
    return Session("s01", "p01", 0.0, folder, times, (), (), ())


def test_the_frames_that_are_decoded_all_lie_before_the_boundary(session):
    # The boundary 6.4 s is the time of frame 60.
    window = window_before(session, 6.9)
    example = ModeExample(
        "s01-assistance-0006900",
        "s01",
        "p01",
        0,
        window.start,
        window.end,
        session.video_time(window.start),
        session.video_time(window.end),
        window.first,
        window.stop,
        "verbal",
    )
    seen = mode_input(session, example, count=8)
    frames = sample_frames(session.folder / "ego_rgb.mp4", times=seen.clip_times)
    assert [shown_number(picture) for picture in frames.frames] == list(seen.frames)
    assert seen.frames[-1] == 59
    assert seen.frames[0] >= 30


def test_a_video_on_the_sessions_clock_has_no_problem(session):
    assert video_problem(session) is None


def test_a_video_on_another_clock_is_found(session, tmp_path):
    slower = dataclasses.replace(session, frame_times=session.frame_times * 1.02)
    assert "frame 79 is shown at 7.900 s, but was taken at 8.058 s" in video_problem(slower)
    fewer = dataclasses.replace(session, frame_times=session.frame_times[:-1])
    assert "80 frames for 79 times" in video_problem(fewer)
    unknown = dataclasses.replace(session, frame_times=np.empty(0))
    assert "nothing ties the video to time" in video_problem(unknown)


def test_a_missing_or_damaged_video_is_named(session, tmp_path):
    elsewhere = dataclasses.replace(session, folder=tmp_path)
    assert video_problem(elsewhere) == f"missing: {tmp_path / 'ego_rgb.mp4'}"
    Path(tmp_path / "ego_rgb.mp4").write_bytes(b"no video")
    assert "ego_rgb.mp4" in video_problem(elsewhere)
