"""The leaderboard's rows: published results beside submitted ones, as plain data for its page.

A row never mixes with others that it cannot be set beside: runs on simulated questions, and runs
graded by a judge that compares words, are marked as such, and the page keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from procedural_evals.hub.leaderboard_boards import BOARDS, Board, column, main_column


class Cell(NamedTuple):
    """A number, the ends of its 95 % interval, and how many items it rests on; None: not given."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


class Fact(NamedTuple):
    """Something that a row's details say, with a link where there is one."""

    name: str
    text: str
    url: str | None = None


@dataclass(frozen=True)
class Entry:
    """A row of a board.

    Attributes:
        id: unique on the leaderboard; names the row in a comparison.
        board: key of the board.
        model: name of the model.
        note: what tells rows of one model apart, in a few words.
        origin: "published" or "submitted".
        access: "open" (weights), "API", or "reference" (people, chance, oracles).
        task: task of lmms-eval.
        judge: who graded the answers; "" where none was needed.
        date: ISO 8601 day, or "" where only a paper is named.
        cells: the numbers by column.
        chance: what guessing gets on these questions, by column.
        facts: what the numbers rest on.
        link: the model's page or the paper's.
        simulated: whether the questions come from the simulated world.
        comparable: whether its judge's scores may stand beside those of other judges of its kind.
        traces: whether the items' records are at hand, so that the row can be compared.
    """

    id: str
    board: str
    model: str
    origin: str
    access: str
    task: str
    cells: Mapping[str, Cell]
    note: str = ""
    judge: str = ""
    date: str = ""
    chance: Mapping[str, float] = field(default_factory=dict)
    facts: Sequence[Fact] = ()
    link: str | None = None
    simulated: bool = False
    comparable: bool = True
    traces: bool = False


def leaderboard_data(results: Path | None = None) -> dict[str, Any]:
    """All boards with their rows, ready for JSON; `results` is a local copy of a traces repository.

    A file there that is no submission is left out and named under "problems".
    """
    from procedural_evals import __version__
    from procedural_evals.hub.leaderboard_published import published_entries
    from procedural_evals.hub.leaderboard_submitted import submitted_entries

    entries = published_entries()
    problems: list[str] = []
    if results is not None:
        submitted, problems = submitted_entries(results)
        entries += submitted
    return {
        "built": datetime.now(timezone.utc).date().isoformat(),
        "version": __version__,
        "boards": [_board_data(board, entries) for board in BOARDS],
        "problems": problems,
    }


def _board_data(board: Board, entries: Iterable[Entry]) -> dict[str, Any]:
    here = [entry for entry in entries if entry.board == board.key]
    return {
        "key": board.key,
        "title": board.title,
        "asks": board.asks,
        "links": [list(link) for link in board.links],
        "main": main_column(board),
        "columns": {
            column(name, group): {
                "title": metric.title if len(board.metrics) > 1 else title,
                "metric": metric.title,
                "group": title,
                "scale": list(metric.scale),
                "digits": metric.digits,
            }
            for name, metric in board.metrics.items()
            for group, title in board.groups.items()
        },
        "views": [{"title": title, "columns": list(keys)} for title, keys in board.views.items()],
        "meanings": [[metric.title, metric.meaning] for metric in board.metrics.values()],
        "chance": _chance(here),
        "entries": [asdict(entry) for entry in here],
    }


def _chance(entries: Sequence[Entry]) -> dict[str, float]:
    """What random guessing gets on the real questions, as published."""
    for entry in entries:
        if entry.origin == "published" and entry.chance:
            return dict(entry.chance)
    return {}
