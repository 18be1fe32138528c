"""Questions about a toy's assembly, of ProMQA-Assembly's eight types, with all right answers.

A question is asked at the end of a clip: at the end of a step, a little before or after it, or
while a part is in the hand. Its answers follow from the product's plan and from what the worker
did until then; `promqa_verify` finds them again without the worker's log.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .products import Step, pair
from .promqa_words import FORMS, Fault, Finding, Joint, answers, question
from .session import Action
from .world import World

#: Assembly101's frame numbers, in which steps and clips are given, a second.
FRAME_RATE = 30
_POSITION = {"wrong_position": "shifted", "wrong_orientation": "turned", "wrong_part": "swapped"}


@dataclass(frozen=True)
class ToyQuestion:
    """One question.

    Attributes
    ----------
    form, variant
        One of `FORMS`, and which of its wordings.
    part
        Title of the part that it names, empty without one.
    end
        When it is asked: the clip's end, seconds of the recording, a multiple of 1 / 30.
    question, answers
        In words; every answer is right by itself.
    """

    form: str
    variant: int
    part: str
    end: float
    question: str
    answers: tuple[str, ...]

    @property
    def question_type(self) -> str:
        """The benchmark's name of its type."""
        return FORMS[self.form].question_type

    @property
    def multimodal(self) -> bool:
        """Whether it takes the recording and the instructions to answer it."""
        return FORMS[self.form].multimodal


def steps_of(world: World) -> tuple[Action, ...]:
    """The actions that Assembly101 would annotate: attaching and detaching, in order."""
    return tuple(a for a in world.session.actions if a.kind in {"attach", "detach"})


def joint_of(world: World, action: Action) -> Joint:
    """What an action attached to what, or detached from it, as it looks.

    A part that stands in for another one goes to the target that it has itself by the plan, if it
    touches that; else to the other one's.
    """
    if action.target is None:
        raise ValueError(f"{action.kind} at {action.start} s joins nothing")
    product, target = world.product, action.target
    came = action if action.undoes is None else world.session.actions[action.undoes]
    if came.mistake == "wrong_part":
        own = next(step.target for step in product.steps if step.part == came.part)
        if pair(came.part, own) in world.contacts(came.at):
            target = own
    return Joint(product.part(action.part).title, product.part(target).title)


def fault_of(world: World, action: Action) -> Fault | None:
    """What was wrong with an action, as an annotator would put it, or None."""
    what = joint_of(world, action)
    if action.kind == "detach":
        return Fault("needless", what) if action.label == "mistake" else None
    if action.mistake is None:
        return None
    if action.mistake in _POSITION:
        known = {step.label for step in world.product.steps}
        if what.label not in known:
            return Fault("stranger", what)
        return Fault("position", what, detail=_POSITION[action.mistake])
    assert action.step is not None, "an attach action has a step"
    if action.mistake == "wrong_order":
        missing = world.missing_before(action.step, action.start)
        return Fault("order", what, _joints(world, missing))
    below = [
        a
        for a in world.open_mistakes(action.start)
        if a.step in world.product.ancestors(action.step)
    ]
    return Fault("previous", what, culprit=world.product.part(below[-1].part).title)


def _joints(world: World, steps: Sequence[Step]) -> tuple[Joint, ...]:
    title = {part.id: part.title for part in world.product.parts}
    return tuple(Joint(title[step.part], title[step.target]) for step in steps)


@dataclass(frozen=True)
class Moment:
    """The end of a clip, at which a question is asked: time (s), and whether a part is in hand."""

    world: World
    end: float
    holding: bool = False

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """What has been done, without the step for which a part is in the hand."""
        return tuple(a for a in steps_of(self.world) if a.at <= self.end)

    @property
    def latest(self) -> Action:
        """The last step done."""
        return self.actions[-1]

    @cached_property
    def open_mistakes(self) -> tuple[Action, ...]:
        """Mistakenly attached parts that are still there."""
        return self.world.open_mistakes(self.end)

    @cached_property
    def put_back(self) -> tuple[Action, ...]:
        """Needless detaches whose part is off now, the latest of each part."""
        latest = {a.part: a for a in self.actions}
        needless = {a.part: a for a in self.actions if a.kind == "detach" and a.label == "mistake"}
        return tuple(a for part, a in needless.items() if latest[part].kind == "detach")

    def joint(self, action: Action) -> Joint:
        """What an action joined or parted."""
        return joint_of(self.world, action)

    def fault(self, action: Action) -> Fault | None:
        """What was wrong with an action."""
        return fault_of(self.world, action)

    def joints(self, steps: Sequence[Step]) -> tuple[Joint, ...]:
        """Steps as joints."""
        return _joints(self.world, steps)


def moments(world: World, fps: int, rng: random.Random) -> Iterator[Moment]:
    """Ends of clips, in order; each shows the latest change on some frame at `fps` a second."""
    actions = [*world.session.actions]
    for n, action in enumerate(actions):
        if action.kind not in {"attach", "detach"}:
            continue
        carry = next(p for p in action.phases if p.name == "carry")
        if action.kind == "attach":
            last = (math.ceil((carry.end - 1 / FRAME_RATE) * fps) - 1) / fps
            yield Moment(world, round(last + 1 / FRAME_RATE, 6), holding=True)
        following = actions[n + 1].start if n + 1 < len(actions) else world.duration
        first = math.ceil((carry.end + 1 / fps) * FRAME_RATE)
        end = math.ceil(action.end * FRAME_RATE)
        # As the authors do, some clips end before the step does, and some a little after it.
        ends = [end] * 3 + [f for f in (first, end + 2) if first <= f < following * FRAME_RATE]
        yield Moment(world, rng.choice(ends) / FRAME_RATE)


def findings(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    """Form, title of the part asked about and finding of all that can be asked at a moment."""
    if moment.holding:
        yield from _in_hand(moment)
        return
    yield from _next(moment)
    yield from _latest(moment)
    yield from _order(moment)
    yield from _undone(moment)
    yield from _past(moment)
    yield from _screws(moment)


def _in_hand(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    world = moment.world
    current = world.current(moment.end)
    assert current is not None, "a part is in the hand"
    part = world.product.part(current.part)
    twins = [p for p in world.product.parts if p.model == part.model]
    if len(twins) == 1 and current.mistake is None:
        found = Finding(world.product.kind, moment.joint(current))
        yield "place_held", "", found


def _next(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    world, kind = moment.world, moment.world.product.kind
    if moment.open_mistakes:
        return
    steps = world.next_steps(moment.end)
    yield "next_all", "", Finding(kind, joints=moment.joints(steps))
    done = set(world.steps_done(moment.end))
    left = [s for s in world.product.steps if s.id not in done]
    yield "how_many", "", Finding(kind, joints=moment.joints(left))
    for step in left:
        (this,) = moment.joints([step])
        missing = moment.joints(world.missing_before(step.id, moment.end))
        found = Finding(kind, this, missing)
        yield "next_this", this.part, found
        yield "missing_until", this.part, found


def _latest(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    world, latest = moment.world, moment.latest
    kind, this = world.product.kind, moment.joint(latest)
    if latest.kind != "attach":
        return
    fault = moment.fault(latest)
    faults = (fault,) if fault else ()
    yield "undo_this", "", Finding(kind, this, faults=faults)
    if fault is None or fault.kind == "order":
        assert latest.step is not None, "an attach action has a step"
        missing = moment.joints(world.missing_before(latest.step, latest.start))
        yield "missing_any", "", Finding(kind, this, missing)
        yield "order_latest", "", Finding(kind, this, missing)
        screw = world.product.step_by_id[latest.step].screw
        yield "screw_latest", "", Finding(kind, this, holds=screw)
    if fault is None or fault.kind in {"position", "stranger"}:
        yield "place_latest", "", Finding(kind, this, faults=faults)


def _order(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    """Whether a part that is in its place was right to come before the latest one."""
    world, latest = moment.world, moment.latest
    fault = moment.fault(latest)
    if latest.kind != "attach" or (fault and fault.kind != "order"):
        return
    product, placed = world.product, world.steps_done(moment.end)
    for step in product.steps:
        if step.id in placed and step.id != latest.step:
            assert latest.step is not None, "an attach action has a step"
            relation = "free"
            if step.id in product.ancestors(latest.step):
                relation = "needed"
            elif latest.step in product.ancestors(step.id):
                relation = "reversed"
            part = product.part(step.part).title
            found = Finding(product.kind, moment.joint(latest), other=part, relation=relation)
            yield "order_pair", part, found


def _undone(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    """The latest step took a part off, or an earlier one did."""
    world, latest = moment.world, moment.latest
    kind = world.product.kind
    undone = {
        moment.joint(a).part: world.session.actions[a.undoes]
        for a in moment.actions
        if a.kind == "detach" and a.label == "correction" and a.undoes is not None
    }
    often = Counter(moment.joint(a).part for a in moment.actions if a.kind == "detach")
    if latest.kind == "detach":
        this = moment.joint(latest)
        fault = moment.fault(latest) or moment.fault(undone[this.part])
        assert fault is not None, "corrected or needless"
        yield "undo_latest", this.part, Finding(kind, this, faults=(fault,))
    for part, action in undone.items():
        fault = moment.fault(action)
        if fault is not None and often[part] == 1:
            this = moment.joint(action)
            yield "why_undone", part, Finding(kind, this, faults=(fault,))
            again = [
                a
                for a in moment.actions
                if a.kind == "attach" and moment.joint(a).part == part and a.index > action.index
            ]
            if again:
                yield "past_first", part, Finding(kind, this, faults=(fault,))


def _past(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    kind = moment.world.product.kind
    faults = tuple(f for f in map(moment.fault, moment.actions) if f is not None)
    if len(moment.actions) > 2:
        yield "past_any", "", Finding(kind, faults=faults, steps=len(moment.actions))
    if faults:
        wrong = sorted((*moment.open_mistakes, *moment.put_back), key=lambda a: a.index)
        now = tuple(f for f in map(moment.fault, wrong) if f is not None)
        yield "past_open", "", Finding(kind, faults=now)


def _screws(moment: Moment) -> Iterator[tuple[str, str, Finding]]:
    product = moment.world.product
    for step in product.steps:
        (this,) = moment.joints([step])
        yield "screw_named", this.part, Finding(product.kind, this, holds=step.screw)


def ask(moment: Moment, form: str, part: str, found: Finding, variant: int) -> ToyQuestion:
    """A finding as a question in words."""
    return ToyQuestion(
        form, variant, part, moment.end, question(form, part, variant),
        answers(form, found, variant),
    )  # fmt: skip
