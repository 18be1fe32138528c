"""Macro-F1 and its companions, with participant bootstrap intervals from per-cluster counts.

Every statistic here is a function of sums over items, so a bootstrap replicate needs no item twice:
the sums are taken once per cluster, and 2,000 replicates are matrix products with the table of how
often each cluster was drawn. All results are fractions in [0, 1].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

# Replicates are worked off in blocks, so that the temporaries stay in the processor's cache.
_BLOCK_CELLS = 32_768


def confusion(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    labels: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[Ints, tuple[Hashable, ...]]:
    """Counts int64 [clusters, true label, predicted label or none], and the labels in order.

    A prediction of None is "no answer": it goes to the last column, which belongs to no label, so
    that it is wrong without being a vote for another class. Without `labels` they are all that
    occur on either side, sorted. Without `clusters` there is one.

    Raises ValueError for lists of unequal length, no items, a reference of None, a label that is
    not among `labels`.

    >>> counts, labels = confusion(["a", "b", None], ["a", "a", "b"])
    >>> labels, counts[0].tolist()
    (('a', 'b'), [[1, 1, 0], [0, 0, 1]])
    """
    n = len(references)
    if len(predictions) != n:
        raise ValueError(f"{len(predictions)} predictions for {n} references; pair them")
    if n == 0:
        raise ValueError("no items: a score needs at least one prediction with its reference")
    names = _label_names(predictions, references, labels)
    number: dict[Hashable, int] = {name: i for i, name in enumerate(names)}
    true = _numbered(references, number, "references")
    answers: dict[Hashable, int] = {**number, None: len(names)}
    given = _numbered(predictions, answers, "predictions")
    group, k = (np.zeros(n, np.int64), 1) if clusters is None else partition(clusters, n)
    shape = (k, len(names), len(names) + 1)
    cell = np.ravel_multi_index((group, true, given), shape)
    counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    return counts.astype(np.int64), names


def _label_names(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    labels: Sequence[Hashable] | None,
) -> tuple[Hashable, ...]:
    if labels is not None:
        names = tuple(labels)
        if len(set(names)) != len(names) or None in names or not names:
            raise ValueError(f"labels: {labels!r} must be distinct, at least one, and not None")
        return names
    seen = set(references) | {p for p in predictions if p is not None}
    seen.discard(None)
    try:
        return tuple(sorted(seen))  # type: ignore[type-var]
    except TypeError:
        kinds = sorted({type(label).__name__ for label in seen})
        raise ValueError(
            f"labels of the types {', '.join(kinds)} cannot be compared; use one type on both sides"
        ) from None


def _numbered(values: Sequence[Hashable], number: dict[Hashable, int], side: str) -> Ints:
    try:
        return np.fromiter((number[value] for value in values), np.int64, count=len(values))
    except (KeyError, TypeError):
        for item, value in enumerate(values):
            if not isinstance(value, Hashable) or value not in number:
                known = ", ".join(repr(label) for label in number if label is not None)
                raise ValueError(
                    f"{side}: item {item} is {value!r}, which is none of the labels {known}"
                ) from None
        raise


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Element by element, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


@dataclass(frozen=True)
class _Statistics:
    """Scores of many confusion tables at once; each field has the tables' leading axes."""

    f1: Floats
    macro_f1: Floats
    balanced_accuracy: Floats
    accuracy: Floats


def _statistics(tables: Floats) -> _Statistics:
    """Scores of confusion tables [..., true, predicted or none]."""
    k = tables.shape[-2]
    hits = np.diagonal(tables[..., :k], axis1=-2, axis2=-1).astype(np.float64)
    true = tables.sum(axis=-1)
    f1 = _ratio(2 * hits, true + tables[..., :k].sum(axis=-2))
    recall = _ratio(hits, true)
    present = (true > 0).sum(axis=-1).astype(np.float64)
    return _Statistics(
        f1=f1,
        macro_f1=f1.mean(axis=-1),
        balanced_accuracy=_ratio(recall.sum(axis=-1), present),
        accuracy=_ratio(hits.sum(axis=-1), true.sum(axis=-1)),
    )


def macro_f1(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    labels: Sequence[Hashable] | None = None,
) -> float:
    """Mean over the labels of F1 = 2 tp / (2 tp + fp + fn), in [0, 1].

    A label that occurs on neither side (only possible with `labels`) counts 0, as in scikit-learn.
    A rule that always says "verbal" where 610 are verbal and 219 physical:

    >>> round(macro_f1(["verbal"] * 829, ["verbal"] * 610 + ["physical"] * 219), 3)
    0.424
    """
    counts, _ = confusion(predictions, references, labels)
    return float(_statistics(counts[0].astype(np.float64)).macro_f1)


class _Ranking:
    """Items in falling order of score, ready to be summed under any weights of their clusters.

    Average precision is the sum over distinct scores of (recall gained) x (precision there)
    (Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8; the
    step-wise form that scikit-learn uses). Scores that no positive has gain no recall, so
    precision is only taken where one of the positives' scores ends.
    """

    def __init__(
        self,
        scores: ArrayLike,
        positives: ArrayLike,
        clusters: Ints,
        weights: Floats | None = None,
    ) -> None:
        values = np.asarray(scores, np.float64)
        positive = np.asarray(positives, bool)
        if values.shape != positive.shape or values.ndim != 1:
            raise ValueError(f"scores: shape {values.shape} for {positive.shape} items")
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"scores: item {bad} is {values[bad]}; a finite number is needed")
        if not positive.any():
            raise ValueError("no item is positive, so average precision has no denominator")
        order = np.argsort(-values, kind="stable")
        falling, hit = values[order], positive[order]
        # Last item of each run of equal scores, and the runs in which a positive stands.
        last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), values.size - 1)
        runs = np.unique(np.searchsorted(last, np.flatnonzero(hit)))
        self.ends = last[runs]
        self.clusters = clusters[order]
        self.weights = np.ones(values.size) if weights is None else weights[order]
        self.hit_items = np.flatnonzero(hit)
        self.hit_ends = np.searchsorted(self.hit_items, self.ends, side="right") - 1

    def average_precision(self, counts: Floats) -> Floats:
        """One value in [0, 1] for each row of counts [draws, clusters]; 0 without a positive."""
        draws = counts.shape[0]
        result = np.empty(draws)
        block = max(1, _BLOCK_CELLS // self.clusters.size)
        for start in range(0, draws, block):
            weights = counts[start : start + block].take(self.clusters, axis=1) * self.weights
            found = weights[:, self.hit_items].cumsum(axis=1)[:, self.hit_ends]
            ranked = weights.cumsum(axis=1)[:, self.ends]
            area = _ratio(found, ranked)
            area *= np.diff(found, axis=1, prepend=0.0)
            result[start : start + block] = _ratio(area.sum(axis=1), found[:, -1])
        return result


def average_precision(
    scores: ArrayLike, positives: ArrayLike, weights: ArrayLike | None = None
) -> float:
    """Area under the precision-recall curve (AUPRC) as average precision, in [0, 1].

    Args:
        scores: [n] higher means more likely positive; equal scores are one threshold.
        positives: [n] truth, bool.
        weights: [n] not negative; how much each item counts, 1 by default.

    A constant score ranks nothing and gets the share of positives:

    >>> round(average_precision([0.0] * 829, [False] * 610 + [True] * 219), 3)
    0.264
    """
    positive = np.asarray(positives, bool)
    weight = None if weights is None else np.asarray(weights, np.float64)
    if weight is not None and (
        weight.shape != positive.shape or not np.isfinite(weight).all() or (weight < 0).any()
    ):
        raise ValueError("weights: one finite number an item, 0 or more, is needed")
    one = np.zeros(positive.size, np.int64)
    ranking = _Ranking(scores, positive, one, weight)
    return float(ranking.average_precision(np.ones((1, 1)))[0])


class _Sample:
    """One system's answers, summed per cluster."""

    def __init__(
        self,
        predictions: Sequence[Hashable],
        references: Sequence[Hashable],
        labels: Sequence[Hashable] | None,
        scores: ArrayLike | None,
        positive: Hashable | None,
        clusters: Sequence[Hashable],
    ) -> None:
        self.counts, self.labels = confusion(predictions, references, labels, clusters)
        self.ranking: _Ranking | None = None
        if (scores is None) != (positive is None):
            raise ValueError(
                f"scores and positive go together: positive={positive!r} and "
                f"scores {'not ' if scores is None else ''}given"
            )
        if scores is not None:
            if positive not in self.labels:
                raise ValueError(f"positive: {positive!r} is none of the labels {self.labels!r}")
            group, _ = partition(clusters, len(references))
            hits = [reference == positive for reference in references]
            self.ranking = _Ranking(scores, hits, group)

    @property
    def n_clusters(self) -> int:
        return len(self.counts)

    def replicates(self, counts: Floats) -> dict[str, Floats]:
        """Every score for each row of counts [draws, clusters]."""
        flat = self.counts.reshape(self.n_clusters, -1).astype(np.float64)
        tables = (counts @ flat).reshape(-1, *self.counts.shape[1:])
        found = _statistics(tables)
        scores = {
            "macro_f1": found.macro_f1,
            "balanced_accuracy": found.balanced_accuracy,
            "accuracy": found.accuracy,
        }
        for i, label in enumerate(self.labels):
            scores[f"f1_{label}"] = found.f1[:, i]
        if self.ranking is not None:
            scores["auprc"] = self.ranking.average_precision(counts)
        return scores

    def point(self) -> dict[str, float]:
        """Every score of the sample itself: each cluster counted once."""
        whole = self.replicates(np.ones((1, self.n_clusters)))
        return {name: float(values[0]) for name, values in whole.items()}


def classification_scores(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    labels: Sequence[Hashable] | None = None,
    scores: ArrayLike | None = None,
    positive: Hashable | None = None,
) -> dict[str, float]:
    """Scores of predicted labels, and of a named class's scores when they are given.

    Args:
        predictions: [n] labels; None means that no answer was found, which is wrong.
        references: [n] labels.
        labels: the classes to average over; all that occur, by default.
        scores: [n] how likely each item is of the class `positive`, any increasing scale.
        positive: the class whose AUPRC is wanted.

    Returns:
        macro_f1, balanced_accuracy (mean recall over the labels that the references hold),
        accuracy, f1_LABEL for each label, and auprc (average precision of `positive`) when scores
        are given; each in [0, 1].

    >>> found = classification_scores(["a", "b", "b"], ["a", "b", "a"])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'macro_f1': 0.667, 'balanced_accuracy': 0.75, 'accuracy': 0.667, 'f1_a': 0.667, 'f1_b': 0.667}
    """
    one = [0] * len(references)
    return _Sample(predictions, references, labels, scores, positive, one).point()


def bootstrap_scores(
    predictions: Sequence[Hashable],
    references: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    labels: Sequence[Hashable] | None = None,
    scores: ArrayLike | None = None,
    positive: Hashable | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Interval]:
    """Each score of `classification_scores` with its percentile interval over drawn clusters.

    Whole clusters (participants) are drawn with replacement. The labels stay those of the whole
    sample; in a replicate that holds no item of a class its F1 is 0, and without a positive item
    the AUPRC is 0, as in scikit-learn.

    >>> bootstrap_scores(["a", "b"], ["a", "b"], clusters=["p1", "p2"])["accuracy"]
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    clusters = range(len(references)) if clusters is None else clusters
    sample = _Sample(predictions, references, labels, scores, positive, clusters)
    counts = cluster_counts(sample.n_clusters, draws, seed).astype(np.float64)
    replicates = sample.replicates(counts)
    return {
        name: Interval(value, *percentile_ends(replicates[name], level))
        for name, value in sample.point().items()
    }


def paired_scores(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    references: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    labels: Sequence[Hashable] | None = None,
    a_scores: ArrayLike | None = None,
    b_scores: ArrayLike | None = None,
    positive: Hashable | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Difference]:
    """Score of system a minus score of system b on the same items, with interval and p-value.

    Both are scored on the same drawn clusters, so what is common to them cancels.

    >>> paired_scores(["a", "b"], ["a", "b"], ["a", "b"])["macro_f1"].p_value
    1.0
    """
    clusters = range(len(references)) if clusters is None else clusters
    labels = _label_names([*a, *b], references, labels)
    samples = [
        _Sample(a, references, labels, a_scores, positive, clusters),
        _Sample(b, references, labels, b_scores, positive, clusters),
    ]
    counts = cluster_counts(samples[0].n_clusters, draws, seed).astype(np.float64)
    left, right = (sample.replicates(counts) for sample in samples)
    mean_left, mean_right = (sample.point() for sample in samples)
    return {
        name: difference_of(mean_left[name] - mean_right[name], left[name] - right[name], level)
        for name in mean_left
    }


@dataclass(frozen=True)
class OverSeeds:
    """Mean over seeds, the sample standard deviation (n - 1; None for one seed), and n."""

    mean: float
    std: float | None
    n: int

    def __str__(self) -> str:
        spread = "" if self.std is None else f" ± {self.std:.3f}"
        return f"{self.mean:.3f}{spread}"


def over_seeds(values: ArrayLike) -> OverSeeds:
    """Mean and sample standard deviation of one score over the seeds of a system.

    >>> str(over_seeds([0.54, 0.55, 0.56, 0.55]))
    '0.550 ± 0.008'
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"values: {values!r}; one finite score a seed is needed")
    std = float(array.std(ddof=1)) if array.size > 1 else None
    return OverSeeds(float(array.mean()), std, array.size)
