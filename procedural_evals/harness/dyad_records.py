"""Records of DYAD's items: what was said about a second, an intervention, a question.

A record has everything that its score needs, so that scores can be made from stored results alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from procedural_evals import choices, replies
from procedural_evals.dyad.mode_scores import ModePrediction
from procedural_evals.dyad.vocabulary import PHYSICAL
from procedural_evals.harness.protocols import LETTERS
from procedural_evals.harness.records import JUDGED_METRICS, Record

GRADES = ("correctness", "completeness", "relevance", "clarity", "brevity", "final")

STEP_METRICS = (
    "f1_10",
    "f1_10_low",
    "f1_10_high",
    "f1_25",
    "f1_50",
    "edit",
    "mof",
    "frame_map",
    "map_10",
    "map_25",
    "map_50",
    "no_parse_rate",
    "answered",
    "failed",
)
MODE_METRICS = (
    "macro_f1",
    "macro_f1_low",
    "macro_f1_high",
    "auprc",
    "auprc_low",
    "auprc_high",
    "balanced_accuracy",
    "f1_verbal",
    "f1_physical",
    "random_chance",
    "majority_chance",
    "no_parse_rate",
    "answered",
    "failed",
)
RESPONSE_METRICS = (
    *JUDGED_METRICS,
    *GRADES,
    "bertscore_precision",
    "bertscore_recall",
    "bertscore_f1",
)
# The first metric's copy is the whole record; the others' hold what their aggregation reads. There
# are many seconds, and as many copies of each as there are metrics.
_STEP_NEEDS = (
    "id", "failure", "cluster", "session", "time", "gold", "column", "log_likelihoods", "blank",
    "decoding",
)  # fmt: skip


def label_record(
    common: Record,
    row: Mapping[str, Any],
    *,
    kind: str,
    gold: str | None,
    labels: Sequence[str],
    options: Sequence[str],
) -> Record:
    """The record of an item that is answered by one of lettered options, one for each label.

    `column` is the number of the option that was named, None (with a reason) where none was.
    """
    record = common | {
        "kind": kind,
        "cluster": str(row["participant"]),
        "session": str(row["session"]),
        "gold": gold,
        "parser": choices.PARSER_VERSION,
    }
    if record["failure"] is None:
        letters = LETTERS[: len(options)]
        parsed = choices.parse_choice(record["reply"], letters, options)
        column = None if parsed.letter is None else letters.index(parsed.letter)
        record |= {
            "column": column,
            "prediction": None if column is None else labels[column],
            "reason": parsed.reason,
        }
    return record


def likelihood_record(
    common: Record, row: Mapping[str, Any], *, gold: str | None, count: int
) -> Record:
    """The record of a second for which a model gave the likelihoods of `count` captions."""
    record = common | {
        "kind": "steps",
        "cluster": str(row["participant"]),
        "session": str(row["session"]),
        "gold": gold,
    }
    if record["failure"] is None:
        found = _likelihoods(record["reply"], count)
        reason = None if found else f"no log-likelihoods of {count} captions in the reply"
        record |= {"log_likelihoods": None, "blank": None, "reason": reason} | (found or {})
    return record


def _likelihoods(reply: str, count: int) -> dict[str, list[float]] | None:
    """The last JSON object with both lists of finite numbers."""
    names = ("log_likelihoods", "blank")
    for value in reversed(replies.json_values(reply)):
        if isinstance(value, dict) and all(_numbers(value.get(name), count) for name in names):
            return {name: [float(number) for number in value[name]] for name in names}
    return None


def _numbers(value: Any, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(type(x) in (int, float) and math.isfinite(x) for x in value)
    )


def is_parsed(record: Record) -> bool:
    """Whether something was answered that can be scored."""
    return record.get("column") is not None or record.get("log_likelihoods") is not None


def under_step_metrics(record: Record, metrics: Sequence[str]) -> dict[str, Record]:
    """The record under every metric's name: whole under the first, only the needs elsewhere."""
    brief = {key: record[key] for key in _STEP_NEEDS if key in record}
    return {name: (brief if number else record) for number, name in enumerate(metrics)}


def mode_predictions(records: Sequence[Record]) -> list[ModePrediction]:
    """The answers as out-of-fold predictions, for `python -m procedural_evals.dyad score`.

    An answer has no score of its own: 1 for physical, 0 for verbal and for no answer.
    """
    return [
        ModePrediction(
            event_id=record["id"],
            fold=int(record["fold"]),
            seed=0,
            label=record["gold"],
            prediction=record["prediction"],
            score=float(record["prediction"] == PHYSICAL),
        )
        for record in records
    ]
