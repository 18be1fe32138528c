"""Temporal segmentation: segmental F1, edit score, frame accuracy, and localisation precision.

The conventions are those of the MS-TCN evaluation (Abu Farha and Gall, CVPR 2019), with its holes
filled. Two labelings of one timeline cut it into at most n + m pieces, and a predicted and a true
segment overlap in exactly one piece. So the segments are cut once, only overlapping pairs are
looked at, and every threshold reads the same table.

What is defined where the usual code fails:

- Neither side has a segment (both empty, or background only): nothing was there and nothing was
  claimed, 100.
- One side has none: 0.
- Sequences of unequal length: ValueError, never a comparison of the part they share.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Levenshtein

from procedural_evals.scores.classification import average_precision
from procedural_evals.scores.uncertainty import (
    DRAWS,
    LEVEL,
    Interval,
    cluster_counts,
    partition,
    percentile_ends,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Labels = NDArray[Any]

THRESHOLDS = (0.1, 0.25, 0.5)


def _as_labels(sequence: Any, name: str) -> Labels:
    """One sequence as a whole-number or string array [frames]."""
    if isinstance(sequence, str | bytes):
        raise ValueError(
            f"{name}: {sequence!r} is one label; a list of one label a frame is needed"
        )
    try:
        array = np.asarray(sequence)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise ValueError(f"{name}: one label a frame is needed, not {sequence!r:.60}")
    if array.size == 0:
        return np.empty(0, np.int64)
    # numpy turns a list that mixes strings with numbers into strings: look at the list itself.
    mixed = array.dtype.kind == "U" and not isinstance(sequence, np.ndarray)
    if mixed or array.dtype.kind == "O":
        wanted = str if any(isinstance(label, str) for label in sequence) else int
        for frame, label in enumerate(sequence):
            if not isinstance(label, wanted):
                raise ValueError(
                    f"{name}: frame {frame} is {label!r}; "
                    "use strings or whole numbers throughout, and a background label for no label"
                )
        array = array.astype(wanted)
    if array.dtype.kind not in "iubU":
        raise ValueError(
            f"{name}: labels of type {array.dtype} ({array[0]}); use strings or whole numbers"
        )
    return array


def _starts(labels: Labels) -> Ints:
    """Frame numbers at which a segment begins."""
    if labels.size == 0:
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(labels[1:] != labels[:-1]) + 1))


class _Side(NamedTuple):
    """All segments of one side on one timeline, the sequences laid end to end."""

    label: Ints
    start: Ints
    length: Ints
    sequence: Ints
    kept: Bools


@dataclass(frozen=True)
class SegmentCounts:
    """What the scores are made of, a sequence at a time, so that sequences can be resampled.

    Attributes:
        thresholds: the tIoU thresholds.
        hits: int64 [thresholds, sequences] true segments that were found.
        predicted, reference: int64 [sequences] segments of each side, background left out.
        edit: float64 [sequences] in [0, 100].
        correct, frames: int64 [sequences] frames with the right label, and all frames.
    """

    thresholds: tuple[float, ...]
    hits: Ints
    predicted: Ints
    reference: Ints
    edit: Floats
    correct: Ints
    frames: Ints

    def scores(self) -> dict[str, float]:
        """F1@t, edit and MoF of the corpus, each in [0, 100]."""
        one = np.ones((1, self.frames.size))
        return {name: float(values[0]) for name, values in self.weighted(one).items()}

    def weighted(self, counts: ArrayLike) -> dict[str, Floats]:
        """Each score for each row of counts [draws, sequences]: how often a sequence is taken."""
        weights = np.asarray(counts, np.float64)
        segments = weights @ (self.predicted + self.reference)
        result = {
            f"f1@{threshold:g}": _percent(2 * (weights @ hits), segments)
            for threshold, hits in zip(self.thresholds, self.hits, strict=True)
        }
        result["edit"] = weights @ self.edit / weights.sum(axis=1)
        result["mof"] = _percent(weights @ self.correct, weights @ self.frames)
        return result


def _percent(numerator: Floats, denominator: Floats) -> Floats:
    """Element by element in percent; 100 where there was nothing to find and nothing claimed."""
    full = np.ones_like(numerator)
    return 100 * np.divide(numerator, denominator, out=full, where=denominator > 0)


def segment_counts(
    predictions: Sequence[Any],
    references: Sequence[Any],
    thresholds: Sequence[float] = THRESHOLDS,
    background: Any = None,
) -> SegmentCounts:
    """Counts behind `segment_scores`, with the same arguments and errors."""
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise ValueError(f"thresholds: {threshold} is not in (0, 1]")
    if len(predictions) != len(references):
        raise ValueError(
            f"{len(predictions)} predicted sequences for {len(references)} references; pair them"
        )
    n = len(references)
    if n == 0:
        raise ValueError("no sequences: a score needs at least one")
    correct, frames = np.zeros(n, np.int64), np.zeros(n, np.int64)
    starts: tuple[list[Ints], list[Ints]] = ([], [])
    names: tuple[list[Labels], list[Labels]] = ([], [])
    kinds: dict[str, str] = {}
    for i, pair in enumerate(zip(predictions, references, strict=True)):
        sides = [
            _as_labels(sequence, f"{side}: sequence {i}")
            for side, sequence in zip(("predictions", "references"), pair, strict=True)
        ]
        if sides[0].size != sides[1].size:
            raise ValueError(
                f"sequence {i}: {sides[0].size} predicted frames for {sides[1].size} in the "
                "reference; give one label for each frame"
            )
        frames[i] = sides[0].size
        for side, labels in enumerate(sides):
            if labels.size:
                kind = "strings" if labels.dtype.kind == "U" else "numbers"
                kinds.setdefault(kind, f"{('predictions', 'references')[side]}: sequence {i}")
                if len(kinds) > 1:
                    where = " and ".join(f"{kind} ({place})" for kind, place in kinds.items())
                    raise ValueError(f"labels of two types never match: {where}")
            cuts = _starts(labels)
            starts[side].append(cuts)
            names[side].append(labels[cuts])
        correct[i] = np.count_nonzero(sides[0] == sides[1])
    predicted, reference = _sides(starts, names, frames, _background(background, kinds))
    iou, truth = _best_overlaps(predicted, reference)
    hits = np.zeros((len(thresholds), n), np.int64)
    for row, threshold in enumerate(thresholds):
        found = np.zeros(reference.label.size, bool)
        found[truth[iou >= threshold]] = True
        hits[row] = np.bincount(reference.sequence[found], minlength=n)
    return SegmentCounts(
        tuple(thresholds),
        hits,
        np.bincount(predicted.sequence[predicted.kept], minlength=n),
        np.bincount(reference.sequence[reference.kept], minlength=n),
        _edits(predicted, reference, n),
        correct,
        frames,
    )


def _background(background: Any, kinds: dict[str, str]) -> list[Any]:
    """The background labels as a list, of the labels' own type."""
    if background is None:
        return []
    single = isinstance(background, str) or not isinstance(background, Collection | np.ndarray)
    labels = [background] if single else list(background)
    for label in labels:
        kind = "strings" if isinstance(label, str) else "numbers"
        if kinds and kind not in kinds:
            raise ValueError(f"background: {label!r} can never occur among {', '.join(kinds)}")
    return labels


def _sides(
    starts: tuple[list[Ints], list[Ints]],
    names: tuple[list[Labels], list[Labels]],
    frames: Ints,
    background: list[Any],
) -> list[_Side]:
    offsets = np.concatenate(([0], np.cumsum(frames)))
    filled = [array for side in names for array in side if array.size]
    every = np.concatenate(filled) if filled else np.empty(0, np.int64)
    labels, number = np.unique(every, return_inverse=True)
    dropped = np.isin(labels, background) if background else np.zeros(labels.size, bool)
    sides = []
    for side, first in ((0, 0), (1, sum(array.size for array in names[0]))):
        sizes = np.array([array.size for array in starts[side]])
        sequence = np.repeat(np.arange(frames.size), sizes)
        label = number[first : first + sequence.size]
        start = np.concatenate(starts[side]) + offsets[sequence]
        # Each segment ends where the next one starts, also across the sequences' borders.
        length = np.diff(start, append=offsets[-1])
        sides.append(_Side(label, start, length, sequence, ~dropped[label]))
    return sides


def _best_overlaps(predicted: _Side, reference: _Side) -> tuple[Floats, Ints]:
    """IoU with, and number of, the true segment of the same label that overlaps most.

    One entry for each predicted segment that overlaps such a segment at all; the first of equals.
    A segment whose best partner was taken by an earlier one is not given the second best: that is
    the convention of the published code, and it makes the hits the distinct partners.
    """
    # Two sorted runs, which a stable sort only merges; np.union1d is many times slower here.
    pieces = np.sort(np.concatenate((predicted.start, reference.start)), kind="stable")
    pieces = pieces[np.diff(pieces, prepend=-1) > 0]
    end = predicted.start[-1] + predicted.length[-1] if predicted.start.size else 0
    length = np.diff(pieces, append=end)
    p = np.searchsorted(predicted.start, pieces, side="right") - 1
    r = np.searchsorted(reference.start, pieces, side="right") - 1
    same = (predicted.label[p] == reference.label[r]) & predicted.kept[p]
    p, r, length = p[same], r[same], length[same]
    if p.size == 0:
        return np.empty(0), np.empty(0, np.int64)
    iou = length / (predicted.length[p] + reference.length[r] - length)
    first = np.flatnonzero(np.diff(p, prepend=-1))
    group = np.repeat(np.arange(first.size), np.diff(first, append=p.size))
    best = np.flatnonzero(iou == np.maximum.reduceat(iou, first)[group])
    best = best[np.diff(p[best], prepend=-1) > 0]
    return iou[best], r[best]


def _edits(predicted: _Side, reference: _Side, n: int) -> Floats:
    """Edit score of each sequence: 100 (1 - Levenshtein distance / longer label list)."""
    lists = []
    for side in (predicted, reference):
        label, sequence = side.label[side.kept], side.sequence[side.kept]
        bounds = np.searchsorted(sequence, np.arange(n + 1))
        whole = label.tolist()
        lists.append([whole[a:b] for a, b in pairwise(bounds)])
    pairs = zip(*lists, strict=True)
    return np.array([100 * Levenshtein.normalized_similarity(p, r) for p, r in pairs])


def segment_scores(
    predictions: Sequence[Any],
    references: Sequence[Any],
    thresholds: Sequence[float] = THRESHOLDS,
    background: Any = None,
) -> dict[str, float]:
    """Segmental F1 at each tIoU threshold, edit score and frame accuracy, each in [0, 100].

    Args:
        predictions: for each sequence one label a frame (list or array; strings or whole numbers).
        references: the same for the truth, of the same lengths.
        thresholds: tIoU thresholds in (0, 1]; a segment is found when its tIoU reaches one.
        background: a label, or several, whose segments count for neither F1 nor edit.

    Returns:
        f1@T: a predicted segment finds the true segment of its label with the highest tIoU, each
            true segment once; hits, predicted and true segments are summed over the corpus.
        edit: mean over the sequences of 100 (1 - Levenshtein / longer list of segment labels).
        mof: mean over frames, the share of all frames (background too) with the right label.
        Without segments (or frames) on both sides each is 100, without any on one side 0.

    Raises:
        ValueError: no sequences, unequal lengths, labels that are neither strings nor whole
            numbers, or of different types on the two sides.

    >>> segment_scores(["aab"], ["abb"])
    Traceback (most recent call last):
    ...
    ValueError: predictions: sequence 0: 'aab' is one label; a list of one label a frame is needed
    >>> scores = segment_scores([list("aab")], [list("abb")])
    >>> {name: round(score, 1) for name, score in scores.items()}
    {'f1@0.1': 100.0, 'f1@0.25': 100.0, 'f1@0.5': 100.0, 'edit': 100.0, 'mof': 66.7}
    """
    return segment_counts(predictions, references, thresholds, background).scores()


def segment_intervals(
    predictions: Sequence[Any],
    references: Sequence[Any],
    thresholds: Sequence[float] = THRESHOLDS,
    background: Any = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Interval]:
    """The scores with their percentile intervals; whole clusters of sequences are drawn.

    `clusters` names the participant or recording of each sequence; each is its own by default.
    """
    counts = segment_counts(predictions, references, thresholds, background)
    labels, k = partition(clusters, counts.frames.size)
    drawn = cluster_counts(k, draws, seed)[:, labels]
    replicates = counts.weighted(drawn)
    return {
        name: Interval(score, *percentile_ends(replicates[name], level))
        for name, score in counts.scores().items()
    }


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
    array = _as_labels(labels, "labels")
    kinds = {"strings" if array.dtype.kind == "U" else "numbers": ""} if array.size else {}
    dropped = set(_background(background, kinds))
    starts = _starts(array).tolist()
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
        _as_labels(labels, f"references: sequence {i}") for i, labels in enumerate(references)
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
