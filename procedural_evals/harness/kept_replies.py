"""Every model's replies to our tasks are kept as they come, and looked up before it is asked again.

`keep_replies` wraps the model that lmms-eval has made for a run, whichever it is. Its replies to
requests of our tasks go into `<output_path>/.responses/<task>/`; the same command, after a kill or
a full disk, asks only for what is not there. Requests of other tasks go through untouched.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import (
    GenerationResult,
    Instance,
    TokenCounts,
    unwrap_generation_output,
)
from loguru import logger
from tqdm import tqdm

from procedural_evals.harness import reply_keys, response_log
from procedural_evals.harness.items import REPEAT, Place, failed_reply, place_of
from procedural_evals.harness.protocols import Protocol
from procedural_evals.harness.response_log import FOLDER, FRESH_VARIABLE, LogWriteError
from procedural_evals.harness.run_lock import hold
from procedural_evals.harness.shown import Shown, note, recall

_SHARDED = ("FSDP", "DEEPSPEED", "MEGATRON_LM")
# A model that answers many requests at once gets a few times as many, so that few wait for the
# slowest; after each such chunk the replies are written down.
_CHUNK_FACTOR = 4

Report = Callable[[Sequence[Instance], Sequence[Any]], None]


@dataclass(frozen=True)
class _Asked:
    """A request of ours, with what its reply is kept under."""

    request: Instance
    protocol: Protocol
    row: Mapping[str, Any]
    task: str
    repeat: int
    parts: Mapping[str, str]

    @property
    def key(self) -> str:
        return reply_keys.short_hash([self.task, self.item, self.repeat, self.parts])

    @property
    def item(self) -> str:
        return str(self.row["id"])

    def entry(self, output: Any) -> response_log.Entry | None:
        """The reply as it is kept; None for what is no answer, which will be asked for again."""
        reply, tokens = unwrap_generation_output(output)
        if not isinstance(reply, str) or self.protocol.failure(self.row, reply) is not None:
            return None
        times = recall(self.protocol.key(self.row)).frame_times
        counts = None if tokens is None else tokens.to_dict()
        return response_log.Entry(
            self.key, self.task, self.item, self.repeat, reply, counts, times, self.parts
        )

    def restored(self, entry: response_log.Entry) -> GenerationResult:
        """The reply as the model gave it, and what was shown noted as if it were shown now."""
        note(self.protocol.key(self.row), Shown(entry.frame_times))
        tokens = None if entry.tokens is None else TokenCounts(**entry.tokens)
        return GenerationResult(entry.reply, tokens)


def keep_replies(lm: Any, arguments: Mapping[str, Any]) -> None:
    """Make a model look its replies up, and keep them; `arguments` are those it was made with."""
    lm.generate_until = KeptReplies(lm, arguments).generate_until


class KeptReplies:
    """Stands between lmms-eval and a model's `generate_until`."""

    def __init__(self, lm: Any, arguments: Mapping[str, Any]) -> None:
        self._lm = lm
        self._arguments = dict(arguments)
        self._generate: Callable[[list[Instance]], Sequence[Any]] = lm.generate_until
        self._splits: dict[tuple[str, str], Any] = {}
        self._split_parts: dict[tuple[str, str], str] = {}
        self._said: set[str] = set()

    def generate_until(self, requests: Sequence[Instance]) -> list[Any]:
        """A reply for each request, in their order."""
        ours = [number for number, request in enumerate(requests) if _protocol(request) is not None]
        others = sorted(set(range(len(requests))) - set(ours))
        replies: dict[int, Any] = {}
        if others:
            replies |= zip(
                others, self._generate([requests[number] for number in others]), strict=True
            )
        if ours:
            with _ends_all_processes():
                replies |= zip(ours, self._ours([requests[number] for number in ours]), strict=True)
        return [replies[number] for number in range(len(requests))]

    def _ours(self, requests: list[Instance]) -> list[Any]:
        folder = self._folder(requests[0])
        if folder is None:
            return list(self._generate(requests))
        asked = self._asked(requests)
        replies: dict[int, Any] = {
            # Only there to make the processes' counts equal: nobody reads its reply.
            number: GenerationResult("")
            for number, request in enumerate(requests)
            if (request.metadata or {}).get("__padding_only__")
        }
        with contextlib.ExitStack() as stack:
            logs: dict[str, response_log.ResponseLog] = {}
            for task in dict.fromkeys(one.task for one in asked):
                if _rank() == 0:
                    stack.enter_context(hold(folder / task, self._settings(requests, task)))
                log = response_log.ResponseLog(folder / task, self._about())
                logs[task] = stack.enter_context(log)
                numbers = [
                    number
                    for number, one in enumerate(asked)
                    if one.task == task and number not in replies
                ]
                replies |= self._kept(log, {number: asked[number] for number in numbers})
            missing = [number for number in range(len(asked)) if number not in replies]
            if missing:
                replies |= zip(
                    missing, self._made([asked[number] for number in missing], logs), strict=True
                )
        return [replies[number] for number in range(len(requests))]

    def _kept(
        self, log: response_log.ResponseLog, asked: Mapping[int, _Asked]
    ) -> dict[int, GenerationResult]:
        """The replies that a log holds, by number."""
        if os.environ.get(FRESH_VARIABLE):
            log.ask_anew([one.key for one in asked.values()])
            return {}
        wanted = {one.key: (one.item, one.repeat) for one in asked.values()}
        found = response_log.read(log.folder, wanted)
        replies = {
            number: one.restored(found.replies[one.key])
            for number, one in asked.items()
            if one.key in found.replies
        }
        if replies:
            logger.info(
                f"{len(replies)} of {len(asked)} replies are there already, in {log.folder}; "
                f"procedural-evals run --fresh, or removing that folder, asks for them anew"
            )
        changed = Counter(
            part
            for one in asked.values()
            if one.key not in found.replies
            for part in _changed(one, found.others.get((one.item, one.repeat), []))
        )
        if changed:
            counts = ", ".join(f"{part} ({count})" for part, count in sorted(changed.items()))
            logger.info(
                f"{log.folder} has replies of this model that no longer hold, since these have "
                f"changed: {counts}; those requests are made anew"
            )
        return replies

    def _made(
        self, asked: Sequence[_Asked], logs: Mapping[str, response_log.ResponseLog]
    ) -> list[Any]:
        """The model's replies to these requests, each written down as soon as it is there."""
        for task in dict.fromkeys(one.task for one in asked):
            logs[task].open()  # what cannot be kept is not asked for
        requests = [_numbered(one) for one in asked]
        places = {id(request): one for request, one in zip(requests, asked, strict=True)}

        def report(answered: Sequence[Instance], outputs: Sequence[Any]) -> None:
            entries: dict[str, list[response_log.Entry]] = {}
            for request, output in zip(answered, outputs, strict=True):
                entry = places[id(request)].entry(output)
                if entry is not None:
                    entries.setdefault(entry.task, []).append(entry)
            for task, lines in entries.items():
                logs[task].append(lines)

        def check() -> None:
            for log in logs.values():
                log.check()

        try:
            return self._generated(requests, report, check)
        finally:
            check()

    def _generated(
        self, requests: list[Instance], report: Report, check: Callable[[], None]
    ) -> list[Any]:
        lm = self._lm
        if hasattr(lm, "on_replies"):
            lm.on_replies = report
            try:
                return list(self._generate(requests))
            finally:
                lm.on_replies = None
        if hasattr(lm, "maybe_forward_with_tool"):
            with _forward_reports(lm, report, check):
                return list(self._generate(requests))
        replies: list[Any] = []
        size = chunk_size(lm)
        name = type(lm).__name__
        with _without_bar(lm), tqdm(total=len(requests), disable=_rank() != 0, desc=name) as bar:
            for first in range(0, len(requests), size):
                chunk = requests[first : first + size]
                outputs = list(self._generate(chunk))
                report(chunk, outputs)
                replies += outputs
                bar.update(len(chunk))
        return replies

    # ---- what a reply is kept under ------------------------------------------------------------

    def _folder(self, request: Instance) -> Path | None:
        """Where this run's replies are kept; None, with the reason said once, when nowhere."""
        command = getattr(_task(request), "args", None)
        output = getattr(command, "output_path", None)
        kind = getattr(getattr(self._lm, "accelerator", None), "distributed_type", None)
        if _world() > 1 and getattr(kind, "name", "") in _SHARDED:
            self._say(
                f"{getattr(kind, 'name', '')}: all processes have to take each step together, so "
                "replies are not kept; an interrupted run begins anew"
            )
            return None
        if not output:
            self._say("Without --output_path no replies are kept; an interrupted run begins anew")
            return None
        return Path(output) / FOLDER

    def _say(self, message: str) -> None:
        if message not in self._said and _rank() == 0:
            self._said.add(message)
            logger.warning(message)

    def _about(self) -> dict[str, Any]:
        return {
            "model": reply_keys.model_parts(self._lm, self._arguments),
            "code": reply_keys.code_parts(self._lm),
        }

    def _asked(self, requests: Sequence[Instance]) -> list[_Asked]:
        about = {name: reply_keys.short_hash(part) for name, part in self._about().items()}
        counts: Counter[tuple[str, int]] = Counter()
        return [self._one(request, about, counts) for request in requests]

    def _one(
        self, request: Instance, about: Mapping[str, str], counts: Counter[tuple[str, int]]
    ) -> _Asked:
        place = place_of(request.args)
        row = reply_keys.row_of(self._rows(place), place.doc_id)
        protocol = _protocol(request)
        assert protocol is not None, "only requests of ours come here"
        settings = next(each for each in request.args if isinstance(each, dict))
        repeat = counts[place.task, place.doc_id]
        counts[place.task, place.doc_id] += 1
        seed = getattr(getattr(_task(request), "args", None), "seed", None)
        parts = {
            **about,
            "item": reply_keys.row_part(row) + self._split_part(place),
            "prompt": reply_keys.prompt_part(protocol, row, str(request.args[0])),
            "generation": reply_keys.generation_part(settings, repeat, seed),
        }
        return _Asked(request, protocol, row, place.task, repeat, parts)

    def _rows(self, place: Place) -> Any:
        split = place.task, place.split
        if split not in self._splits:
            rows = self._lm.task_dict[place.task][place.split]
            self._splits[split] = reply_keys.undecoded(rows)
        return self._splits[split]

    def _split_part(self, place: Place) -> str:
        """For a model that looks at all rows to answer one, the hash of the whole split."""
        if not getattr(self._lm, "sees_whole_split", False):
            return ""
        split = place.task, place.split
        if split not in self._split_parts:
            rows = self._rows(place)
            every = [reply_keys.row_of(rows, number) for number in range(len(rows))]
            self._split_parts[split] = reply_keys.short_hash(list(map(reply_keys.row_part, every)))
        return self._split_parts[split]

    def _settings(self, requests: Sequence[Instance], task: str) -> str:
        """What two runs have in common that would ask for the same replies of a task."""
        request = next(each for each in requests if place_of(each.args).task == task)
        command = getattr(_task(request), "args", None)
        chosen = [getattr(command, name, None) for name in ("limit", "offset", "repeats")]
        generation = next(each for each in request.args if isinstance(each, dict))
        return reply_keys.short_hash([self._about(), chosen, generation])


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


def _rank() -> int:
    return int(os.environ.get("RANK", 0))


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", 1))


def _task(request: Instance) -> Any:
    """The task that a request belongs to: its functions are the task's methods."""
    return next((each.__self__ for each in request.args if inspect.ismethod(each)), None)


def _protocol(request: Instance) -> Protocol | None:
    """The protocol of one of our tasks; None for a request of another."""
    text = getattr(getattr(_task(request), "config", None), "doc_to_text", None)
    protocol = getattr(text, "__self__", None)
    return protocol if isinstance(protocol, Protocol) else None


def _numbered(one: _Asked) -> Instance:
    """The request as the model gets it: an object of its own that says which repeat it is."""
    request = copy.copy(one.request)
    request.metadata = {**(one.request.metadata or {}), REPEAT: one.repeat}
    return request


def _changed(one: _Asked, others: Sequence[Mapping[str, str]]) -> list[str]:
    """Which parts differ from the nearest kept reply of the same model to the same item."""
    differences = [
        [name for name, part in one.parts.items() if other.get(name) != part]
        for other in others
        if other.get("model") == one.parts["model"]
    ]
    return min(differences, key=len, default=[])


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


@contextlib.contextmanager
def _ends_all_processes() -> Iterator[None]:
    """With several processes, end this one with an error status, so that the launcher ends all.

    lmms-eval catches the error of one process; the others would wait for it until the launcher's
    time is up, which is hours.
    """
    try:
        yield
    except Exception as error:
        if _world() == 1:
            raise
        logger.opt(exception=error).error(f"process {_rank()} ends the run")
        raise SystemExit(1) from error
