"""Objects that change in a simulated session: a jar on the side, and the product itself.

The jar is a small state machine: a lid that is on or off, water in quarters, tablets that dye it.
What an action does depends on the state (nothing gets into a closed jar), so that leaving one
action out changes what the later ones do. Times are seconds from the session's start; at time t an
event with start <= t < end is under way, and its effect holds from `end` on.

>>> jar = Jar(State(), (JarEvent("pour", 1.0, 2.0), JarEvent("open", 3.0, 4.0)))
>>> jar.state(1.5).look.words, jar.state(4.0).look.words
('closed and empty', 'open and empty')
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from .session import Action
from .world import World

LEVELS = ("empty", "a quarter full", "half full", "three quarters full", "full")
DYES = ("red", "yellow", "blue")
#: Colour of the water by the tablets in it.
COLOURS = {
    frozenset[str](): "clear",
    frozenset({"red"}): "red",
    frozenset({"yellow"}): "yellow",
    frozenset({"blue"}): "blue",
    frozenset({"red", "yellow"}): "orange",
    frozenset({"red", "blue"}): "purple",
    frozenset({"yellow", "blue"}): "green",
    frozenset(DYES): "brown",
}
ACTIONS = ("open", "close", "pour", *(f"drop {dye}" for dye in DYES), "empty")
#: Why an action has no effect.
FAILURES = ("closed", "full")


class Look(NamedTuple):
    """What can be seen of the jar: lid on or not, quarters of water, its colour if there is any."""

    closed: bool
    level: int
    colour: str | None

    @property
    def words(self) -> str:
        """The look as it is told in answers.

        >>> Look(False, 2, "red").words
        'open and half full of red water'
        """
        lid = "closed" if self.closed else "open"
        water = f" of {self.colour} water" if self.level else ""
        return f"{lid} and {LEVELS[self.level]}{water}"


class State(NamedTuple):
    """Lid on or not, quarters of water, tablets in it (dry ones in an empty jar)."""

    closed: bool = True
    level: int = 0
    dyes: frozenset[str] = frozenset()

    @property
    def look(self) -> Look:
        """What can be seen of it."""
        return Look(self.closed, self.level, COLOURS[self.dyes] if self.level else None)

    def failure(self, action: str) -> str | None:
        """Why an action would have no effect now, one of `FAILURES`, or None."""
        if action in ("open", "close"):
            return None
        if self.closed:
            return "closed"
        return "full" if action == "pour" and self.level == len(LEVELS) - 1 else None

    def after(self, action: str) -> State:
        """The state that an action leads to.

        >>> State().after("pour") == State(), State().after("open").after("pour").look.words
        (True, 'open and a quarter full of clear water')
        """
        if action not in ACTIONS:
            raise ValueError(f"action: {action!r} is not one of {', '.join(ACTIONS)}")
        if self.failure(action):
            return self
        if action in ("open", "close"):
            return self._replace(closed=action == "close")
        if action == "empty":
            return State(closed=False)
        if action == "pour":
            return self._replace(level=self.level + 1)
        return self._replace(dyes=self.dyes | {action.removeprefix("drop ")})


class JarEvent(NamedTuple):
    """One action on the jar, under way during [start, end)."""

    action: str
    start: float
    end: float


@dataclass(frozen=True)
class Jar:
    """A jar's first state and everything that is done to it, in order and without overlaps."""

    initial: State
    events: tuple[JarEvent, ...]

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The state before each event, and after the last one: one more than there are events."""
        found = [self.initial]
        for event in self.events:
            found.append(found[-1].after(event.action))
        return tuple(found)

    def state(self, t: float) -> State:
        """The state at t; an event under way has no effect yet."""
        return self.states[sum(event.end <= t for event in self.events)]

    def current(self, t: float) -> int | None:
        """Index of the event under way at t, or None."""
        return next((n for n, e in enumerate(self.events) if e.start <= t < e.end), None)

    def without(self, left_out: int) -> Jar:
        """The jar as it would be if one event had not happened."""
        kept = (event for n, event in enumerate(self.events) if n != left_out)
        return Jar(self.initial, tuple(kept))


def make_jar(duration: float, rng: random.Random, mistakes: float = 0.2) -> Jar:
    """A seeded run of events that fills a session of that many seconds.

    `mistakes` is the probability that an action is tried although it can have no effect.
    """
    state, events = State(), list[JarEvent]()
    time = rng.uniform(1.5, 3.5)
    while True:
        action = _choose(state, rng, mistakes)
        length = rng.uniform(1.4, 2.4)
        if time + length > duration - 1.0:
            return Jar(State(), tuple(events))
        events.append(JarEvent(action, round(time, 2), round(time + length, 2)))
        state = state.after(action)
        time += length + rng.uniform(1.5, 4.0)


def _choose(state: State, rng: random.Random, mistakes: float) -> str:
    dyes = [dye for dye in DYES if dye not in state.dyes]
    drop = f"drop {rng.choice(dyes)}"
    room = len(state.dyes) < 2
    if rng.random() < mistakes:
        failing = [action for action in ("pour", drop) if state.failure(action)]
        if failing:
            return rng.choice(failing)
    if state.closed:
        return "open"
    weights = {
        "pour": 3.0 * (state.level < len(LEVELS) - 1),
        drop: (1.5 if state.level else 0.5) * room,
        "close": 0.3 * state.level,
        "empty": 0.9 if state.level > 1 and not room else 0.15 * state.level,
    }
    return rng.choices(list(weights), list(weights.values()))[0]


class Travel(NamedTuple):
    """A part on its way to its place on a target, or back: in motion during [start, end).

    `joins` says whether it ends in contact with the target or begins with it.
    """

    part: str
    target: str
    start: float
    end: float
    joins: bool
    action: Action


def travels(world: World) -> tuple[Travel, ...]:
    """How the product's state evolves: each part that comes to it or is taken off, in order."""
    found = []
    for action in world.session.actions:
        if action.kind in ("attach", "detach") and action.target is not None:
            carry = next(phase for phase in action.phases if phase.name == "carry")
            joins = action.kind == "attach"
            found.append(Travel(action.part, action.target, carry.start, carry.end, joins, action))
    return tuple(found)
