"""Pairwise edge F1 of task graphs as an `evaluate` module: features, checks, a library call."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.scores.graph_match import graph_scores
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Precision, recall and F1 of the edges of predicted task graphs (DOT) against reference graphs, steps
matched by their labels. The mean over graphs, with a bootstrap interval.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: DOT texts, or replies that hold one; what is no acyclic digraph scores 0 and is
        listed.
    references: DOT texts.
    relation: "edges" as drawn (default), "closure" for all pairs that they imply, "reduction" for
        those that nothing else implies.
    ends: whether edges of start and end count (default True).
    clusters: one name a graph for the interval; each graph is its own by default.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    precision, recall, f1 in [0, 1], means over graphs; interval, [low, high] of the 95 % percentile
    interval of f1; per_graph_f1; graphs, a count; unread, a list of {"index", "reason"}.
Examples:
    >>> import evaluate
    >>> task_graph_f1 = evaluate.load("metrics/task_graph_f1")
    >>> found = task_graph_f1.compute(
    ...     predictions=["digraph { a -> b }"], references=["digraph { a -> b; a -> c }"]
    ... )
    >>> found["precision"], found["recall"], round(found["f1"], 3)
    (1.0, 0.5, 0.667)
"""

_CITATION = """
@misc{hasegawa2025promqaassembly,
  title = {ProMQA-Assembly: Multimodal Procedural QA Dataset on Assembly},
  author = {Hasegawa, Kimihiro and others},
  year = {2025},
  eprint = {2509.02949},
  archivePrefix = {arXiv}
}
"""


class TaskGraphF1(evaluate.Metric):
    """Pairwise edge F1; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        relation: Any = "edges",
        ends: bool = True,
        clusters: Sequence[Hashable] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        for name, texts in (("predictions", predictions), ("references", references)):
            missing = [i for i, text in enumerate(texts) if text is None]
            if missing:
                raise ValueError(f"{name}: item {missing[0]} is None; give a DOT text")
        found = graph_scores(predictions, references, relation, ends, clusters, draws, seed)
        return {
            "precision": found.precision,
            "recall": found.recall,
            "f1": found.f1,
            "interval": [found.interval.low, found.interval.high],
            "per_graph_f1": [scores.f1 for scores in found.per_graph],
            "graphs": len(found.per_graph),
            "unread": [{"index": i, "reason": why} for i, why in found.unread.items()],
        }
