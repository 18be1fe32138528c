"""The pages of the metrics: each computes its card's example, on its own and in a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import evaluate
import pytest
import yaml

from procedural_evals import folders
from procedural_evals.hub import metric_app, spaces, vendoring
from procedural_evals.hub.metric_card import CardError, read_card
from tests.browser import PHONE, browser, needs_browser, new_page
from tests.leaderboard_runs import write_run
from tests.pages import served

# What each card's first example states, as far as it states numbers: 0.396 is a rounded value.
STATED = {
    "agreement": {"percent_agreement": "75.0", "kappa": "0.5", "items": "4"},
    "answer_similarity": {},
    "distinct_n": {"distinct_1": "0.6", "ngrams_1": "5", "distinct_2": "1.0", "ngrams_2": "3"},
    "grounded_iou": {"iou": "0.396", "iop": "0.422", "iog": "0.463", "recall@0.5": "0.5"},
    "llm_judge": {"score": "50.0", "judged": "3", "total": "3"},
    "macro_f1": {"macro_f1": "0.583", "auprc": "1.0", "unanswered": "1"},
    "multiple_choice_accuracy": {
        "accuracy": "75.0",
        "accuracy/tracking": "100.0",
        "accuracy/mating": "50.0",
        "accuracy_low": "50.0",
        "parse_failure_rate": "25.0",
    },
    "step_segmentation": {"f1@0.1": "80.0", "f1@0.5": "40.0", "edit": "66.7", "mof": "60.0"},
    "task_graph_f1": {"precision": "0.25", "recall": "0.25", "f1": "0.25"},
}
# Where a package on PyPI has another name than its module.
DISTRIBUTIONS = {"yaml": "pyyaml", "PIL": "pillow", "huggingface_hub": "huggingface-hub"}


def card_of(name):
    return read_card(folders.metrics() / name)


def agrees(value, stated):
    digits = len(stated.partition(".")[2])
    return abs(float(value) - float(stated)) <= 0.5 * 10**-digits + 1e-9


def test_every_metric_has_a_page():
    assert spaces.metric_names() == sorted(STATED)


@pytest.mark.parametrize("name", STATED)
def test_a_card_has_a_header_for_its_space_and_states_what_is_expected_here(name):
    card = card_of(name)
    assert card.header["sdk"] == "gradio"
    assert str(card.header["sdk_version"]).startswith("6.")
    assert card.header["app_file"] == "app.py"
    assert {"evaluate", "metric"} <= set(card.header["tags"])
    assert all(stated in card.body for stated in STATED[name].values())
    assert card.outputs
    assert card.examples


def test_examples_are_what_the_card_calls_compute_with():
    second = card_of("agreement").examples[1]
    assert second.config == "events"
    assert second.inputs["tolerance"] == 1.0
    graph = card_of("task_graph_f1").examples[0]
    assert graph.inputs["references"][0] == graph.inputs["references"][1]


def test_a_card_without_an_example_is_refused(tmp_path):
    (tmp_path / "some_metric.py").touch()
    (tmp_path / "README.md").write_text("---\ntitle: Some metric\n---\n\n# Some metric\n")
    with pytest.raises(CardError, match="no example that calls compute"):
        list(read_card(tmp_path).examples)
    with pytest.raises(CardError, match=r"no README\.md"):
        read_card(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("[[", "[[]]", ""), "Predictions: no JSON"),
        (('{"a": 1}', "[[]]", ""), r"Predictions: a list, \[\.\.\.\] is needed"),
        (("[[]]", "[[]]", "[1]"), r"Further arguments: an object"),
        (("[[]]", "[[]]", ""), "references: item 0"),
    ],
)
def test_wrong_input_is_answered_in_words(fields, message):
    card = card_of("grounded_iou")
    with pytest.raises(ValueError, match=message):
        metric_app.computed(card, card.examples[0], *fields)


@pytest.mark.parametrize(
    "arguments",
    [
        {"model": "gpt-4o", "base_url": "http://127.0.0.1:1/v1", "key_variable": "HF_TOKEN"},
        {"rubric": "/etc/passwd"},
        {"cache_dir": "/tmp"},
        {"judges": [{"model": "m", "base_url": "http://127.0.0.1:1/v1"}]},
    ],
)
def test_a_page_reaches_for_no_file_server_or_variable(arguments):
    card = card_of("llm_judge")
    with pytest.raises(metric_app.InputError, match="not taken on this page"):
        metric_app.computed(card, card.examples[0], '["a"]', '[["a"]]', json.dumps(arguments))


def test_values_are_escaped_in_the_table():
    shown = metric_app.table(card_of("grounded_iou"), {"<b>": "<script>"})
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("name", STATED)
def test_requirements_name_every_package_that_the_space_imports(name):
    folder = folders.metrics() / name
    entries = [folder / "app.py", folder / f"{name}.py"]
    imported = vendoring.third_party([*entries, *vendoring.closure(entries)]) - {"gradio"}
    lines = (folder / "requirements.txt").read_text().split()
    named = {line.partition(">")[0].partition("<")[0] for line in lines}
    assert {DISTRIBUTIONS.get(module, module) for module in imported} <= named
    assert "procedural-evals" not in named


def test_the_leaderboard_names_every_package_too(tmp_path):
    space = spaces.build_leaderboard(tmp_path / "board")
    imported = vendoring.third_party(space.rglob("*.py")) - {"gradio"}
    # An encoder and a judge are never asked for in a Space that shows finished results.
    imported -= {"datasets", "torch", "transformers", "sentence_transformers"}
    lines = (space / "requirements.txt").read_text().split()
    named = {line.partition(">")[0] for line in lines}
    assert {DISTRIBUTIONS.get(module, module) for module in imported} == named
    header = yaml.safe_load((space / "README.md").read_text().split("---\n")[1])
    assert header["sdk"] == "gradio"
    assert "$" not in (space / "README.md").read_text().replace("$version", "")


@pytest.mark.parametrize("name", spaces.metric_names())
def test_evaluate_calls_a_metric_by_its_folder(name):
    assert evaluate.load(str(folders.metrics() / name)).name == name


def test_a_metric_space_has_no_file_of_the_leaderboard(tmp_path):
    spaces.build_metric_space("distinct_n", tmp_path)
    apps = tmp_path / "procedural_evals" / "hub" / "apps"
    assert {file.name for file in apps.iterdir()} == {"page.css", "metric.css"}


def test_a_space_replaces_its_earlier_build_and_nothing_else(tmp_path):
    out = tmp_path / "distinct_n"
    spaces.build_metric_space("distinct_n", out)
    (out / "left_over.py").touch()
    spaces.build_metric_space("distinct_n", out)
    assert not (out / "left_over.py").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="no built Space"):
        spaces.build_leaderboard(other)
    assert (other / "thesis.tex").exists()
    with pytest.raises(KeyError, match="no metric 'nothing'"):
        spaces.build_metric_space("nothing", tmp_path / "nothing")


@pytest.mark.slow
def test_every_space_runs_without_the_package_and_without_lmms_eval(tmp_path):
    results = tmp_path / "results"
    write_run(results, "lab/good", [True, True, False, True] * 10)
    write_run(results, "lab/bad", [True, False, False, False] * 10)
    built = tmp_path / "spaces"
    for name in STATED:
        spaces.build_metric_space(name, built / name)
    spaces.build_leaderboard(built / "leaderboard", str(results))
    script = Path(__file__).with_name("space_check.py")
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(built)], capture_output=True, text=True, timeout=300
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    reports = {report["space"]: report for report in lines}
    assert set(reports) == {*STATED, "leaderboard"}, done.stderr[-4000:]
    assert not [report for report in lines if "error" in report], done.stderr[-4000:]
    for name, report in reports.items():
        assert report["modules"] >= 5
        assert report["elsewhere"] == []
        for output, stated in STATED.get(name, {}).items():
            assert agrees(report["found"][output], stated), (name, output)
    board = reports["leaderboard"]["found"]
    assert board["problems"] == []
    assert [pair["difference"] for pair in board["pairs"]] in ([-50.0], [50.0])


@pytest.fixture(scope="module")
def address():
    pages = {
        name: (metric_app.page(folders.metrics() / name), metric_app.options()) for name in STATED
    }
    with served(pages) as at:
        yield at


@pytest.mark.slow
@needs_browser
def test_every_page_shows_in_a_browser_what_its_card_states(address):
    with browser() as running:
        for name, stated in STATED.items():
            tab = new_page(running, PHONE)
            tab.goto(f"{address}/{name}/")
            tab.click("button:has-text('Compute')")
            tab.wait_for_selector(".pe.metric table, .pe.metric .problem", timeout=120_000)
            assert tab.locator(".problem").count() == 0, tab.locator(".problem").inner_text()
            shown = {
                row.locator("th code").inner_text(): row.locator("td.number")
                .inner_text()
                .split("\n")[0]
                for row in tab.locator(".pe.metric tbody tr").all()
            }
            assert shown
            for output, value in stated.items():
                assert agrees(shown[output], value), (name, output, shown[output])
            title = str(card_of(name).header["title"])
            assert title in tab.locator("h1").first.inner_text()
            assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
            tab.close()


@pytest.mark.slow
@needs_browser
def test_a_page_answers_wrong_input_in_words(address):
    with browser() as running:
        tab = new_page(running)
        tab.goto(f"{address}/grounded_iou/")
        tab.locator("textarea").first.fill('[[{"start": 5, "end": "<img src=x>"}]]')
        tab.click("button:has-text('Compute')")
        alert = tab.locator('[role="alert"]')
        alert.wait_for()
        assert alert.inner_text()
        assert tab.locator(".pe.metric img").count() == 0
