"""`procedural-evals run`: a real lmms-eval run, its score table, and an honest exit status.

lmms-eval's command exits 0 even when a run failed; only a results file shows that it did not. Here
a run without results, with failed items or with items missing ends with a status that is not 0.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from procedural_evals.harness import results, summaries
from procedural_evals.harness.judging import judge_records
from procedural_evals.harness.records import open_answers

DEFAULT_OUTPUT = "results"


def command(arguments: Sequence[str], processes: int = 1) -> list[str]:
    """The lmms-eval command line, under torchrun where several processes are asked for.

    >>> command(["--tasks", "t"])[1:]
    ['-m', 'lmms_eval', '--tasks', 't']
    """
    if processes < 1:
        raise ValueError(f"processes: {processes}; at least 1 is needed")
    launcher = [sys.executable, "-m"]
    if processes > 1:
        launcher += [
            "torch.distributed.run",
            "--standalone",
            "--nproc_per_node",
            str(processes),
            "-m",
        ]
    return [*launcher, "lmms_eval", *arguments]


def environment(processes: int) -> dict[str, str]:
    """The environment of a run: several processes without a GPU need accelerate told so."""
    variables = dict(os.environ)
    if processes > 1 and "ACCELERATE_USE_CPU" not in variables:
        import torch

        if not torch.cuda.is_available():
            variables["ACCELERATE_USE_CPU"] = "true"
            variables.setdefault("OMP_NUM_THREADS", "1")
    return variables


def _with_output(arguments: Sequence[str]) -> tuple[list[str], Path]:
    """The arguments with an output path and samples logged, which the score table needs."""
    given = list(arguments)
    output = DEFAULT_OUTPUT
    for position, argument in enumerate(given):
        if argument == "--output_path" and position + 1 < len(given):
            output = given[position + 1]
        elif argument.startswith("--output_path="):
            output = argument.removeprefix("--output_path=")
    if not any(argument.split("=")[0] == "--output_path" for argument in given):
        given += ["--output_path", output]
    if "--log_samples" not in given:
        given.append("--log_samples")
    return given, Path(output)


def run(
    arguments: Sequence[str],
    processes: int = 1,
    allow_failed: bool = False,
    allow_unjudged: bool = False,
) -> int:
    """Run lmms-eval with these arguments, print the score table, and return the exit status.

    0: every item was scored (or what was not is allowed); 1: there are results, but items failed,
    are unjudged or are missing; 2: there are no results.
    """
    arguments, output = _with_output(arguments)
    before = results.results_files(output)
    status = subprocess.run(
        command(arguments, processes), env=environment(processes), check=False
    ).returncode
    written = results.results_files(output) - before
    if not written:
        print(
            f"No results were written below {output} (lmms-eval's status: {status}). Its messages "
            "above say why; --verbosity DEBUG shows more.",
            file=sys.stderr,
        )
        return 2
    complete = True
    for file in sorted(written):
        complete &= report(results.load_run(file), allow_failed, allow_unjudged)
    return 0 if complete else 1


def report(run: results.Run, allow_failed: bool = False, allow_unjudged: bool = False) -> bool:
    """Print the tables of a run; whether each of its items was scored or is allowed not to be."""
    print(f"\n{run.model}\n{run.path}")
    complete = True
    for task, records in run.records.items():
        print(f"\n{task}\n{summaries.table(records)}")
        judgements = results.write_judgements(run, task, judge_records(open_answers(records)))
        if judgements is not None:
            print(f"  judgements: {judgements}")
        shortfalls = summaries.shortfalls(records, run.expected(task))
        for kind, lines in shortfalls.items():
            print(f"{len(lines)} {kind}:")
            print("\n".join(f"  {line}" for line in lines[:20]))
            if len(lines) > 20:
                print(f"  ... and {len(lines) - 20} more")
            allowed = {"failed": allow_failed, "unjudged": allow_unjudged}.get(kind, False)
            complete &= allowed
    return complete
