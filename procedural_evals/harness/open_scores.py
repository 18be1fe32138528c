"""Scores of open answers from their records: the judge's, and the grounding of the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from procedural_evals.harness.judging import judge_records
from procedural_evals.harness.records import Record, answered_records
from procedural_evals.judge.rubric import load_rubric
from procedural_evals.scores.grounding import (
    GroundedIoU,
    GroundingSummary,
    grounded_iou,
    grounding_summary,
)
from procedural_evals.scores.uncertainty import Interval, bootstrap_mean


def judged_scores(records: Sequence[Record]) -> dict[str, float]:
    """The judge's score in [0, 100] of every item that has one, by id; averaged over judges."""
    verdicts = judge_records(records)
    scores = {record["id"]: verdicts.score(record["id"]) for record in answered_records(records)}
    return {item: score for item, score in scores.items() if score is not None}


def mean_grades(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Mean grade of each dimension of the rubric, by judge, over the items that all judged."""
    verdicts = judge_records(records)
    given: dict[str, dict[str, list[float]]] = {}
    for item, row in verdicts.rows.items():
        if verdicts.score(item) is not None:
            for judgement in row:
                for name, grade in judgement.grades.items():
                    given.setdefault(judgement.judge, {}).setdefault(name, []).append(grade)
    return {
        judge: {name: sum(grades) / len(grades) for name, grades in by_name.items()}
        for judge, by_name in given.items()
    }


def grade_scale(judge: str, name: str) -> str:
    """Lowest and highest grade that a judge (its id) could give under the rubric of that name.

    A rubric of somebody's own words may not be here, or have changed since.

    >>> grade_scale("lexical@1|promqa_ternary@1", "promqa_ternary")
    '0 to 2'
    """
    try:
        rubric = load_rubric(name)
    except (OSError, ValueError):
        return "of a rubric that is not here"
    # The lexical judge does not read the rubric's words, whose hash is not part of its id.
    parts = judge.split("|")
    if rubric.id not in parts and f"{rubric.name}@{rubric.version}" not in parts:
        return "of a rubric that is not here"
    return f"{min(rubric.grades):g} to {max(rubric.grades):g}"


def judges_mean_grades(records: Sequence[Record]) -> dict[str, float]:
    """Mean grade of each dimension over the judges, each of which judged the same items."""
    by_judge = mean_grades(records)
    names = dict.fromkeys(name for grades in by_judge.values() for name in grades)
    return {
        name: sum(grades[name] for grades in by_judge.values()) / len(by_judge) for name in names
    }


def judge_interval(records: Sequence[Record]) -> Interval | None:
    """Mean of the judge's scores with its interval, clustered; None when no item has one."""
    scores = judged_scores(records)
    clusters = {record["id"]: record["cluster"] for record in records}
    if not scores:
        return None
    return bootstrap_mean(list(scores.values()), [clusters[item] for item in scores])


def judge_breakdown(records: Sequence[Record]) -> Mapping[tuple[str, str], Interval]:
    """The judge's score by (grouping, value), each with its interval."""
    scores = judged_scores(records)
    members: dict[tuple[str, str], list[Record]] = {}
    for record in answered_records(records):
        if record["id"] in scores:
            for group, value in record["groups"].items():
                members.setdefault((group, value), []).append(record)
    return {
        key: bootstrap_mean([scores[r["id"]] for r in group], [r["cluster"] for r in group])
        for key, group in sorted(members.items())
    }


def grounding(records: Sequence[Record]) -> GroundingSummary | None:
    """IoU, IoP and IoG of the evidence, in [0, 1], over all items and by grouping."""
    answered = answered_records(records)
    if not answered:
        return None
    groupings = {
        name: [record["groups"][name] for record in answered] for name in answered[0]["groups"]
    }
    clusters = [record["cluster"] for record in answered]
    return grounding_summary(grounded(answered), clusters, groupings)


def grounded(records: Sequence[Record]) -> GroundedIoU:
    """IoU, IoP and IoG of each record's evidence, in [0, 1], in the order given."""
    return grounded_iou(
        [record["spans"] for record in records], [record["evidence"] for record in records]
    )
