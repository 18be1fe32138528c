"""Edge precision, recall and F1 of task graphs against set arithmetic and scikit-learn."""

from __future__ import annotations

import doctest
import json
from itertools import product
from pathlib import Path

import evaluate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from procedural_evals import folders
from procedural_evals.scores.graph_match import edge_scores, graph_scores, labelled_edges
from procedural_evals.task_graph import Step, TaskGraph

FOLDER = folders.metrics() / "task_graph_f1"
PAIRS = list(product("abcd", "abcd"))
edge_sets = st.sets(st.sampled_from(PAIRS))


@pytest.fixture(scope="module")
def metric() -> evaluate.EvaluationModule:
    return evaluate.load(str(FOLDER))


@settings(deadline=None)
@given(edge_sets, edge_sets)
def test_scores_agree_with_scikit_learn(
    predicted: set[tuple[str, str]], reference: set[tuple[str, str]]
) -> None:
    found = edge_scores(predicted, reference)
    if not predicted and not reference:
        assert found == (1, 1, 1)
        return
    truth, guess = ([pair in edges for pair in PAIRS] for edges in (reference, predicted))
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, guess, average="binary", zero_division=0
    )
    assert found == pytest.approx((precision, recall, f1))


@settings(deadline=None)
@given(edge_sets, edge_sets)
def test_swapping_the_sides_swaps_precision_and_recall(
    a: set[tuple[str, str]], b: set[tuple[str, str]]
) -> None:
    there, back = edge_scores(a, b), edge_scores(b, a)
    assert there == (back.recall, back.precision, back.f1)


def test_equal_edges_are_matched_one_to_one() -> None:
    assert edge_scores([("a", "b")] * 3, [("a", "b")]).precision == pytest.approx(1 / 3)


def test_real_graphs_match_themselves_and_nothing_else(shared: Path) -> None:
    records = json.loads((shared / "data/promqa-assembly/graph_excerpt.json").read_text("utf-8"))
    recipes = json.loads((shared / "data/promqa-cooking/graphs.json").read_text("utf-8"))
    graphs = [TaskGraph.from_assembly(record) for record in records]
    graphs += [TaskGraph.from_cooking(recipe) for recipe in recipes.values()]
    dots = [graph.to_dot() for graph in graphs]
    assert len(dots) == 34
    same = graph_scores(dots, dots)
    assert (same.precision, same.recall, same.f1, same.unread) == (1, 1, 1, {})
    shifted = graph_scores(dots, [*dots[1:], dots[0]])
    assert 0 < shifted.f1 < 0.3  # toys share some steps


def test_ids_case_spacing_and_screws_do_not_matter() -> None:
    reference = 'digraph { start -> "attach cabin" -> "attach roof w/ screw" -> end }'
    prediction = 'digraph { n1 [label=" Attach  CABIN"]; START -> n1 -> "attach roof" -> END }'
    assert graph_scores([prediction], [reference]).f1 == 1


def test_a_step_called_start_is_not_the_start() -> None:
    graph = TaskGraph((Step("1", "start"), Step("2", "end")), (("1", "2"), ("start", "1")))
    named, beginning = labelled_edges(graph)
    assert named == ("start", "end")
    assert beginning[0] != "start"


def test_relations_and_ends() -> None:
    drawn = "digraph { start -> a; a -> b; b -> c; a -> c; c -> end }"
    chain = "digraph { start -> a; a -> b; b -> c; c -> end }"
    assert graph_scores([chain], [drawn]).recall == pytest.approx(4 / 5)
    assert graph_scores([chain], [drawn], ends=False).recall == pytest.approx(2 / 3)
    assert graph_scores([chain], [drawn], relation="closure").f1 == 1
    assert graph_scores([chain], [drawn], relation="reduction").f1 == 1
    with pytest.raises(ValueError, match="relation: 'paths'"):
        graph_scores([chain], [drawn], relation="paths")  # type: ignore[arg-type]


def test_what_is_no_graph_is_wrong_and_named() -> None:
    good = "digraph { a -> b }"
    found = graph_scores([good, "no idea", "digraph { a -> b -> a }", ""], [good] * 4)
    assert found.f1 == 0.25
    assert set(found.unread) == {1, 2, 3}
    assert "cycle" in found.unread[2]


def test_hidden_reasoning_is_no_answer() -> None:
    good = "digraph { a -> b }"
    assert set(graph_scores([f"<think>{good}</think>"], [good]).unread) == {0}


def test_bad_input_is_an_error() -> None:
    with pytest.raises(ValueError, match="reference 0: edge"):
        graph_scores(["digraph { a -> b }"], ["digraph { a -> a }"])
    with pytest.raises(ValueError, match="2 predictions for 1 references"):
        graph_scores(["", ""], [""])
    with pytest.raises(ValueError, match="at least one"):
        graph_scores([], [])


def test_the_evaluate_module_gives_the_librarys_numbers(metric: evaluate.EvaluationModule) -> None:
    predictions = ["digraph { a -> b; b -> c }", "digraph { a -> c }", "?"]
    references = ["digraph { a -> b }"] * 3
    found = metric.compute(
        predictions=predictions, references=references, clusters=["x", "x", "y"], draws=50
    )
    ours = graph_scores(predictions, references, clusters=["x", "x", "y"], draws=50)
    assert found["f1"] == ours.f1 == pytest.approx(2 / 9)
    assert found["interval"] == [ours.interval.low, ours.interval.high]
    assert found["per_graph_f1"] == pytest.approx([2 / 3, 0, 0])
    assert [entry["index"] for entry in found["unread"]] == [2]
    with pytest.raises(ValueError, match="item 1 is None"):
        metric.compute(predictions=["?", None, "?"], references=references)


def test_the_card_shows_what_really_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(str(FOLDER / "README.md"), module_relative=False)
    assert (failures, tried > 0) == (0, True)
