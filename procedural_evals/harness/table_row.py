"""A score table: its lines as numbers, and as text that lines up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Row:
    """One line of a score table; `score`, `low` and `high` in the scale the heading names."""

    label: str
    n: int
    score: float
    low: float
    high: float
    extra: dict[str, float | None] = field(default_factory=dict)


class Table(NamedTuple):
    """Titles of the columns, and the lines below them; the first column says what a line is."""

    titles: Sequence[str]
    lines: Sequence[Sequence[str]]

    def text(self) -> str:
        """The table as text: the first column to the left, the others to the right."""
        widths = [max(map(len, column)) for column in zip(self.titles, *self.lines, strict=True)]
        return "\n".join(
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            ).rstrip()
            for line in (self.titles, *self.lines)
        )


def number(value: float | None, digits: int = 2) -> str:
    """A number of a table; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def table_of(rows: Sequence[Row], heading: str) -> Table:
    """The lines under a heading that says what `score` is."""
    extras = list(rows[0].extra) if rows else []
    lines = [
        [
            row.label,
            str(row.n),
            number(row.score),
            f"[{row.low:.2f}, {row.high:.2f}]",
            *(number(row.extra.get(name)) for name in extras),
        ]
        for row in rows
    ]
    return Table(["", "n", heading, "95 % interval", *extras], lines)
