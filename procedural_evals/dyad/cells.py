"""One cell of an export becomes a value, a null, or an unreadable text with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from procedural_evals.dyad import vocabulary

#: Microseconds. A session is shorter, so a clock that shows more is not relative to it.
HOUR = 3_600_000_000

_NULLS = frozenset({"", "null", "none", "n/a", "na", "nan"})
_CLOCK = re.compile(r"(?:(?P<h>\d{1,3}):)?(?P<m>\d{1,2}):(?P<s>\d{2})(?:[.,](?P<f>\d{1,6}))?")
_SECONDS = re.compile(r"(?P<s>\d{1,7})(?:[.,](?P<f>\d{1,6}))?")


class Unreadable(NamedTuple):
    """A cell that no rule could read: its text and what is wrong with it."""

    text: str
    reason: str


def microseconds(text: str) -> int | None:
    """A clock text or plain seconds as whole microseconds, or None for anything else.

    Whole numbers, because the difference of two clock readings is then exact.

    >>> microseconds("14:03:12.5"), microseconds("3:12,250"), microseconds("12.5")
    (50592500000, 192250000, 12500000)
    >>> microseconds("3:72"), microseconds("-1")
    (None, None)
    """
    match = _CLOCK.fullmatch(text.strip()) or _SECONDS.fullmatch(text.strip())
    if match is None:
        return None
    part = match.groupdict()
    hours, minutes, seconds = (int(part.get(name) or 0) for name in "hms")
    if "m" in part and (seconds > 59 or (part["h"] and minutes > 59)):
        return None
    fraction = int((part["f"] or "").ljust(6, "0"))
    return (3600 * hours + 60 * minutes + seconds) * 1_000_000 + fraction


def is_null(text: str | None, free_text: bool = False) -> bool:
    """Whether the cell holds no value; in free text only an empty cell and `null` do not."""
    word = "" if text is None else text.strip().casefold()
    return word in ("", "null") if free_text else word in _NULLS


def read_time(text: str) -> int | Unreadable:
    """Microseconds on the clock of the export."""
    value = microseconds(text)
    return Unreadable(text, "no clock time H:MM:SS.fff or seconds") if value is None else value


def read_share(text: str) -> float | Unreadable:
    """A number from 0 to 1."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = -1.0
    return value if 0 <= value <= 1 else Unreadable(text, "no number from 0 to 1")


def read_truth(text: str) -> bool | Unreadable:
    """True or False."""
    value = vocabulary.truth(text)
    return Unreadable(text, "neither true nor false") if value is None else value


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by semicolons, outer space removed, empty ones left out."""
    return tuple(name.strip() for name in text.split(";") if name.strip())


def label_reader(labels: tuple[str, ...]) -> Callable[[str], str | Unreadable]:
    """A reader of the labels of one vocabulary."""

    def read(text: str) -> str | Unreadable:
        label = vocabulary.spelled(text, labels)
        return Unreadable(text, f"none of {', '.join(labels)}") if label is None else label

    return read


#: How each field is read; `start` and `end` are microseconds until the clock is taken off.
READERS: dict[str, Callable[[str], Any]] = {
    "start": read_time,
    "end": read_time,
    "step": label_reader(vocabulary.STEPS),
    "mode": label_reader(vocabulary.MODES),
    "initiation": label_reader(vocabulary.INITIATIONS),
    "trigger": label_reader(vocabulary.TRIGGERS),
    "outcome": label_reader(vocabulary.OUTCOMES),
    "hard_stop": read_truth,
    "confidence": read_share,
    "objects": read_names,
    "tool": str.strip,
    "utterance": str.strip,
}
#: Fields whose texts are free: "none" may be what somebody said.
FREE_TEXT = frozenset({"utterance", "tool", "objects"})
#: Fields of closed vocabularies, in whose texts other spellings are brought home.
LABELS = frozenset({"step", "mode", "initiation", "trigger", "outcome"})
