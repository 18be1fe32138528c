"""Records of open answers with what a judge said of them, so that nobody has to be asked again.

A run's samples hold the answers; the verdicts lie beside them (`*_judgements_TASK.jsonl`) or in
the cache of judges' replies. Here they are put into the records:

    judge_score   mean of the judges' scores in [0, 100]; None where one of them gave none
    grades        mean grade of each dimension of the rubric, in the rubric's own unit
    judges        the judges' ids, which name their rubric and its version
    similarity    where asked for: sentence_similarity and bertscore_f1, times 100
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from procedural_evals.environment import variable
from procedural_evals.harness.records import Record, answered_records, open_answers
from procedural_evals.harness.results import Run, judgements_file


def with_verdicts(
    records: Sequence[Record], judgements: Iterable[Mapping[str, Any]]
) -> list[Record]:
    """The records with the verdicts of judgements: item, judge, grades and score of each.

    Records of other kinds stay as they are, and so do all where there are no judgements.
    """
    by_item: dict[str, list[Mapping[str, Any]]] = {}
    for judgement in judgements:
        by_item.setdefault(str(judgement["item"]), []).append(judgement)
    judges = list(dict.fromkeys(str(row["judge"]) for rows in by_item.values() for row in rows))
    if not judges:
        return list(records)
    return [
        record | _verdict(by_item.get(str(record["id"]), []), judges)
        if "rubric" in record
        else record
        for record in records
    ]


def _verdict(rows: Sequence[Mapping[str, Any]], judges: list[str]) -> dict[str, Any]:
    given = {str(row["judge"]): row for row in rows}
    scores = [given[judge]["score"] for judge in judges if judge in given]
    if len(scores) < len(judges) or any(score is None for score in scores):
        return {"judge_score": None, "judges": judges}
    names = dict.fromkeys(name for row in given.values() for name in row["grades"])
    grades = {
        name: sum(float(row["grades"][name]) for row in given.values()) / len(given)
        for name in names
        if all(name in row["grades"] for row in given.values())
    }
    return {"judge_score": sum(scores) / len(scores), "judges": judges, "grades": grades}


def judged_run(run: Run, judge: str | None = None, similarity: bool = False) -> Run:
    """The run, its open answers with their verdicts.

    They come from the run's own files; where there are none, or another judge is named, the judge
    is asked (what it has said before is kept, and costs nothing). With `judge` none, nobody is.
    """
    records = {
        task: _judged(run, task, found, judge, similarity) for task, found in run.records.items()
    }
    return replace(run, records=records)


def _judged(
    run: Run, task: str, records: Sequence[Record], judge: str | None, similarity: bool
) -> list[Record]:
    answers = open_answers(records)
    if not answers:
        return list(records)
    file = judgements_file(run, task)
    if judge is None and file.is_file():
        found = with_verdicts(records, _lines(file))
    else:
        found = with_verdicts(records, _asked(answers, judge or _recorded_judge(answers, task)))
    return _with_similarity(found) if similarity else found


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                complete = {"item", "judge", "grades", "score"} <= set(row)
            except (TypeError, ValueError):
                complete = False
            if not complete:
                raise ValueError(f"{file}:{number}: no judgement: {line[:80]}")
            yield row


def _recorded_judge(answers: Sequence[Record], task: str) -> str:
    named = {record.get("judge") for record in answers}
    if len(named) > 1:
        raise ValueError(f"{task}: records of several judges: {', '.join(map(str, named))}")
    return named.pop() or "none"


def _asked(answers: Sequence[Record], judge: str) -> Iterator[dict[str, Any]]:
    from procedural_evals.harness.judging import JUDGE_VARIABLE, judge_records

    with variable(JUDGE_VARIABLE, judge):
        verdicts = judge_records(answers)
    for row in verdicts.rows.values():
        for judgement in row:
            yield asdict(judgement) | {"grades": dict(judgement.grades)}


def _with_similarity(records: Sequence[Record]) -> list[Record]:
    from procedural_evals.harness.similarity import COLUMNS, similarity_of

    answered = answered_records(records)
    found = similarity_of(answered)
    if found is None:
        raise ValueError("similarity: the run names no encoder; say one with `run --encoder`")
    values = {
        record["id"]: {measure: float(found.values[measure][n]) for measure in COLUMNS}
        for n, record in enumerate(answered)
    }
    return [
        record | {"similarity": values[record["id"]], "encoder": found.encoder}
        if record["id"] in values
        else record
        for record in records
    ]
