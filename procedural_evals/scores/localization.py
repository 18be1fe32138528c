"""How well classes rank frames, and how well claimed segments find true ones: mean precision.

Frame mAP and temporal mAP@tIoU, both in [0, 100], from per-class scores. The segments are runs of
equal labels, as in `segmentation`; their ends may be frames or seconds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procedural_evals.scores.classification import average_precision
from procedural_evals.scores.labels import Labels, background_labels, frame_labels, run_starts
from procedural_evals.scores.segmentation import THRESHOLDS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Segment(NamedTuple):
    """A label from start (included) to end (not included), in frames or seconds."""

    label: Hashable
    start: float
    end: float


class Detection(NamedTuple):
    """A claimed segment and how sure the system is of it; only the order of scores matters."""

    label: Hashable
    start: float
    end: float
    score: float


def segments(labels: Sequence[Any], background: Any = None) -> list[Segment]:
    """The runs of equal labels of one sequence, in frames, background left out.

    >>> segments(list("aab-"), background="-")
    [Segment(label='a', start=0, end=2), Segment(label='b', start=2, end=3)]
    """
    array = frame_labels(labels, "labels")
    kinds = {"strings" if array.dtype.kind == "U" else "numbers": ""} if array.size else {}
    dropped = set(background_labels(background, kinds))
    starts = run_starts(array).tolist()
    ends = [*starts[1:], array.size]
    runs = zip(array[starts].tolist(), starts, ends, strict=False)
    return [Segment(*run) for run in runs if run[0] not in dropped]


def detections(
    labels: Sequence[Any],
    scores: ArrayLike,
    names: Sequence[Hashable],
    background: Any = None,
) -> list[Detection]:
    """The runs of one predicted sequence, each with its label's mean score over its frames.

    Args:
        labels: [frames] predicted label of each frame.
        scores: [frames, classes] score of each class at each frame.
        names: [classes] label of each column.
        background: label or labels to leave out.

    >>> detections(list("aab"), [[1, 0], [0, 0], [0, 3]], ["a", "b"])[0]
    Detection(label='a', start=0, end=2, score=0.5)
    """
    table = _score_table(scores, len(labels), len(names), "scores")
    column = {name: i for i, name in enumerate(names)}
    found = []
    for label, start, end in segments(labels, background):
        if label not in column:
            raise ValueError(f"labels: {label!r} has no column of scores; there are {names!r}")
        score = float(table[int(start) : int(end), column[label]].mean())
        found.append(Detection(label, start, end, score))
    return found


def _score_table(scores: ArrayLike, frames: int, classes: int, name: str) -> Floats:
    table = np.asarray(scores, np.float64)
    if frames == 0 and table.size == 0:
        return np.empty((0, classes))
    if table.shape != (frames, classes):
        raise ValueError(
            f"{name}: shape {table.shape}; {frames} frames by {classes} classes are needed"
        )
    if not np.isfinite(table).all():
        raise ValueError(
            f"{name}: frame {int(np.argwhere(~np.isfinite(table))[0, 0])} is not finite"
        )
    return table


class MeanAveragePrecision(NamedTuple):
    """Mean of the classes' average precisions, and each of them, in [0, 100]."""

    mean: float
    by_class: dict[Hashable, float]


def frame_map(
    scores: Sequence[ArrayLike], references: Sequence[Any], names: Sequence[Hashable]
) -> MeanAveragePrecision:
    """How well each class's frames rank above all other frames of the corpus, in [0, 100].

    Average precision of each column over the frames of all sequences; the mean is over the classes
    that the references hold. Frames with another label (background) are negatives of every class.

    Args:
        scores: for each sequence [frames, classes], comparable across sequences.
        references: for each sequence one label a frame.
        names: [classes] label of each column.

    >>> frame_map([[[0.9, 0.1], [0.2, 0.8]]], [["a", "b"]], ["a", "b"]).mean
    100.0
    """
    if len(scores) != len(references):
        raise ValueError(f"{len(scores)} score tables for {len(references)} references; pair them")
    truths = [
        frame_labels(labels, f"references: sequence {i}") for i, labels in enumerate(references)
    ]
    tables = [
        _score_table(table, truth.size, len(names), f"scores: sequence {i}")
        for i, (table, truth) in enumerate(zip(scores, truths, strict=True))
    ]
    by_class: dict[Hashable, float] = {}
    if tables:
        every = np.concatenate(tables)
        for column, name in enumerate(names):
            positive = np.concatenate([_equal(truth, name) for truth in truths])
            if positive.any():
                by_class[name] = 100 * average_precision(every[:, column], positive)
    if not by_class:
        raise ValueError(f"references: no frame has one of the labels {tuple(names)!r}")
    return MeanAveragePrecision(float(np.mean(list(by_class.values()))), by_class)


def _equal(labels: Labels, name: Hashable) -> Bools:
    """Where the labels are this name; nowhere when one is a string and the others are not."""
    if labels.size == 0 or isinstance(name, str) != (labels.dtype.kind == "U"):
        return np.zeros(labels.size, bool)
    return np.asarray(labels == name, bool)


def temporal_map(
    detected: Sequence[Sequence[Detection]],
    references: Sequence[Sequence[Segment]],
    thresholds: Sequence[float] = THRESHOLDS,
) -> dict[str, float]:
    """Temporal mAP at each tIoU threshold: map@T in [0, 100].

    The detections of a class are taken over the whole corpus from the surest on; each finds the
    unfound true segment of its class and sequence with the highest tIoU, if that reaches the
    threshold. Average precision is the area under the precision curve made falling (as in the
    ActivityNet evaluation), and the mean is over the classes that the references hold. Without
    true segments it is 100 when nothing was detected and 0 otherwise.

    >>> temporal_map([[Detection("a", 0, 9, 0.5)]], [[Segment("a", 0, 10)]], (0.5, 0.95))
    {'map@0.5': 100.0, 'map@0.95': 0.0}
    """
    if len(detected) != len(references):
        raise ValueError(f"{len(detected)} lists for {len(references)} references; pair them")
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise ValueError(f"thresholds: {threshold} is not in (0, 1]")
    classes: dict[Hashable, list[tuple[int, Segment]]] = {}
    for i, truth in enumerate(references):
        for segment in truth:
            _check_span(segment.start, segment.end, f"references: sequence {i}")
            classes.setdefault(segment.label, []).append((i, segment))
    claims: dict[Hashable, list[tuple[int, Detection]]] = {}
    for i, found in enumerate(detected):
        for detection in found:
            _check_span(detection.start, detection.end, f"detections: sequence {i}")
            if not np.isfinite(detection.score):
                raise ValueError(f"detections: sequence {i}: score {detection.score}")
            claims.setdefault(detection.label, []).append((i, detection))
    if not classes:
        return {f"map@{threshold:g}": 0.0 if claims else 100.0 for threshold in thresholds}
    areas = [
        _average_precisions(claims.get(label, []), truth, thresholds)
        for label, truth in classes.items()
    ]
    means = 100 * np.mean(areas, axis=0)
    return {f"map@{t:g}": float(mean) for t, mean in zip(thresholds, means, strict=True)}


def _check_span(start: float, end: float, name: str) -> None:
    if not (np.isfinite(start) and np.isfinite(end) and start < end):
        raise ValueError(f"{name}: segment from {start} to {end}; the end must follow the start")


def _average_precisions(
    claims: list[tuple[int, Detection]],
    truth: list[tuple[int, Segment]],
    thresholds: Sequence[float],
) -> list[float]:
    """Average precision of one class at each threshold, in [0, 1]."""
    by_sequence: dict[int, list[int]] = {}
    for number, (sequence, _) in enumerate(truth):
        by_sequence.setdefault(sequence, []).append(number)
    # The overlaps, best first, are worked out once and read at each threshold.
    partners: list[list[tuple[float, int]]] = []
    for sequence, claim in sorted(claims, key=lambda pair: -pair[1].score):
        overlaps = [(_tiou(claim, truth[k][1]), k) for k in by_sequence.get(sequence, [])]
        partners.append(sorted((pair for pair in overlaps if pair[0] > 0), key=lambda p: -p[0]))
    areas = []
    for threshold in thresholds:
        found: set[int] = set()
        hit = np.zeros(len(partners), bool)
        for rank, overlaps in enumerate(partners):
            free = (k for iou, k in overlaps if iou >= threshold and k not in found)
            partner = next(free, None)
            if partner is not None:
                found.add(partner)
                hit[rank] = True
        precision = np.cumsum(hit) / np.arange(1, hit.size + 1)
        falling = np.maximum.accumulate(precision[::-1])[::-1]
        areas.append(float(falling[hit].sum() / len(truth)))
    return areas


def _tiou(a: Detection, b: Segment) -> float:
    shared = min(a.end, b.end) - max(a.start, b.start)
    return max(0.0, shared / (a.end - a.start + b.end - b.start - shared))
