"""Accuracy of multiple-choice answers, beside the chance levels that it has to beat.

An item without a readable answer is wrong and stays in the denominator; how often that happened is
given next to the accuracy. Where the options of a question were shuffled and asked several times,
`shuffle_agreement` says how much of the accuracy survives the order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procedural_evals.scores.uncertainty import DRAWS, LEVEL, bootstrap_mean

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChoiceScores:
    """One row of a table: all questions, or those of one task. Rates and accuracies in [0, 100].

    Attributes:
        accuracy: right answers per 100 questions (the micro average).
        low, high: ends of the percentile interval of `accuracy` under the cluster bootstrap.
        n, n_correct, n_clusters: counts of questions, right answers and clusters.
        parse_failures, parse_failure_rate: questions whose reply named no offered letter.
        random_chance: what guessing gets, the mean of 100 / number of options; None if unknown.
        most_frequent_chance: what always answering `most_frequent_letter` gets; None if unknown.
        most_frequent_letter: the commonest correct letter of this row's own questions; of equally
            common letters the first in the alphabet, which changes no number.
        tasks: the row of each task, by name, in order of first appearance; empty within a task.
    """

    accuracy: float
    low: float
    high: float
    n: int
    n_correct: int
    n_clusters: int
    parse_failures: int
    parse_failure_rate: float
    random_chance: float | None
    most_frequent_chance: float | None
    most_frequent_letter: str | None
    tasks: dict[str, ChoiceScores] = field(default_factory=dict)


def flags(values: ArrayLike, name: str, n: int | None = None) -> Bools:
    """One flag a question, as bool [n]; ValueError, with the name, for anything else."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: shape {array.shape}; one flag a question, at least one, needed")
    if n is not None and array.size != n:
        raise ValueError(f"{name}: {array.size} flags for {n} questions; give one a question")
    for item, value in enumerate(array.tolist()):
        if value not in (0, 1):
            raise ValueError(f"{name}: item {item} is {value!r}; only 0 and 1 are flags")
    return array.astype(bool)


def same_length(values: Sequence[object] | None, name: str, n: int) -> None:
    """ValueError, with the name, where there are other than n values."""
    if values is not None and len(values) != n:
        raise ValueError(f"{name}: {len(values)} values for {n} questions; give one a question")


def random_chance(num_options: Sequence[int]) -> float:
    """Expected accuracy of guessing, in [0, 100]: the mean of 100 / number of options.

    >>> random_chance([4, 4, 2])
    33.333333333333336
    """
    for item, count in enumerate(num_options):
        if int(count) != count or count < 1:
            raise ValueError(f"num_options: item {item} is {count!r}; a whole number from 1 needed")
    return float(np.mean(100.0 / np.asarray(num_options, np.float64)))


def most_frequent(gold: Sequence[str]) -> tuple[str, float]:
    """The commonest correct letter and the accuracy of always answering it, in [0, 100].

    Of equally common letters the first in the alphabet is named.

    >>> most_frequent(["B", "A", "B", "A", "C"])
    ('A', 40.0)
    """
    letter, count = min(Counter(gold).items(), key=lambda pair: (-pair[1], pair[0]))
    return letter, 100.0 * count / len(gold)


def summarise(
    correct: ArrayLike,
    parsed: ArrayLike,
    tasks: Sequence[str] | None = None,
    num_options: Sequence[int] | None = None,
    gold: Sequence[str] | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> ChoiceScores:
    """The table of a run: the row of all questions, which holds the rows of the tasks.

    Args:
        correct: [n], whether the answer is right: bool, 0 or 1.
        parsed: [n], whether the reply named an offered letter; a right answer has to be parsed.
        tasks: [n], name of each question's task.
        num_options: [n], number of options of each question, for `random_chance`.
        gold: [n], correct letter of each question, for `most_frequent_chance`.
        clusters: [n], what questions share, usually the video; without it each stands alone.
        draws: replicates of the bootstrap.
        seed: seed of the bootstrap, the same for every row.
        level: confidence level of `low` and `high`, between 0 and 1.

    Raises ValueError for no questions, lengths that differ, a flag other than 0 and 1, or a right
    answer that was not parsed.

    >>> row = summarise([1, 0, 1, 0], [1, 1, 1, 0], tasks=["tord", "tord", "mate", "mate"])
    >>> row.accuracy, row.parse_failure_rate, row.tasks["mate"].parse_failures
    (50.0, 25.0, 1)
    """
    right = flags(correct, "correct")
    read = flags(parsed, "parsed", right.size)
    named: dict[str, Sequence[object] | None] = {
        "tasks": tasks,
        "num_options": num_options,
        "gold": gold,
        "clusters": clusters,
    }
    for name, values in named.items():
        same_length(values, name, right.size)
    if (right & ~read).any():
        item = int(np.flatnonzero(right & ~read)[0])
        raise ValueError(
            f"item {item} is correct, but was not parsed; without a letter it is wrong"
        )

    def row(members: Sequence[int], parts: dict[str, ChoiceScores]) -> ChoiceScores:
        of_row = right[list(members)]
        groups = None if clusters is None else [clusters[i] for i in members]
        interval = bootstrap_mean(100.0 * of_row, groups, draws=draws, seed=seed, level=level)
        failures = int((~read[list(members)]).sum())
        letter, share = (None, None)
        if gold is not None:
            letter, share = most_frequent([gold[i] for i in members])
        return ChoiceScores(
            accuracy=interval.mean,
            low=interval.low,
            high=interval.high,
            n=len(members),
            n_correct=int(of_row.sum()),
            n_clusters=len(members) if groups is None else len(set(groups)),
            parse_failures=failures,
            parse_failure_rate=100.0 * failures / len(members),
            random_chance=(
                None if num_options is None else random_chance([num_options[i] for i in members])
            ),
            most_frequent_chance=share,
            most_frequent_letter=letter,
            tasks=parts,
        )

    by_task: dict[str, list[int]] = {}
    for item, task in enumerate(tasks or ()):
        by_task.setdefault(task, []).append(item)
    return row(range(right.size), {task: row(members, {}) for task, members in by_task.items()})


@dataclass(frozen=True)
class ShuffleAgreement:
    """How many questions survive a new order of their options; shares in [0, 100].

    Attributes:
        strict: questions that were right in every order.
        majority: questions that were right in more than half of their orders.
        any: questions that were right in at least one order.
        n_questions: number of different questions.
        fewest, most: the smallest and the largest number of orders a question was asked in.
    """

    strict: float
    majority: float
    any: float
    n_questions: int
    fewest: int
    most: int


def shuffle_agreement(question_ids: Sequence[Hashable], correct: ArrayLike) -> ShuffleAgreement:
    """Agreement over the orders of each question's options.

    Args:
        question_ids: [n], the same id for every order in which one question was asked.
        correct: [n], whether that answer is right: bool, 0 or 1.

    Raises ValueError for no answers, lengths that differ, or a flag other than 0 and 1.

    >>> shuffle_agreement(["q1", "q1", "q2", "q2"], [1, 1, 1, 0])
    ShuffleAgreement(strict=50.0, majority=50.0, any=100.0, n_questions=2, fewest=2, most=2)
    """
    right = flags(correct, "correct")
    same_length(question_ids, "question_ids", right.size)
    shares, orders = order_shares(question_ids, right)
    return ShuffleAgreement(
        **{rule: 100.0 * float(passed(shares).mean()) for rule, passed in RULES.items()},
        n_questions=len(orders),
        fewest=min(orders.values()),
        most=max(orders.values()),
    )


#: When a question counts as answered, by the share of its orders in which it was right.
RULES: dict[str, Callable[[Floats], Bools]] = {
    "strict": lambda share: share == 1,
    "majority": lambda share: share > 0.5,
    "any": lambda share: share > 0,
}


def order_shares(
    question_ids: Sequence[Hashable], right: Bools
) -> tuple[Floats, Counter[Hashable]]:
    """Share of right answers and number of orders of each question, in order of appearance."""
    hits: Counter[Hashable] = Counter()
    orders: Counter[Hashable] = Counter()
    for question, flag in zip(question_ids, right.tolist(), strict=True):
        orders[question] += 1
        hits[question] += flag
    return np.array([hits[question] / asked for question, asked in orders.items()]), orders
