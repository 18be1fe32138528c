"""What is true about a recording, from its task graph and its history of steps alone.

The history comes from the written files, or from somebody who watches where the parts are; the
worker's own log is not looked at. What came too early follows from the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from procedural_evals.layouts import assembly101
from procedural_evals.layouts.assembly101 import PerformedStep
from procedural_evals.layouts.promqa_assembly import PromqaAssemblyLayout
from procedural_evals.task_graph import TaskGraph

from . import geometry as geo
from .geometry import Pose
from .products import Pair, Step
from .promqa_words import Fault, Joint
from .verify import Truth as Eye
from .world import World

#: Remarks of Assembly101's annotators by the fault that they name.
REMARKS = {
    "order": "wrong order",
    "position": "wrong position",
    "stranger": "shouldn't have happened",
    "previous": "previous one is a mistake",
    "needless": "shouldn't have happened",
}

_OFF = 0.002  # metres by which a part may miss its place and still be in it


class Deed(NamedTuple):
    """Something that was done: a part attached to or detached from a target.

    `fault` is what is wrong with doing it; a detach has in `undone` the deed that it undoes.
    """

    joint: Joint
    attaches: bool
    fault: Fault | None
    undone: Deed | None = None


@dataclass(frozen=True)
class Past:
    """What happened up to some time, and what it led to."""

    graph: TaskGraph
    deeds: tuple[Deed, ...]

    @cached_property
    def standing(self) -> tuple[Deed, ...]:
        """Deeds whose part is still attached, in the order of time."""
        found: list[Deed] = []
        for deed in self.deeds:
            if deed.attaches:
                found.append(deed)
            elif deed.undone is not None:
                # By identity: the same part may have been attached in the same way twice.
                found = [other for other in found if other is not deed.undone]
        return tuple(found)

    @cached_property
    def placed(self) -> tuple[str, ...]:
        """Labels of the steps whose part is in its place, even if it came too early."""
        return tuple(
            d.joint.label
            for d in self.standing
            if d.fault is None or d.fault.kind in {"order", "previous"}
        )

    @property
    def open_faults(self) -> tuple[Fault, ...]:
        """Faults of parts that are still attached."""
        return tuple(d.fault for d in self.standing if d.fault is not None)

    def missing(self, step: str) -> tuple[Joint, ...]:
        """What has to come before a step and is not in its place, in the graph's order."""
        return tuple(joint(s.label) for s in self.graph.missing_before(step, self.placed))

    def builds_on(self, step: str) -> tuple[Deed, ...]:
        """Faulty parts, still attached, among those that have to come before a step."""
        after = self.graph.resolve(step).id
        before = {a for a, b in self.graph.closure() if b == after}
        return tuple(
            d
            for d in self.standing
            if d.fault is not None
            and self.graph.knows(d.joint.label)
            and self.graph.resolve(d.joint.label).id in before
        )


def joint(label: str) -> Joint:
    """Part and target of a step's label.

    >>> joint("attach rear axle to chassis")
    Joint(part='rear axle', target='chassis')
    """
    part, _, target = label.removeprefix("attach ").removeprefix("detach ").partition(" to ")
    if not target:
        part, _, target = part.partition(" from ")
    if not target:
        raise ValueError(f"{label!r} attaches nothing to anything")
    return Joint(part, target)


@dataclass(frozen=True)
class Truth:
    """A toy's graph and the history of one recording, times in seconds.

    `details` says how the part of a misplaced step (its number) lies; None where nobody looked.
    """

    toy: str
    graph: TaskGraph
    steps: tuple[PerformedStep, ...]
    details: Mapping[int, str] | None = None
    _pasts: dict[float, Past] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, folder: Path, toy_id: str, sequence: str, toy: str) -> Truth:
        """From the files of a folder in the authors' layout; `toy` is what answers call it."""
        graph = PromqaAssemblyLayout(folder).graphs[toy_id]
        annotations = assembly101.read_mistakes(folder / "annots" / f"{sequence}.csv")
        return cls(toy, graph, annotations.steps)

    @classmethod
    def watch(cls, world: World, graph: TaskGraph) -> Truth:
        """From where the parts are in a world."""
        watcher = _Watcher(world, graph)
        return cls(world.product.kind, graph, tuple(watcher.steps), watcher.details)

    def past(self, end: float) -> Past:
        """Everything begun before `end`."""
        if end not in self._pasts:
            self._pasts[end] = self._replay(end)
        return self._pasts[end]

    def _replay(self, end: float) -> Past:
        deeds: list[Deed] = []
        for n, step in enumerate(self.steps):
            if step.start < end:
                past = Past(self.graph, tuple(deeds))
                detail = self.details.get(n) if self.details is not None else None
                deeds.append(_deed(past, step, detail))
        return Past(self.graph, tuple(deeds))


def _deed(past: Past, step: PerformedStep, detail: str | None) -> Deed:
    """The step as a deed; ValueError when its annotation contradicts the graph."""
    what = joint(step.label)
    if step.label.startswith("detach "):
        found = [d for d in past.standing if d.joint == what]
        if not found:
            raise ValueError(f"{step.label} at {step.start} s: that was not attached")
        fault = None if found[-1].fault else Fault("needless", what)
        deed = Deed(what, False, fault, found[-1])
    else:
        deed = Deed(what, True, _fault(past, what, step.remark, detail))
    expected: tuple[str, str | None] = ("correct" if deed.attaches else "correction", None)
    if deed.fault is not None:
        expected = ("mistake", REMARKS[deed.fault.kind])
    if (step.mistake, step.remark) != expected:
        raise ValueError(
            f"{step.label} at {step.start} s is annotated as {step.mistake}, {step.remark}; "
            f"by the task graph it is {expected[0]}, {expected[1]}"
        )
    return deed


def _fault(past: Past, what: Joint, remark: str | None, detail: str | None) -> Fault | None:
    if not past.graph.knows(what.label):
        return Fault("stranger", what)
    if remark == REMARKS["position"]:
        return Fault("position", what, detail=detail)
    allowed = {step.label for step in past.graph.next_steps(past.placed)}
    if what.label not in allowed:
        return Fault("order", what, past.missing(what.label))
    below = past.builds_on(what.label)
    return Fault("previous", what, culprit=below[-1].joint.part) if below else None


class _Watcher:
    """Sees, whenever everything is at rest, what has come together or apart since."""

    def __init__(self, world: World, graph: TaskGraph) -> None:
        self.world, self.product = world, world.product
        self.steps: list[PerformedStep] = []
        self.details: dict[int, str] = {}
        self._attached: dict[str, tuple[str, str | None]] = {}  # part: label, remark
        self._graph = graph
        eye = Eye(world)
        moment, before = 0.0, eye.joined_at(0.0)
        for start, end in _motions(world):
            after = eye.joined_at(end + 0.01)
            if after - before:
                self._come(start, end, before, after, moment)
            elif before - after:
                self._go(start, end, before, after)
            moment, before = end + 0.01, after

    def _come(
        self, start: float, end: float, before: frozenset[Pair], after: frozenset[Pair], then: float
    ) -> None:
        """Parts have come together: the group that came from farther away was attached."""
        a, b = sorted(after - before)[0]
        groups = [_group(a, before), _group(b, before)]
        moved, onto = sorted(groups, key=lambda group: -self._way(group, then, end))
        new = [p for p in after - before if len(moved & set(p)) == 1 and len(onto & set(p)) == 1]
        touched = {id for p in new for id in p if id in onto}
        for step in self.product.steps:
            if step.part in moved and step.target in touched:
                how = self._placed(step.part, step.target, end)
                if how is None:
                    return self._note(start, end, step.part, step.target, None, None)
        if len(moved) != 1:
            raise ValueError(f"{self.product.name}: misplaced parts {sorted(moved)} at {end} s")
        part = next(iter(moved))
        own = next((s.target for s in self.product.steps if s.part == part), None)
        if own in touched:
            assert own is not None
            how = self._placed(part, own, end)
            return self._note(start, end, part, own, "wrong position", how)
        other = self._stood_in_for(part, end)
        if other is None:
            raise ValueError(f"{self.product.name}: part {part} stands in for none at {end} s")
        return self._note(start, end, part, other.target, "shouldn't have happened", None)

    def _go(
        self, start: float, end: float, before: frozenset[Pair], after: frozenset[Pair]
    ) -> None:
        """Parts have come apart: of the two groups, the one attached last is off again."""
        a, b = sorted(before - after)[0]
        here, there = _group(a, after), _group(b, after)
        for part, (label, remark) in reversed(self._attached.items()):
            target = joint(label).target
            for moved, stays in ((here, there), (there, here)):
                if part in moved and any(self.product.part(p).title == target for p in stays):
                    del self._attached[part]
                    fine = remark is None
                    what = joint(label)
                    self.steps.append(
                        PerformedStep(
                            f"detach {what.part} from {what.target}", start, end,
                            "mistake" if fine else "correction",
                            REMARKS["needless"] if fine else None,
                        )
                    )  # fmt: skip
                    return
        raise ValueError(f"{self.product.name}: nothing attached came apart at {end} s")

    def _note(
        self, start: float, end: float, part: str, target: str, remark: str | None, how: str | None
    ) -> None:
        """Write an attach down; when the part is in its place, its order is looked up."""
        what = Joint(self.product.part(part).title, self.product.part(target).title)
        if remark is None:
            done = Truth("", self._graph, tuple(self.steps)).past(start)
            fault = _fault(done, what, None, None)
            remark = REMARKS[fault.kind] if fault else None
        if how is not None:
            self.details[len(self.steps)] = how
        self._attached[part] = (what.label, remark)
        mistake = "mistake" if remark else "correct"
        self.steps.append(PerformedStep(what.label, start, end, mistake, remark))

    def _way(self, group: frozenset[str], start: float, end: float) -> float:
        """How far a group has come."""
        poses = self.world.session.poses(start), self.world.session.poses(end)
        return max(geo.norm(geo.sub(poses[1][p].position, poses[0][p].position)) for p in group)

    def _placed(self, part: str, target: str, t: float) -> str | None:
        """None when a part lies on the target as it should, or how it differs from that."""
        now = _relative(self.world.pose(target, t), self.world.pose(part, t))
        goal = _relative(self.product.part(target).slot, self.product.part(part).slot)
        away = geo.norm(geo.sub(now.position, goal.position)) > _OFF
        alike = abs(sum(a * b for a, b in zip(now.rotation, goal.rotation, strict=True))) > 0.999
        if not away:
            return None if alike else "turned"
        return "swapped" if self._stood_in_for(part, t) else "shifted"

    def _stood_in_for(self, part: str, t: float) -> Step | None:
        """The step of a part that looks much like this one, and in whose place this one is."""
        alike = self.product.look_alikes(part)
        model = self.product.part(part).model
        for step in self.product.steps:
            other = step.part in alike and self.product.part(step.part).model != model
            if other and step.part not in self._attached and self._in_slot(part, step, t):
                return step
        return None

    def _in_slot(self, part: str, step: Step, t: float) -> bool:
        """Whether a part lies where a step's part belongs, on the same face of its target."""
        other, target = step.part, step.target
        slot = self.product.part(target).slot
        frame = geo.compose(self.world.pose(target, t), geo.inverse(slot))
        pose = _relative(frame, self.world.pose(part, t))
        offset = geo.sub(pose.position, self.product.part(other).slot.position)
        normal = geo.contact_normal(self.product.box(target), self.product.box(other))
        return all(n != 0 or abs(o) < _OFF for n, o in zip(normal, offset, strict=True))


def _motions(world: World) -> list[tuple[float, float]]:
    """Times [start, end] during which something moves, in order and apart from each other."""
    merged: list[tuple[float, float]] = []
    for move in sorted(world.session.moves, key=lambda m: m.start):
        if merged and move.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], move.end))
        else:
            merged.append((move.start, move.end))
    return merged


def _group(part: str, joined: frozenset[Pair]) -> frozenset[str]:
    """The parts that hang together with one."""
    found, new = {part}, {part}
    while new:
        new = {id for p in joined if found & set(p) for id in p} - found
        found |= new
    return frozenset(found)


def _relative(base: Pose, pose: Pose) -> Pose:
    return geo.compose(geo.inverse(base), pose)
