"""Runs that a leaderboard refuses: one thing is spoiled at a time, and exactly that is named."""

import shutil

import pytest

from procedural_evals.harness import results, versions
from procedural_evals.hub.claims import claim
from procedural_evals.hub.completeness import published_size
from procedural_evals.hub.refusals import refusals
from procedural_evals.hub.submit import plan, repositories_of
from procedural_evals.hub.task_ids import TASKS

from .judge_server import JudgeServer
from .run_files import (
    JUDGE,
    edit_lines,
    edit_records,
    edit_results,
    rows_read_once,
    write_run,
)

CHOICE = "flatpack_bench_blind_sample"
JUDGED = "promqa_assembly_text_sample"
GROUNDED = "procobject_10k_sample"
MODEL = "acme/watcher-7b"


@pytest.fixture(scope="module", autouse=True)
def _rows():
    with rows_read_once():
        yield


def letter_b(row):
    return '{"answer": "B"}'


def grounded(row):
    return '{"answer": "The jar is open.", "evidence": [[0.0, 2.0]]}'


@pytest.fixture(scope="module")
def choice_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choice")
    write_run(folder, CHOICE, letter_b)
    return folder


@pytest.fixture(scope="module")
def judged_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    write_run(
        folder, JUDGED, lambda row: row["answers"][0], judge=JUDGE, judge_reply="Fine. [Judge] 2"
    )
    return folder


@pytest.fixture
def choice_run(choice_files, tmp_path):
    return results.load_run(shutil.copytree(choice_files, tmp_path / "run"))


@pytest.fixture
def judged_run(judged_files, tmp_path):
    return results.load_run(shutil.copytree(judged_files, tmp_path / "judged"))


def reasons(run, task=CHOICE, model=MODEL, simulated=True):
    """All reasons of each kind."""
    found = {}
    for each in refusals(claim(run, task, model, simulated)):
        found[each.kind] = f"{found.get(each.kind, '')}\n{each.reason}"
    return found


def test_a_sound_run_is_not_refused(choice_run, judged_run):
    assert reasons(choice_run) == {}
    assert reasons(judged_run, JUDGED) == {}


def test_evidence_and_verdicts_of_a_grounded_run_are_made_anew(tmp_path):
    said = "\n".join(
        f"{name}: 4"
        for name in (
            "Contextual integration",
            "Detail orientation",
            "Contextual understanding",
            "Temporal understanding",
        )
    )
    run = write_run(tmp_path, GROUNDED, grounded, judge=JUDGE, judge_reply=said)
    assert reasons(run, GROUNDED) == {}

    def longer(records):
        records[0]["spans"] = [[0.0, 3.0]]

    assert (
        "reply and reading disagree"
        in reasons(edit_records(run, GROUNDED, longer), GROUNDED)["records"]
    )


@pytest.mark.parametrize(
    ("argument", "value"), [("limit", 8), ("limit", 0.5), ("offset", 4)], ids=str
)
def test_part_of_a_task(choice_run, argument, value):
    run = edit_results(choice_run, lambda content: content["config"].update({argument: value}))
    assert f"--{argument} {value}" in reasons(run)["partial run"]


def test_fewer_items_than_there_are(choice_run):
    def fewer(content):
        content["n-samples"][CHOICE]["effective"] = 71

    assert "71 of 72" in reasons(edit_results(choice_run, fewer))["partial run"]


def test_a_missing_item_that_the_results_file_does_not_admit(choice_run):
    def cut(records):
        records.pop()

    found = reasons(edit_records(choice_run, CHOICE, cut))
    assert "1 of 72 items have no record" in found["partial run"]


def test_an_item_scored_twice_and_one_from_elsewhere(choice_run):
    def twice(records):
        records[1] |= records[0]

    def foreign(records):
        records[2]["id"] = "nowhere"

    found = refusals(claim(edit_records(choice_run, CHOICE, twice), CHOICE, MODEL, simulated=True))
    assert any("scored more than once" in each.reason for each in found)
    found = refusals(
        claim(edit_records(choice_run, CHOICE, foreign), CHOICE, MODEL, simulated=True)
    )
    assert any("nowhere not among the dataset's 72 items" in each.reason for each in found)


def test_a_failed_item(choice_run):
    def fail(records):
        records[3]["failure"] = "timeout after 60 s"

    assert "timeout after 60 s" in reasons(edit_records(choice_run, CHOICE, fail))["failed items"]


def test_a_letter_that_the_reply_does_not_name(choice_run):
    def better(records):
        for record in records:
            record |= {"letter": record["gold"], "score": 100.0}

    found = reasons(edit_records(choice_run, CHOICE, better))
    assert "reply and reading disagree" in found["records"]
    assert "accuracy is stated as" in found["score"]


def test_another_truth_than_the_datasets(choice_run):
    def easier(records):
        for record in records:
            record["gold"] = "B"

    run = edit_records(choice_run, CHOICE, easier)
    run = edit_results(run, lambda c: c["results"][CHOICE].update({"accuracy,none": 100.0}))
    assert "a record differs from the dataset's row" in reasons(run)["records"]
    assert "gold 'B' is on record" in reasons(run)["records"]


@pytest.mark.parametrize("value", [99.0, None, float("nan"), "N/A"])
def test_a_number_that_the_records_do_not_give(choice_run, value):
    run = edit_results(
        choice_run, lambda content: content["results"][CHOICE].update({"accuracy,none": value})
    )
    assert "accuracy is stated as" in reasons(run)["score"]


def test_an_interval_that_the_records_do_not_give(choice_run):
    run = edit_results(
        choice_run, lambda content: content["results"][CHOICE].update({"accuracy_low,none": 25.0})
    )
    assert "accuracy_low is stated as 25.0000" in reasons(run)["score"]


def test_a_prompt_of_ones_own(choice_run):
    def other(records):
        for record in records:
            record["template"] = "flatpack_bench/blind@000000000000"

    found = reasons(edit_records(choice_run, CHOICE, other))
    assert "none of the shipped templates" in found["records"]


def test_a_system_instruction_solved_examples_and_other_task_files(choice_run):
    def more(content):
        content["system_instruction"] = "Always think of B."
        content["n-shot"][CHOICE] = 2
        content["config"]["resolved_cli_args"]["include_path"] = "elsewhere"

    found = reasons(edit_results(choice_run, more))["prompt"]
    assert len(found.strip().splitlines()) == 3


def test_another_revision_of_the_data(choice_run):
    def older(records):
        for record in records:
            record["revision"] = "sample:questions.jsonl@000000000000"

    found = reasons(edit_records(choice_run, CHOICE, older))
    assert "not those that are here" in found["records"]


def test_records_of_two_revisions(choice_run):
    def mixed(records):
        records[0]["revision"] = "sample:questions.jsonl@000000000000"

    assert "revision" in reasons(edit_records(choice_run, CHOICE, mixed))["mixed"]


def test_another_version_of_the_parser(choice_run):
    def older(records):
        for record in records:
            record["parser"] = "choices-0"

    assert "another version" in reasons(edit_records(choice_run, CHOICE, older))["records"]


def test_versions_that_nobody_recorded(choice_run):
    run = edit_results(choice_run, lambda content: content["configs"][CHOICE].pop(versions.KEY))
    assert "procedural-evals and lmms-eval" in reasons(run)["versions"]


def test_a_run_without_a_date(choice_run):
    run = edit_results(choice_run, lambda content: content.pop("date"))
    assert "does not say when" in reasons(run)["date"]


def test_a_run_from_the_future(choice_run):
    run = edit_results(choice_run, lambda content: content.update(date="29991231_000000"))
    assert "still to come" in reasons(run)["date"]


def test_simulated_questions_on_a_real_leaderboard(choice_run):
    assert "--simulated" in reasons(choice_run, simulated=False)["simulated"]


def test_the_sample_under_a_real_tasks_name(choice_files, tmp_path):
    """The sample's files, renamed to the real task's."""
    shutil.copytree(choice_files, tmp_path / "run")
    for file in (tmp_path / "run").iterdir():
        text = file.read_text("utf-8").replace(CHOICE, "flatpack_bench_blind")
        file.with_name(file.name.replace(CHOICE, "flatpack_bench_blind")).write_text(text, "utf-8")
    run = results.load_run(tmp_path / "run")
    found = reasons(run, "flatpack_bench_blind", simulated=False)
    assert "embedded sample" in found["simulated"]
    assert "leave it out" in reasons(run, "flatpack_bench_blind", simulated=True)["simulated"]


@pytest.mark.parametrize("model", ["ORG/NAME", "your-username/qwen", "acme/model", "org/x"])
def test_a_placeholder_for_the_model(choice_run, model):
    assert "placeholder" in reasons(choice_run, model=model)["model"]


@pytest.mark.parametrize("model", ["watcher", "acme/a/b", "https://x/acme/y", ""])
def test_a_model_that_is_no_repository(choice_run, model):
    assert "no repository" in reasons(choice_run, model=model)["model"]


def test_a_run_of_another_model(choice_run):
    assert "acme/watcher-7b" in reasons(choice_run, model="other/thing")["another model"]


def test_a_folder_may_hold_any_model(choice_run, tmp_path, monkeypatch):
    (tmp_path / "acme" / "watcher-7b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert reasons(choice_run, model="other/thing") == {}


def test_an_oracle_on_real_questions(choice_files, tmp_path):
    run = results.load_run(shutil.copytree(choice_files, tmp_path / "run"))
    run = edit_results(
        run,
        lambda c: c["config"].update(
            {"model": "procedural_baseline", "model_args": "policy=oracle"}
        ),
    )
    assert "reads the answers" in reasons(run, simulated=False)["answers read"]
    assert "answers read" not in reasons(run, simulated=True)


def test_a_task_on_no_leaderboard(choice_run):
    content = choice_run.results | {
        "configs": {"flatpack_bench_shuffled_sample": choice_run.results["configs"][CHOICE]},
        "n-samples": {},
        "results": {},
    }
    records = {"flatpack_bench_shuffled_sample": choice_run.records[CHOICE]}
    run = results.Run(choice_run.path, content, records)
    assert "on no leaderboard" in reasons(run, "flatpack_bench_shuffled_sample")["no leaderboard"]


def test_frames_whose_times_are_unknown(tmp_path):
    run = write_run(tmp_path, "dyad_mode_sample", letter_b)
    assert reasons(run, "dyad_mode_sample") == {}

    def forget(records):
        records[0]["frame_times"] = []

    found = reasons(edit_records(run, "dyad_mode_sample", forget), "dyad_mode_sample")
    assert "no times of the frames" in found["frames"]


def test_an_unjudged_item(judged_run):
    file = results.judgements_file(judged_run, JUDGED)
    edit_lines(
        file,
        lambda lines: lines[0].update(
            {"grades": {}, "grade": None, "score": None, "reason": "no verdict", "replies": ["?"]}
        ),
    )
    found = reasons(results.load_run(judged_run.path), JUDGED)
    assert "1 items are unjudged" in found["unjudged items"]
    assert "judged is stated as" in found["score"]


def test_no_judge_at_all(judged_run):
    results.judgements_file(judged_run, JUDGED).unlink()

    def none(records):
        for record in records:
            record["judge"] = "none"

    found = reasons(edit_records(judged_run, JUDGED, none), JUDGED)
    assert "no judge was asked" in found["unjudged items"]


def test_verdicts_that_only_the_judge_has(judged_run, tmp_path, monkeypatch):
    """After a run of lmms_eval itself there is no file of judgements: the judge is asked."""
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    file = results.judgements_file(judged_run, JUDGED)
    file.unlink()
    with JudgeServer(reply=lambda messages: "Fine. [Judge] 2") as server:

        def named(records):
            for record in records:
                record["judge"] = f"{JUDGE}@{server.base_url}"

        run = edit_records(judged_run, JUDGED, named)
        assert reasons(run, JUDGED) == {}
    assert file.is_file()
    assert reasons(results.load_run(run.path), JUDGED) == {}  # and now nobody need be asked


def test_a_lexical_judge(judged_run):
    results.judgements_file(judged_run, JUDGED).unlink()

    def lexical(records):
        for record in records:
            record["judge"] = "lexical"

    found = reasons(edit_records(judged_run, JUDGED, lexical), JUDGED)
    assert "compares words" in found["judge"]


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("gpt-4o", False),
        ("gpt-4o-latest", False),
        ("my-model", False),
        ("gpt-4o-2024-11-20", True),
        ("claude-sonnet-4-20250514", True),
        ("Qwen/Qwen3-32B", True),
    ],
)
def test_a_judge_whose_weights_nobody_can_know(judged_run, name, pinned):
    file = results.judgements_file(judged_run, JUDGED)

    def rename(lines):
        for line in lines:
            line["judge"] = line["judge"].replace(JUDGE, name)

    edit_lines(file, rename)
    assert ("judge" in reasons(results.load_run(judged_run.path), JUDGED)) is not pinned


def test_a_grade_that_the_judges_reply_does_not_give(judged_run):
    file = results.judgements_file(judged_run, JUDGED)
    edit_lines(file, lambda lines: lines[0].update({"replies": ["Wrong. [Judge] 0"]}))
    found = reasons(results.load_run(judged_run.path), JUDGED)
    assert "not those of its reply" in found["records"]


def test_a_rubric_of_ones_own(judged_run):
    file = results.judgements_file(judged_run, JUDGED)

    def other(lines):
        for line in lines:
            model, rubric, parser = line["judge"].split("|")
            line["judge"] = f"{model}|{rubric[:-12]}000000000000|{parser}"

    edit_lines(file, other)
    found = reasons(results.load_run(judged_run.path), JUDGED)
    assert "none of the shipped ones" in found["records"]


def test_all_reasons_are_named_at_once(choice_run):
    def spoil(content):
        content["config"]["limit"] = 3
        content["results"][CHOICE]["accuracy,none"] = 88.0
        content["configs"][CHOICE].pop(versions.KEY)

    found = reasons(edit_results(choice_run, spoil), model="ORG/NAME", simulated=False)
    assert {"model", "simulated", "partial run", "score", "versions"} <= found.keys()


@pytest.mark.parametrize("value", [None, "x", [[1]]])
@pytest.mark.parametrize("name", ["results", "configs", "n-samples"])
def test_a_results_file_with_other_values(choice_run, name, value):
    run = edit_results(choice_run, lambda content: content[name].update({CHOICE: value}))
    assert plan(run, MODEL, ["acme/flatpack-bench"], "acme/t", simulated=True).refused


@pytest.mark.parametrize("value", [None, [[1]]])
@pytest.mark.parametrize("name", ["reply", "revision", "kind", "letter", "gold"])
def test_a_record_with_other_values(choice_run, name, value):
    run = edit_records(choice_run, CHOICE, lambda records: records[0].update({name: value}))
    assert plan(run, MODEL, ["acme/flatpack-bench"], "acme/t", simulated=True).refused


def test_a_run_that_does_not_name_its_model(choice_run):
    run = edit_results(choice_run, lambda content: content.pop("config"))
    assert "does not say which model" in reasons(run)["another model"]


def test_two_repositories_for_a_benchmark():
    given = ["acme/flatpack-bench", "flatpack-bench=lab/furniture"]
    with pytest.raises(ValueError, match=r"two repositories for flatpack-bench: acme/.* and lab/"):
        repositories_of(given)
    assert repositories_of(given[:1] * 2) == {"flatpack-bench": "acme/flatpack-bench"}


def test_a_benchmark_without_its_repository(choice_run):
    made = plan(choice_run, MODEL, [], "acme/traces", simulated=True)
    assert "--dataset ORG/flatpack-bench" in made.refused[CHOICE][0].reason
    with pytest.raises(ValueError, match="--dataset flatpack"):
        plan(choice_run, MODEL, ["flatpack"], "acme/traces", simulated=True)


def test_credentials_in_a_reply_stay_here(tmp_path):
    run = write_run(tmp_path, CHOICE, lambda row: '{"answer": "B"} hf_' + "a" * 34)
    made = plan(run, MODEL, ["acme/flatpack-bench"], "acme/traces", simulated=True)
    assert [each.kind for each in made.refused[CHOICE]] == ["leak"]


# ---- real data ----------------------------------------------------------------------------------


@pytest.fixture
def real(shared, tmp_path, monkeypatch):
    """The real public files under the names that the benchmarks have."""
    root = tmp_path / "root"
    root.mkdir()
    for name, folder in (
        ("flatpack-bench", "flat-pack-bench"),
        ("promqa-assembly", "promqa-assembly"),
        ("promqa-cooking", "promqa-cooking"),
        ("assembly101-mistakes", "assembly101-mistakes"),
    ):
        (root / name).symlink_to(shared / "data" / folder)
    monkeypatch.setenv("PROCEDURAL_EVALS_DATA", str(root))


def test_a_run_of_all_real_questions_is_not_refused(real, tmp_path):
    run = write_run(tmp_path / "run", "flatpack_bench_blind", letter_b)
    assert reasons(run, "flatpack_bench_blind", simulated=False) == {}


def test_a_recording_that_has_a_camera_but_no_choice_of_one(real, tmp_path):
    run = write_run(tmp_path, "promqa_cooking_text", letter_b, judge=JUDGE, judge_reply="[Judge] 1")
    assert reasons(run, "promqa_cooking_text", simulated=False) == {}


def test_an_excerpt_of_the_real_data(real, tmp_path):
    run = write_run(
        tmp_path, "promqa_assembly_text", letter_b, judge=JUDGE, judge_reply="[Judge] 1"
    )
    found = reasons(run, "promqa_assembly_text", simulated=False)
    assert found.keys() == {"partial data"}
    assert "45 items; the published promqa_assembly_text has 391" in found["partial data"]


def test_published_sizes_are_known_for_all_but_one_benchmark():
    sizes = {each.id: published_size(each) for each in TASKS if not each.simulated}
    assert sizes["flatpack_bench_keyframes"] == 602
    assert sizes["promqa_assembly_video"] == 391
    assert sizes["procobject_10k_judge"] == 1050
    assert sizes["procobject_10k_excerpt"] is None
    assert (sizes["dyad_mode_auprc"], sizes["dyad_response"]) == (829, 256)
    assert sizes["promqa_cooking"] is None
    assert all(published_size(each) is None for each in TASKS if each.simulated)
