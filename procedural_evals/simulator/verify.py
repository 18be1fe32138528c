"""Recomputes the answer of a question from where the parts are, not from what the worker did.

Poses are sampled four times a second. Two parts count as joined when their solids touch and they
keep their relative pose for a moment; a part that is only carried past another one does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property

from . import geometry as geo
from .geometry import Pose, Vec
from .products import Pair, pair
from .questions import Choice, Question, Raw
from .world import World

_STEP = 0.25
_MOMENT = 0.1


class Truth:
    """What an all-seeing observer of one world notes down; times in seconds."""

    def __init__(self, world: World) -> None:
        self.world = world
        count = int(world.duration / _STEP) + 1
        self.times = [k * _STEP for k in range(count)]

    @cached_property
    def joined(self) -> list[frozenset[Pair]]:
        """Joined pairs at each sampled time."""
        return [self.joined_at(t) for t in self.times]

    def joined_at(self, t: float) -> frozenset[Pair]:
        """Pairs that touch at t and are not moving against each other."""
        parts = self.world.product.parts
        now, soon = self.world.session.poses(t), self.world.session.poses(t + _MOMENT)
        found = set()
        for a, b in itertools.combinations(parts, 2):
            reach = (geo.norm(a.size) + geo.norm(b.size)) / 2
            if geo.norm(geo.sub(now[a.id].position, now[b.id].position)) > reach + 0.01:
                continue
            relative = geo.compose(geo.inverse(now[a.id]), now[b.id])
            later = geo.compose(geo.inverse(soon[a.id]), soon[b.id])
            if geo.norm(geo.sub(relative.position, later.position)) > 2e-4:
                continue
            if _share_face(a.size, b.size, relative):
                found.add(pair(a.id, b.id))
        return frozenset(found)

    @cached_property
    def begins(self) -> dict[Pair, list[float]]:
        """When each pair was joined, each time it was."""
        found: dict[Pair, list[float]] = {}
        previous: frozenset[Pair] = frozenset()
        for t, now in zip(self.times, self.joined, strict=True):
            for edge in now - previous:
                found.setdefault(edge, []).append(t)
            previous = now
        return found

    @cached_property
    def ends(self) -> list[float]:
        """When some pair came apart."""
        changes = zip(self.times[1:], self.joined, self.joined[1:], strict=False)
        return [t for t, before, after in changes if before - after]

    @cached_property
    def final(self) -> frozenset[Pair]:
        """Joined pairs at the end."""
        return self.joined[-1]

    def once(self, edge: Raw) -> float:
        """When a pair was joined; ValueError unless that happened exactly once."""
        times = self.begins.get(pair(str(edge[0]), str(edge[1])), [])
        if len(times) != 1:
            raise ValueError(f"parts {edge[0]} and {edge[1]} were joined {len(times)} times")
        return times[0]


def _share_face(a: Vec, b: Vec, relative: Pose) -> bool:
    """Whether two solids touch face to face: only if their faces are parallel in the first place.

    All joints of the simulated products are square, so a relative rotation that is no quarter turn
    is that of two parts that lie apart.
    """
    rows = geo.matrix(relative.rotation)
    if any(0.001 < abs(entry) < 0.999 for row in rows for entry in row):
        return False
    x, y, z, w = (round(c, 4) for c in relative.rotation)
    pose = Pose(relative.position, geo.unit((x, y, z, w)))
    return geo.touching(geo.bounds(a, Pose((0.0, 0.0, 0.0))), geo.bounds(b, pose))


def _increasing(times: list[float]) -> bool:
    return all(a < b for a, b in itertools.pairwise(times))


def _ordered(truth: Truth, edges: list[Raw]) -> bool:
    try:
        return _increasing([truth.once(edge) for edge in edges])
    except ValueError:
        return False


def _first(values: dict[int, float], largest: bool = False) -> set[int]:
    goal = (max if largest else min)(values.values())
    return {n for n, value in values.items() if value == goal}


def _next_with(truth: Truth, hub: str, frame: int) -> set[str]:
    """Parts that the hub is joined with next after a frame."""
    later = {
        e: min(t for t in times if t > frame)
        for e, times in truth.begins.items()
        if hub in e and any(t > frame for t in times)
    }
    soonest = min(later.values(), default=0.0)
    return {p for e, t in later.items() if t == soonest for p in e if p != hub}


def _changed(truth: Truth, frame: int, after: bool) -> set[str]:
    """Parts that the next (or the latest) change of contacts joined; none if it parted some."""
    times = [t for ts in truth.begins.values() for t in ts if (t > frame) == after]
    if not times:
        return set()
    moment = min(times) if after else max(times)
    low, high = (frame, moment) if after else (moment, frame)
    if any(low < t <= high for t in truth.ends):
        return set()
    return {p for e, ts in truth.begins.items() if moment in ts for p in e}


def _right(question: Question, truth: Truth) -> set[int]:
    """Indices of the plain options that hold."""
    raws = {n: c.raw for n, c in enumerate(question.choices) if not c.extra}
    frame = question.frames[0]
    query = question.query

    def holding(test: Callable[[Raw], bool]) -> set[int]:
        return {n for n, raw in raws.items() if test(raw)}

    template = question.template
    if template in ("track_single", "track_multi"):
        shown = question.jumble or {}
        if template == "track_single":
            return holding(lambda raw: raw == shown[query[0]])
        return holding(lambda raw: all(shown[str(m[0])] == m[1] for m in raw))
    if template == "many_part_order":
        return holding(lambda raw: _ordered(truth, [(query[0], p) for p in raw]))
    if template == "edge_order":
        return holding(lambda raw: _ordered(truth, list(raw)))
    if template in ("1edge_order", "1edge_order_last"):
        times = {n: truth.once(raw) for n, raw in raws.items()}
        return _first(times, largest=template.endswith("last"))
    if template == "1part_order_last":
        times = {n: truth.once((query[0], raw)) for n, raw in raws.items()}
        return _first(times, largest=True)
    if template == "1part_order":
        partners = _next_with(truth, query[0], frame)
        return holding(lambda raw: raw in partners)
    if template in ("latest_change", "next_change"):
        parts = _changed(truth, frame, after=template == "next_change")
        return holding(lambda raw: raw in parts)
    if template == "find_edges":
        return holding(lambda raw: pair(str(raw[0]), str(raw[1])) in truth.final)
    if template == "1part":
        return holding(lambda raw: pair(query[0], str(raw)) in truth.final)
    if template == "2parts":
        together = pair(query[0], query[1]) in truth.final
        return holding(lambda raw: raw == ("Yes" if together else "No"))
    raise ValueError(f"verify: no template {template!r}")


def verify(question: Question, truth: Truth | World) -> int:
    """Index of the one right option, found from the parts' poses alone.

    Parameters
    ----------
    question
        A question about that world; its frames are seconds.
    truth
        The world, or its `Truth`, which several questions can share.

    Raises
    ------
    ValueError
        If no option or several options hold, or if the question marks another one as right.
    """
    known = truth if isinstance(truth, Truth) else Truth(truth)
    right = _right(question, known)
    answer = right.pop() if len(right) == 1 else _joint_answer(question, right)
    if answer != question.correct:
        raise ValueError(
            f"{question.template} at {question.frames}: option {answer} holds, "
            f"but {question.correct} is marked"
        )
    return answer


def _joint_answer(question: Question, right: set[int]) -> int:
    """Option that speaks for several right ones, or for none."""

    def speaks(choice: Choice) -> bool:
        if not right:
            return choice.extra == "none"
        raws = {question.choices[n].raw for n in right}
        return choice.extra == "both" and set(choice.raw) == raws

    found = [n for n, choice in enumerate(question.choices) if speaks(choice)]
    if len(found) != 1:
        raise ValueError(
            f"{question.template} at {question.frames}: options {sorted(right)} hold, "
            "so there is no single answer"
        )
    return found[0]
