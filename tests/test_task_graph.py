"""Task graphs keep every step, and their answers agree with a brute-force check over the DAG."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural_evals.task_graph import END, START, Step, TaskGraph, Undo

FIGURE_11 = """\
digraph G {
start;
end;
"attach body to chassis w/ screw";
"attach interior to chassis w/ screw";
"attach roller to push frame w/ screw";
"attach roof to cabin w/ screw";
"attach wheel to chassis w/ screw";
"attach arm connector to chassis w/ screw";
"attach arm connector to push frame";
"attach bumper to body w/ screw";
"attach interior to cabin";
start -> "attach roller to push frame w/ screw";
start -> "attach interior to chassis w/ screw";
"attach wheel to chassis w/ screw" -> end;
"attach roller to push frame w/ screw" -> end;
start -> "attach roof to cabin w/ screw";
"attach roof to cabin w/ screw" -> end;
start -> "attach wheel to chassis w/ screw";
start -> "attach arm connector to push frame";
"attach arm connector to push frame" -> "attach arm connector to chassis w/ screw";
"attach bumper to body w/ screw" -> end;
"attach arm connector to chassis w/ screw" -> end;
"attach body to chassis w/ screw" -> "attach bumper to body w/ screw";
"attach interior to cabin" -> "attach body to chassis w/ screw";
"attach interior to chassis w/ screw" -> "attach interior to cabin";
}"""


@pytest.fixture(scope="module")
def toys(shared: Path) -> dict[str, dict[str, Any]]:
    records = json.loads((shared / "data/promqa-assembly/graph_excerpt.json").read_text("utf-8"))
    return {record["toy_id"]: record for record in records}


@pytest.fixture(scope="module")
def recipes(shared: Path) -> list[dict[str, Any]]:
    return list(
        json.loads((shared / "data/promqa-cooking/graphs.json").read_text("utf-8")).values()
    )


@pytest.fixture(scope="module")
def real_graphs(toys: dict[str, Any], recipes: list[Any]) -> list[TaskGraph]:
    graphs = [TaskGraph.from_assembly(record) for record in toys.values()]
    return graphs + [TaskGraph.from_cooking(record) for record in recipes]


# ---- brute force: walk every path, no sharing with the code under test ------------------------


def reaches(edges: list[tuple[str, str]], a: str, b: str) -> bool:
    return any(x == a and (y == b or reaches(edges, y, b)) for x, y in edges)


def brute_next(graph: TaskGraph, done: set[str]) -> set[str]:
    ids = {s.id for s in graph.steps}
    return {
        s for s in ids - done if all(a in done for a, b in graph.edges if b == s and a != START)
    }


def brute_missing(graph: TaskGraph, step: str, done: set[str]) -> set[str]:
    edges = list(graph.edges)
    return {s.id for s in graph.steps if s.id not in done and reaches(edges, s.id, step)}


def brute_violations(graph: TaskGraph, performed: list[str]) -> list[tuple[int, str, set[str]]]:
    found = []
    for n, step in enumerate(performed):
        lacking = {a for a, b in graph.edges if b == step and a != START and a not in performed[:n]}
        if lacking:
            found.append((n, step, lacking))
    return found


def check_queries(graph: TaskGraph, rng: random.Random, rounds: int) -> None:
    ids = [step.id for step in graph.steps]
    for _ in range(rounds):
        performed = rng.sample(ids, rng.randint(0, len(ids)))
        done = set(performed)
        assert {s.id for s in graph.next_steps(performed)} == brute_next(graph, done)
        for target in [*ids, END]:
            missing = {s.id for s in graph.missing_before(target, performed)}
            assert missing == brute_missing(graph, target, done)
        violations = [
            (v.position, v.step.id, {s.id for s in v.missing})
            for v in graph.order_violations(performed)
        ]
        assert violations == brute_violations(graph, performed)


def by_label(graph: TaskGraph) -> tuple[list[tuple[str, bool]], list[tuple[str, str]]]:
    """Steps and edges with labels in place of ids: what a plain DOT text can carry."""
    label = {s.id: s.label for s in graph.steps} | {START: START, END: END}
    steps = [(s.label, s.fastening) for s in graph.steps]
    return steps, [(label[a], label[b]) for a, b in graph.edges]


# ---- the form of the paper --------------------------------------------------------------------


def test_toy_c02c_is_figure_11(toys: dict[str, Any]) -> None:
    assert TaskGraph.from_assembly(toys["c02c"]).to_dot() == FIGURE_11


def test_figure_11_without_its_line_ends_is_the_same_graph() -> None:
    spaced = FIGURE_11.replace("\n", "\n\n").replace(";", "")
    assert TaskGraph.from_dot(spaced) == TaskGraph.from_dot(FIGURE_11)


def test_flat_and_nested_nodes_are_one_graph(toys: dict[str, Any]) -> None:
    flat = dict(toys["a26"])
    flat["nodes"] = [{"id": node["id"], **node["data"]} for node in flat["nodes"]]
    assert TaskGraph.from_assembly(flat) == TaskGraph.from_assembly(toys["a26"])


def test_real_graphs_survive_dot(real_graphs: list[TaskGraph]) -> None:
    assert len(real_graphs) == 34
    for graph in real_graphs:
        assert TaskGraph.from_dot(graph.to_dot(ids=True)) == graph
        plain = TaskGraph.from_dot(graph.to_dot())
        assert by_label(plain) == by_label(graph)
        assert plain.to_dot() == graph.to_dot()


def test_recipes_with_equal_steps_keep_them_apart(recipes: list[Any]) -> None:
    graph = TaskGraph.from_cooking(
        next(r for r in recipes if len(set(r["steps"].values())) < len(r["steps"]))
    )
    assert len(TaskGraph.from_dot(graph.to_dot()).steps) == len(graph.steps)
    assert "[label=" in graph.to_dot()


def test_real_graphs_answer_as_brute_force_does(real_graphs: list[TaskGraph]) -> None:
    rng = random.Random(7)
    for graph in real_graphs:
        check_queries(graph, rng, rounds=6)


def test_step_dependency_of_the_recipes(recipes: list[Any]) -> None:
    graphs = [TaskGraph.from_cooking(record) for record in recipes]
    between = sum(len(graph.precedence) for graph in graphs)
    assert between / sum(len(graph.edges) for graph in graphs) == pytest.approx(0.775)
    mean = sum(graph.step_dependency() for graph in graphs) / len(graphs)
    assert mean == pytest.approx(0.780, abs=5e-4)


def test_every_cooking_question_has_a_readable_history(shared: Path, recipes: list[Any]) -> None:
    examples = json.loads((shared / "data/promqa-cooking/examples.json").read_text("utf-8"))
    graphs = {record["name"]: TaskGraph.from_cooking(record) for record in recipes}
    unknown = 0
    for example in examples:
        graph = graphs[example["activity_name"]]
        history = [str(step["step_id"]) for step in example["previous_steps"]]
        graph.order_violations(history, skip_unknown=True)
        unknown += sum(not graph.knows(step) for step in history)
    assert unknown <= 3


# ---- any graph, any label ---------------------------------------------------------------------

awkward = st.sampled_from(
    [
        "node",
        "edge",
        "Graph",
        "start",
        "END",
        "",
        " ",
        'say "hi"',
        "a: b",
        "a w/ screw",
        "ネジ",
        "\\",
        "x\\n",
    ]
)
# A shared machine may stall for a moment; how long one example takes is no property of the code.
unhurried = settings(deadline=None)
labels = st.one_of(awkward, st.text(max_size=12))


@st.composite
def graphs(draw: Callable[..., Any], label: st.SearchStrategy[str] = labels) -> TaskGraph:
    n = draw(st.integers(0, 7))
    steps = [Step(str(i + 1), draw(label), draw(st.booleans())) for i in range(n)]
    order = draw(st.permutations([s.id for s in steps]))
    pairs = [pair for pair in combinations(order, 2) if draw(st.booleans())]
    if draw(st.booleans()):
        return TaskGraph.from_steps(steps, pairs)
    return TaskGraph(tuple(steps), tuple(pairs))


@unhurried
@given(graphs())
def test_any_graph_survives_dot_with_ids(graph: TaskGraph) -> None:
    assert TaskGraph.from_dot(graph.to_dot(ids=True)) == graph


@unhurried
@given(graphs())
def test_any_graph_survives_dot(graph: TaskGraph) -> None:
    again = TaskGraph.from_dot(graph.to_dot())
    assert by_label(again) == by_label(graph)
    assert again.to_dot() == graph.to_dot()


@settings(max_examples=60, deadline=None)
@given(graphs(st.text("ab", max_size=2)), st.randoms(use_true_random=False))
def test_any_graph_answers_as_brute_force_does(graph: TaskGraph, rng: random.Random) -> None:
    check_queries(graph, rng, rounds=3)


@unhurried
@given(graphs())
def test_closure_and_reduction_mean_the_same(graph: TaskGraph) -> None:
    reduced = graph.reduction()
    edges = list(graph.edges)
    ids = [s.id for s in graph.steps]
    assert graph.closure() == {(a, b) for a in ids for b in ids if reaches(edges, a, b)}
    assert reduced.closure() == graph.closure()
    for edge in reduced.edges:  # and nothing in it can go
        rest = [other for other in reduced.edges if other != edge]
        assert not reaches(rest, *edge)


@unhurried
@given(graphs())
def test_topological_order_holds_every_edge(graph: TaskGraph) -> None:
    place = {step.id: n for n, step in enumerate(graph.topological_order())}
    assert len(place) == len(graph.steps)
    assert all(place[a] < place[b] for a, b in graph.precedence)


# ---- labels that break other readers ----------------------------------------------------------


@pytest.mark.parametrize("label", ["node", "edge", "start", "End", "digraph", "", "  "])
def test_reserved_and_empty_labels_are_written_as_attributes(label: str) -> None:
    graph = TaskGraph.from_steps([Step("7", label)], [])
    assert f'"7" [label="{label}"];' in graph.to_dot()
    assert TaskGraph.from_dot(graph.to_dot()) == graph


@pytest.mark.parametrize("label", ['turn "left"', "wait: 5 min", "crème brûlée", "a -> b;", "# no"])
def test_other_labels_stay_plain(label: str) -> None:
    dot = TaskGraph.from_steps([Step("7", label)], []).to_dot()
    assert "label=" not in dot
    assert [s.label for s in TaskGraph.from_dot(dot).steps] == [label]


def test_a_label_that_only_says_screw_is_no_screw_step() -> None:
    graph = TaskGraph.from_steps([Step("1", "a w/ screw"), Step("2", "a", True)], [("1", "2")])
    assert TaskGraph.from_dot(graph.to_dot()) == graph


# ---- reading other people's DOT ---------------------------------------------------------------


def test_common_dot_is_read() -> None:
    graph = TaskGraph.from_dot(
        """
        strict digraph "my toy" {
          // a comment
          # another
          rankdir=LR; node [shape=box, style="rounded"]
          START -> a -> b -> END [color=red]; /* chain */
          b [label="attach\\nlid", shape=box];
          12 -> b
        }
        """
    )
    assert [s.label for s in graph.steps] == ["a", "attach\nlid", "12"]
    assert graph.edges == ((START, "a"), ("a", "b"), ("b", END), ("12", "b"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("graph { a -- b }", "'digraph' is needed"),
        ("digraph { a -- b }", "line 1: '-- b"),
        ("digraph {\n a:n -> b }", "line 2: ':n"),
        ("digraph { subgraph x { a } }", "only nodes and edges"),
        ("digraph { a [label=<b>] }", "'<b>"),
        ("digraph { a -> ; }", "a node's name is needed"),
        ("digraph { a -> b", "ends too early"),
        ("digraph { a } b", "after the end"),
        ("", "ends too early"),
        ('digraph { "a }', "is not read here"),
    ],
)
def test_what_is_not_read_is_named(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="DOT") as error:
        TaskGraph.from_dot(text)
    assert complaint in str(error.value)


def test_a_reply_is_searched_for_its_last_graph() -> None:
    reply = "A digraph { draft -> } then:\n```dot\ndigraph G { a -> b; }\n```\nThat's it: 50% {x}."
    assert TaskGraph.from_reply(reply).edges == (("a", "b"),)
    with pytest.raises(ValueError, match="no graph found"):
        TaskGraph.from_reply("I cannot draw a digraph.")


# ---- bad graphs -------------------------------------------------------------------------------


def steps(*ids: str) -> tuple[Step, ...]:
    return tuple(Step(i, f"do {i}") for i in ids)


@pytest.mark.parametrize(
    ("ids", "edges", "complaint"),
    [
        ("ab", [("a", "b"), ("b", "a")], "is part of the cycle"),
        ("a", [("a", "a")], "'a' -> 'a' is part of the cycle a -> a"),
        ("abc", [("a", "b"), ("b", "c"), ("c", "b")], "cycle"),
        ("a", [("a", "z")], "edge 'a' -> 'z' names 'z', which is no step"),
        ("a", [("a", START)], "nothing comes before 'start'"),
        ("a", [(END, "a")], "after 'end'"),
        ("aa", [], "two steps have the id 'a'"),
    ],
)
def test_bad_graphs_name_the_toy_and_the_edge(
    ids: str, edges: list[tuple[str, str]], complaint: str
) -> None:
    with pytest.raises(ValueError, match="toy x9") as error:
        TaskGraph(steps(*ids), tuple(edges), name="toy x9")
    assert complaint in str(error.value)


def test_the_named_cycle_is_made_of_edges() -> None:
    edges = (("p", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "q"))
    with pytest.raises(ValueError, match="cycle") as error:
        TaskGraph(steps(*"pqabc"), edges)
    cycle = str(error.value).split("cycle ")[1].split(";")[0].split(" -> ")
    assert cycle[0] == cycle[-1]
    assert set(pairwise(cycle)) == {("a", "b"), ("b", "c"), ("c", "a")}


@pytest.mark.parametrize("bad", ["", "start", "END"])
def test_ids_of_the_ends_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="kept for the ends"):
        TaskGraph((Step(bad, "x"),), ())


def authors_record(**changes: Any) -> dict[str, Any]:
    nodes = [
        {"id": "0", "label": "start"},
        {"id": "1", "label": "a"},
        {"id": "100", "label": "end"},
    ]
    return {"toy_id": "x9", "nodes": nodes, "edges": [{"source": "0", "target": "1"}]} | changes


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"edges": [{"source": "1", "target": "8"}]}, "toy x9: edge '1' -> '8'"),
        ({"nodes": [{"id": "0", "label": "attach wheel"}]}, "node 0 is start, but says"),
        ({"nodes": [{"id": "4", "data": {"checked": True}}]}, "node 4 has the label None"),
    ],
)
def test_bad_records_name_the_toy(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match="toy x9") as error:
        TaskGraph.from_assembly(authors_record(**changes))
    assert complaint in str(error.value)


def test_a_record_without_edges_says_so() -> None:
    record = authors_record()
    del record["edges"]
    with pytest.raises(ValueError, match="toy x9: the record has no 'edges'"):
        TaskGraph.from_assembly(record)


# ---- queries ----------------------------------------------------------------------------------


@pytest.fixture
def car() -> TaskGraph:
    parts = (
        Step("1", "attach interior", True),
        Step("2", "attach cabin"),
        Step("3", "attach roof", True),
        Step("4", "attach wheel"),
    )
    return TaskGraph.from_steps(parts, [("1", "2"), ("2", "3")], name="toy car")


def labels_of(found: tuple[Step, ...]) -> Iterator[str]:
    return (step.label for step in found)


def test_steps_are_found_by_id_label_and_marked_label(car: TaskGraph) -> None:
    assert car.resolve("1") == car.resolve("attach interior")
    assert car.resolve("attach interior w/ screw").id == "1"
    with pytest.raises(ValueError, match="toy car: 'attach door' is neither"):
        car.resolve("attach door")


def test_equal_labels_need_an_id() -> None:
    graph = TaskGraph.from_steps([Step("1", "stir"), Step("2", "stir")], [])
    with pytest.raises(ValueError, match="give an id: '1', '2'"):
        graph.next_steps(["stir"])
    assert [step.id for step in graph.next_steps(["2"])] == ["1"]


def test_one_text_in_place_of_a_list_is_refused(car: TaskGraph) -> None:
    for query in (car.next_steps, car.order_violations):
        with pytest.raises(ValueError, match="give a list of steps"):
            query("1")


def test_a_step_after_a_misplaced_one_is_not_blamed(car: TaskGraph) -> None:
    (violation,) = car.order_violations(["attach cabin", "attach roof", "attach wheel"])
    assert (violation.position, violation.step.label) == (0, "attach cabin")
    assert list(labels_of(violation.missing)) == ["attach interior"]
    far = car.missing_before("attach roof", ["attach cabin"])
    assert list(labels_of(far)) == ["attach interior"]


def test_what_was_taken_apart_must_be_done_again(car: TaskGraph) -> None:
    history: list[str | Undo] = ["attach cabin", Undo("attach cabin"), "attach interior"]
    assert list(labels_of(car.done_after(history))) == ["attach interior"]
    assert [v.position for v in car.order_violations([*history, "attach roof"])] == [0, 3]


def test_steps_outside_the_graph_are_passed_over_only_on_request(car: TaskGraph) -> None:
    history = ["attach horn", "attach interior", "attach cabin"]
    assert car.order_violations(history, skip_unknown=True) == ()
    with pytest.raises(ValueError, match="attach horn"):
        car.order_violations(history)


def test_a_graph_without_edges_has_no_step_dependency() -> None:
    with pytest.raises(ValueError, match="no edges"):
        TaskGraph((Step("1", "a"),), ()).step_dependency()
