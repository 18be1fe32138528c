"""Model cards of the reference systems, and of the papers' published results.

A card is made from data: `model_cards/systems/*.yaml` say what a system is, `model_cards/*.yaml`
hold the papers' figures, and what a system scores on the embedded samples is computed when the
card is made. Every number stands with its source: a paper's table, or the command that gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from procedural_evals import folders
from procedural_evals.harness.published import (
    Card,
    PublishedRow,
    PublishedTable,
    address_of,
    cards,
    tables_of,
)
from procedural_evals.hub.reference_numbers import Number, dyad_numbers, policy_number

CARD = "README.md"
PUBLISHED = "published-"

#: The kind of task, as the Hub names it.
_KIND = "video-text-to-text"
_TAGS = ("procedural-evals", "reference-system")

System = Mapping[str, Any]


def build_cards(out: str | Path, *, overwrite: bool = False) -> list[Path]:
    """Write `OUT/NAME/README.md` for every reference system and benchmark; the folders.

    Raises FileExistsError, before anything is written, for a file there that is no card of these;
    `overwrite` replaces it.
    """
    texts = card_texts()
    for file in (Path(out) / name / CARD for name in texts):
        if not overwrite and file.exists() and not _is_ours(file):
            raise FileExistsError(
                f"{file} is there and is no card of this program: choose another folder, or "
                "replace it with --overwrite"
            )
    made = []
    for name, text in texts.items():
        folder = Path(out) / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD).write_text(text, encoding="utf-8")
        made.append(folder)
    return made


def _is_ours(file: Path) -> bool:
    """Whether the header of a card has the tags that every card of these has."""
    try:
        tags = ModelCard(file.read_text(encoding="utf-8")).data.get("tags")
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(tags, list) and set(_TAGS) <= set(map(str, tags))


def card_texts() -> dict[str, str]:
    """The text of every card, by the name of its repository."""
    made = {str(system["name"]): system_card(system) for system in systems()}
    for card in cards().values():
        made[f"{PUBLISHED}{card['benchmark']}"] = published_card(card)
    return made


def systems() -> list[System]:
    """What the files of the reference systems say, in the order of their names."""
    files = sorted((folders.model_cards() / "systems").glob("*.yaml"))
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


# ---- a reference system -------------------------------------------------------------------------


def system_card(system: System) -> str:
    """The card of a reference system."""
    computed = list(_computed(system))
    published = list(_published(system))
    results = [_computed_result(*each) for each in computed]
    results += [_published_result(name, table, card, 0) for name, table, card in published]
    body = [f"# {system['title']}", system["summary"]]
    body += ["## On the simulated samples", _computed_table(computed)]
    body += [
        "Computed when this card was made; the intervals are 95 % percentile intervals of a seeded "
        "bootstrap over videos or participants. The same numbers come from",
        f"```\n{system['command']}\n```",
    ]
    if published:
        body += ["## In the papers", _published_rows(published)]
    body += ["## Limits", system["limits"]]
    return _card(str(system["title"]), results, body)


def _computed(system: System) -> Iterator[tuple[str, Number, str]]:
    """Label, number, and the command that gives it."""
    command = str(system["command"])
    if "dyad" in system:
        for number in dyad_numbers(system["dyad"]):
            yield str(system["dyad"]).replace("_", " "), number, command
        return
    for policy, label in system["policies"].items():
        for task in system["tasks"]:
            real = command.replace("TASK", task).replace("POLICY", policy)
            yield f"{label}, {task}", policy_number(task, policy), real


def _published(system: System) -> Iterator[tuple[str, PublishedTable, Card]]:
    """The rows of the papers that are this system, each with its table."""
    for stem, names in system["published"].items():
        for table in tables_of(cards()[stem]):
            fits = table.task in system["tasks"] or not system.get("dyad")
            for row in table.rows:
                if row.name in names and fits:
                    yield row.name, table, cards()[stem]


def _computed_table(computed: Sequence[tuple[str, Number, str]]) -> str:
    lines = [
        [
            label,
            f"{number.dataset}/{number.config}",
            f"{number.metric} (0 to {number.scale:g})",
            _figure(number.value, number.scale),
            f"[{_figure(number.low, number.scale)}, {_figure(number.high, number.scale)}]",
            str(number.n),
        ]
        for label, number, _ in computed
    ]
    return _markdown(["system", "data", "metric", "value", "95 % interval", "n"], lines)


def _published_rows(published: Sequence[tuple[str, PublishedTable, Card]]) -> str:
    lines = []
    for name, table, card in published:
        row = next(row for row in table.rows if row.name == name)
        shown = ", ".join(
            f"{column} {figure}"
            for column, figure in zip(table.columns, _figures(row, table), strict=True)
            if figure != "-"
        )
        lines.append([name, shown, _source(card, table)])
    return _markdown(["row", "figures", "source"], lines)


# ---- published results --------------------------------------------------------------------------


def published_card(card: Card) -> str:
    """The card of a benchmark's published results: its tables, and each figure as a result."""
    tables = tables_of(card)
    results = [
        _published_result(row.name, table, card, position)
        for table in tables
        for row in table.rows
        for position, value in enumerate(row.values)
        if value is not None
    ]
    body = [
        f"# Published results on {card['benchmark']}",
        f"Figures of {card['source']['paper']} ({address_of(card)}), as printed there. The paper "
        "gives no intervals unless one stands here. Nothing was run for this card, and it holds no "
        "weights.",
    ]
    for table in tables:
        count = f" {table.items} items." if table.items else ""
        low, high = table.scale
        body += [
            f"## {_place(table)[0].upper()}{_place(table)[1:]}",
            f"{table.title[0].upper()}{table.title[1:]}. Scale {low:g} to {high:g}.{count}",
            *([table.note] if table.note else []),
            _table_text(table),
        ]
    return _card(f"Published results on {card['benchmark']}", results, body)


def _place(table: PublishedTable) -> str:
    """Where the figures stand: "table IX", "main table"."""
    return f"table {table.table}" if re.match(r"[\dIVX]", table.table) else table.table


def _table_text(table: PublishedTable) -> str:
    lines = [
        [f"{row.name} ({row.items} items)" if row.items else row.name, *_figures(row, table)]
        for row in table.rows
    ]
    return _markdown(["", *table.columns], lines)


def _figures(row: PublishedRow, table: PublishedTable) -> list[str]:
    """A row's figures with the paper's decimals, which YAML's numbers do not keep.

    A column has its own where its scale is its own, as its heading then says.
    """
    shared = [n for n, column in enumerate(table.columns) if " to " not in column]
    cells = []
    for position, value in enumerate(row.values):
        columns = shared if position in shared else [position]
        found = [each.values[n] for each in table.rows for n in columns]
        digits = max(len(str(x).partition(".")[2]) for x in found if x is not None)
        deviation = f" ± {row.std[position]:.{digits}f}" if row.std else ""
        cells.append("-" if value is None else f"{value:.{digits}f}{deviation}")
    return cells


# ---- the parts of a card ------------------------------------------------------------------------


def _computed_result(label: str, number: Number, command: str) -> EvalResult:
    return EvalResult(
        task_type=_KIND,
        dataset_type=number.dataset,
        dataset_name=f"{number.dataset}, simulated sample",
        dataset_config=number.config,
        dataset_split=number.split,
        metric_type=number.metric,
        metric_name=f"{label}: {number.metric}, 0 to {number.scale:g}",
        metric_value=float(_figure(number.value, number.scale)),
        metric_args={"command": command},
    )


def _published_result(name: str, table: PublishedTable, card: Card, position: int) -> EvalResult:
    row = next(row for row in table.rows if row.name == name)
    return EvalResult(
        task_type=_KIND,
        dataset_type=str(card["benchmark"]),
        dataset_name=f"{card['benchmark']}, {_place(table)}",
        dataset_config=f"{table.task}, {table.table}",
        dataset_split="test",
        metric_type=re.sub(r"\W+", "_", table.columns[position]).strip("_").lower(),
        metric_name=f"{name}: {table.columns[position]}",
        metric_value=row.values[position],
        source_name=_source(card, table),
        source_url=address_of(card),
    )


def _source(card: Card, table: PublishedTable) -> str:
    paper = str(card["source"]["paper"]).rsplit(", ", 1)[0]
    return f"{paper}, {_place(table)}"


def _card(title: str, results: list[EvalResult], body: Sequence[str]) -> str:
    data = ModelCardData(
        model_name=title,
        license="apache-2.0",
        library_name="procedural-evals",
        tags=list(_TAGS),
        eval_results=results,
    )
    content = "\n\n".join(part.strip() for part in body)
    card = ModelCard("\n".join(["---", data.to_yaml(), "---", "", content, ""]))
    return str(card)


def _figure(value: float, scale: float) -> str:
    return f"{value:.2f}" if scale > 1 else f"{value:.3f}"


def _markdown(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; columns of numbers to the right."""
    numbers = [all(re.match(r"[-\d]", line[n]) for line in lines) for n in range(len(titles))]
    rule = ["---:" if number else "---" for number in numbers]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *lines))
