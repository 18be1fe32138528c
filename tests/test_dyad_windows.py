"""Windows before an event: complete or left out with a reason, and never reaching the boundary."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.records import Session
from procedural_evals.dyad.sensors import load_sensor
from procedural_evals.dyad.splits import (
    DEVELOPMENT,
    development_sessions,
    grouped_folds,
    mode_folds,
    split_of,
)
from procedural_evals.dyad.windows import (
    ModeInput,
    mode_input,
    mode_manifest,
    spread,
    window_before,
)
from tests.dyad_export import write_export


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyad")
    write_export(root, sessions=20)
    return load_corpus(root)


def recorded(times, folder="."):
    """A session of which only the frame times matter."""
    return Session("s", "p", 0.0, Path(folder), np.asarray(times, np.float64), (), (), ())


STEADY = recorded(np.arange(0, 60 * 30) / 30)


def test_twenty_performers_give_five_folds_of_12_4_and_4(corpus):
    folds = mode_folds(corpus)
    assert [[len(part) for part in fold] for fold in folds] == [[12, 4, 4]] * 5
    tested = [name for fold in folds for name in fold.test]
    assert sorted(tested) == list(corpus.participants)
    validated = [name for fold in folds for name in fold.validation]
    assert sorted(validated) == list(corpus.participants)
    for fold in folds:
        assert len({*fold.train, *fold.validation, *fold.test}) == 20


def test_no_participant_crosses_a_split_when_somebody_came_twice(tmp_path):
    write_export(tmp_path, sessions=12, people=7)
    corpus = load_corpus(tmp_path)
    manifest = mode_manifest(corpus)
    for fold in manifest.folds:
        assert not set(fold.train) & set(fold.test)
        assert not set(fold.validation) & (set(fold.test) | set(fold.train))
    by_person = {}
    for example in manifest.examples:
        by_person.setdefault(example.participant, set()).add(example.fold)
    assert all(len(folds) == 1 for folds in by_person.values())
    development = development_sessions(corpus)
    sides = {(s.participant, split_of(s, development)) for s in corpus.sessions}
    assert len({name for name, _ in sides}) == len(sides)


def test_twenty_sessions_give_five_for_development(corpus):
    development = development_sessions(corpus)
    assert len(development) == 5
    splits = [split_of(session, development) for session in corpus.sessions]
    assert splits.count(DEVELOPMENT) == 5


def test_splits_of_the_data_folder_go_first(tmp_path):
    write_export(tmp_path, sessions=4)
    (tmp_path / "splits.json").write_text(
        '{"mode_groups": [["p04"], ["p01", "p03"], ["p02"]], "development_sessions": ["s04"]}'
    )
    corpus = load_corpus(tmp_path)
    assert mode_folds(corpus)[0].test == ("p04",)
    assert mode_folds(corpus)[0].validation == ("p01", "p03")
    assert development_sessions(corpus) == {"s04"}


def test_a_split_that_divides_a_participant_is_refused(tmp_path):
    write_export(tmp_path, sessions=4, people=2)
    (tmp_path / "splits.json").write_text('{"development_sessions": ["s01"]}')
    with pytest.raises(ValueError, match="p01 of session s03"):
        development_sessions(load_corpus(tmp_path))
    with pytest.raises(ValueError, match="2 groups"):
        grouped_folds([["a"], ["b"]])
    with pytest.raises(ValueError, match="twice: \\['a'\\]"):
        grouped_folds([["a"], ["b"], ["a"]])


def test_a_window_is_three_seconds_that_end_half_a_second_before_the_event():
    window = window_before(STEADY, 10.0)
    assert (window.start, window.end) == (6.5, 9.5)
    times = STEADY.frame_times[window.first : window.stop]
    assert len(times) == 90
    assert times[0] == 6.5
    # 9.5 is a frame's time, and outside.
    assert 9.5 in STEADY.frame_times
    assert times[-1] == pytest.approx(9.5 - 1 / 30)


@pytest.mark.parametrize(
    ("onset", "reason"),
    [
        (None, "no onset"),
        (3.0, "begins before the recording"),
        (59.99, "onset after the last frame"),
        (90.0, "onset after the last frame"),
    ],
)
def test_an_incomplete_window_has_a_reason(onset, reason):
    assert window_before(STEADY, onset) == reason


def test_a_pause_of_the_camera_leaves_a_window_incomplete():
    times = STEADY.frame_times
    with_hole = recorded(times[(times < 20) | (times > 20.25)])
    assert window_before(with_hole, 22.0) == "frames are missing"
    # Before the hole, and once it has left the window, windows are complete.
    assert not isinstance(window_before(with_hole, 20.4), str)
    assert not isinstance(window_before(with_hole, 23.8), str)
    short_hole = recorded(times[(times < 20) | (times > 20.1)])
    assert not isinstance(window_before(short_hole, 22.0), str)
    assert window_before(recorded([]), 10.0) == "no frame times"


def test_a_slow_camera_has_complete_windows_too():
    assert not isinstance(window_before(recorded(np.arange(0, 60, 0.5)), 10.0), str)


@settings(max_examples=200, deadline=None)
@given(st.integers(4_000_000, 50_000_000), st.integers(0, 10_000), st.integers(25_000, 150_000))
def test_no_frame_at_or_after_the_boundary_is_ever_chosen(onset, seed, longest):
    """Whatever the frame times (microseconds), and with onsets that fall exactly on frames."""
    micro = np.cumsum(np.random.default_rng(seed).integers(1, longest, 2000))
    onset = onset if onset % 2 else int(micro[onset % len(micro)]) + 500_000
    session = recorded(micro / 1e6)
    window = window_before(session, onset / 1e6)
    if isinstance(window, str):
        return
    assert (micro[window.first : window.stop] < onset - 500_000).all()
    assert (micro[window.first : window.stop] >= onset - 3_500_000).all()
    outside = np.delete(micro, slice(window.first, window.stop))
    assert not ((outside >= onset - 3_500_000) & (outside < onset - 500_000)).any()


def test_the_manifest_names_each_event_once_or_says_why_not(corpus):
    manifest = mode_manifest(corpus)
    chosen = [example.event_id for example in manifest.examples]
    others = [name for name, _ in manifest.left_out]
    every = [event.id for session in corpus.sessions for event in session.assistance]
    assert sorted(chosen + others) == sorted(every)
    reasons = {reason for _, reason in manifest.left_out}
    assert {"no mode label", "no onset"} <= reasons
    people = {name: i for i, fold in enumerate(manifest.folds) for name in fold.test}
    for example in manifest.examples:
        assert example.fold == people[example.participant]
        session = corpus.session(example.session)
        times = session.frame_times[example.first_frame : example.stop_frame]
        assert times[-1] < example.end
        assert example.clip_end - example.clip_start == pytest.approx(3)


def test_a_models_input_holds_frames_and_nothing_else(corpus):
    assert [field.name for field in dataclasses.fields(ModeInput)] == [
        "frames",
        "clip_times",
        "ages",
    ]
    example = mode_manifest(corpus).examples[3]
    session = corpus.session(example.session)
    given_to_model = mode_input(session, example, count=8)
    assert len(given_to_model.frames) == 8
    assert given_to_model.frames[-1] == example.stop_frame - 1
    assert min(given_to_model.ages) > 0
    assert all(example.clip_start <= time < example.clip_end for time in given_to_model.clip_times)


def test_labels_of_the_event_do_not_change_a_models_input(corpus):
    example = mode_manifest(corpus).examples[3]
    session = corpus.session(example.session)
    other = dataclasses.replace(
        session,
        assistance=tuple(
            dataclasses.replace(
                event, trigger="wrong_part", initiation=None, outcome=None, utterance="x"
            )
            for event in session.assistance
        ),
        participant="somebody else",
    )
    assert mode_input(session, example, 4) == mode_input(other, example, 4)


@given(st.integers(0, 50), st.integers(1, 200), st.integers(1, 16))
def test_frames_are_spread_evenly_and_end_with_the_last(first, length, count):
    numbers = spread(first, first + length, count)
    assert numbers[-1] == first + length - 1
    assert len(set(numbers.tolist())) == len(numbers) == min(count, length)
    assert numbers.min() >= first
    gaps = np.diff(numbers)
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1
    with pytest.raises(ValueError, match="at least one"):
        spread(first, first, count)


def test_arrays_are_cut_to_the_window_on_the_sessions_clock(tmp_path):
    times = np.arange(0, 10, 0.1).round(3)
    directions = np.tile(times[:, None], (1, 3)).astype(np.float32)
    np.savez(tmp_path / "gaze.npz", times=times, origin=directions, direction=directions)
    session = recorded(times, tmp_path)
    cut = load_sensor(session, "gaze", 2.0, 3.0)
    assert cut["times"].tolist() == times[20:30].tolist()
    assert cut["direction"][:, 0].max() < 3.0
    assert load_sensor(session, "hands") is None
    # The same arrays on an absolute-style clock.
    np.savez(tmp_path / "gaze.npz", times=times + 50_000, origin=directions, direction=directions)
    moved = load_sensor(dataclasses.replace(session, clock_origin=50_000.0), "gaze", 2.0, 3.0)
    assert moved["times"].tolist() == cut["times"].tolist()
    with pytest.raises(ValueError, match="no clock origin"):
        load_sensor(session, "gaze")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"times": np.arange(3.0)}, "no array 'pose'"),
        ({"times": np.arange(3.0), "pose": np.zeros((2, 4, 4))}, "pose is"),
        ({"times": np.zeros(3), "pose": np.zeros((3, 4, 4))}, "rise"),
    ],
)
def test_broken_arrays_are_named(tmp_path, arrays, message):
    np.savez(tmp_path / "head_pose.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load_sensor(recorded([0.0], tmp_path), "head_pose")
    with pytest.raises(ValueError, match="there are hands, gaze, head_pose"):
        load_sensor(recorded([0.0], tmp_path), "smell")
