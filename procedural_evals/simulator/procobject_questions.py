"""Open questions about changing objects, of ProcObject-10K's five types, with exact evidence.

Asked about are the jar and the product of one clip; everything follows from the truth. Evidence is
exact to the frame: of a jar's event the frames in which a hand is at the jar, of a step the frames
in which its part travels to its place. `procobject_verify` finds all of it again by looking.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from . import procobject_words as words
from .object_states import Jar, JarEvent, Travel, travels
from .procobject_words import Change, Joint, Mistake
from .session import Action
from .world import World

Span = tuple[float, float]

#: The benchmark's question type of each template.
TYPES = {
    "jar_before": "Precondition Grounding",
    "parts_before": "Precondition Grounding",
    "jar_evolution": "Object State Evolution",
    "product_evolution": "Object State Evolution",
    "jar_without": "Counterfactual Reasoning",
    "step_without": "Counterfactual Reasoning",
    "jar_mistakes": "Mistake Recognition",
    "part_mistakes": "Mistake Recognition",
    "jar_ready": "Readiness Assessment",
    "step_ready": "Readiness Assessment",
}
TEMPLATES = tuple(TYPES)
MULTI_HOP, NEEDLE = "Multi-hop Reasoning", "Needle-in-a-Haystack"
_VISIBLE = ("wrong_order", "wrong_position", "wrong_orientation", "wrong_part")


@dataclass(frozen=True)
class ObjectQuestion:
    """One question.

    Attributes
    ----------
    template
        One of `TEMPLATES`.
    about
        Which of the clip's jar events or travels it asks about, by their place in the clip.
    question, answer
        In words.
    evidence
        Spans [start, end) in seconds of the session, ascending, apart from each other; frame n of
        a video at r frames a second lies in one exactly if n / r does.
    """

    template: str
    about: tuple[int, ...]
    question: str
    answer: str
    evidence: tuple[Span, ...]

    @property
    def question_type(self) -> str:
        """The benchmark's name of its type."""
        return TYPES[self.template]

    @property
    def reasoning(self) -> str:
        """Multi-hop when the evidence lies apart, else needle in a haystack."""
        return MULTI_HOP if len(self.evidence) > 1 else NEEDLE


def on_frames(spans: Iterable[Span], fps: int) -> tuple[Span, ...] | None:
    """Spans from the first frame in them to the first one after; None if one holds no frame.

    Spans that touch then are merged.

    >>> on_frames([(0.3, 1.6), (1.8, 2.1)], fps=2)
    ((0.5, 2.5),)
    >>> on_frames([(0.1, 0.4)], fps=2) is None
    True
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        first, last = (math.ceil(t * fps - 1e-6) / fps for t in (start, end))
        if first >= last:
            return None
        if merged and first <= merged[-1][1]:
            first, last = merged[-1][0], max(last, merged[-1][1])
            merged.pop()
        merged.append((first, last))
    return tuple(merged)


@dataclass(frozen=True)
class Clip:
    """A stretch [start, end) of a session's video at `fps` frames a second, on whole frames."""

    world: World
    jar: Jar
    start: float
    end: float
    fps: int

    def _holds(self, span: Span) -> bool:
        return self.start <= span[0] and span[1] <= self.end

    @cached_property
    def events(self) -> tuple[int, ...]:
        """Indices of the jar's events in the clip."""
        return tuple(n for n, e in enumerate(self.jar.events) if self._holds((e.start, e.end)))

    @cached_property
    def travels(self) -> tuple[Travel, ...]:
        """Parts that come and go in the clip."""
        return tuple(t for t in travels(self.world) if self._holds((t.start, t.end)))

    @property
    def whole(self) -> bool:
        """Whether nothing is cut in two by the clip's ends."""
        spans = [(e.start, e.end) for e in self.jar.events]
        spans += [(t.start, t.end) for t in travels(self.world)]
        return not any(a < edge < b for a, b in spans for edge in (self.start, self.end))

    @property
    def actions(self) -> list[str]:
        """What is done to the jar, event by event."""
        return [self.jar.events[n].action for n in self.events]

    def change(self, position: int) -> Change:
        """An event of the clip as it looks."""
        n = self.events[position]
        states = self.jar.states
        return Change(self.jar.events[n].action, states[n].look, states[n + 1].look)

    def joint(self, travel: Travel) -> Joint:
        """A travel in words."""
        product = self.world.product
        return Joint(
            product.part(travel.part).title, product.part(travel.target).title, travel.joins
        )

    def titles(self, steps: Iterable[str]) -> list[str]:
        """Titles of the parts that steps attach."""
        product = self.world.product
        return [product.part(product.step_by_id[step].part).title for step in steps]


class Asker:
    """Everything that can be asked about one clip."""

    def __init__(self, clip: Clip) -> None:
        self.clip = clip
        self.product = clip.world.product

    def all(self) -> list[ObjectQuestion]:
        """All questions whose evidence shows in the clip's frames, template by template."""
        makers = (
            self._jar_before, self._parts_before, self._jar_evolution, self._product_evolution,
            self._jar_without, self._step_without, self._jar_mistakes, self._part_mistakes,
            self._jar_ready, self._step_ready,
        )  # fmt: skip
        return [question for maker in makers for question in maker()]

    def _made(
        self, template: str, about: Sequence[int], text: tuple[str, str], spans: Iterable[Span]
    ) -> Iterator[ObjectQuestion]:
        evidence = on_frames(spans, self.clip.fps)
        if evidence:
            yield ObjectQuestion(template, tuple(about), *text, evidence)

    def _event(self, position: int) -> JarEvent:
        return self.clip.jar.events[self.clip.events[position]]

    def _span(self, position: int) -> Span:
        event = self._event(position)
        return event.start, event.end

    def _named(self) -> Iterator[tuple[int, Travel]]:
        """Attachments that their name tells from all others of the clip."""
        names = [self.clip.joint(travel).name for travel in self.clip.travels]
        for n, travel in enumerate(self.clip.travels):
            if travel.joins and names.count(names[n]) == 1:
                yield n, travel

    def _right(self, action: Action) -> bool:
        return action.mistake is None and not self._unseen(action.start)

    def _unseen(self, t: float) -> bool:
        """Whether a screw is missing at t, which nobody can see."""
        return any(a.mistake == "missed_screw" for a in self.clip.world.open_mistakes(t))

    # The templates ------------------------------------------------------------------------------

    def _jar_before(self) -> Iterator[ObjectQuestion]:
        for n, travel in self._named():
            done = [k for k in range(len(self.clip.events)) if self._event(k).end <= travel.start]
            busy = self.clip.jar.current(travel.start) is not None
            if done and not busy:
                changes = [self.clip.change(k) for k in done]
                text = words.jar_before(self.clip.joint(travel), changes)
                yield from self._made("jar_before", [n], text, map(self._span, done))

    def _parts_before(self) -> Iterator[ObjectQuestion]:
        for n, travel in self._named():
            if travel.action.step is None or not self._right(travel.action):
                continue
            needed = self.product.step_by_id[travel.action.step].requires
            standing = self._standing(travel.start)
            if needed and all(step in standing for step in needed):
                came = sorted((standing[step] for step in needed), key=lambda t: t.start)
                parts = [self.product.part(t.part).title for t in came]
                text = words.parts_before(self.clip.joint(travel), parts)
                yield from self._made("parts_before", [n], text, [(t.start, t.end) for t in came])

    def _standing(self, t: float) -> dict[str, Travel]:
        """Steps that were done rightly in the clip by t and hold, with the travel that did them."""
        done = set(self.clip.world.steps_done(t))
        found: dict[str, Travel] = {}
        for travel in self.clip.travels:
            step = travel.action.step
            if travel.joins and travel.end <= t and step in done and travel.action.mistake is None:
                found[str(step)] = travel
        return found

    def _jar_evolution(self) -> Iterator[ObjectQuestion]:
        count, actions = len(self.clip.events), self.clip.actions
        for first in range(count):
            for last in range(first, min(first + 4, count)):
                about = range(first, last + 1)
                names = (words.event_name(actions, first), words.event_name(actions, last))
                text = words.jar_evolution(*names, [self.clip.change(k) for k in about])
                spans = map(self._span, about)
                yield from self._made("jar_evolution", [first, last], text, spans)

    def _product_evolution(self) -> Iterator[ObjectQuestion]:
        named = [n for n, _ in self._named()]
        for first in named:
            for last in named:
                if first < last < first + 4:
                    part = self.clip.travels[first : last + 1]
                    joints = [self.clip.joint(travel) for travel in part]
                    text = words.product_evolution(self.product.kind, joints)
                    spans = [(t.start, t.end) for t in part]
                    yield from self._made("product_evolution", [first, last], text, spans)

    def _jar_without(self) -> Iterator[ObjectQuestion]:
        jar, actions = self.clip.jar, self.clip.actions
        is_now = jar.state(self.clip.end).look
        for k, n in enumerate(self.clip.events):
            other = jar.without(n)
            would_be = other.state(self.clip.end).look
            if would_be == is_now:
                continue
            lost: list[int] = []
            won: list[int] = []
            for later in range(k + 1, len(self.clip.events)):
                m = self.clip.events[later]
                action = jar.events[m].action
                failed, fails = jar.states[m].failure(action), other.states[m - 1].failure(action)
                if bool(failed) != bool(fails):
                    (lost if fails else won).append(later)
            text = words.jar_without(
                words.event_name(actions, k), would_be, is_now,
                [words.event_name(actions, m) for m in lost],
                [words.event_name(actions, m) for m in won],
            )  # fmt: skip
            spans = map(self._span, [k, *lost, *won])
            yield from self._made("jar_without", [k], text, spans)

    def _step_without(self) -> Iterator[ObjectQuestion]:
        for n, travel in self._named():
            step = travel.action.step
            if step is None or not self._right(travel.action):
                continue
            later = [
                t
                for t in self.clip.travels[n + 1 :]
                if t.joins and t.action.mistake in (None, "missed_screw")
                and t.action.step is not None
                and step in self.product.ancestors(t.action.step)
            ]  # fmt: skip
            if later:
                parts = [self.product.part(t.part).title for t in later]
                text = words.step_without(self.clip.joint(travel), list(dict.fromkeys(parts)))
                spans = [(t.start, t.end) for t in (travel, *later)]
                yield from self._made("step_without", [n], text, spans)

    def _jar_mistakes(self) -> Iterator[ObjectQuestion]:
        failed = [k for k in range(len(self.clip.events)) if self.clip.change(k).failure]
        if failed:
            text = words.jar_mistakes([self.clip.change(k) for k in failed])
            yield from self._made("jar_mistakes", failed, text, map(self._span, failed))

    def _part_mistakes(self) -> Iterator[ObjectQuestion]:
        wrong: dict[str, list[int]] = {}
        unclear: set[str] = set()
        for n, travel in enumerate(self.clip.travels):
            if travel.joins and travel.action.mistake in _VISIBLE:
                wrong.setdefault(travel.part, []).append(n)
            elif travel.joins and travel.action.mistake is not None:
                unclear.add(travel.part)
            if self._unseen(travel.start):
                unclear.add(travel.part)
        for part, about in wrong.items():
            if part not in unclear:
                these = [self.clip.travels[n] for n in about]
                mistakes = [self._mistake(travel) for travel in these]
                text = words.part_mistakes(self.product.part(part).title, mistakes)
                spans = [(t.start, t.end) for t in these]
                yield from self._made("part_mistakes", about, text, spans)

    def _mistake(self, travel: Travel) -> Mistake:
        action = travel.action
        assert action.step is not None
        assert action.mistake is not None
        if action.mistake == "wrong_order":
            missing = self.clip.world.missing_before(action.step, travel.start)
            return "wrong_order", tuple(self.clip.titles(step.id for step in missing))
        if action.mistake == "wrong_position":
            return "wrong_position", int(action.detail.split()[0])
        if action.mistake == "wrong_part":
            return "wrong_part", self.clip.titles([action.step])[0]
        return "wrong_orientation", None

    def _jar_ready(self) -> Iterator[ObjectQuestion]:
        begin = self.clip.start
        for k in range(len(self.clip.events)):
            event, change = self._event(k), self.clip.change(k)
            if event.action == "pour" or event.action.startswith("drop"):
                name = words.event_name(self.clip.actions, k)
                text = words.jar_ready(name, change.before, change.failure)
                yield from self._made("jar_ready", [k], text, [(begin, event.start)])
            begin = event.end

    def _step_ready(self) -> Iterator[ObjectQuestion]:
        world = self.clip.world
        for n, travel in self._named():
            step = travel.action.step
            if step is None or travel.action.mistake not in (None, "wrong_order"):
                continue
            required = self.product.step_by_id[step].requires
            missing = [s.id for s in world.missing_before(step, travel.start)]
            if not required or self._unseen(travel.start):
                continue
            if bool(missing) != (travel.action.mistake == "wrong_order"):
                continue
            begin = self.clip.travels[n - 1].end if n else self.clip.start
            text = words.step_ready(
                self.product.kind, self.clip.joint(travel),
                self.clip.titles(required), self.clip.titles(missing),
            )  # fmt: skip
            yield from self._made("step_ready", [n], text, [(begin, travel.start)])


def choose(
    questions: Sequence[ObjectQuestion], count: int, rng: random.Random, asked: Counter[str]
) -> list[ObjectQuestion]:
    """At most `count` of the questions: types, templates and reasonings that are behind go first.

    `asked` counts them over all clips of a benchmark; it is updated.
    """
    left = list(questions)
    rng.shuffle(left)
    chosen: list[ObjectQuestion] = []
    while left and len(chosen) < count:
        best = min(
            left,
            key=lambda q: (
                asked[q.question_type], asked[q.template], asked[f"{q.template}/{q.reasoning}"]
            ),
        )  # fmt: skip
        asked.update((best.question_type, best.template, f"{best.template}/{best.reasoning}"))
        chosen.append(best)
        left = [q for q in left if q.question != best.question]
    return sorted(chosen, key=lambda q: (TEMPLATES.index(q.template), q.about))


def best_clip(
    world: World, jar: Jar, fps: int, rng: random.Random, shortest: float, longest: float
) -> Clip:
    """The stretch of a session about which most can be asked, on whole seconds.

    Nothing is under way at its ends. Of equally good stretches a short one is taken.
    """
    best: tuple[tuple[int, int, float], Clip] | None = None
    last = math.floor(world.duration)
    for start in range(1, last):
        for end in range(math.ceil(start + shortest), min(math.floor(start + longest), last) + 1):
            clip = Clip(world, jar, float(start), float(end), fps)
            if not clip.whole:
                continue
            templates = {question.template for question in Asker(clip).all()}
            types = {TYPES[template] for template in templates}
            score = (len(types), len(templates), start - end + rng.random() / 2)
            if best is None or score > best[0]:
                best = (score, clip)
    if best is None:
        raise ValueError(
            f"best_clip: no stretch of {shortest} to {longest} s in {world.video_id}, which lasts "
            f"{world.duration} s"
        )
    return best[1]
