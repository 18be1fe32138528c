"""Real `lmms_eval` runs for tests: in a subprocess, offline, with a results folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from procedural_evals.harness import results


def environment(**extra: str) -> dict[str, str]:
    """The environment of a run: as here, offline, on one thread a process."""
    return os.environ | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **extra,
    }


def procedural_evals(*arguments: object, **extra: str) -> subprocess.CompletedProcess[str]:
    """`procedural-evals ...`, its output captured."""
    return subprocess.run(
        [sys.executable, "-m", "procedural_evals.cli", *map(str, arguments)],
        env=environment(**extra),
        capture_output=True,
        text=True,
        check=False,
    )


def run(output: Path, tasks: str, *arguments: object, status: int = 0, **extra: str) -> results.Run:
    """`procedural-evals run` of these tasks; its results, once the exit status is as expected."""
    done = procedural_evals(
        "run", "--tasks", tasks, "--output_path", output, "--batch_size", 1, *arguments, **extra
    )
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return results.load_run(output)


def baseline(policy: str, **options: object) -> tuple[str, ...]:
    """Arguments that choose the baseline model with a policy."""
    more = "".join(f",{key}={value}" for key, value in options.items())
    return ("--model", "procedural_baseline", "--model_args", f"policy={policy}{more}")
