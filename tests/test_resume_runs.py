"""Real runs that are killed, and go on: nothing is asked twice, and the results are the same."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256

import pytest

from procedural_evals.harness import results

from . import lmms
from .judge_server import JudgeServer
from .tiny_vlm import tiny_vlm

pytestmark = pytest.mark.slow

AT_ONCE = 3


def letter(messages) -> str:
    return "AB"[sha256(json.dumps(messages).encode()).digest()[0] % 2]


def prompts(server: JudgeServer) -> Counter[str]:
    """How often each text was asked since the last call."""
    asked = Counter(body["messages"][-1]["content"][-1]["text"] for body in server.bodies)
    server.bodies.clear()
    return asked


def test_a_killed_run_of_a_paid_model_goes_on(tmp_path):
    task, output = "flatpack_bench_blind_sample", tmp_path / "out"
    with JudgeServer(reply=letter, delay=0.1) as server:
        model = f"model_version=m,base_url={server.base_url},api_key=k,num_cpus={AT_ONCE}"
        arguments = ("--model", "async_openai", "--model_args", model)
        process = lmms.started(
            *("--tasks", task, *arguments, "--output_path", output, "--log_samples")
        )
        lmms.wait_for_replies(output, 20, process)
        lmms.end_all(process)
        before = len(lmms.kept(output))
        asked = prompts(server)
        assert before <= sum(asked.values()) <= before + AT_ONCE
        assert not results.results_files(output)

        resumed = lmms.run(output, task, *arguments)
        again = prompts(server)
    samples = lmms.samples(resumed, task)
    once = Counter(sample["input"] for sample in samples)
    assert sum(again.values()) == 72 - before
    # Twice was asked only what was under way when the process was killed.
    assert sum((asked + again - once).values()) <= AT_ONCE
    assert not once - (asked + again)
    counts = {"input_tokens": 100, "output_tokens": 10, "reasoning_tokens": 0}
    assert all(sample["token_counts"] == [counts] for sample in samples)
    assert {sample["accuracy"]["letter"] for sample in samples} == {"A", "B"}


def test_a_killed_run_of_a_local_model_goes_on_in_another_number_of_processes(tmp_path):
    task = "procobject_10k_sample"
    checkpoint = tiny_vlm("qwen2_5_vl", tmp_path / "checkpoint")
    model = ("--model", "procedural_hf", "--gen_kwargs", "max_new_tokens=32")
    model += ("--model_args", f"pretrained={checkpoint},max_pixels=20000")
    ours = ("--judge", "none", "--encoder", "none", "--frames", 4, "--allow-unjudged")
    few = ("--limit", 12)
    whole = lmms.run(tmp_path / "whole", task, *model, *ours, *few)

    output = tmp_path / "killed"
    command = ("--tasks", task, "--output_path", output, "--log_samples", *model, *few)
    variables = {f"PROCEDURAL_EVALS_{name}": "none" for name in ("JUDGE", "ENCODER")}
    variables["PROCEDURAL_EVALS_FRAMES"] = "4"
    process = lmms.started(*command, processes=2, **variables)
    lmms.wait_for_replies(output, 4, process)
    lmms.end_all(process)
    before = lmms.kept(output)
    assert 4 <= len(before) < 12

    resumed = lmms.run(output, task, *model, *ours, *few)
    after = Counter(line["item"] for line in lmms.kept(output))
    assert after == Counter(dict.fromkeys(after, 1))  # nothing was generated twice
    assert len(after) == 12
    assert lmms.samples(resumed, task) == lmms.samples(whole, task)
    assert all(len(sample["iou"]["frame_times"]) == 4 for sample in lmms.samples(resumed, task))
    assert resumed.results["results"] == whole.results["results"]
