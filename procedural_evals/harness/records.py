"""The record of one scored item, and what aggregating many of them needs.

lmms-eval hands every item's record to one aggregation function a metric, once, on the first rank,
in an order that depends on the number of processes. A record therefore carries its own id. An
aggregation that raises would lose the whole run, so none does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from procedural_evals import choices, replies
from procedural_evals.scores import choice_accuracy

Record = dict[str, Any]


def failure_of(doc: Mapping[str, Any], reply: str, needs: Sequence[str]) -> str | None:
    """Why this item is not an answer: its media are missing, or its request failed.

    `needs` names the media columns that the protocol shows; `problems` are those found on load.
    """
    words = {"video": "video", "visual_prompts": "visual prompt"}
    kinds = tuple(words[column] for column in needs)
    missing = [problem for problem in doc["problems"] if problem.startswith(kinds)]
    if missing:
        return "; ".join(missing)
    return replies.failed_request(reply)


def choice_record(
    doc: Mapping[str, Any], reply: str, *, needs: Sequence[str], category: str, template: str
) -> Record:
    """The record of one multiple-choice item; never raises for a reply of any form."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(doc["options"])]
    record: Record = {
        "kind": "choice",
        "id": doc["id"],
        "cluster": doc["video_id"],
        "category": category,
        "gold": doc["answer_letter"],
        "num_options": len(doc["options"]),
        "reply": reply,
        "template": template,
        "parser": choices.PARSER_VERSION,
        "revision": doc["revision"],
        "failure": failure_of(doc, reply, needs),
    }
    if record["failure"] is None:
        parsed = choices.parse_choice(reply, letters, doc["options"])
        record |= {
            "letter": parsed.letter,
            "reason": parsed.reason,
            "score": float(parsed.letter == doc["answer_letter"]),
        }
    return record


def choice_metrics(record: Record, names: Sequence[str]) -> dict[str, Record]:
    """The record under every metric's name: whole under the first, without the reply elsewhere."""
    brief = {key: record[key] for key in record if key not in ("reply", "score", "reason")}
    brief["correct"] = record.get("score")
    return {name: (brief if number else record) for number, name in enumerate(names)}


def answered_records(records: Sequence[Record]) -> list[Record]:
    """The records that hold an answer, in the order of their ids: failed items left out."""
    return sorted((r for r in records if r["failure"] is None), key=lambda r: str(r["id"]))


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
        correct=[r["score"] if "score" in r else r["correct"] for r in scored],
        parsed=[r["letter"] is not None for r in scored],
        tasks=[r["category"] for r in scored],
        num_options=[r["num_options"] for r in scored],
        gold=[r["gold"] for r in scored],
        clusters=[r["cluster"] for r in scored],
    )
