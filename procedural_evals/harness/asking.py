"""A model is asked for many replies, and each is reported as soon as it is there."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from tqdm import tqdm

from procedural_evals.harness.items import failed_reply
from procedural_evals.harness.response_log import LogWriteError

# A model that answers many requests at once gets a few times as many, so that few wait for the
# slowest; after each such chunk the replies are written down.
_CHUNK_FACTOR = 4

Generate = Callable[[list[Instance]], Sequence[Any]]
Report = Callable[[Sequence[Instance], Sequence[Any]], None]
Check = Callable[[], None]


def ask(
    lm: Any, generate: Generate, requests: list[Instance], report: Report, check: Check
) -> list[Any]:
    """The replies to these requests, in their order, reported on the way.

    A model with an attribute `on_replies` reports each batch itself, lmms-eval's asynchronous API
    model each reply; every other one gets the requests in chunks.

    Args:
        lm: the model.
        generate: its own `generate_until`.
        requests: what is asked.
        report: takes some of the requests and their replies; may raise LogWriteError.
        check: raises LogWriteError when nothing more can be kept.
    """
    if hasattr(lm, "on_replies"):
        lm.on_replies = report
        try:
            return list(generate(requests))
        finally:
            lm.on_replies = None
    if hasattr(lm, "maybe_forward_with_tool"):
        with _forward_reports(lm, report, check):
            return list(generate(requests))
    replies: list[Any] = []
    size = chunk_size(lm)
    hidden = int(os.environ.get("RANK", 0)) != 0
    with _without_bar(lm), tqdm(total=len(requests), disable=hidden, desc=type(lm).__name__) as bar:
        for first in range(0, len(requests), size):
            chunk = requests[first : first + size]
            outputs = list(generate(chunk))
            report(chunk, outputs)
            replies += outputs
            bar.update(len(chunk))
    return replies


def chunk_size(lm: Any) -> int:
    """How many requests a model gets at once: a batch, or a few times what it does at a time."""
    batch, at_once = 1, 1
    with contextlib.suppress(Exception):  # some models know no batch and raise
        batch = int(lm.batch_size)
    for name in ("num_concurrent", "num_cpus", "max_concurrency"):
        value = getattr(lm, name, None)
        if isinstance(value, int):
            at_once = max(at_once, value)
    return max(1, batch, _CHUNK_FACTOR * at_once if at_once > 1 else 1)


@contextlib.contextmanager
def _forward_reports(lm: Any, report: Report, check: Callable[[], None]) -> Iterator[None]:
    """Let lmms-eval's asynchronous API model report each reply when it comes in.

    An error is not raised there, where it would count as a failed request and be tried again: the
    requests that are still to come get no answer and cost nothing, and `check` raises after all.
    """
    forward = lm.maybe_forward_with_tool

    async def reported(request: Instance, number: int) -> tuple[str, int, TokenCounts]:
        try:
            check()
        except LogWriteError as error:
            return failed_reply(error), number, TokenCounts()
        reply, number, tokens = await forward(request, number)
        with contextlib.suppress(LogWriteError):
            report([request], [GenerationResult(reply, tokens)])
        return reply, number, tokens

    lm.maybe_forward_with_tool = reported
    try:
        yield
    finally:
        lm.maybe_forward_with_tool = forward


@contextlib.contextmanager
def _without_bar(lm: Any) -> Iterator[None]:
    """Silence a model's own progress bar, of which there would be one a chunk."""
    module = sys.modules[type(lm).__module__]
    own = getattr(module, "tqdm", None)
    if not callable(own):
        yield
        return
    module.tqdm = lambda *given, **named: own(*given, **{**named, "disable": True})  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.tqdm = own  # type: ignore[attr-defined]
