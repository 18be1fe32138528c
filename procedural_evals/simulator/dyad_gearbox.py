"""The gearbox of the simulated DYAD: its parts, the order of its steps, and the bench it lies on.

The performer sits at the side y < 0 of the bench, the helper stands at y > 0, beside the shelf from
which only the helper can take something.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from . import geometry as geo
from .difficulty import Difficulty
from .floor_plan import Floor, Point
from .geometry import Pose, Quat
from .products import Builder, Colour, Part, Product, Step

#: Parts and their colours, which the helper names when a part is looked for.
COLOURS: dict[str, tuple[str, Colour]] = {
    "base": ("dark grey", (70, 74, 82)),
    "first holder": ("blue", (70, 110, 176)),
    "second holder": ("green", (84, 150, 96)),
    "large bearing": ("white", (232, 232, 226)),
    "small bearing": ("white", (222, 226, 232)),
    "third bearing": ("white", (228, 230, 226)),
    "long shaft": ("silver", (168, 174, 184)),
    "short shaft": ("silver", (150, 156, 168)),
    "large gear": ("brass", (206, 160, 60)),
    "small gear": ("brass", (188, 140, 48)),
    "crank": ("red", (196, 56, 48)),
}
_COMPARED = {"large": "larger", "small": "smaller", "long": "longer", "short": "shorter"}
#: The screwdriver that fastens a part.
DRIVERS = {
    "first holder": "cross screwdriver",
    "second holder": "cross screwdriver",
    "crank": "hex screwdriver",
}
#: What is handed to every performer before the session: the procedure in its order, and warnings.
PROCEDURE = (
    "screw the first holder onto the base",
    "press the bearings into the first holder",
    "push the large gear onto the long shaft and the small gear onto the short shaft",
    "set each shaft assembly into its bearing, so that the gears mesh",
    "screw the second holder onto the base",
    "screw the crank onto the second holder",
    "turn the crank and verify that both gears rotate",
)
COMMON_ERRORS = (
    "large and small gear swapped",
    "a holder turned by a quarter",
    "second holder mounted before the shaft assemblies are in place",
    "crank mounted before the second holder",
    "a holder left without its screws",
    "cross screwdriver used on the hex screws of the crank, or the other way round",
)
#: Height of the two axes, and where they lie across the base (metres).
AXIS_HEIGHT = 0.14
AXES = {"small": -0.08, "large": 0.06}
_BENCHES: tuple[tuple[Point, float], ...] = (
    ((0.0, 0.0), 0.27),
    ((-0.19, -0.36), 0.15),
    ((0.19, -0.36), 0.15),
)
_REACH = 0.66
_SHELF = 0.5


def make_gearbox(seed: int = 0, difficulty: Difficulty | None = None) -> Product:
    """The gearbox; the seed gives out the part numbers, the difficulty's length adds a bearing.

    >>> gearbox = make_gearbox()
    >>> [step.stage for step in gearbox.steps][:4]
    ['first_holder', 'bearing_in_holder', 'bearing_in_holder', 'gear_on_shaft']
    """
    level = difficulty or Difficulty()
    b = Builder("Gearbox", "gearbox", random.Random(f"gearbox/{seed}"), level)
    b.add_box("base", "base", (0.46, 0.32, 0.03), (0, 0, 0.015))
    wall = (0.04, 0.3, 0.22)
    b.add_box("first holder", "holder", wall, (-0.18, 0, 0.14))
    b.step("first holder", "base", "first_holder", screw=True)
    axes = (("large", AXES["large"], 0.04), ("small", AXES["small"], 0.032))
    for size, y, radius in axes:
        at = (-0.15, y, AXIS_HEIGHT)
        b.add_cylinder(f"{size} bearing", "bearing", radius, 0.02, at, "x", group="bearing")
        b.step(f"{size} bearing", "first holder", "bearing_in_holder", after=["first holder"])
    gears = (("large", "long", AXES["large"], 0.085), ("small", "short", AXES["small"], 0.055))
    for size, length, y, radius in gears:
        shaft, gear = f"{length} shaft", f"{size} gear"
        b.add_cylinder(shaft, "shaft", 0.016, 0.14, (-0.07, y, AXIS_HEIGHT), "x", group="shaft")
        at = (0.02, y, AXIS_HEIGHT)
        b.add_cylinder(gear, "gear", radius, 0.04, at, "x", group="gear")
        b.step(gear, shaft, "gear_on_shaft")
    for size, length, _, _ in gears:
        needed = [f"{size} bearing", f"{size} gear"]
        b.step(f"{length} shaft", f"{size} bearing", "shaft_assembly_in_post", after=needed)
    x = 0.04
    closed = ["long shaft", "short shaft"]
    if b.some(0, 1):
        at = (x + 0.01, AXES["large"], AXIS_HEIGHT)
        b.add_cylinder("third bearing", "bearing", 0.04, 0.02, at, "x", group="bearing")
        b.step("third bearing", "large gear", "bearing_in_holder", after=["long shaft"])
        closed.append("third bearing")
        x += 0.02
    b.add_box("second holder", "holder", wall, (x + 0.02, 0, 0.14))
    b.step("second holder", "base", "second_holder", after=closed, screw=True)
    at = (x + 0.05, AXES["small"], AXIS_HEIGHT + 0.07)
    b.add_box("crank", "crank", (0.02, 0.035, 0.2), at)
    b.step("crank", "second holder", "attach_crank", after=["second holder"], screw=True)
    product = b.build(f"gearbox_{seed}", "base")
    painted = tuple(replace(part, colour=COLOURS[part.title][1]) for part in product.parts)
    return replace(product, parts=painted)


def part_named(product: Product, title: str) -> Part:
    """The part of that title; ValueError names those that there are."""
    found = [part for part in product.parts if part.title == title]
    if not found:
        raise ValueError(
            f"{product.name}: no {title!r}; there are {[p.title for p in product.parts]}"
        )
    return found[0]


def step_for(product: Product, title: str) -> Step:
    """The step that attaches the part of that title."""
    part = part_named(product, title)
    return next(step for step in product.steps if step.part == part.id)


def plan_bench(product: Product, far: Sequence[str], rng: random.Random) -> Floor:
    """Where the parts lie: those titled in `far` on the helper's shelf, the others around the base.

    Parts lie flat and apart from each other; a subassembly's bench is free.
    """
    spots: dict[str, Pose] = {}
    taken: list[tuple[Point, float]] = list(_BENCHES)
    order = sorted(product.parts, key=lambda p: (-max(p.size), int(p.id)))
    shelf = [part for part in order if part.title in far]
    for n, part in enumerate(sorted(shelf, key=lambda p: far.index(p.title))):
        x = (n - (len(shelf) - 1) / 2) * 0.32 + rng.uniform(-0.02, 0.02)
        spots[part.id] = _lying(part, (x, _SHELF + rng.uniform(0.0, 0.04)), rng.uniform(-8, 8))
    for part in order:
        if part.id == product.base or part.id in spots:
            continue
        size = 0.5 * math.hypot(*sorted(part.size)[1:])
        for trial in range(4000):
            angle = math.radians(rng.uniform(168, 372))
            distance = 0.36 + 0.0003 * trial
            centre = (distance * math.cos(angle), 0.75 * distance * math.sin(angle))
            if all(math.dist(centre, other) >= size + r + 0.015 for other, r in taken):
                break
        else:
            raise ValueError(f"plan_bench: no free place for the {part.title}")
        taken.append((centre, size))
        spots[part.id] = _lying(part, centre, rng.uniform(-25, 25))
    return Floor(spots, tuple(centre for centre, _ in _BENCHES), _REACH)


def _lying(part: Part, centre: Point, yaw: float) -> Pose:
    flat: Quat = geo.turn("y", 90)
    if part.shape == "cylinder" and part.size[2] <= part.size[0]:
        flat = geo.IDENTITY
    turned = geo.unit(geo.multiply(geo.turn("z", yaw), flat))
    height = geo.bounds(part.size, Pose((0.0, 0.0, 0.0), turned)).size[2]
    return Pose(geo.clean((*centre, height / 2)), turned)


def seen_as(title: str) -> str:
    """What a part looks like, set apart from the parts of its colour.

    >>> seen_as("large gear"), seen_as("crank")
    ('larger brass', 'red')
    """
    size, colour = title.split()[0], COLOURS[title][0]
    return f"{_COMPARED[size]} {colour}" if size in _COMPARED else colour


def place_in_words(floor: Floor, part: Part) -> str:
    """Where a part lies, as one says it to the performer.

    >>> gearbox = make_gearbox()
    >>> floor = plan_bench(gearbox, ["first holder"], random.Random(0))
    >>> place_in_words(floor, part_named(gearbox, "first holder"))
    'on the shelf at the far end'
    """
    x, y, _ = floor.spots[part.id].position
    side = "left" if x < -0.12 else "right" if x > 0.12 else ""
    if y > 0.9 * _SHELF:
        return f"on the shelf at the far {side}".strip() if side else "on the shelf at the far end"
    if y < -0.2:
        return f"right in front of you on the {side}" if side else "right in front of you"
    return f"on your {side} beside the base" if side else "beside the base"
