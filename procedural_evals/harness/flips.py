"""Items whose score changed most from run A to run B, and the counts of right and wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from procedural_evals.harness.paired_line import Measured
from procedural_evals.harness.pairing import Pairs
from procedural_evals.harness.records import Record
from procedural_evals.scores.pairs import mcnemar

# Scores of an item that is right (100) or wrong (0) and nothing between.
BINARY = ("accuracy", "right step", "right mode")


@dataclass(frozen=True)
class Flip:
    """One item that changed: the true answer (of A, and of B where it is another), the scores in
    [0, 100], the answers as read, and the whole replies.
    """

    id: str
    truth: str
    a: float
    b: float
    answer_a: str
    answer_b: str
    reply_a: str
    reply_b: str


@dataclass(frozen=True)
class Flips:
    """How the items changed from A to B.

    Attributes:
        measure: the score of an item.
        binary: whether an item is right (100) or wrong (0) and nothing between.
        better, worse, same: counts of items.
        both_right, both_wrong: counts, where the score is binary.
        mcnemar: exact p-value of as many worse and better items, where the score is binary; it
            takes items for independent of each other.
        lost, gained: the items that got worse and better, largest changes first, then by id.
    """

    measure: str
    binary: bool
    better: int
    worse: int
    same: int
    both_right: int | None
    both_wrong: int | None
    mcnemar: float | None
    lost: tuple[Flip, ...]
    gained: tuple[Flip, ...]


def flips(pairs: Pairs, found: Measured) -> Flips:
    """All changes of the compared items that have a score on both sides."""
    change = found.b - found.a
    scored = ~np.isnan(change)
    binary = found.item_measure in BINARY
    order = np.argsort(-np.abs(np.where(scored, change, 0)), kind="stable").tolist()
    lost = tuple(_flip(pairs, found, n) for n in order if change[n] < 0)
    gained = tuple(_flip(pairs, found, n) for n in order if change[n] > 0)
    right = (found.a == 100) & (found.b == 100)
    return Flips(
        measure=found.item_measure,
        binary=binary,
        better=len(gained),
        worse=len(lost),
        same=int(scored.sum()) - len(gained) - len(lost),
        both_right=int(right.sum()) if binary else None,
        both_wrong=int(((found.a == 0) & (found.b == 0)).sum()) if binary else None,
        mcnemar=mcnemar(len(lost), len(gained)) if binary else None,
        lost=lost,
        gained=gained,
    )


def _flip(pairs: Pairs, found: Measured, n: int) -> Flip:
    return Flip(
        str(pairs.a[n]["id"]),
        " / ".join(dict.fromkeys([_truth(pairs.a[n]), _truth(pairs.b[n])])),
        float(found.a[n]),
        float(found.b[n]),
        found.answers_a[n],
        found.answers_b[n],
        _reply(pairs.a[n]),
        _reply(pairs.b[n]),
    )


def _truth(record: Record) -> str:
    return str(record["gold"] if "gold" in record else record["answers"][0])


def _reply(record: Record) -> str:
    return str(record.get("reply", record.get("prediction", "")))
