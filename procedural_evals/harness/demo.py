"""`procedural-evals demo`: the reference policies on the embedded sample, by real lmms-eval runs.

The sample's truth is exact, so an oracle has to score 100 on every task, and random guessing has
to agree with the chance that its number of options implies. The demo says so, or fails.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from procedural_evals.dyad import __main__ as dyad_command
from procedural_evals.harness import judging, results, runner, summaries

TASKS = (
    "flatpack_bench_all_sample",
    "promqa_assembly_sample",
    "procobject_10k_sample",
    "dyad_step_sample",
    "dyad_mode_sample",
    "dyad_response_sample",
)
POLICIES = {
    "oracle": TASKS,
    "random": TASKS,
    # Answers everything rightly and shows no evidence: how far answering and grounding may part.
    "ungrounded": ("procobject_10k_sample",),
}


def run(output: str | None = None) -> int:
    """Run every policy on every sample task; 0 when all scores are what they must be."""
    folder = Path(output or tempfile.mkdtemp(prefix="procedural-evals-demo-"))
    complaints: list[str] = []
    # Offline, and labelled as not comparable: the demo shows that a run works.
    os.environ[judging.JUDGE_VARIABLE] = "lexical"
    for policy, tasks in POLICIES.items():
        target = folder / policy
        print(f"\n== {policy} policy on the embedded sample ==", flush=True)
        status = runner.run(
            [
                *("--model", "procedural_baseline", "--model_args", f"policy={policy},seed=0"),
                *("--tasks", ",".join(tasks), "--batch_size", "1"),
                *("--output_path", str(target), "--verbosity", "WARNING"),
            ]
        )
        if status:
            complaints.append(f"the {policy} run ended with status {status}")
        else:
            complaints += _complaints(policy, results.load_run(target))
    print("\n== DYAD's reference systems on the embedded sample ==", flush=True)
    if dyad_command.main(["reference", "sample"]):
        complaints.append("the reference systems could not be scored")
    print("\n" + ("\n".join(complaints) or "Every score is what it has to be."))
    print(f"Results and samples: {folder}")
    return 1 if complaints else 0


def _complaints(policy: str, run: results.Run) -> Iterator[str]:
    for task, records in run.records.items():
        for row in summaries.rows(records):
            place = f"{task}, {row.label}: the {policy} policy scored {row.score:.2f}"
            judge = row.extra.get("judge", 100.0)
            if policy == "oracle" and (row.score != 100 or judge != 100):
                yield f"{place} (judge {judge}), not 100"
            if policy == "ungrounded" and row.label == "all":
                print(
                    f"{task}: right answers without evidence: judge {judge:.2f}, "
                    f"IoU {row.score:.2f}"
                )
                if row.score != 0 or judge != 100:
                    yield f"{place} and judge {judge}, not 0 and 100"
            chance = row.extra.get("random")
            if policy == "random" and row.label == "all" and chance is not None:
                print(
                    f"{task}: random {row.score:.2f} [{row.low:.2f}, {row.high:.2f}], "
                    f"chance {chance:.2f}"
                )
                if not row.low <= chance <= row.high:
                    yield f"{place}; its interval leaves out the chance {chance:.2f}"
