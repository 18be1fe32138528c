"""The score table of a task, made from its items' records: intervals, counts, chance, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import indent

from procedural_evals.harness import dyad_tables, open_scores
from procedural_evals.harness.choice_tables import choice_rows
from procedural_evals.harness.judged_table import judged_rows
from procedural_evals.harness.judging import judge_records
from procedural_evals.harness.records import (
    Record,
    answered_records,
    open_answers,
)
from procedural_evals.harness.similarity import NONE, similarity_columns
from procedural_evals.harness.table_row import Row, table_of
from procedural_evals.scores.grounding import GroundingSummary
from procedural_evals.scores.uncertainty import Interval


def grounded_rows(records: Sequence[Record]) -> Iterator[Row]:
    """Mean IoU of the evidence, beside IoP, IoG and the judge's score."""
    summary = open_scores.grounding(records)
    if summary is None:
        return
    whole = open_scores.judge_interval(records)
    parts = open_scores.judge_breakdown(records)
    also = similarity_columns(records)
    yield _grounded_row("all", summary, whole, also)
    for group, values in summary.groups.items():
        for value, part in values.items():
            yield _grounded_row(f"{group}: {value}", part, parts.get((group, str(value))))


def _grounded_row(
    label: str,
    summary: GroundingSummary,
    judge: Interval | None,
    also: Mapping[str, float | None] | None = None,
) -> Row:
    extra: dict[str, float | None] = {
        "IoP": 100 * summary.iop.mean,
        "IoG": 100 * summary.iog.mean,
        "no span %": 100 * summary.without_span,
        "judge": None if judge is None else judge.mean,
        **(also or {}),
    }
    mean, low, high = (100 * value for value in summary.iou)
    return Row(label, summary.items, mean, low, high, extra)


# Kinds whose tables have columns of similarities.
WITH_SIMILARITIES = ("grounded", "response")

# A benchmark's records say of which kind they are; each kind has its table.
ROWS: dict[str, tuple[str, Callable[[Sequence[Record]], Iterator[Row]]]] = {
    "choice": ("accuracy", choice_rows),
    "judged": ("judge", judged_rows),
    "grounded": ("IoU", grounded_rows),
    "steps": ("F1@0.1", dyad_tables.step_rows),
    "mode": ("macro-F1", dyad_tables.mode_rows),
    "response": ("judge", dyad_tables.response_rows),
}


def rows(records: Sequence[Record]) -> list[Row]:
    """The lines of the task's table; none when no item was answered."""
    scored = answered_records(records)
    if not scored:
        return []
    kinds = {str(record["kind"]) for record in scored}
    if len(kinds) > 1 or not kinds <= set(ROWS):
        raise ValueError(
            f"records of the kind {', '.join(sorted(kinds))}; a task's are all of one of "
            f"{', '.join(ROWS)}. Records of a newer version need that version"
        )
    return list(ROWS[kinds.pop()][1](scored))


def table(records: Sequence[Record]) -> str:
    """The task's table as text, with the counts it rests on."""
    lines = rows(records)
    scored = answered_records(records)
    if not lines:
        return f"  no score: {counts(records)}"
    return f"{text_of(lines, ROWS[scored[0]['kind']][0])}\n  {counts(records)}"


def counts(records: Sequence[Record]) -> str:
    """What the table rests on: items answered and judged, by whom, and whether that compares."""
    scored = answered_records(records)
    text = f"{len(scored)} of {len(records)} items answered"
    if scored and "rubric" in scored[0]:
        verdicts = judge_records(scored)
        judged = len(open_scores.judged_scores(records))
        names = ", ".join(judge["id"] for judge in verdicts.judges) or "no judge"
        text += f", {judged} of {len(scored)} judged by {names}"
        similar = scored[0]["kind"] in WITH_SIMILARITIES
        if similar and scored[0].get("encoder", NONE) != NONE:
            text += f"; similarities by {scored[0]['encoder']}"
        if not all(judge["comparable"] for judge in verdicts.judges):
            text += " (not comparable with published scores)"
    if len({record["cluster"] for record in scored}) == 1:
        text += "; all of one video, recording or participant, so that intervals say nothing"
    return text


def text_of(lines: Sequence[Row], heading: str) -> str:
    """The lines under a heading that says what `score` is, columns aligned."""
    return indent(table_of(lines, heading).text(), "  ")


def shortfalls(records: Sequence[Record], expected: int) -> dict[str, list[str]]:
    """Items that have no score, a line each: "failed", "unjudged", "missing", "repeated"."""
    kinds: dict[str, list[str]] = {}
    verdicts = judge_records(open_answers(records))
    for record in records:
        if record["failure"] is not None:
            kinds.setdefault("failed", []).append(f"{record['id']}: {record['failure']}")
        elif "rubric" in record and verdicts.score(record["id"]) is None:
            reason = verdicts.reason(record["id"])
            kinds.setdefault("unjudged", []).append(f"{record['id']}: {reason}")
    ids = [record["id"] for record in records]
    if len(ids) != len(set(ids)):
        repeated = sorted(i for i, count in Counter(ids).items() if count > 1)
        kinds["repeated"] = [f"{i}: scored more than once" for i in repeated]
    if len(set(ids)) < expected:
        kinds["missing"] = [f"{expected - len(set(ids))} of {expected} items have no record"]
    return kinds
