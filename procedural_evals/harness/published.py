"""Published results, from the files in `model_cards/`, set beside the scores of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import yaml

from procedural_evals import folders

Card = Mapping[str, Any]


@cache
def card_of(task: str) -> Card | None:
    """The published results of the benchmark that a task belongs to; None when there are none.

    >>> card_of("flatpack_bench_keyframes")["benchmark"]
    'flatpack-bench'
    """
    for file in sorted(folders.model_cards().glob("*.yaml")):
        if task == file.stem or task.startswith(f"{file.stem}_"):
            card: Card = yaml.safe_load(file.read_text(encoding="utf-8"))
            return card
    return None


def aligned(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table as text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in (titles, *lines)
    )


def number(value: float | None, digits: int = 2) -> str:
    """A number of a table; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"
