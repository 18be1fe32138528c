"""IoU, IoP and IoG of evidence spans: the published values, brute force, and what is refused."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals import folders
from procedural_evals.scores.grounding import check_spans, grounded_iou, grounding_summary
from procedural_evals.scores.uncertainty import bootstrap_mean

Item = list[tuple[float, float]]


@pytest.fixture(scope="module")
def metric() -> Any:
    return evaluate.load(str(folders.metrics() / "grounded_iou"))


@pytest.fixture(scope="module")
def published(shared: Path) -> tuple[list[Item], list[Item], list[float]]:
    """Predictions, references and IoU of the answers whose IoU is published."""
    items = json.loads((shared / "data/procobject-10k/explorer_excerpt.json").read_text("utf-8"))
    rows = [
        (model["evidence"], item["evidence"], model["iou"])
        for item in items
        for model in item["models"].values()
        if model.get("iou") is not None
    ]
    assert len(rows) == 24
    predictions, references, iou = map(list, zip(*rows, strict=True))
    return predictions, references, iou


def test_published_values_to_three_decimals(published: Any) -> None:
    predictions, references, iou = published
    assert [round(value, 3) for value in grounded_iou(predictions, references).iou] == iou


def test_published_values_by_the_evaluate_module(metric: Any, published: Any) -> None:
    predictions, references, iou = published
    dicts = [
        [[{"start": a, "end": b} for a, b in spans] for spans in side]
        for side in (predictions, references)
    ]
    found = metric.compute(predictions=dicts[0], references=dicts[1], per_item=True, draws=20)
    assert [round(value, 3) for value in found["per_item"]["iou"]] == iou
    assert found["iou"] == pytest.approx(np.mean(iou), abs=5e-4)
    one_by_one = [
        metric.compute(predictions=[p], references=[r], draws=1)["iou"]
        for p, r in zip(*dicts, strict=True)
    ]
    assert [round(value, 3) for value in one_by_one] == iou


def test_spans_past_the_end_of_the_clip_are_not_clipped(shared: Path) -> None:
    items = json.loads((shared / "data/procobject-10k/explorer_excerpt.json").read_text("utf-8"))
    beyond = [
        (item, model)
        for item in items
        for model in item["models"].values()
        if "iou" in model and max(end for _, end in model["evidence"]) > item["duration"]
    ]
    assert len(beyond) == 3
    for item, model in beyond:
        clipped = [(start, min(end, item["duration"])) for start, end in model["evidence"]]
        as_given = grounded_iou([model["evidence"]], [item["evidence"]]).mean_iou
        assert round(as_given, 3) == model["iou"]
        assert as_given != grounded_iou([clipped], [item["evidence"]]).mean_iou


def test_overlapping_predictions_count_every_second_once() -> None:
    scores = grounded_iou([[(0, 6), (4, 10), (4, 10)]], [[(5, 15)]])
    assert scores.iou[0] == pytest.approx(5 / 15)
    assert scores.iop[0] == pytest.approx(5 / 10)
    assert scores.iog[0] == pytest.approx(5 / 10)
    assert scores.predicted_seconds[0] == 10


def test_precision_and_recall_side_of_one_item() -> None:
    scores = grounded_iou([[(0, 10)]], [[(0, 5), (20, 25)]])
    assert (scores.iou[0], scores.iop[0], scores.iog[0]) == (5 / 15, 5 / 10, 5 / 10)


def test_no_span_and_a_span_without_length_score_zero() -> None:
    scores = grounded_iou([[], [(5, 5)], [(5, 6)]], [[(5, 6)]] * 3)
    assert scores.iou.tolist() == scores.iop.tolist() == scores.iog.tolist() == [0, 0, 1]
    assert scores.without_span == pytest.approx(1 / 3)


def test_touching_spans_are_one_and_share_nothing() -> None:
    assert grounded_iou([[(0, 5), (5, 10)]], [[(0, 10)]]).mean_iou == 1
    assert grounded_iou([[(0, 5)]], [[(5, 10)]]).mean_iou == 0


def test_items_do_not_leak_into_each_other() -> None:
    predictions = [[(0, 1)], [], [(50, 60)], [(0, 100)]]
    references = [[(90, 95)], [(0, 100)], [(50, 60)], [(10, 20)]]
    assert grounded_iou(predictions, references).iou.tolist() == [0, 0, 1, 0.1]


def test_pairs_dictionaries_and_arrays_are_the_same() -> None:
    reference = [[(0, 9)], [(1, 3)]]
    pairs = [[(0, 5), (7, 9)], [(1, 2)]]
    dicts = [[{"start": a, "end": b} for a, b in item] for item in pairs]
    arrays = [np.array(item) for item in pairs]
    mixed = [[{"end": 5, "start": 0}, (7, 9)], [[1, 2]]]
    expected = grounded_iou(pairs, reference).iou.tolist()
    for form in (dicts, arrays, mixed):
        assert grounded_iou(form, reference).iou.tolist() == expected


quarters = st.integers(0, 400).map(lambda n: n / 4)
spans = st.tuples(quarters, quarters).map(lambda p: (min(p), max(p)))
item_spans = st.lists(spans, max_size=6)
true_spans = st.lists(spans.filter(lambda s: s[0] < s[1]), min_size=1, max_size=6)
pairs_of_sets = st.lists(st.tuples(item_spans, true_spans), min_size=1, max_size=5)


def _slices(item: Item) -> set[int]:
    """The quarter seconds that the spans cover."""
    return {n for start, end in item for n in range(round(4 * start), round(4 * end))}


@given(pairs_of_sets)
def test_equals_counting_slices_of_time(items: list[tuple[Item, Item]]) -> None:
    predictions, references = [p for p, _ in items], [r for _, r in items]
    scores = grounded_iou(predictions, references)
    for i, (p, t) in enumerate((_slices(p), _slices(r)) for p, r in items):
        assert scores.iou[i] == pytest.approx(len(p & t) / len(p | t))
        assert scores.iop[i] == pytest.approx(len(p & t) / len(p) if p else 0)
        assert scores.iog[i] == pytest.approx(len(p & t) / len(t))
        assert scores.predicted_seconds[i] == pytest.approx(len(p) / 4)
        assert scores.predicted_spans[i] == len(items[i][0])


any_times = st.floats(-1e6, 1e6, allow_nan=False)
any_spans = st.tuples(any_times, any_times).map(lambda p: (min(p), max(p)))
any_sets = st.lists(any_spans, min_size=1, max_size=5).filter(
    lambda item: any(end - start > 1e-6 for start, end in item)
)


@given(any_sets, any_sets)
def test_symmetric_in_range_and_one_for_equal_sets(a: Item, b: Item) -> None:
    forward, back = grounded_iou([a], [b]), grounded_iou([b], [a])
    assert forward.iou[0] == back.iou[0]
    assert forward.iop[0] == back.iog[0]
    for values in (forward.iou, forward.iop, forward.iog):
        assert 0 <= values[0] <= 1
    assert forward.iou[0] <= min(forward.iop[0], forward.iog[0])
    same = grounded_iou([a], [a[::-1]])
    assert (same.iou[0], same.iop[0], same.iog[0]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(5, 2)], r"predictions: item 1, span 0 is \(5, 2\); it ends before it starts"),
        (
            [(0, 1), (float("nan"), 2)],
            r"item 1, span 1 is \(nan, 2\); start and end must be finite",
        ),
        ([{"start": 0, "end": float("inf")}], "'end': inf}; start and end must be finite"),
        ([{"start": 0, "stop": 1}], "its keys must be 'start' and 'end'"),
        ([{"start": 0, "end": 1, "x": 2}], "its keys must be 'start' and 'end'"),
        ([{"start": None, "end": 1}], "start and end must be numbers of seconds"),
        ([("0", "1")], "start and end must be numbers of seconds"),
        ([(True, 2)], "start and end must be numbers of seconds"),
        ([(0, 1, 2)], r"\(0, 1, 2\); a pair"),
        ([0, 1], "span 0 is 0; a pair"),
        ([{0, 1}], "a pair"),
        ([(0, 10**400)], "must be finite"),
        ("0-1", "a list of spans is needed"),
        ({"start": 0, "end": 1}, "a list of spans is needed"),
        (None, r"item 1 is None; a list of spans is needed, \[\] for none"),
    ],
)
def test_wrong_spans_are_named(metric: Any, spans: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grounded_iou([[], spans], [[(0, 1)]] * 2)
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=[[], spans], references=[[{"start": 0, "end": 1}]] * 2)


def test_an_item_without_truth_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"references: item 1 is \[\], which covers no time"):
        grounded_iou([[(0, 1)]] * 2, [[(0, 1)], []])
    with pytest.raises(ValueError, match="references: item 0"):
        grounded_iou([[(0, 1)]], [[(3, 3)]])
    with pytest.raises(ValueError, match="references: item 0"):
        grounded_iou([[]], [[]])


def test_sides_must_be_of_one_length_and_not_empty() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 references"):
        grounded_iou([[]], [[(0, 1)]] * 2)
    with pytest.raises(ValueError, match="no items"):
        grounded_iou([], [])
    with pytest.raises(ValueError, match="predictions: None"):
        check_spans("predictions", None)  # type: ignore[arg-type]


def _example() -> tuple[Any, list[str], list[str]]:
    predictions = [[(0, 10)], [(0, 3)], [], [(5, 10)], [(0, 7)]]
    scores = grounded_iou(predictions, [[(0, 10)]] * 5)
    return scores, ["v1", "v1", "v2", "v2", "v3"], ["hop", "needle", "hop", "needle", "needle"]


def test_summary_gives_means_recall_and_groups() -> None:
    scores, videos, reasoning = _example()
    summary = grounding_summary(scores, videos, {"reasoning": reasoning}, draws=50)
    assert summary.items == 5
    assert summary.iou.mean == pytest.approx(0.5)
    assert summary.without_span == pytest.approx(0.2)
    assert {t: r.mean for t, r in summary.recall.items()} == {0.3: 0.8, 0.5: 0.6, 0.7: 0.4}
    hop, needle = summary.groups["reasoning"].values()
    assert (hop.items, needle.items) == (2, 3)
    assert hop.iou.mean == pytest.approx(0.5)
    assert hop.without_span == 0.5
    assert needle.recall[0.5].mean == pytest.approx(2 / 3)


def test_summary_intervals_are_those_of_the_cluster_bootstrap() -> None:
    scores, videos, reasoning = _example()
    summary = grounding_summary(scores, videos, {"reasoning": reasoning}, draws=200, seed=3)
    expected = bootstrap_mean(scores.iop, videos, draws=200, seed=3)
    assert summary.iop == pytest.approx(expected)
    needles = [i for i, kind in enumerate(reasoning) if kind == "needle"]
    expected = bootstrap_mean(scores.iou[needles], [videos[i] for i in needles], 200, 3)
    assert summary.groups["reasoning"]["needle"].iou == pytest.approx(expected)
    alone = grounding_summary(scores, draws=200)
    assert alone.iou == pytest.approx(bootstrap_mean(scores.iou, draws=200))


def test_summary_refuses_lists_of_another_length_and_odd_thresholds() -> None:
    scores, videos, reasoning = _example()
    with pytest.raises(ValueError, match=r"groups\['reasoning'\]: 4 values for 5 items"):
        grounding_summary(scores, videos, {"reasoning": reasoning[:4]})
    with pytest.raises(ValueError, match="clusters: 2 names for 5 items"):
        grounding_summary(scores, videos[:2])
    with pytest.raises(ValueError, match=r"thresholds: 30 is not in"):
        grounding_summary(scores, thresholds=[30])


def test_module_gives_the_summary_of_the_library(metric: Any) -> None:
    predictions = [[{"start": 0, "end": 10}], [{"start": 0, "end": 3}], []]
    references = [[{"start": 0, "end": 10}]] * 3
    options = {"clusters": ["a", "a", "b"], "groups": {"reasoning": ["x", "y", "y"]}}
    found = metric.compute(
        predictions=predictions, references=references, thresholds=[0.25], draws=30, **options
    )
    scores = grounded_iou(predictions, references)
    assert found == grounding_summary(scores, thresholds=[0.25], draws=30, **options).as_dict()
    assert found["recall@0.25"] == pytest.approx(2 / 3)
    assert found["groups"]["reasoning"]["y"]["items"] == 2


def test_module_takes_items_one_at_a_time_and_nothing_but_empty_predictions(metric: Any) -> None:
    metric.add(prediction=[], reference=[{"start": 0, "end": 1}])
    metric.add(prediction=[], reference=[{"start": 2, "end": 3}])
    found = metric.compute(draws=10)
    assert (found["iou"], found["without_span"], found["items"]) == (0, 1, 2)
    with pytest.raises(ValueError, match="prediction: item 0 is None"):
        metric.add(prediction=None, reference=[])


def test_card_shows_what_really_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders.metrics().parent)
    card = folders.metrics() / "grounded_iou" / "README.md"
    failures, tried = doctest.testfile(str(card), module_relative=False)
    assert tried > 0
    assert failures == 0
