"""Two answers to each item: exact McNemar test, and agreement beyond chance with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from procedural_evals.scores.agreement import cohen_kappa
from procedural_evals.scores.uncertainty import (
    DRAWS,
    LEVEL,
    Interval,
    cluster_counts,
    partition,
    percentile_ends,
)

Floats = NDArray[np.float64]


def mcnemar(lost: int, gained: int) -> float:
    """Two-sided exact p-value of McNemar's test (1947) from the two discordant counts.

    `lost` items were right before and wrong after, `gained` the other way round; if neither system
    is better, each of them is a fair coin's toss. The items are taken as independent of each
    other: where they share videos, the cluster bootstrap is the test to believe.

    >>> mcnemar(2, 8)
    0.109375
    >>> mcnemar(0, 0)
    1.0
    """
    if lost < 0 or gained < 0:
        raise ValueError(f"{lost} lost and {gained} gained; counts of items are needed")
    n = lost + gained
    # Whole numbers up to the last step: neither a sum nor a power rounds.
    tail = ways = 1
    for k in range(min(lost, gained)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, (2 * tail) / (1 << n))


def kappa_interval(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> Interval:
    """Cohen's kappa of two lists of labels with its percentile interval; clusters are drawn.

    A replicate in which both sides use one and the same label throughout counts 1, as in
    `agreement.cohen_kappa`.

    >>> kappa_interval(["a", "b"], ["a", "b"], draws=10)
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    kappa = cohen_kappa(first, second)
    number: dict[Hashable, int] = {}
    for label in (*first, *second):
        number.setdefault(label, len(number))
    size, n = len(number), len(first)
    group, k = partition(clusters, n)
    sides = [np.fromiter((number[x] for x in side), np.int64, count=n) for side in (first, second)]
    cell = np.ravel_multi_index((group, *sides), (k, size, size))
    tables = np.bincount(cell, minlength=k * size * size).reshape(k, -1).astype(np.float64)
    drawn = (cluster_counts(k, draws, seed) @ tables).reshape(draws, size, size)
    drawn /= drawn.sum(axis=(1, 2), keepdims=True)
    return Interval(kappa, *percentile_ends(_kappas(drawn), level))


def _kappas(shares: Floats) -> Floats:
    """Kappa of each table of shares [draws, labels, labels]."""
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = (shares.sum(axis=1) * shares.sum(axis=2)).sum(axis=1)
    possible = 1 - expected > 1e-12
    kappas: Floats = np.ones_like(observed)
    np.divide(observed - expected, 1 - expected, out=kappas, where=possible)
    return kappas
