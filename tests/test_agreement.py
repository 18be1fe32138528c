"""Agreement of annotators against scikit-learn and scipy's assignment solver."""

from __future__ import annotations

import doctest

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import cohen_kappa_score

from procedural_evals import folders
from procedural_evals.scores.agreement import (
    cohen_kappa,
    event_agreement,
    match_events,
    percent_agreement,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_kappa_agrees_with_scikit_learn(pairs):
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) == 1:
        # scikit-learn gives NaN here; two annotators who never differ agree.
        assert cohen_kappa(first, second) == 1
    else:
        assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second))


def test_no_label_is_a_category_of_its_own():
    first, second = ["a", None, None, "b"], ["a", None, "b", "b"]
    assert percent_agreement(first, second) == 75
    as_words = [[str(label) for label in side] for side in (first, second)]
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(*as_words))


TIMES = st.lists(st.integers(0, 60).map(lambda n: n / 10), max_size=9)


@settings(max_examples=500, deadline=None)
@given(TIMES, TIMES, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_the_matching_is_the_optimal_assignment(first, second, tolerance):
    pairs = match_events(first, second, tolerance)
    a, b = np.array(first), np.array(second)
    distance = np.abs(a[:, None] - b[None, :]).reshape(a.size, b.size)
    allowed = distance <= tolerance + 1e-9
    # A forbidden pair costs more than all allowed ones together.
    rows, columns = linear_sum_assignment(np.where(allowed, distance, 1e6))
    kept = allowed[rows, columns]
    assert len(pairs) == kept.sum()
    chosen = distance[pairs[:, 0], pairs[:, 1]]
    assert chosen.sum() == pytest.approx(distance[rows, columns][kept].sum())
    assert (chosen <= tolerance + 1e-9).all()
    assert len(set(pairs[:, 0])) == len(set(pairs[:, 1])) == len(pairs)


def test_the_closest_pair_is_given_up_for_one_more_match():
    # 1.0 and 1.1 are closest, but then 0.3 and 1.9 stay alone.
    assert match_events([0.3, 1.1], [1.0, 1.9], 0.8).tolist() == [[0, 0], [1, 1]]


def test_a_distance_equal_to_the_tolerance_is_within_it_in_spite_of_binary_fractions():
    assert 2.2 - 1.2 > 1
    assert len(match_events([2.2], [1.2], 1.0)) == 1
    assert len(match_events([2.21], [1.2], 1.0)) == 0


def test_the_reliability_audits_row_comes_out():
    rng = np.random.default_rng(0)
    onsets = np.cumsum(rng.uniform(3, 20, 147))
    missed = rng.choice(147, 3, replace=False)
    second = np.delete(onsets, missed) + rng.uniform(-0.9, 0.9, 144)
    scores = event_agreement([second], [onsets], tolerance=1.0).scores()
    assert (scores["matched"], scores["reference"]) == (144, 147)
    assert scores["precision"] == 1
    assert round(scores["recall"], 3) == 0.980
    assert round(scores["f1"], 3) == 0.990


def test_boundaries_of_matched_events_are_compared_and_sessions_kept_apart():
    first = [[{"start": 1.0, "end": 4.0}], [(5.0, 6.0), (9.0, None)]]
    second = [[(1.5, 4.1)], [(9.2, 11.0), {"start": 5.0, "end": 6.5}]]
    found = event_agreement(first, second)
    assert [pairs.tolist() for pairs in found.pairs] == [[[0, 0]], [[0, 1], [1, 0]]]
    scores = found.scores()
    assert scores["start_mae"] == pytest.approx((0.5 + 0.0 + 0.2) / 3)
    assert scores["end_mae"] == pytest.approx((0.1 + 0.5) / 2)
    # The same onset in another session is no match.
    assert event_agreement([[1.0], []], [[], [1.0]]).scores()["matched"] == 0


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [([], [], 1.0), ([1.0], [], 0.0), ([], [1.0], 0.0), ([1.0], [9.0], 0.0)],
)
def test_empty_sides_are_defined(first, second, expected):
    scores = event_agreement([first], [second]).scores()
    assert [scores[name] for name in ("precision", "recall", "f1")] == [expected] * 3
    assert scores["start_mae"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa(["a"], []), "1 labels against 0"),
        (lambda: percent_agreement([], []), "no items"),
        (lambda: cohen_kappa([float("nan")], ["a"]), "NaN"),
        (lambda: match_events([1.0], [1.0], -1), "tolerance: -1"),
        (lambda: match_events([1.0], [1.0], float("nan")), "tolerance: nan"),
        (lambda: match_events([float("nan")], [1.0], 1), "first: one finite onset"),
        (lambda: event_agreement([[]], []), "1 predicted sessions for 0"),
        (lambda: event_agreement([], []), "no sessions"),
        (lambda: event_agreement([[(None, 1)]], [[]]), "predictions: session 0: event 0"),
        (lambda: event_agreement([[]], [[(3, 1)]]), "references: session 0: event 0 runs from 3"),
        (lambda: event_agreement([[]], [[{"onset": 3}]]), "give its start"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def load(*config):
    return evaluate.load(str(folders.metrics() / "agreement"), *config)


def test_the_evaluate_module_compares_labels():
    first, second = ["a", "b", None, "a"], ["a", "b", None, "b"]
    found = load().compute(predictions=first, references=second)
    assert found["percent_agreement"] == percent_agreement(first, second)
    assert found["kappa"] == cohen_kappa(first, second)
    assert found["items"] == 4
    numbers = load("labels").compute(predictions=[0, 1], references=[0, 0])
    assert numbers["percent_agreement"] == 50


def test_the_evaluate_module_matches_events():
    first = [[{"start": 1.0, "end": 2.0}, {"start": 5.0, "end": None}], []]
    second = [[{"start": 1.5, "end": 2.5}], [{"start": 3.0, "end": 4.0}]]
    found = load("events").compute(predictions=first, references=second, tolerance=1.0)
    assert found == event_agreement(first, second, 1.0).scores()


def test_the_evaluate_module_names_its_configurations():
    with pytest.raises(ValueError, match="labels or events"):
        load("boundaries")


def test_the_card_shows_what_really_comes_out(monkeypatch):
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(
        str(folders.metrics() / "agreement" / "README.md"), module_relative=False
    )
    assert tried > 0
    assert failures == 0


@pytest.mark.parametrize("tolerance", [float("inf"), 1e300, 1e17, 100.0])
def test_a_wide_tolerance_still_gives_the_closest_of_the_largest_matchings(tolerance):
    assert match_events([1, 2], [1.2, 5], tolerance).tolist() == [[0, 0], [1, 1]]
    assert match_events([0, 10], [10.5, 30], tolerance).tolist() == [[0, 0], [1, 1]]
    assert match_events([0, 10], [10.5], tolerance).tolist() == [[1, 0]]
    assert match_events([3, 3], [3], tolerance).shape == (1, 2)


def test_a_tolerance_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="tolerance: nan"):
        match_events([1], [1], float("nan"))


@pytest.mark.parametrize("event", [{"start": 1.0}, {"end": 1.0}, {"start": 1.0, "stop": 2.0}, 1.0])
def test_an_event_that_lacks_a_boundary_is_named(event):
    metric = evaluate.load(str(folders.metrics() / "agreement"), "events")
    whole = {"start": 1.0, "end": None}
    with pytest.raises(ValueError, match=r"references: session 0, event 1 is .* without"):
        metric.compute(predictions=[[whole]], references=[[whole, event]])
