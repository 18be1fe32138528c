"""How much of a score needs what a task shows: a full run beside its variants and chance.

For every variant (words only, pictures only, part numbers dealt out anew, ...): the paired
difference to the full run, which share of the full score remains, how many of the full run's right
answers are right again, and how far the letters agree beyond chance. Two rows are computed and need
no run: always the commonest right letter, and a letter at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from procedural_evals.harness.audit_chance import most_frequent_letter, random_letter
from procedural_evals.harness.audit_findings import MEASURES, Finding, findings_of, floors
from procedural_evals.harness.audit_variants import Family
from procedural_evals.harness.paired_line import ALL
from procedural_evals.harness.paired_measures import item_values
from procedural_evals.harness.records import answered_records, score_of
from procedural_evals.scores.choice_accuracy import ShuffleAgreement, shuffle_agreement
from procedural_evals.scores.uncertainty import Interval, bootstrap_mean, holm


@dataclass(frozen=True)
class Audit:
    """A full run and its variants, by one measure.

    Attributes:
        task, model, results: of the full run.
        measure: what is scored, in [0, 100].
        n, score: scored items of the full run, and the score.
        interval: the score with its interval; None for scores that are no means of items.
        floor: the score of guessing: of a random letter for multiple choice, otherwise 0.
        findings: variants first, then computed rows.
        consistency: over the full run and the variants whose right letters moved: questions right
            in all of them, in most, in any; None where there is no such variant.
    """

    task: str
    model: str
    results: str
    measure: str
    n: int
    score: float
    interval: Interval | None
    floor: float
    findings: tuple[Finding, ...]
    consistency: ShuffleAgreement | None = None

    def as_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, numbers and texts."""
        return asdict(self)


def audit(family: Family, force: bool = False) -> tuple[list[Audit], dict[str, str]]:
    """One audit for each measure that the full run shares with a variant.

    Also why a variant could not be set against the full run, by its task: other judges than the
    full run's (unless `force` is set), no item that both answered, no measure in common.
    """
    found: dict[str, list[Finding]] = {}
    refused: dict[str, str] = {}
    for variant in family.variants:
        try:
            for measure, finding in findings_of(family, variant, force).items():
                found.setdefault(measure, []).append(finding)
        except ValueError as error:
            refused[variant.label] = f"(A: {family.full.task}, B: {variant.label}) {error}"
    audits = [_audit(family, measure, found[measure]) for measure in MEASURES if measure in found]
    return audits, refused


def _audit(family: Family, measure: str, findings: Sequence[Finding]) -> Audit:
    full = family.full
    head = full.task, full.model, full.results, measure
    records = answered_records(full.records)
    values = item_values(records).get(measure)
    if values is None:
        whole = findings[0].whole
        return Audit(*head, whole.n, whole.a, None, 0.0, tuple(_corrected(findings)))
    scored = [r for r, value in zip(records, values, strict=True) if not np.isnan(value)]
    values = values[~np.isnan(values)]
    interval = bootstrap_mean(values, [str(record["cluster"]) for record in scored])
    computed: list[Finding] = []
    if measure == "accuracy":
        computed = [most_frequent_letter(scored, values), random_letter(scored, values)]
    return Audit(
        *head,
        len(scored),
        interval.mean,
        interval,
        float(floors(scored).mean()),
        tuple(_corrected([*findings, *computed])),
        _consistency(family, findings),
    )


def _consistency(family: Family, findings: Sequence[Finding]) -> ShuffleAgreement | None:
    """How many questions are right however their options are dealt out."""
    moved = {f.task for f in findings if f.letters is not None and f.letters.moved}
    if not moved:
        return None
    orders = [family.full, *(run for run in family.variants if run.label in moved)]
    answers = [
        {str(record["id"]): score_of(record) == 100 for record in answered_records(run.records)}
        for run in orders
    ]
    shared = sorted(set.intersection(*(set(each) for each in answers)))
    if not shared:
        return None
    return shuffle_agreement(
        [item for item in shared for _ in answers],
        [each[item] for item in shared for each in answers],
    )


def _corrected(findings: Sequence[Finding]) -> list[Finding]:
    """Corrected p-values: those over all items together, and those by group together."""
    lines = [list(finding.lines) for finding in findings]
    for whole in (True, False):
        members = [
            (n, m, line.p_value)
            for n, each in enumerate(lines)
            for m, line in enumerate(each)
            if line.p_value is not None and (line.group == ALL) == whole
        ]
        for (n, m, _), value in zip(members, holm([p for *_, p in members]), strict=True):
            lines[n][m] = replace(lines[n][m], p_holm=value)
    return [
        replace(finding, lines=tuple(each)) for finding, each in zip(findings, lines, strict=True)
    ]
