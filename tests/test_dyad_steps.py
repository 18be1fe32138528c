"""Step labels at 1 Hz, causal frames, and scores that leave unlabelled seconds out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.records import Session, StepInterval
from procedural_evals.dyad.steps import lookback, step_labels, step_scores, step_tracks
from procedural_evals.dyad.vocabulary import STEPS
from tests.dyad_export import write_export


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyad")
    write_export(root, sessions=20)
    return load_corpus(root)


def session_of(*intervals, frames=()):
    steps = tuple(
        StepInterval(f"e{i}", "s", start, end, step, None, None)
        for i, (start, end, step) in enumerate(intervals)
    )
    return Session("s", "p", 0.0, Path(), np.asarray(frames, np.float64), steps, (), ())


def test_a_step_holds_from_its_start_until_before_its_end():
    session = session_of((1.0, 3.0, "part_search"), (3.0, 4.5, "attach_crank"))
    labels = step_labels(session, [0, 1, 2, 3, 4, 5])
    assert labels == (None, "part_search", "part_search", "attach_crank", "attach_crank", None)


def test_where_steps_overlap_the_later_one_goes_on():
    session = session_of((0.0, 5.0, "part_search"), (2.0, 4.0, "attach_crank"))
    assert step_labels(session, [1, 2, 3, 4]) == (
        "part_search",
        "attach_crank",
        "attach_crank",
        "part_search",
    )


def test_an_interval_without_label_or_end_labels_nothing():
    session = session_of((0.0, 5.0, None), (0.0, None, "attach_crank"))
    assert step_labels(session, [1, 2]) == (None, None)


def test_five_sessions_validate_and_fifteen_test_at_one_hertz(corpus):
    tracks = step_tracks(corpus)
    assert [track.split for track in tracks].count("development") == 5
    assert len(tracks) == 20
    for track in tracks:
        assert np.diff(track.times).tolist() == [1.0] * (len(track.times) - 1)
        assert len(track.labels) == len(track.times)
        assert track.times[-1] <= corpus.session(track.session).duration


def test_the_lookback_holds_the_frames_of_the_last_seconds():
    session = session_of(frames=np.arange(0, 20, 0.25))
    assert lookback(session, 10.0) == (28, 32, 36, 40)
    # Before the beginning the first frame stands in.
    assert lookback(session, 1.0) == (0, 0, 0, 4)
    with pytest.raises(ValueError, match="no frame at or before"):
        lookback(session_of(frames=[5.0]), 4.0)


@given(
    st.lists(st.integers(1, 400_000), min_size=5, max_size=60),
    st.integers(1, 6),
    st.integers(0, 10_000_000),
)
def test_no_frame_after_the_decision_time_is_ever_chosen(steps, count, micro):
    times = np.cumsum(steps)
    session = session_of(frames=times / 1e6)
    if micro < times[0]:
        return
    numbers = lookback(session, micro / 1e6, count)
    assert len(numbers) == count
    assert (times[list(numbers)] <= micro).all()
    # The newest is the last one that may be looked at.
    assert numbers[-1] == np.searchsorted(times, micro, side="right") - 1


def right_answers(tracks):
    return {(track.session, time): label for track in tracks for time, label in track.labelled()}


def test_an_oracle_scores_100(corpus):
    tracks = step_tracks(corpus)
    answers = right_answers(tracks)
    scores = step_scores(tracks, answers)
    assert {scores[name] for name in ("f1@0.1", "f1@0.25", "f1@0.5", "edit", "mof")} == {100.0}
    assert scores["frames"] == len(answers)
    assert scores["frames"] < sum(len(track.times) for track in tracks)
    assert scores["sequences"] == 20


def test_unlabelled_seconds_give_no_credit(corpus):
    tracks = step_tracks(corpus)
    answers = dict.fromkeys(right_answers(tracks), None)
    scores = step_scores(tracks, answers)
    assert scores["mof"] == 0
    assert scores["f1@0.1"] == 0


def test_a_constant_answer_gets_its_share_of_the_frames(corpus):
    tracks = step_tracks(corpus)
    answers = right_answers(tracks)
    share = list(answers.values()).count("part_search") / len(answers)
    constant = step_scores(tracks, dict.fromkeys(answers, "part_search"))
    assert constant["mof"] == pytest.approx(100 * share)


def test_every_labelled_second_needs_an_answer(corpus):
    tracks = step_tracks(corpus)
    answers = right_answers(tracks)
    key = sorted(answers)[0]
    with pytest.raises(ValueError, match=f"1 labelled seconds have none .*{key[0]}"):
        step_scores(tracks, {k: v for k, v in answers.items() if k != key})
    with pytest.raises(ValueError, match="1 belong to no labelled second"):
        step_scores(tracks, {**answers, ("s99", 0.0): "part_search"})


def test_class_scores_give_frame_and_temporal_precision(corpus):
    tracks = step_tracks(corpus)
    answers = right_answers(tracks)
    sure = {key: [float(step == label) for step in STEPS] for key, label in answers.items()}
    scores = step_scores(tracks, answers, class_scores=sure)
    assert (scores["frame_map"], scores["map@0.1"], scores["map@0.5"]) == (100, 100, 100)
    constant = step_scores(
        tracks,
        dict.fromkeys(answers, "part_search"),
        class_scores=dict.fromkeys(answers, [0.0] * len(STEPS)),
    )
    # A constant score ranks each class at its share of the labelled seconds: one eighth on average.
    assert constant["frame_map"] == pytest.approx(100 / len(set(answers.values())))
    with pytest.raises(ValueError, match="class_scores: 1 labelled seconds have none"):
        step_scores(tracks, answers, class_scores=dict(list(sure.items())[1:]))
