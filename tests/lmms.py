"""Real `lmms_eval` runs for tests: in a subprocess, offline, with a results folder of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from procedural_evals.harness import results, runner


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


def started(*arguments: object, processes: int = 1, **extra: str) -> subprocess.Popen[str]:
    """`procedural-evals run ...` or (with --tasks first) lmms-eval itself, in a session of its own.

    Its output goes into `log.txt` of the folder that comes after --output_path.
    """
    words = list(map(str, arguments))
    log = Path(words[words.index("--output_path") + 1], "log.txt")
    log.parent.mkdir(parents=True, exist_ok=True)
    if words[0] == "run":
        command = [sys.executable, "-m", "procedural_evals.cli", *words]
    else:
        command = runner.command(words, processes)
    with log.open("a") as file:
        return subprocess.Popen(
            command,
            env=runner.environment(processes) | environment(**extra),
            stdout=file,
            stderr=file,
            text=True,
            start_new_session=True,
        )


def end_all(process: subprocess.Popen[str]) -> None:
    """SIGKILL for a process and all that it has started."""
    family = [process.pid, *(each.pid for each in psutil.Process(process.pid).children(True))]
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    process.wait()


def kept(output: Path) -> list[dict[str, Any]]:
    """The replies that are kept of the runs in a folder."""
    files = sorted((output / ".responses").rglob("*.jsonl"))
    lines = [line for file in files for line in file.read_text().split("\n") if '"reply"' in line]
    return [json.loads(line) for line in lines if line.endswith("}")]


def wait_for_replies(output: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Return when so many replies are kept; fail when the run ends before that."""
    while len(kept(output)) < count:
        assert process.poll() is None, (output / "log.txt").read_text()
        time.sleep(0.02)


def samples(run: results.Run, task: str) -> list[dict[str, Any]]:
    """All that lmms-eval has written of each item, in the order of the rows."""
    lines = results.samples_file(run.path, task).read_text(encoding="utf-8").split("\n")
    return sorted((json.loads(line) for line in lines if line), key=lambda one: one["doc_id"])


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
