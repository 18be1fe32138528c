"""`procedural-evals report`: a run's scores beside the published ones, and what they rest on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from procedural_evals.harness import open_scores, results, summaries
from procedural_evals.harness.judging import (
    JUDGE_VARIABLE,
    NO_JUDGE,
    judge_records,
    kept_verdicts,
)
from procedural_evals.harness.published import Card, card_of
from procedural_evals.harness.records import Record, answered_records, open_answers
from procedural_evals.harness.similarity import similarity_of
from procedural_evals.harness.table_row import Table, number
from procedural_evals.scores.uncertainty import bootstrap_mean

OURS = "this run"

# Groups of ProcObject-10K's table 2, under their names in the card.
GROUNDED_BLOCKS = {"multi_hop": "multi-hop", "needle": "needle in a haystack", "all": None}


def report(path: Path, encoder: str | None = None, ask: bool = False) -> str:
    """The report of a results file, or of the newest one in a folder, as text.

    `encoder` is for similarities, instead of the one that the run recorded; with `ask` the judge
    is asked although its verdicts lie beside the samples.
    """
    run = results.load_run(path)
    use_judge_of(run)
    parts = [f"{run.model}\n{run.path}"]
    for task, records in run.records.items():
        with verdicts_beside(run, task, ask):
            lines = _task_lines(task, records, run.expected(task), encoder)
            parts.append("\n".join([task, *lines]))
    if run.foreign:
        parts.append(f"left out, tasks of lmms-eval's own: {', '.join(run.foreign)}")
    return "\n\n".join(parts)


def use_judge_of(run: results.Run) -> None:
    """Ask the judge that the run recorded, unless another one was chosen; its replies are kept."""
    recorded = {r.get("judge") for records in run.records.values() for r in open_answers(records)}
    judge = recorded.pop() if len(recorded) == 1 else None
    os.environ.setdefault(JUDGE_VARIABLE, judge or NO_JUDGE)


def verdicts_beside(run: results.Run, task: str, ask: bool) -> AbstractContextManager[None]:
    """Within, the verdicts kept beside the task's samples hold, if there are any, unless `ask`.

    They are there wherever the folder goes; the cache of the judge's replies is not.
    """
    file = results.judgements_file(run, task)
    if ask or not file.is_file():
        return nullcontext()
    return kept_verdicts(results.read_judgements(file))


def _task_lines(
    task: str, records: Sequence[Record], expected: int, encoder: str | None
) -> Iterator[str]:
    yield summaries.table(records)
    for kind, lines in summaries.shortfalls(records, expected).items():
        yield f"  {len(lines)} {kind}"
    answered = answered_records(records)
    for field in ("template", "revision", "parser", "frame_plan", "decoder", "view"):
        values = sorted({str(record[field]) for record in answered if field in record})
        if values:
            yield f"  {field}: {', '.join(values)}"
    judged = [record for record in answered if "rubric" in record]
    for judge, grades in open_scores.mean_grades(judged).items():
        means = ", ".join(f"{name} {mean:.2f}" for name, mean in grades.items())
        scale = open_scores.grade_scale(judge, judged[0]["rubric"])
        yield f"  mean grades ({scale}) by {judge}: {means}"
    beside = published_beside(task, records, encoder)
    yield from (f"  {note}" for note in beside.notes)
    if beside.grounded:
        yield from (f"\n{table.text()}" for table in beside.tables)
        yield from answering_gap(answered, encoder)
    else:
        yield from (table.text() for table in beside.tables)
    if beside.source:
        yield f"  published: {beside.source}"


@dataclass(frozen=True)
class Beside:
    """Published results with the run's own below them, and what to know before comparing."""

    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    source: str = ""
    grounded: bool = False


def published_beside(task: str, records: Sequence[Record], encoder: str | None = None) -> Beside:
    """The published rows of the task's benchmark above this run's; none for simulated questions."""
    answered = answered_records(records)
    card = card_of(task)
    if card is None or not answered:
        return Beside()
    if any(str(record["revision"]).startswith("sample:") for record in answered):
        return Beside(("simulated questions: not to be set beside published results",))
    notes = []
    if task != card["benchmark"].replace("-", "_"):
        notes.append(f"the published rows below are of the full protocol, not of {task}")
    judged = open_answers(answered)
    if judged and not all(judge["comparable"] for judge in judge_records(judged).judges):
        notes.append("the published rows below are by another kind of judge: not comparable")
    grounded = answered[0]["kind"] == "grounded"
    tables = (
        tuple(_grounded_beside(card, answered, encoder)) if grounded else (_beside(card, records),)
    )
    return Beside(tuple(notes), tables, card["source"]["paper"], grounded)


def _beside(card: Card, records: Sequence[Record]) -> Table:
    """One line a published model, then this run's scores and their intervals."""
    ours = {row.label: row for row in summaries.rows(records)}
    columns = card["columns"]
    lines = []
    for model in card["models"]:
        values = model.get("accuracy") or model.get("judge")
        lines.append([model["name"], *(number(value) for value in values)])
    found = [ours.get(column) for column in columns]
    lines.append([OURS, *(number(row.score if row else None) for row in found)])
    lines.append(["", *(f"[{row.low:.1f}, {row.high:.1f}]" if row else "" for row in found)])
    short = [column.removeprefix("question_type: ") for column in columns]
    return Table(["", *short], lines)


def _grounded_beside(
    card: Card, answered: Sequence[Record], encoder: str | None
) -> Iterator[Table]:
    """Table 2 of ProcObject-10K: six columns for each kind of reasoning and for all."""
    for block, reasoning in GROUNDED_BLOCKS.items():
        members = [
            record
            for record in answered
            if reasoning is None or record["groups"].get("reasoning") == reasoning
        ]
        lines = [
            [f"{model['name']} ({model['group']})", *(number(value) for value in model[block])]
            for model in card["models"]
        ]
        values, intervals = grounded_columns(members, encoder)
        lines.append([f"{OURS} ({len(members)})", *(number(value) for value in values)])
        lines.append(["", *intervals])
        yield Table([block.replace("_", "-"), *card["columns"]], lines)


def grounded_columns(
    records: Sequence[Record], encoder: str | None = None
) -> tuple[list[float | None], list[str]]:
    """S, B, J, IoU, IoP, IoG of the records, and the intervals of each, clustered by video.

    S, B and the grounding in per cent, J from 0 to 5; None where there is nothing to score.
    """
    if not records:
        return [None] * 6, [""] * 6
    clusters = [record["cluster"] for record in records]
    found: list[tuple[Sequence[float], Sequence[str]] | None] = []
    similarity = similarity_of(records, encoder)
    for measure in ("sentence_similarity", "bertscore_f1"):
        found.append((similarity.values[measure].tolist(), clusters) if similarity else None)
    scores = open_scores.judged_scores(records)
    judged = [record for record in records if record["id"] in scores]
    found.append(
        ([scores[r["id"]] / 20 for r in judged], [r["cluster"] for r in judged]) if judged else None
    )
    grounded = open_scores.grounded(records)
    for each in (grounded.iou, grounded.iop, grounded.iog):
        found.append(((100 * each).tolist(), clusters))
    values: list[float | None] = []
    intervals = []
    for column in found:
        interval = bootstrap_mean(*column) if column else None
        values.append(interval.mean if interval else None)
        intervals.append(f"[{interval.low:.1f}, {interval.high:.1f}]" if interval else "")
    return values, intervals


def answering_gap(answered: Sequence[Record], encoder: str | None) -> Iterator[str]:
    """How much better a run answers than it shows why: judge in per cent minus IoU."""
    scores = open_scores.judged_scores(answered)
    judged = [record for record in answered if record["id"] in scores]
    if not judged:
        return
    iou = 100 * open_scores.grounded(judged).iou
    gaps = np.array([scores[record["id"]] for record in judged]) - iou
    gap = bootstrap_mean(gaps, [record["cluster"] for record in judged])
    yield (
        f"\nanswering-grounding gap (judge in per cent minus IoU): "
        f"{gap.mean:.1f} [{gap.low:.1f}, {gap.high:.1f}]"
    )
    similarity = similarity_of(answered, encoder)
    measured_with = similarity.encoder if similarity else "no encoder"
    judges = ", ".join(judge["id"] for judge in judge_records(answered).judges) or "no judge"
    yield f"S and B by {measured_with}; J by {judges}: only the same encoder and judges compare"
