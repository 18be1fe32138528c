"""The performer of the simulated DYAD: puts the gearbox together, and needs help on the way.

Skill decides how often somebody searches, hesitates and errs, and how often mistakes are put right
before the helper says anything. What is out of reach follows from where the parts lie.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import geometry as geo
from .difficulty import Difficulty
from .dyad_gearbox import AXES, AXIS_HEIGHT, DRIVERS, place_in_words, seen_as
from .dyad_helper import UNNECESSARY, Help, Helper, Need
from .dyad_words import CONFIRM, FINISHED, Speech
from .floor_plan import Floor
from .geometry import Pose, Vec
from .products import Product, Step
from .session import HESITATIONS, Action
from .worker import Worker, _Clock

SEARCH, VERIFY = "part_search", "verify_rotation"
_SEARCHES, _DECIDES, _REACHES = HESITATIONS
#: Where handed parts are put down: right in front of the performer.
_IN_FRONT: Vec = (0.0, -0.43, 0.0)
#: A share of `Difficulty` at which the chances below are meant.
_MEDIUM = 0.15
#: How often a part is looked for, without and with look-alikes, by the most and least skilled.
_SEARCHED = ((0.0, 0.15), (0.1, 0.55))
#: How often words are not enough to find a part, and how often they came too late to matter.
_STILL_LOST, _FOUND_ANYWAY = 0.1, 0.1
#: How often a part tips while it is put on.
_MOVABLE = {"second holder": 0.5, "crank": 0.2, "long shaft": 0.1, "short shaft": 0.1}


class Reach(NamedTuple):
    """The helper's hand in the picture [start, end).

    It follows `part` from `grip` to `release`, coming and going before and after.
    """

    start: float
    grip: float
    release: float
    end: float
    part: str


class Interval(NamedTuple):
    """A coarse step [start, end): label, titles of the parts, tool."""

    start: float
    end: float
    step: str
    objects: tuple[str, ...]
    tool: str | None


class Drive(NamedTuple):
    """A screwdriver in the performer's hand [start, end)."""

    start: float
    end: float
    driver: str


class Performer(Worker):
    """One performer with a helper beside; the results are in the attributes.

    Parameters
    ----------
    skill
        0 (needs help all the time) to 1.
    far
        Titles of the parts on the helper's shelf.
    """

    def __init__(
        self,
        product: Product,
        floor: Floor,
        difficulty: Difficulty,
        rng: random.Random,
        skill: float,
        far: Sequence[str],
    ) -> None:
        super().__init__(product, floor, difficulty, rng)
        self.time = 3.0
        self.skill = skill
        self.helper = Helper(rng, Speech(rng))
        self.reaches: list[Reach] = []
        self.intervals: list[Interval] = []
        self.drives: list[Drive] = []
        self._far = {part.id for part in product.parts if part.title in far}
        self._until, self._why = 0.0, _DECIDES
        self._loose: Action | None = None
        self._handed = 0

    def run(self) -> None:
        """Assemble the gearbox and turn the crank."""
        plan = self._plan()
        for n, step in enumerate(plan):
            following = plan[n + 1] if n + 1 < len(plan) else None
            loose = self._loose
            self._decide(step, first=n == 0)
            self._do(step, following)
            self.done.add(step.id)
            if loose is not None:
                self._fasten_later(loose)
        if self._loose is not None:
            self._fasten_later(self._loose)
        self._verify()

    def _plan(self) -> list[Step]:
        """An order that the precedence allows, as a person would choose it."""
        left = list(self.product.steps)
        plan: list[Step] = []
        # Some finish one shaft before the other, some put on both gears first.
        together = self.rng.random() < 0.5
        while left:
            done = {step.id for step in plan}
            ready = [s for s in left if set(s.requires) <= done]
            same = [s for s in ready if plan and s.stage == plan[-1].stage]
            follows = [s for s in ready if plan and plan[-1].id in s.requires]
            if not plan:
                options = [s for s in ready if s.stage == "first_holder"]
            elif together or not follows or plan[-1].stage != "gear_on_shaft":
                options = same or ready
            else:
                options = follows
            step = self.rng.choice(options)
            plan.append(step)
            left.remove(step)
        return plan

    # Needs --------------------------------------------------------------------------------------

    def _chance(self, low: float, high: float, share: float) -> bool:
        """Whether something happens: to the most skilled with `low`, to others more, up to `high`.

        Both are for a medium difficulty and grow with its `share`.
        """
        return self.rng.random() < (low + (high - low) * (1 - self.skill)) * share / _MEDIUM

    def _alone(self, low: float, high: float, after: float) -> float:
        """When the performer finds out alone, or never."""
        if self.rng.random() < 0.15 + 0.5 * self.skill:
            return round(after + self.rng.uniform(low, high), 2)
        return math.inf

    def _stall(self, until: float, why: str = _DECIDES) -> None:
        """Hesitate until then before the next action."""
        self._until, self._why = max(self._until, until), why

    def _hesitate(self, clock: _Clock) -> str | None:
        seconds = round(self._until - clock.now, 2)
        if seconds < 0.2:
            return None
        clock.add("hesitate", seconds)
        return self._why

    def _now(self) -> float:
        return max(self.time, self._until)

    def _title(self, part: str | None) -> str:
        return self.product.part(part or self.product.base).title

    def _words(self, step: Step | None) -> str:
        if step is None:
            return "turn the crank and check that both gears rotate"
        verb = "screw" if step.screw else "put"
        return f"{verb} the {self._title(step.part)} onto the {self._title(step.target)}"

    def _blanks(self, step: Step, **more: str) -> dict[str, str]:
        part = self.product.part(step.part)
        place = place_in_words(self.floor, part) if part.id in self.floor.spots else ""
        if part.id not in self._far and self._bodies[part.id].frame != self._first(part.id):
            place = "in front of you"
        return {
            "part": part.title,
            "colour": seen_as(part.title),
            "place": place,
            "target": self._title(step.target),
            "next": self._words(step),
            "driver": DRIVERS.get(part.title, ""),
            **more,
        }

    def _first(self, part: str) -> Pose:
        """Frame of the part's body before anybody touched it."""
        return geo.compose(self.floor.spots[part], geo.inverse(self.product.part(part).slot))

    def _decide(self, step: Step, first: bool) -> None:
        """Perhaps not know how to go on."""
        # With a screw missing, the next step would be the wrong answer.
        told = self._until > self.time or self._loose is not None
        if first or told or not self._chance(0.08, 0.42, self.difficulty.hesitation):
            return
        need = Need(
            "cannot_decide_next_step", self._now(), self._blanks(step),
            (self._title(step.part),), deadline=self._alone(3.0, 6.0, self._now()),
        )  # fmt: skip
        given = self.helper.meet(need)
        self._stall(need.deadline if given is None else given.end, _DECIDES)

    def _get(self, part: str, step: Step) -> None:
        """Have a part within reach and in sight."""
        fetched = Step(step.id, part, step.target, "", step.stage, False, (), False)
        if part in self._far:
            need = Need(
                "out_of_reach", self._now(), self._blanks(fetched), (self._title(part),),
                act=self._hand_over(part),
            )  # fmt: skip
            given = self.helper.meet(need)
            assert given is not None, "what is out of reach stays so"
            self._far.discard(part)
            start = self._now()
            self._stall(given.end - 0.4 if given.mode == "physical" else given.end, _REACHES)
            names = (self._title(part),)
            self.intervals.append(Interval(start, self._until, step.stage, names, None))
            return
        if self._bodies[part].bench is not None:
            return
        alike = bool(self.product.look_alikes(part))
        if not self._chance(*_SEARCHED[alike], self.difficulty.hesitation):
            return
        start = self._now()
        deadline = self._alone(2.0, 4.5, start)
        need = Need(
            "cannot_find_part", start, self._blanks(fetched), (self._title(part),),
            act=self._hand_over(part), deadline=deadline,
        )  # fmt: skip
        given = self.helper.meet(need)
        if given is None:
            end = deadline
        else:
            end = given.end
            if given.mode == "verbal" and self.rng.random() < _STILL_LOST:
                end = self.helper.follow_up(given, need).end
            elif given.reply_to is None and self.rng.random() < _FOUND_ANYWAY:
                given.outcome = UNNECESSARY
        self._stall(end, _SEARCHES)
        self.intervals.append(Interval(start, end, SEARCH, (self._title(part),), None))

    def _hand_over(self, part: str) -> Callable[[float], float]:
        def act(onset: float) -> float:
            grip = round(onset + 0.8, 2)
            release = round(grip + self.rng.uniform(1.5, 1.9), 2)
            body = self._bodies[part]
            here = geo.compose(body.frame, body.parts[part])
            self._handed += 1
            x = _IN_FRONT[0] + 0.1 * (-1) ** self._handed
            there = Pose((x, _IN_FRONT[1], here.position[2]), here.rotation)
            goal = geo.compose(there, geo.inverse(body.parts[part]))
            high = Pose(geo.add(geo.mix(body.frame.position, goal.position, 0.5), (0, 0, 0.22)),
                        goal.rotation)  # fmt: skip
            self._move(dict(body.parts), [body.frame, high, goal], [0, 0.5, 1], grip, release)
            body.frame = goal
            end = round(release + 0.6, 2)
            self.reaches.append(Reach(onset, grip, release, end, part))
            return end

        return act

    # Steps --------------------------------------------------------------------------------------

    def _do(self, step: Step, following: Step | None) -> None:
        before = self._now()
        if self._bodies[step.target].bench is None:
            self._get(step.target, step)
        self._get(step.part, step)
        if not (self._chance(0.08, 0.6, self.difficulty.mistakes) and self._err(step)):
            self._carry_out(step, following)
        title = self._title(step.part)
        start = max(before, self.intervals[-1].end if self.intervals else 0.0)
        end = round(self.actions[-1].end, 2)
        names = (title, self._title(step.target))
        self.intervals.append(Interval(start, end, step.stage, names, DRIVERS.get(title)))

    def _carry_out(self, step: Step, following: Step | None) -> None:
        """The step itself; perhaps somebody has to hold the target, or it is asked about after."""
        title = self._title(step.part)
        begun = len(self.actions)
        if self.rng.random() < _MOVABLE.get(title, 0.0):
            need = Need(
                "stabilization_needed", self._now(), self._blanks(step),
                (self._title(step.target),), act=self._hold(step),
            )  # fmt: skip
            given = self.helper.meet(need)
            assert given is not None, "what tips goes on tipping"
            if len(self.actions) == begun:
                self._stall(given.end)
                self._attach_well(step)
            return
        self._attach_well(step)
        if self._loose is None and self._chance(0.06, 0.25, self.difficulty.hesitation):
            blanks = {**self._blanks(step), "next": self._words(following)}
            given = self.helper.meet(Need(CONFIRM, self.time - 0.3, blanks, (title,)))
            assert given is not None, "whoever asks gets an answer"
            self._stall(given.end)

    def _attach_well(self, step: Step) -> Action:
        action = self._attach(step)
        self._note_driver(action, DRIVERS.get(self._title(action.part)))
        return action

    def _hold(self, step: Step) -> Callable[[float], float]:
        def act(onset: float) -> float:
            self._stall(round(onset + 0.5, 2))
            action = self._attach_well(step)
            end = round(action.end + 0.2, 2)
            assert action.target is not None
            held = self.product.base if step.target == self.product.base else action.target
            self.reaches.append(Reach(onset, round(onset + 0.8, 2), action.end - 0.3, end, held))
            return end

        return act

    def _note_driver(self, action: Action, driver: str | None) -> None:
        if driver is not None:
            self.drives += [
                Drive(p.start, p.end, driver) for p in action.phases if p.name == "fasten"
            ]

    # Errors -------------------------------------------------------------------------------------

    def _err(self, step: Step) -> bool:
        """Make one mistake at a step and put it right; False when none fits."""
        attempts: list[tuple[float, Callable[[Step], bool]]] = [
            (self.rng.random() ** (1 / weight), attempt)
            for weight, attempt in (
                (4.0, self._take_wrong_part),
                (3.0, self._turn_wrongly),
                (2.5, self._take_wrong_driver),
                (1.5, self._forget_screw),
                (1.0, self._go_too_early),
            )
        ]
        ordered = sorted(attempts, key=lambda pair: pair[0], reverse=True)
        return any(attempt(step) for _, attempt in ordered)

    def _correct(self, action: Action, kind: str, step: Step, blanks: dict[str, str]) -> None:
        """Wait for the helper, or find out alone; then undo."""
        right = self._hand_over(step.part) if kind == "wrong_part" else None
        deadline = self._alone(1.5, 4.0, action.end)
        objects = tuple(dict.fromkeys((self._title(action.part), self._title(action.target))))
        need = Need(kind, action.at, blanks, objects, act=right, deadline=deadline)
        given = self.helper.meet(need)
        self._stall(deadline if given is None else given.end)
        self._detach(action)

    def _take_wrong_part(self, step: Step) -> bool:
        right = self.product.part(step.part)
        for other in self.product.look_alikes(right.id):
            wrong, body = self.product.part(other), self._bodies[other]
            if wrong.model == right.model or len(body.parts) > 1 or body.bench is not None:
                continue
            local = self._swapped(right, wrong, step.target)
            if other in self._far or len(self._bodies[right.id].parts) > 1:
                continue
            if not self._feasible(step, other) or not self._fits(other, local, step.target):
                continue
            words = f"{wrong.title} instead of {right.title}"
            action = self._attach(step, other, local, "wrong_part", words)
            self._correct(action, "wrong_part", step, self._blanks(step, wrong=wrong.title))
            self._attach_well(step)
            return True
        return False

    def _go_too_early(self, step: Step) -> bool:
        # In the middle of the work nearly any part could be too early; mostly it is not tried.
        # Whoever was just told what to do does not try it either.
        if self._until > self.time or self._loose is not None or self.rng.random() < 0.6:
            return False
        for early in self.rng.sample(self.product.steps, len(self.product.steps)):
            missing = self.product.ancestors(early.id) - self.done
            if early.id in self.done or step.id not in missing:
                continue
            if early.part in self._far or self._bodies[early.target].bench is None:
                continue
            slot = self.product.part(early.part).slot
            if not self._feasible(early) or not self._fits(early.part, slot, early.target):
                continue
            if len(self._bodies[early.part].parts) > 1:
                continue
            blanks = self._blanks(early, missing=self._words(step))
            words = f"before: {step.label}"
            action = self._attach(early, mistake="wrong_order", detail=words)
            self._note_driver(action, DRIVERS.get(self._title(action.part)))
            self._correct(action, "ordering_violation", early, blanks)
            names = (self._title(early.part), self._title(early.target))
            end = self.actions[-1].end
            self.intervals.append(Interval(action.start, end, early.stage, names, None))
            self._attach_well(step)
            return True
        return False

    def _turn_wrongly(self, step: Step) -> bool:
        found = self._quarter_turn(step)
        if found is None:
            return False
        action = self._attach(
            step, local=found, mistake="wrong_orientation", detail="turned by 90 degrees"
        )
        self._correct(action, "wrong_orientation", step, self._blanks(step))
        self._attach_well(step)
        return True

    def _quarter_turn(self, step: Step) -> Pose | None:
        """The slot's pose turned about the joint's axis, when that can be seen and still fits."""
        part = self.product.part(step.part)
        if len(self._bodies[part.id].parts) > 1 or part.shape != "box":
            return None
        box = self.product.box(part.id)
        normal = geo.contact_normal(self.product.box(step.target), box)
        axis = "xyz"[max(range(3), key=lambda k: abs(normal[k]))]
        turned = geo.unit(geo.multiply(geo.turn(axis, 90), part.slot.rotation))
        pose = Pose(part.slot.position, turned)
        return pose if self._fits(part.id, pose, step.target) else None

    def _take_wrong_driver(self, step: Step) -> bool:
        if not step.screw:
            return False
        right = DRIVERS[self._title(step.part)]
        wrong = next(name for name in sorted(set(DRIVERS.values())) if name != right)
        action = self._attach(step, mistake="missed_screw", detail=f"tried the {wrong}")
        self._note_driver(action, wrong)
        need = Need(
            "wrong_screwdriver", action.at, self._blanks(step, wrong_driver=wrong),
            (self._title(step.part), wrong), deadline=self._alone(2.0, 4.0, action.end),
        )  # fmt: skip
        given = self.helper.meet(need)
        self._screw_in(action, need.deadline if given is None else given.end, wrong)
        return True

    def _forget_screw(self, step: Step) -> bool:
        if not step.screw or self._loose is not None:
            return False
        self._loose = self._attach(step, mistake="missed_screw", detail="not fastened")
        return True

    def _fasten_later(self, action: Action) -> None:
        """A screw was forgotten one step ago; the helper says so, or it is noticed."""
        assert action.step is not None
        step = self.product.step_by_id[action.step]
        need = Need(
            "missed_screw", max(action.end, self.time - 4.0), self._blanks(step),
            (self._title(step.part),), deadline=self._alone(3.0, 6.0, self.time),
        )  # fmt: skip
        given = self.helper.meet(need)
        self._loose = None
        start = self._now()
        self._screw_in(action, need.deadline if given is None else given.end, None)
        title = self._title(step.part)
        names = (title, self._title(step.target))
        end = self.actions[-1].end
        self.intervals.append(Interval(start, end, step.stage, names, DRIVERS[title]))

    def _screw_in(self, action: Action, until: float, wrong: str | None) -> None:
        """Fasten what is loose from `until` on; before that, try in vain with the wrong driver."""
        clock = _Clock(self.time)
        self._stall(until)
        if wrong is None:
            self._hesitate(clock)
        clock.add("reach", self.rng.uniform(0.4, 0.6))
        if wrong is not None and until - clock.now > 0.3:
            vain = clock.add("fasten", until - clock.now)
            self.drives.append(Drive(vain.start, vain.end, wrong))
        tight = clock.add("fasten", self.rng.uniform(1.3, 1.8))
        self.drives.append(Drive(tight.start, tight.end, DRIVERS[self._title(action.part)]))
        clock.add("release", self.rng.uniform(0.35, 0.5))
        self._record(
            Action(
                len(self.actions), "fasten", action.step, action.part, action.target,
                action.moved, clock.start, clock.now, tight.end, tuple(clock.phases),
                "correction", None, action.index, None, True, "",
            )
        )  # fmt: skip

    # The end ------------------------------------------------------------------------------------

    def _verify(self) -> None:
        """Turn the crank: everything on the shafts turns with it."""
        crank = next(p.id for p in self.product.parts if p.title == "crank")
        clock = _Clock(self.time)
        self._hesitate(clock)
        start = clock.now
        clock.add("reach", self.rng.uniform(0.5, 0.7))
        turning = clock.add("carry", self.rng.uniform(3.6, 5.0))
        clock.add("release", self.rng.uniform(0.4, 0.5))
        body = self._bodies[self.product.base]
        for part in self.product.parts:
            small = part.title in ("crank", "short shaft", "small gear")
            if not small and part.title not in ("long shaft", "large gear"):
                continue
            # Meshing wheels turn against each other, the larger one slower.
            turns = 2.0 if small else -2.0 * 0.055 / 0.085
            centre: Vec = (0.0, AXES["small" if small else "large"], AXIS_HEIGHT)
            count = 24
            path = [
                geo.compose(body.frame, _about(centre, 360.0 * turns * k / count))
                for k in range(count + 1)
            ]
            shares = [k / count for k in range(count + 1)]
            self._move({part.id: body.parts[part.id]}, path, shares, turning.start, turning.end)
        action = self._record(
            Action(
                len(self.actions), "turn", None, crank, None, (crank,), clock.start, clock.now,
                turning.end, tuple(clock.phases), both_hands=False,
            )
        )  # fmt: skip
        self.intervals.append(Interval(start, action.end, VERIFY, ("crank",), None))
        blanks = {"part": "crank", "next": "", "target": ""}
        given = self.helper.meet(Need(FINISHED, turning.end - 1.0, blanks, ("crank",)))
        assert given is not None, "whoever asks gets an answer"

    def closing(self) -> Help:
        """The helper's last words."""
        return self.helper.helps[-1]


def _about(centre: Vec, degrees: float) -> Pose:
    """Rotation about an axis parallel to x through a point."""
    turned = geo.turn("x", degrees)
    return Pose(geo.clean(geo.sub(centre, geo.rotate(turned, centre))), turned)
