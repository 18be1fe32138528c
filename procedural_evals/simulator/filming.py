"""The camera's takes, people who lean through the picture, and the worker's arms."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from . import geometry as geo
from .difficulty import Difficulty
from .floor_plan import Floor
from .geometry import Vec
from .session import Action, Passing, Session, Shot

#: Vertical field of view (degrees) and width by height of the picture.
FIELD_OF_VIEW = 40.0
ASPECT = 4 / 3
_HAND = 0.035


class View(NamedTuple):
    """Where the camera stands and what it looks at (metres)."""

    eye: Vec
    look_at: Vec


class Arm(NamedTuple):
    """A forearm from elbow to hand (metres), its thickness, and whether it holds a screwdriver."""

    hand: Vec
    elbow: Vec
    radius: float
    tool: bool


def polar(degrees: float, distance: float, height: float) -> Vec:
    """Point at a direction on the floor, a distance from the origin, and a height."""
    angle = math.radians(degrees)
    return (distance * math.cos(angle), distance * math.sin(angle), height)


def plan_shots(
    floor: Floor, height: float, duration: float, difficulty: Difficulty, rng: random.Random
) -> tuple[Shot, ...]:
    """Camera takes for a product of that height; the first one shows everything."""
    count = round(difficulty.cuts * duration / 60)
    if difficulty.cuts and not count:
        count = 1
    # Cuts keep 4 s from each other and from the ends, as far as there is room.
    room = duration - 4 * (count + 1)
    cuts: list[float] = []
    if room > 0:
        offsets = sorted(rng.uniform(0, room) for _ in range(count))
        cuts = [round(4 * (n + 1) + offset, 2) for n, offset in enumerate(offsets)]
    ends = [*cuts, duration]
    # Looking at a point a little on the camera's side of the workbench fits the most floor in.
    middle, nearer = round(0.2 * height, 3), 0.15 * floor.radius
    wide = 2.3 * math.hypot(floor.radius, 0.35 * height)
    azimuth = rng.uniform(-180, 180)
    shots = []
    start = 0.0
    for n, end in enumerate(ends):
        drift = difficulty.camera_motion * rng.uniform(0.6, 1.0) * rng.choice((-1, 1))
        shots.append(
            Shot(
                start, end, round(azimuth, 2), round(drift, 3), round(rng.uniform(42, 56), 2),
                round(wide * (rng.uniform(0.72, 0.94) if n else 1.0), 3),
                geo.clean(polar(azimuth, nearer, middle)),
            )
        )  # fmt: skip
        start = end
        azimuth += rng.choice((-1, 1)) * rng.uniform(25, 65)
    return tuple(shots)


def plan_passings(
    duration: float, difficulty: Difficulty, rng: random.Random
) -> tuple[Passing, ...]:
    """Moments when somebody leans through the picture, more often with more occlusion."""
    count = round(difficulty.occlusion * duration / 25)
    found = []
    for n in range(count):
        start = round((n + rng.uniform(0.25, 0.75)) * duration / count, 2)
        end = round(min(start + rng.uniform(1.0, 2.2), duration), 2)
        found.append(Passing(start, end, rng.choice((-1, 1))))
    return tuple(found)


def worker_side(shots: tuple[Shot, ...], difficulty: Difficulty, rng: random.Random) -> float:
    """Direction of the worker: opposite the camera when little is hidden, beside it otherwise."""
    return round(
        shots[0].azimuth + rng.choice((-1, 1)) * (170 - 110 * difficulty.occlusion)
        + rng.uniform(-15, 15), 2,
    )  # fmt: skip


def view(session: Session, t: float) -> View:
    """The camera at a time (seconds)."""
    shot = session.shot(t)
    azimuth = shot.azimuth + shot.drift * (t - shot.start)
    flat = shot.distance * math.cos(math.radians(shot.elevation))
    height = shot.distance * math.sin(math.radians(shot.elevation))
    eye = geo.add(shot.look_at, polar(azimuth, flat, height))
    return View(geo.clean(eye), shot.look_at)


def arms(session: Session, t: float, occlusion: float) -> list[Arm]:
    """The worker's two forearms at a time; at rest they lie outside the work area."""
    current = next((a for a in session.actions if a.start <= t < a.end), None)
    radius = 0.028 + 0.022 * occlusion
    rest = [
        polar(session.worker_side + offset, session.floor.radius + 0.16, 0.06)
        for offset in (9.0, -9.0)
    ]
    right = rest[0]
    left = rest[1]
    tool = False
    if current is not None:
        right, tool = _working_hand(session, current, t, rest[0])
        if current.both_hands:
            left = _held(session, current, t, rest[1])
    return [
        Arm(hand, _elbow(hand, session.worker_side + turn), radius, tool and n == 0)
        for n, (hand, turn) in enumerate(((right, 14.0), (left, -14.0)))
    ]


def _grip(session: Session, part: str, t: float, share: float = 0.0) -> Vec:
    """A point above a part, `share` of its length from its middle towards one end."""
    pose = session.pose(part, t)
    size = session.product.part(part).size
    longest = max(range(3), key=lambda k: size[k])
    along = share * size[longest] / 2
    offset = (along * (longest == 0), along * (longest == 1), along * (longest == 2))
    point = geo.compose(pose, geo.Pose(offset)).position
    height = geo.bounds(size, pose).size[2] / 2
    return (point[0], point[1], point[2] + min(height, 0.12) + _HAND * 0.6)


def _working_hand(session: Session, action: Action, t: float, rest: Vec) -> tuple[Vec, bool]:
    phase = next((p for p in action.phases if p.start <= t < p.end), action.phases[-1])
    share = min(max((t - phase.start) / (phase.end - phase.start), 0.0), 1.0)
    part = action.part
    if phase.name == "hesitate":
        # A hand hovers and searches between the rest position and the parts.
        swing = math.sin(2 * math.pi * share)
        centre = geo.mix(rest, (0.0, 0.0, 0.3), 0.35)
        return geo.add(centre, (0.12 * swing, -0.12 * swing, 0.0)), False
    if phase.name == "fetch":
        assert action.target is not None
        goal = _grip(session, action.target, t)
        return (geo.mix(rest, goal, min(share / 0.35, 1.0)), False)
    if phase.name == "reach":
        return geo.mix(rest, _grip(session, part, t, 0.3), share), False
    if phase.name == "fasten":
        wobble = 0.012 * math.sin(9 * t)
        point = _grip(session, part, t, 0.0)
        screw = action.step is not None and session.product.step_by_id[action.step].screw
        return geo.add(point, (wobble, -wobble, 0.05 if screw else 0.0)), screw
    if phase.name == "release":
        return geo.mix(_grip(session, part, t, 0.3), rest, share), False
    return _grip(session, part, t, 0.3), False


def _held(session: Session, action: Action, t: float, rest: Vec) -> Vec:
    """The second hand comes, holds the target (or the product) and goes again."""
    first, last = action.phases[0].start, action.end
    part = action.target or action.part
    goal = _grip(session, part, t, -0.5)
    ramp = min((t - first) / 0.9, (last - t) / 0.5, 1.0)
    return geo.mix(rest, goal, max(ramp, 0.0))


def _elbow(hand: Vec, side: float) -> Vec:
    back = polar(side, 0.42, 0.2)
    return geo.add(hand, back)
