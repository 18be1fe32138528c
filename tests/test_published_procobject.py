"""The published ProcObject-10K results that reports stand beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("multi_hop", "needle", "all")


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "model_cards" / "procobject_10k.yaml").read_text("utf-8"))


def test_figures_are_those_of_the_published_table(card: dict[str, Any], shared: Path) -> None:
    table = json.loads((shared / "data/procobject-10k/results.json").read_text("utf-8"))["main"]
    assert len(table) == len(card["models"]) == 14
    for row, model in zip(table, card["models"], strict=True):
        assert (row["model"], row["group"]) == (model["name"], model["group"])
        assert row["v"] == [value for part in PARTS for value in model[part]]


def test_models_without_video_have_no_grounding(card: dict[str, Any]) -> None:
    for model in card["models"]:
        for part in PARTS:
            assert len(model[part]) == len(card["columns"]) == 6
            assert None not in model[part][:3]
            assert (None in model[part][3:]) == (model["input"] == "text")


def _worst_deviation(card: dict[str, Any], multi_hop: int) -> float:
    """Largest distance of "all" from the mean of both kinds, in units that rounding explains."""
    total = card["questions"]["all"]
    worst = 0.0
    for model in card["models"]:
        for column, hop, needle, value in zip(
            card["columns"], *(model[part] for part in PARTS), strict=True
        ):
            if value is not None:
                mean = (multi_hop * hop + (total - multi_hop) * needle) / total
                rounding = 0.01 if column == "J" else 0.1  # half a unit of the means and of "all"
                worst = max(worst, abs(value - mean) / rounding)
    return worst


def test_all_is_the_mean_over_the_implied_number_of_questions(card: dict[str, Any]) -> None:
    """No row or column is swapped; the published 614 and 436 do not explain "all"."""
    questions = card["questions"]
    assert questions["multi_hop"] + questions["needle"] == questions["all"]
    assert _worst_deviation(card, card["multi_hop_implied"]) < 1
    assert _worst_deviation(card, questions["multi_hop"]) > 1


def test_each_model_is_named_once_for_each_kind_of_input(card: dict[str, Any]) -> None:
    names = [(model["name"], model["group"]) for model in card["models"]]
    assert len(set(names)) == len(names)
