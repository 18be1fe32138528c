"""Answers questions about changing objects again, from what is to be seen.

The jar is read from the pixels of the video's frames, the product from where its parts are in
them; neither the jar's list of events nor the worker's log of actions is looked at. What the plan
requires is known, as it is to the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from . import geometry as geo
from . import inset
from . import procobject_words as words
from .geometry import Pose
from .inset import Picture, Reading
from .object_states import COLOURS, Look
from .procobject_questions import Clip, ObjectQuestion, Span
from .procobject_words import Change, Joint, Mistake
from .products import Pair, Step, pair
from .verify import Truth
from .world import World

#: Question and answer, and the first and last + 1 frame of each span of evidence.
Recounted = tuple[tuple[str, str], list[tuple[int, int]]]

_MOMENT = 0.005
_BEFORE = 0.1  # seconds; `Truth` calls parts joined that keep their relative pose so long
_OFF = 0.003  # metres by which a part may miss its place and still be in it


@dataclass(frozen=True)
class SeenEvent:
    """Frames first to last - 1 with a hand at the jar, and what happens in them."""

    first: int
    last: int
    change: Change


@dataclass(frozen=True)
class SeenTravel:
    """Frames first to last - 1 in which a part comes to a target (`joins`) or leaves it.

    `step` is the step that it looks like; `wrong` what is wrong with the result, if anything is.
    """

    first: int
    last: int
    part: str
    target: str
    joins: bool
    step: Step
    wrong: Mistake | None


class Watcher:
    """Somebody who watches the whole video of a session.

    Parameters
    ----------
    world
        Asked for poses at the frames' times and for the plan.
    pictures
        Frame n, uint8 [h, w, 3], shows the world at n / fps seconds.
    fps
        Frames a second.
    """

    def __init__(self, world: World, pictures: Sequence[Picture], fps: int) -> None:
        self.world, self.fps, self.count = world, fps, len(pictures)
        rows, columns = inset.place(pictures[0].shape[0])
        self.readings: list[Reading] = [inset.read(p[rows, columns]) for p in pictures]
        self._truth = Truth(world)
        self._joined: dict[int, frozenset[Pair]] = {}

    # The jar ------------------------------------------------------------------------------------

    @cached_property
    def events(self) -> list[SeenEvent]:
        """What is done to the jar, in order; nothing that the video shows only in part."""
        found = []
        frame = 0
        for handled, run in groupby(self.readings, key=lambda reading: reading.handled):
            seen = list(run)
            last = frame + len(seen)
            if handled and frame > 0 and last < self.count:
                before, after = self._look(frame - 1), self._look(last)
                change = Change(_action(seen, before, after), before, after)
                found.append(SeenEvent(frame, last, change))
            frame = last
        return found

    def _look(self, frame: int) -> Look:
        reading = self.readings[frame]
        return Look(reading.closed, reading.level, reading.colour)

    def look_at_end(self, end: int, without: int | None = None) -> tuple[Look, set[int]]:
        """The jar at frame `end`, one event left out, and the events that then do nothing."""
        first = self.readings[0]
        closed, quarters, tablets = first.closed, first.level, set[str]()
        idle = set[int]()
        for n, event in enumerate(self.events):
            if event.last > end or n == without:
                continue
            action = event.change.action
            if action in ("open", "close"):
                closed = action == "close"
            elif closed or (action == "pour" and quarters == 4):
                idle.add(n)
            elif action == "pour":
                quarters += 1
            elif action == "empty":
                quarters, tablets = 0, set()
            else:
                tablets.add(action.split()[1])
        colour = COLOURS[frozenset(tablets)] if quarters else None
        return Look(closed, quarters, colour), idle

    # The product --------------------------------------------------------------------------------

    @cached_property
    def travels(self) -> list[SeenTravel]:
        """Parts that come to their target or leave it, in order."""
        found = [t for step in self.world.product.steps for t in self._watch(step)]
        return sorted(found, key=lambda travel: travel.first)

    def _watch(self, own: Step) -> Iterator[SeenTravel]:
        """Travels of the part that a step attaches, for this step or in another part's place."""
        part, last = own.part, 0
        there: tuple[Step, str] | None = None
        for moves, run in groupby(self._moves(part)):
            first, last = last, last + len(list(run))
            if not moves or not first or last >= self.count:
                continue
            came = self._contacts(last) - self._contacts(first - 1)
            went = self._contacts(first - 1) - self._contacts(last)
            if there and pair(part, there[1]) in went:
                yield SeenTravel(first, last, part, there[1], False, there[0], None)
                there = None
            elif not there:
                step, wrong = self._diagnosis(own, came, first, last)
                if step is not None:
                    there = step, step.target
                    yield SeenTravel(first, last, part, step.target, True, step, wrong)

    def _diagnosis(
        self, own: Step, came: frozenset[Pair], first: int, last: int
    ) -> tuple[Step | None, Mistake | None]:
        """Which step's place the part has come to, and what is wrong with that."""
        product = self.world.product
        joined = pair(own.part, own.target) in came
        distance, turned = self._miss(own.part, own, last)
        if joined and distance < _OFF and not turned:
            missing = self.missing(own, first - 1)
            parts = tuple(product.part(s.part).title for s in missing)
            return own, ("wrong_order", parts) if missing else None
        alone = not any(own.part in other for other in self._contacts(first - 1))
        for step in product.steps:
            if (
                alone
                and step.part in product.look_alikes(own.part)
                and product.part(step.part).model != product.part(own.part).model
                and pair(own.part, step.target) in came
                and self._beside(own.part, step, last) < _OFF
                and not (joined and distance < _OFF)
            ):
                return step, ("wrong_part", product.part(step.part).title)
        if not joined:
            return None, None
        return own, ("wrong_orientation", None) if turned else (
            "wrong_position", round(100 * distance),
        )  # fmt: skip

    def _moves(self, part: str) -> list[bool]:
        """Whether a part is in motion, frame by frame."""
        session = self.world.session
        times = [n / self.fps for n in range(self.count)]
        return [session.pose(part, t) != session.pose(part, t + _MOMENT) for t in times]

    def _contacts(self, frame: int) -> frozenset[Pair]:
        """Pairs that are joined in a frame, those included that begin to part right after it."""
        if frame not in self._joined:
            t = frame / self.fps
            joined = self._truth.joined_at(t) | self._truth.joined_at(t - _BEFORE)
            self._joined[frame] = joined
        return self._joined[frame]

    def _local(self, part: str, target: str, frame: int) -> Pose:
        """Pose of a part in the finished product's frame, if the target were in its slot there."""
        session, t = self.world.session, frame / self.fps
        there = geo.compose(geo.inverse(session.pose(target, t)), session.pose(part, t))
        return geo.compose(self.world.product.part(target).slot, there)

    def _miss(self, part: str, step: Step, frame: int) -> tuple[float, bool]:
        """Metres from a step's place to where the part is, and whether it is turned."""
        there, wanted = self._local(part, step.target, frame), self.world.product.part(part).slot
        cosine = sum(a * b for a, b in zip(there.rotation, wanted.rotation, strict=True))
        return geo.norm(geo.sub(there.position, wanted.position)), abs(cosine) < 0.999

    def _beside(self, part: str, step: Step, frame: int) -> float:
        """Metres from where a part would be that touches a step's target in its part's place."""
        product, there = self.world.product, self._local(part, step.target, frame)
        slot, size = product.box(step.part), geo.bounds(product.part(part).size, there).size
        normal = geo.contact_normal(product.box(step.target), slot)
        axis = next(k for k in range(3) if normal[k])
        thicker = (size[axis] - slot.size[axis]) / 2
        wanted = geo.add(slot.centre, geo.scale(normal, thicker))
        return geo.norm(geo.sub(there.position, wanted))

    def _in_place(self, step: Step, frame: int) -> bool:
        if pair(step.part, step.target) not in self._contacts(frame):
            return False
        distance, turned = self._miss(step.part, step, frame)
        return distance < _OFF and not turned

    def missing(self, step: Step, frame: int) -> list[Step]:
        """Steps that `step` builds on, directly or not, and that are not done at a frame."""
        product = self.world.product
        needed = product.ancestors(step.id)
        return [s for s in product.steps if s.id in needed and not self._in_place(s, frame)]


def _action(seen: Sequence[Reading], before: Look, after: Look) -> str:
    if any(reading.pours for reading in seen):
        return "pour"
    tablets = [reading.tablet for reading in seen if reading.tablet]
    if tablets:
        return f"drop {tablets[0]}"
    if before.closed != after.closed:
        return "close" if after.closed else "open"
    return "empty"


class _Recount:
    """Question, answer and evidence of one clip's question, from what was seen."""

    def __init__(self, seen: Watcher, clip: Clip) -> None:
        self.seen, self.product = seen, seen.world.product
        self.begin, self.end = round(clip.start * clip.fps), round(clip.end * clip.fps)
        inside = [e for e in seen.events if self.begin <= e.first and e.last <= self.end]
        self.events = inside
        self.travels = [t for t in seen.travels if self.begin <= t.first and t.last <= self.end]
        self.actions = [event.change.action for event in inside]

    def joint(self, travel: SeenTravel) -> Joint:
        part = self.product.part
        return Joint(part(travel.part).title, part(travel.target).title, travel.joins)

    def titles(self, steps: Sequence[Step]) -> list[str]:
        return [self.product.part(step.part).title for step in steps]

    def name(self, position: int) -> str:
        return words.event_name(self.actions, position)

    def jar_before(self, n: int) -> Recounted:
        travel = self.travels[n]
        done = [event for event in self.events if event.last <= travel.first]
        text = words.jar_before(self.joint(travel), [event.change for event in done])
        return text, [(event.first, event.last) for event in done]

    def parts_before(self, n: int) -> Recounted:
        travel = self.travels[n]
        came = []
        for id in travel.step.requires:
            step = self.product.step_by_id[id]
            came.append([t for t in self.travels[:n] if t.joins and t.step is step][-1])
        came.sort(key=lambda t: t.first)
        text = words.parts_before(self.joint(travel), self.titles([t.step for t in came]))
        return text, [(t.first, t.last) for t in came]

    def jar_evolution(self, a: int, b: int) -> Recounted:
        these = self.events[a : b + 1]
        text = words.jar_evolution(self.name(a), self.name(b), [event.change for event in these])
        return text, [(event.first, event.last) for event in these]

    def product_evolution(self, a: int, b: int) -> Recounted:
        these = self.travels[a : b + 1]
        text = words.product_evolution(self.product.kind, [self.joint(t) for t in these])
        return text, [(t.first, t.last) for t in these]

    def jar_without(self, k: int) -> Recounted:
        left_out = self.seen.events.index(self.events[k])
        is_now, idle = self.seen.look_at_end(self.end)
        would_be, idle_then = self.seen.look_at_end(self.end, left_out)
        lost, won = [], []
        for m, event in enumerate(self.events):
            n = self.seen.events.index(event)
            if n in idle_then - idle:
                lost.append(m)
            elif m != k and n in idle - idle_then:
                won.append(m)
        text = words.jar_without(
            self.name(k), would_be, is_now, [self.name(m) for m in lost],
            [self.name(m) for m in won],
        )  # fmt: skip
        return text, [(self.events[m].first, self.events[m].last) for m in (k, *lost, *won)]

    def step_without(self, n: int) -> Recounted:
        travel = self.travels[n]
        later = [
            t
            for t in self.travels[n + 1 :]
            if t.joins and t.wrong is None and travel.step.id in self.product.ancestors(t.step.id)
        ]
        parts = list(dict.fromkeys(self.titles([t.step for t in later])))
        text = words.step_without(self.joint(travel), parts)
        return text, [(t.first, t.last) for t in (travel, *later)]

    def jar_mistakes(self, *about: int) -> Recounted:
        failed = [event for event in self.events if event.change.failure]
        text = words.jar_mistakes([event.change for event in failed])
        return text, [(event.first, event.last) for event in failed]

    def part_mistakes(self, *about: int) -> Recounted:
        part = self.travels[about[0]].part
        wrong = [(t, t.wrong) for t in self.travels if t.part == part and t.wrong is not None]
        title = self.product.part(part).title
        text = words.part_mistakes(title, [mistake for _, mistake in wrong])
        return text, [(t.first, t.last) for t, _ in wrong]

    def jar_ready(self, k: int) -> Recounted:
        event = self.events[k]
        begin = self.events[k - 1].last if k else self.begin
        text = words.jar_ready(self.name(k), event.change.before, event.change.failure)
        return text, [(begin, event.first)]

    def step_ready(self, n: int) -> Recounted:
        travel = self.travels[n]
        required = [self.product.step_by_id[id] for id in travel.step.requires]
        missing = self.seen.missing(travel.step, travel.first - 1)
        begin = self.travels[n - 1].last if n else self.begin
        text = words.step_ready(
            self.product.kind, self.joint(travel), self.titles(required), self.titles(missing)
        )
        return text, [(begin, travel.first)]


def verify(question: ObjectQuestion, clip: Clip, seen: Watcher) -> str | None:
    """What is wrong with a question, its answer or its evidence; None when all is right."""
    recount = _Recount(seen, clip)
    (asked, answer), frames = getattr(recount, question.template)(*question.about)
    evidence = _apart(frames, clip.fps)
    for what, ours, theirs in (
        ("question", asked, question.question),
        ("answer", answer, question.answer),
        ("evidence", evidence, question.evidence),
    ):
        if ours != theirs:
            return f"{question.template}: {what} is {theirs!r}, but {ours!r} is to be seen"
    return None


def _apart(frames: Sequence[tuple[int, int]], fps: int) -> tuple[Span, ...]:
    """Runs of frames as spans in seconds, in order; frames of both runs make one span of two."""
    shown = sorted({n for first, last in frames for n in range(first, last)})
    spans = []
    for _, run in groupby(enumerate(shown), key=lambda entry: entry[1] - entry[0]):
        numbers = [n for _, n in run]
        spans.append((numbers[0] / fps, (numbers[-1] + 1) / fps))
    return tuple(spans)
