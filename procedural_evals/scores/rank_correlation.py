"""Rank correlation of two graders: Kendall's tau-b, which corrects for equal grades.

Source: Kendall (1945), The treatment of ties in ranking problems, Biometrika 33; counting of
discordant pairs in the order of Knight (1966).
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike


def _tied_pairs(values: Iterable[Hashable]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def kendall_tau_b(a: ArrayLike, b: ArrayLike) -> float:
    """Tau-b of two lists of numbers [n] over the same items, in [-1, 1].

    NaN when one side grades all items alike, or n < 2: then there is no order to compare. Raises
    ValueError for unequal lengths or a value that is not finite.

    >>> kendall_tau_b([0, 1, 2, 2], [0, 2, 1, 2])
    0.4
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"shapes {left.shape} and {right.shape}; two lists of one length are needed"
        )
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError("a value is not finite; leave out items without a grade")
    order = np.lexsort((right, left))
    pairs = list(zip(left[order].tolist(), right[order].tolist(), strict=True))
    # Sorted by a, then b: a pair is discordant where b falls.
    discordant, seen = 0, list[float]()
    for _, value in pairs:
        discordant += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    total = len(pairs) * (len(pairs) - 1) // 2
    tied_a, tied_b = _tied_pairs(x for x, _ in pairs), _tied_pairs(y for _, y in pairs)
    if tied_a == total or tied_b == total:
        return math.nan
    balance = total - tied_a - tied_b + _tied_pairs(pairs) - 2 * discordant
    return balance / math.sqrt((total - tied_a) * (total - tied_b))
