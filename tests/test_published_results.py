"""The published figures on file are those that the papers print."""

import re

import pytest
import yaml

from procedural_evals import folders
from procedural_evals.harness.published import card_of

PAPERS = {"promqa_assembly": "promqa-assembly.txt", "flatpack_bench": "flat-pack-bench.zh.txt"}
# Names in the cards that the paper prints otherwise.
PRINTED = {
    "Human": "人类",
    "Random guess": "随机猜",
    "Most frequent letter": "频率猜",
    "GPT-5": "GPT-5（最强专有）",
    "InternVL3-78B": "InternVL3-78B（最强开源）",
}


def printed_rows(text):
    """Every line of the paper that holds a name and then only numbers."""
    rows = {}
    for line in text.splitlines():
        name, *cells = line.split("\t")
        if cells and all(re.fullmatch(r"\d+\.\d+", cell.strip()) for cell in cells):
            rows.setdefault(name.strip(), []).append([float(cell) for cell in cells])
    return rows


@pytest.mark.parametrize("benchmark", PAPERS)
def test_every_figure_of_a_card_is_in_the_paper(shared, benchmark):
    rows = printed_rows((shared / "papers" / PAPERS[benchmark]).read_text(encoding="utf-8"))
    card = card_of(benchmark)
    for model in card["models"]:
        values = model.get("accuracy") or model.get("judge")
        assert len(values) == len(card["columns"])
        assert values in rows[PRINTED.get(model["name"], model["name"])]


def test_every_card_names_its_source_and_its_benchmark():
    files = list(folders.model_cards().glob("*.yaml"))
    assert len(files) >= 3
    for file in files:
        card = yaml.safe_load(file.read_text(encoding="utf-8"))
        assert card["source"]["paper"]
        assert card["benchmark"].replace("-", "_") == file.stem


def test_a_task_without_published_results_has_none():
    assert card_of("mmlu") is None
    assert card_of("promqa_assembly_text")["benchmark"] == "promqa-assembly"
