"""What an audit finds of one variant, set against the full run item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from procedural_evals.harness.audit_variants import VIDEO, Family, TaskRun
from procedural_evals.harness.conditions import (
    Contrast,
    NotComparableError,
    contrasts,
    settings_contrasts,
)
from procedural_evals.harness.paired_line import ALL, Floats, Line
from procedural_evals.harness.paired_measures import item_values, measured
from procedural_evals.harness.pairing import Counts, Pairs, pair
from procedural_evals.harness.records import Record
from procedural_evals.scores.pairs import kappa_interval
from procedural_evals.scores.uncertainty import Interval, bootstrap_mean, share_of

#: The measures that are audited, each in a table of its own.
MEASURES = ("accuracy", "judge", "IoU", "macro-F1", "F1@0.1")
#: Variants differ in words and media on purpose, but not in who judges.
REFUSING = ("judges", "rubric")


@dataclass(frozen=True)
class Overlap:
    """Of the items that the full run scores on, those on which the variant does as well.

    Attributes:
        scored: items right in the full run; where answers are graded, those graded above 0.
        kept: those of them that are right in the variant too, or graded at least as high.
        expected: how many would be right in both if the two had nothing to do with each other;
            None where answers are graded.
    """

    scored: int
    kept: int
    expected: float | None


@dataclass(frozen=True)
class Letters:
    """How far two runs name the same letters.

    Attributes:
        same, items: counts; both runs named a letter.
        kappa: Cohen's kappa with its interval; 0 is what two unrelated runs would reach.
        moved: whether there are items whose right letter changed. Then only those count: one who
            answers both rightly never keeps the letter there.
    """

    same: int
    items: int
    kappa: Interval
    moved: bool


@dataclass(frozen=True)
class Finding:
    """One variant (or computed row) against the full run, by one measure.

    Attributes:
        name, task: of the variant; a computed row has no task.
        hidden: the media that the full run was shown and this one was not.
        withholds_video: whether nothing of the video was left.
        lines: differences variant - full, over all items first, then by group.
        counts: of the items that were paired.
        interval: the variant's score with its interval, for scores that are means of items.
        remaining: which share of the full score above its floor this one has; None where the full
            score is not clearly above the floor, and for scores that are no means of items.
        overlap, letters: see there.
        contrasts: everything in which the two runs differ.
    """

    name: str
    task: str | None
    hidden: tuple[str, ...]
    withholds_video: bool
    lines: tuple[Line, ...]
    counts: Counts | None = None
    interval: Interval | None = None
    remaining: Interval | None = None
    overlap: Overlap | None = None
    letters: Letters | None = None
    contrasts: tuple[Contrast, ...] = ()

    @property
    def whole(self) -> Line:
        """The difference over all items."""
        return self.lines[0]


def findings_of(family: Family, variant: TaskRun, force: bool = False) -> dict[str, Finding]:
    """What the audit finds of a variant, by measure.

    Raises NotComparableError where others judged it than the full run, unless `force` is set.
    """
    pairs = pair(family.full.records, variant.records)
    different = contrasts(pairs)
    refusing = tuple(c for c in different if c.setting in REFUSING)
    if refusing and not force:
        raise NotComparableError(refusing)
    notes = settings_contrasts(family.full.settings, variant.settings, pairs.counts.compared)
    full, cut = item_values(pairs.a), item_values(pairs.b)
    hidden = family.hidden_from(variant)
    lines: dict[str, list[Line]] = {}
    for line in measured(pairs).lines:
        # Of scores that are no means of items the headline alone.
        if line.measure in MEASURES and (line.measure in full or line.primary):
            lines.setdefault(line.measure, []).append(line)
    return {
        measure: Finding(
            family.name_of(variant),
            variant.label,
            tuple(sorted(hidden)),
            bool(hidden & VIDEO) and not (variant.shown or frozenset()) & VIDEO,
            tuple(sorted(each, key=lambda line: line.group != ALL)),
            contrasts=(*different, *notes),
            counts=pairs.counts,
            **(_means(pairs, measure, full, cut) if measure in full else {}),
        )
        for measure, each in lines.items()
    }


def _means(
    pairs: Pairs, measure: str, full: Mapping[str, Floats], cut: Mapping[str, Floats]
) -> dict[str, Any]:
    """What only scores that are means of items have."""
    there = np.flatnonzero(~np.isnan(full[measure]) & ~np.isnan(cut[measure])).tolist()
    a, b = full[measure][there], cut[measure][there]
    left, right = [pairs.a[n] for n in there], [pairs.b[n] for n in there]
    clusters = [str(record["cluster"]) for record in left]
    binary = measure == "accuracy"
    kept = (a > 0) & (b >= a)
    return {
        "interval": bootstrap_mean(b, clusters),
        "remaining": share_of(b - floors(right), a - floors(left), clusters),
        "overlap": Overlap(
            int((a > 0).sum()),
            int(kept.sum()),
            float((a > 0).sum() * (b > 0).mean()) if binary else None,
        ),
        "letters": _letters(left, right) if binary else None,
    }


def floors(records: Sequence[Record]) -> Floats:
    """What guessing gets for each record: 100 / options for multiple choice, otherwise 0."""
    return np.array([100.0 / r["num_options"] if "num_options" in r else 0.0 for r in records])


def _letters(left: Sequence[Record], right: Sequence[Record]) -> Letters | None:
    named = [
        (a, b)
        for a, b in zip(left, right, strict=True)
        if a["letter"] is not None and b["letter"] is not None
    ]
    moved = [(a, b) for a, b in named if a["gold"] != b["gold"]]
    named = moved or named
    if not named:
        return None
    first = [str(a["letter"]) for a, _ in named]
    second = [str(b["letter"]) for _, b in named]
    return Letters(
        sum(a == b for a, b in zip(first, second, strict=True)),
        len(named),
        kappa_interval(first, second, [str(a["cluster"]) for a, _ in named]),
        bool(moved),
    )
