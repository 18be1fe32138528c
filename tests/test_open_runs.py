"""Whole runs with open answers: the judge is asked for first, and every item is accounted for."""

import json

import pytest

from procedural_evals.harness import results

from . import lmms
from .judge_server import JudgeServer

pytestmark = pytest.mark.slow

MODELS = ("ours", "qwen4b", "gpt", "claude")


@pytest.fixture(scope="module")
def root(shared, tmp_path_factory):
    """The real public data under the names that the benchmarks have."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("procobject-10k", "promqa-assembly", "promqa-cooking", "assembly101-mistakes"):
        (folder / name).symlink_to(shared / "data" / name)
    return str(folder)


@pytest.fixture(scope="module")
def excerpt(shared):
    file = shared / "data/procobject-10k/explorer_excerpt.json"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def excerpt_run(root, excerpt, tmp_path_factory):
    """One model's published answers, through the task as replies from a file."""
    folder = tmp_path_factory.mktemp("excerpt")
    replies = folder / "replies.jsonl"
    with replies.open("w", encoding="utf-8") as lines:
        for row in excerpt:
            answer = row["models"]["claude"]
            reply = {"answer": answer["answer"], "evidence": answer["evidence"]}
            line = {"id": str(row["id"]), "response": json.dumps(reply)}
            lines.write(json.dumps(line) + "\n")
    run = lmms.run(
        folder / "out",
        "procobject_10k_excerpt",
        *lmms.baseline("file", path=replies),
        *("--judge", "lexical"),
        PROCEDURAL_EVALS_DATA=root,
    )
    return run


def test_published_ious_come_out_of_a_run(excerpt_run, excerpt):
    from procedural_evals.harness.open_scores import grounded

    records = excerpt_run.records["procobject_10k_excerpt"]
    ours = dict(zip([r["id"] for r in records], grounded(records).iou, strict=True))
    published = {str(row["id"]): row["models"]["claude"].get("iou") for row in excerpt}
    checked = {key: round(ours[key], 3) for key, value in published.items() if value is not None}
    assert len(checked) == 6
    assert checked == {key: published[key] for key in checked}


def test_the_report_stands_beside_the_published_rows(excerpt_run):
    done = lmms.procedural_evals("report", excerpt_run.path, "--judge", "lexical")
    assert done.returncode == 0, done.stderr
    for words in ("this run (10)", "Gemini-3.1-Flash-Lite", "answering-grounding gap", "table 2"):
        assert words in done.stdout
    assert "not comparable with published scores" in done.stdout


def cooking(output, *arguments, status=0, **extra):
    return lmms.run(
        output,
        "promqa_cooking_text",
        *lmms.baseline("oracle"),
        *("--limit", 12),
        *arguments,
        status=status,
        PROCEDURAL_EVALS_CACHE=str(output / "cache"),
        **extra,
    )


def good(messages):
    return "It means the same. [Judge] 2"


def test_a_served_judge_is_asked_once_an_item(root, tmp_path):
    with JudgeServer(reply=good) as server:
        judge = f"tiny@{server.base_url}"
        run = cooking(tmp_path, "--judge", judge, PROCEDURAL_EVALS_DATA=root)
        pings_and_items = sum(server.asked.values())
    numbers = run.results["results"]["promqa_cooking_text"]
    assert (numbers["judge,none"], numbers["judged,none"], numbers["failed,none"]) == (100, 12, 0)
    # Two pings (before the run and before judging) and each item once, although several metrics
    # and the score table ask for the verdicts.
    assert pings_and_items <= 12 + 3


def test_a_verdict_that_never_comes_is_unjudged_and_no_success(root, tmp_path):
    with JudgeServer(reply=lambda messages: "I would rather not say.") as server:
        judge = f"tiny@{server.base_url}"
        run = cooking(tmp_path, "--judge", judge, status=1, PROCEDURAL_EVALS_DATA=root)
        numbers = run.results["results"]["promqa_cooking_text"]
        assert numbers["judged,none"] == 0
        assert numbers["judge,none"] != 0
        cooking(tmp_path, "--judge", judge, "--allow-unjudged", PROCEDURAL_EVALS_DATA=root)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (("--judge", "tiny@http://127.0.0.1:9/v1"), "127.0.0.1:9"),
        ((), "Choose one with --judge"),
    ],
)
def test_without_a_judge_the_run_stops_before_the_model(root, tmp_path, judge, words):
    done = lmms.procedural_evals(
        *("run", "--tasks", "promqa_cooking_text", "--output_path", tmp_path),
        *lmms.baseline("oracle"),
        *judge,
        PROCEDURAL_EVALS_DATA=root,
    )
    assert done.returncode == 2
    assert words in done.stderr + done.stdout
    assert "Postprocessing" not in done.stderr


def test_two_judges_are_compared_over_a_run(excerpt_run, tmp_path):
    human = tmp_path / "human.csv"
    records = results.load_run(excerpt_run.path).records["procobject_10k_excerpt"]
    predictor = f"{excerpt_run.model}, procobject_10k_excerpt"
    lines = ["id,predictor,grade"] + [f'{r["id"]},"{predictor}",3' for r in records]
    human.write_text("\n".join(lines) + "\n")
    reply = "\n".join(
        f"{name}: 3"
        for name in (
            "contextual integration",
            "detail orientation",
            "contextual understanding",
            "temporal understanding",
        )
    )
    with JudgeServer(reply=lambda messages: reply) as server:
        done = lmms.procedural_evals(
            *("judge-audit", excerpt_run.path, "--rubric", "procobject_four_dimensions"),
            *("--judge", "lexical", "--judge", f"tiny@{server.base_url}"),
            *("--human", human, "--out", tmp_path / "audit.json"),
            PROCEDURAL_EVALS_CACHE=str(tmp_path / "cache"),
        )
    assert done.returncode == 0, done.stderr + done.stdout
    audit = json.loads((tmp_path / "audit.json").read_text())
    pairs = {tuple(sorted((p["first"], p["second"]))): p["percent"] for p in audit["pairs"]}
    assert len(pairs) == 3
    assert 100 in pairs.values()  # the served judge and the people agree
