"""Models and requests as lmms-eval would make them, for tests of what is kept of a run."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts

from procedural_evals.harness.kept_replies import KeptReplies
from procedural_evals.harness.protocols import Doc, MultipleChoice
from procedural_evals.harness.shown import Shown, note

GREEDY = {"temperature": 0, "max_new_tokens": 8, "until": []}


class Watched(MultipleChoice):
    """A protocol that shows frames without having any: their times are a function of the row."""

    def messages(self, doc: Doc) -> list[dict[str, Any]]:
        note(self.key(doc), Shown((float(doc["number"]), 0.5)))
        return [{"role": "user", "content": [{"type": "text", "text": self.text(doc)}]}]


class Task:
    """A task of ours with so many rows, as far as a model sees it."""

    def __init__(self, output: Path | None, count: int = 12, **changes: Any) -> None:
        self.name = str(changes.pop("name", "flatpack_bench_blind_sample"))
        self.settings = dict(changes.pop("settings", GREEDY))
        self.repeats = int(changes.pop("repeats", 1))
        protocol = Watched("flatpack_bench", "blind", categories=("track",))
        self.args = Namespace(
            output_path=None if output is None else str(output),
            **{"seed": [0, 1, 2, 3], "limit": None, "offset": 0, "repeats": 1, **changes},
        )
        self.config = SimpleNamespace(doc_to_text=protocol.text)
        self.protocol = protocol
        self.rows = [row(number) for number in range(count)]

    def doc_to_messages(self, doc: Doc) -> list[dict[str, Any]]:
        return self.protocol.messages(doc)

    def requests(self, numbers: Sequence[int] | None = None) -> list[Instance]:
        """The requests of these rows, each as often as the task repeats it."""
        chosen = range(len(self.rows)) if numbers is None else numbers
        made = [self._request(number) for number in chosen]
        return [request for request in made for _ in range(self.repeats)]

    def _request(self, number: int) -> Instance:
        text = self.protocol.text(self.rows[number])
        arguments = (text, self.doc_to_messages, dict(self.settings), number, self.name, "test")
        metadata = {"task": self.name, "doc_id": number, "repeats": self.repeats}
        return Instance("generate_until", arguments, 0, metadata)


def row(number: int) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "number": number,
        "question": f"Which part comes after part {number}?",
        "options": ["one", "two", "three", "four"],
        "frame_indices": [0],
        "revision": "sample",
        "problems": [],
    }


class Model:
    """Answers one request after the other, counts what it was asked, and can be interrupted."""

    def __init__(self, task: Task, stop_after: int | None = None, **arguments: Any) -> None:
        self.task_dict = {task.name: {"test": task.rows}}
        self.asked: list[tuple[int, int]] = []
        self.stop_after = stop_after
        self.failing: set[int] = set()
        self.kept = KeptReplies(self, arguments)

    def reply(self, request: Instance) -> GenerationResult:
        """The reply to one request; KeyboardInterrupt once enough were given."""
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        number, task = request.args[3], request.args[4]
        request.args[1](self.task_dict[task]["test"][number])
        repeat = request.metadata.get("procedural_evals_repeat", 0)
        self.asked.append((number, repeat))
        if number in self.failing:
            return GenerationResult("[LMMS_EVAL_REQUEST_FAILED after 5 retries] no route")
        return GenerationResult(f"{number}\u2028é\udc80 {repeat}", TokenCounts(number, repeat))

    def generate_until(self, requests: Sequence[Instance]) -> list[GenerationResult]:
        return [self.reply(request) for request in requests]

    def run(self, requests: Sequence[Instance]) -> list[GenerationResult]:
        """As lmms-eval asks it: with replies kept."""
        return self.kept.generate_until(requests)


class Reporting(Model):
    """Reports each pair of replies, as procedural_hf does each batch."""

    on_replies: Any = None

    def generate_until(self, requests: Sequence[Instance]) -> list[GenerationResult]:
        replies = []
        for first in range(0, len(requests), 2):
            batch = requests[first : first + 2]
            replies += [self.reply(request) for request in batch]
            if self.on_replies is not None:
                self.on_replies(batch, replies[first:])
        return replies


class Asynchronous(Model):
    """Like lmms-eval's async_openai: some at once, every error a failed request, tried again."""

    async def maybe_forward_with_tool(
        self, request: Instance, number: int
    ) -> tuple[str, int, TokenCounts | None]:
        await asyncio.sleep(0)
        result = self.reply(request)
        return result.text, number, result.token_counts

    def generate_until(self, requests: Sequence[Instance]) -> list[GenerationResult]:
        async def one(request: Instance, number: int) -> GenerationResult:
            for _ in range(3):
                try:
                    text, _, tokens = await self.maybe_forward_with_tool(request, number)
                    return GenerationResult(text, tokens)
                except Exception as error:
                    text = f"[LMMS_EVAL_REQUEST_FAILED after 3 retries] {error}"
            return GenerationResult(text)

        async def every() -> list[GenerationResult]:
            results = []
            for first in range(0, len(requests), 3):
                chunk = enumerate(requests[first : first + 3], first)
                results += await asyncio.gather(*(one(r, n) for n, r in chunk))
            return results

        return asyncio.run(every())
