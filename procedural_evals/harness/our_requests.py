"""Requests of our tasks, and what their replies are kept under."""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lmms_eval.api.instance import (
    GenerationResult,
    Instance,
    TokenCounts,
    unwrap_generation_output,
)

from procedural_evals.harness import reply_keys
from procedural_evals.harness.items import REPEAT, Place, place_of
from procedural_evals.harness.protocols import Protocol
from procedural_evals.harness.response_log import Entry
from procedural_evals.harness.shown import Shown, note, recall


@dataclass(frozen=True)
class Asked:
    """A request of ours, with what its reply is kept under.

    Attributes:
        request: as lmms-eval made it.
        protocol: of its task.
        row: without pictures.
        task: name of the task.
        repeat: which of several replies to the same request, from 0.
        parts: a short hash of each thing that the reply depends on.
    """

    request: Instance
    protocol: Protocol
    row: Mapping[str, Any]
    task: str
    repeat: int
    parts: Mapping[str, str]

    @property
    def key(self) -> str:
        """Under which the reply is kept."""
        return reply_keys.short_hash([self.task, self.item, self.repeat, self.parts])

    @property
    def item(self) -> str:
        """The row's own id."""
        return str(self.row["id"])

    def entry(self, output: Any) -> Entry | None:
        """The reply as it is kept; None for what is no answer, which will be asked for again."""
        reply, tokens = unwrap_generation_output(output)
        if not isinstance(reply, str) or self.protocol.failure(self.row, reply) is not None:
            return None
        times = recall(self.protocol.key(self.row)).frame_times
        counts = None if tokens is None else tokens.to_dict()
        return Entry(self.key, self.task, self.item, self.repeat, reply, counts, times, self.parts)

    def restored(self, entry: Entry) -> GenerationResult:
        """The reply as the model gave it, and what was shown noted as if it were shown now."""
        note(self.protocol.key(self.row), Shown(entry.frame_times))
        tokens = None if entry.tokens is None else TokenCounts(**entry.tokens)
        return GenerationResult(entry.reply, tokens)

    def numbered(self) -> Instance:
        """The request as the model gets it: an object of its own that says which repeat it is."""
        request = copy.copy(self.request)
        request.metadata = {**(self.request.metadata or {}), REPEAT: self.repeat}
        return request

    def changed(self, others: Sequence[Mapping[str, str]]) -> list[str]:
        """Which parts differ from the nearest kept reply of the same model to the same item."""
        differences = [
            [name for name, part in self.parts.items() if other.get(name) != part]
            for other in others
            if other.get("model") == self.parts["model"]
        ]
        return min(differences, key=len, default=[])


class Keys:
    """What the replies of one model are kept under.

    Args:
        lm: the model, as lmms-eval has made it.
        arguments: those that it was made with.
    """

    def __init__(self, lm: Any, arguments: Mapping[str, Any]) -> None:
        self._lm = lm
        self._arguments = dict(arguments)
        self._splits: dict[tuple[str, str], Any] = {}
        self._split_parts: dict[tuple[str, str], str] = {}

    @cached_property
    def about(self) -> dict[str, Any]:
        """The model and the code that all its replies depend on."""
        return {
            "model": reply_keys.model_parts(self._lm, self._arguments),
            "code": reply_keys.code_parts(self._lm),
        }

    def asked(self, requests: Sequence[Instance]) -> list[Asked]:
        """Each request with what its reply is kept under; equal ones are numbered."""
        about = {name: reply_keys.short_hash(part) for name, part in self.about.items()}
        counts: Counter[tuple[str, int]] = Counter()
        return [self._one(request, about, counts) for request in requests]

    def _one(
        self, request: Instance, about: Mapping[str, str], counts: Counter[tuple[str, int]]
    ) -> Asked:
        place = place_of(request.args)
        row = reply_keys.row_of(self._rows(place), place.doc_id)
        protocol = protocol_of(request)
        assert protocol is not None, "only requests of ours come here"
        settings = next(each for each in request.args if isinstance(each, dict))
        repeat = counts[place.task, place.doc_id]
        counts[place.task, place.doc_id] += 1
        seed = getattr(getattr(task_of(request), "args", None), "seed", None)
        parts = {
            "model": about["model"],
            "code": reply_keys.short_hash(
                [about["code"], reply_keys.protocol_code(type(protocol))]
            ),
            "item": reply_keys.row_part(row) + self._split_part(place),
            "prompt": reply_keys.prompt_part(protocol, row, str(request.args[0])),
            "generation": reply_keys.generation_part(settings, repeat, seed),
        }
        return Asked(request, protocol, _slim(row), place.task, repeat, parts)

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

    def settings(self, requests: Sequence[Instance], task: str) -> str:
        """What two runs have in common that would ask for the same replies of a task."""
        request = next(each for each in requests if place_of(each.args).task == task)
        command = getattr(task_of(request), "args", None)
        chosen = [getattr(command, name, None) for name in ("limit", "offset", "repeats")]
        generation = next(each for each in request.args if isinstance(each, dict))
        return reply_keys.short_hash([self.about, chosen, generation])


def task_of(request: Instance) -> Any:
    """The task that a request belongs to: its functions are the task's methods."""
    return next((each.__self__ for each in request.args if inspect.ismethod(each)), None)


def protocol_of(request: Instance) -> Protocol | None:
    """The protocol of one of our tasks; None for a request of another."""
    text = getattr(getattr(task_of(request), "config", None), "doc_to_text", None)
    protocol = getattr(text, "__self__", None)
    return protocol if isinstance(protocol, Protocol) else None


def apart(
    requests: Sequence[Instance],
    ours: Callable[[list[Instance]], Sequence[Any]],
    others: Callable[[list[Instance]], Sequence[Any]],
) -> list[Any]:
    """The replies, in their order, to requests of our tasks and of others."""
    replies: dict[int, Any] = {}
    for answer, is_ours in ((others, False), (ours, True)):
        numbers = [n for n, one in enumerate(requests) if (protocol_of(one) is not None) == is_ours]
        if numbers:
            replies |= zip(numbers, answer([requests[n] for n in numbers]), strict=True)
    return [replies[number] for number in range(len(requests))]


def _slim(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without the columns that hold pictures: of many rows they would fill the memory."""
    return {name: value for name, value in row.items() if not _holds_bytes(value)}


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_bytes, value.values()))
    return isinstance(value, bytes) or (isinstance(value, list) and any(map(_holds_bytes, value)))
