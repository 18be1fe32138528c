"""The record of one scored item, and what aggregating many of them needs.

lmms-eval hands every item's record to one aggregation function a metric, once, on the first rank,
in an order that depends on the number of processes. A record therefore carries its own id. An
aggregation that raises would lose the whole run, so none does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from procedural_evals import choices
from procedural_evals.scores import choice_accuracy

Record = dict[str, Any]

CHOICE_METRICS = (
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "no_parse_rate",
    "random_chance",
    "most_frequent_chance",
    "answered",
    "failed",
)
JUDGED_METRICS = ("judge", "judge_low", "judge_high", "judged", "answered", "failed")
GROUNDED_METRICS = (
    "iou",
    "iou_low",
    "iou_high",
    "iop",
    "iog",
    "no_span_rate",
    "sentence_similarity",
    "bertscore_f1",
    *JUDGED_METRICS,
)


def choice_record(
    common: Record,
    *,
    cluster: str,
    category: str,
    gold: str,
    options: Sequence[str],
    explicit: bool = False,
) -> Record:
    """The record of one multiple-choice item; a failed one has no letter and no score.

    `explicit` is for replies that reason at length (`choices.parse_choice`).
    """
    record = common | {
        "kind": "choice",
        "cluster": cluster,
        "category": category,
        "gold": gold,
        "num_options": len(options),
        "parser": choices.PARSER_VERSION + (" explicit" if explicit else ""),
    }
    if record["failure"] is None:
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]
        parsed = choices.parse_choice(record["reply"], letters, options, explicit=explicit)
        record |= {
            "letter": parsed.letter,
            "reason": parsed.reason,
            "score": 100.0 * (parsed.letter == gold),
        }
    return record


# Left out of the copies that only serve further metrics: long, or (the score) a sign to lmms-eval
# to compute standard errors of its own once more.
_WHOLE_ONLY = ("reply", "reason", "frame_times", "samples", "option_order")


def under_metrics(record: Record, metrics: Sequence[str]) -> dict[str, Record]:
    """The record under every metric's name: whole under the first, brief under the others."""
    brief = {key: value for key, value in record.items() if key not in _WHOLE_ONLY}
    if "score" in brief:
        brief["scored"] = brief.pop("score")
    return {name: (brief if number else record) for number, name in enumerate(metrics)}


def score_of(record: Record) -> float:
    """The item's score in [0, 100], from a whole record or a brief one."""
    return float(record["score"] if "score" in record else record["scored"])


def answered_records(records: Sequence[Record]) -> list[Record]:
    """The records that hold an answer, in the order of their ids: failed items left out."""
    return sorted((r for r in records if r["failure"] is None), key=lambda r: str(r["id"]))


def open_answers(records: Sequence[Record]) -> list[Record]:
    """The records whose answers a judge grades."""
    return [record for record in records if "rubric" in record]


def never_raises(function: Callable[[Sequence[Record]], float]) -> Callable[..., float]:
    """NaN and an error in the log, where the function would end the run and lose its results."""

    @functools.wraps(function)
    def guarded(records: Sequence[Record]) -> float:
        try:
            return function(records)
        except Exception as error:
            from loguru import logger

            logger.error(f"{function.__name__}: {type(error).__name__}: {error}")
            return math.nan

    return guarded


def choice_summary(records: Sequence[Record]) -> choice_accuracy.ChoiceScores:
    """Scores of the answered items by task, clustered by video; ValueError when there is none."""
    scored = answered_records(records)
    return choice_accuracy.summarise(
        correct=[score_of(r) == 100 for r in scored],
        parsed=[r["letter"] is not None for r in scored],
        tasks=[r["category"] for r in scored],
        num_options=[r["num_options"] for r in scored],
        gold=[r["gold"] for r in scored],
        clusters=[r["cluster"] for r in scored],
    )
