"""What every judge is, and what it says about one item."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.client import Usage
from procedural_evals.judge.rubric import JudgeItem, Rubric, Verdict
from procedural_evals.replies import failed_request, visible_text


@dataclass(frozen=True)
class Judgement:
    """One judge's verdict on one item, or the reason why the item is unjudged.

    `grades` are by marker or dimension, `grade` is the one that counts, `score` is in [0, 100];
    both are None when unjudged. `replies` are the judge's raw words in order; `cached` says that
    nothing was asked for this item.
    """

    item: str
    judge: str
    grades: Mapping[str, float]
    grade: float | None
    score: float | None
    reason: str | None = None
    replies: tuple[str, ...] = ()
    cached: bool = False

    @property
    def judged(self) -> bool:
        """Whether there is a score."""
        return self.score is not None


@dataclass(frozen=True)
class JudgeOptions:
    """How a run uses its judges.

    `ping` asks a judge for a word before its first item; `retry_unjudged` asks again where the
    replies in the cache hold no verdict.
    """

    cache: ReplyCache | None = None
    ping: bool = True
    retry_unjudged: bool = False


class OpenJudge(Protocol):
    """A judge at work in one event loop."""

    @property
    def usage(self) -> Usage:
        """What it has asked for so far."""

    async def judge(self, item: JudgeItem) -> Judgement:
        """The verdict on one item; raises JudgeUnreachable when the judge cannot be used."""

    async def ping(self) -> None:
        """Raises JudgeUnreachable when the judge cannot be used."""


class Judge(Protocol):
    """A judge with its rubric."""

    rubric: Rubric
    comparable: bool  # whether its scores may stand beside those of other papers

    @property
    def id(self) -> str:
        """Stable name of everything that makes its verdicts; goes into results."""

    def describe(self) -> dict[str, Any]:
        """The settings behind the id, for a result's record."""

    def check(self, item: JudgeItem) -> None:
        """ValueError when the item lacks what this judge has to see."""

    def open(self, options: JudgeOptions) -> AbstractAsyncContextManager[OpenJudge]:
        """The judge at work in the running event loop."""


def settled(item: JudgeItem, rubric: Rubric) -> Verdict | None:
    """The verdict on a prediction that no judge need see, None when one must.

    A failed request is no prediction, so it is unjudged. A prediction without visible words
    answers nothing, which is the lowest grade.
    """
    failure = failed_request(item.prediction)
    if failure is not None:
        return Verdict({}, None, None, f"there is no prediction: its request failed: {failure}")
    if not visible_text(item.prediction):
        return rubric.uniform(min(rubric.grades))
    return None


def judgement(item: JudgeItem, judge: str, verdict: Verdict, **more: Any) -> Judgement:
    """A verdict with its item and judge."""
    return Judgement(
        item.id, judge, verdict.grades, verdict.grade, verdict.score, verdict.reason, **more
    )
