"""Submissions of multiple-choice runs, as a traces repository holds them, made for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from procedural_evals.harness.records import Record, choice_summary
from procedural_evals.hub.submission import Breakdown, Submission

KINDS = ("tord", "tloc", "track", "mate")


def choice_records(right: list[bool]) -> list[Record]:
    """One record an item, four items a video; the right letter is always B."""
    return [
        {
            "id": f"item-{number:03d}",
            "cluster": f"video-{number // 4}",
            "category": KINDS[number % 4],
            "kind": "choice",
            "failure": None,
            "reply": f"The answer is {'B' if good else 'C'}.",
            "letter": "B" if good else "C",
            "reason": None,
            "gold": "B",
            "num_options": 4,
            "template": "flatpack_bench/video@0123456789ab",
            "score": 100.0 * good,
        }
        for number, good in enumerate(right)
    ]


def submission_of(model: str, records: list[Record], task: str, **changes: Any) -> Submission:
    """A submission of the records' accuracy."""
    found = choice_summary(records)
    made = Submission(
        benchmark="flatpack-bench",
        dataset="lab/flatpack-bench",
        revision="questions.jsonl@0123456789ab",
        task=task,
        task_id=task,
        metric="accuracy",
        scale=(0.0, 100.0),
        model=model,
        date="2026-11-02T10:00:00+00:00",
        value=found.accuracy,
        low=found.low,
        high=found.high,
        n=found.n,
        rows=tuple(
            Breakdown(name, part.n, part.accuracy, part.low, part.high)
            for name, part in found.tasks.items()
        ),
        items=len(records),
        answered=len(records),
        failed=0,
        parse_rate=100.0,
        extra={"random": found.random_chance},
        versions={"procedural-evals": "0.1.0", "lmms-eval": "0.7.3"},
        templates=("flatpack_bench/video@0123456789ab",),
        parser="choices-2",
        model_name="procedural_hf",
        model_args=f"pretrained={model}",
        generation={"temperature": 0.0},
        traces="items.jsonl",
        traces_repo="lab/traces",
    )
    made = replace(made, **changes)
    return replace(made, traces=f"{made.folder}/items.jsonl")


def write_run(
    folder: Path,
    model: str,
    right: list[bool],
    task: str = "flatpack_bench",
    records: list[Record] | None = None,
    **changes: Any,
) -> Submission:
    """Put a submission and its items where they belong below the folder."""
    records = choice_records(right) if records is None else records
    made = submission_of(model, records, task, **changes)
    place = folder / made.folder
    place.mkdir(parents=True)
    (place / "submission.json").write_text(made.to_json(), encoding="utf-8")
    lines = [json.dumps(record) for record in records]
    (place / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made
