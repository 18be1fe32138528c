"""Two runs on the same items: what differs, by how much, and whether that may be chance.

`compare` takes two lists of items' records and nothing else (no files, no judge, no lmms-eval), so
that a page which holds the records of many submissions can call it. Records of open answers carry
their verdicts (`verdict_records`).

    found = compare(records_a, records_b)
    found.headline.difference, found.headline.p_value

Differences are B - A on the items that both answered, with the percentile interval and the
two-sided p-value of a seeded cluster bootstrap (2,000 draws). Corrected p-values (Holm) belong to
one of two families: the headlines of all tasks that are compared, and within a task all its other
lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from procedural_evals.harness.conditions import Contrast, NotComparableError, contrasts
from procedural_evals.harness.flips import Flips, flips
from procedural_evals.harness.paired_line import Line
from procedural_evals.harness.paired_measures import measured
from procedural_evals.harness.pairing import Counts, pair
from procedural_evals.harness.records import Record
from procedural_evals.scores.uncertainty import DRAWS, holm

#: With fewer clusters the bootstrap draws from too little: its intervals are too narrow.
FEW_CLUSTERS = 10


@dataclass(frozen=True)
class Comparison:
    """What comparing two runs of a task found.

    Attributes:
        counts: items in both runs, in one alone, failed, compared.
        contrasts: the settings in which the runs differ, those that refuse first.
        lines: every measure over all items and by group; the first is the headline.
        flips: the items that changed.
    """

    counts: Counts
    contrasts: tuple[Contrast, ...]
    lines: tuple[Line, ...]
    flips: Flips

    @property
    def headline(self) -> Line:
        """The task's main score over all compared items."""
        return next(line for line in self.lines if line.primary)

    @property
    def refusals(self) -> tuple[Contrast, ...]:
        """Differences in spite of which the runs were compared, because that was asked for."""
        return tuple(contrast for contrast in self.contrasts if contrast.refuses)

    @property
    def notes(self) -> tuple[Contrast, ...]:
        """Differences that forbid nothing."""
        return tuple(contrast for contrast in self.contrasts if not contrast.refuses)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, numbers and texts; all flips, whole replies."""
        return asdict(self)


def compare(
    a: Sequence[Record],
    b: Sequence[Record],
    *,
    force: bool = False,
    similarity: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Run B against run A, item by item.

    `a` and `b` are records of one task each, paired by id. With `force` they are compared although
    settings differ that refuse; those stay in `contrasts`. With `similarity` the records'
    similarities are compared as well, and another encoder refuses.

    Raises:
        NotComparableError: the runs differ in what makes the score; its `contrasts` say in what.
        ValueError: no item in common, an id that one run has twice, no measure in common.
    """
    pairs = pair(a, b)
    different = contrasts(pairs, similarity)
    refusing = tuple(contrast for contrast in different if contrast.refuses)
    if refusing and not force:
        raise NotComparableError(refusing)
    found = measured(pairs, draws, seed)
    comparison = Comparison(pairs.counts, different, tuple(found.lines), flips(pairs, found))
    return corrected({"": comparison})[""]


def corrected(comparisons: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """The comparisons with p-values corrected: the headlines together, the others by task."""
    families: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for task, comparison in comparisons.items():
        for number, line in enumerate(comparison.lines):
            if line.p_value is not None:
                family = ("", True) if line.primary else (task, False)
                families.setdefault(family, []).append((task, number))
    lines = {task: list(comparison.lines) for task, comparison in comparisons.items()}
    for members in families.values():
        raw = [lines[task][number].p_value for task, number in members]
        for (task, number), value in zip(members, holm([p or 0.0 for p in raw]), strict=True):
            lines[task][number] = replace(lines[task][number], p_holm=value)
    return {
        task: replace(comparison, lines=tuple(lines[task]))
        for task, comparison in comparisons.items()
    }
