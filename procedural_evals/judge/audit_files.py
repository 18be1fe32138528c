"""The files of an audit: predictions, and the grades that people gave them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from procedural_evals.judge.audit import Key, Prediction
from procedural_evals.judge.rubric import JudgeItem


def _rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a .csv (with a header), .json (a list) or .jsonl file."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines))
    text = path.read_text(encoding="utf-8-sig")
    try:
        if path.suffix == ".json":
            rows = json.loads(text)
        elif path.suffix == ".jsonl":
            # Not splitlines, which also cuts at characters that JSON allows within a text (U+2028).
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            raise ValueError(f"{path}: {path.suffix!r} is not read; give .csv, .json or .jsonl")
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: a list of objects is needed")
    return rows


def _value(row: Mapping[str, Any], key: str, where: str) -> Any:
    if row.get(key) in (None, ""):
        raise ValueError(f"{where}: no {key!r}; there are {sorted(row)}")
    return row[key]


def _texts(value: Any, key: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{where}: {key} is {value!r:.60}; a list of texts is needed")
    return tuple(value)


def read_predictions(path: Path) -> list[Prediction]:
    """Read predictions from .json or .jsonl.

    Each row has id, prediction and answers, and may have question, steps, context, predictor and
    generator. Raises ValueError, with the row, for what is missing or occurs twice.
    """
    found: dict[Key, Prediction] = {}
    for number, row in enumerate(_rows(path), start=1):
        where = f"{path}, row {number}"
        question_id, predictor = str(_value(row, "id", where)), str(row.get("predictor") or "")
        steps = row.get("steps")
        item = JudgeItem(
            id=f"{question_id} / {predictor}" if predictor else question_id,
            prediction=str(row.get("prediction") or ""),
            answers=_texts(_value(row, "answers", where), "answers", where),
            question=str(row.get("question") or ""),
            steps=None if steps is None else _texts(steps, "steps", where),
            context=str(row.get("context") or ""),
        )
        prediction = Prediction(item, question_id, predictor, str(row.get("generator") or ""))
        if prediction.key in found:
            raise ValueError(f"{where}: {prediction.key} occurs twice; id and predictor are unique")
        found[prediction.key] = prediction
    return list(found.values())


def read_human_grades(path: Path, grades: Sequence[float]) -> dict[Key, float]:
    """Read people's grades from .csv, .json or .jsonl: id, grade and, with several, predictor.

    Raises ValueError, with the row, for a grade that is none of `grades`.
    """
    found: dict[Key, float] = {}
    for number, row in enumerate(_rows(path), start=1):
        where = f"{path}, row {number}"
        key = str(_value(row, "id", where)), str(row.get("predictor") or "")
        given = _value(row, "grade", where)
        try:
            grade = float(given)
        except (TypeError, ValueError):
            grade = math.nan
        if grade not in grades:
            raise ValueError(f"{where}: the grade {given!r} is none of {list(grades)}")
        if key in found:
            raise ValueError(f"{where}: {key} is graded twice")
        found[key] = grade
    return found
