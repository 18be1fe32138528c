"""`procedural-evals judge-audit`: several judges over the same answers, with people's grades.

The answers come from a file (see `judge.audit_files`) or from lmms-eval results folders, whose
model is the predictor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from procedural_evals.harness import results
from procedural_evals.harness.judging import judge_item, judges_named
from procedural_evals.harness.records import Record, answered_records, open_answers
from procedural_evals.judge.audit import Prediction, judge_audit
from procedural_evals.judge.audit_files import read_human_grades, read_predictions
from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.rubric import load_rubric

DEFAULT_RUBRIC = "promqa_ternary"


def _is_file_of_predictions(path: Path) -> bool:
    return path.is_file() and not path.name.endswith(results.RESULTS)


def predictions_of(path: Path) -> list[Prediction]:
    """The open answers in a predictions file, a results file or a results folder.

    Raises ValueError when the run has no open answers.
    """
    if _is_file_of_predictions(path):
        return read_predictions(path)
    run = results.load_run(path)
    found = [
        _prediction(record, f"{run.model}, {task}")
        for task, records in run.records.items()
        for record in answered_records(records)
        if "rubric" in record
    ]
    if not found:
        raise ValueError(f"{path}: no task of this run has open answers")
    return found


def _prediction(record: Record, predictor: str) -> Prediction:
    item = judge_item(record)
    return Prediction(replace(item, id=f"{predictor}: {item.id}"), item.id, predictor)


def _rubric_of(paths: Sequence[Path]) -> str:
    """The rubric under which the runs were judged; for predictions files ProMQA's.

    Raises ValueError for runs of several rubrics: their grades cannot be compared.
    """
    found = {DEFAULT_RUBRIC for path in paths if _is_file_of_predictions(path)}
    for path in paths:
        if not _is_file_of_predictions(path):
            for records in results.load_run(path).records.values():
                found |= {record["rubric"] for record in open_answers(records)}
    if len(found) != 1:
        names = ", ".join(sorted(found))
        raise ValueError(f"answers of several rubrics ({names}): audit one alone")
    return found.pop()


def run(
    paths: Sequence[Path],
    judges: Sequence[str],
    rubric: str | None = None,
    human: Path | None = None,
    out: Path | None = None,
) -> int:
    """Judge, compare, print the tables and, where asked, write them; 0 when all is judged."""
    predictions = [prediction for path in paths for prediction in predictions_of(path)]
    rubric = rubric or _rubric_of(paths)
    grades = read_human_grades(human, load_rubric(rubric).grades) if human else None
    with ReplyCache() as cache:
        audit, judging = judge_audit(predictions, judges_named(judges, rubric), grades, cache)
    print("\n".join(audit.lines()))
    if out is not None:
        out.write_text(json.dumps(audit.as_dict(), indent=2, ensure_ascii=False) + "\n")
    for judgement in judging.unjudged:
        print(f"unjudged: {judgement.item} by {judgement.judge}: {judgement.reason}")
    return 1 if judging.unjudged else 0
