"""What happened in one assembly session: actions, mistakes, motion, contacts and the camera.

All times are seconds (float) from the start of the session. A frame rate is not part of a session:
whoever films it at r frames a second shows, in frame n (0-based), the world at n / r seconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from . import geometry as geo
from .floor_plan import Floor
from .geometry import Pose
from .products import Pair, Product

#: What can go wrong. `wrong_order`: a step before one that it requires. `wrong_position`,
#: `wrong_orientation`: the right part, not at its place. `wrong_part`: a look-alike of another
#: model. `missed_screw`: not fastened. `previous_mistake`: fine in itself, but builds on a mistake.
MISTAKES = (
    "wrong_order",
    "wrong_position",
    "wrong_orientation",
    "wrong_part",
    "missed_screw",
    "previous_mistake",
)
KINDS = ("attach", "detach", "fasten", "turn")
PHASES = ("hesitate", "fetch", "reach", "carry", "fasten", "release")
HESITATIONS = ("cannot find the part", "cannot decide on the next step", "cannot reach the part")


class Phase(NamedTuple):
    """One stretch [start, end) of an action; names are those of `PHASES`."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Action:
    """One thing that the worker did.

    Attributes
    ----------
    index
        Its place in `Session.actions`.
    kind
        "attach", "detach", "fasten" (a screw that was forgotten) or "turn" (the whole product).
    step
        Id of the step that it was meant to carry out or to undo; None for "turn".
    part, target
        The part that was really moved (or turned) and the part that it goes to or comes from.
    moved
        All parts that moved along, `part` first.
    start, end
        From the first thought to the hand's return, [start, end).
    at
        The moment of the change: contact begins ("attach"), ends ("detach"), the screw is
        tight ("fasten"), the product stands again ("turn").
    label
        "correct", "mistake", or "correction" (an action that undoes or repairs a mistake).
    mistake
        One of `MISTAKES`, or None.
    undoes
        Index of the action that a correction undoes or repairs.
    hesitation
        Why the worker stopped before, one of `HESITATIONS`, or None.
    both_hands
        Whether the second hand holds the target.
    detail
        The mistake in plain words, empty without one.
    """

    index: int
    kind: str
    step: str | None
    part: str
    target: str | None
    moved: tuple[str, ...]
    start: float
    end: float
    at: float
    phases: tuple[Phase, ...]
    label: str = "correct"
    mistake: str | None = None
    undoes: int | None = None
    hesitation: str | None = None
    both_hands: bool = False
    detail: str = ""


class ContactEvent(NamedTuple):
    """Two parts come into contact (`begins`) or part again, at `time`, through an action."""

    time: float
    pair: Pair
    begins: bool
    action: int


@dataclass(frozen=True)
class Move:
    """Parts travelling as one rigid body during [start, end]; at rest afterwards.

    `locals` are the parts' poses in the body's frame; `path` the frame's poses in the world at the
    shares `shares` (0 to 1) of the time.
    """

    start: float
    end: float
    locals: tuple[tuple[str, Pose], ...]
    path: tuple[Pose, ...]
    shares: tuple[float, ...]

    def frame(self, t: float) -> Pose:
        """Pose of the body's frame at a time, clamped to the ends; speed is eased in and out."""
        s = min(max((t - self.start) / (self.end - self.start), 0.0), 1.0)
        s = s * s * (3 - 2 * s)
        k = min(bisect_right(self.shares, s), len(self.path) - 1)
        low, high = self.shares[k - 1], self.shares[k]
        return geo.between(self.path[k - 1], self.path[k], (s - low) / (high - low))


class Shot(NamedTuple):
    """One camera take [start, end): an orbit around the workbench.

    `azimuth` (degrees, at the start) and `drift` (degrees a second), `elevation` (degrees above the
    floor), `distance` (metres) to the point `look_at`.
    """

    start: float
    end: float
    azimuth: float
    drift: float
    elevation: float
    distance: float
    look_at: geo.Vec


class Passing(NamedTuple):
    """Somebody leans through the picture during [start, end); `side` is -1 or 1."""

    start: float
    end: float
    side: int


@dataclass(frozen=True)
class Session:
    """One recorded assembly of a product, from all parts apart to finished.

    `worker_side` is the direction (degrees) from which the worker's arms come.
    """

    product: Product
    floor: Floor
    actions: tuple[Action, ...]
    moves: tuple[Move, ...]
    contact_events: tuple[ContactEvent, ...]
    shots: tuple[Shot, ...]
    passings: tuple[Passing, ...]
    initial: Mapping[str, Pose]
    worker_side: float
    duration: float

    @cached_property
    def _moves_of(self) -> dict[str, list[tuple[float, Move, Pose]]]:
        found: dict[str, list[tuple[float, Move, Pose]]] = {p.id: [] for p in self.product.parts}
        for move in self.moves:
            for part, local in move.locals:
                found[part].append((move.start, move, local))
        return found

    @property
    def cuts(self) -> tuple[float, ...]:
        """Times of the camera cuts."""
        return tuple(shot.start for shot in self.shots[1:])

    def pose(self, part: str, t: float) -> Pose:
        """World pose of a part at a time (seconds)."""
        self.product.part(part)
        history = self._moves_of[part]
        k = bisect_right(history, t, key=lambda entry: entry[0])
        if k == 0:
            return self.initial[part]
        _, move, local = history[k - 1]
        return geo.compose(move.frame(t), local)

    def poses(self, t: float) -> dict[str, Pose]:
        """World poses of all parts at a time."""
        return {p.id: self.pose(p.id, t) for p in self.product.parts}

    def moving(self, t: float) -> frozenset[str]:
        """Parts in motion at a time."""
        return frozenset(
            part for move in self.moves if move.start < t < move.end for part, _ in move.locals
        )

    def contacts(self, t: float) -> frozenset[Pair]:
        """Pairs of parts in contact at a time; an event at exactly t has happened."""
        now: set[Pair] = set()
        for event in self.contact_events:
            if event.time > t:
                break
            if event.begins:
                now.add(event.pair)
            else:
                now.discard(event.pair)
        return frozenset(now)

    @cached_property
    def contact_spans(self) -> dict[Pair, tuple[tuple[float, float], ...]]:
        """When each pair was in contact: [begin, end) spans; the last may end with the session."""
        spans: dict[Pair, list[tuple[float, float]]] = {}
        for event in self.contact_events:
            if event.begins:
                spans.setdefault(event.pair, []).append((event.time, self.duration))
            else:
                begin, _ = spans[event.pair][-1]
                spans[event.pair][-1] = (begin, event.time)
        return {pair: tuple(found) for pair, found in spans.items()}

    def shot(self, t: float) -> Shot:
        """The camera take at a time."""
        for shot in self.shots:
            if t < shot.end:
                return shot
        return self.shots[-1]
