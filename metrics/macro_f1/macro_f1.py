"""Macro-F1 as an `evaluate` module: features, checks and a call into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.harness.label_metric import KINDS, LabelMetric
from procedural_evals.scores.classification import bootstrap_scores, classification_scores
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Macro-F1 with per-class F1, balanced accuracy, accuracy and, for a named class with scores, average
precision (AUPRC). Intervals by a seeded bootstrap over participants.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one label an item, whole numbers or strings; None means that no answer was found,
        which is wrong.
    references: one label an item.
    labels: the classes to average over; all that occur, by default.
    scores: one number an item, higher for the class `positive`; needed for `auprc`.
    positive: the class whose average precision is wanted.
    clusters: one participant an item; with it, `intervals` are given.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    macro_f1, balanced_accuracy, accuracy, f1_LABEL and auprc in [0, 1]; items and unanswered,
    counts; intervals, [low, high] of the 95 % percentile interval of each score.
Examples:
    >>> import evaluate
    >>> macro_f1 = evaluate.load("metrics/macro_f1")
    >>> found = macro_f1.compute(predictions=["speak", "speak"], references=["speak", "act"])
    >>> round(found["macro_f1"], 3)
    0.333
"""

_CITATION = """
@misc{opitz2019macro,
  title = {Macro F1 and Macro F1},
  author = {Opitz, Juri and Burst, Sebastian},
  year = {2019},
  eprint = {1911.03347},
  archivePrefix = {arXiv}
}
"""


def _features(kind: str) -> datasets.Features:
    labels = datasets.Value(kind)
    return datasets.Features({"predictions": labels, "references": labels})


class MacroF1(LabelMetric, evaluate.Metric):
    """Macro-F1 and its companions; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=[_features(kind) for kind in KINDS],
        )

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        labels: Sequence[Any] | None = None,
        scores: Sequence[float] | None = None,
        positive: Any = None,
        clusters: Sequence[Any] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        common = {"labels": labels, "scores": scores, "positive": positive}
        result: dict[str, Any] = {**classification_scores(predictions, references, **common)}
        result["items"] = len(references)
        result["unanswered"] = sum(prediction is None for prediction in predictions)
        if clusters is not None:
            intervals = bootstrap_scores(
                predictions, references, clusters, draws=draws, seed=seed, **common
            )
            result["intervals"] = {name: [i.low, i.high] for name, i in intervals.items()}
        return result
