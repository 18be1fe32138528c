"""Which judge a run uses, whether it can be reached, and its verdicts on the run's records.

The judge is chosen by `$PROCEDURAL_EVALS_JUDGE` (or `procedural-evals run --judge`):

    lexical                  offline word overlap; not comparable with published scores
    none                     keep the answers, judge later
    MODEL                    a model at OpenAI's address, key in $OPENAI_API_KEY
    MODEL@http://HOST/v1     a model on any server that speaks OpenAI's protocol
    MODEL@URL,MODEL@URL      several judges, averaged; each one's verdicts are kept

`$PROCEDURAL_EVALS_JUDGE_CONCURRENCY` says how many requests run at once (16), and
`$PROCEDURAL_EVALS_JUDGE_MAX_TOKENS` how long a reply may be (1024 tokens).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from procedural_evals.harness.records import Record, answered_records
from procedural_evals.judge.base import Judge, Judgement
from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.client import DEFAULT_CONCURRENCY
from procedural_evals.judge.judging import judge_items, make_judge, ping_judges
from procedural_evals.judge.rubric import JudgeItem

JUDGE_VARIABLE = "PROCEDURAL_EVALS_JUDGE"
CONCURRENCY_VARIABLE = "PROCEDURAL_EVALS_JUDGE_CONCURRENCY"
MAX_TOKENS_VARIABLE = "PROCEDURAL_EVALS_JUDGE_MAX_TOKENS"
NO_JUDGE = "none"


class JudgeNotChosenError(ValueError):
    """A task needs a judge and none was chosen."""


def chosen_judges(rubric: str) -> tuple[Judge, ...]:
    """The judges of this run with that rubric; empty for `none`.

    Raises JudgeNotChosenError when the variable is unset: a score must not depend on a default.
    """
    setting = os.environ.get(JUDGE_VARIABLE, "").strip()
    if not setting:
        raise JudgeNotChosenError(
            "this task's answers are open and need a judge. Choose one with --judge or "
            f"${JUDGE_VARIABLE}: MODEL, MODEL@http://HOST/v1, lexical (offline, for trying things "
            f"out), or {NO_JUDGE} (keep the answers)"
        )
    return () if setting == NO_JUDGE else judges_named(setting.split(","), rubric)


def judges_named(names: Sequence[str], rubric: str) -> tuple[Judge, ...]:
    """Judges from their short names, MODEL or MODEL@http://HOST/v1."""
    served: dict[str, Any] = {"concurrency": _number(CONCURRENCY_VARIABLE) or DEFAULT_CONCURRENCY}
    if max_tokens := _number(MAX_TOKENS_VARIABLE):
        served["arguments"] = {"max_tokens": max_tokens}
    judges = []
    for name in names:
        model, _, address = name.strip().partition("@")
        options: dict[str, Any] = {} if model == "lexical" else dict(served)
        if address:
            options["base_url"] = address
        judges.append(make_judge(model, rubric, **options))
    ids = [judge.id for judge in judges]
    if len(set(ids)) < len(ids):
        raise ValueError(
            f"judges {', '.join(names)}: two of them have one name, {ids[0].split('|')[0]}; serve "
            "them under different names"
        )
    return tuple(judges)


def _number(variable: str) -> int | None:
    setting = os.environ.get(variable)
    if not setting:
        return None
    if not setting.isdecimal() or int(setting) < 1:
        raise ValueError(f"${variable}={setting}: a whole number from 1 is needed")
    return int(setting)


def require_judge(rubric: str) -> None:
    """Stop before the first model request when the judge is not chosen or cannot be reached.

    Only the first of several processes asks. Raises JudgeNotChosenError or JudgeUnreachable.
    """
    judges = chosen_judges(rubric)
    if int(os.environ.get("RANK", "0")) == 0:
        ping_judges(judges)


@dataclass(frozen=True)
class Verdicts:
    """The judgements of a run's answered items, by item id and in the order of the judges."""

    judges: tuple[dict[str, Any], ...]
    rows: Mapping[str, tuple[Judgement, ...]]

    def score(self, item: str) -> float | None:
        """Mean score of the judges in [0, 100]; None when any of them gave no verdict."""
        scores = [judgement.score for judgement in self.rows.get(item, ())]
        if not scores or any(score is None for score in scores):
            return None
        return sum(score for score in scores if score is not None) / len(scores)

    def reason(self, item: str) -> str:
        """Why the item has no score."""
        if item not in self.rows:
            return "no judge was asked"
        lacking = [j for j in self.rows[item] if not j.judged]
        return "; ".join(f"{j.judge}: {j.reason}" for j in lacking)


_KEPT: ContextVar[Verdicts | None] = ContextVar("kept verdicts", default=None)


@contextmanager
def kept_verdicts(verdicts: Verdicts) -> Iterator[None]:
    """Scores within are made from these verdicts: no judge is chosen, and none is asked."""
    before = _KEPT.set(verdicts)
    try:
        yield
    finally:
        _KEPT.reset(before)


def judge_records(records: Sequence[Record]) -> Verdicts:
    """The chosen judges' verdicts on the answered records, all of one rubric.

    Replies are kept on disk, so asking again for the same records costs nothing.
    """
    kept = _KEPT.get()
    if kept is not None:
        return kept
    answered = answered_records(records)
    if not answered:
        return Verdicts((), {})
    rubrics = {record["rubric"] for record in answered}
    if len(rubrics) > 1:
        raise ValueError(f"records of several rubrics: {', '.join(sorted(rubrics))}")
    items = tuple(judge_item(record) for record in answered)
    variables = (JUDGE_VARIABLE, CONCURRENCY_VARIABLE, MAX_TOKENS_VARIABLE)
    return _judged(items, rubrics.pop(), tuple(map(os.environ.get, variables)))


def judge_item(record: Record) -> JudgeItem:
    """What a judge is shown of a record of an open answer."""
    steps = record.get("steps")
    return JudgeItem(
        record["id"],
        record["prediction"],
        tuple(record["answers"]),
        record["question"],
        None if steps is None else tuple(steps),
        record.get("context") or "",
    )


@lru_cache(maxsize=8)  # several metrics of one task ask for the same verdicts
def _judged(items: tuple[JudgeItem, ...], rubric: str, setting: tuple[str | None, ...]) -> Verdicts:
    judges = chosen_judges(rubric)
    if not judges:
        return Verdicts((), {})
    with ReplyCache() as cache:
        judging = judge_items(items, judges, cache)
    return Verdicts(
        judging.judges, {item.id: row for item, row in zip(items, judging.rows, strict=True)}
    )
