"""What a model was really shown for a row, kept until the row's reply is scored.

lmms-eval builds messages and scores replies in the same process, but hands no state from one to
the other. Here the frame times that went into a message, or the reason why there was none, wait
for the item's record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shown:
    """Times of the frames in seconds from the start of the file, or why nothing was shown."""

    frame_times: tuple[float, ...] = ()
    failure: str | None = None


_SHOWN: dict[tuple[str, str], Shown] = {}
_LAST_TEMPLATE: dict[str, str] = {}


def note(template: str, doc_id: str, shown: Shown) -> None:
    """Remember what was shown for this row under this prompt template."""
    _SHOWN[template, doc_id] = shown
    _LAST_TEMPLATE[doc_id] = template


def note_frames(doc_id: str, frame_times: Sequence[float]) -> None:
    """Add the frames that a model itself took from the video of the message it was just given."""
    template = _LAST_TEMPLATE.get(doc_id)
    if template is not None:
        noted = _SHOWN[template, doc_id]
        times = (*noted.frame_times, *frame_times)
        _SHOWN[template, doc_id] = replace(noted, frame_times=times)


def recall(template: str, doc_id: str) -> Shown:
    """What was noted for this row, or an empty `Shown`."""
    return _SHOWN.get((template, doc_id), Shown())
