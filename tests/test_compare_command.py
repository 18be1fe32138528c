"""`procedural-evals compare` on results folders: what is printed, refused, judged and written."""

from __future__ import annotations

import json
import math

import pytest

from procedural_evals import cli
from procedural_evals.harness.results import load_run
from procedural_evals.harness.verdict_records import judged_run, with_verdicts
from procedural_evals.harness.write_json import write_json

from .comparison_records import choice, grounded, judged, write_run


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """No judge is chosen by whoever runs the tests, and no verdict of theirs is found."""
    monkeypatch.delenv("PROCEDURAL_EVALS_JUDGE", raising=False)
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def runs(tmp_path):
    """Two runs of a task of questions and of a judged task."""
    for name, seed in (("a", 1), ("b", 2)):
        tasks = {"bench": choice(seed=seed), "open": judged(seed=seed)}
        write_run(tmp_path / name, tasks, model=f"model-{name}")
    return tmp_path / "a", tmp_path / "b"


def run(capsys, *arguments):
    status = cli.main(["compare", *map(str, arguments)])
    done = capsys.readouterr()
    return status, done.out, done.err


def test_every_shared_task_is_compared(runs, capsys, tmp_path):
    status, out, _ = run(capsys, *runs, "--json", tmp_path / "found.json", "--flips", 2)
    assert status == 0
    assert "A: model-a (size=1)" in out
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found["tasks"]) == {"bench", "open"}
    for task in found["tasks"].values():
        line = task["lines"][0]
        numbers = f"{line['difference']:+.2f} [{line['low']:+.2f}, {line['high']:+.2f}]"
        assert numbers in " ".join(out.split())
    flips = found["tasks"]["bench"]["flips"]
    assert f"right -> wrong {flips['worse']}, wrong -> right {flips['better']}" in out
    shown = [flip["id"] for flip in flips["lost"] if f"right -> wrong: {flip['id']}" in out]
    assert shown == [flip["id"] for flip in flips["lost"][:2]]
    assert f"... and {flips['worse'] - 2} more right -> wrong" in out
    # Two headlines are a family: Holm doubles the smaller p-value at least.
    pairs = [(t["lines"][0]["p_value"], t["lines"][0]["p_holm"]) for t in found["tasks"].values()]
    assert min(pairs)[1] == pytest.approx(min(1, 2 * min(pairs)[0]))


def test_a_refusal_names_both_values_and_is_no_success(runs, capsys, tmp_path):
    other = [record | {"parser": "choices-3"} for record in choice(seed=3)]
    write_run(tmp_path / "c", {"bench": other})
    status, out, _ = run(capsys, runs[0], tmp_path / "c")
    assert status == 1
    assert "parser: A has choices-2, B has choices-3" in out
    assert "--force" in out
    assert "95 %" not in out
    status, out, _ = run(capsys, runs[0], tmp_path / "c", "--force", "--flips", 0)
    assert status == 0
    head, table = out.split("accuracy", 1)
    assert "! differs, compared all the same: parser: A has choices-2, B has choices-3" in head
    assert "95 % interval" in head
    assert "right -> wrong:" not in table


def test_a_task_may_be_set_against_another_one(runs, capsys, tmp_path):
    blind = [record | {"template": "bench/blind@1"} for record in choice(seed=4)]
    write_run(tmp_path / "c", {"bench_blind": blind})
    pair = ("--tasks", "bench:bench_blind")
    status, out, _ = run(capsys, runs[0], tmp_path / "c", *pair)
    assert status == 1
    assert "template: A has bench/video@0123456789ab, B has bench/blind@1" in out
    status, out, _ = run(capsys, runs[0], tmp_path / "c", *pair, "--force")
    assert status == 0
    assert "bench against bench_blind" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--tasks", "bench:none"), "B has no task none; it has bench, open"),
        (("--flips", "-1"), "--flips -1"),
    ],
)
def test_wrong_arguments_are_named(runs, capsys, arguments, words):
    status, _, err = run(capsys, *runs, *arguments)
    assert status == 2
    assert words in err


def test_runs_without_a_shared_task_say_how_to_name_a_pair(runs, capsys, tmp_path):
    write_run(tmp_path / "c", {"other": choice()})
    status, _, err = run(capsys, runs[0], tmp_path / "c")
    assert status == 2
    assert "share no task: A has bench, open, B has other" in err
    assert "--tasks TASK_A:TASK_B" in err


def test_settings_of_the_runs_are_notes(tmp_path, capsys):
    write_run(tmp_path / "a", {"bench": choice(seed=1)}, gen_kwargs="temperature=1")
    write_run(tmp_path / "b", {"bench": choice(seed=2)[:30]}, limit=30)
    status, out, _ = run(capsys, tmp_path / "a", tmp_path / "b")
    assert status == 0
    assert "note: generation arguments given: A has temperature=1, B has none" in out
    assert "note: limit: A has none, B has 30" in out
    assert "30 items in both, 10 only in A, 0 only in B; 30 compared" in out


def test_verdicts_come_from_the_file_beside_the_samples(runs):
    run_ = judged_run(load_run(runs[0]))
    expected = {record["id"]: record["judge_score"] for record in judged(seed=1)}
    assert {r["id"]: r["judge_score"] for r in run_.records["open"]} == expected
    assert run_.records["bench"] == load_run(runs[0]).records["bench"]


def test_without_a_file_the_runs_own_judge_is_asked(tmp_path, capsys):
    answers = [r | {"prediction": r["answers"][0]} for r in judged(seed=2)]
    write_run(tmp_path / "a", {"open": judged(seed=1)}, judgements=False)
    write_run(tmp_path / "b", {"open": answers}, judgements=False)
    status, out, _ = run(capsys, tmp_path / "a", tmp_path / "b", "--flips", 0)
    assert status == 0
    (line,) = [x for x in out.split("\n") if x.strip().startswith("judge  ")]
    assert line.split()[4] == "100.00"


def test_answers_that_nobody_judged_say_how_to_judge_them(tmp_path, capsys):
    for name in "ab":
        records = [record | {"judge": "none"} for record in judged(seed=1)]
        write_run(tmp_path / name, {"open": records}, judgements=False)
    status, _, err = run(capsys, tmp_path / "a", tmp_path / "b")
    assert status == 2
    assert "open: A has no score" in err
    assert "--judge NAME" in err
    status, out, _ = run(capsys, tmp_path / "a", tmp_path / "b", "--judge", "lexical")
    assert status == 0
    assert "+0.00  [+0.00, +0.00]  1.000" in out


def test_one_task_that_cannot_be_compared_leaves_the_others_be(runs, capsys, tmp_path):
    for name, seed in (("c", 1), ("d", 2)):
        unjudged = [record | {"judge": "none"} for record in judged(seed=seed)]
        tasks = {"bench": choice(seed=seed), "open": unjudged}
        write_run(tmp_path / name, tasks, judgements=False)
    status, out, _ = run(capsys, tmp_path / "c", tmp_path / "d")
    assert status == 1
    assert "open\nNot compared: A has no score" in out
    assert "95 % interval" in out


def test_several_judges_are_averaged_and_all_are_needed():
    records = judged(n=2)
    rows = [
        {"item": "q000", "judge": "j1", "grades": {"x": 1, "y": 3}, "score": 0.0},
        {"item": "q000", "judge": "j2", "grades": {"x": 3, "y": 3}, "score": 100.0},
        {"item": "q001", "judge": "j1", "grades": {"x": 1, "y": 3}, "score": 50.0},
    ]
    first, second = with_verdicts(records, rows)
    assert (first["judge_score"], first["grades"]) == (50.0, {"x": 2.0, "y": 3.0})
    assert first["judges"] == second["judges"] == ["j1", "j2"]
    assert second["judge_score"] is None


def test_a_grounded_task_is_read_whole(tmp_path, capsys):
    """Its samples hold brief copies under other metrics, before the whole record."""
    file = write_run(tmp_path / "a", {"grounded": grounded(seed=1)})
    samples = file.with_name("20260101_000000_samples_grounded.jsonl")
    lines = []
    for line in samples.read_text().splitlines():
        sample = json.loads(line)
        brief = {key: value for key, value in sample["iou"].items() if key != "reply"}
        lines.append(json.dumps({"judge": brief, **sample}))
    samples.write_text("\n".join(lines) + "\n")
    write_run(tmp_path / "b", {"grounded": grounded(seed=2)})
    status, _, _ = run(capsys, tmp_path / "a", tmp_path / "b", "--json", tmp_path / "x.json")
    assert status == 0
    flips = json.loads((tmp_path / "x.json").read_text())["tasks"]["grounded"]["flips"]
    assert all(flip["reply_a"].startswith("reply ") for flip in flips["lost"])


def test_json_holds_no_number_that_is_none(tmp_path):
    write_json(tmp_path / "x.json", {"a": (1.0, math.inf), "b": [math.nan, {"c": -math.inf}]})
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "a": [1.0, None],
        "b": [None, {"c": None}],
    }
