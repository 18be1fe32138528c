"""One simulated world: a product, one session of assembling it, and how it is filmed.

This is the interface that every writer of a benchmark uses. Units: times are seconds (float) from
the session's start, lengths metres, angles degrees; frame n (0-based) of a video at r frames a
second shows the world at n / r seconds. Part and step ids are strings.

>>> world = make_world("side table", seed=3)
>>> sorted(world.contacts(0.0)), world.contacts(world.duration) == world.product.contacts
([], True)
>>> [step.label for step in world.next_steps(0.0)][:2]
['attach front left leg to table top', 'attach front right leg to table top']

What else there is to ask:

- `world.performed(t)`: actions that ended by t (attach, detach, fasten, turn), with labels
  "correct", "mistake", "correction", the kind of mistake and its words; `world.current(t)`.
- `world.steps_done(t)`, `world.next_steps(t)`, `world.missing_before(step, t)`: the plan at t.
- `world.open_mistakes(t)`: mistakes made and not yet undone at t.
- `world.contacts(t)`, `world.session.contact_events`, `world.session.contact_spans`: who touches.
- `world.pose(part, t)`: where a part is.
- `render.Renderer(world).frame(t)`: picture and exact masks at t (needs the extra `simulate`).
"""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass

from . import filming
from .catalogue import KINDS, make_product
from .difficulty import Difficulty
from .floor_plan import plan_floor
from .geometry import Pose
from .products import Pair, Product, Step
from .session import Action, Session
from .worker import Worker

__all__ = ["KINDS", "Difficulty", "World", "make_world"]


@dataclass(frozen=True)
class World:
    """A product and one session of assembling it; all questions about time t are answered here."""

    product: Product
    session: Session
    difficulty: Difficulty
    seed: int

    @property
    def duration(self) -> float:
        """Length of the session, seconds."""
        return self.session.duration

    @property
    def video_id(self) -> str:
        """Name of the recording: eleven letters and digits that follow from product and seed."""
        text = f"{self.product.category}/{self.product.name}/{self.seed}/{self.difficulty}"
        return "sim" + hashlib.sha256(text.encode()).hexdigest()[:8]

    def frame_count(self, fps: float = 1.0) -> int:
        """Frames of a video of the whole session, frame 0 at 0 s and none after the end."""
        return math.floor(self.duration * fps) + 1

    def pose(self, part: str, t: float) -> Pose:
        """World pose of a part at t."""
        return self.session.pose(part, t)

    def contacts(self, t: float) -> frozenset[Pair]:
        """Pairs of parts in contact at t."""
        return self.session.contacts(t)

    def performed(self, t: float) -> tuple[Action, ...]:
        """Actions that ended by t, in order."""
        return tuple(a for a in self.session.actions if a.end <= t)

    def current(self, t: float) -> Action | None:
        """The action under way at t, or None."""
        return next((a for a in self.session.actions if a.start <= t < a.end), None)

    def _standing(self, t: float) -> list[Action]:
        """Attach actions whose effect holds at t, in order."""
        happened = [a for a in self.session.actions if a.at <= t]
        undone = {a.undoes for a in happened if a.kind == "detach"}
        return [a for a in happened if a.kind == "attach" and a.index not in undone]

    def open_mistakes(self, t: float) -> tuple[Action, ...]:
        """Mistakes made by t that have not been undone or repaired by then."""
        repaired = {a.undoes for a in self.session.actions if a.at <= t}
        return tuple(
            a for a in self._standing(t) if a.mistake is not None and a.index not in repaired
        )

    def steps_done(self, t: float) -> tuple[str, ...]:
        """Ids of steps whose result is in place at t, in the order they were done.

        A step in the wrong order is in place; one with the part misplaced, with the wrong part or
        without its screw is not.
        """
        open_now = {a.index for a in self.open_mistakes(t)}
        bad = {"wrong_position", "wrong_orientation", "wrong_part", "missed_screw"}
        return tuple(
            a.step
            for a in self._standing(t)
            if a.step is not None and not (a.index in open_now and a.mistake in bad)
        )

    def next_steps(self, t: float) -> tuple[Step, ...]:
        """Steps that the plan allows next at t: not done, everything they require done."""
        done = set(self.steps_done(t))
        return tuple(s for s in self.product.steps if s.id not in done and set(s.requires) <= done)

    def missing_before(self, step: str, t: float) -> tuple[Step, ...]:
        """Steps that have to be done before `step` and are not done at t, in the plan's order."""
        if step not in self.product.step_by_id:
            raise ValueError(f"{self.product.name}: no step {step!r}")
        done = set(self.steps_done(t))
        needed = self.product.ancestors(step) - done
        return tuple(s for s in self.product.steps if s.id in needed)


def make_session(
    product: Product,
    seed: int = 0,
    difficulty: Difficulty | None = None,
    worker_type: type[Worker] = Worker,
) -> Session:
    """Let a worker assemble a product; the same arguments give the same session.

    `worker_type` is who does it: a class derived from `Worker` may have habits of its own.
    """
    level = difficulty or Difficulty()
    rng = random.Random(f"session/{product.category}/{product.name}/{seed}")
    floor = plan_floor(product, rng)
    worker = worker_type(product, floor, level, rng)
    worker.run()
    duration = round(worker.time + 1.5, 2)
    height = product.extent.high[2]
    shots = filming.plan_shots(floor, height, duration, level, rng)
    return Session(
        product=product,
        floor=floor,
        actions=tuple(worker.actions),
        moves=tuple(worker.moves),
        contact_events=tuple(worker.events),
        shots=shots,
        passings=filming.plan_passings(duration, level, rng),
        initial=worker.initial,
        worker_side=filming.worker_side(shots, level, rng),
        duration=duration,
    )


def make_world(
    kind: str, seed: int = 0, difficulty: Difficulty | None = None, product_seed: int | None = None
) -> World:
    """A world of one kind of product (see `KINDS`).

    Parameters
    ----------
    kind
        One of `KINDS`.
    seed
        Of the session: another seed is another worker, order, camera and floor.
    difficulty
        Medium when not given.
    product_seed
        Of the product; the session's seed when not given. Sessions of one product share it.
    """
    level = difficulty or Difficulty()
    product = make_product(kind, seed if product_seed is None else product_seed, level)
    return World(product, make_session(product, seed, level), level, seed)
