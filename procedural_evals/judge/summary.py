"""Scores of a judging: the mean with its interval, by category, and what was left unjudged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from procedural_evals.judge.base import Judgement
from procedural_evals.judge.judging import Judging
from procedural_evals.scores.uncertainty import DRAWS, bootstrap_mean

# One label an item, or several groupings by name.
Categories = Sequence[Hashable] | Mapping[str, Sequence[Hashable]]


def item_score(row: Sequence[Judgement]) -> float | None:
    """Mean score of the judges in [0, 100]; None unless every one of them judged the item.

    An item that only some judges judged would change what the mean is a mean of.
    """
    scores = [judgement.score for judgement in row if judgement.score is not None]
    return sum(scores) / len(scores) if len(scores) == len(row) else None


def check_labels(
    total: int, categories: Categories | None, clusters: Sequence[Hashable] | None
) -> None:
    """ValueError unless there is one label an item; call it before anything is paid for."""
    for name, labels in [("clusters", clusters), *_groupings(categories).items()]:
        if labels is not None and len(labels) != total:
            raise ValueError(f"{name}: {len(labels)} labels for {total} items; give one an item")


def summarise(
    judging: Judging,
    categories: Categories | None = None,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Any]:
    """Everything that a result says about a judging.

    `categories` is one label an item, or several such lists by name; `clusters` one recording an
    item, for the bootstrap. Of the keys, `score` is the mean in [0, 100] over judged items, None
    when there are none; `interval` its 95 % percentile interval; `judged` and `total` count items;
    `unjudged` lists item, judge and reason; `by_category` holds score, interval, judged and total
    of each label; `by_judge` the same of each judge; `grades` the mean grade of each marker or
    dimension in the rubric's own unit; `comparable` whether the score may stand beside others.

    Raises ValueError for lists of another length than the items.
    """
    total = len(judging.rows)
    check_labels(total, categories, clusters)
    scores = [item_score(row) for row in judging.rows]

    def mean(members: Iterable[int], values: Sequence[float | None]) -> dict[str, Any]:
        chosen = list(members)
        kept = [n for n in chosen if values[n] is not None]
        names = None if clusters is None else [clusters[n] for n in kept]
        found: dict[str, Any] = {"score": None, "interval": None}
        if kept:
            interval = bootstrap_mean([values[n] or 0.0 for n in kept], names, draws, seed)
            found = {"score": interval.mean, "interval": [interval.low, interval.high]}
        return {**found, "judged": len(kept), "total": len(chosen)}

    result = mean(range(total), scores)
    result["unjudged"] = [
        {"id": j.item, "judge": j.judge, "reason": j.reason} for j in judging.unjudged
    ]
    by_grouping = {
        name: {label: mean(members, scores) for label, members in _members(labels).items()}
        for name, labels in _groupings(categories).items()
    }
    result["by_category"] = by_grouping if isinstance(categories, Mapping) else {}
    if categories is not None and not isinstance(categories, Mapping):
        (result["by_category"],) = by_grouping.values()
    result["by_judge"] = {
        judge["id"]: mean(range(total), [row[n].score for row in judging.rows])
        for n, judge in enumerate(judging.judges)
    }
    result["grades"] = _mean_grades(judging)
    result["comparable"] = judging.comparable
    result["judges"] = list(judging.judges)
    result["usage"] = {name: vars(usage) for name, usage in judging.usage.items()}
    return result


def _groupings(categories: Categories | None) -> dict[str, Sequence[Hashable]]:
    if categories is None:
        return {}
    return dict(categories) if isinstance(categories, Mapping) else {"categories": categories}


def _members(labels: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    members: dict[Hashable, list[int]] = {}
    for n, label in enumerate(labels):
        members.setdefault(label, []).append(n)
    return members


def _mean_grades(judging: Judging) -> dict[str, float]:
    """Mean grade of each marker over the items that all judges judged, and over the judges."""
    given: dict[str, list[float]] = {}
    for row in judging.rows:
        if item_score(row) is not None:
            for judgement in row:
                for name, grade in judgement.grades.items():
                    given.setdefault(name, []).append(grade)
    return {name: sum(grades) / len(grades) for name, grades in given.items()}
