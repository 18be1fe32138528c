"""Seeded cluster bootstrap: how far a mean, a statistic or a difference may lie from the truth.

Whole clusters (videos, recordings, participants) are drawn with replacement, because items of one
video are not independent; the interval is the percentile interval of the replicates
(Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 2000
LEVEL = 0.95


class Interval(NamedTuple):
    """A point estimate with the ends of its percentile interval, in the unit of the values."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """Mean of a - b with its interval and the two-sided bootstrap p-value."""

    mean: float
    low: float
    high: float
    p_value: float


def partition(clusters: Sequence[Hashable] | None, n: int) -> tuple[Ints, int]:
    """Cluster number of each item, int64 [n] in order of first appearance, and how many there are.

    Without clusters each item is its own.

    >>> partition(["b", "a", "b"], 3)
    (array([0, 1, 0]), 2)
    """
    if clusters is None:
        return np.arange(n, dtype=np.int64), n
    if len(clusters) != n:
        raise ValueError(f"clusters: {len(clusters)} names for {n} values; give one name a value")
    number: dict[Hashable, int] = {}
    labels = np.fromiter((number.setdefault(c, len(number)) for c in clusters), np.int64, count=n)
    return labels, len(number)


def cluster_counts(n_clusters: int, draws: int = DRAWS, seed: int = 0) -> Ints:
    """How often each cluster was drawn in each replicate: int64 [draws, n_clusters].

    Each row sums to n_clusters. A statistic that is a function of per-cluster sums becomes one
    matrix product with this table.
    """
    if draws < 1:
        raise ValueError(f"draws: {draws}; at least 1 is needed")
    if n_clusters < 1:
        raise ValueError("no clusters: an interval needs at least one value")
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, n_clusters, size=(draws, n_clusters))
    picks += np.arange(draws)[:, None] * n_clusters
    flat = np.bincount(picks.ravel(), minlength=draws * n_clusters)
    return flat.reshape(draws, n_clusters).astype(np.int64)


def percentile_ends(replicates: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """Low and high end of the percentile interval of the replicates, 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"level: {level} is not between 0 and 1")
    tail = 50 * (1 - level)
    low, high = np.percentile(np.asarray(replicates, np.float64), [tail, 100 - tail])
    return float(low), float(high)


def _checked(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: shape {array.shape}; one number an item is needed, at least one")
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}: item {bad} is {array[bad]}; leave out or count missing values")
    return array


def _replicated_means(
    values: Floats, clusters: Sequence[Hashable] | None, draws: int, seed: int
) -> Floats:
    labels, k = partition(clusters, values.size)
    sums = np.bincount(labels, weights=values, minlength=k)
    sizes = np.bincount(labels, minlength=k)
    counts = cluster_counts(k, draws, seed)
    means: Floats = (counts @ sums) / (counts @ sizes)
    return means


def bootstrap_mean(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """Mean of the values [n] and its percentile interval under a seeded cluster bootstrap.

    Raises ValueError for an empty list, a value that is not finite, or clusters of another length.

    >>> bootstrap_mean([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    array = _checked(values, "values")
    low, high = percentile_ends(_replicated_means(array, clusters, draws, seed), level)
    return Interval(float(array.mean()), low, high)


def difference_of(mean: float, replicates: Floats, level: float = LEVEL) -> Difference:
    """A difference from its replicates [draws], which both sides drew together.

    The p-value is twice the smaller share of replicates on either side of zero, ties counted on
    both sides, with one added to numerator and denominator so that it is never 0.
    """
    low, high = percentile_ends(replicates, level)
    below, above = int((replicates <= 0).sum()), int((replicates >= 0).sum())
    p_value = min(1.0, 2 * (min(below, above) + 1) / (replicates.size + 1))
    return Difference(mean, low, high, p_value)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> Difference:
    """Mean of a - b over the same items [n], its interval, and how likely a difference is chance.

    >>> paired_difference([1, 1, 0], [1, 1, 0]).p_value
    1.0
    """
    left, right = _checked(a, "a"), _checked(b, "b")
    if left.shape != right.shape:
        raise ValueError(f"a has {left.size} values and b {right.size}; pair them item by item")
    means = _replicated_means(left - right, clusters, draws, seed)
    return difference_of(float((left - right).mean()), means, level)


def paired_differences(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Difference]:
    """`paired_difference` of each measure, a column of [n, m], all from the same drawn clusters.

    >>> [found.mean for found in paired_differences([[1, 5], [0, 5]], [[0, 5], [0, 4]], draws=9)]
    [0.5, 0.5]
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if left.shape != right.shape or left.ndim != 2:
        raise ValueError(f"a has the shape {left.shape}, b {right.shape}; [n, m] both are needed")
    for column in range(left.shape[1]):
        _checked(left[:, column], f"a, measure {column}")
        _checked(right[:, column], f"b, measure {column}")
    labels, k = partition(clusters, len(left))
    # As floats once, not once a measure; sums of whole numbers stay exact.
    counts = cluster_counts(k, draws, seed).astype(np.float64)
    sizes = counts @ np.bincount(labels, minlength=k)
    found = []
    for values in (left - right).T:
        means = (counts @ np.bincount(labels, weights=values, minlength=k)) / sizes
        found.append(difference_of(float(values.mean()), means, level))
    return found


def share_of(
    part: ArrayLike,
    whole: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval | None:
    """Mean of `part` over mean of `whole`, of the same items [n], with its percentile interval.

    Both are drawn together. None where the interval of the whole's mean reaches 0: what is not
    known to be there cannot be shared out. In the few replicates where the whole is not above 0
    the share is unbounded, and counts as infinite.

    >>> share_of([1.0, 1.0], [2.0, 2.0])
    Interval(mean=0.5, low=0.5, high=0.5)
    """
    numerator, denominator = _checked(part, "part"), _checked(whole, "whole")
    if numerator.shape != denominator.shape:
        raise ValueError(f"part has {numerator.size} values and whole {denominator.size}")
    above = _replicated_means(numerator, clusters, draws, seed)
    below = _replicated_means(denominator, clusters, draws, seed)
    if denominator.mean() <= 0 or percentile_ends(below, level)[0] <= 0:
        return None
    shares = np.full(draws, np.inf)
    np.divide(above, below, out=shares, where=below > 0)
    tail = 50 * (1 - level)
    # A replicate itself, not a value between two of them: one of the two may be infinite.
    low, high = np.percentile(shares, [tail, 100 - tail], method="closest_observation")
    return Interval(float(numerator.mean() / denominator.mean()), float(low), float(high))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for the size of their family, in the order given (Holm, 1979).

    The smallest of m is multiplied by m, the next by m - 1 and so on; none falls below the one
    before it or exceeds 1. Rejecting where the corrected value is below a level keeps the chance
    of any false rejection in the family below it, however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p_values: {p_values!r}; numbers in [0, 1] are needed")
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    factors = np.arange(values.size, 0, -1)
    corrected[order] = np.minimum(1, np.maximum.accumulate(values[order] * factors))
    return [float(value) for value in corrected]
