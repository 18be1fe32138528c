"""What a model was really shown for a row, kept until the row's reply is scored.

lmms-eval builds messages and scores replies in the same process, but hands no state from one to
the other. Here the frame times that went into a message, or the reason why there was none, wait
for the item's record.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """Times of the frames in seconds from the start of the file, or why nothing was shown."""

    frame_times: tuple[float, ...] = ()
    failure: str | None = None


_SHOWN: dict[tuple[str, str], Shown] = {}


def note(template: str, doc_id: str, shown: Shown) -> None:
    """Remember what was shown for this row under this prompt template."""
    _SHOWN[template, doc_id] = shown


def recall(template: str, doc_id: str) -> Shown:
    """What was noted for this row, or an empty `Shown`."""
    return _SHOWN.get((template, doc_id), Shown())
