"""Rows of an audit that need no run: always the commonest right letter, and a letter at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from procedural_evals.harness.audit_findings import Finding, floors
from procedural_evals.harness.paired_line import ALL, Floats, line_of
from procedural_evals.harness.paired_measures import groups_of
from procedural_evals.harness.records import Record
from procedural_evals.scores.choice_accuracy import most_frequent
from procedural_evals.scores.uncertainty import paired_difference

MOST_FREQUENT, RANDOM = "most frequent letter", "random letter"


def most_frequent_letter(records: Sequence[Record], values: Floats) -> Finding:
    """Always the commonest right letter: of all questions, and by group of the group's own."""

    def guess(members: Sequence[int]) -> Floats:
        gold = [records[n]["gold"] for n in members]
        letter = most_frequent(gold)[0]
        return np.array([100.0 * (each == letter) for each in gold])

    return _computed(MOST_FREQUENT, records, values, guess)


def random_letter(records: Sequence[Record], values: Floats) -> Finding:
    """A letter at random: the mean over all draws, so that only the full run's answers vary."""
    return _computed(RANDOM, records, values, lambda members: floors([records[n] for n in members]))


def _computed(
    name: str, records: Sequence[Record], values: Floats, guess: Callable[[Sequence[int]], Floats]
) -> Finding:
    lines = []
    for group, members in {ALL: list(range(len(records))), **groups_of(records)}.items():
        ours, theirs = values[members], guess(members)
        clusters = [str(records[n]["cluster"]) for n in members]
        found = paired_difference(theirs, ours, clusters)
        means = float(ours.mean()), float(theirs.mean())
        lines.append(line_of("accuracy", group, *means, found, clusters, group == ALL))
    return Finding(name, None, (), False, tuple(lines))
