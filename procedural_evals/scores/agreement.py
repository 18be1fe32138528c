"""Agreement of two annotators: on labels, on which events there were, and on their boundaries."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Times such as 2.2 and 1.2 are 1.0000000000000002 apart in binary: still "within 1 s".
_SLACK = 1e-9


def _coded(first: Sequence[Hashable], second: Sequence[Hashable]) -> tuple[Ints, Ints, int]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels against {len(second)}; pair them item by item")
    if len(first) == 0:
        raise ValueError("no items: agreement needs at least one")
    number: dict[Hashable, int] = {}
    for label in (*first, *second):
        if isinstance(label, float) and label != label:
            raise ValueError("a label is NaN, which equals nothing; use None for no label")
        number.setdefault(label, len(number))
    a, b = (np.array([number[x] for x in side], np.int64) for side in (first, second))
    return a, b, len(number)


def percent_agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Share of items that both gave the same label, in [0, 100]. None is a label like any other.

    >>> percent_agreement(["a", "b", None, "a"], ["a", "b", None, "b"])
    75.0
    """
    a, b, _ = _coded(first, second)
    return float(100 * (a == b).mean())


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Agreement beyond chance, (observed - expected) / (1 - expected), in [-1, 1].

    Cohen (1960), with the expected agreement of two annotators who keep their own label shares.
    Where both used one and the same label throughout, no disagreement was possible and chance
    explains everything; 0/0 is taken as 1, because they agree. None is a label like any other.

    >>> cohen_kappa(["a", "b", "a", "b"], ["a", "b", "b", "b"])
    0.5
    """
    a, b, k = _coded(first, second)
    observed = (a == b).mean()
    shares = [np.bincount(side, minlength=k) / side.size for side in (a, b)]
    expected = float(shares[0] @ shares[1])
    if expected >= 1:
        return 1.0
    return float((observed - expected) / (1 - expected))


def match_events(first: ArrayLike, second: ArrayLike, tolerance: float) -> Ints:
    """The best one-to-one matching of two lists of onsets: int64 [pairs, 2], index into each.

    As many pairs as possible whose onsets are at most `tolerance` seconds apart and, among those
    matchings, the smallest sum of distances. On a line two crossing pairs can always be uncrossed
    without leaving the tolerance or adding distance, so the optimum is found among the matchings
    that keep the order, by dynamic programming over a table of the two lists.

    Args:
        first: [n] seconds, in any order.
        second: [m] seconds, in any order.
        tolerance: seconds, 0 or more; an equal distance is within it. `inf` allows every pair.

    A greedy choice of the closest pair (1.0 with 1.2) would leave the other two alone:

    >>> match_events([0.5, 1.2], [1.0, 2.0], tolerance=1.0).tolist()
    [[0, 0], [1, 1]]
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance: {tolerance}; 0 seconds or more are needed")
    a, b = _onsets(first, "first"), _onsets(second, "second")
    rows, columns = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    a, b = a[rows], b[columns]
    distance = np.abs(a[:, None] - b[None, :])
    near = distance <= tolerance + _SLACK
    # One pair more always weighs more than any sum of distances. The weight grows with the
    # distances that occur, not with the tolerance, beside which they may vanish.
    farthest = distance[near].max(initial=0.0) or 1.0
    gain = np.where(near, (min(a.size, b.size) + 1) * farthest - distance, -np.inf)
    best = np.zeros((a.size + 1, b.size + 1))
    for i in range(a.size):
        taken = np.maximum(best[i, 1:], best[i, :-1] + gain[i])
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(taken, 0))
    pairs = []
    i, j = a.size, b.size
    while i and j:
        if best[i, j] == best[i, j - 1]:
            j -= 1
        elif best[i, j] == best[i - 1, j]:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((rows[i], columns[j]))
    return np.array(pairs[::-1], np.int64).reshape(-1, 2)


def _onsets(times: ArrayLike, name: str) -> Floats:
    array = np.asarray(times, np.float64)
    if array.size == 0:
        return np.empty(0)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{name}: one finite onset an event is needed, not {times!r:.80}")
    return array


@dataclass(frozen=True)
class EventAgreement:
    """How well two lists of events agree, over all sessions.

    Attributes:
        pairs: for each session int64 [pairs, 2], the matched events' numbers on each side.
        predicted, reference, matched: numbers of events.
        start_errors, end_errors: absolute seconds between matched boundaries; an end that one side
            leaves open has none.
    """

    pairs: tuple[Ints, ...]
    predicted: int
    reference: int
    start_errors: Floats
    end_errors: Floats

    @property
    def matched(self) -> int:
        return sum(len(pairs) for pairs in self.pairs)

    def scores(self) -> dict[str, float | None]:
        """Precision, recall and F1 in [0, 1], mean absolute boundary errors in seconds, counts.

        Without events on both sides precision, recall and F1 are 1, without any on one side 0.
        A boundary error is None where nothing could be compared.
        """
        none = self.predicted == self.reference == 0
        return {
            "precision": 1.0 if none else self.matched / max(1, self.predicted),
            "recall": 1.0 if none else self.matched / max(1, self.reference),
            "f1": 1.0 if none else 2 * self.matched / (self.predicted + self.reference),
            "start_mae": float(self.start_errors.mean()) if self.start_errors.size else None,
            "end_mae": float(self.end_errors.mean()) if self.end_errors.size else None,
            "matched": self.matched,
            "predicted": self.predicted,
            "reference": self.reference,
        }


def event_agreement(
    predictions: Sequence[Sequence[Any]],
    references: Sequence[Sequence[Any]],
    tolerance: float = 1.0,
) -> EventAgreement:
    """Match the events of each session one-to-one by onset, and compare their boundaries.

    Args:
        predictions: for each session a list of events: {"start": s, "end": s} in seconds, a pair
            (start, end), or an onset alone. An end may be None.
        references: the same of the other annotator.
        tolerance: how far onsets may be apart, in seconds.

    Raises:
        ValueError: another number of sessions on the two sides, an event without an onset, an end
            before its start.

    >>> second = event_agreement([[{"start": 1.0, "end": 2.0}]], [[(1.5, 2.0), (7.0, 9.0)]])
    >>> second.scores()["recall"], second.scores()["start_mae"]
    (0.5, 0.5)
    """
    if len(predictions) != len(references):
        raise ValueError(
            f"{len(predictions)} predicted sessions for {len(references)} references; pair them"
        )
    if not predictions:
        raise ValueError("no sessions: agreement needs at least one")
    pairs, starts, ends, counts = [], [], [], np.zeros(2, np.int64)
    for i, sides in enumerate(zip(predictions, references, strict=True)):
        a, b = (
            _spans(events, f"{side}: session {i}")
            for side, events in zip(("predictions", "references"), sides, strict=True)
        )
        matched = match_events(a[:, 0], b[:, 0], tolerance)
        difference = np.abs(a[matched[:, 0]] - b[matched[:, 1]])
        pairs.append(matched)
        starts.append(difference[:, 0])
        ends.append(difference[:, 1][~np.isnan(difference[:, 1])])
        counts += (len(a), len(b))
    return EventAgreement(
        tuple(pairs), int(counts[0]), int(counts[1]), np.concatenate(starts), np.concatenate(ends)
    )


def _spans(events: Sequence[Any], name: str) -> Floats:
    """Events as float64 [n, 2], start and end, an open end as NaN."""
    spans = np.full((len(events), 2), np.nan)
    for i, event in enumerate(events):
        start, end = _ends_of(event)
        try:
            spans[i] = (float(start), np.nan if end is None else float(end))
        except (TypeError, ValueError):
            raise ValueError(f"{name}: event {i} is {event!r}; give its start in seconds") from None
        if not np.isfinite(spans[i, 0]) or spans[i, 1] < spans[i, 0] or np.isinf(spans[i, 1]):
            raise ValueError(f"{name}: event {i} runs from {start} to {end}; give start <= end")
    return spans


def _ends_of(event: Any) -> tuple[Any, Any]:
    if isinstance(event, Mapping):
        return event.get("start"), event.get("end")
    if isinstance(event, list | tuple | np.ndarray) and len(event) == 2:
        return event[0], event[1]
    return event, None
