"""Comparisons and audits of real lmms-eval runs: the reference policies on the samples."""

from __future__ import annotations

import json

import pytest

from . import lmms

pytestmark = pytest.mark.slow

TASKS = (
    "flatpack_bench_sample",
    "flatpack_bench_blind_sample",
    "flatpack_bench_shuffled_sample",
    "promqa_assembly_sample",
    "promqa_assembly_text_sample",
    "procobject_10k_sample",
    "procobject_10k_blind_sample",
    "dyad_step_sample",
    "dyad_mode_sample",
    "dyad_response_sample",
)
HEADLINES = ("accuracy", "accuracy", "accuracy", "judge", "judge", "IoU", "judge", "F1@0.1")
HEADLINES += ("macro-F1", "judge")
PLAIN = {"PROCEDURAL_EVALS_ENCODER": "none"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Results folders of a random and of an oracle run of all tasks."""
    folder = tmp_path_factory.mktemp("compared")
    for policy in ("random", "oracle"):
        lmms.run(
            folder / policy,
            ",".join(TASKS),
            *lmms.baseline(policy),
            *("--judge", "lexical"),
            **PLAIN,
        )
    return folder


def found(command, *arguments, status=0):
    """What a command wrote as JSON, and printed."""
    done = lmms.procedural_evals(command, *arguments, **PLAIN)
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    file = next((a for a in arguments if str(a).endswith(".json")), None)
    return json.loads(file.read_text()) if file else None, done.stdout


def test_an_oracle_beats_guessing_on_every_task(runs):
    compared, shown = found(
        "compare", runs / "random", runs / "oracle", "--json", runs / "compared.json"
    )
    assert set(compared["tasks"]) == set(TASKS)
    for task, measure in zip(TASKS, HEADLINES, strict=True):
        headline = compared["tasks"][task]["lines"][0]
        assert headline["measure"] == measure
        assert headline["b"] == pytest.approx(100)
        assert 0 < headline["low"] <= headline["difference"]
        # The least that so few videos or participants can show.
        assert headline["p_value"] <= max(0.05, 2 / 2 ** headline["clusters"])
        assert compared["tasks"][task]["flips"]["lost"] == []
        flip = compared["tasks"][task]["flips"]["gained"][0]
        assert flip["reply_a"] != flip["reply_b"]
    assert "note" not in shown.split("flatpack_bench_sample")[0]


def test_a_run_differs_from_itself_in_nothing(runs):
    compared, _ = found("compare", runs / "random", runs / "random", "--json", runs / "self.json")
    for comparison in compared["tasks"].values():
        assert comparison["contrasts"] == []
        assert {line["difference"] for line in comparison["lines"]} == {0}


def test_words_only_are_no_match_for_the_video_without_force(runs):
    pair = ("--tasks", "flatpack_bench_sample:flatpack_bench_blind_sample")
    _, shown = found("compare", runs / "random", runs / "random", *pair, status=1)
    assert "media shown: A has video, visual_prompts, B has none" in shown
    assert "template: A has flatpack_bench/video_one_image@" in shown
    _, shown = found("compare", runs / "random", runs / "random", *pair, "--force")
    assert "! differs, compared all the same: media shown" in shown


def test_the_audit_sees_that_a_random_policy_looks_at_nothing(runs):
    audited, shown = found("audit", runs / "random", "--json", runs / "audit.json")
    audits = {audit["task"]: audit for audit in audited["audits"]}
    assert {task: audit["measure"] for task, audit in audits.items()} == {
        "flatpack_bench_sample": "accuracy",
        "promqa_assembly_sample": "judge",
        "procobject_10k_sample": "judge",
    }
    findings = audits["flatpack_bench_sample"]["findings"]
    named = {finding["name"]: finding for finding in findings}
    assert set(named) == {"blind", "shuffled", "most frequent letter", "random letter"}
    blind, shuffled = named["blind"], named["shuffled"]
    assert (blind["hidden"], blind["withholds_video"]) == (["video", "visual_prompts"], True)
    assert blind["lines"][0]["difference"] == 0
    assert blind["overlap"]["kept"] == blind["overlap"]["scored"]
    assert shuffled["letters"]["same"] == shuffled["letters"]["items"] == 48
    assert shuffled["letters"]["moved"]
    assert "a habit of letters, beyond chance" in shown


def test_the_audit_of_an_oracle_keeps_everything(runs):
    audited, shown = found("audit", runs / "oracle", "--json", runs / "oracle.json")
    for audit in audited["audits"]:
        for finding in audit["findings"]:
            if finding["task"] is not None:
                assert finding["remaining"] == pytest.approx([1, 1, 1])
    assert "100 % [100, 100] of what the full run scores above a random letter remains" in shown
