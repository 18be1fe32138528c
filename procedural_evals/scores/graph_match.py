"""How far two task graphs agree: precision, recall and F1 over their edges.

Source: ProMQA-Assembly (arXiv 2509.02949), appendix B, after UzZaman and Allen (2011):
precision = |P & R| / |P|, recall = |P & R| / |R| for the edges P of one graph and R of the other.
Edges are compared by the labels of their steps, so that ids and the order of steps do not matter.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from procedural_evals.replies import visible_text
from procedural_evals.scores.uncertainty import DRAWS, Interval, bootstrap_mean
from procedural_evals.task_graph import END, START, Edge, TaskGraph

Relation = Literal["edges", "closure", "reduction"]


class EdgeScores(NamedTuple):
    """Precision, recall and F1 of one graph's edges, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class GraphScores:
    """Means over graphs with the interval of F1, each graph's scores, and what was no graph."""

    precision: float
    recall: float
    f1: float
    interval: Interval
    per_graph: tuple[EdgeScores, ...]
    unread: dict[int, str]  # position of the prediction -> why it is no task graph


def edge_scores(predicted: Iterable[Edge], reference: Iterable[Edge]) -> EdgeScores:
    """Scores of the predicted edges against the reference's; equal edges are matched one to one.

    Two graphs without edges agree; one without edges against one with edges scores 0.

    >>> edge_scores([("a", "b"), ("a", "c")], [("a", "b")])
    EdgeScores(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    left, right = Counter(predicted), Counter(reference)
    n_left, n_right, common = left.total(), right.total(), (left & right).total()
    if not n_left and not n_right:
        return EdgeScores(1.0, 1.0, 1.0)
    return EdgeScores(
        common / n_left if n_left else 0.0,
        common / n_right if n_right else 0.0,
        2 * common / (n_left + n_right),
    )


def _normalised(label: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def labelled_edges(graph: TaskGraph, relation: Relation = "edges", ends: bool = True) -> list[Edge]:
    """The graph's edges as pairs of normalised labels.

    `relation` is what is compared: the edges as drawn (the paper's), all pairs that they imply
    (`closure`), or those that nothing else implies (`reduction`). Without `ends`, the edges of
    start and end are left out; a closure never has them.
    """
    if relation not in get_args(Relation):
        raise ValueError(
            f"relation: {relation!r}; one of {', '.join(get_args(Relation))} is needed"
        )
    edges: Iterable[Edge] = graph.edges
    if relation == "closure":
        edges = graph.closure()
    elif relation == "reduction":
        edges = graph.reduction().edges
    # The ends get names that no normalised label has: a step may be called "start".
    names = {step.id: _normalised(step.label) for step in graph.steps}
    names |= {START: f" {START}", END: f" {END}"}
    return [(names[a], names[b]) for a, b in edges if ends or not {START, END}.intersection((a, b))]


def graph_scores(
    predictions: Sequence[str],
    references: Sequence[str],
    relation: Relation = "edges",
    ends: bool = True,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> GraphScores:
    """Mean scores of predicted graphs against references, both as DOT texts.

    A prediction may have other text around its graph. One that holds no readable, acyclic graph
    scores 0 and is listed in `unread` with the reason. The interval of the mean F1 is a cluster
    bootstrap's. Raises ValueError for an empty list, lists of unequal length, or a reference that
    is no task graph.

    >>> graph_scores(["digraph { a -> b }"], ["digraph { A -> B; A -> C }"]).f1
    0.6666666666666666
    """
    if len(predictions) != len(references) or not references:
        raise ValueError(
            f"{len(predictions)} predictions for {len(references)} references; give one for each, "
            "at least one"
        )
    scores: list[EdgeScores] = []
    unread: dict[int, str] = {}
    for n, (prediction, reference) in enumerate(zip(predictions, references, strict=True)):
        wanted = labelled_edges(TaskGraph.from_dot(reference, f"reference {n}"), relation, ends)
        try:
            found = TaskGraph.from_reply(visible_text(prediction), f"prediction {n}")
        except ValueError as error:
            unread[n] = str(error)
            scores.append(EdgeScores(0.0, 0.0, 0.0))
        else:
            scores.append(edge_scores(labelled_edges(found, relation, ends), wanted))
    precision, recall, f1 = (sum(values) / len(scores) for values in zip(*scores, strict=True))
    interval = bootstrap_mean([s.f1 for s in scores], clusters, draws, seed)
    return GraphScores(precision, recall, f1, interval, tuple(scores), unread)
