"""Can the judges be trusted? Several over the same predictions, against each other and people.

What is compared follows ProMQA-Assembly (arXiv 2509.02949, C.3): agreement and Kendall's tau-b of
each pair of graders, and self-preference: the mean score of each predictor by each evaluator
(table 9), and of each predictor on each generator's questions (table 8).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from procedural_evals.judge.base import Judge
from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.judging import Judging, judge_items
from procedural_evals.judge.rubric import JudgeItem
from procedural_evals.scores.agreement import cohen_kappa, percent_agreement
from procedural_evals.scores.rank_correlation import kendall_tau_b

HUMAN = "human"
Key = tuple[str, str]  # question id, predictor


@dataclass(frozen=True)
class Prediction:
    """One prediction of an audit: what is judged, who predicted it, who wrote the question."""

    item: JudgeItem
    question_id: str
    predictor: str = ""
    generator: str = ""

    @property
    def key(self) -> Key:
        """Question and predictor, which together are unique."""
        return self.question_id, self.predictor


@dataclass(frozen=True)
class PairAgreement:
    """Two graders over the items that both graded.

    percent in [0, 100], kappa and tau_b in [-1, 1]; tau_b is None where a side grades all alike,
    all three where there is no common item.
    """

    first: str
    second: str
    items: int
    percent: float | None
    kappa: float | None
    tau_b: float | None


@dataclass(frozen=True)
class Cell:
    """Mean score in [0, 100] of a cell of a matrix, None when it is empty, and of how many."""

    mean: float | None
    items: int


Matrix = dict[str, dict[str, Cell]]


@dataclass(frozen=True)
class Audit:
    """What an audit finds; `lines` prints it, `as_dict` is for JSON."""

    graded: dict[str, int]  # by evaluator
    total: int
    pairs: tuple[PairAgreement, ...]
    predictor_by_evaluator: Matrix
    generator_by_predictor: dict[str, Matrix]  # by evaluator

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The tables as text, one line an entry."""
        short = _short_names(self.graded)
        rows = [["evaluator", "graded", "id"]]
        rows += [[short[name], f"{n}/{self.total}", name] for name, n in self.graded.items()]
        lines = _table(rows)
        rows = [["pair", "items", "agreement %", "kappa", "tau-b"]]
        for p in self.pairs:
            numbers = (_shown(p.percent, 1), _shown(p.kappa, 2), _shown(p.tau_b, 2))
            rows.append([f"{short[p.first]} ~ {short[p.second]}", str(p.items), *numbers])
        lines += ["", *_table(rows)] if self.pairs else []
        if self.predictor_by_evaluator:
            lines += ["", "mean score: predictor by evaluator"]
            lines += _matrix_table(
                {
                    predictor: {short[name]: cell for name, cell in row.items()}
                    for predictor, row in self.predictor_by_evaluator.items()
                }
            )
        for evaluator, matrix in self.generator_by_predictor.items():
            lines += [
                "",
                f"mean score by {short[evaluator]}: predictor by generator of the questions",
            ]
            lines += _matrix_table(matrix)
        return lines


def _short_names(ids: Iterable[str]) -> dict[str, str]:
    """A judge's id up to its rubric, where that is enough to tell the judges apart."""
    first = {name: name.split("|")[0] for name in ids}
    shared = Counter(first.values())
    return {name: short if shared[short] == 1 else name for name, short in first.items()}


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _matrix_table(matrix: Matrix) -> list[str]:
    columns = list(dict.fromkeys(column for row in matrix.values() for column in row))
    rows = [["predictor", *columns]]
    for name, row in matrix.items():
        cells = (row.get(column, Cell(None, 0)) for column in columns)
        rows.append([name, *(f"{_shown(cell.mean, 1)} ({cell.items})" for cell in cells)])
    return _table(rows)


def _pair(first: str, second: str, a: Mapping[Key, float], b: Mapping[Key, float]) -> PairAgreement:
    common = [key for key in a if key in b]
    if not common:
        return PairAgreement(first, second, 0, None, None, None)
    left, right = [a[key] for key in common], [b[key] for key in common]
    tau = kendall_tau_b(left, right)
    return PairAgreement(
        first,
        second,
        len(common),
        percent_agreement(left, right),
        cohen_kappa(left, right),
        None if math.isnan(tau) else tau,
    )


def _matrix(entries: Iterable[tuple[str, str, float]]) -> Matrix:
    """Means of (row, column, score), in the order of first appearance."""
    collected: dict[str, dict[str, list[float]]] = {}
    for row, column, score in entries:
        collected.setdefault(row, {}).setdefault(column, []).append(score)
    return {
        row: {column: Cell(sum(s) / len(s), len(s)) for column, s in columns.items()}
        for row, columns in collected.items()
    }


def audit(
    predictions: Sequence[Prediction],
    grades: Mapping[str, Mapping[Key, float]],
    scale: float,
) -> Audit:
    """Compare graders: `grades[evaluator][(question, predictor)]`, without the ungraded.

    A grade times `scale` is a score in [0, 100]. Matrices need predictors; the second also needs
    generators. Raises ValueError for a graded item that is none of the predictions.
    """
    known = {p.key: p for p in predictions}
    for evaluator, given in grades.items():
        strange = [key for key in given if key not in known]
        if strange:
            raise ValueError(f"{evaluator} graded {strange[0]}, which is none of the predictions")
    pairs = [_pair(a, b, grades[a], grades[b]) for a, b in combinations(grades, 2)]
    by_evaluator: Matrix = {}
    by_generator: dict[str, Matrix] = {}
    if any(p.predictor for p in predictions):
        by_evaluator = _matrix(
            (p.predictor, evaluator, given[p.key] * scale)
            for evaluator, given in grades.items()
            for p in predictions
            if p.key in given
        )
    if any(p.predictor for p in predictions) and any(p.generator for p in predictions):
        by_generator = {
            evaluator: _matrix(
                (p.predictor, p.generator, given[p.key] * scale)
                for p in predictions
                if p.key in given and p.generator
            )
            for evaluator, given in grades.items()
        }
    return Audit(
        {evaluator: len(given) for evaluator, given in grades.items()},
        len(predictions),
        tuple(pairs),
        by_evaluator,
        by_generator,
    )


def grades_of(judging: Judging, predictions: Sequence[Prediction]) -> dict[str, dict[Key, float]]:
    """The grades that count, by judge and prediction; the unjudged are left out."""
    found: dict[str, dict[Key, float]] = {judge["id"]: {} for judge in judging.judges}
    for prediction, row in zip(predictions, judging.rows, strict=True):
        for judgement in row:
            if judgement.grade is not None:
                found[judgement.judge][prediction.key] = judgement.grade
    return found


def judge_audit(
    predictions: Sequence[Prediction],
    judges: Sequence[Judge],
    human: Mapping[Key, float] | None = None,
    cache: ReplyCache | None = None,
    progress: bool | None = None,
) -> tuple[Audit, Judging]:
    """Let all judges judge all predictions and compare them, with people's grades if there are any.

    Raises ValueError when the judges' rubrics differ in their scales: such grades do not compare.
    """
    scales = {(judge.rubric.grades, judge.rubric.scale) for judge in judges}
    if len(scales) > 1:
        raise ValueError(f"the judges' rubrics have different scales: {sorted(scales)}")
    judging = judge_items((p.item for p in predictions), judges, cache, progress)
    grades = grades_of(judging, predictions)
    if human is not None:
        grades[HUMAN] = dict(human)
    return audit(predictions, grades, judges[0].rubric.scale), judging
