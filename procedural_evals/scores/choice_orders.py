"""What survives another order of the options, with intervals and chance: strict, majority, any.

The questions of a run were asked several times, their options in another order each time. A
question passes strictly when it was right in every order, by majority when it was right in more
than half of them, and at all when it was right in one (the rules of Flat-Pack Bench's evaluation,
arXiv 2605.21625).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from procedural_evals.scores.choice_accuracy import (
    RULES,
    Bools,
    Floats,
    flags,
    order_shares,
    same_length,
)
from procedural_evals.scores.uncertainty import DRAWS, LEVEL, Interval, bootstrap_mean


@dataclass(frozen=True)
class OrderScore:
    """Questions answered in several orders, by one of `RULES`; shares in [0, 100].

    Attributes:
        interval: mean and percentile interval under the cluster bootstrap.
        n: number of questions.
        random_chance: what guessing each order by itself gets; None if unknown.
    """

    interval: Interval
    n: int
    random_chance: float | None


def order_scores(
    question_ids: Sequence[Hashable],
    correct: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    num_options: Sequence[int] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, OrderScore]:
    """`shuffle_agreement` with intervals and chance: a score under each of `RULES`.

    Args:
        question_ids: [n], the same id for every order in which one question was asked.
        correct: [n], whether that answer is right: bool, 0 or 1.
        clusters: [n], what questions share, usually the video; a question's first one counts.
        num_options: [n], number of options of each question, for `random_chance`.
        draws: replicates of the bootstrap.
        seed: seed of the bootstrap.
        level: confidence level of the intervals, between 0 and 1.

    >>> found = order_scores(["q1", "q1", "q2", "q2"], [1, 1, 1, 0], num_options=[2, 2, 2, 2])
    >>> {rule: (score.interval.mean, score.random_chance) for rule, score in found.items()}
    {'strict': (50.0, 25.0), 'majority': (50.0, 25.0), 'any': (100.0, 75.0)}
    """
    right = flags(correct, "correct")
    same_length(question_ids, "question_ids", right.size)
    same_length(clusters, "clusters", right.size)
    same_length(num_options, "num_options", right.size)
    shares, orders = order_shares(question_ids, right)
    first = {question: item for item, question in reversed(list(enumerate(question_ids)))}
    groups = None if clusters is None else [clusters[first[question]] for question in orders]
    found = {}
    for rule, passed in RULES.items():
        chance = None
        if num_options is not None:
            chance = float(
                np.mean([_guessed(n, 1 / num_options[first[q]], passed) for q, n in orders.items()])
            )
        interval = bootstrap_mean(
            100.0 * passed(shares), groups, draws=draws, seed=seed, level=level
        )
        found[rule] = OrderScore(interval, len(orders), chance)
    return found


def _guessed(orders: int, chance: float, passed: Callable[[Floats], Bools]) -> float:
    """Per cent of questions that pass when each order is guessed right with this probability."""
    hits = np.arange(orders + 1)
    ways = np.array([math.comb(orders, int(k)) for k in hits], np.float64)
    weights = ways * chance**hits * (1 - chance) ** (orders - hits)
    return float(100 * weights[passed(hits / orders)].sum())
