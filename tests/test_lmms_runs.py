"""Whole runs of the real lmms-eval: what a researcher types, and what comes back."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from procedural_evals.harness import judging, results, summaries
from procedural_evals.harness.plugin import task_names

from . import lmms
from .flatpack_media import PLACE, VIDEO_ID, make_media_folder

pytestmark = pytest.mark.slow

FLATPACK = (
    "flatpack_bench_sample",
    "flatpack_bench_keyframes_sample",
    "flatpack_bench_image_only_sample",
    "flatpack_bench_blind_sample",
    "flatpack_bench_shuffled_sample",
)


@pytest.fixture(scope="module")
def random_run(tmp_path_factory):
    """The random policy on all Flat-Pack Bench sample tasks, in one process."""
    folder = tmp_path_factory.mktemp("random")
    return lmms.run(folder, "flatpack_bench_all_sample", *lmms.baseline("random"))


def items(run, task, *keys):
    return {record["id"]: tuple(record[key] for key in keys) for record in run.records[task]}


def test_the_group_runs_every_sample_task(random_run):
    assert set(random_run.records) == set(FLATPACK)
    for task in FLATPACK:
        assert len(random_run.records[task]) == random_run.expected(task) >= 60


def test_the_aggregated_numbers_are_those_of_the_items(random_run):
    for task in FLATPACK:
        numbers = random_run.results["results"][task]
        records = random_run.records[task]
        mean = sum(record["score"] for record in records) / len(records)
        assert numbers["accuracy,none"] == pytest.approx(mean)
        assert numbers["accuracy_low,none"] < mean < numbers["accuracy_high,none"]
        assert numbers["answered,none"] == len(records)
        assert numbers["failed,none"] == 0
        assert numbers["accuracy_stderr_clustered,none"] != "N/A"


def test_every_item_says_what_it_rests_on(random_run):
    for task in FLATPACK:
        for record in random_run.records[task]:
            assert re.fullmatch(r"flatpack_bench/\w+@[0-9a-f]{12}", record["template"])
            assert record["revision"].startswith("sample:")
            assert record["parser"]


def test_random_answers_do_not_depend_on_the_task_or_its_order(random_run):
    full = items(random_run, "flatpack_bench_sample", "letter")
    assert items(random_run, "flatpack_bench_blind_sample", "letter") == full
    assert len(set(full.values())) == 4


@pytest.mark.parametrize("launcher", ["torchrun", "accelerate"])
def test_two_processes_give_what_one_gives(random_run, tmp_path, launcher):
    if launcher == "torchrun":
        run = lmms.run(
            tmp_path, "flatpack_bench_sample", *lmms.baseline("random"), "--processes", 2
        )
    else:
        accelerate = Path(sys.executable).with_name("accelerate")
        subprocess.run(
            [
                *(accelerate, "launch", "--multi_gpu", "--num_processes", "2", "-m", "lmms_eval"),
                *lmms.baseline("random"),
                *("--tasks", "flatpack_bench_sample", "--batch_size", "1"),
                *("--output_path", tmp_path, "--log_samples"),
            ],
            env=lmms.environment(ACCELERATE_USE_CPU="true"),
            check=True,
            capture_output=True,
        )
        run = results.load_run(tmp_path)
    keys = ("letter", "score", "reply")
    assert items(run, "flatpack_bench_sample", *keys) == items(
        random_run, "flatpack_bench_sample", *keys
    )
    for metric in ("accuracy", "accuracy_low", "accuracy_high", "random_chance"):
        one = random_run.results["results"]["flatpack_bench_sample"][f"{metric},none"]
        assert run.results["results"]["flatpack_bench_sample"][f"{metric},none"] == one


def test_the_demo_shows_an_oracle_at_100_and_random_at_chance(tmp_path, monkeypatch):
    monkeypatch.setenv(judging.JUDGE_VARIABLE, "lexical")
    done = lmms.procedural_evals("demo", "--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every score is what it has to be." in done.stdout
    oracle = results.load_run(tmp_path / "oracle")
    for records in oracle.records.values():
        assert {row.score for row in summaries.rows(records)} == {100.0}


@pytest.fixture(scope="module")
def media_root(shared, tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    make_media_folder(shared, root / "flatpack-bench")
    return root


@pytest.mark.parametrize("kind", ["qwen2_5_vl", "qwen3_vl"])
def test_a_transformers_checkpoint_answers_the_real_questions(media_root, tmp_path, kind, request):
    from .tiny_vlm import tiny_vlm

    checkpoint = tiny_vlm(kind, tmp_path / kind)
    run = lmms.run(
        tmp_path / "out",
        "flatpack_bench",
        *("--model", "procedural_hf"),
        *("--model_args", f"pretrained={checkpoint},max_num_frames=8"),
        *("--gen_kwargs", "max_new_tokens=8"),
        PROCEDURAL_EVALS_DATA=str(media_root),
        HF_DATASETS_CACHE=str(tmp_path / "cache"),
    )
    records = run.records["flatpack_bench"]
    assert len(records) == 4
    assert all(record["failure"] is None and record["reply"] for record in records)
    numbers = run.results["results"]["flatpack_bench"]
    assert numbers["answered,none"] == 4


def test_damaged_and_missing_media_are_named_and_the_run_goes_on(media_root, tmp_path):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_root / "flatpack-bench", folder, symlinks=True)
    file = folder / "questions/questions.jsonl"
    good = json.loads(file.read_text().splitlines()[0])
    rows = [good]
    for number, video_id in enumerate(("truncated", "absent", "../../../../outside")):
        rows.append({**good, "video_id": video_id, "qid_flat": f"{good['qid_flat']}/{number}"})
    video = folder / "videos/trimmed-videos/fps-1" / PLACE / f"{VIDEO_ID}.mp4"
    (video.parent.parent / "truncated").mkdir()
    cut = video.parent.parent / "truncated/truncated.mp4"
    cut.write_bytes(video.read_bytes()[:200_000])
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = lmms.run(
        tmp_path / "out",
        "flatpack_bench",
        *lmms.baseline("oracle"),
        status=1,
        PROCEDURAL_EVALS_DATA=str(tmp_path),
        HF_DATASETS_CACHE=str(tmp_path / "cache"),
    )
    records = run.records["flatpack_bench"]
    failures = {record["id"]: record["failure"] for record in records}
    assert sum(failure is None for failure in failures.values()) == 1
    text = " ".join(filter(None, failures.values()))
    for word in ("truncated.mp4", "absent", "leaves the data folder"):
        assert word in text
    numbers = run.results["results"]["flatpack_bench"]
    assert (numbers["accuracy,none"], numbers["answered,none"], numbers["failed,none"]) == (
        100,
        1,
        3,
    )


def test_a_run_without_results_is_no_success(tmp_path):
    done = lmms.procedural_evals(
        "run", "--tasks", "no_such_task", "--output_path", tmp_path, *lmms.baseline("oracle")
    )
    assert done.returncode == 2
    assert "No results were written" in done.stderr


def test_our_names_collide_with_none_of_lmms_eval():
    import lmms_eval.tasks

    theirs = set()
    for file in Path(lmms_eval.tasks.__file__).parent.rglob("*.yaml"):
        text = file.read_text(encoding="utf-8", errors="ignore")
        theirs |= set(re.findall(r"^(?:task|group|tag):\s*[\"']?([\w.-]+)", text, re.MULTILINE))
    assert len(theirs) > 1000
    assert not task_names() & theirs


def test_our_models_collide_with_none_of_lmms_eval():
    import lmms_eval.models

    folder = Path(lmms_eval.models.__file__).parent
    theirs = {file.stem for file in folder.rglob("*.py")}
    assert not {"procedural_baseline", "procedural_hf"} & theirs
