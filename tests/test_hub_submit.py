"""Submissions over HTTP to a local Hub: traces first, then a pull request, and nothing twice."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import datasets
import pytest
import yaml
from huggingface_hub import CommitOperationAdd, HfApi, constants
from huggingface_hub._eval_results import parse_eval_result_entries

from procedural_evals.hub import problems, pull_requests
from procedural_evals.hub.benchmarks import benchmark, misfits
from procedural_evals.hub.claims import claim
from procedural_evals.hub.cli import main
from procedural_evals.hub.problems import PushError
from procedural_evals.hub.submission import Submission, SubmissionError, items, submissions
from procedural_evals.hub.submit import plan
from procedural_evals.hub.task_ids import of_dataset, task
from procedural_evals.hub.traces import clean, clean_arguments, item_lines, leaks, withheld

from . import hub_server, lmms
from .run_files import JUDGE, rows_read_once, write_run

ROOT = Path(__file__).resolve().parent.parent
CHOICE = "flatpack_bench_blind_sample"
GROUNDED = "procobject_10k_sample"
MODEL, TRACES = "acme/watcher-7b", "acme/traces"
FILE = ".eval_results/flatpack-bench.yaml"


@pytest.fixture(scope="module", autouse=True)
def _rows():
    with rows_read_once():
        yield


def letter_b(row):
    return '{"answer": "B"}'


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(problems, "WAITS", (0.0, 0.0))
    with hub_server.running(tmp_path / "hub", org="acme") as server:
        yield server


@pytest.fixture
def api(hub):
    found = HfApi(endpoint=hub.url, token=hub.token)
    found.create_repo(MODEL)
    return found


@pytest.fixture(scope="module")
def choice_run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("choice"), CHOICE, letter_b)


def prepared_of(run, **options):
    names = [f"acme/{name}" for name in ("flatpack-bench", "procobject-10k")]
    made = plan(run, MODEL, names, TRACES, simulated=True, **options)
    assert made.refused == {}
    return made.prepared


@pytest.fixture
def prepared(choice_run):
    return prepared_of(choice_run)


def push_benchmark(api, prepared, **changes):
    """A dataset repository with the files that make it a benchmark."""
    given = prepared[0].submission
    tasks = [each for each in of_dataset(given.benchmark) if each.simulated]
    build = {
        "configs": {
            "sample": {
                "revisions": [f"sample:{given.revision}"],
                "splits": {"test": {"rows": given.items}},
            }
        }
    }
    content = {
        "eval.yaml": yaml.safe_dump({"tasks": [{"id": each.id} for each in tasks]}),
        "build.json": json.dumps(build),
        **changes,
    }
    api.create_repo(given.dataset, repo_type="dataset", exist_ok=True)
    api.create_commit(
        given.dataset,
        [CommitOperationAdd(path, text.encode()) for path, text in content.items() if text],
        commit_message="A benchmark",
        repo_type="dataset",
    )
    return {given.dataset: benchmark(api, given.dataset)}


def entries_at(hub, revision="main", path=FILE):
    content = hub.repository("model", MODEL).read(path, revision)
    return parse_eval_result_entries(yaml.safe_load(content))


def test_a_number_becomes_a_pull_request_with_its_traces(hub, api, prepared):
    found = push_benchmark(api, prepared)
    assert list(misfits(prepared, found)) == []
    sent = pull_requests.send(api, prepared, found, public=False)
    assert (sent.private, sent.new_traces, sent.new_pull_request) == (True, True, True)
    assert sent.pull_request == f"{hub.url}/{MODEL}/discussions/1"

    (entry,) = entries_at(hub, "refs/pr/1")
    given = prepared[0].submission
    assert (entry.dataset_id, entry.task_id) == ("acme/flatpack-bench", CHOICE)
    assert entry.value == pytest.approx(given.value, abs=1e-4)
    assert entry.dataset_revision == found["acme/flatpack-bench"].revision
    assert entry.date == "2025-11-30T00:35:37Z"
    assert entry.source_url.startswith(f"{hub.url}/datasets/{TRACES}/tree/")
    assert entry.source_url.endswith(f"/{given.folder}")
    assert entry.source_url.split("/")[7] == api.dataset_info(TRACES).sha
    for word in ("0 to 100", "95 % interval", "72 of 72", "could be read", "lmms-eval 0.7", "@"):
        assert word in entry.notes
    assert FILE not in hub.repository("model", MODEL).files("main")


def test_the_traces_are_read_back_and_hold_every_item(hub, api, prepared, choice_run, tmp_path):
    pull_requests.send(api, prepared, push_benchmark(api, prepared), public=False)
    assert api.dataset_info(TRACES).private is True
    api.snapshot_download(TRACES, repo_type="dataset", local_dir=tmp_path / "copy")
    (read,) = submissions(tmp_path / "copy")
    assert read == prepared[0].submission
    lines = items(tmp_path / "copy", read)
    records = {record["id"]: record for record in choice_run.records[CHOICE]}
    assert {line["id"] for line in lines} == records.keys()
    for line in lines:
        assert line["reply"] == records[line["id"]]["reply"]
        assert line["score"] == records[line["id"]]["score"]
        assert line["gold"] == records[line["id"]]["gold"]  # the sample is the project's own
    assert sum(line["score"] for line in lines) / 72 == pytest.approx(read.value)
    assert {row.label for row in read.rows} == {"mate", "tloc", "tord", "track"}
    assert sum(row.n for row in read.rows) == read.n == 72


def test_the_same_again_is_found_and_not_opened_twice(hub, api, prepared):
    found = push_benchmark(api, prepared)
    first = pull_requests.send(api, prepared, found, public=False)
    commits = len(list(hub.repository("dataset", TRACES).history()))
    again = pull_requests.send(api, prepared, found, public=False)
    assert (again.new_traces, again.new_pull_request) == (False, False)
    assert again.pull_request == first.pull_request
    assert len(list(hub.repository("dataset", TRACES).history())) == commits
    assert len(list(api.get_repo_discussions(MODEL))) == 1

    api.merge_pull_request(MODEL, 1)
    merged = pull_requests.send(api, prepared, found, public=False)
    assert (merged.pull_request, merged.new_pull_request) == (None, False)
    assert len(list(api.get_repo_discussions(MODEL))) == 1


def test_another_result_of_the_task_gets_a_pull_request_of_its_own(hub, api, prepared, tmp_path):
    found = push_benchmark(api, prepared)
    pull_requests.send(api, prepared, found, public=False)
    other = prepared_of(write_run(tmp_path / "c", CHOICE, lambda row: '{"answer": "A"}'))
    sent = pull_requests.send(api, other, found, public=False)
    assert sent.new_pull_request
    assert sent.pull_request.endswith("/discussions/2")


def test_entries_of_other_tasks_are_kept(hub, api, prepared):
    theirs = [
        {"dataset": {"id": "acme/flatpack-bench", "task_id": "flatpack_bench"}, "value": 37.7},
        {"dataset": {"id": "acme/flatpack-bench", "task_id": CHOICE}, "value": 1.0, "notes": "old"},
    ]
    api.create_commit(
        MODEL, [CommitOperationAdd(FILE, yaml.safe_dump(theirs).encode())], commit_message="Mine"
    )
    pull_requests.send(api, prepared, push_benchmark(api, prepared), public=False)
    kept, ours = entries_at(hub, "refs/pr/1")
    assert (kept.task_id, kept.value) == ("flatpack_bench", 37.7)
    assert (ours.task_id, ours.value) == (CHOICE, round(prepared[0].submission.value, 4))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"notes: mine", "holds no list of results"),
        (b"notes: [1", "not readable as YAML"),
        (b"\xff\xfe", "no text in UTF-8"),
    ],
)
def test_a_results_file_that_holds_something_else_is_left_alone(
    hub, api, prepared, content, problem
):
    api.create_commit(MODEL, [CommitOperationAdd(FILE, content)], commit_message="Mine")
    with pytest.raises(PushError, match=rf"{MODEL}: {FILE}.*{problem}"):
        pull_requests.send(api, prepared, push_benchmark(api, prepared), public=False)
    assert TRACES not in hub.names("dataset")  # found out before anything was sent


def test_a_repository_of_something_else_gets_no_traces(hub, api, prepared):
    found = push_benchmark(api, prepared)
    (dataset,) = found
    mixed = [
        replace(one, submission=replace(one.submission, traces_repo=dataset)) for one in prepared
    ]
    before = hub.repository("dataset", dataset).files()
    with pytest.raises(PushError, match=r"holds build\.json and no submission"):
        pull_requests.send(api, mixed, found, public=True)
    assert hub.repository("dataset", dataset).files() == before


def test_two_numbers_of_one_run_share_a_pull_request(hub, api, tmp_path):
    reply = '{"answer": "The jar is open.", "evidence": [[0.0, 2.0]]}'
    grades = "contextual integration: 4\ndetail orientation: 3\ncontextual understanding: 4\n"
    run = write_run(
        tmp_path / "run",
        GROUNDED,
        lambda row: reply,
        judge=JUDGE,
        judge_reply=f"{grades}temporal understanding: 5",
    )
    prepared = prepared_of(run)
    assert [one.submission.metric for one in prepared] == ["iou", "judge"]
    pull_requests.send(api, prepared, push_benchmark(api, prepared), public=False)
    iou, judge = entries_at(hub, "refs/pr/1", ".eval_results/procobject-10k.yaml")
    assert iou.task_id == GROUNDED
    assert judge.task_id == f"{GROUNDED}_judge"
    assert judge.value == pytest.approx(80.0)
    assert f"judged by {JUDGE}|" in judge.notes
    assert prepared[1].submission.judges[0].startswith(JUDGE)


@pytest.mark.parametrize("public", [False, True])
def test_traces_are_private_unless_asked_otherwise(hub, api, prepared, public):
    sent = pull_requests.send(api, prepared, push_benchmark(api, prepared), public=public)
    assert sent.private is not public
    assert api.dataset_info(TRACES).private is not public
    description = api.get_discussion_details(MODEL, 1).events[0].content
    assert ("only its owners can read" in description) is not public


def test_a_public_repository_gets_no_traces_by_accident(api, prepared):
    found = push_benchmark(api, prepared)
    api.create_repo(TRACES, repo_type="dataset", private=False)
    with pytest.raises(PushError, match="--public says that"):
        pull_requests.send(api, prepared, found, public=False)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"eval.yaml": "tasks: [{id: flatpack_bench}]"}, "leaderboard"),
        (
            {
                "build.json": json.dumps(
                    {
                        "configs": {
                            "sample": {
                                "revisions": ["sample:questions.jsonl@0000"],
                                "splits": {"test": {"rows": 72}},
                            }
                        }
                    }
                )
            },
            "dataset revision",
        ),
        ({"build.json": json.dumps({"configs": {}})}, "dataset"),
    ],
)
def test_a_benchmark_that_the_run_does_not_fit(api, prepared, changes, kind):
    found = push_benchmark(api, prepared, **changes)
    assert [each.kind for each in misfits(prepared, found)] == [kind]


def test_a_dataset_that_is_no_benchmark(api, prepared):
    with pytest.raises(PushError, match=r"has no eval\.yaml"):
        push_benchmark(api, prepared, **{"eval.yaml": ""})
    with pytest.raises(PushError, match="no such dataset"):
        benchmark(api, "acme/nowhere")


def test_a_model_without_a_repository(hub, api, prepared):
    found = push_benchmark(api, prepared)
    api.delete_repo(MODEL)
    with pytest.raises(PushError, match=f"--model {MODEL}: there is no such model"):
        pull_requests.send(api, prepared, found, public=False)
    assert TRACES not in hub.names("dataset")


def test_a_server_in_trouble_is_asked_again(hub, api, prepared):
    found = push_benchmark(api, prepared)
    hub.fail(f"GET /api/models/{MODEL}", status=503, times=1)
    assert pull_requests.send(api, prepared, found, public=False).new_pull_request


def test_a_pull_request_that_fails_leaves_traces_and_can_be_repeated(hub, api, prepared):
    found = push_benchmark(api, prepared)
    hub.fail(f"POST /api/models/{MODEL}/commit/", status=500, times=None)
    with pytest.raises(PushError, match="traces are there, the pull request is not"):
        pull_requests.send(api, prepared, found, public=False)
    hub.mend()
    again = pull_requests.send(api, prepared, found, public=False)
    assert (again.new_traces, again.new_pull_request) == (False, True)


def test_tokens_that_the_hub_does_not_take(hub, api, prepared):
    found = push_benchmark(api, prepared)
    with pytest.raises(PushError, match="does not know this token"):
        pull_requests.account(HfApi(endpoint=hub.url, token="hf_nobody"))
    reader = HfApi(endpoint=hub.url, token=hub.reader_token)
    with pytest.raises(PushError, match="right to write"):
        pull_requests.send(reader, prepared, found, public=False)


def test_anybody_may_submit_to_a_public_model(hub, api, choice_run):
    """With traces of one's own; the model's owners then merge the pull request or not."""
    theirs = HfApi(endpoint=hub.url, token=hub.stranger_token)
    name = pull_requests.account(theirs)
    made = plan(choice_run, MODEL, ["acme/flatpack-bench"], f"{name}/traces", simulated=True)
    found = push_benchmark(api, made.prepared)
    sent = pull_requests.send(theirs, made.prepared, found, public=True)
    assert sent.new_pull_request
    (entry,) = entries_at(hub, "refs/pr/1")
    assert entry.source_url.startswith(f"{hub.url}/datasets/stranger/traces/tree/")


@pytest.mark.parametrize(
    ("sample", "real", "kept_back"),
    [
        (CHOICE, "flatpack_bench_blind", set()),
        (GROUNDED, "procobject_10k", {"question", "answers", "evidence"}),
        ("promqa_assembly_text_sample", "promqa_assembly_text", {"question", "answers", "steps"}),
        ("dyad_response_sample", "dyad_response", {"question", "answers", "context"}),
        ("dyad_mode_sample", "dyad_mode", {"gold"}),
    ],
)
def test_words_of_a_dataset_stay_where_its_terms_keep_them(tmp_path, sample, real, kept_back):
    """The sample's records, written once as the sample's and once under the real data's terms."""
    judged = {"judge": JUDGE, "judge_reply": "[Judge] 1"} if "answers" in kept_back else {}
    made = claim(write_run(tmp_path, sample, letter_b, **judged), sample, MODEL, simulated=True)
    free, bound = (
        [json.loads(line) for line in item_lines(made, task(name)).splitlines()]
        for name in (sample, real)
    )
    assert set(withheld(made, task(sample))) == set()
    assert set(withheld(made, task(real))) == kept_back
    assert len(free) == len(bound) == len(made.records)
    for whole, line in zip(free, bound, strict=True):
        assert whole.keys() - line.keys() == kept_back
        assert {"id", "reply", "cluster", "template"} <= line.keys()
        for judgement in line.get("judgements", []):
            assert "replies" not in judgement  # a judge repeats what it was shown


def test_arguments_lose_secrets_and_the_names_of_folders(prepared, choice_run, tmp_path):
    given = f"pretrained={tmp_path}/tuned,api_key=abc,base_url=http://10.0.0.7:8000/v1,batch_size=1"
    cleaned = clean_arguments(given)
    assert cleaned == "pretrained=tuned,base_url=http://private,batch_size=1"
    assert clean({"until": [], "token": "abc", "cache": str(tmp_path)}) == {
        "until": [],
        "cache": tmp_path.name,
    }
    run_folder = choice_run.path.parent
    assert list(leaks(cleaned, "", run_folder)) == []
    assert list(leaks(given, "", run_folder)) != []
    assert list(leaks("", f"I read {run_folder}/x", run_folder)) != []
    assert list(leaks("", "data:image/png;base64,AAAA", run_folder)) != []
    assert list(leaks("", "I saw /home/ann/video.mp4", run_folder)) == []  # a model's own words
    assert list(leaks(prepared[0].submission.to_json(), prepared[0].items, run_folder)) == []


def command(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_command_shows_a_submission_without_asking_the_hub(choice_run, capsys):
    given = ("submit", choice_run.path, "--model", MODEL, "--dataset", "acme/flatpack-bench")
    assert command(*given, "--simulated", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert f"task_id: {CHOICE}" in shown
    assert "nothing was sent" in shown


def test_the_command_refuses_with_status_1_and_every_reason(choice_run, capsys):
    given = ("submit", choice_run.path, "--model", "ORG/NAME", "--traces", TRACES)
    assert command(*given) == 1
    shown = capsys.readouterr().out
    for reason in ("placeholder", "simulated video", "no --dataset for flatpack-bench"):
        assert reason in shown


def test_the_command_names_tasks_that_the_run_has(choice_run, capsys):
    given = ("submit", choice_run.path, "--model", MODEL, "--traces", TRACES)
    assert command(*given, "--task", "dyad_mode") == 2
    assert f"dyad_mode: not in this run, which has {CHOICE}" in capsys.readouterr().err


def test_a_submission_survives_its_file_and_a_broken_one_is_named(prepared, tmp_path):
    given = prepared[0].submission
    assert Submission.from_json(given.to_json()) == given
    for change, message in (
        ({"version": 2}, "version 2"),
        ({"value": 120.0}, "outside its scale"),
        ({"low": 90.0, "high": 10.0}, "ends before it begins"),
        ({"model": "nobody"}, "no repository"),
        ({"date": "yesterday"}, "not ISO 8601"),
        ({"traces": "/etc/items.jsonl"}, "no path"),
        ({"versions": {}}, "no version of procedural-evals, lmms-eval"),
        ({"answered": 3}, "3 answered"),
        ({"surprise": 1}, "unknown fields: surprise"),
    ):
        with pytest.raises(SubmissionError, match=message):
            Submission.from_json(json.dumps(json.loads(given.to_json()) | change))
    folder = tmp_path / "flatpack-bench/acme--other/x"
    folder.mkdir(parents=True)
    (folder / "submission.json").write_text(given.to_json(), encoding="utf-8")
    with pytest.raises(SubmissionError, match="belongs into"):
        submissions(tmp_path)


def upload(hub, home, *arguments):
    done = subprocess.run(
        [sys.executable, str(ROOT / "upload.py"), *map(str, arguments)],
        env=hub.environment(home) | {"HF_DATASETS_CACHE": str(datasets.config.HF_DATASETS_CACHE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_a_real_run_from_the_command_line(hub, api, tmp_path):
    """lmms-eval's own files, a benchmark that was really built, and the command itself."""
    from procedural_evals.hub.build import build

    run = lmms.run(tmp_path / "out", CHOICE, *lmms.baseline("random"))
    built = build("flatpack-bench", tmp_path / "built", configs=["sample"])
    api.create_repo("acme/flatpack-bench", repo_type="dataset")
    for name in ("eval.yaml", "build.json"):
        api.upload_file(
            path_or_fileobj=built.folder / name,
            path_in_repo=name,
            repo_id="acme/flatpack-bench",
            repo_type="dataset",
        )
    arguments = ("submit", run.path, "--model", MODEL, "--dataset", "acme/flatpack-bench")
    text = upload(hub, tmp_path / "home", *arguments, "--simulated")
    assert "(opened)" in text
    assert "nobody but its owners" in text
    (entry,) = entries_at(hub, "refs/pr/1")
    assert entry.value == 25.0
    noted = json.loads(next((tmp_path / "out").rglob("*_submitted.json")).read_text("utf-8"))
    assert noted["traces"] == f"{hub.url}/datasets/worker/procedural-evals-traces"
    assert noted["traces_private"] is True
    assert "(already open)" in upload(hub, tmp_path / "home", *arguments, "--simulated")
