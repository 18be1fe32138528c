"""Aggregation functions that multiple-choice studies name; see `aggregate`, whose rules hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from procedural_evals.harness import choice_scores
from procedural_evals.harness.aggregate import Aggregation
from procedural_evals.harness.records import Record, answered_records, never_raises


def _score(name: str, value: Callable[[Sequence[Record]], float]) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        return value(records) if answered_records(records) else math.nan

    function.__name__ = name
    return function


def _by_rule(rule: str) -> Aggregation:
    return _score(rule, lambda records: choice_scores.scores_by_rule(records)[rule].interval.mean)


single_sample_accuracy = _score(
    "single_sample_accuracy", lambda records: choice_scores.single_sample_accuracy(records).mean
)
vote_agreement = _score("vote_agreement", choice_scores.vote_agreement)
strict = _by_rule("strict")
majority = _by_rule("majority")
any_order = _by_rule("any")
