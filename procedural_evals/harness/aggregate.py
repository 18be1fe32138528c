"""Aggregation functions that the task files name; each takes the records of all items.

They run once, on the first rank, and never raise (see `records`). Scores are in [0, 100].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from procedural_evals.harness.records import (
    Record,
    answered_records,
    choice_summary,
    never_raises,
)


@never_raises
def accuracy(records: Sequence[Record]) -> float:
    """Micro average over the answered items; NaN when none was answered."""
    return choice_summary(records).accuracy if answered_records(records) else math.nan


@never_raises
def accuracy_low(records: Sequence[Record]) -> float:
    """Low end of the accuracy's 95 % interval, clustered by video."""
    return choice_summary(records).low if answered_records(records) else math.nan


@never_raises
def accuracy_high(records: Sequence[Record]) -> float:
    """High end of the accuracy's 95 % interval, clustered by video."""
    return choice_summary(records).high if answered_records(records) else math.nan


@never_raises
def no_parse_rate(records: Sequence[Record]) -> float:
    """Share of the answered items whose reply named none of the offered letters."""
    return choice_summary(records).parse_failure_rate if answered_records(records) else math.nan


@never_raises
def random_chance(records: Sequence[Record]) -> float:
    """Mean of 100 / number of options."""
    chance = choice_summary(records).random_chance if answered_records(records) else None
    return math.nan if chance is None else chance


@never_raises
def most_frequent_chance(records: Sequence[Record]) -> float:
    """Accuracy of always giving the commonest correct letter."""
    chance = choice_summary(records).most_frequent_chance if answered_records(records) else None
    return math.nan if chance is None else chance


@never_raises
def answered(records: Sequence[Record]) -> float:
    """How many items were answered: the denominator of the scores."""
    return float(len(answered_records(records)))


@never_raises
def failed(records: Sequence[Record]) -> float:
    """How many items were not answered: their media are missing or their request failed."""
    return float(len(records) - len(answered_records(records)))
