"""The score tables of DYAD's tasks, one kind of record each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from procedural_evals.harness import open_scores
from procedural_evals.harness.dyad_decoding import VARIANTS, Decoding
from procedural_evals.harness.dyad_records import GRADES
from procedural_evals.harness.dyad_scores import mode_summary, step_summary
from procedural_evals.harness.judged_table import judged_rows
from procedural_evals.harness.records import Record, answered_records
from procedural_evals.harness.similarity import similarity_columns
from procedural_evals.harness.table_row import Row


def step_rows(records: Sequence[Record]) -> Iterator[Row]:
    """Segment F1@0.1 over all sessions, beside the other scores of the same steps."""
    yield _step_row("all", records, None)


def ablation_rows(records: Sequence[Record]) -> Iterator[Row]:
    """The same answers under each variant of the decoder (DYAD, table XIII)."""
    likelihoods = any("log_likelihoods" in record for record in answered_records(records))
    for name, decoding in VARIANTS.items():
        if likelihoods or decoding.pmi:
            yield _step_row(name, records, decoding)


def _step_row(label: str, records: Sequence[Record], decoding: Decoding | None) -> Row:
    found = step_summary(records, decoding)
    extra: dict[str, float | None] = {
        "F1@0.25": found.scores["f1@0.25"],
        "F1@0.5": found.scores["f1@0.5"],
        "edit": found.scores["edit"],
        "mAP@0.1": found.scores["map@0.1"],
        "frame mAP": found.scores["frame_map"],
        "MoF": found.scores["mof"],
        "no parse %": found.no_parse_rate,
        "sessions": found.scores["sequences"],
    }
    return Row(label, int(found.scores["frames"]), *found.intervals["f1@0.1"], extra)


def mode_rows(records: Sequence[Record]) -> Iterator[Row]:
    """Macro-F1 over all events, beside the diagnostics and two kinds of chance."""
    found = mode_summary(records)
    scores = {name: interval.mean for name, interval in found.intervals.items()}
    extra = {
        "phys. AUPRC": scores.get("auprc"),
        "bal. acc.": scores["balanced_accuracy"],
        "F1 verbal": scores["f1_verbal"],
        "F1 physical": scores["f1_physical"],
        "random": found.random,
        "majority": found.majority,
        "no parse %": found.no_parse_rate,
    }
    yield Row("all", len(answered_records(records)), *found.intervals["macro_f1"], extra)


def response_rows(records: Sequence[Record]) -> Iterator[Row]:
    """The judge's score over all questions and by session; grades and BERTScore beside it."""
    rows = list(judged_rows(records))
    if not rows:
        return
    grades = open_scores.judges_mean_grades(records)
    extra: dict[str, float | None] = {name: grades.get(name) for name in GRADES}
    extra |= similarity_columns(records, ("bertscore_f1",))
    yield replace(rows[0], extra=extra)
    yield from rows[1:]
