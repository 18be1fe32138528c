"""The rows of an annotation layer, made clean one rule after the other. `clean` lists the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from procedural_evals.dyad import layout
from procedural_evals.dyad.cells import FREE_TEXT, HOUR, LABELS, READERS, Unreadable, is_null
from procedural_evals.dyad.records import Assistance, Change, Request, StepInterval

COLUMN, NULL, SPACE, SPELLING = "column", "null", "white space", "spelling"
VOCABULARY, CLOCK, DUPLICATE, MALFORMED = "vocabulary", "clock", "duplicate", "malformed"
#: Every rule, in the order in which they are applied.
RULES = (COLUMN, NULL, SPACE, SPELLING, VOCABULARY, CLOCK, DUPLICATE, MALFORMED)

#: Layer files, in the order of `records.Session`, with the word in their events' ids.
LAYERS = {
    layout.STEPS: ("step", StepInterval),
    layout.REQUESTS: ("request", Request),
    layout.ASSISTANCE: ("assistance", Assistance),
}
_TIMES = ("start", "end")


class Problem(NamedTuple):
    """Something in the export that no rule repairs."""

    file: str
    row: int | None
    field: str | None
    value: Any
    reason: str

    def __str__(self) -> str:
        place = self.file
        if self.row is not None:
            place += f" row {self.row}"
        if self.field is not None:
            place += f" {self.field}"
        return f"{place}: {self.value!r}: {self.reason}"


@dataclass
class Ledger:
    """The changes and problems of one corpus; without `strict` a problem becomes a change."""

    root: Path
    strict: bool
    changes: list[Change] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def change(
        self, path: Path, row: int | None, column: str | None, before: Any, after: Any, rule: str
    ) -> None:
        """Note what was changed."""
        name = path.relative_to(self.root).as_posix()
        self.changes.append(Change(name, row, column, before, after, rule))

    def problem(
        self, path: Path, row: int | None, column: str | None, value: Any, reason: str
    ) -> None:
        """Note what could not be read and is left out."""
        if self.strict:
            name = path.relative_to(self.root).as_posix()
            self.problems.append(Problem(name, row, column, value, reason))
        else:
            self.change(path, row, column, value, None, f"{MALFORMED}: {reason}")


@dataclass
class _Row:
    """A row on its way: its number, values (some may be Unreadable), and the cells as written."""

    number: int
    values: dict[str, Any]
    written: Mapping[str, str | None]
    surplus: tuple[str, ...]

    def content(self) -> dict[str, Any]:
        """The fields that hold a readable value."""
        return {
            name: value
            for name, value in self.values.items()
            if value is not None and not isinstance(value, Unreadable)
        }

    def flaws(self) -> list[tuple[str | None, Unreadable]]:
        """What could not be read: field, or None for the row as a whole."""
        found: list[tuple[str | None, Unreadable]] = [
            (name, value) for name, value in self.values.items() if isinstance(value, Unreadable)
        ]
        if self.surplus:
            found.append((None, Unreadable(",".join(self.surplus), "more cells than columns")))
        return found

    def times(self) -> list[tuple[str, int]]:
        """The readable ones of start and end."""
        values = ((name, self.values[name]) for name in _TIMES)
        return [(name, value) for name, value in values if isinstance(value, int)]


def clean_layer(ledger: Ledger, path: Path, session: str, origin: int | None) -> tuple[Any, ...]:
    """The records of one layer file, by start, null starts last.

    `origin` is what an absolute-style clock showed at time 0, in microseconds, or None.
    """
    rows = _read(ledger, path)
    _take_off_clock(ledger, path, rows, origin)
    sound = []
    for row in _without_copies(ledger, path, rows):
        flaws = row.flaws()
        for column, flaw in flaws:
            ledger.problem(path, row.number, column, flaw.text, flaw.reason)
        if not flaws:
            sound.append(row)
    kind, record = LAYERS[path.name]
    records = []
    taken: dict[str, int] = {}
    for row in sorted(sound, key=_order):
        values = dict(row.values)
        for name, microseconds in row.times():
            values[name] = microseconds / 1e6
        start = row.values["start"]
        name = f"{session}-{kind}-" + ("none" if start is None else f"{start // 1000:07d}")
        taken[name] = taken.get(name, 0) + 1
        suffix = f"-{taken[name]}" if taken[name] > 1 else ""
        records.append(record(id=name + suffix, session=session, **values))
    return tuple(records)


def _read(ledger: Ledger, path: Path) -> list[_Row]:
    """The rows with their cells read; times still on the clock of the export."""
    raw = layout.read_layer(path)
    for column in raw.unknown:
        ledger.change(path, None, column, column, None, COLUMN)
    rows = []
    for row in raw.rows:
        values = {
            name: _value(ledger, path, row.number, name, text) for name, text in row.cells.items()
        }
        rows.append(_Row(row.number, values, row.cells, row.surplus))
    return rows


def _value(ledger: Ledger, path: Path, row: int, column: str, text: str | None) -> Any:
    if text is None or is_null(text, column in FREE_TEXT):
        if text:
            ledger.change(path, row, column, text, None, NULL)
        return None
    value = READERS[column](text)
    if isinstance(value, Unreadable):
        if column != "trigger":
            return value
        ledger.change(path, row, column, text, None, VOCABULARY)
        return None
    if column in LABELS and value != text:
        ledger.change(path, row, column, text, value, SPELLING)
    if isinstance(value, str) and column in FREE_TEXT and value != text:
        ledger.change(path, row, column, text, value, SPACE)
    return value


def is_absolute(times: Sequence[int]) -> bool:
    """Whether most of these microseconds are readings of an absolute-style clock.

    Most, so that a single damaged time does not change what all others mean.
    """
    return 2 * sum(time >= HOUR for time in times) > len(times)


def _take_off_clock(ledger: Ledger, path: Path, rows: list[_Row], origin: int | None) -> None:
    """Make the times relative; a time that then lies outside the session becomes unreadable."""
    absolute = is_absolute([time for row in rows for _, time in row.times()])
    for row in rows:
        for name, time in row.times():
            text = str(row.written[name])
            if absolute and origin is None:
                reason = "absolute-style clock, and nothing says when the recording began"
                row.values[name] = Unreadable(text, f"{reason}; fill in recording_start")
                continue
            relative = time - (origin or 0) if absolute else time
            if not 0 <= relative < HOUR:
                reason = "not within the hour from the start of the recording"
                row.values[name] = Unreadable(text, reason)
                continue
            row.values[name] = relative
            if absolute:
                ledger.change(path, row.number, name, text, relative / 1e6, CLOCK)
        ends = dict(row.times())
        if len(ends) == 2 and ends["end"] < ends["start"]:
            row.values["end"] = Unreadable(str(row.written["end"]), "before the start")


def _without_copies(ledger: Ledger, path: Path, rows: list[_Row]) -> list[_Row]:
    """The rows without those that repeat another one or are a damaged or poorer copy of it.

    A copy shares its start or its end with the other row, and all that can be read of it stands
    there too. The richest, least damaged, first row of a group of copies is the one that stays.
    """
    kept: list[_Row] = []
    by_time: dict[tuple[str, int], list[_Row]] = {}
    for row in sorted(rows, key=lambda r: (-len(r.content()), len(r.flaws()), r.number)):
        content = row.content()
        others = [other for time in row.times() for other in by_time.get(time, [])]
        if any(all(o.values[name] == value for name, value in content.items()) for o in others):
            ledger.change(path, row.number, None, dict(row.written), None, DUPLICATE)
            continue
        kept.append(row)
        for time in row.times():
            by_time.setdefault(time, []).append(row)
    return sorted(kept, key=lambda r: r.number)


def _order(row: _Row) -> tuple[Any, ...]:
    """Sorting key: by start, nulls last, then by end and by the rest, never by row number."""
    start, end = (row.values[name] for name in _TIMES)
    rest = repr(sorted((name, repr(value)) for name, value in row.values.items()))
    return (start is None, start or 0, end is None, end or 0, rest)
