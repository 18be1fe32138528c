"""Published results, from the files in `model_cards/`, set beside the scores of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from procedural_evals import folders

Card = Mapping[str, Any]

# ProcObject-10K's table 2 has three blocks of the same columns.
_BLOCKS = {"all": "all questions", "multi_hop": "multi-hop", "needle": "needle in a haystack"}


@dataclass(frozen=True)
class PublishedRow:
    """A system's figures, in the order of its table's columns; None where there is none.

    `access` is "open" (weights), "API", "reference", or "" where it is not known.
    """

    name: str
    values: tuple[float | None, ...]
    std: tuple[float, ...] | None = None
    items: int | None = None
    access: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Attributes:
        table: its number there, or where the figures stand.
        title: what it shows, in our words.
        task: the task of lmms-eval that asks the same.
        columns: headings.
        metrics: the columns' names in our results; where a table has groups for columns, theirs.
        scale: lowest and highest value, unless a heading says another.
        rows: one a system.
        items: how many items the figures rest on, where that is one number.
        note: what to know before using them.
        main: whether it is one of the paper's main tables.
    """

    table: str
    title: str
    task: str
    columns: tuple[str, ...]
    metrics: tuple[str, ...]
    scale: tuple[float, float]
    rows: tuple[PublishedRow, ...]
    items: int | None = None
    note: str = ""
    main: bool = False


@cache
def cards() -> Mapping[str, Card]:
    """The published results of every benchmark, by the name of its file."""
    files = sorted(folders.model_cards().glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


@cache
def card_of(task: str) -> Card | None:
    """The main table of the benchmark that a task belongs to; None when there is none.

    >>> card_of("flatpack_bench_keyframes")["benchmark"]
    'flatpack-bench'
    """
    for name, card in cards().items():
        if "models" in card and (task == name or task.startswith(f"{name}_")):
            return card
    return None


def tables_of(card: Card) -> list[PublishedTable]:
    """All published tables of a benchmark, the main one first.

    >>> [table.table for table in tables_of(cards()["dyad"])][:2]
    ['IX', 'X']
    """
    return [*_main_tables(card), *(_table(each) for each in card.get("tables", ()))]


def address_of(card: Card) -> str:
    """Where the paper is.

    >>> address_of(cards()["dyad"])
    'https://arxiv.org/abs/2609.09023'
    """
    found = re.search(r"arXiv (\d{4}\.\d{5})", card["source"]["paper"])
    if found is None:
        raise ValueError(f"{card['benchmark']}: the source {card['source']} has no arXiv number")
    return f"https://arxiv.org/abs/{found[1]}"


def _main_tables(card: Card) -> Iterator[PublishedTable]:
    models = card.get("models", ())
    if not models:
        return
    task = str(card["benchmark"]).replace("-", "_")
    place = str(card["source"]["paper"]).rsplit(", ", 1)[1].split(";")[0].removeprefix("table ")
    measure = next((name for name in ("accuracy", "judge") if name in models[0]), None)
    if measure is not None:
        rows = tuple(
            PublishedRow(each["name"], tuple(each[measure]), access=each["access"])
            for each in models
        )
        columns = tuple(str(column) for column in card["columns"])
        title = f"{measure} over all questions and by kind"
        yield PublishedTable(place, title, task, columns, columns, (0, 100), rows, main=True)
        return
    columns = tuple("J (0 to 5)" if name == "J" else name for name in card["columns"])
    for block, title in _BLOCKS.items():
        rows = tuple(
            PublishedRow(
                f"{each['name']} ({each['group']})", tuple(each[block]), access=each["access"]
            )
            for each in models
        )
        yield PublishedTable(
            f"{place}, {block}",
            title,
            task,
            columns,
            tuple(card["columns"]),
            (0, 100),
            rows,
            card["questions"][block],
            main=True,
        )


def _table(entry: Mapping[str, Any]) -> PublishedTable:
    rows = tuple(
        PublishedRow(
            str(row["name"]),
            tuple(row["values"]),
            tuple(row["std"]) if "std" in row else None,
            row.get("items"),
            str(row.get("access", "")),
        )
        for row in entry["rows"]
    )
    bottom, top = entry["scale"]
    return PublishedTable(
        str(entry["table"]),
        str(entry["title"]),
        str(entry["task"]),
        tuple(entry["columns"].values()),
        tuple(entry["columns"]),
        (bottom, top),
        rows,
        entry.get("items"),
        str(entry.get("note", "")).strip(),
        bool(entry.get("main")),
    )
