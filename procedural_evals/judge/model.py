"""A language model as a judge: asks under a rubric, reminds once, keeps every reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from procedural_evals.judge.base import Judgement, JudgeOptions, judgement, settled
from procedural_evals.judge.cache import reply_key
from procedural_evals.judge.client import Connection, Endpoint, Message, Reply, RequestError, Usage
from procedural_evals.judge.rubric import JudgeItem, Rubric, Verdict
from procedural_evals.verdicts import PARSER_VERSION, without_unfinished_number


class _Decision(NamedTuple):
    verdict: Verdict
    replies: tuple[str, ...]
    cached: bool


class ModelJudge:
    """A model behind an endpoint, with the rubric that it grades by."""

    comparable = True

    def __init__(self, endpoint: Endpoint, rubric: Rubric) -> None:
        self.endpoint = endpoint
        self.rubric = rubric

    @property
    def id(self) -> str:
        """Model, rubric (name, version, hash) and parser: `gpt-4o|promqa_ternary@1:...|...`."""
        return f"{self.endpoint.model}|{self.rubric.id}|{PARSER_VERSION}"

    def describe(self) -> dict[str, Any]:
        """The settings behind the id, the server's address and the arguments."""
        return {
            "id": self.id,
            "model": self.endpoint.model,
            "comparable": True,
            "base_url": self.endpoint.base_url,
            "arguments": self.endpoint.request_arguments,
            "rubric": self.rubric.id,
            "rubric_hash": self.rubric.hash,
            "parser": PARSER_VERSION,
        }

    def check(self, item: JudgeItem) -> None:
        """ValueError when the rubric's template needs more than the item has."""
        self.rubric.check(item)

    @asynccontextmanager
    async def open(self, options: JudgeOptions) -> AsyncIterator[_AtWork]:
        """The judge with an open connection."""
        async with self.endpoint.connect() as connection:
            yield _AtWork(self, connection, options)


class _AtWork:
    def __init__(self, judge: ModelJudge, connection: Connection, options: JudgeOptions) -> None:
        self._judge = judge
        self._connection = connection
        self._options = options
        self._answered: asyncio.Task[None] | None = None
        self._decisions: dict[str, asyncio.Task[_Decision]] = {}

    @property
    def usage(self) -> Usage:
        """What the connection has used so far."""
        return self._connection.usage

    async def ping(self) -> None:
        """One short request, however often it is called."""
        if self._answered is None:
            self._answered = asyncio.create_task(self._connection.ping())
        await self._answered

    async def judge(self, item: JudgeItem) -> Judgement:
        """The verdict on one item; two items that read the same are asked about once."""
        verdict = settled(item, self._judge.rubric)
        if verdict is not None:
            return judgement(item, self._judge.id, verdict)
        prompt = self._judge.rubric.prompt(item)
        shared = prompt in self._decisions
        if not shared:
            self._decisions[prompt] = asyncio.create_task(self._decide_anew(prompt))
        decision = await self._decisions[prompt]
        return judgement(
            item,
            self._judge.id,
            decision.verdict,
            replies=decision.replies,
            cached=shared or decision.cached,
        )

    async def _decide_anew(self, prompt: str) -> _Decision:
        decision = await self._decide(prompt, again=False)
        if decision.verdict.score is None and decision.cached and self._options.retry_unjudged:
            return await self._decide(prompt, again=True)
        return decision

    async def _decide(self, prompt: str, again: bool) -> _Decision:
        """Ask, and ask once more with the reminder when there is no verdict."""
        messages: list[Message] = [{"role": "user", "content": prompt}]
        texts: list[str] = []
        reasons: list[str] = []
        all_cached = True
        for _ in range(2):
            try:
                reply, cached = await self._reply(messages, again)
            except RequestError as failure:
                reason = "; then ".join([*reasons, f"request failed: {failure}"])
                return _Decision(Verdict({}, None, None, reason), tuple(texts), False)
            all_cached = all_cached and cached
            texts.append(reply.text)
            verdict = self._read(reply)
            if verdict.score is not None:
                break
            reasons.append(verdict.reason or "no verdict")
            messages = self._reminded(messages, reply.text)
        else:
            verdict = replace(verdict, reason="; then ".join(reasons))
        return _Decision(verdict, tuple(texts), all_cached)

    def _read(self, reply: Reply) -> Verdict:
        if not reply.cut_off:
            return self._judge.rubric.verdict(reply.text)
        verdict = self._judge.rubric.verdict(without_unfinished_number(reply.text))
        if verdict.score is None:
            return replace(verdict, reason=f"{verdict.reason} (cut off at the length limit)")
        return verdict

    def _reminded(self, messages: list[Message], reply: str) -> list[Message]:
        reminder = self._judge.rubric.reminder
        if reply.strip():
            said: Message = {"role": "assistant", "content": reply}
            return [*messages, said, {"role": "user", "content": reminder}]
        # Many servers refuse an empty turn, and some two turns of one role.
        last = messages[-1]
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{reminder}"}]

    async def _reply(self, messages: list[Message], again: bool) -> tuple[Reply, bool]:
        """The reply to these messages and whether it was kept from before."""
        endpoint, cache = self._judge.endpoint, self._options.cache
        key = reply_key(
            endpoint.base_url,
            endpoint.model,
            self._judge.rubric.id,
            messages,
            endpoint.request_arguments,
        )
        kept = cache.get(key) if cache is not None and not again else None
        if kept is not None:
            return kept, True
        if self._options.ping:
            await self.ping()
        reply = await self._connection.complete(messages)
        if cache is not None:
            reply = cache.add(key, endpoint.model, reply, again)
        return reply, False
