"""What a model was really shown for a row, kept until the row's reply is scored.

lmms-eval builds messages and scores replies in the same process, but hands no state from one to
the other. Here the frame times that went into a message, or the reason why there was none, wait
for the item's record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple


@dataclass(frozen=True)
class Shown:
    """Times of the frames in seconds from the start of the file, or why nothing was shown."""

    frame_times: tuple[float, ...] = ()
    failure: str | None = None


class Key(NamedTuple):
    """What tells rows apart: two tasks of one run may ask the same question of another video."""

    template: str
    doc_id: str
    revision: str
    video: str | None


_SHOWN: dict[Key, Shown] = {}
_LAST: dict[str, Key] = {}


def note(key: Key, shown: Shown) -> None:
    """Remember what was shown for this row."""
    _SHOWN[key] = shown
    _LAST[key.doc_id] = key


def note_frames(doc_id: str, frame_times: Sequence[float]) -> None:
    """Add the frames that a model itself took from the video of the message it was just given."""
    key = _LAST.get(doc_id)
    if key is not None:
        noted = _SHOWN[key]
        _SHOWN[key] = replace(noted, frame_times=(*noted.frame_times, *frame_times))


def recall(key: Key) -> Shown:
    """What was noted for this row, or an empty `Shown`."""
    return _SHOWN.get(key, Shown())
