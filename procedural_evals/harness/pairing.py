"""Two runs' records of the same items, put side by side by their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from procedural_evals.harness.records import Record

_SHOWN = 5


@dataclass(frozen=True)
class Counts:
    """How many items there are, and what became of them.

    Attributes:
        both, only_a, only_b: items that both runs have, or one alone.
        failed_a, failed_b: items of both runs that this one failed on; they are left out.
        compared: items of both runs that both answered.
        unjudged_a, unjudged_b: compared items that this run has no judge's score for; they are
            left out of the judge's score alone.
    """

    both: int
    only_a: int
    only_b: int
    failed_a: int
    failed_b: int
    compared: int
    unjudged_a: int = 0
    unjudged_b: int = 0


@dataclass(frozen=True)
class Pairs:
    """The records of the compared items, in the order of their ids, and the counts behind them."""

    a: tuple[Record, ...]
    b: tuple[Record, ...]
    counts: Counts

    @property
    def clusters(self) -> list[str]:
        """What the items' intervals are clustered by: video, recording or participant."""
        return [str(record["cluster"]) for record in self.a]


def pair(a: Sequence[Record], b: Sequence[Record]) -> Pairs:
    """The records of both runs by id; those that failed on either side are left out and counted.

    Raises ValueError for an id that one run has twice, and where no item was answered by both.
    """
    left, right = _by_id(a, "A"), _by_id(b, "B")
    shared = sorted(left.keys() & right.keys())
    if not shared:
        raise ValueError(
            f"A and B have no item in common: A has {_some(left)}, and B has {_some(right)}"
        )
    failed_a = {item for item in shared if left[item]["failure"] is not None}
    failed_b = {item for item in shared if right[item]["failure"] is not None}
    kept = [item for item in shared if item not in failed_a | failed_b]
    if not kept:
        reasons = [
            f"{side} failed on {len(failed)} ({rows[min(failed)]['failure']})"
            for side, rows, failed in (("A", left, failed_a), ("B", right, failed_b))
            if failed
        ]
        raise ValueError(
            f"none of the {len(shared)} items of both runs was answered by both: "
            f"{', '.join(reasons)}"
        )
    rows_a, rows_b = [left[item] for item in kept], [right[item] for item in kept]
    counts = Counts(
        both=len(shared),
        only_a=len(left) - len(shared),
        only_b=len(right) - len(shared),
        failed_a=len(failed_a),
        failed_b=len(failed_b),
        compared=len(kept),
        unjudged_a=sum(map(_unjudged, rows_a)),
        unjudged_b=sum(map(_unjudged, rows_b)),
    )
    return Pairs(tuple(rows_a), tuple(rows_b), counts)


def _by_id(records: Sequence[Record], side: str) -> dict[str, Record]:
    counts = Counter(str(record["id"]) for record in records)
    repeated = [item for item, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{side} has {len(repeated)} ids more than once ({', '.join(repeated[:_SHOWN])}); "
            "items are paired by id, one record an id"
        )
    return {str(record["id"]): record for record in records}


def _some(records: dict[str, Record]) -> str:
    if not records:
        return "no items"
    names = ", ".join(list(records)[:2])
    return f"{len(records)}, such as {names}"


def _unjudged(record: Record) -> bool:
    return "rubric" in record and record.get("judge_score") is None
