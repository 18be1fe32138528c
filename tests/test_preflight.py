"""What `procedural-evals run` refuses before lmms-eval starts: in one line, with the way out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from procedural_evals import cli
from procedural_evals.harness import judging, preflight, runner, similarity
from procedural_evals.harness.plugin import task_names
from procedural_evals.harness.task_files import protocol_of, task_file
from procedural_evals.prompts import PROMPTS_VARIABLE

OPEN = "promqa_assembly_sample"
CHOICE = "flatpack_bench_sample"
NOWHERE = "tiny@http://127.0.0.1:9/v1"


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Runs the command up to where lmms-eval would start: its environment, or the refusal."""
    for name in (judging.JUDGE_VARIABLE, similarity.ENCODER_VARIABLE, PROMPTS_VARIABLE):
        monkeypatch.setenv(name, "")  # so that what the command sets is taken back
    started = []

    def watched(arguments, variables):
        started.append(variables)
        return 0, None

    monkeypatch.setattr(runner, "_watched", watched)

    def command(*arguments):
        started.clear()
        output = ("--output_path", str(tmp_path / "out"))
        assert cli.main(["run", *output, *arguments]) == 2
        said = capsys.readouterr().err
        if started:
            return started[0]
        assert said.startswith("procedural-evals run: ")
        assert said.count("\n") == 1
        return said

    return command


@pytest.mark.parametrize("tasks", [OPEN, f"{CHOICE},{OPEN}", "promqa_assembly_audit", "promqa_*"])
def test_open_answers_need_a_judge(run, tasks):
    assert "Choose one with --judge" in run("--tasks", tasks)
    assert run("--tasks", tasks, "--judge", "lexical")[judging.JUDGE_VARIABLE] == "lexical"


def test_a_choice_needs_no_judge(run):
    assert judging.JUDGE_VARIABLE in run("--tasks", CHOICE)


def test_a_judge_that_does_not_answer_is_found_at_once(run):
    assert "judge tiny at http://127.0.0.1:9/v1" in run("--tasks", OPEN, "--judge", NOWHERE)


@pytest.mark.parametrize("option", ["--predict_only", "-x"])
def test_replies_alone_need_neither_judge_nor_encoder(run, monkeypatch, option):
    for judge, encoder in (("", ""), (NOWHERE, "no/such-encoder")):
        monkeypatch.setenv(judging.JUDGE_VARIABLE, judge)
        monkeypatch.setenv(similarity.ENCODER_VARIABLE, encoder)
        given = run("--tasks", f"{OPEN},procobject_10k_sample", option)
        assert given[judging.JUDGE_VARIABLE] == judging.NO_JUDGE
        assert given[similarity.ENCODER_VARIABLE] == similarity.NONE


def test_every_task_that_stops_without_a_judge_is_known_to_need_one():
    needing = set()
    for task in task_names():
        file = task_file(task)
        if "group" not in file:
            asks = str(file["process_docs"]).startswith("utils.require_")
            assert asks == bool(getattr(protocol_of(task), "rubric", None)), task
            needing |= {task} if asks else set()
    assert {OPEN, "procobject_10k", "promqa_cooking", "dyad_response"} <= needing


@pytest.mark.parametrize(
    "model", [("--model", "procedural_baseline"), ("--model=procedural_baseline",)]
)
def test_a_policy_that_there_is_not(run, model):
    said = run("--tasks", CHOICE, *model, "--model_args", "seed=0,policy=rnd")
    assert "policy=rnd: one of random, most_frequent, " in said
    assert run("--tasks", CHOICE, *model, "--model_args", "seed=0,policy=oracle")
    assert run("--tasks", CHOICE, "--model", "other", "--model_args", "policy=rnd")


def test_own_templates_are_read_first(run, monkeypatch, tmp_path):
    own = tmp_path / "own" / "flatpack_bench" / "video_one_image.txt"
    own.parent.mkdir(parents=True)
    own.write_text("What is next?")
    monkeypatch.setenv(PROMPTS_VARIABLE, str(tmp_path / "own"))
    assert f"{own}: without $" in run("--tasks", CHOICE)
    assert run("--tasks", "dyad_mode_sample")
    monkeypatch.setenv(PROMPTS_VARIABLE, str(tmp_path / "none"))
    assert "is not a folder" in run("--tasks", CHOICE)


def test_a_slip_in_a_name_is_told_from_names_of_others(run, monkeypatch, tmp_path):
    slip = ("--tasks", f"{CHOICE},flatpack_bench_smple")
    said = run(*slip)
    assert "--tasks flatpack_bench_smple: there is no such task; did you mean flatpack_b" in said
    assert run(*slip, "--include_path", str(tmp_path))
    for name in ("mmmu_val", "no_such_task", "flatpack_bench_sampl?", "./flatpack_bench_smple"):
        assert run("--tasks", name)
    theirs = tmp_path / "tasks" / "other" / "flatpack_bench_smple.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(preflight.importlib.util, "find_spec", lambda name: found)
    assert run(*slip)
