"""Temporal evidence grounding as an `evaluate` module: features and a call into the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.scores.grounding import (
    THRESHOLDS,
    check_spans,
    grounded_iou,
    grounding_summary,
)
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Set-level IoU, IoP and IoG between predicted and true evidence spans: spans of one side are merged
first, nothing is clipped to the length of the clip.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: for each item a list of spans {"start", "end"} in seconds; [] for none.
    references: the same for the truth; no item may be empty.
    thresholds: IoU thresholds of the recall, in (0, 1].
    clusters: the video of each item; whole videos are drawn for the intervals.
    groups: for each grouping its value for each item, {"reasoning": [...], "qa_type": [...]}.
    per_item: give the values of every item as well.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    iou, iop, iog, recall@T and without_span (share of items without a predicted span), in [0, 1];
    items, a count; intervals, [low, high] of the 95 % percentile interval of each mean; with
    groups the same for each value of each grouping; with per_item a list for each of the three.
Examples:
    >>> import evaluate
    >>> metric = evaluate.load("metrics/grounded_iou")
    >>> spans = [[{"start": 5.0, "end": 12.0}]]
    >>> metric.compute(predictions=spans, references=spans)["iou"]
    1.0
"""

_CITATION = """
@inproceedings{guo2026procobject,
  title = {{ProcObject-10K}: Benchmarking Object-Centric Procedural Understanding in Instructional Videos},
  author = {Guo, Wenliang and Kong, Yu},
  booktitle = {NeurIPS Evaluations and Datasets Track},
  year = {2026}
}
"""  # noqa: E501


class GroundedIou(evaluate.Metric):
    """Mean IoU, IoP and IoG of evidence spans; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        span = {"start": datasets.Value("float64"), "end": datasets.Value("float64")}
        spans = datasets.List(span)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"predictions": spans, "references": spans}),
        )

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Check the spans of one item, and take them in."""
        check_spans("prediction", [prediction])
        check_spans("reference", [reference])
        super().add(prediction=prediction, reference=reference, **inputs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Check every span, and take them in."""
        # The storage behind would take None and NaN, and answer a missing key with its bare name.
        check_spans("predictions", predictions)
        check_spans("references", references)
        super().add_batch(predictions=predictions, references=references, **inputs)

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        thresholds: Sequence[float] = THRESHOLDS,
        clusters: Sequence[Any] | None = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        per_item: bool = False,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        scores = grounded_iou(predictions, references)
        result = grounding_summary(scores, clusters, groups, thresholds, draws, seed).as_dict()
        if per_item:
            values = {"iou": scores.iou, "iop": scores.iop, "iog": scores.iog}
            result["per_item"] = {name: array.tolist() for name, array in values.items()}
        return result
