"""Cards of the reference systems: every number has its source, and none is typed in twice."""

import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from procedural_evals import folders
from procedural_evals.dyad.__main__ import main as dyad
from procedural_evals.harness.published import cards, tables_of
from procedural_evals.hub.cli import main
from procedural_evals.hub.leaderboard_published import published_entries
from procedural_evals.hub.reference_cards import CARD, card_texts, systems


@pytest.fixture(scope="module")
def texts():
    return card_texts()


def test_cards_on_file_are_those_that_the_data_give(texts):
    """After a change: `python upload.py cards --out model_cards`."""
    found = {
        file.parent.name: file.read_text("utf-8")
        for file in folders.model_cards().glob(f"*/{CARD}")
    }
    assert found.keys() == texts.keys()
    for name, text in texts.items():
        assert found[name] == text, f"{name}: python upload.py cards --out model_cards"


def test_the_command_writes_a_folder_a_card(texts, tmp_path, capsys):
    assert main(["cards", "--out", str(tmp_path)]) == 0
    named = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {file.parent.name for file in named} == texts.keys()
    for file in named:
        assert file.read_text("utf-8") == texts[file.parent.name]


@pytest.mark.parametrize("mine", ["# My own notes\n", "---\ntags: [a]\n---\n", "---\n[\n---\n"])
def test_a_file_of_somebody_else_is_not_overwritten(texts, tmp_path, capsys, mine):
    theirs = tmp_path / sorted(texts)[-1] / CARD
    theirs.parent.mkdir()
    theirs.write_text(mine)
    assert main(["cards", "--out", str(tmp_path)]) == 2
    assert f"{theirs} is there and is no card of this program" in capsys.readouterr().err
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [theirs]
    assert theirs.read_text() == mine
    assert main(["cards", "--out", str(tmp_path), "--overwrite"]) == 0
    assert theirs.read_text("utf-8") == texts[theirs.parent.name]
    assert main(["cards", "--out", str(tmp_path)]) == 0


def test_every_number_of_a_card_has_its_source(texts):
    for name, text in texts.items():
        results = ModelCard(text).data.eval_results
        assert results, name
        for result in results:
            computed = (result.metric_args or {}).get("command")
            assert computed or result.source_url.startswith("https://arxiv.org/abs/"), result
            assert not re.search("TASK|POLICY", computed or "")


def test_a_card_holds_every_published_figure(texts):
    for card in cards().values():
        results = ModelCard(texts[f"published-{card['benchmark']}"]).data.eval_results
        figures = [
            value
            for table in tables_of(card)
            for row in table.rows
            for value in row.values
            if value is not None
        ]
        assert sorted(r.metric_value for r in results) == sorted(figures)


def test_an_oracle_scores_100_and_stands_for_nothing_else(texts):
    results = ModelCard(texts["simulated-oracle"]).data.eval_results
    assert {result.metric_value for result in results} == {100.0}
    assert len(results) == 4


def test_dyads_systems_score_what_their_command_prints(texts, capsys):
    assert dyad(["reference", "sample"]) == 0
    line = re.compile(r"(\w+) +macro-F1 ([\d.]+) \[([\d.]+), ([\d.]+)\] +physical AUPRC ([\d.]+)")
    printed = {name: figures for name, *figures in line.findall(capsys.readouterr().out)}
    assert len(printed) == 3
    for system in systems():
        if "dyad" in system:
            macro, low, high, auprc = printed.pop(system["dyad"])
            text = texts[system["name"]]
            assert f"| macro_f1 (0 to 1) | {macro} | [{low}, {high}] | 63 |" in text
            assert f"| auprc (0 to 1) | {auprc} |" in text
    assert printed == {}


def test_random_guessing_is_near_the_chance_of_each_task(texts):
    results = {r.metric_name: r.metric_value for r in ModelCard(texts["chance"]).data.eval_results}
    drawn = results["random guess, flatpack_bench_sample: accuracy, 0 to 100"]
    assert drawn == 25.0  # a real run gives the same: tests/test_hub_submit.py
    assert results["most frequent reply, procobject_10k_sample: iou, 0 to 100"] == 0.0


# ---- the papers ---------------------------------------------------------------------------------


def dyad_rows(text):
    """Every row of a table in the paper, its figures without signs of Markdown and TeX."""
    tables, name = {}, ""
    for line in text.splitlines():
        heading = re.match(r"TABLE ([IVX]+):", line)
        if heading:
            name = heading[1]
        elif line.startswith("|") and name:
            cells = [cell.strip().strip("$") for cell in line.strip("|").split("|")]
            tables.setdefault(name, []).append([cell.strip() for cell in cells])
    return tables


def figures(cells):
    """Numbers of a row, deviations after theirs; signs of a difference stand before them."""
    plain = [re.sub(r"\{?\\pm\}?", " ", cell) for cell in cells]
    return [float(x) for cell in plain for x in re.findall(r"(?<![\w+-])\d*\.\d+", cell)]


def test_every_figure_of_dyad_is_in_the_paper(shared):
    printed = dyad_rows((shared / "papers/dyad.md").read_text(encoding="utf-8"))
    checked = 0
    for table in tables_of(cards()["dyad"]):
        rows = printed[table.table.split(",")[0]][2:]
        left = [(row[0] or row[1], figures(row[1:])) for row in rows]
        if table.table.startswith("XIV"):  # the split's name stands before the first model
            left = [(row[1], figures(row[2:])) for row in rows]
            left = left[:2] if table.table.endswith("development") else left[2:]
        elif table.table == "X":
            left = [(row[1], figures(row[2:3])) for row in rows]
        assert len(left) == len(table.rows), table.table
        for (name, values), row in zip(left, table.rows, strict=True):
            ours = [
                x
                for pair in zip(row.values, row.std or [None] * len(row.values), strict=True)
                for x in pair
                if x is not None
            ]
            assert (row.name.split(", ")[-1], ours) == (name, values), table.table
            checked += len(ours)
    assert checked == 124


@pytest.mark.parametrize(
    ("card", "paper", "table"),
    [("promqa_assembly", "promqa-assembly.txt", "7")],
)
def test_figures_beside_a_main_table_are_in_the_paper(shared, card, paper, table):
    lines = (shared / "papers" / paper).read_text(encoding="utf-8").splitlines()
    (found,) = [each for each in tables_of(cards()[card]) if each.table == table]
    start = next(n for n, line in enumerate(lines) if line.startswith(f"Table {table}:"))
    for row in found.rows:
        assert "\t".join([row.name, *map(str, row.values)]) in lines[start : start + 20]


def test_single_figures_are_in_the_papers(shared):
    promqa = (shared / "papers/promqa-assembly.txt").read_text(encoding="utf-8")
    assert "The average score was $67.5$" in promqa
    flatpack = (shared / "papers/flat-pack-bench.zh.txt").read_text(encoding="utf-8")
    assert "39.20 / 32.23（vanilla 40.19）" in flatpack
    assert "Acc 11.79%，弃答 62.29%" in flatpack
    (ablations,) = [t for t in tables_of(cards()["flatpack_bench"]) if t.table == "ablations"]
    assert [row.values for row in ablations.rows] == [(40.19,), (39.2,), (32.23,), (11.79,)]
    (people,) = [t for t in tables_of(cards()["promqa_assembly"]) if "text" in t.table]
    assert people.rows[0].values == (67.5,)


def test_dyads_main_tables_stand_on_the_leaderboards():
    entries = {(e.board, e.model): e for e in published_entries() if e.board.startswith("dyad")}
    assert len(entries) == 6 + 10 + 2
    assert entries["dyad_mode", "Metadata"].cells["macro_f1:all"] == (62.4, None, None, 829)
    assert entries["dyad_step", "Qwen3-VL-2B"].cells["f1_10:all"].value == 17.4
    spoken = entries["dyad_response", "GPT-4.1"]
    assert spoken.cells["judge:all"].value == 20 * 3.688  # our score is the final grade times 20
    assert (spoken.judge, spoken.access) == ("Claude Opus 4.5", "API")
