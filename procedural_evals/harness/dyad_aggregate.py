"""Aggregation functions that DYAD's task files name; see `aggregate`, whose rules hold here too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from procedural_evals.harness.aggregate import Aggregation
from procedural_evals.harness.dyad_scores import (
    ModeScores,
    StepScores,
    mode_summary,
    step_summary,
)
from procedural_evals.harness.open_scores import judges_mean_grades
from procedural_evals.harness.records import Record, answered_records, never_raises
from procedural_evals.harness.similarity import mean_similarity

S = TypeVar("S")


def _score(
    name: str, summary: Callable[[Sequence[Record]], S], value: Callable[[S], float]
) -> Aggregation:
    @never_raises
    def function(records: Sequence[Record]) -> float:
        return value(summary(records)) if answered_records(records) else math.nan

    function.__name__ = name
    return function


def _step(name: str, value: Callable[[StepScores], float]) -> Aggregation:
    return _score(name, step_summary, value)


def _mode(name: str, value: Callable[[ModeScores], float]) -> Aggregation:
    return _score(name, mode_summary, value)


def _mean(name: str, means: Callable[[Sequence[Record]], Mapping[str, float]]) -> Aggregation:
    return _score(name, means, lambda found: found.get(name, math.nan))


f1_10 = _step("f1_10", lambda found: found.scores["f1@0.1"])
f1_10_low = _step("f1_10_low", lambda found: found.intervals["f1@0.1"].low)
f1_10_high = _step("f1_10_high", lambda found: found.intervals["f1@0.1"].high)
f1_25 = _step("f1_25", lambda found: found.scores["f1@0.25"])
f1_50 = _step("f1_50", lambda found: found.scores["f1@0.5"])
edit = _step("edit", lambda found: found.scores["edit"])
mof = _step("mof", lambda found: found.scores["mof"])
frame_map = _step("frame_map", lambda found: found.scores["frame_map"])
map_10 = _step("map_10", lambda found: found.scores["map@0.1"])
map_25 = _step("map_25", lambda found: found.scores["map@0.25"])
map_50 = _step("map_50", lambda found: found.scores["map@0.5"])
step_no_parse_rate = _step("step_no_parse_rate", lambda found: found.no_parse_rate)


def _auprc(end: str) -> Callable[[ModeScores], float]:
    # Without physical help among the events there is nothing to rank.
    return lambda found: (
        getattr(found.intervals["auprc"], end) if "auprc" in found.intervals else math.nan
    )


macro_f1 = _mode("macro_f1", lambda found: found.intervals["macro_f1"].mean)
macro_f1_low = _mode("macro_f1_low", lambda found: found.intervals["macro_f1"].low)
macro_f1_high = _mode("macro_f1_high", lambda found: found.intervals["macro_f1"].high)
auprc = _mode("auprc", _auprc("mean"))
auprc_low = _mode("auprc_low", _auprc("low"))
auprc_high = _mode("auprc_high", _auprc("high"))
balanced_accuracy = _mode(
    "balanced_accuracy", lambda found: found.intervals["balanced_accuracy"].mean
)
f1_verbal = _mode("f1_verbal", lambda found: found.intervals["f1_verbal"].mean)
f1_physical = _mode("f1_physical", lambda found: found.intervals["f1_physical"].mean)
random_chance = _mode("random_chance", lambda found: found.random)
majority_chance = _mode("majority_chance", lambda found: found.majority)
mode_no_parse_rate = _mode("mode_no_parse_rate", lambda found: found.no_parse_rate)


correctness = _mean("correctness", judges_mean_grades)
completeness = _mean("completeness", judges_mean_grades)
relevance = _mean("relevance", judges_mean_grades)
clarity = _mean("clarity", judges_mean_grades)
brevity = _mean("brevity", judges_mean_grades)
final = _mean("final", judges_mean_grades)
bertscore_precision = _mean("bertscore_precision", mean_similarity)
bertscore_recall = _mean("bertscore_recall", mean_similarity)
bertscore_f1 = _mean("bertscore_f1", mean_similarity)
