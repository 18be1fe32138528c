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
