"""What our lmms-eval models share: the row behind a request, and the reply of a failed item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from procedural_evals import replies

Row = Mapping[str, Any]

#: In a request's metadata: which of several replies to the same request this is, from 0.
REPEAT = "procedural_evals_repeat"


class Place(NamedTuple):
    """Where the row of a request lies: `task_dict[task][split][doc_id]`."""

    task: str
    split: str
    doc_id: int


def place_of(arguments: tuple[Any, ...]) -> Place:
    """The place of a request's row, from the arguments of a chat or a simple request.

    >>> place_of(("prompt", {"until": []}, print, 7, "flatpack_bench", "test"))
    Place(task='flatpack_bench', split='test', doc_id=7)
    """
    doc_id, task, split = arguments[-3:]
    return Place(task, split, doc_id)


def repeats_of(requests: Sequence[Any]) -> list[int]:
    """Which reply to its row each request asks for, from 0: as it says itself, else counted."""
    counts: Counter[Place] = Counter()
    found = []
    for request in requests:
        place = place_of(request.args)
        found.append((getattr(request, "metadata", None) or {}).get(REPEAT, counts[place]))
        counts[place] += 1
    return found


def name_of(place: Place, row: Row | None) -> str:
    """What the log calls an item: the row's own id where it has one."""
    name = str(row["id"]) if row is not None and "id" in row else f"row {place.doc_id}"
    return f"{place.task} {name}"


def failed_reply(reason: object) -> str:
    """The reply of an item that got none, which is never scored as an answer.

    >>> failed_reply(ValueError("clip.mp4 is empty"))
    '[PROCEDURAL_EVALS_FAILED] ValueError: clip.mp4 is empty'
    >>> replies.failed_request(failed_reply("no reply"))
    'no reply'
    """
    text = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
    return f"{replies.FAILURE_MARKS[1]}] {' '.join(text.split())}"
