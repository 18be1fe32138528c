"""One measure of two runs on the same items, with the difference B - A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from procedural_evals.scores.uncertainty import Difference

Floats = NDArray[np.float64]

ALL = "all"


@dataclass(frozen=True)
class Line:
    """One measure over all compared items or over a group of them; scores in [0, 100].

    A dimension of a rubric (`grade ...`) is in the rubric's own unit instead.

    Attributes:
        measure, group: what is measured over which items: "all", or "grouping: value".
        n, clusters: items, and videos, recordings or participants that they come from.
        a, b: the two runs' scores.
        difference, low, high, p_value: B - A with its interval and two-sided p-value; with a
            single cluster nothing can be drawn, and there is neither. No p-value is below
            2 / 2^clusters: all clusters point the same way that often by chance alone.
        primary: whether this is the task's headline.
        p_holm: the p-value, corrected for its family (see `comparison`).
    """

    measure: str
    group: str
    n: int
    clusters: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    primary: bool = False
    p_holm: float | None = None


@dataclass(frozen=True)
class Measured:
    """The lines of a task, and each compared item's own score.

    Attributes:
        lines: the headline first.
        item_measure: what `a` and `b` are.
        a, b: [items] in [0, 100], NaN where the item has no score.
        answers_a, answers_b: what each run answered, in short.
    """

    lines: list[Line]
    item_measure: str
    a: Floats
    b: Floats
    answers_a: list[str]
    answers_b: list[str]


def line_of(
    measure: str,
    group: str,
    a: float,
    b: float,
    found: Difference,
    clusters: Sequence[str],
    primary: bool,
) -> Line:
    """The line of a difference over items of these clusters."""
    k = len(set(clusters))
    head = measure, group, len(clusters), k, a, b, found.mean
    if k < 2:
        return Line(*head, None, None, None, primary)
    # Few clusters make the drawn differences too much alike; their signs alone say this much.
    p_value = max(found.p_value, 2.0 ** (1 - k))
    return Line(*head, found.low, found.high, p_value, primary)


def numbers(values: Sequence[float | None]) -> Floats:
    """float64 [n], NaN where there is none."""
    return np.array([np.nan if value is None else float(value) for value in values])
