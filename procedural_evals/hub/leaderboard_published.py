"""The leaderboard's published rows, from the cards of the papers' results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from procedural_evals.harness.published import Card, card_of
from procedural_evals.hub.leaderboard import Cell, Entry, Fact
from procedural_evals.hub.leaderboard_boards import ALL, BOARDS, Board, column

GUESSING = "Random guess"

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
    cards = [(board, card_of(board.key)) for board in BOARDS]
    return [entry for board, card in cards if card is not None for entry in _entries(board, card)]


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
            note={"Blind LLM": "blind", "Object-centric Fine-tuned": "fine-tuned"}.get(
                model.get("group", ""), ""
            ),
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
