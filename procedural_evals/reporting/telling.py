"""Which items of a run say most about it, and why.

An item says something where its score is far from what its category leads one to expect, where
its reply could not be read, or where answer and evidence part. The choice depends on the records
alone: the same run gives the same items.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from procedural_evals.harness import open_scores
from procedural_evals.harness.records import Record, answered_records, score_of

COUNT = 20
# A judge's score from here is called right, up to there wrong; an IoU below the last shows nothing.
_RIGHT, _WRONG, _NO_EVIDENCE = 80.0, 20.0, 10.0
# So many seconds with one wrong answer in place of one step are a stretch worth a look.
_STRETCH = 2
# Of one video, recording or participant at most this share of the items is taken at first.
_CLUSTER_SHARE = 4


@dataclass(frozen=True)
class Telling:
    """An item and why it is looked at; `weight` orders the items of one kind of reason."""

    record: Record
    score: float | None
    kind: str
    why: str
    weight: float


def item_scores(records: Sequence[Record]) -> dict[str, float]:
    """The score in [0, 100] of each answered item that has one of its own, by id."""
    answered = answered_records(records)
    if not answered:
        return {}
    kind = answered[0]["kind"]
    if kind == "choice":
        return {record["id"]: score_of(record) for record in answered}
    if kind in ("steps", "mode"):
        return {
            record["id"]: 100.0 * (record.get("prediction") == record["gold"])
            for record in answered
            if record["gold"] is not None and "column" in record
        }
    judged = open_scores.judged_scores(answered)
    if kind == "grounded" and not judged:
        return dict(zip(_ids(answered), _percent_iou(answered), strict=True))
    return judged


def category_of(record: Record) -> str:
    """The kind of question, as tables break scores down."""
    if record["kind"] == "choice":
        return str(record["category"])
    if record["kind"] in ("steps", "mode"):
        return str(record["gold"])
    groups: Mapping[str, str] = record.get("groups") or {}
    return str(groups.get("question_type") or next(iter(groups.values()), "all"))


def telling_items(records: Sequence[Record], count: int = COUNT) -> list[Telling]:
    """At most `count` items, taken in turn from the reasons and, within one, from the categories.

    Raises ValueError for a negative count.
    """
    if count < 0:
        raise ValueError(f"items: {count}; a number of items from 0 is needed")
    answered = answered_records(records)
    if not answered:
        return []
    found = list(FINDERS.get(answered[0]["kind"], _by_surprise)(answered))
    queues: defaultdict[str, defaultdict[str, list[Telling]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for item in sorted(found, key=lambda item: (-item.weight, str(item.record["id"]))):
        queues[item.kind][category_of(item.record)].append(item)
    order = _in_turn([_in_turn(list(categories.values())) for categories in queues.values()])
    limit = math.ceil(count / _CLUSTER_SHARE)
    return _spread(order, count, limit)


def _in_turn(queues: Sequence[Sequence[Telling]]) -> list[Telling]:
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def _spread(order: Sequence[Telling], count: int, limit: int) -> list[Telling]:
    """The first `count` items, each once; of one cluster `limit`, more only where nothing else is.

    >>> _spread([], 3, 1)
    []
    """
    chosen: dict[str, Telling] = {}
    taken: Counter[str] = Counter()
    for most in (limit, math.inf):
        for item in order:
            key, cluster = str(item.record["id"]), str(item.record["cluster"])
            if len(chosen) < count and key not in chosen and taken[cluster] < most:
                chosen[key] = item
                taken[cluster] += 1
    return list(chosen.values())


def _ids(records: Sequence[Record]) -> list[str]:
    return [record["id"] for record in records]


def _percent_iou(records: Sequence[Record]) -> list[float]:
    values: list[float] = (100 * open_scores.grounded(records).iou).tolist()
    return values


def _unread(record: Record, thing: str) -> Telling:
    return Telling(record, 0.0, "unread", f"{thing} could be read from the reply", math.inf)


def _by_surprise(records: Sequence[Record]) -> Iterator[Telling]:
    """Items that score unlike the others of their category."""
    scores = item_scores(records)
    members: defaultdict[str, list[float]] = defaultdict(list)
    for record in records:
        if record["id"] in scores:
            members[category_of(record)].append(scores[record["id"]])
    for record in records:
        score = scores.get(record["id"])
        if score is None:
            continue
        category = category_of(record)
        mean = sum(members[category]) / len(members[category])
        gap = abs(score - mean)
        if gap == 0:
            yield Telling(record, score, "typical", f"{category}: {score:.0f} like all others", 0.0)
        elif score < mean:
            why = f"{category}: {score:.0f} where the mean is {mean:.0f}"
            yield Telling(record, score, "below", why, gap)
        else:
            why = f"{category}: {score:.0f} where the mean is only {mean:.0f}"
            yield Telling(record, score, "above", why, gap)


def _choices(records: Sequence[Record]) -> Iterator[Telling]:
    for record in records:
        if record.get("letter", record.get("column")) is None:
            yield _unread(record, "no option")
    yield from _by_surprise(records)


def _grounded(records: Sequence[Record]) -> Iterator[Telling]:
    """Beside surprises: right without its evidence, and the evidence without a right answer."""
    judged = open_scores.judged_scores(records)
    for record, iou in zip(records, _percent_iou(records), strict=True):
        judge = judged.get(record["id"])
        if not record["spans"]:
            yield _unread(record, "no evidence span")
        if judge is None:
            continue
        if judge >= _RIGHT and iou < _NO_EVIDENCE:
            why = f"answered (judge {judge:.0f}) without its evidence (IoU {iou:.0f})"
            yield Telling(record, judge, "answer only", why, judge - iou)
        elif judge <= _WRONG and iou >= 50:
            why = f"evidence found (IoU {iou:.0f}), answer wrong (judge {judge:.0f})"
            yield Telling(record, judge, "evidence only", why, iou - judge)
    yield from _by_surprise(records)


def _steps(records: Sequence[Record]) -> Iterator[Telling]:
    """The middle of each stretch of seconds in which one step was taken for another."""
    stretch: list[Record] = []
    ordered = sorted(records, key=lambda record: (record["session"], float(record["time"])))
    for record in [*ordered, None]:
        if stretch and (record is None or _confusion(record) != _confusion(stretch[0])):
            yield from _stretch(stretch)
            stretch = []
        if record is not None and record["gold"] is not None and "column" in record:
            stretch.append(record)
        elif stretch:
            yield from _stretch(stretch)
            stretch = []


def _confusion(record: Record) -> tuple[object, ...]:
    return record["session"], record["gold"], record.get("prediction")


def _stretch(records: Sequence[Record]) -> Iterator[Telling]:
    middle, seconds = records[len(records) // 2], len(records)
    gold, said = middle["gold"], middle.get("prediction")
    if said is None:
        yield _unread(middle, "no option")
    elif said == gold:
        yield Telling(middle, 100.0, "right", f"{gold} for {seconds} s", seconds)
    elif seconds >= _STRETCH:
        yield Telling(middle, 0.0, "confused", f"{gold} taken for {said} for {seconds} s", seconds)
    else:
        yield Telling(middle, 0.0, "flicker", f"{gold} taken for {said} for a moment", 1.0)


FINDERS: dict[str, Callable[[Sequence[Record]], Iterator[Telling]]] = {
    "choice": _choices,
    "mode": _choices,
    "grounded": _grounded,
    "steps": _steps,
}
