"""`procedural_baseline`: replies without looking, as floor, as ceiling, or read from a file.

--model procedural_baseline --model_args policy=random,seed=0
--model procedural_baseline --model_args policy=most_frequent,scope=task
--model procedural_baseline --model_args policy=file,path=replies.jsonl
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from datasets.features.features import require_decoding
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from loguru import logger

from procedural_evals.harness.items import (
    Place,
    Row,
    failed_reply,
    name_of,
    place_of,
    repeats_of,
)
from procedural_evals.harness.policies import check_policy, policies_for

SCOPES = ("all", "task")


class ProceduralBaseline(lmms):  # type: ignore[misc]
    """Answers every request by a reference policy; neither media nor prompts are looked at.

    A reply depends on the row alone, and for `random` on the seed and on which of several replies
    to the row it is: not on the order of the rows, the number of processes, or the other tasks.

    Args:
        policy: "random", one of the replies that the row admits; "most_frequent", the reply that
            is right most often in the whole split; "oracle", the right reply; "ungrounded", the
            right answer without its evidence; "file", the replies in `path`.
        seed: for "random".
        scope: for "most_frequent", whether the most frequent reply is that of "all" rows of the
            split or that of the row's own "task" (category of question).
        path: for "file", JSON lines {"id": ..., "response": ...}; with "task" in it, a line is
            for the task of that name only.
        batch_size: accepted, because lmms-eval passes it.
        device: accepted, because lmms-eval passes it.
        max_batch_size: accepted, because lmms-eval passes it.
    """

    is_simple = False
    reply_modules = ("procedural_evals.harness.policies",)
    """What else decides a reply (see `reply_keys`)."""
    sees_whole_split = True
    """The most frequent reply depends on every row of the split."""

    def __init__(
        self,
        policy: str = "random",
        seed: int = 0,
        scope: str = "all",
        path: str | None = None,
        batch_size: int = 1,
        device: str | None = None,
        max_batch_size: int | None = None,
    ) -> None:
        super().__init__()
        check_policy(policy)
        if scope not in SCOPES:
            raise ValueError(f"scope={scope}: one of {', '.join(SCOPES)} is needed")
        if (policy == "file") != (path is not None):
            raise ValueError(f"policy={policy}, path={path}: policy=file and path= go together")
        self._policy = policy
        self._seed = seed
        self._scope = scope
        self._path = path
        self._replies = {} if path is None else read_replies(Path(path))
        self._rows: dict[tuple[str, str], Any] = {}
        self._frequent: dict[tuple[str, str], dict[Hashable, str]] = {}
        self.accelerator = Accelerator()
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes

    @property
    def device(self) -> Any:
        """The device on which lmms-eval gathers counts from all processes."""
        return self.accelerator.device

    def generate_until(self, requests: Sequence[Instance]) -> list[str]:
        """A reply for each request, chat or simple, in their order."""
        return [
            self._reply(place_of(request.args), repeat)
            for request, repeat in zip(requests, repeats_of(requests), strict=True)
        ]

    def loglikelihood(self, requests: Sequence[Instance]) -> list[tuple[float, bool]]:
        """Not offered: the policies write replies."""
        raise NotImplementedError(
            "procedural_baseline writes replies and scores no continuations; use a task with "
            "output_type generate_until"
        )

    def generate_until_multi_round(self, requests: Sequence[Instance]) -> list[str]:
        """Not offered: the policies answer one question at a time."""
        raise NotImplementedError(
            "procedural_baseline answers single questions; use a task with output_type "
            "generate_until"
        )

    def _reply(self, place: Place, repeat: int) -> str:
        if self._policy != "file":
            policies_for(place.task)  # a task without policies is no failed item: nothing can run
        row: Row | None = None
        try:
            row = self._split(place)[place.doc_id]
            return self._answer(place, row, repeat)
        except Exception as error:
            logger.error(f"{name_of(place, row)}: {type(error).__name__}: {error}")
            return failed_reply(error)

    def _answer(self, place: Place, row: Row, repeat: int) -> str:
        if self._policy == "file":
            row_id = str(row["id"])
            for key in ((place.task, row_id), (None, row_id)):
                if key in self._replies:
                    return self._replies[key]
            raise LookupError(f"{self._path} has no response for id {row_id}")
        policies = policies_for(place.task)
        if self._policy == "oracle":
            return policies.oracle(row)
        if self._policy == "random":
            # The first reply to a row is the same however often the task asks.
            again = f":{repeat}" if repeat else ""
            generator = random.Random(f"{self._seed}:{row['id']}{again}")
            return policies.random(row, generator, self._split(place))
        if self._policy == "ungrounded":
            if policies.ungrounded is None:
                raise ValueError(f"{place.task} asks for no evidence; use policy=oracle")
            return policies.ungrounded(row)
        return self._most_frequent(place)[policies.group(row) if self._scope == "task" else None]

    def _most_frequent(self, place: Place) -> dict[Hashable, str]:
        """The most frequent reply of a split, for each group of its rows or (None) for all."""
        key = (place.task, place.split)
        if key not in self._frequent:
            policies = policies_for(place.task)
            groups: defaultdict[Hashable, list[Row]] = defaultdict(list)
            for row in self._split(place):
                groups[policies.group(row) if self._scope == "task" else None].append(row)
            self._frequent[key] = {
                group: policies.most_frequent(rows) for group, rows in groups.items()
            }
        return self._frequent[key]

    def _split(self, place: Place) -> Any:
        """The rows of a split without the columns that would be decoded: pictures, sound."""
        key = (place.task, place.split)
        if key not in self._rows:
            rows = self.task_dict[place.task][place.split]
            features = getattr(rows, "features", None) or {}
            media = [name for name, feature in features.items() if require_decoding(feature)]
            self._rows[key] = rows.remove_columns(media) if media else rows
        return self._rows[key]


def read_replies(path: Path) -> dict[tuple[str | None, str], str]:
    """Replies by (task or None, id) from JSON lines {"id": ..., "response": ..., "task": ...}.

    Raises FileNotFoundError for a missing file and ValueError, with the line's number, for a line
    that is no such object or repeats an id.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no replies at {path}: a file of JSON lines is needed")
    found: dict[tuple[str | None, str], str] = {}
    # Not splitlines, which also cuts at characters that JSON allows within a text, as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            row_id, response, task = str(entry["id"]), entry["response"], entry.get("task")
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f'{path}, line {number}: {{"id": ..., "response": ...}} is needed, got {line[:80]}'
            ) from error
        if not isinstance(response, str):
            raise ValueError(f"{path}, line {number}: response is no text: {response!r}")
        if (task, row_id) in found:
            raise ValueError(f"{path}, line {number}: id {row_id} is there twice")
        found[task, row_id] = response
    return found
