"""A local judge for tests: a real HTTP server with OpenAI's protocol that can misbehave.

It listens on 127.0.0.1 in a thread of its own, or as a program in a process of its own:
`python tests/judge_server.py --delay 0.2` prints its address and serves until its input ends.
Which verdict it gives is a function of the prompt, so that a test knows the right one; which
requests it spoils is drawn with a seed. It counts what it was asked and which verdicts left it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

FAULTS = ("429", "500", "hang", "broken", "empty", "cut")
_NUMBER = re.compile(r"\bprediction number (\d+)\b")


def item_number(prompt: object) -> int | None:
    """The number in `prediction number N`, by which a test tells its items apart."""
    found = _NUMBER.findall(str(prompt))
    return int(found[-1]) if found else None


def ternary_reply(messages: list[dict[str, str]]) -> str:
    """A verdict that follows from the item's number: N modulo 3."""
    number = item_number(messages[0]["content"])
    return f"[Rationale] 3 parts match.\n[Judge] {0 if number is None else number % 3}"


@dataclass
class JudgeServer:
    """The server's settings and counts; a context manager that starts and stops it.

    `faults` gives the share of requests that end in each kind of fault; a ping (a prompt without
    an item) is never spoiled. `retry_after` goes with a 429; with `key`, other keys are refused;
    with `models`, other models are unknown. `max_open` is the most requests it held at once.
    """

    delay: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after: str | Callable[[], str] | None = "0"
    key: str | None = None
    models: tuple[str, ...] | None = None
    reply: Callable[[list[dict[str, str]]], str] = ternary_reply

    asked: Counter[int | None] = field(default_factory=Counter)  # requests by item
    verdicts: Counter[int | None] = field(default_factory=Counter)  # sound replies sent by item
    spoiled: Counter[str] = field(default_factory=Counter)  # faults by kind
    bodies: list[dict[str, Any]] = field(default_factory=list)
    open_now: int = 0
    max_open: int = 0
    port: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        """What a client takes as base_url."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        """How many requests for an item came in; pings are not counted."""
        return sum(count for number, count in self.asked.items() if number is not None)

    def __enter__(self) -> JudgeServer:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the judge server did not start within 10 s")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def serve(self) -> None:
        """Listen until told to stop."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=256)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rows = head.split("\r\n")
        headers = {
            name.casefold(): value.strip()
            for name, _, value in (row.partition(":") for row in rows if row)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.open_now += 1
        self.max_open = max(self.max_open, self.open_now)
        try:
            status, text, more = await self._answer(line.split(" ")[1], headers, body)
        finally:
            self.open_now -= 1
        payload = text.encode()
        fields = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **more}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + payload)
        await writer.drain()
        return True

    async def _answer(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, str, dict[str, str]]:
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            given = headers.get("authorization", "").removeprefix("Bearer ")
            return _error(401, f"Incorrect API key provided: {given}")
        if path == "/v1/models":
            return 200, json.dumps({"data": [{"id": name} for name in self.models or ()]}), {}
        if path != "/v1/chat/completions":
            return _error(404, f"no such path {path}")
        request = json.loads(body)
        if self.models is not None and request["model"] not in self.models:
            return _error(404, f"The model {request['model']} does not exist")
        self.bodies.append(request)
        number = item_number(request["messages"][0]["content"])
        self.asked[number] += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        fault = self._fault() if number is not None else None
        if fault is not None:
            self.spoiled[fault] += 1
            return await self._spoiled(fault, request["messages"])
        self.verdicts[number] += 1
        return 200, _completion(self.reply(request["messages"])), {}

    def _fault(self) -> str | None:
        drawn = self._random.random()
        for kind, share in self.faults.items():
            drawn -= share
            if drawn < 0:
                return kind
        return None

    async def _spoiled(
        self, fault: str, messages: list[dict[str, str]]
    ) -> tuple[int, str, dict[str, str]]:
        whole = self.reply(messages)
        if fault == "429":
            wait = self.retry_after() if callable(self.retry_after) else self.retry_after
            return _error(429, "slow down", {} if wait is None else {"Retry-After": wait})
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "broken":
            return 200, _completion(whole)[:-20], {}
        if fault == "empty":
            return 200, _completion(""), {}
        if fault == "cut":  # in the middle of the rationale, or right after a digit of the grade
            end = self._random.choice([len(whole) // 2, len(whole)])
            return 200, _completion(whole[:end], "length"), {}
        return _error(500, "the server broke down")


def _error(
    status: int, message: str, headers: dict[str, str] | None = None
) -> tuple[int, str, dict[str, str]]:
    return status, json.dumps({"error": {"message": message}}), headers or {}


def _completion(text: str, finish_reason: str = "stop") -> str:
    return json.dumps(
        {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": finish_reason,
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }
    )


async def _serve_until_input_ends(server: JudgeServer) -> None:
    serving = asyncio.create_task(server.serve())
    while not server.port:
        await asyncio.sleep(0.01)
    print(server.base_url, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds before each answer")
    options = parser.parse_args()
    asyncio.run(_serve_until_input_ends(JudgeServer(delay=options.delay)))
