"""The leaderboard's published rows, from the cards of the papers' results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from procedural_evals.harness.published import Card, PublishedTable, card_of, cards, tables_of
from procedural_evals.hub.leaderboard import Cell, Entry, Fact
from procedural_evals.hub.leaderboard_boards import ALL, BOARDS, Board, board_of, column

GUESSING = "Random guess"
FINE_TUNED = "Object-centric Fine-tuned"

# Columns of ProcObject-10K's table 2, and its blocks, under the names that score tables give them.
_GROUNDED = {
    "S": "sentence_similarity",
    "B": "bertscore_f1",
    "J": "judge",
    "IoU": "iou",
    "IoP": "iop",
    "IoG": "iog",
}
_BLOCKS = {
    "all": ALL,
    "multi_hop": "reasoning: multi-hop",
    "needle": "reasoning: needle in a haystack",
}


def published_entries() -> list[Entry]:
    """The published rows of all boards; a board without a card has none."""
    found: list[Entry] = []
    for board in BOARDS:
        card = card_of(board.key)
        found += _entries(board, card) if card is not None else _table_entries(board)
    return found


def _table_entries(board: Board) -> Iterator[Entry]:
    """The rows of a paper's main tables that ask what the board asks, on the board's scales."""
    for card in cards().values():
        for table in tables_of(card):
            if table.main and board_of(table.task) is board:
                yield from _rows_of(board, table, str(card["source"]["paper"]))


def _rows_of(board: Board, table: PublishedTable, paper: str) -> Iterator[Entry]:
    url = board.links[0][1]
    bottom, top = table.scale
    for number, row in enumerate(table.rows):
        cells = {}
        for name, value in zip(table.metrics, row.values, strict=True):
            if name in board.metrics and value is not None:
                low, high = board.metrics[name].scale
                scaled = low + (value - bottom) / (top - bottom) * (high - low)
                cells[column(name)] = Cell(round(scaled, 6), n=table.items)
        yield Entry(
            id=f"published/{board.key}/{number}",
            board=board.key,
            model=row.name,
            origin="published",
            access=row.access,
            task=table.task,
            judge=table.title.partition("; judge ")[2],
            cells=cells,
            facts=(
                Fact("Source", f"{paper.rsplit(', ', 1)[0]}, table {table.table}", url),
                Fact("Intervals", "none published"),
            ),
            link=url,
        )


def _entries(board: Board, card: Card) -> Iterator[Entry]:
    numbers = [(model, _cells(board, card, model)) for model in card["models"]]
    chance = next(
        (
            {key: cell.value for key, cell in cells.items()}
            for model, cells in numbers
            if model["name"] == GUESSING
        ),
        {},
    )
    paper, _, place = card["source"]["paper"].rpartition(", ")
    url = board.links[0][1]
    for number, (model, cells) in enumerate(numbers):
        facts = [
            Fact("Source", f"{paper}, {place}", url),
            Fact("Intervals", "none published"),
        ]
        if "group" in model:
            facts.append(Fact("Group in the paper", model["group"]))
        if "data" in card["source"]:
            facts.append(Fact("Figures from", card["source"]["data"]))
        yield Entry(
            id=f"published/{board.key}/{number}",
            board=board.key,
            model=model["name"],
            note="fine-tuned" if model.get("group") == FINE_TUNED else "",
            origin="published",
            access=model["access"],
            task=_task(board, model),
            judge=_judge(board, place),
            cells=cells,
            chance=chance,
            facts=facts,
            link=url,
        )


def _task(board: Board, model: Mapping[str, Any]) -> str:
    """The task whose protocol the row followed: a model that saw only words ran the blind one."""
    return f"{board.key}_blind" if model.get("input") == "text" else board.key


def _judge(board: Board, place: str) -> str:
    if "judge" not in board.metrics:
        return ""
    _, _, judge = place.partition("judge ")
    return judge or "the paper's three judges"


def _cells(board: Board, card: Card, model: Mapping[str, Any]) -> dict[str, Cell]:
    questions = card["questions"]
    if len(board.metrics) > 1:
        return {
            column(_GROUNDED[name], group): Cell(value, n=questions[block])
            for block, group in _BLOCKS.items()
            for name, value in zip(card["columns"], model[block], strict=True)
            if value is not None
        }
    (metric,) = board.metrics
    return {
        column(metric, group): Cell(value, n=questions.get(group))
        for group, value in zip(card["columns"], model[metric], strict=True)
    }
