"""The worker: chooses steps, makes mistakes, notices them, and takes things apart again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import geometry as geo
from .difficulty import Difficulty
from .floor_plan import Floor
from .geometry import Box, Pose, Quat, Vec
from .products import Part, Product, Step, pair
from .session import HESITATIONS, Action, ContactEvent, Move, Phase

_LIFT = 0.3
_APPROACH = 0.16
_QUARTERS: tuple[Quat, ...] = (
    geo.IDENTITY,
    geo.turn("x", 90),
    geo.turn("y", 90),
    geo.turn("z", 90),
    geo.unit(geo.multiply(geo.turn("x", 90), geo.turn("z", 90))),
    geo.unit(geo.multiply(geo.turn("z", 90), geo.turn("x", 90))),
)


@dataclass
class _Body:
    """Parts that hang together: their poses in the body's frame, and the frame in the world."""

    parts: dict[str, Pose]
    frame: Pose
    bench: int | None = None


@dataclass
class _Origin:
    """Where a moved body came from, so that it can be put back."""

    locals: dict[str, Pose]
    frame: Pose
    bench: int | None


class Worker:
    """Simulates one session step by step; the results are in `actions`, `moves`, `events`."""

    def __init__(
        self, product: Product, floor: Floor, difficulty: Difficulty, rng: random.Random
    ) -> None:
        self.product, self.floor, self.difficulty, self.rng = product, floor, difficulty, rng
        self.actions: list[Action] = []
        self.moves: list[Move] = []
        self.events: list[ContactEvent] = []
        self.time = round(rng.uniform(1.2, 2.0), 2)
        self.rotation = product.work_rotation
        self.done: set[str] = set()
        self._origins: dict[int, _Origin] = {}
        self._bodies: dict[str, _Body] = {}
        for part in product.parts:
            if part.id == product.base:
                locals = {part.id: part.slot}
                body = _Body(locals, self._frame(locals, self.rotation, 0), 0)
            else:
                frame = geo.compose(floor.spots[part.id], geo.inverse(part.slot))
                body = _Body({part.id: part.slot}, frame)
            self._bodies[part.id] = body
        self.initial = {
            id: geo.compose(body.frame, body.parts[id]) for id, body in self._bodies.items()
        }

    def run(self) -> None:
        """Assemble the product."""
        last_stage = ""
        while len(self.done) < len(self.product.steps):
            if self.rng.random() < self.difficulty.mistakes and self._blunder():
                continue
            step = self._choose(self._available(), last_stage)
            self._attach(step)
            self.done.add(step.id)
            last_stage = step.stage
        self._stand_up()

    # Choosing -----------------------------------------------------------------------------------

    def _available(self, done: set[str] | None = None) -> list[Step]:
        known = self.done if done is None else done
        return [
            s
            for s in self.product.steps
            if s.id not in known and set(s.requires) <= known and self._feasible(s)
        ]

    def _feasible(self, step: Step, part: str | None = None) -> bool:
        """Whether the step can be carried out where things lie now."""
        moved, target = self._bodies[part or step.part], self._bodies[step.target]
        if moved is target or moved.bench == 0:
            return False
        return target.bench is not None or self._free_bench() is not None

    def _free_bench(self) -> int | None:
        used = {body.bench for body in self._bodies.values()}
        free = [n for n in range(1, len(self.floor.benches)) if n not in used]
        return free[0] if free else None

    def _choose(self, steps: list[Step], last_stage: str) -> Step:
        same = [s for s in steps if s.stage == last_stage]
        if same and self.rng.random() < 0.75:
            return self.rng.choice(same)
        return self.rng.choice(steps)

    # Mistakes -----------------------------------------------------------------------------------

    def _blunder(self) -> bool:
        """Make one mistake, perhaps go on for a step, then put it right. False if none fits."""
        attempts: list[tuple[float, Callable[[], Action | None]]] = [
            (self.rng.random() ** (1 / weight), attempt)
            for weight, attempt in (
                (4.0, self._wrong_order),
                (2.5, self._wrong_part),
                (2.0, self._wrong_place),
                (1.0, self._wrong_screw),
            )
        ]
        for _, attempt in sorted(attempts, key=lambda pair: pair[0], reverse=True):
            action = attempt()
            if action is not None:
                self._go_on_and_correct(action)
                return True
        return False

    def _wrong_order(self) -> Action | None:
        options = [
            s
            for s in self.product.steps
            if s.id not in self.done and not set(s.requires) <= self.done and self._feasible(s)
            and self._bodies[s.target].bench is not None
        ]  # fmt: skip
        if not options:
            return None
        step = self.rng.choice(options)
        missing = sorted(self.product.ancestors(step.id) - self.done)
        words = " and ".join(self.product.step_by_id[m].label for m in missing)
        return self._attach(step, mistake="wrong_order", detail=f"before: {words}")

    def _wrong_place(self) -> Action | None:
        steps = [s for s in self._available() if len(self._bodies[s.part].parts) == 1]
        self.rng.shuffle(steps)
        for step in steps:
            found = self._misplaced(step)
            if found is not None:
                local, mistake, detail = found
                return self._attach(step, local=local, mistake=mistake, detail=detail)
        return None

    def _misplaced(self, step: Step) -> tuple[Pose, str, str] | None:
        """A pose beside the slot, or turned, that still touches the target and hits nothing."""
        part, slot = self.product.part(step.part), self.product.part(step.part).slot
        target = self.product.box(step.target, self._bodies[step.target].parts[step.target])
        normal = geo.contact_normal(target, self.product.box(part.id))
        axes = [k for k in range(3) if normal[k] == 0]
        options: list[tuple[Pose, str, str]] = []
        box = self.product.box(part.id)
        if abs(box.size[axes[0]] - box.size[axes[1]]) > 0.03:
            quarter = geo.turn("xyz"[3 - sum(axes)], 90)
            pose = Pose(slot.position, geo.unit(geo.multiply(quarter, slot.rotation)))
            options.append((pose, "wrong_orientation", "turned by 90 degrees"))
        for axis in axes:
            for shift in (0.14, 0.1, 0.07):
                for sign in (-1, 1):
                    offset = geo.clean(
                        (sign * shift * (axis == 0), sign * shift * (axis == 1),
                         sign * shift * (axis == 2))
                    )  # fmt: skip
                    pose = Pose(geo.clean(geo.add(slot.position, offset)), slot.rotation)
                    words = f"{round(shift * 100)} cm off its place"
                    options.append((pose, "wrong_position", words))
        self.rng.shuffle(options)
        options.sort(key=lambda option: option[1] != "wrong_orientation")
        if self.rng.random() < 0.5:
            options.reverse()
        for option in options:
            if self._fits(part.id, option[0], step.target):
                return option
        return None

    def _wrong_part(self) -> Action | None:
        steps = [s for s in self._available() if len(self._bodies[s.part].parts) == 1]
        self.rng.shuffle(steps)
        for step in steps:
            right = self.product.part(step.part)
            for other in self.product.look_alikes(right.id):
                wrong = self.product.part(other)
                body = self._bodies[other]
                if wrong.model == right.model or len(body.parts) > 1 or body.bench is not None:
                    continue
                local = self._swapped(right, wrong, step.target)
                if self._feasible(step, other) and self._fits(other, local, step.target):
                    detail = f"{wrong.title} instead of {right.title}"
                    return self._attach(
                        step, part=other, local=local, mistake="wrong_part", detail=detail
                    )
        return None

    def _swapped(self, right: Part, wrong: Part, target: str) -> Pose:
        """Pose of the wrong part in the right part's slot: same long axis, same touching face."""
        slot = self.product.box(right.id)
        turned = [geo.unit(geo.multiply(q, wrong.slot.rotation)) for q in _QUARTERS]

        def misfit(rotation: Quat) -> float:
            size = geo.bounds(wrong.size, Pose((0.0, 0.0, 0.0), rotation)).size
            return round(sum(abs(a - b) for a, b in zip(size, slot.size, strict=True)), 6)

        rotation = min(turned, key=misfit)
        size = geo.bounds(wrong.size, Pose((0.0, 0.0, 0.0), rotation)).size
        normal = geo.contact_normal(self.product.box(target), slot)
        slack = sum(n * n * (a - b) / 2 for n, a, b in zip(normal, size, slot.size, strict=True))
        return Pose(geo.clean(geo.add(slot.centre, geo.scale(normal, slack))), rotation)

    def _wrong_screw(self) -> Action | None:
        steps = [s for s in self._available() if s.screw]
        if not steps:
            return None
        step = self.rng.choice(steps)
        return self._attach(step, mistake="missed_screw", detail="not fastened")

    def _fits(self, part: str, local: Pose, target: str) -> bool:
        """Whether a part at a pose touches the target and runs into nothing of its body."""
        body = self._bodies[target]
        box = self.product.box(part, local)
        others = {id: self.product.box(id, pose) for id, pose in body.parts.items()}
        return geo.touching(box, others[target]) and not any(
            geo.colliding(box, other) for other in others.values()
        )

    def _go_on_and_correct(self, action: Action) -> None:
        """Up to two more steps before the mistake is noticed, then undo or repair it."""
        assert action.step is not None
        pile = [action]
        # A forgotten screw keeps the step done; everything else leaves it to be done again.
        counted = self.done | {action.step}
        touched = {action.part, self.product.step_by_id[action.step].part, *action.moved}
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            options = [
                s
                for s in self._available(counted)
                if self._bodies[s.target].bench is not None and self._harmless(s, touched, action)
            ]
            if not options:
                break
            step = self.rng.choice(options)
            if action.mistake == "wrong_order" and action.step in self.product.ancestors(step.id):
                pile.append(
                    self._attach(step, mistake="previous_mistake", detail="builds on a mistake")
                )
                break
            self._attach(step)
            self.done.add(step.id)
            counted.add(step.id)
        if action.mistake == "missed_screw":
            self.done.add(action.step)
            self._fasten(action)
            return
        for mistaken in reversed(pile):
            self._detach(mistaken)

    def _harmless(self, step: Step, touched: set[str], action: Action) -> bool:
        """Whether a step can go on beside a mistake that is not yet noticed."""
        builds_on = action.step in self.product.ancestors(step.id)
        if action.mistake == "wrong_order" and builds_on:
            return True
        if builds_on and action.mistake != "missed_screw":
            return False
        moving = self._bodies[step.part].parts
        if step.target in touched or touched & set(moving):
            return False
        body = self._bodies[step.target]
        boxes = [self.product.box(id, local) for id, local in body.parts.items()]
        return not any(
            geo.colliding(self.product.box(id, local), box)
            for id, local in moving.items()
            for box in boxes
        )

    # Acting -------------------------------------------------------------------------------------

    def _attach(
        self,
        step: Step,
        part: str | None = None,
        local: Pose | None = None,
        mistake: str | None = None,
        detail: str = "",
    ) -> Action:
        if step.upright:
            self._stand_up()
        chosen = part or step.part
        moved, target = self._bodies[chosen], self._bodies[step.target]
        clock = _Clock(self.time)
        hesitation = self._hesitate(clock)
        if target.bench is None:
            bench = self._free_bench()
            assert bench is not None, "feasible steps only"
            self._fetch(target, bench, clock)
        origin = _Origin(dict(moved.parts), moved.frame, moved.bench)
        clock.add("reach", self.rng.uniform(0.45, 0.7))
        carry = clock.add("carry", self.rng.uniform(1.5, 2.1))
        locals = {chosen: local} if local is not None else dict(moved.parts)
        self._join(locals, moved, target, chosen, step.target, carry)
        fasten = step.screw and mistake != "missed_screw"
        clock.add("fasten", self.rng.uniform(1.2, 1.7) if fasten else self.rng.uniform(0.4, 0.6))
        clock.add("release", self.rng.uniform(0.35, 0.5))
        ids = (chosen, *(id for id in origin.locals if id != chosen))
        action = self._record(
            Action(
                len(self.actions), "attach", step.id, chosen, step.target, ids, clock.start,
                clock.now, carry.end, tuple(clock.phases), "mistake" if mistake else "correct",
                mistake, None, hesitation, self._second_hand(), detail,
            )
        )  # fmt: skip
        self._origins[action.index] = origin
        for id in origin.locals:
            for other in target.parts:
                if other not in origin.locals and self._touch(target, id, other):
                    event = ContactEvent(carry.end, pair(id, other), True, action.index)
                    self.events.append(event)
        return action

    def _touch(self, body: _Body, a: str, b: str) -> bool:
        return geo.touching(self.product.box(a, body.parts[a]), self.product.box(b, body.parts[b]))

    def _join(
        self,
        locals: dict[str, Pose],
        moved: _Body,
        target: _Body,
        part: str,
        onto: str,
        carry: Phase,
    ) -> None:
        """Carry a body to its place on the target; the target is raised if it has to be."""
        assert target.bench is not None
        together = {**target.parts, **locals}
        rotation = target.frame.rotation
        frame = self._frame(together, rotation, target.bench)
        if frame != target.frame:
            middle = carry.start + 0.6 * (carry.end - carry.start)
            self._move(target.parts, [target.frame, frame], [0, 1], carry.start, middle)
        # A misplaced part enters the body's frame with its misplaced pose from the start.
        begin = geo.compose(geo.compose(moved.frame, moved.parts[part]), geo.inverse(locals[part]))
        normal = geo.contact_normal(
            self.product.box(onto, target.parts[onto]), self.product.box(part, locals[part])
        )
        offset = geo.scale(geo.rotate(rotation, normal), _APPROACH)
        near = Pose(geo.clean(geo.add(frame.position, offset)), rotation)
        path = [begin, _raised(begin, _LIFT), near, frame]
        self._move(locals, path, [0, 0.2, 0.75, 1], carry.start, carry.end)
        target.parts, target.frame = together, frame
        for id in locals:
            self._bodies[id] = target

    def _detach(self, mistaken: Action) -> None:
        """Undo an attach: the parts go back to where they lay."""
        assert mistaken.step is not None
        body, origin = self._bodies[mistaken.part], self._origins.pop(mistaken.index)
        clock = _Clock(self.time)
        hesitation = self._hesitate(clock)
        clock.add("reach", self.rng.uniform(0.45, 0.7))
        clock.add("fasten", self.rng.uniform(0.5, 0.9))
        carry = clock.add("carry", self.rng.uniform(1.4, 1.9))
        clock.add("release", self.rng.uniform(0.35, 0.5))
        index = len(self.actions)
        going = {id: body.parts[id] for id in mistaken.moved}
        staying = {id: pose for id, pose in body.parts.items() if id not in going}
        for id in going:
            for other in staying:
                if self._touch(body, id, other):
                    self.events.append(ContactEvent(carry.start, pair(id, other), False, index))
        part = mistaken.part
        assert mistaken.target is not None
        normal = geo.contact_normal(
            self.product.box(mistaken.target, staying[mistaken.target]),
            self.product.box(part, going[part]),
        )
        offset = geo.scale(geo.rotate(body.frame.rotation, normal), _APPROACH)
        near = Pose(geo.clean(geo.add(body.frame.position, offset)), body.frame.rotation)
        end = geo.compose(geo.compose(origin.frame, origin.locals[part]), geo.inverse(going[part]))
        self._move(
            going, [body.frame, near, _raised(end, _LIFT), end], [0, 0.25, 0.8, 1],
            carry.start, carry.end,
        )  # fmt: skip
        back = _Body(dict(origin.locals), origin.frame, origin.bench)
        for id in going:
            self._bodies[id] = back
        body.parts = staying
        assert body.bench is not None
        lower = self._frame(staying, body.frame.rotation, body.bench)
        if lower != body.frame:
            middle = carry.start + 0.4 * (carry.end - carry.start)
            self._move(staying, [body.frame, lower], [0, 1], middle, carry.end)
            body.frame = lower
        self._record(
            Action(
                index, "detach", mistaken.step, part, mistaken.target, mistaken.moved, clock.start,
                clock.now, carry.start, tuple(clock.phases), "correction", None, mistaken.index,
                hesitation, self._second_hand(), "",
            )
        )  # fmt: skip

    def _fasten(self, forgotten: Action) -> None:
        clock = _Clock(self.time)
        clock.add("reach", self.rng.uniform(0.45, 0.7))
        fasten = clock.add("fasten", self.rng.uniform(1.2, 1.7))
        clock.add("release", self.rng.uniform(0.35, 0.5))
        self._record(
            Action(
                len(self.actions), "fasten", forgotten.step, forgotten.part, forgotten.target,
                forgotten.moved, clock.start, clock.now, fasten.end, tuple(clock.phases),
                "correction", None, forgotten.index, None, self._second_hand(), "",
            )
        )  # fmt: skip

    def _stand_up(self) -> None:
        """Turn the whole product onto its feet, once."""
        if self.rotation == geo.IDENTITY:
            return
        body = self._bodies[self.product.base]
        clock = _Clock(self.time)
        clock.add("reach", self.rng.uniform(0.45, 0.7))
        carry = clock.add("carry", self.rng.uniform(2.0, 2.6))
        clock.add("release", self.rng.uniform(0.35, 0.5))
        self.rotation = geo.IDENTITY
        frame = self._frame(body.parts, self.rotation, 0)
        lift = 0.1 + max(self.product.extent.size) / 2
        middle = geo.between(body.frame, frame, 0.5)
        raised = Pose((middle.position[0], middle.position[1], middle.position[2] + lift),
                      middle.rotation)  # fmt: skip
        self._move(body.parts, [body.frame, raised, frame], [0, 0.5, 1], carry.start, carry.end)
        body.frame = frame
        base = self.product.base
        ids = (base, *(id for id in body.parts if id != base))
        self._record(
            Action(
                len(self.actions), "turn", None, base, None, ids, clock.start, clock.now,
                carry.end, tuple(clock.phases), both_hands=True,
            )
        )  # fmt: skip

    def _fetch(self, body: _Body, bench: int, clock: _Clock) -> None:
        """Bring the root of a subassembly to a free workbench."""
        phase = clock.add("fetch", self.rng.uniform(1.6, 2.1))
        frame = self._frame(body.parts, self.product.work_rotation, bench)
        path = [body.frame, _raised(body.frame, _LIFT), _raised(frame, _LIFT / 2), frame]
        reach = phase.start + 0.35 * (phase.end - phase.start)
        self._move(body.parts, path, [0, 0.25, 0.75, 1], reach, phase.end)
        body.frame, body.bench = frame, bench

    def _hesitate(self, clock: _Clock) -> str | None:
        if self.rng.random() >= self.difficulty.hesitation:
            return None
        clock.add("hesitate", self.rng.uniform(1.5, 3.5))
        return self.rng.choice(HESITATIONS)

    def _second_hand(self) -> bool:
        return self.rng.random() < 0.25 + 0.75 * self.difficulty.occlusion

    def _record(self, action: Action) -> Action:
        self.actions.append(action)
        self.time = round(action.end + self.rng.uniform(0.2, 0.6), 2)
        return action

    # Geometry -----------------------------------------------------------------------------------

    def _move(
        self,
        locals: dict[str, Pose],
        path: Iterable[Pose],
        shares: Iterable[float],
        start: float,
        end: float,
    ) -> None:
        # Turning about the middle of what is carried; about the product's origin it would swing.
        boxes = [self.product.box(id, local) for id, local in locals.items()]
        pivot = Pose(geo.clean(geo.union(boxes).centre))
        back = geo.inverse(pivot)
        inner = tuple((id, geo.compose(back, local)) for id, local in locals.items())
        outer = tuple(geo.compose(frame, pivot) for frame in path)
        self.moves.append(Move(start, end, inner, outer, tuple(shares)))

    def _frame(self, locals: dict[str, Pose], rotation: Quat, bench: int) -> Pose:
        """Frame that puts a body on a workbench: centred there, its lowest point on the floor.

        On the main bench the finished product's middle is the centre, so that nothing slides when
        a part is added.
        """
        boxes = [
            geo.bounds(
                self.product.part(id).size,
                Pose(
                    geo.rotate(rotation, local.position),
                    geo.unit(geo.multiply(rotation, local.rotation)),
                ),
            )
            for id, local in locals.items()
        ]
        whole: Box = geo.union(boxes)
        x, y = self.floor.benches[bench]
        centre: Vec = geo.rotate(rotation, self.product.extent.centre) if bench == 0 else (
            boxes[0].centre
        )  # fmt: skip
        return Pose(geo.clean((x - centre[0], y - centre[1], -whole.low[2])), rotation)


def _raised(pose: Pose, height: float) -> Pose:
    x, y, z = pose.position
    return Pose((x, y, round(z + height, 6)), pose.rotation)


class _Clock:
    """Lays the phases of one action end to end, to the hundredth of a second."""

    def __init__(self, start: float) -> None:
        self.start = self.now = start
        self.phases: list[Phase] = []

    def add(self, name: str, seconds: float) -> Phase:
        phase = Phase(name, self.now, round(self.now + seconds, 2))
        self.phases.append(phase)
        self.now = phase.end
        return phase
