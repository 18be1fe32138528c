"""An asynchronous client for chat completions, for any server that speaks OpenAI's protocol.

`Endpoint` is the settings; `Endpoint.connect()` opens a `Connection` for one event loop. A request
that fails for a passing reason is sent again after a growing, jittered wait, or after what the
server's Retry-After says. What fails for good raises `RequestError`; `Connection.ping` raises
`JudgeUnreachable` with the way out. The key is read from the environment and never shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

Message = dict[str, str]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_CONCURRENCY = 16
PING_RETRIES = 2  # a server that is not there is reported within seconds
# Enough for a reason and a grade; a reply that is cut off is no verdict.
DEFAULT_ARGUMENTS: Mapping[str, Any] = {"temperature": 0.0, "max_tokens": 1024}

# 408 request time-out, 409 conflict, 425 too early, 429 too many requests; and all of 5xx.
_PASSING = frozenset({408, 409, 425, 429})
# An account without money answers 429 too, but waiting does not fill it.
_EXHAUSTED = "insufficient_quota"


class RequestError(RuntimeError):
    """A request got no usable answer, for the reason in the message."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class JudgeUnreachable(RuntimeError):  # noqa: N818  (a state of affairs, not a slip)
    """The judge cannot be used at all: the message says why and what to do."""


@dataclass(frozen=True)
class Reply:
    """What the server answered: the text, and whether the length limit cut it off."""

    text: str
    cut_off: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Usage:
    """What a connection asked for: requests sent, replies got, tokens, and their cost."""

    requests: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None  # in the currency of the prices; None without prices


@dataclass(frozen=True)
class Endpoint:
    """Where a model is served and how it is asked.

    `arguments` go into every request (a value of None leaves a default out). `concurrency` is the
    most requests at once, `timeout` seconds for one of them, `retries` how often one is sent again
    after a passing failure, `longest_wait` seconds the most that Retry-After is obeyed. `prices`
    are for a million prompt tokens and a million completion tokens.
    """

    model: str
    base_url: str = DEFAULT_BASE_URL
    key_variable: str = DEFAULT_KEY_VARIABLE
    arguments: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = 120.0
    retries: int = 6
    first_wait: float = 0.5
    longest_wait: float = 120.0
    prices: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("model: empty; give the name that the server knows the model by")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url: {self.base_url!r}; it starts with http:// or https://")
        if "@" in urlsplit(self.base_url).netloc:
            raise ValueError(
                f"base_url: a name or password stands in it, which would be shown; put a key into "
                f"the environment variable {self.key_variable}"
            )
        if self.concurrency < 1 or self.retries < 0 or self.timeout <= 0:
            raise ValueError(
                f"concurrency {self.concurrency}, retries {self.retries}, timeout {self.timeout}: "
                "at least one request at once, no fewer than 0 retries, and a time to wait"
            )

    @property
    def request_arguments(self) -> dict[str, Any]:
        """The arguments as they are sent: the defaults, changed by `arguments`."""
        merged = {**DEFAULT_ARGUMENTS, **self.arguments}
        return {name: value for name, value in merged.items() if value is not None}

    @property
    def url(self) -> str:
        """Address of the chat completions."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """An open connection, for one event loop."""
        http = _httpx()
        key = os.environ.get(self.key_variable, "").strip()
        if not key.isascii():
            raise JudgeUnreachable(
                f"judge {self.model}: the environment variable {self.key_variable} holds "
                "characters that no key has. What to do: set it anew."
            )
        secure = self.base_url.startswith("https://")
        # Certificates take a tenth of a second to load: once for all, and not for plain http.
        trust = http.create_ssl_context() if secure else False
        async with AsyncExitStack() as stack:

            async def open_client() -> httpx.AsyncClient:
                return await stack.enter_async_context(
                    http.AsyncClient(
                        headers={"Authorization": f"Bearer {key}"} if key else {},
                        timeout=self.timeout,
                        limits=http.Limits(max_connections=1, max_keepalive_connections=1),
                        verify=trust,
                    )
                )

            yield Connection(self, open_client, key)


def _httpx() -> ModuleType:
    try:
        import httpx
    except ImportError:
        raise ImportError("a judge needs httpx: pip install 'procedural-evals[judge]'") from None
    return httpx


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait by a Retry-After header: a number of seconds, or an HTTP date.

    `now` is in seconds since 1970. None for a header that is absent or not readable.

    >>> retry_after("2.5", now=0)
    2.5
    >>> retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now=50)
    10.0
    """
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (TypeError, ValueError):
        return None


class _PassingError(Exception):
    """A failure after which the same request may be sent again."""

    def __init__(self, reason: str, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.wait = status, wait


class Connection:
    """An open connection to an endpoint; counts what it uses."""

    def __init__(
        self, endpoint: Endpoint, open_client: Callable[[], Awaitable[httpx.AsyncClient]], key: str
    ) -> None:
        self.endpoint = endpoint
        self.usage = Usage(cost=0.0 if endpoint.prices else None)
        # One client with one connection for each slot: a shared pool searches all its connections
        # several times a request, which at 32 of them costs more than all the rest.
        self._open_client = open_client
        self._idle: list[httpx.AsyncClient] = []
        self._key = key
        self._slots = asyncio.Semaphore(endpoint.concurrency)
        self._random = random.Random()

    async def complete(self, messages: Sequence[Message], retries: int | None = None) -> Reply:
        """The model's reply; raises RequestError when there is none after all retries."""
        retries = self.endpoint.retries if retries is None else retries
        # A waiting request keeps its slot: a server that is short of breath gets fewer requests.
        async with self._slot() as client:
            for attempt in range(retries + 1):
                try:
                    return await self._once(client, messages)
                except _PassingError as failure:
                    wait = failure.wait
                    if attempt == retries:
                        tries = f"{attempt + 1} tries" if attempt else "one try"
                        raise RequestError(f"{failure} (after {tries})", failure.status) from None
                    if wait is not None and wait > self.endpoint.longest_wait:
                        raise RequestError(
                            f"{failure}; the server asks to wait {wait:.0f} s, more than the "
                            f"{self.endpoint.longest_wait:.0f} s allowed",
                            failure.status,
                        ) from None
                await asyncio.sleep(self._wait(attempt, wait))
        raise AssertionError("unreachable: the last attempt returns or raises")

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[httpx.AsyncClient]:
        async with self._slots:
            client = self._idle.pop() if self._idle else await self._open_client()
            try:
                yield client
            finally:
                self._idle.append(client)

    def _wait(self, attempt: int, asked: float | None) -> float:
        """What the server asks for and a little more, or a jittered, doubling wait."""
        if asked is not None:
            return asked + self._random.uniform(0, min(1.0, self.endpoint.first_wait))
        doubled = self.endpoint.first_wait * float(2**attempt)
        return min(doubled, self.endpoint.longest_wait) * self._random.uniform(0.5, 1.0)

    async def _once(self, client: httpx.AsyncClient, messages: Sequence[Message]) -> Reply:
        httpx = _httpx()
        body = {
            "model": self.endpoint.model,
            "messages": list(messages),
            **self.endpoint.request_arguments,
        }
        self.usage.requests += 1
        try:
            # httpx limits each wait for data; this limits a server that drips its answer, too.
            response = await asyncio.wait_for(
                client.post(self.endpoint.url, json=body), self.endpoint.timeout
            )
        except (httpx.TimeoutException, asyncio.TimeoutError):
            raise _PassingError(f"no answer within {self.endpoint.timeout:g} s") from None
        except httpx.HTTPError as error:
            raise _PassingError(self._safe(f"{type(error).__name__}: {error}")) from None
        except httpx.InvalidURL as error:
            raise RequestError(self._safe(f"InvalidURL: {error}")) from None
        status = response.status_code
        if status != 200:
            reason = f"HTTP {status}: {_error_text(self._safe(response.text))}"
            passing = status in _PASSING or status >= 500
            if passing and _EXHAUSTED not in response.text:
                wait = retry_after(response.headers.get("Retry-After"), time.time())
                raise _PassingError(reason, status, wait)
            raise RequestError(reason, status)
        reply = read_completion(response.text)
        if reply is None:
            shown = " ".join(self._safe(response.text).split())[:80]
            raise _PassingError(f"the answer is no chat completion: {shown!r}")
        self._count(reply)
        return reply

    def _count(self, reply: Reply) -> None:
        usage, prices = self.usage, self.endpoint.prices
        usage.replies += 1
        usage.prompt_tokens += reply.prompt_tokens
        usage.completion_tokens += reply.completion_tokens
        if prices is not None:
            spent = reply.prompt_tokens * prices[0] + reply.completion_tokens * prices[1]
            usage.cost = (usage.cost or 0.0) + spent / 1e6

    def _safe(self, text: str) -> str:
        """Text for a message: servers quote the key that they refuse."""
        return text.replace(self._key, "***") if self._key else text

    async def ping(self) -> None:
        """Ask for one short reply; JudgeUnreachable says what is wrong and what to do."""
        endpoint = self.endpoint
        messages = [{"role": "user", "content": "Reply with the word: ready"}]
        try:
            await self.complete(messages, min(endpoint.retries, PING_RETRIES))
        except RequestError as failure:
            advice = f"start the server, or give its address (base_url, now {endpoint.base_url})"
            if failure.status in {401, 403}:
                state = "holds a key that it refuses" if self._key else "is not set"
                advice = f"the environment variable {endpoint.key_variable} {state}: set it"
            elif failure.status in {400, 404, 422}:
                offered = await self._offered_models()
                advice = f"check the model's name ({offered}), base_url and the arguments"
            elif failure.status == 429:
                advice = "wait, or raise the account's limits"
            raise JudgeUnreachable(
                f"judge {endpoint.model} at {endpoint.base_url}: {failure}. What to do: {advice}."
            ) from None

    async def _offered_models(self) -> str:
        try:
            async with self._slot() as client:
                response = await client.get(f"{self.endpoint.base_url.rstrip('/')}/models")
            names = [str(model["id"]) for model in response.json()["data"]]
        except (_httpx().HTTPError, ValueError, LookupError, TypeError):
            return "the server does not list its models"
        shown = ", ".join(names[:10]) or "none"
        return f"the server offers {shown}{' and more' if len(names) > 10 else ''}"


def _error_text(body: str) -> str:
    """What an error's body says, on one line of at most 300 characters."""
    text = body
    try:
        error = json.loads(body)
        error = error.get("error", error) if isinstance(error, dict) else error
        text = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    except ValueError:
        pass
    return " ".join(text.split())[:300] or "(no text)"


def _content(content: Any) -> str:
    """The text of a message: a text, None, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    if content is None or isinstance(content, str):
        return content or ""
    raise TypeError(f"content is {type(content).__name__}")


def read_completion(body: str) -> Reply | None:
    """The reply in a response's body; None for a body that is no chat completion.

    >>> read_completion('{"choices": [{"message": {"content": "[Judge] 2"}}]}')
    Reply(text='[Judge] 2', cut_off=False, prompt_tokens=0, completion_tokens=0)
    >>> read_completion('{"choices": [') is None
    True
    """
    try:
        values = json.loads(body)
        choice = values["choices"][0]
        text = _content(choice["message"].get("content"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    usage = values.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    tokens = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if isinstance(count, int) else 0 for count in tokens)
    return Reply(text, choice.get("finish_reason") == "length", prompt, completion)
