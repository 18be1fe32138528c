"""`procedural-evals run`: a real lmms-eval run, its score table, and an honest exit status.

lmms-eval's command exits 0 even when a run failed; only a results file shows that it did not. Here
a run without results, with failed items or with items missing ends with a status that is not 0. A
run that is interrupted takes its processes with it and says how to go on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from procedural_evals import replies
from procedural_evals.harness import results, summaries
from procedural_evals.harness.judging import judge_records
from procedural_evals.harness.outputs import WRITTEN_VARIABLE, check_writable
from procedural_evals.harness.records import open_answers
from procedural_evals.harness.response_log import FOLDER
from procedural_evals.printable import printable

DEFAULT_OUTPUT = "results"
#: How long processes may take to end, in seconds: torchrun gives its own 30 of them.
PATIENCE = 45.0
_FORWARDED = {signal.SIGHUP: signal.SIGTERM}


def command(arguments: Sequence[str], processes: int = 1) -> list[str]:
    """The lmms-eval command line, under torchrun where several processes are asked for.

    >>> command(["--tasks", "t"])[1:]
    ['-m', 'procedural_evals.harness.launch', '--tasks', 't']
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
    return [*launcher, "procedural_evals.harness.launch", *arguments]


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
    are unjudged or are missing; 2: there are no results; 128 and the number of the signal (130 for
    Ctrl-C) when the run was interrupted.
    """
    arguments, output = _with_output(arguments)
    check_writable(output)
    with tempfile.TemporaryDirectory(prefix="procedural-evals-") as folder:
        note = Path(folder, "written")
        status, stopped = _watched(
            command(arguments, processes),
            environment(processes) | {WRITTEN_VARIABLE: str(note)},
        )
        lines = note.read_text(encoding="utf-8").splitlines() if note.is_file() else []
    written = [file for file in map(Path, dict.fromkeys(lines)) if file.is_file()]
    if stopped is not None:
        print(
            f"Interrupted ({stopped.name}). Replies that came in are kept below "
            f"{output / FOLDER}; the same command goes on from there.",
            file=sys.stderr,
        )
        return 128 + stopped
    if not written:
        print(
            f"No results were written below {output} (lmms-eval's status: {status}). Its messages "
            "above say why; --verbosity DEBUG shows more.",
            file=sys.stderr,
        )
        return 2
    complete = True
    for file in written:
        found = json.loads(file.read_text(encoding="utf-8"))
        if results.only_replies(found):
            complete &= report_replies(file, found, output, allow_failed)
        else:
            complete &= report(results.load_run(file), allow_failed, allow_unjudged)
    return 0 if complete else 1


def _watched(
    arguments: Sequence[str], variables: Mapping[str, str]
) -> tuple[int, signal.Signals | None]:
    """Run a command; its status, and the signal that ended it early.

    The command has a session of its own: the terminal's Ctrl-C reaches it once, through here, so
    that torchrun and servers of a model can end their own processes. What has not ended when the
    command has, or after `PATIENCE`, or at a second Ctrl-C, is killed.
    """
    with _signals() as received:
        process = psutil.Popen(arguments, env=dict(variables), start_new_session=True)
        while process.poll() is None and not received:
            time.sleep(0.1)
        if received:
            family = process.children(recursive=True) if process.is_running() else []
            process.send_signal(_FORWARDED.get(received[0], received[0]))
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and len(received) == 1 and time.monotonic() < deadline:
                time.sleep(0.1)
            for each in (process, *family):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        status = process.wait()
    return status, received[0] if received else None


@contextmanager
def _signals() -> Iterator[list[signal.Signals]]:
    """The signals that ask this process to end, collected instead of followed."""
    received: list[signal.Signals] = []

    def collect(number: int, frame: Any) -> None:
        received.append(signal.Signals(number))

    former = {
        number: signal.signal(number, collect)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup, or a shell's background job
    }
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def report_replies(
    file: Path, found: Mapping[str, Any], output: Path, allow_failed: bool = False
) -> bool:
    """Say what a run with --predict_only has: replies, which nothing has scored yet."""
    print(f"\n{file}")
    complete = True
    for task in found.get("configs", {}):
        lines = results.samples_file(file, task).read_text(encoding="utf-8").split("\n")
        samples = [json.loads(line) for line in lines if line]
        failed = sum(_failed(sample.get("filtered_resps")) for sample in samples)
        print(f"{task}: {len(samples)} replies, {failed} failed; not scored (--predict_only)")
        complete &= allow_failed or not failed
    print(
        f"The same command without --predict_only scores them, from {output / FOLDER}, "
        "without asking the model again."
    )
    return complete


def _failed(reply: Any) -> bool:
    texts = reply if isinstance(reply, list) else [reply]
    return any(replies.failed_request(str(text)) is not None for text in texts)


def report(run: results.Run, allow_failed: bool = False, allow_unjudged: bool = False) -> bool:
    """Print the tables of a run; whether each of its items was scored or is allowed not to be."""
    print(f"\n{run.model}\n{run.path}")
    if run.foreign:
        print(f"tasks of lmms-eval's own, scored above: {', '.join(run.foreign)}")
    complete = True
    for task, records in run.records.items():
        print(printable(f"\n{task}\n{summaries.table(records)}"))
        judgements = results.write_judgements(run, task, judge_records(open_answers(records)))
        if judgements is not None:
            print(f"  judgements: {judgements}")
        shortfalls = summaries.shortfalls(records, run.expected(task))
        for kind, lines in shortfalls.items():
            print(f"{len(lines)} {kind}:")
            print(printable("\n".join(f"  {line}" for line in lines[:20])))
            if len(lines) > 20:
                print(f"  ... and {len(lines) - 20} more")
            allowed = {"failed": allow_failed, "unjudged": allow_unjudged}.get(kind, False)
            complete &= allowed
    return complete
