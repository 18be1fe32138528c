"""Judging many items by one or several judges at once.

`judge_items` is for ordinary code, inside a running event loop (a notebook) or not;
`judge_items_async` is for asynchronous code. Every reply is kept as soon as it is there, so a run
that is interrupted or killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from tqdm import tqdm

from procedural_evals.judge.base import Judge, Judgement, JudgeOptions, OpenJudge
from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.client import Endpoint, Usage
from procedural_evals.judge.lexical import NAME as LEXICAL
from procedural_evals.judge.lexical import LexicalJudge
from procedural_evals.judge.model import ModelJudge
from procedural_evals.judge.rubric import JudgeItem, load_rubric

T = TypeVar("T")


@dataclass(frozen=True)
class Judging:
    """What the judges said: `rows[item][judge]`, in the order of the items and the judges given."""

    rows: tuple[tuple[Judgement, ...], ...]
    judges: tuple[dict[str, Any], ...]  # each judge's description, with its id
    usage: Mapping[str, Usage]  # by judge id; what this run asked for

    @property
    def comparable(self) -> bool:
        """Whether every judge's scores may stand beside other results."""
        return all(bool(judge["comparable"]) for judge in self.judges)

    @property
    def unjudged(self) -> tuple[Judgement, ...]:
        """The judgements without a verdict."""
        return tuple(j for row in self.rows for j in row if not j.judged)


def make_judge(name: str, rubric: str = "promqa_ternary", **endpoint: Any) -> Judge:
    """The judge of that name: `lexical`, or a model's name on a server.

    `rubric` is a rubric's name or the path of its file; the other options are `Endpoint`'s:
    base_url, key_variable, arguments, concurrency, timeout, retries, prices.

    >>> make_judge("lexical").comparable
    False
    """
    if name == LEXICAL:
        return LexicalJudge(load_rubric(rubric))
    return ModelJudge(Endpoint(name, **endpoint), load_rubric(rubric))


def make_judges(
    chosen: Sequence[str | Mapping[str, Any]], rubric: str = "promqa_ternary", **endpoint: Any
) -> list[Judge]:
    """A judge for each name, or for each mapping of `model` and options of its own.

    Raises ValueError when options say where a model is served and no model is among the judges: a
    judge that somebody set up is never left out without a word.

    >>> [judge.comparable for judge in make_judges(["lexical", {"model": "m", "timeout": 9}])]
    [False, True]
    """
    judges = []
    for choice in chosen:
        own = {"model": choice} if isinstance(choice, str) else dict(choice)
        if "model" not in own:
            raise ValueError(f"judges: {own} has no 'model'")
        judges.append(make_judge(own.pop("model"), rubric, **{**endpoint, **own}))
    if endpoint and not any(judge.comparable for judge in judges):
        raise ValueError(f"{', '.join(sorted(endpoint))}: no model is among the judges; name one")
    return judges


def _check(items: Sequence[JudgeItem], judges: Sequence[Judge]) -> None:
    if not judges:
        raise ValueError("judges: none are given; give at least one")
    for what, ids in (("items", (i.id for i in items)), ("judges", (j.id for j in judges))):
        twice = [name for name, count in Counter(ids).items() if count > 1]
        if twice:
            raise ValueError(f"{what}: the id {twice[0]!r} occurs twice; ids tell them apart")
    for judge in judges:
        for item in items:
            judge.check(item)


class _Progress:
    """A bar over all judgements, with how many are unjudged and what was spent."""

    def __init__(self, total: int, opened: Sequence[OpenJudge], shown: bool | None) -> None:
        # None shows the bar where somebody is looking, as tqdm understands it.
        hidden = None if shown is None else not shown
        self._bar = tqdm(total=total, desc="judging", unit="item", disable=hidden)
        self._opened = opened
        self._unjudged = 0

    def add(self, judgement: Judgement) -> None:
        self._unjudged += not judgement.judged
        if not self._bar.disable:
            costs = [o.usage.cost for o in self._opened if o.usage.cost is not None]
            shown: dict[str, object] = {"unjudged": self._unjudged}
            if costs:
                shown["cost"] = f"{sum(costs):.2f}"
            self._bar.set_postfix(shown, refresh=False)
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


async def judge_items_async(
    items: Iterable[JudgeItem],
    judges: Sequence[Judge],
    cache: ReplyCache | None = None,
    progress: bool | None = None,
    ping: bool = True,
    retry_unjudged: bool = False,
) -> Judging:
    """Every judge's verdict on every item.

    Without a cache nothing is kept. `progress` shows a bar (None: where there is a terminal).
    A judge is pinged before its first request, if there is one. An item without a verdict is
    unjudged, with the reason; it never stops the others. Raises ValueError for ids that occur
    twice or an item that a rubric can't use, JudgeUnreachable when a judge can't be used at all.
    """
    items = tuple(items)
    _check(items, judges)
    options = JudgeOptions(cache, ping, retry_unjudged)
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(judge.open(options)) for judge in judges]
        progress_bar = _Progress(len(items) * len(judges), opened, progress)
        stack.callback(progress_bar.close)

        async def one(item: JudgeItem, judge: OpenJudge) -> Judgement:
            judgement = await judge.judge(item)
            progress_bar.add(judgement)
            return judgement

        flat = await _all(one(item, judge) for item in items for judge in opened)
        width = len(judges)
        return Judging(
            tuple(tuple(flat[n : n + width]) for n in range(0, len(flat), width)),
            tuple(judge.describe() for judge in judges),
            {judge.id: at_work.usage for judge, at_work in zip(judges, opened, strict=True)},
        )


async def _all(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results; when one fails or the run is interrupted, the rest is stopped first."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def judge_items(
    items: Iterable[JudgeItem],
    judges: Sequence[Judge],
    cache: ReplyCache | None = None,
    progress: bool | None = None,
    ping: bool = True,
    retry_unjudged: bool = False,
) -> Judging:
    """`judge_items_async` for ordinary code; works inside a running event loop, too.

    >>> from procedural_evals.judge.rubric import JudgeItem
    >>> item = JudgeItem("q1", "Attach the roof.", ("attach roof",), question="What is next?")
    >>> judge_items([item], [make_judge("lexical")]).rows[0][0].score
    100.0
    """
    return run_sync(lambda: judge_items_async(items, judges, cache, progress, ping, retry_unjudged))


def ping_judges(judges: Sequence[Judge]) -> None:
    """Ask each judge for a word; JudgeUnreachable says which one can't be used, and why."""

    async def ping_all() -> None:
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(j.open(JudgeOptions())) for j in judges]
            await _all(judge.ping() for judge in opened)

    run_sync(ping_all)


def run_sync(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end; in a thread of its own where a loop is already running.

    Ctrl-C stops the coroutine in both cases before KeyboardInterrupt goes on.
    """
    try:
        outer = asyncio.current_task()
    except RuntimeError:
        return asyncio.run(make())
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()
    result: Future[T] = Future()

    async def main() -> T:
        task = asyncio.current_task()
        assert task is not None, "asyncio.run runs a task"
        started.set_result((asyncio.get_running_loop(), task))
        return await make()

    def work() -> None:
        try:
            result.set_result(asyncio.run(main()))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=work, name="judging", daemon=True)
    thread.start()
    try:
        # From Python 3.11 on, Ctrl-C under asyncio.run only cancels the outer task.
        while not wait([result], timeout=0.1).done:
            if getattr(outer, "cancelling", int)():
                raise asyncio.CancelledError
        return result.result()
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not result.done():
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
        raise
