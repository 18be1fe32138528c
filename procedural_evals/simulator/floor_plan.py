"""Where the parts lie before anybody touches them: flat on the floor, around the workbenches."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from . import geometry as geo
from .geometry import Pose, Quat, Vec
from .products import Part, Product

Point = tuple[float, float]
_MARGIN = 0.035


@dataclass(frozen=True)
class Floor:
    """The floor of one session, metres, z up, the main workbench at the origin.

    Attributes
    ----------
    spots
        Pose of each part before it is used; the base lies on the main workbench.
    benches
        Where things are put together: the main place first, then those for subassemblies.
    radius
        Everything lies within this distance of the origin.
    """

    spots: dict[str, Pose]
    benches: tuple[Point, ...]
    radius: float


def subassembly_roots(product: Product) -> tuple[str, ...]:
    """Parts that get something attached before they are attached themselves."""
    step_of = {s.part: s for s in product.steps}
    roots = []
    for step in product.steps:
        own = step_of.get(step.target)
        if own is not None and own.id not in product.ancestors(step.id):
            roots.append(step.target)
    return tuple(dict.fromkeys(roots))


def _lying(part: Part, yaw: float) -> tuple[Quat, Vec]:
    """Rotation that lays a part flat on the floor at a yaw (degrees), and its size then."""
    x, y, z = part.size
    if part.shape == "cylinder":
        flat = geo.IDENTITY if z <= x else geo.turn("y", 90)
    elif z <= min(x, y):
        flat = geo.IDENTITY
    else:
        flat = geo.turn("y", 90) if x <= y else geo.turn("x", 90)
    size = geo.bounds(part.size, Pose((0.0, 0.0, 0.0), flat)).size
    return geo.unit(geo.multiply(geo.turn("z", yaw), flat)), size


@dataclass(frozen=True)
class _Patch:
    """A rectangle on the floor: centre, unit axis of its length, half extents."""

    centre: Point
    axis: Point
    half: Point

    def reach(self, direction: Point) -> float:
        """Half of its shadow on a direction."""
        along = abs(direction[0] * self.axis[0] + direction[1] * self.axis[1])
        across = abs(-direction[0] * self.axis[1] + direction[1] * self.axis[0])
        return along * self.half[0] + across * self.half[1]

    def clear_of(self, other: _Patch) -> bool:
        """Whether some side of one of the two rectangles separates them (separating axis test)."""
        dx, dy = other.centre[0] - self.centre[0], other.centre[1] - self.centre[1]
        for ax, ay in (self.axis, other.axis):
            for direction in ((ax, ay), (-ay, ax)):
                distance = abs(dx * direction[0] + dy * direction[1])
                if distance >= self.reach(direction) + other.reach(direction) + _MARGIN:
                    return True
        return False

    def clear_of_circle(self, centre: Point, radius: float) -> bool:
        """Whether the rectangle stays out of a circle."""
        dx, dy = centre[0] - self.centre[0], centre[1] - self.centre[1]
        u = abs(dx * self.axis[0] + dy * self.axis[1]) - self.half[0]
        v = abs(-dx * self.axis[1] + dy * self.axis[0]) - self.half[1]
        return math.hypot(max(u, 0.0), max(v, 0.0)) >= radius + _MARGIN


def _work_radius(product: Product) -> float:
    size = product.extent.size
    radii = []
    for rotation in (geo.IDENTITY, product.work_rotation):
        box = geo.bounds(size, Pose((0.0, 0.0, 0.0), rotation))
        radii.append(math.hypot(box.size[0], box.size[1]) / 2)
    return max(radii) * 0.92


def plan_floor(product: Product, rng: random.Random) -> Floor:
    """A seeded floor plan without overlaps; the biggest parts find their spots first."""
    work = _work_radius(product)
    circles: list[tuple[Point, float]] = [((0.0, 0.0), work)]
    roots = subassembly_roots(product)
    if roots:
        side = 0.6 * max(max(product.part(r).size) for r in roots) + 0.04
        away = work + side
        circles += [((-away, 0.0), side), ((away, 0.0), side)]
    order = sorted(product.parts, key=lambda p: (-max(p.size), int(p.id)))
    patches: list[_Patch] = []
    spots: dict[str, Pose] = {}
    radius = max(math.hypot(*centre) + r for centre, r in circles)
    for part in order:
        if part.id == product.base:
            continue
        spot, patch, reach = _free_spot(part, circles, patches, work, rng)
        spots[part.id] = spot
        patches.append(patch)
        radius = max(radius, reach)
    benches = tuple(centre for centre, _ in circles)
    return Floor(spots, benches, round(radius, 3))


def _free_spot(
    part: Part,
    circles: list[tuple[Point, float]],
    patches: list[_Patch],
    work: float,
    rng: random.Random,
) -> tuple[Pose, _Patch, float]:
    for trial in range(4000):
        distance = work + 0.05 + 0.0006 * trial
        angle = rng.uniform(0, 2 * math.pi)
        yaw = math.degrees(angle) + 90 + rng.uniform(-20, 20)
        rotation, size = _lying(part, yaw)
        if size[0] < size[1]:
            rotation, size = _lying(part, yaw + 90)
            axis = (-math.sin(math.radians(yaw + 90)), math.cos(math.radians(yaw + 90)))
            half = (size[1] / 2, size[0] / 2)
        else:
            axis = (math.cos(math.radians(yaw)), math.sin(math.radians(yaw)))
            half = (size[0] / 2, size[1] / 2)
        centre = (distance * math.cos(angle), distance * math.sin(angle))
        patch = _Patch(centre, axis, half)
        free = all(patch.clear_of_circle(*circle) for circle in circles)
        if free and all(patch.clear_of(other) for other in patches):
            position = geo.clean((centre[0], centre[1], size[2] / 2))
            return Pose(position, rotation), patch, distance + max(half)
    raise ValueError(f"plan_floor: no free spot for {part.title}; the floor is full")
