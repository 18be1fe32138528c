"""The leaderboard's rows: what papers print and what was submitted, side by side or kept apart."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, constants

from procedural_evals.harness.published import card_of
from procedural_evals.hub import cli, leaderboard_app, spaces
from procedural_evals.hub.leaderboard import leaderboard_data
from procedural_evals.hub.leaderboard_boards import BOARDS, board_of
from procedural_evals.hub.leaderboard_compare import compare_entries
from procedural_evals.hub.leaderboard_published import published_entries
from procedural_evals.hub.task_ids import TASKS
from tests.leaderboard_runs import choice_records, write_run

GOOD = [True, True, False, True] * 10
BAD = [True, False, False, False] * 10


def board(data, key="flatpack_bench"):
    return next(each for each in data["boards"] if each["key"] == key)


def rows(folder, key="flatpack_bench", origin="submitted"):
    found = board(leaderboard_data(folder), key)["entries"]
    return [entry for entry in found if entry["origin"] == origin]


def test_every_task_of_the_hub_has_a_board_that_shows_its_number():
    for task in TASKS:
        shown = board_of(task.lmms_task)
        assert shown is not None, task.id
        assert task.metric in shown.metrics, task.id


def test_every_column_of_a_view_exists():
    for each in leaderboard_data()["boards"]:
        for view in each["views"]:
            assert set(view["columns"]) <= set(each["columns"]), each["key"]
        assert each["main"] in each["columns"]


def test_published_rows_are_the_cards_figures_without_intervals():
    entries = {
        (entry.board, entry.model, entry.note, entry.task): entry for entry in published_entries()
    }
    human = entries["flatpack_bench", "Human", "", "flatpack_bench"]
    assert human.cells["accuracy:all"] == (94.18, None, None, 602)
    assert human.access == "reference"
    blind = entries["procobject_10k", "GPT-5.4-Mini", "", "procobject_10k_blind"]
    assert "iou:all" not in blind.cells
    assert blind.cells["judge:reasoning: multi-hop"] == (3.13, None, None, 614)
    tuned = entries["procobject_10k", "Qwen3-VL-4B", "fine-tuned", "procobject_10k"]
    assert tuned.cells["iou:all"].value == 44.5
    assembly = entries["promqa_assembly", "GPT-4o", "", "promqa_assembly"]
    assert assembly.cells["judge:question_type: next"].value == 40.1
    assert assembly.judge == "GPT-4o (gpt-4o-2024-11-20)"


def test_no_published_row_and_no_column_of_a_card_is_left_out():
    entries = published_entries()
    for each in BOARDS:
        card = card_of(each.key)
        if card is not None:
            mine = [entry for entry in entries if entry.board == each.key]
            assert [entry.model for entry in mine] == [model["name"] for model in card["models"]]
            assert set(mine[-1].cells) <= set(board(leaderboard_data(), each.key)["columns"])


def test_a_submission_has_its_interval_denominator_kinds_and_sources(tmp_path):
    made = write_run(tmp_path, "lab/good", GOOD)
    (row,) = rows(tmp_path)
    assert row["cells"]["accuracy:all"] == (75.0, made.low, made.high, 40)
    assert row["cells"]["accuracy:tloc"].value == 100.0
    assert row["chance"] == {"accuracy:all": 25.0}
    assert (row["date"], row["access"], row["traces"]) == ("2026-11-02", "open", True)
    facts = {fact.name: fact for fact in row["facts"]}
    assert facts["Items"].text == "40 of 40 answered, 0 failed"
    assert "lmms-eval 0.7.3" in facts["Versions"].text
    assert facts["Every item's record"].url == (
        "https://huggingface.co/datasets/lab/traces/blob/main/"
        "flatpack-bench/lab--good/flatpack_bench/items.jsonl"
    )


def test_two_numbers_of_one_run_are_one_row_on_the_boards_own_scales(tmp_path):
    changes = {"benchmark": "procobject-10k", "rows": (), "parser": None, "n": 40}
    for task_id, metric, extra in (
        ("procobject_10k", "iou", {"IoP": 60.0, "no span %": 1.0}),
        ("procobject_10k_judge", "judge", {}),
    ):
        write_run(
            tmp_path,
            "lab/good",
            GOOD,
            task="procobject_10k",
            task_id=task_id,
            metric=metric,
            value=50.0,
            low=40.0,
            high=60.0,
            extra=extra,
            judges=("gpt-4o-2024-11-20@api.openai.com|procobject_four_dimensions@1",),
            **changes,
        )
    (row,) = rows(tmp_path, "procobject_10k")
    assert row["cells"]["iou:all"] == (50.0, 40.0, 60.0, 40)
    assert row["cells"]["judge:all"] == (2.5, 2.0, 3.0, 40)
    assert row["cells"]["iop:all"].value == 60.0
    assert row["judge"] == "gpt-4o-2024-11-20@api.openai.com"
    assert row["comparable"]


def test_simulated_questions_and_word_judges_are_marked(tmp_path):
    write_run(tmp_path, "lab/sim", GOOD, task="flatpack_bench_sample", simulated=True)
    write_run(tmp_path, "lab/words", BAD, judges=("lexical@1|promqa_ternary@1",))
    found = {row["model"]: row for row in rows(tmp_path)}
    assert found["lab/sim"]["simulated"]
    assert not found["lab/words"]["comparable"]


def test_a_damaged_file_is_named_and_takes_no_other_row_away(tmp_path):
    write_run(tmp_path, "lab/good", GOOD)
    broken = tmp_path / "flatpack-bench/lab--broken/flatpack_bench/submission.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"version": 1')
    moved = write_run(tmp_path, "lab/moved", GOOD)
    (tmp_path / moved.folder).rename(tmp_path / "flatpack-bench/lab--moved/elsewhere")
    data = leaderboard_data(tmp_path)
    submitted = [e["model"] for e in board(data)["entries"] if e["origin"] == "submitted"]
    assert submitted == ["lab/good"]
    assert [text.partition(":")[0] for text in data["problems"]] == [
        "flatpack-bench/lab--broken/flatpack_bench",
        "flatpack-bench/lab--moved/elsewhere",
    ]


def test_a_folder_that_is_absent_is_an_error():
    with pytest.raises(FileNotFoundError, match="nowhere: no such folder"):
        leaderboard_app.source_of("nowhere")


def test_a_hub_that_is_away_leaves_the_published_rows_and_says_so():
    def away():
        raise OSError("lab/traces cannot be reached")

    data = leaderboard_app.Results(away).boards()
    assert board(data)["entries"]
    assert data["problems"] == [
        "The submissions could not be fetched: lab/traces cannot be reached"
    ]


def test_the_data_of_the_page_is_plain_json(tmp_path):
    write_run(tmp_path, "lab/good", GOOD)
    data = leaderboard_app.Results(lambda: tmp_path).boards()
    assert json.loads(json.dumps(data)) == data


def ids(*names, task="flatpack_bench"):
    return [f"submitted/lab/{name}/{task}" for name in names]


def test_two_rows_compare_item_by_item(tmp_path):
    write_run(tmp_path, "lab/good", GOOD)
    write_run(tmp_path, "lab/bad", BAD)
    found = compare_entries(tmp_path, *ids("good", "bad"), "accuracy")
    assert found["difference"] == -50.0
    assert found["low"] <= -50.0 <= found["high"] < 0
    assert found["words"].startswith("A is better")
    assert found["flipped"] == 20
    assert len(found["flips"]) == 20
    assert found["flips"][0] == {
        "id": "item-001",
        "a": 100.0,
        "b": 0.0,
        "reply_a": "The answer is B.",
        "reply_b": "The answer is C.",
    }
    same = compare_entries(tmp_path, *ids("good", "good"), "accuracy")
    assert same["difference"] == 0.0
    assert "p = 1.000" in same["words"]


def test_iou_is_compared_by_the_scores_in_the_traces_without_the_true_spans(tmp_path):
    def records(values):
        return [
            record | {"kind": "grounded", "score": value, "prediction": "The wheel."}
            for record, value in zip(choice_records(GOOD), values, strict=True)
        ]

    for name, step in (("a", 1.0), ("b", 2.0)):
        write_run(
            tmp_path,
            f"lab/{name}",
            GOOD,
            task="procobject_10k",
            records=records([step * number for number in range(40)]),
            benchmark="procobject-10k",
            metric="iou",
        )
    found = compare_entries(tmp_path, *ids("a", "b", task="procobject_10k"), "iou")
    assert found["metric"] == "IoU"
    assert found["difference"] == pytest.approx(19.5)
    assert found["warnings"] == []
    instead = compare_entries(tmp_path, *ids("a", "b", task="procobject_10k"), "iop")
    assert instead["metric"] == "IoU"
    assert "no value for single items" in instead["warnings"][0]


def test_rows_that_rest_on_different_questions_are_not_compared(tmp_path):
    write_run(tmp_path, "lab/good", GOOD)
    write_run(tmp_path, "lab/other", BAD, revision="questions.jsonl@ffffffffffff")
    found = compare_entries(tmp_path, *ids("good", "other"), "accuracy")
    assert "dataset revision" in found["error"]
    assert "error" in compare_entries(tmp_path, "submitted/lab/none/x", ids("good")[0], "accuracy")


def test_rows_without_traces_are_shown_but_not_offered_for_comparison(tmp_path):
    made = write_run(tmp_path, "lab/good", GOOD)
    (tmp_path / made.traces).unlink()
    (row,) = rows(tmp_path)
    assert not row["traces"]
    assert "No such file" in compare_entries(tmp_path, *ids("good", "good"), "accuracy")["error"]


def test_one_recording_gives_a_difference_and_no_interval(tmp_path):
    for name, right in (("a", [True, False]), ("b", [True, True])):
        write_run(tmp_path, f"lab/{name}", right)
    found = compare_entries(tmp_path, *ids("a", "b"), "accuracy")
    assert (found["difference"], found["low"], found["high"]) == (50.0, None, None)
    assert "one recording" in found["words"]


def test_a_number_without_an_interval_is_a_cell_without_ends(tmp_path):
    made = write_run(tmp_path, "lab/good", GOOD)
    file = tmp_path / made.folder / "submission.json"
    file.write_text(replace(made, low=None, high=None).to_json())
    (row,) = rows(tmp_path)
    assert row["cells"]["accuracy:all"] == (75.0, None, None, 40)


@pytest.fixture
def own_hub(hub, monkeypatch, tmp_path):
    """A Hub on this machine that commands in this process find, with a token of a member of ORG."""
    template = "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_TOKEN", hub.token)
    return hub


def test_the_command_pushes_the_page_with_its_submissions(own_hub, tmp_path, capsys):
    results, out = tmp_path / "results", tmp_path / "space"
    made = write_run(results, "lab/good", GOOD)
    arguments = ["leaderboard", "--results", str(results), "--out", str(out), "--push", "ORG"]
    assert cli.main(arguments) == 0
    repository = own_hub.repository("space", f"ORG/{spaces.LEADERBOARD}")
    assert {f"results/{made.folder}/submission.json", f"results/{made.traces}"} < set(
        repository.files()
    )
    assert repository.private
    capsys.readouterr()
    assert cli.main(arguments) == 0
    assert "up to date" in capsys.readouterr().out


def test_a_traces_repository_on_the_hub_is_read_and_read_again(own_hub, tmp_path):
    api = HfApi(endpoint=own_hub.url, token=own_hub.token)
    api.create_repo("ORG/traces", repo_type="dataset")
    results = leaderboard_app.Results(leaderboard_app.source_of("ORG/traces"), fresh=0.0)
    assert not [e for e in board(results.boards())["entries"] if e["origin"] == "submitted"]
    made = write_run(tmp_path / "results", "lab/good", GOOD)
    operations = [
        CommitOperationAdd(f"{made.folder}/{name}", tmp_path / "results" / made.folder / name)
        for name in ("submission.json", "items.jsonl")
    ]
    api.create_commit("ORG/traces", operations, repo_type="dataset", commit_message="A submission")
    (row,) = [e for e in board(results.boards())["entries"] if e["origin"] == "submitted"]
    assert (row["model"], row["traces"]) == ("lab/good", True)
    (problem,) = leaderboard_app.Results(leaderboard_app.source_of("ORG/none")).boards()["problems"]
    assert problem.startswith("The submissions could not be fetched")


def test_the_command_says_that_a_repository_of_traces_cannot_be_read(own_hub, tmp_path, capsys):
    space = ["leaderboard", "--out", str(tmp_path / "space"), "--results"]
    assert cli.main([*space, "ORG/none"]) == 0
    said = capsys.readouterr().err
    assert "--results ORG/none could not be read: the Hub has no such dataset repository" in said
    pushes = (
        ["leaderboard", "--push", "ORG", "--out", str(tmp_path / "pushed")],
        ["push", "leaderboard", "--namespace", "ORG", "--build-dir", str(tmp_path / "built")],
    )
    for arguments in pushes:
        assert cli.main([*arguments, "--results", "ORG/none"]) == 2
        assert "ORG/none could not be read" in capsys.readouterr().err
    assert own_hub.names("space") == []
    HfApi(endpoint=own_hub.url, token=own_hub.token).create_repo("ORG/empty", repo_type="dataset")
    for arguments in pushes:
        assert cli.main([*arguments, "--results", "ORG/empty"]) == 0
    assert "ORG/empty: 0 submitted rows" in capsys.readouterr().out


def test_the_command_says_what_a_folder_holds(tmp_path, capsys):
    space = ["leaderboard", "--out", str(tmp_path / "space"), "--results"]
    (tmp_path / "run").mkdir()
    assert cli.main([*space, str(tmp_path / "run")]) == 0
    assert "run: 0 submitted rows; submissions lie in BENCHMARK/" in capsys.readouterr().out
    made = write_run(tmp_path / "results", "lab/good", GOOD)
    broken = tmp_path / "results" / made.folder.replace("good", "bad\x1b") / "submission.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    assert cli.main([*space, str(tmp_path / "results")]) == 0
    shown = capsys.readouterr().out
    assert "results: 1 submitted row\n" in shown
    assert "left out, flatpack-bench/lab--bad\\x1b/flatpack_bench: not JSON" in shown


@pytest.mark.parametrize("port", ["0", "65536", "-1", "web"])
def test_a_port_that_is_none(port, capsys):
    with pytest.raises(SystemExit):
        cli.main(["leaderboard", "--serve", f"--port={port}"])
    assert f"'{port}' is no port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", __file__], "a file; name a folder"),
        (["--serve", "--push", "ORG"], "leave out --out and --push"),
        (["--public"], "belong to --push"),
        (["--results", "nowhere", "--out", "x"], "no such folder, and no repository"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(arguments, message, capsys):
    assert cli.main(["leaderboard", *arguments]) == 2
    assert message in capsys.readouterr().err
