"""Every model's replies to our tasks are kept as they come, and looked up before it is asked again.

`keep_replies` wraps the model that lmms-eval has made for a run, whichever it is. Its replies to
requests of our tasks go into `<output_path>/.responses/<task>/`; the same command, after a kill or
a full disk, asks only for what is not there. Requests of other tasks go through untouched.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from lmms_eval.api.instance import GenerationResult, Instance
from loguru import logger

from procedural_evals.harness import response_log
from procedural_evals.harness.asking import ask
from procedural_evals.harness.our_requests import Asked, Keys, apart, task_of
from procedural_evals.harness.response_log import FOLDER, FRESH_VARIABLE, ResponseLog
from procedural_evals.harness.run_lock import hold

# Where one model lies on several processes, none of them may answer more or less than the others.
_SHARDED = ("FSDP", "DEEPSPEED", "MEGATRON_LM")


def keep_replies(lm: Any, arguments: Mapping[str, Any]) -> None:
    """Make a model look its replies up, and keep them; `arguments` are those it was made with."""
    lm.generate_until = KeptReplies(lm, arguments).generate_until


def past_cache(execute: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """lmms-eval's --use_cache for all requests but ours, which go to the model, and so in here.

    Its keys know nothing of the frames, pictures and settings behind a request, and it keeps no
    token counts and no frame times: what it gives back would not be what was asked for.
    """

    @wraps(execute)
    def chosen(cache: Any, lm: Any, kind: str, requests: list[Instance]) -> list[Any]:
        def ours(requests: list[Instance]) -> list[Any]:
            if _rank() == 0:
                logger.warning(
                    f"--use_cache does not concern these tasks: replies are kept below "
                    f"--output_path, in {FOLDER}"
                )
            return list(getattr(lm, kind)(requests))

        return apart(requests, ours, lambda others: execute(cache, lm, kind, others))

    return chosen


class KeptReplies:
    """Stands between lmms-eval and a model's `generate_until`."""

    def __init__(self, lm: Any, arguments: Mapping[str, Any]) -> None:
        self._lm = lm
        self._keys = Keys(lm, arguments)
        self._generate: Callable[[list[Instance]], Sequence[Any]] = lm.generate_until
        self._said: set[str] = set()

    def generate_until(self, requests: Sequence[Instance]) -> list[Any]:
        """A reply for each request, in their order."""
        return apart(requests, self._ours, self._generate)

    def _ours(self, requests: list[Instance]) -> list[Any]:
        with _ends_all_processes():
            return self._looked_up(requests)

    def _looked_up(self, requests: list[Instance]) -> list[Any]:
        folder = self._folder(requests[0])
        if folder is None:
            return list(self._generate(requests))
        asked = self._keys.asked(requests)
        replies: dict[int, Any] = {
            # Only there to make the processes' counts equal: nobody reads its reply.
            number: GenerationResult("")
            for number, request in enumerate(requests)
            if (request.metadata or {}).get("__padding_only__")
        }
        with contextlib.ExitStack() as stack:
            logs: dict[str, ResponseLog] = {}
            for task in dict.fromkeys(one.task for one in asked):
                if _rank() == 0:
                    stack.enter_context(hold(folder / task, self._keys.settings(requests, task)))
                log = ResponseLog(folder / task, self._keys.about)
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

    def _kept(self, log: ResponseLog, asked: Mapping[int, Asked]) -> dict[int, GenerationResult]:
        """The replies that a log holds, by number."""
        if os.environ.get(FRESH_VARIABLE) and asked:
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
            for part in one.changed(found.others.get((one.item, one.repeat), []))
        )
        if changed:
            counts = ", ".join(f"{part} ({count})" for part, count in sorted(changed.items()))
            logger.info(
                f"{log.folder} has replies of this model that no longer hold, since these have "
                f"changed: {counts}; those requests are made anew"
            )
        return replies

    def _made(self, asked: Sequence[Asked], logs: Mapping[str, ResponseLog]) -> list[Any]:
        """The model's replies to these requests, each written down as soon as it is there."""
        for task in dict.fromkeys(one.task for one in asked):
            logs[task].open()  # what cannot be kept is not asked for
        requests = [one.numbered() for one in asked]
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
            return ask(self._lm, self._generate, requests, report, check)
        finally:
            check()

    def _folder(self, request: Instance) -> Path | None:
        """Where this run's replies are kept; None, with the reason said once, when nowhere."""
        command = getattr(task_of(request), "args", None)
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


def _rank() -> int:
    return int(os.environ.get("RANK", 0))


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", 1))


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
