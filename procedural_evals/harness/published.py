"""Published results, from the files in `model_cards/`, set beside the scores of a run."""

from __future__ import annotations

from collections.abc import Mapping
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
