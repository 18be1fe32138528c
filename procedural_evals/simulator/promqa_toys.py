"""Toys of the simulated ProMQA-Assembly, and how they are played with.

Toys have parts that must be there before another one can go on (two cradles before the tank), so
that a session can go wrong in its order. Whoever assembles them also takes right parts off again
without need, the commonest mistake in Assembly101's annotations.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from .catalogue import make_product
from .difficulty import Difficulty
from .framing import corners, fitted_shot
from .geometry import Pose
from .products import Builder, Product
from .session import Action, Session, Shot
from .worker import Worker
from .world import World, make_session

#: Share of needless undoing among what goes wrong.
_NEEDLESS = 0.3
#: Assembly101's default camera looks down on the table: degrees above it, and the picture's shape.
_ELEVATION, _ASPECT = 55.0, 16 / 9


def _tanker(b: Builder, name: str) -> Product:
    length, width, z = b.between(0.54, 0.6), 0.2, 0.12
    top, rear = z + 0.025, -length / 2
    b.add_box("chassis", "chassis", (length, width, 0.05), (0, 0, z))
    for end, sx in (("front", 1), ("rear", -1)):
        key = f"{end} axle"
        at = (sx * (length / 2 - 0.09), 0.0, z - 0.075)
        b.add_cylinder(key, "axle", 0.05, width + 0.08, at, axis="y", model="axle")
        b.step(key, "chassis", "attach the axles", screw=True)
    front = length / 2 - 0.08
    b.add_box("cab", "cab", (0.13, width - 0.02, 0.13), (front, 0, top + 0.065))
    b.step("cab", "chassis", "build the cab", screw=True)
    at = (front + 0.065 + 0.0075, 0.0, top + 0.09)
    b.add_box("windshield", "windshield", (0.015, width - 0.06, 0.06), at)
    b.step("windshield", "cab", "build the cab", after=["cab"])
    tank, radius = length - 0.24, 0.075
    middle = rear + tank / 2
    for end, sx in (("front", 1), ("rear", -1)):
        key = f"{end} cradle"
        at = (middle + sx * (tank / 2 - 0.06), 0.0, top + 0.02)
        b.add_box(key, "cradle", (0.03, 0.15, 0.04), at, model="cradle")
        b.step(key, "chassis", "mount the tank", screw=True)
    b.add_cylinder("tank", "tank", radius, tank, (middle, 0, top + 0.04 + radius), axis="x")
    b.step("tank", "front cradle", "mount the tank", ["front cradle", "rear cradle"], screw=True)
    at = (middle, 0.0, top + 0.04 + 2 * radius + 0.0125)
    b.add_cylinder("filler cap", "filler cap", 0.03, 0.025, at)
    b.step("filler cap", "tank", "mount the tank", after=["tank"])
    b.add_box("ladder", "ladder", (0.02, 0.07, 0.16), (rear - 0.01, 0, z + 0.055))
    b.step("ladder", "chassis", "mount the tank", after=["tank"])
    if b.some(0, 1):
        at = (length / 2 + 0.015, 0.0, z)
        b.add_box("bumper", "bumper", (0.03, width, 0.04), at)
        b.step("bumper", "chassis", "build the cab", screw=True)
    return b.build(name, "chassis")


def _tractor(b: Builder, name: str) -> Product:
    length, z = b.between(0.44, 0.48), 0.14
    top, front, rear = z + 0.025, length / 2, -length / 2
    b.add_box("chassis", "chassis", (length, 0.12, 0.05), (0, 0, z))
    for end, x, radius in (("front", front - 0.08, 0.065), ("rear", rear + 0.1, 0.1)):
        for side, sy in (("left", 1), ("right", -1)):
            key, at = f"{end} {side} wheel", (x, sy * 0.085, radius)
            model = f"{end} wheel"
            b.add_cylinder(key, "wheel", radius, 0.05, at, "y", model=model, group="wheel")
            b.step(key, "chassis", "attach the wheels", screw=True)
    b.add_box("dashboard", "dashboard", (0.03, 0.11, 0.16), (0.015, 0, top + 0.08))
    b.step("dashboard", "chassis", "build the front", screw=True)
    engine = front - 0.06
    b.add_box("engine", "engine", (engine, 0.1, 0.08), (0.03 + engine / 2, 0, top + 0.04))
    b.step("engine", "chassis", "build the front")
    hood = engine + 0.03
    b.add_box("hood", "hood", (hood, 0.12, 0.02), (0.03 + hood / 2, 0, top + 0.09))
    b.step("hood", "dashboard", "build the front", after=["dashboard", "engine"], screw=True)
    if b.some(0, 1):
        at = (0.03 + engine / 2, 0.03, top + 0.1 + 0.05)
        b.add_cylinder("exhaust", "exhaust", 0.014, 0.1, at)
        b.step("exhaust", "hood", "build the front", after=["hood"])
    b.add_box("seat", "seat", (0.09, 0.1, 0.06), (-0.08, 0, top + 0.03))
    b.step("seat", "chassis", "build the rear")
    pillars = ["left pillar", "right pillar"]
    for key, sy in zip(pillars, (1, -1), strict=True):
        b.add_cylinder(
            key, "pillar", 0.015, 0.22, (rear + 0.03, sy * 0.04, top + 0.11), model="pillar"
        )
        b.step(key, "chassis", "build the rear", screw=True)
    b.add_box("roof", "roof", (0.24, 0.17, 0.02), (rear + 0.12, 0, top + 0.23))
    b.step("roof", "left pillar", "build the rear", after=["seat", *pillars])
    return b.build(name, "chassis")


def _train(b: Builder, name: str) -> Product:
    length, width, z = b.between(0.48, 0.54), 0.15, 0.12
    top, front, rear = z + 0.02, length / 2, -length / 2
    b.add_box("frame", "frame", (length, width, 0.04), (0, 0, z))
    for end, sx in (("front", 1), ("rear", -1)):
        key, at = f"{end} axle", (sx * (front - 0.08), 0.0, z - 0.07)
        b.add_cylinder(key, "axle", 0.05, width + 0.06, at, axis="y", model="axle")
        b.step(key, "frame", "attach the axles", screw=True)
    boiler, radius = length - 0.23, 0.07
    middle = front - 0.02 - boiler / 2
    for end, sx in (("front", 1), ("rear", -1)):
        key = f"{end} saddle"
        at = (middle + sx * (boiler / 2 - 0.05), 0.0, top + 0.02)
        b.add_box(key, "saddle", (0.04, 0.12, 0.04), at, model="saddle")
        b.step(key, "frame", "mount the boiler", screw=True)
    height = top + 0.04 + radius
    b.add_cylinder("boiler", "boiler", radius, boiler, (middle, 0, height), axis="x")
    b.step("boiler", "front saddle", "mount the boiler", ["front saddle", "rear saddle"], True)
    at = (middle + boiler / 2 - 0.05, 0.0, height + radius + 0.035)
    b.add_cylinder("chimney", "chimney", 0.025, 0.07, at)
    b.step("chimney", "boiler", "finish the boiler", after=["boiler"], screw=True)
    if b.some(0, 1):
        at = (middle + boiler / 2 + 0.01, 0.0, height)
        b.add_cylinder("boiler door", "boiler door", 0.055, 0.02, at, axis="x")
        b.step("boiler door", "boiler", "finish the boiler", after=["boiler"])
    cab = rear + 0.09
    b.add_box("firebox", "firebox", (0.07, 0.09, 0.1), (cab, 0, top + 0.05))
    b.step("firebox", "frame", "build the cab")
    walls = ["left wall", "right wall"]
    for key, sy in zip(walls, (1, -1), strict=True):
        at = (cab, sy * (width / 2 - 0.0075), top + 0.09)
        b.add_box(key, "wall", (0.14, 0.015, 0.18), at, model="wall")
        b.step(key, "frame", "build the cab", screw=True)
    b.add_box("roof", "roof", (0.18, width + 0.03, 0.02), (cab, 0, top + 0.19))
    b.step("roof", "left wall", "build the cab", after=["firebox", *walls])
    return b.build(name, "frame")


# What pictures call "toy t..." is painted, without wood grain.
_TOYS: dict[str, Callable[[Builder, str], Product]] = {
    "toy tanker": _tanker,
    "toy tractor": _tractor,
    "toy train": _train,
}
_CATALOGUE = ("toy truck", "toy chest")
TOYS = (*_TOYS, *_CATALOGUE)


def make_toy(kind: str, seed: int = 0, difficulty: Difficulty | None = None) -> Product:
    """A toy of a kind (one of `TOYS`), with seeded sizes, colours, part ids and optional parts.

    >>> tanker = make_toy("toy tanker")
    >>> [step.label for step in tanker.steps if len(step.requires) > 1]
    ['attach tank to front cradle']
    """
    level = difficulty or Difficulty()
    if kind in _CATALOGUE:
        return make_product(kind, seed, level)
    if kind not in _TOYS:
        raise ValueError(f"make_toy: no kind {kind!r}; there are {', '.join(TOYS)}")
    builder = Builder("Toy", kind, random.Random(f"product/{kind}/{seed}"), level)
    return _TOYS[kind](builder, f"{kind.replace(' ', '_')}_{seed}")


class Player(Worker):
    """A worker whose slips are those of Assembly101: no forgotten screws, but needless undoing.

    Such a detach has the label "mistake" and no kind of mistake; nothing was wrong with the part.
    """

    def _wrong_screw(self) -> Action | None:
        return None

    def _blunder(self) -> bool:
        if self.rng.random() < _NEEDLESS and self._undo_needlessly():
            return True
        return super()._blunder()

    def _undo_needlessly(self) -> bool:
        """Take off one of the parts attached last that nothing else needs yet."""
        needed = {id for step in self.done for id in self.product.step_by_id[step].requires}
        loose = [
            a
            for a in self.actions
            if a.kind == "attach"
            and a.step in self.done - needed
            and a.index in self._origins
            and len(a.moved) == 1
            and self._origins[a.index].bench is None
        ]
        if not loose:
            return False
        action = self.rng.choice(loose[-2:])
        assert action.step is not None, "an attach action has a step"
        self._detach(action)
        self.actions[-1] = replace(self.actions[-1], label="mistake", detail="was right")
        self.done.discard(action.step)
        return True


def make_toy_world(
    kind: str, seed: int = 0, difficulty: Difficulty | None = None, product_seed: int | None = None
) -> World:
    """A world in which one kind of toy is played with.

    Parameters
    ----------
    kind
        One of `TOYS`.
    seed
        Of the session.
    difficulty
        Medium when not given. The cameras of Assembly101 stand still, so `cuts` and
        `camera_motion` have no effect.
    product_seed
        Of the toy; the session's seed when not given.
    """
    level = replace(difficulty or Difficulty(), cuts=0.0, camera_motion=0.0)
    toy = make_toy(kind, seed if product_seed is None else product_seed, level)
    session = make_session(toy, seed, level, Player)
    return World(toy, replace(session, shots=(_camera(session),)), level, seed)


def _camera(session: Session) -> Shot:
    """Everything that lies around, and the toy that will stand in the middle, in one take."""
    toy = session.product
    x, y, z = toy.extent.size
    points = corners((x, y, z), Pose((0.0, 0.0, z / 2)))
    for part in toy.parts:
        points += corners(part.size, session.initial[part.id])
    return fitted_shot(points, session.shots[0].azimuth, _ELEVATION, _ASPECT, session.duration)
