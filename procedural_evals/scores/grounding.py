"""Temporal evidence grounding: set-level IoU, IoP and IoG of two sets of spans per item.

Formulas: ProcObject-10K (Guo and Kong, arXiv 2512.03479, section 5.2, equation 4), after
MultiHop-EgoQA. With P the union of the predicted and T the union of the true spans of an item:

    IoU = |P and T| / |P or T|      IoP = |P and T| / |P|      IoG = |P and T| / |T|

Equation 4 sums the overlaps of all pairs of spans, which would count a second twice when spans of
one side overlap; the published per-item values are those of merged spans. So both sides are
merged first. Nothing is clipped to the length of the clip: a prediction that runs past the end
pays for it.

All items are scored in one sweep over the sorted ends of all spans.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from procedural_evals.scores.uncertainty import (
    DRAWS,
    LEVEL,
    Interval,
    cluster_counts,
    partition,
    percentile_ends,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = (0.3, 0.5, 0.7)

# Of one item: (start, end) pairs or {"start", "end"} dictionaries, in seconds.
ItemSpans = Sequence[Any]

_NUMBERS = (int, float, np.integer, np.floating)
_LARGEST = 1e12  # seconds; differences and sums stay finite


class _Flat(NamedTuple):
    """The spans of all items behind one another: [m] each, and the number of items."""

    item: Ints
    start: Floats
    end: Floats


def _fault(side: str, item: int, spans: Any) -> str | None:
    """What is wrong with the spans of one item, or None."""
    where = f"{side}: item {item}"
    if not _is_list(spans):
        return f"{where} is {spans!r:.80}; a list of spans is needed, [] for none"
    for number, span in enumerate(spans):
        what = f"{where}, span {number} is {span!r:.80}"
        if isinstance(span, Mapping):
            if set(span) != {"start", "end"}:
                return f"{what}; its keys must be 'start' and 'end'"
            start, end = span["start"], span["end"]
        elif not _is_list(span) or len(span) != 2:
            return f"{what}; a pair (start, end) or {{'start', 'end'}} is needed"
        else:
            start, end = span
        if not (_is_number(start) and _is_number(end)):
            return f"{what}; start and end must be numbers of seconds"
        if not (abs(start) <= _LARGEST and abs(end) <= _LARGEST):
            return f"{what}; start and end must be finite, at most {_LARGEST:g}"
        if start > end:
            return f"{what}; it ends before it starts"
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _flatten(side: str, items: Sequence[ItemSpans]) -> _Flat:
    """The spans of all items as flat arrays; raises ValueError that names the first wrong span."""
    if not _is_list(items):
        raise ValueError(f"{side}: {items!r:.80}; a list with the spans of each item is needed")
    return _quickly_flattened(items) or _slowly_flattened(side, items)


def _quickly_flattened(items: Sequence[ItemSpans]) -> _Flat | None:
    """Without a look at single spans; None when there is one that needs it."""
    try:
        sizes = np.fromiter(map(len, items), np.int64, count=len(items))
        spans = list(chain.from_iterable(items))
        keys = ("start", "end") if set(map(type, spans)) == {dict} else (0, 1)
        ends = [*map(itemgetter(keys[0]), spans), *map(itemgetter(keys[1]), spans)]
        if not set(map(len, spans)) <= {2} or not all(
            issubclass(kind, _NUMBERS) and kind is not bool for kind in set(map(type, ends))
        ):
            return None
        start, end = np.array(ends, dtype=np.float64).reshape(2, -1)
    except (TypeError, KeyError, IndexError, OverflowError):
        return None
    if not (np.maximum(np.abs(start), np.abs(end)) <= _LARGEST).all() or (start > end).any():
        return None
    return _Flat(np.repeat(np.arange(len(items)), sizes), start, end)


def _slowly_flattened(side: str, items: Sequence[ItemSpans]) -> _Flat:
    """Span by span: for a side that mixes pairs and dictionaries, or that holds something wrong."""
    item: list[int] = []
    ends: list[tuple[float, float]] = []
    for number, spans in enumerate(items):
        fault = _fault(side, number, spans)
        if fault:
            raise ValueError(fault)
        item += [number] * len(spans)
        ends += [(s["start"], s["end"]) if isinstance(s, Mapping) else (s[0], s[1]) for s in spans]
    start, end = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return _Flat(np.array(item, dtype=np.int64), start, end)


def check_spans(side: str, items: Sequence[ItemSpans]) -> None:
    """Raise the ValueError that `grounded_iou` would raise for the spans of one side.

    >>> check_spans("predictions", [[], [{"start": 12, "end": 5}]])
    Traceback (most recent call last):
    ValueError: predictions: item 1, span 0 is {'start': 12, 'end': 5}; it ends before it starts
    """
    _flatten(side, items)


class _Lengths(NamedTuple):
    """Seconds of each item [n] that are in P only, in T only, and in both."""

    predicted_only: Floats
    true_only: Floats
    both: Floats


def _sweep(predicted: _Flat, true: _Flat, n: int) -> _Lengths:
    """Walk over all ends of all spans in the order of item and time, counting the open spans.

    The counts are whole numbers, so overlapping spans of one side merge by themselves.
    """
    p, t = len(predicted.start), len(true.start)
    # Complex numbers are ordered by their real part, then by the other: item, then time, exactly.
    key = np.empty(2 * (p + t), np.complex128)
    key.real = np.concatenate([predicted.item, predicted.item, true.item, true.item])
    key.imag = np.concatenate([predicted.start, predicted.end, true.start, true.end])
    order = np.argsort(key)
    key = key[order]
    opens_p = np.repeat(np.array([1, -1, 0], np.int8), [p, p, 2 * t])[order]
    opens_t = np.repeat(np.array([0, 1, -1], np.int8), [2 * p, t, t])[order]
    state = (np.cumsum(opens_p) > 0) + 2 * (np.cumsum(opens_t) > 0)
    # Behind an item's last end nothing is open: the step to the next item falls to state 0.
    step = np.diff(key.imag, append=0.0)
    place = 4 * key.real.astype(np.int64) + state
    seconds = np.bincount(place, weights=step, minlength=4 * n).reshape(n, 4)
    return _Lengths(*np.ascontiguousarray(seconds[:, 1:].T))


@dataclass(frozen=True)
class GroundedIoU:
    """Per item [n]: IoU, IoP and IoG in [0, 1], seconds of each side, number of predicted spans."""

    iou: Floats
    iop: Floats
    iog: Floats
    predicted_seconds: Floats
    reference_seconds: Floats
    predicted_spans: Ints

    @property
    def mean_iou(self) -> float:
        """Mean IoU over the items, in [0, 1]."""
        return float(self.iou.mean())

    @property
    def mean_iop(self) -> float:
        """Mean IoP over the items, in [0, 1]; an item without a prediction counts as 0."""
        return float(self.iop.mean())

    @property
    def mean_iog(self) -> float:
        """Mean IoG over the items, in [0, 1]."""
        return float(self.iog.mean())

    @property
    def without_span(self) -> float:
        """Share of the items whose prediction has no span, in [0, 1]."""
        return float((self.predicted_spans == 0).mean())

    def recall(self, threshold: float) -> float:
        """Share of the items whose IoU is at least the threshold, in [0, 1]."""
        return float((self.iou >= threshold).mean())


def grounded_iou(predictions: Sequence[ItemSpans], references: Sequence[ItemSpans]) -> GroundedIoU:
    """IoU, IoP and IoG of every item, spans of one side merged first, nothing clipped.

    Each side holds for each of the n items a list of spans in seconds, as (start, end) pairs or as
    {"start", "end"}, in any order. Without a predicted span (or with none that has a length) all
    three are 0. An item whose truth covers no time has no score and is a ValueError, as are sides
    of different length, no items, and spans that are not finite or end before they start; the
    message names item and span.

    >>> scores = grounded_iou([[(0, 25), (30, 50)]], [[(0, 23), (31, 39), (43, 53)]])
    >>> round(scores.mean_iou, 3), round(scores.mean_iop, 3), round(scores.mean_iog, 3)
    (0.792, 0.844, 0.927)
    """
    predicted, true = _flatten("predictions", predictions), _flatten("references", references)
    n = len(references)
    if len(predictions) != n:
        raise ValueError(f"{len(predictions)} predictions for {n} references; give one an item")
    if n == 0:
        raise ValueError("no items: a score needs at least one prediction with its reference")
    if len(true.start) == 0:
        raise ValueError(_no_truth(0, references))
    lengths = _sweep(predicted, true, n)
    predicted_seconds = lengths.both + lengths.predicted_only
    true_seconds = lengths.both + lengths.true_only
    if not true_seconds.all():
        raise ValueError(_no_truth(int(np.flatnonzero(true_seconds == 0)[0]), references))
    iop = np.zeros(n)
    np.divide(lengths.both, predicted_seconds, out=iop, where=predicted_seconds > 0)
    return GroundedIoU(
        lengths.both / (lengths.both + (lengths.predicted_only + lengths.true_only)),
        iop,
        lengths.both / true_seconds,
        predicted_seconds,
        true_seconds,
        np.bincount(predicted.item, minlength=n),
    )


def _no_truth(item: int, references: Sequence[ItemSpans]) -> str:
    return (
        f"references: item {item} is {references[item]!r:.80}, which covers no time; "
        "leave out questions without evidence"
    )


@dataclass(frozen=True)
class GroundingSummary:
    """Means with their intervals, all in [0, 1]; `items` is the denominator of each.

    `recall` is by IoU threshold; `groups` is by name of the grouping, then by its value.
    """

    items: int
    without_span: float
    iou: Interval
    iop: Interval
    iog: Interval
    recall: dict[float, Interval]
    groups: dict[str, dict[Hashable, GroundingSummary]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries and numbers, means and intervals apart."""
        means = {"iou": self.iou, "iop": self.iop, "iog": self.iog}
        means |= {f"recall@{threshold:g}": share for threshold, share in self.recall.items()}
        result: dict[str, Any] = {name: interval.mean for name, interval in means.items()}
        result |= {"without_span": self.without_span, "items": self.items}
        result["intervals"] = {name: [i.low, i.high] for name, i in means.items()}
        if self.groups:
            result["groups"] = {
                name: {value: summary.as_dict() for value, summary in parts.items()}
                for name, parts in self.groups.items()
            }
        return result


def _intervals(
    columns: Floats, clusters: Sequence[Hashable] | None, draws: int, seed: int, level: float
) -> list[Interval]:
    """bootstrap_mean of every column of [n, m], all from the same drawn clusters."""
    labels, k = partition(clusters, len(columns))
    sums = np.stack([np.bincount(labels, weights=c, minlength=k) for c in columns.T], axis=1)
    counts = cluster_counts(k, draws, seed)
    replicates = (counts @ sums) / (counts @ np.bincount(labels, minlength=k))[:, None]
    ends = [percentile_ends(r, level) for r in replicates.T]
    return [
        Interval(float(m), low, high)
        for m, (low, high) in zip(columns.mean(axis=0), ends, strict=True)
    ]


def grounding_summary(
    scores: GroundedIoU,
    clusters: Sequence[Hashable] | None = None,
    groups: Mapping[str, Sequence[Hashable]] | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> GroundingSummary:
    """Means, recall at IoU thresholds and share without a span, over all items and by group.

    `clusters` names the video of each item [n]: whole videos are drawn for the intervals. `groups`
    gives for each grouping ("reasoning", "qa_type") the value of each item [n]. Raises ValueError
    for a list of another length and a threshold outside (0, 1].

    >>> scores = grounded_iou([[(0, 5)], []], [[(0, 10)], [(0, 10)]])
    >>> summary = grounding_summary(scores, groups={"kind": ["a", "b"]}, draws=10)
    >>> summary.iou.mean, summary.recall[0.5].mean, summary.without_span
    (0.25, 0.5, 0.5)
    >>> summary.groups["kind"]["a"].iog.mean
    0.5
    """
    n = len(scores.iou)
    for threshold in thresholds:
        if not 0 < threshold <= 1:
            raise ValueError(f"thresholds: {threshold} is not in (0, 1]")
    for name, values in (groups or {}).items():
        if len(values) != n:
            raise ValueError(f"groups[{name!r}]: {len(values)} values for {n} items")
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"clusters: {len(clusters)} names for {n} items; give one name an item")
    found = [scores.iou >= threshold for threshold in thresholds]
    columns = np.stack([scores.iou, scores.iop, scores.iog, *found], axis=1).astype(np.float64)
    spanless = scores.predicted_spans == 0

    def summary(chosen: Ints) -> GroundingSummary:
        names = None if clusters is None else [clusters[i] for i in chosen]
        iou, iop, iog, *recalls = _intervals(columns[chosen], names, draws, seed, level)
        recall = dict(zip(thresholds, recalls, strict=True))
        return GroundingSummary(len(chosen), float(spanless[chosen].mean()), iou, iop, iog, recall)

    whole = summary(np.arange(n))
    for name, values in (groups or {}).items():
        labels, _ = partition(values, n)
        parts = {
            value: summary(np.flatnonzero(labels == i))
            for i, value in enumerate(dict.fromkeys(values))
        }
        whole.groups[name] = parts
    return whole
