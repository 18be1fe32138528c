"""Aggregation functions that the task files name; each takes the records of all items.

They run once, on the first rank, and never raise (see `records`). Scores are in [0, 100]; a score
that rests on no item is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from procedural_evals.harness import open_scores
from procedural_evals.harness.records import (
    Record,
    answered_records,
    choice_summary,
    never_raises,
)
from procedural_evals.harness.similarity import mean_similarity
from procedural_evals.scores.choice_accuracy import ChoiceScores
from procedural_evals.scores.grounding import GroundingSummary
from procedural_evals.scores.uncertainty import Interval

Aggregation = Callable[[Sequence[Record]], float]


@never_raises
def answered(records: Sequence[Record]) -> float:
    """How many items were answered: the most that a score can rest on."""
    return float(len(answered_records(records)))


@never_raises
def failed(records: Sequence[Record]) -> float:
    """How many items were not answered: their media are missing or their request failed."""
    return float(len(records) - len(answered_records(records)))


def _choice(name: str, value: Callable[[ChoiceScores], float | None]) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        found = value(choice_summary(records)) if answered_records(records) else None
        return math.nan if found is None else found

    function.__name__ = name
    return function


accuracy = _choice("accuracy", lambda scores: scores.accuracy)
accuracy_low = _choice("accuracy_low", lambda scores: scores.low)
accuracy_high = _choice("accuracy_high", lambda scores: scores.high)
no_parse_rate = _choice("no_parse_rate", lambda scores: scores.parse_failure_rate)
random_chance = _choice("random_chance", lambda scores: scores.random_chance)
most_frequent_chance = _choice("most_frequent_chance", lambda scores: scores.most_frequent_chance)


def _judged(name: str, value: Callable[[Interval], float]) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        interval = open_scores.judge_interval(records)
        return math.nan if interval is None else value(interval)

    function.__name__ = name
    return function


judge = _judged("judge", lambda interval: interval.mean)
judge_low = _judged("judge_low", lambda interval: interval.low)
judge_high = _judged("judge_high", lambda interval: interval.high)


@never_raises
def judged(records: Sequence[Record]) -> float:
    """How many items have a verdict of every judge: the denominator of the judge's score."""
    return float(len(open_scores.judged_scores(records)))


def _grounded(name: str, value: Callable[[GroundingSummary], float]) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        summary = open_scores.grounding(records)
        return math.nan if summary is None else 100 * value(summary)

    function.__name__ = name
    return function


iou = _grounded("iou", lambda summary: summary.iou.mean)
iou_low = _grounded("iou_low", lambda summary: summary.iou.low)
iou_high = _grounded("iou_high", lambda summary: summary.iou.high)
iop = _grounded("iop", lambda summary: summary.iop.mean)
iog = _grounded("iog", lambda summary: summary.iog.mean)
no_span_rate = _grounded("no_span_rate", lambda summary: summary.without_span)


def _similarity(name: str) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        return mean_similarity(records).get(name, math.nan)

    function.__name__ = name
    return function


sentence_similarity = _similarity("sentence_similarity")
bertscore_f1 = _similarity("bertscore_f1")
