"""Temporal segmentation: segmental F1 at tIoU thresholds, edit score and frame accuracy.

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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Levenshtein

from procedural_evals.scores.labels import Labels, background_labels, frame_labels, run_starts
from procedural_evals.scores.uncertainty import (
    DRAWS,
    LEVEL,
    Difference,
    Interval,
    cluster_counts,
    difference_of,
    partition,
    percentile_ends,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

THRESHOLDS = (0.1, 0.25, 0.5)


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
            frame_labels(sequence, f"{side}: sequence {i}")
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
            cuts = run_starts(labels)
            starts[side].append(cuts)
            names[side].append(labels[cuts])
        correct[i] = np.count_nonzero(sides[0] == sides[1])
    predicted, reference = _sides(starts, names, frames, background_labels(background, kinds))
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


def paired_segment_differences(
    a: SegmentCounts,
    b: SegmentCounts,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Difference]:
    """Each score of system a minus that of system b on the same sequences, with its p-value.

    The same drawn clusters are scored on both sides, so what is common to them cancels. ValueError
    for counts that are not of the same sequences.
    """
    if a.thresholds != b.thresholds or not np.array_equal(a.frames, b.frames):
        raise ValueError(
            f"counts of {a.frames.size} and {b.frames.size} sequences with {a.frames.sum()} and "
            f"{b.frames.sum()} frames at {a.thresholds} and {b.thresholds}; count the same ones"
        )
    labels, k = partition(clusters, a.frames.size)
    drawn = cluster_counts(k, draws, seed)[:, labels]
    left, right = a.weighted(drawn), b.weighted(drawn)
    means = a.scores(), b.scores()
    return {
        name: difference_of(means[0][name] - means[1][name], left[name] - right[name], level)
        for name in left
    }
