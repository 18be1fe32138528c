"""Results folders that are damaged, foreign, secret, hostile or huge: what users see of them."""

import json
import signal
import subprocess
import sys

import pytest

from procedural_evals import cli
from procedural_evals.harness import judging, results
from procedural_evals.harness.judging import Verdicts
from procedural_evals.harness.masking import without_secrets
from procedural_evals.harness.paired_line import line_of
from procedural_evals.harness.results import load_run
from procedural_evals.harness.write_json import write_json
from procedural_evals.hub.traces import clean, clean_arguments
from procedural_evals.judge.base import Judgement
from procedural_evals.printable import printable
from procedural_evals.reporting import figures, render
from procedural_evals.reporting.page import Page, Section
from procedural_evals.scores.uncertainty import Difference

from .comparison_records import choice, judged, write_run

SECRET = "correct-horse"
CONTROLS = "\x1b[2J\x1b]0;owned\x07 \x9b31m \x00 \u202ereversed \ud83d"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """No judge is chosen by whoever runs the tests, and no verdict of theirs is found."""
    monkeypatch.setenv("PROCEDURAL_EVALS_JUDGE", "")  # reports set it: put back after the test
    monkeypatch.delenv("PROCEDURAL_EVALS_JUDGE")
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))


def outputs(capsys, folder):
    """All that the commands which show runs print and write about the runs in two folders."""
    for arguments in (
        ["compare", folder / "a", folder / "b", "--flips", "9", "--json", folder / "found.json"],
        ["audit", folder / "a", folder / "b", "--json", folder / "audit.json"],
        ["report", folder / "b"],
        ["report", folder / "b", "--out", folder / "page", "--no-media"],
    ):
        assert cli.main([str(each) for each in arguments]) == 0
        done = capsys.readouterr()
        yield done.out + done.err
    written = [folder / "found.json", folder / "audit.json", *(folder / "page").rglob("*.*")]
    assert len(written) >= 5
    for file in written:
        yield file.read_text(encoding="utf-8")


def hostile(records, words):
    return [
        record | {"reply": words, "letter": "A", "score": 100.0 * (record["gold"] == "A")}
        for record in records
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        f"model_version=m,api_key={SECRET}",
        {"api_key": SECRET, "headers": {"Authorization": f"Bearer {SECRET}"}},
        f"base_url=https://ann:{SECRET}@host/v1?api_key={SECRET}",
    ],
)
def test_no_key_of_a_model_is_shown(tmp_path, capsys, arguments):
    more = {"model_args": arguments, "gen_kwargs": f"temperature=1,token={SECRET}"}
    tasks = {"bench": choice(seed=2), "bench_blind": choice(seed=3)}
    write_run(tmp_path / "a", {"bench": choice(seed=1)})
    write_run(tmp_path / "b", tasks, **more)
    shown = list(outputs(capsys, tmp_path))
    assert any("***" in each for each in shown[:4])
    for each in shown:
        assert SECRET not in each
    write_run(tmp_path / "c", {"bench": choice()}, **more)
    error = _error(capsys, ["audit", tmp_path / "c"])
    assert "no task is a variant" in error
    assert SECRET not in error


def test_no_password_of_a_judge_is_shown(tmp_path, capsys):
    address = f"grader@http://ann:{SECRET}@127.0.0.1:9/v1"
    write_run(tmp_path / "a", {"open": [r | {"judge": address} for r in judged(seed=1)]})
    write_run(tmp_path / "b", {"open": [r | {"judge": address} for r in judged(seed=2)]})
    for file in tmp_path.rglob("*_judgements_*"):  # as complete as a run writes them
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        more = {"grade": 1.0, "replies": ["1"]}
        file.write_text("".join(json.dumps(line | more) + "\n" for line in lines))
    page = tmp_path / "page"
    assert cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert cli.main(["report", str(tmp_path / "b")]) == 0
    assert cli.main(["report", str(tmp_path / "b"), "--out", str(page), "--no-media"]) == 0
    shown = [capsys.readouterr().out]
    shown += [(page / name).read_text() for name in (render.HTML, render.MARKDOWN)]
    assert "grader@http://127.0.0.1:9/v1" in shown[1]
    for each in shown:
        assert SECRET not in each


def _error(capsys, arguments):
    assert cli.main([str(each) for each in arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a=1,hf_token=x,b=2", "a=1,hf_token=***,b=2"),
        ("password='a, b',c=1", "password=***,c=1"),
        ("max_new_tokens=16,tokenizer=t,use_auth_token=True", None),
        ("name=hf_abcdefghijklmnopqrst", "name=***"),
        ("pretrained=/models/monk,seed=0", None),
        (None, "None"),
    ],
)
def test_secrets_are_told_by_name_and_shape(given, shown):
    assert without_secrets(given) == (given if shown is None else shown)


def test_arguments_that_are_passed_on_hold_no_secret_and_still_their_counts():
    given = f"headers={{'Authorization': 'Bearer {SECRET}'}},api_key={SECRET},max_new_tokens=5"
    assert SECRET not in clean_arguments(given)
    assert "max_new_tokens=5" in clean_arguments(given)
    settings = {"hf_token": SECRET, "Authorization": SECRET, "more": [f"api_key={SECRET}"]}
    assert clean({"max_new_tokens": 5, **settings}) == {
        "max_new_tokens": 5,
        "more": ["api_key=***"],
    }


def test_no_control_character_of_a_model_reaches_a_terminal_or_a_page(tmp_path, capsys):
    records = hostile(choice(seed=2), CONTROLS)
    for record in records:
        record["category"] = f"track{CONTROLS}"
    records[0] |= {"failure": f"server said {CONTROLS}"}
    tasks = {"bench": records, "bench_blind": hostile(choice(seed=3), CONTROLS)}
    write_run(tmp_path / "a", {"bench": choice(seed=1)})
    write_run(tmp_path / "b", tasks)
    shown = list(outputs(capsys, tmp_path))
    for each in [*shown[:4], *shown[6:]]:  # JSON is read by programs
        assert not set(each) & set("\x1b\x07\x9b\x00\u202e")
    assert r"\x1b[2J" in shown[0]
    assert r"\x1b[2J" in (tmp_path / "page" / render.HTML).read_text(encoding="utf-8")


def test_all_scripts_stay_as_they_are():
    text = "Schraube, винт, ねじ, برغي, בורג 🔩 e\u0301\tend\n"
    assert printable(text) == text


def test_any_text_can_be_written_as_json(tmp_path):
    write_json(tmp_path / "found.json", {"reply": "half \ud83d of a pair"})
    assert json.loads((tmp_path / "found.json").read_text()) == {"reply": "half \ud83d of a pair"}


def test_an_enormous_run_makes_a_page_that_can_be_opened(tmp_path, capsys):
    records = choice(4000)
    for record in records[:3000]:
        record["failure"] = "no answer " + "x" * 2000
    for record in records[3000:]:
        record["reply"] = "word " * 20000
    write_run(tmp_path, {"bench": records})
    assert cli.main(["report", str(tmp_path), "--out", str(tmp_path / "page"), "--no-media"]) == 0
    for name in (render.HTML, render.MARKDOWN):
        text = (tmp_path / "page" / name).read_text(encoding="utf-8")
        assert len(text) < 500_000
        assert "... and 2950 more" in text
        assert "... (92,000 more characters)" in text


def cut(file):
    file.write_bytes(file.read_bytes()[:-40])


def garble(file):
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:1], b'{"x": "\xff\xfe"}\n', *lines[1:]]))


@pytest.mark.parametrize(
    ("pattern", "spoil", "words"),
    [
        ("*_results.json", cut, "_results.json: damaged, or cut off"),
        ("*_samples_*", cut, "_samples_bench.jsonl:40: damaged, or cut off"),
        ("*_samples_*", garble, "_samples_bench.jsonl:2: damaged"),
        ("*_results.json", lambda f: f.write_text("[1]"), "list in the place of a JSON object"),
        ("*_results.json", lambda f: f.write_text("{}"), '"configs"'),
        ("*_results.json", lambda f: f.write_text('{"configs": [1]}'), '"configs" is [1]'),
        ("*_samples_*", lambda f: f.write_text("[1]\n"), "jsonl:1: list in the place of"),
        (
            "*_samples_*",
            lambda f: f.write_text(f.read_text().replace('"cluster"', '"klaster"')),
            "the record of q000 lacks cluster",
        ),
    ],
)
@pytest.mark.parametrize("command", ["report", "compare", "audit"])
def test_a_damaged_file_is_named(tmp_path, capsys, command, pattern, spoil, words):
    write_run(tmp_path, {"bench": choice()})
    spoil(next(tmp_path.glob(pattern)))
    paths = [tmp_path, tmp_path] if command == "compare" else [tmp_path]
    assert words in _error(capsys, [command, *paths])


@pytest.mark.parametrize("changed", [40, 20])
def test_records_of_an_unknown_kind_are_named(tmp_path, capsys, changed):
    records = choice()
    for record in records[:changed]:
        record["kind"] = "drawing"
    write_run(tmp_path, {"bench": records})
    samples = next(tmp_path.glob("*_samples_*"))
    samples.write_text(samples.read_text().replace('"judge": {', '"accuracy": {'))
    assert "drawing; a task's are all of one of" in _error(capsys, ["report", tmp_path])


@pytest.mark.parametrize("spoil", [cut, lambda file: file.write_text("3\n")])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_damaged_file_of_judgements_is_named(tmp_path, capsys, command, spoil):
    write_run(tmp_path, {"open": judged()})
    spoil(next(tmp_path.glob("*_judgements_*")))
    paths = [tmp_path, tmp_path] if command == "compare" else [tmp_path]
    error = _error(capsys, [command, *paths])
    assert "_judgements_open.jsonl:" in error
    assert "no judgement" in error


def test_empty_lines_are_no_damage(tmp_path):
    file = write_run(tmp_path, {"bench": choice()})
    with next(tmp_path.glob("*_samples_*")).open("a") as lines:
        lines.write("\n \n")
    assert len(load_run(file).records["bench"]) == 40


def test_tasks_of_lmms_evals_own_are_set_aside_and_named(tmp_path, capsys):
    file = write_run(tmp_path, {"bench": choice(), "mme": choice()})
    foreign = next(tmp_path.glob("*_samples_mme*"))
    foreign.write_text('{"doc_id": 0, "mme_score": {"question_id": "a", "score": 1.0}}\n')
    assert list(load_run(file).records) == ["bench"]
    assert cli.main(["report", str(tmp_path)]) == 0
    assert "left out, tasks of lmms-eval's own: mme" in capsys.readouterr().out
    foreign.unlink()
    assert "no samples" in _error(capsys, ["report", tmp_path])


def test_a_run_of_lmms_evals_own_tasks_alone_is_refused(tmp_path, capsys):
    write_run(tmp_path, {"mme": choice()})
    next(tmp_path.glob("*_samples_*")).write_text('{"doc_id": 0, "mme_score": 1.0}\n')
    assert "mme: no task of this package" in _error(capsys, ["report", tmp_path])


def test_a_run_of_replies_alone_says_how_they_are_scored(tmp_path, capsys):
    write_run(tmp_path, {"bench": choice()}, resolved_cli_args={"predict_only": True})
    next(tmp_path.glob("*_samples_*")).write_text('{"doc_id": 0, "bypass": 999}\n')
    assert "without --predict_only scores them" in _error(capsys, ["report", tmp_path])


def test_a_page_leaves_other_files_of_its_folder_alone(tmp_path):
    write_run(tmp_path, {"bench": choice()})
    page = tmp_path / "page"
    (page / render.FILES).mkdir(parents=True)
    mine = [page / "notes.txt", page / render.FILES / "mine.jpg"]
    for file in mine:
        file.write_text("mine")
    arguments = ["report", str(tmp_path), "--out", str(page), "--no-media"]
    assert cli.main(arguments) == 0
    (page / render.FILES / "bench-scores.svg").rename(page / render.FILES / "bench-old.svg")
    report = page / render.MARKDOWN
    report.write_text(report.read_text().replace("bench-scores.svg", "bench-old.svg"))
    assert cli.main(arguments) == 0
    assert [file.read_text() for file in mine] == ["mine", "mine"]
    assert sorted(file.name for file in (page / render.FILES).iterdir()) == [
        "bench-scores.svg",
        "mine.jpg",
    ]


def test_a_task_s_name_cannot_lead_out_of_the_page_s_folder(tmp_path):
    figure = figures.whiskers([figures.Whisker("all", 50.0)], "accuracy")
    section = Section("../../t", "accuracy", None, "", figure, None)
    render.write(Page("m", "", "", "f", (), (section,)), tmp_path / "deep" / "page")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 3
    assert all(tmp_path / "deep" / "page" in file.parents for file in files)


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    write_run(tmp_path, {"bench": choice()})
    (tmp_path / "file").touch()
    error = _error(capsys, ["report", tmp_path, "--out", tmp_path / "file"])
    assert f"{tmp_path / 'file'}" in error
    assert "tasks:" not in error
    assert "--items -1" in _error(capsys, ["report", tmp_path, "--items", "-1"])


def test_a_refusal_for_other_judges_names_the_way_to_one_judge(tmp_path, capsys):
    write_run(tmp_path / "a", {"open": judged(seed=1)})
    other = [record | {"judges": ["m@http://host|promqa_ternary@1"]} for record in judged(seed=2)]
    write_run(tmp_path / "b", {"open": other})
    assert cli.main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "--judge NAME to have both judged by one" in capsys.readouterr().out


@pytest.mark.parametrize("clusters", [1, 2])
def test_intervals_of_one_video_are_said_to_mean_nothing(tmp_path, capsys, clusters):
    write_run(tmp_path, {"bench": choice(clusters=clusters)})
    assert cli.main(["report", str(tmp_path)]) == 0
    assert ("so that intervals say nothing" in capsys.readouterr().out) is (clusters == 1)


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_no_p_value_is_smaller_than_the_number_of_clusters_allows(k):
    found = Difference(5.0, 4.0, 6.0, 0.001)
    line = line_of("accuracy", "all", 50.0, 55.0, found, [f"v{n}" for n in range(k)], True)
    assert line.p_value == max(0.001, 2 / 2**k)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    write_run(tmp_path / "a", {"bench": choice(400, seed=1)})
    write_run(tmp_path / "b", {"bench": choice(400, seed=2)})
    command = [sys.executable, "-m", "procedural_evals.cli", "compare", "--flips", "400"]
    with subprocess.Popen(
        [*command, tmp_path / "a", tmp_path / "b"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_a_report_of_a_run_from_elsewhere_asks_no_judge_again(tmp_path, capsys, monkeypatch):
    named = "grader@http://127.0.0.1:9/v1"
    records = [
        record | {"judge": named, "judges": ["grader|promqa_ternary@1"]}
        for record in judged(n=12, seed=1)
    ]
    run = load_run(write_run(tmp_path, {"open": records}, judgements=False))
    rows = {
        record["id"]: (
            Judgement(record["id"], record["judges"][0], {"Judge": 2.0}, 2.0, 100.0, None, ("2",)),
        )
        for record in records
    }
    results.write_judgements(run, "open", Verdicts((), rows))
    monkeypatch.setattr(judging, "_judged", lambda *asked: pytest.fail(f"asked: {asked}"))
    for arguments in ([], ["--out", str(tmp_path / "page"), "--no-media"]):
        assert cli.main(["report", str(tmp_path), *arguments]) == 0
    assert "12 of 12 judged by grader|promqa_ternary@1" in capsys.readouterr().out
    assert "100.0" in (tmp_path / "page" / render.HTML).read_text(encoding="utf-8")
    with pytest.raises(pytest.fail.Exception, match="asked"):
        cli.main(["report", str(tmp_path), "--judge", "lexical"])


def test_words_of_a_judge_that_have_no_bytes_are_kept(tmp_path):
    run = load_run(write_run(tmp_path, {"open": judged(n=1)}, judgements=False))
    row = (Judgement("q000", "j|r@1", {"Judge": 2.0}, 2.0, 100.0, None, ("half \ud83d",)),)
    file = results.write_judgements(run, "open", Verdicts((), {"q000": row}))
    assert results.read_judgements(file).rows == {"q000": row}
