"""Temporal segmentation scores as an `evaluate` module: features and a call into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.harness.label_metric import KINDS, LabelMetric
from procedural_evals.scores.localization import detections, frame_map, segments, temporal_map
from procedural_evals.scores.segmentation import THRESHOLDS, segment_counts, segment_intervals
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Temporal segmentation: segmental F1 at tIoU thresholds, edit score and frame accuracy (MoF), and,
from per-class scores, frame mAP and temporal mAP.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: for each sequence one label a frame, whole numbers or strings.
    references: the same for the truth, of the same lengths.
    thresholds: tIoU thresholds in (0, 1].
    background: a label, or several, that is no segment.
    scores, names: for each sequence [frames, classes], and the label of each column.
    clusters: one participant or recording a sequence; with it, `intervals` are given.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    f1@T, edit, mof, and with scores frame_map and map@T, in [0, 100]; sequences and frames,
    counts; intervals, [low, high] of the 95 % percentile interval.
Examples:
    >>> import evaluate
    >>> step_segmentation = evaluate.load("metrics/step_segmentation")
    >>> found = step_segmentation.compute(predictions=[[0, 0, 1]], references=[[0, 1, 1]])
    >>> found["f1@0.5"], found["edit"]
    (100.0, 100.0)
"""

_CITATION = """
@inproceedings{abufarha2019mstcn,
  title = {{MS-TCN}: Multi-Stage Temporal Convolutional Network for Action Segmentation},
  author = {Abu Farha, Yazan and Gall, Juergen},
  booktitle = {CVPR},
  year = {2019}
}
"""


def _features(kind: str) -> datasets.Features:
    labels = datasets.Sequence(datasets.Value(kind))
    return datasets.Features({"predictions": labels, "references": labels})


class StepSegmentation(LabelMetric, evaluate.Metric):
    """Segmental F1, edit and MoF; see the card beside this file."""

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
        thresholds: Sequence[float] = THRESHOLDS,
        background: Any = None,
        scores: Sequence[Any] | None = None,
        names: Sequence[Any] | None = None,
        clusters: Sequence[Any] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        if (scores is None) != (names is None):
            raise ValueError(
                "scores and names go together: one table a sequence, one name a column"
            )
        counts = segment_counts(predictions, references, thresholds, background)
        result: dict[str, Any] = dict(counts.scores())
        result["sequences"] = len(references)
        result["frames"] = int(counts.frames.sum())
        if scores is not None and names is not None:
            result["frame_map"] = frame_map(scores, references, names).mean
            claims = [
                detections(labels, table, names, background)
                for labels, table in zip(predictions, scores, strict=True)
            ]
            truth = [segments(labels, background) for labels in references]
            result.update(temporal_map(claims, truth, thresholds))
        if clusters is not None:
            intervals = segment_intervals(
                predictions, references, thresholds, background, clusters, draws, seed
            )
            result["intervals"] = {name: [i.low, i.high] for name, i in intervals.items()}
        return result
