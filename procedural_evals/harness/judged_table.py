"""The score table of judged answers, of whichever benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from procedural_evals.harness import open_scores
from procedural_evals.harness.records import Record
from procedural_evals.harness.table_row import Row


def judged_rows(records: Sequence[Record]) -> Iterator[Row]:
    """The judge's score in [0, 100] over all judged items, then by grouping, if any was judged."""
    interval = open_scores.judge_interval(records)
    if interval is None:
        return
    scores = open_scores.judged_scores(records)
    yield Row("all", len(scores), *interval)
    judged = [record for record in records if record["id"] in scores]
    sizes = Counter(group for record in judged for group in record["groups"].items())
    for (group, value), part in open_scores.judge_breakdown(records).items():
        yield Row(f"{group}: {value}", sizes[group, value], *part)
