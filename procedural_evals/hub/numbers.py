"""A claim's numbers with their intervals, by kind of question, and the score of every item."""

from __future__ import annotations

from collections.abc import Iterator

from procedural_evals.harness import open_scores
from procedural_evals.harness.dyad_records import is_parsed
from procedural_evals.harness.dyad_scores import step_summary
from procedural_evals.harness.judged_table import judged_rows
from procedural_evals.harness.judging import kept_verdicts
from procedural_evals.harness.records import answered_records, choice_summary, score_of
from procedural_evals.harness.task_files import aggregations
from procedural_evals.hub.claims import Claim
from procedural_evals.hub.submission import Breakdown
from procedural_evals.hub.task_ids import BenchmarkTask

# Names of the step scores whose intervals have no number of their own in the results file.
_STEP_INTERVALS = {"f1_10": "f1@0.1", "f1_25": "f1@0.25", "edit": "edit", "mof": "mof"}

ALL = "all"


def headline(claim: Claim, target: BenchmarkTask) -> Breakdown:
    """The number of a leaderboard's task, under the label "all"."""
    metric = target.metric
    known = aggregations(claim.task)
    low, high = None, None
    if f"{metric}_low" in known:
        low, high = (claim.recomputed(f"{metric}_{end}") for end in ("low", "high"))
    elif _kind(claim) == "steps" and metric in _STEP_INTERVALS:
        _, low, high = step_summary(claim.records).intervals[_STEP_INTERVALS[metric]]
    return Breakdown(ALL, _count(claim, metric), claim.recomputed(metric), low, high)


def breakdown(claim: Claim, target: BenchmarkTask) -> tuple[Breakdown, ...]:
    """The same number by kind of question; nothing where the benchmark has no kinds."""
    with kept_verdicts(claim.verdicts):
        return tuple(_parts(claim, target.metric))


def _parts(claim: Claim, metric: str) -> Iterator[Breakdown]:
    answered = answered_records(claim.records)
    if metric == "accuracy":
        for name, part in choice_summary(answered).tasks.items():
            yield Breakdown(name, part.n, part.accuracy, part.low, part.high)
    elif metric == "judge":
        for row in judged_rows(answered):
            if row.label != ALL:
                yield Breakdown(row.label, row.n, row.score, row.low, row.high)
    elif metric == "iou" and (summary := open_scores.grounding(answered)) is not None:
        for group, values in summary.groups.items():
            for value, found in values.items():
                mean, low, high = (100 * number for number in found.iou)
                yield Breakdown(f"{group}: {value}", found.items, mean, low, high)


def item_scores(claim: Claim, target: BenchmarkTask) -> dict[str, float]:
    """Each item's own score, by id; empty for a number that is no mean over items."""
    answered = answered_records(claim.records)
    if target.metric == "accuracy":
        return {record["id"]: score_of(record) for record in answered}
    if target.metric == "judge":
        with kept_verdicts(claim.verdicts):
            return open_scores.judged_scores(answered)
    if target.metric == "iou":
        found = 100 * open_scores.grounded(answered).iou
        return {r["id"]: float(x) for r, x in zip(answered, found, strict=True)}
    return {}


def rates(claim: Claim) -> tuple[float | None, float | None]:
    """Shares in [0, 100] of the answered items that could be read, and that were judged.

    None where nothing is read from the replies, and where nothing is judged.
    """
    answered = answered_records(claim.records)
    read = {"choice": "letter", "grounded": "spans"}.get(_kind(claim))
    parsed = None
    if read is not None:
        parsed = 100 * sum(bool(record[read]) for record in answered) / len(answered)
    elif _kind(claim) in ("steps", "mode"):
        # Of the seconds whose step is annotated: only they are scored.
        scored = [record for record in answered if record["gold"] is not None]
        parsed = 100 * sum(map(is_parsed, scored)) / len(scored)
    judged = None
    if any("rubric" in record for record in answered):
        scores = [claim.verdicts.score(record["id"]) for record in answered]
        judged = 100 * sum(score is not None for score in scores) / len(answered)
    return parsed, judged


def _kind(claim: Claim) -> str:
    return str(claim.records[0]["kind"]) if claim.records else ""


def _count(claim: Claim, metric: str) -> int:
    answered = answered_records(claim.records)
    if metric == "judge":
        return sum(claim.verdicts.score(record["id"]) is not None for record in answered)
    if _kind(claim) == "steps":
        return sum(record["gold"] is not None for record in answered)
    return len(answered)
