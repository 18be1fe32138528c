"""Results folders as lmms-eval writes them, made without it: real rows, records and numbers.

What `write_run` makes is what a run of `procedural-evals run` leaves behind, as far as a submission
reads it; tests then spoil one thing at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from procedural_evals.harness import results, versions
from procedural_evals.harness.judging import Verdicts, kept_verdicts
from procedural_evals.harness.task_files import aggregations, protocol_of, task_file
from procedural_evals.hub import claims
from procedural_evals.hub.claims import dataset_rows as claims_rows
from procedural_evals.judge.base import Judgement
from procedural_evals.judge.rubric import load_rubric
from procedural_evals.verdicts import PARSER_VERSION

JUDGE = "acme/grader-8b"
STAMP = "20251130_083537"

# The rows are those of the data root that the environment names.
_read = cache(lambda task, views, root: claims_rows(task, views))


def _rows(task: str, views: tuple[str, ...] = ()) -> Any:
    return _read(task, views, os.environ.get("PROCEDURAL_EVALS_DATA"))


@contextmanager
def rows_read_once() -> Iterator[None]:
    """The datasets' real rows, read once a task instead of once a submission."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "dataset_rows", _rows)
        yield


def write_run(
    folder: Path,
    task: str,
    reply: Callable[[dict[str, Any]], str],
    *,
    judge: str | None = None,
    judge_reply: str = "",
    model: str = "procedural_hf",
    model_args: str = "pretrained=acme/watcher-7b",
) -> results.Run:
    """The files of a run in which the model gave `reply(row)` for every row."""
    folder.mkdir(parents=True, exist_ok=True)
    protocol = protocol_of(task)
    shown = {"frame_times": [0.5]} if protocol.plan else {}
    copies = []
    for row in (_rows(task)[0] or {}).values():
        process = protocol.process({**row, "problems": []}, [reply(row)])
        for record in process.values():
            record |= {**shown, "encoder": "none", "judge": judge} if judge else shown
        copies.append(process)
    first = next(iter(copies[0]))
    records = [copy[first] for copy in copies]
    verdicts = _verdicts(records, judge, judge_reply)
    with kept_verdicts(verdicts):
        numbers = {name: made(records) for name, made in aggregations(task).items()}
    results_json = {
        "results": {task: {f"{name},none": number for name, number in numbers.items()}},
        "configs": {
            task: {
                "task": task,
                "generation_kwargs": task_file(task)["generation_kwargs"],
                versions.KEY: versions.installed(),
            }
        },
        "n-samples": {task: {"original": len(records), "effective": len(records)}},
        "n-shot": {task: 0},
        "config": {
            "model": model,
            "model_args": model_args,
            "limit": None,
            "offset": 0,
            "resolved_cli_args": {"timezone": "Asia/Singapore", "include_path": None},
        },
        "system_instruction": None,
        "date": STAMP,
    }
    path = folder / f"{STAMP}{results.RESULTS}"
    path.write_text(json.dumps(results_json), encoding="utf-8")
    with (folder / f"{STAMP}_samples_{task}.jsonl").open("w", encoding="utf-8") as lines:
        for number, copy in enumerate(copies):
            lines.write(json.dumps({"doc_id": number, **copy}) + "\n")
    run = results.load_run(path)
    results.write_judgements(run, task, verdicts)
    return run


def _verdicts(records: list[dict[str, Any]], judge: str | None, reply: str) -> Verdicts:
    if judge is None:
        return Verdicts((), {})
    rubric = load_rubric(records[0]["rubric"])
    name = f"{judge}|{rubric.id}|{PARSER_VERSION}"
    said = rubric.verdict(reply)
    rows = {
        record["id"]: (
            Judgement(record["id"], name, said.grades, said.grade, said.score, None, (reply,)),
        )
        for record in records
    }
    return Verdicts(({"id": name, "comparable": True},), rows)


def edit_results(run: results.Run, change: Callable[[dict[str, Any]], object]) -> results.Run:
    """The run after its results file was changed."""
    content = json.loads(run.path.read_text(encoding="utf-8"))
    change(content)
    run.path.write_text(json.dumps(content), encoding="utf-8")
    return results.load_run(run.path)


def edit_lines(file: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the lines of a file of JSON lines in place."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    change(lines)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def edit_records(
    run: results.Run, task: str, change: Callable[[list[dict[str, Any]]], object]
) -> results.Run:
    """The run after the whole records of its samples were changed, all copies alike."""
    file = results.samples_file(run.path, task)

    def apply(samples: list[dict[str, Any]]) -> None:
        wholes = [next(v for v in s.values() if isinstance(v, dict)) for s in samples]
        count = len(wholes)
        change(wholes)
        del samples[len(wholes) :]
        for extra in wholes[count:]:
            key = next(key for key, value in samples[0].items() if isinstance(value, dict))
            samples.append({"doc_id": len(samples), key: extra})

    edit_lines(file, apply)
    return results.load_run(run.path)
