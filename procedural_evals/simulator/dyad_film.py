"""What the performer's headset records: the picture with the helper's hand, hands, gaze, head."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from . import filming
from . import geometry as geo
from .dyad_performer import Reach
from .dyad_world import HELPER_SIDE, DyadWorld
from .filming import polar
from .geometry import Pose, Vec
from .media import Picture
from .products import Colour
from .render import Renderer

Floats = NDArray[np.float32]

_GLOVE: Colour = (238, 118, 42)
_HELPER_SLEEVE: Colour = (196, 190, 60)
_HANDLES: dict[str, Colour] = {
    "cross screwdriver": (236, 196, 40),
    "hex screwdriver": (60, 90, 200),
}
_TOOTH: Vec = (0.018, 0.02, 0.036)
#: Where the helper's hand waits, and how far behind it the elbow is.
_REST = polar(HELPER_SIDE, 1.15, 0.25)
#: Joints of a hand: palm, wrist, and of each finger base to tip (4 of the thumb, 5 of the others).
JOINTS = 26


class EgoRenderer(Renderer):
    """Renders a session of DYAD from the performer's head, the helper's gloved hand included."""

    def __init__(
        self, world: DyadWorld, size: tuple[int, int] = (240, 136), supersample: int = 2
    ) -> None:
        super().__init__(world, size, supersample)
        self._dyad = world
        # From the head one sees the whole arm, not a forearm alone.
        self._put_away = [sleeve for sleeve, _ in self._arm_bodies]
        self._arm_bodies = [
            (self._solid("cylinder", (*self._solids[sleeve].size[:2], 1.0), colour), hand)
            for sleeve, hand in self._arm_bodies
            for colour in [self._solids[sleeve].colour]
        ]
        self._helper = (
            self._solid("cylinder", (0.075, 0.075, 1.1), _HELPER_SLEEVE),
            self._solid("ball", (0.09, 0.09, 0.09), _GLOVE),
        )
        self._handles = {
            name: self._solid("cylinder", (0.036, 0.036, 0.09), colour)
            for name, colour in _HANDLES.items()
        }
        self._teeth = [
            (part.id, _tooth(part.size[0] / 2, k, count), body)
            for part in world.product.parts
            if part.name == "gear"
            for count in [max(8, round(part.size[0] * 90))]
            for k in range(count)
            for body in [self._solid("box", _TOOTH, part.colour)]
        ]

    def _arrange(self, t: float, people: bool) -> None:
        super()._arrange(t, people)
        for part, local, body in self._teeth:
            self._place(body, geo.compose(self._dyad.session.pose(part, t), local))
        away = Pose((0.0, 0.0, -5.0))
        for body in (*self._put_away, *self._helper, *self._handles.values()):
            self._place(body, away)
        if not people:
            return
        own = filming.arms(self._dyad.session, t, self._dyad.difficulty.occlusion)
        for arm, (sleeve, _) in zip(own, self._arm_bodies, strict=True):
            self._place(sleeve, _between(arm.hand, arm.elbow, 1.0))
        hand = helper_hand(self._dyad, t)
        if hand is not None:
            sleeve, glove = self._helper
            shoulder = geo.add(hand, (0.4 * _REST[0], 0.4 * _REST[1], 0.22))
            self._place(sleeve, _between(hand, shoulder, 1.1))
            self._place(glove, Pose(hand))
        for drive in self._dyad.ego.drives:
            if drive.start <= t < drive.end:
                grip = own[0].hand
                self._place(self._handles[drive.driver], Pose(geo.add(grip, (0.0, 0.0, 0.01))))
                self._place(self._tool, Pose(geo.add(grip, (0.0, 0.0, -0.08))))


def _tooth(radius: float, k: int, count: int) -> Pose:
    angle = 360.0 * k / count
    turned = geo.turn("z", angle)
    return Pose(geo.rotate(turned, (radius - 0.003, 0.0, 0.0)), turned)


def _between(start: Vec, towards: Vec, length: float) -> Pose:
    """Pose of a cylinder that begins at a point and runs towards another, which lies higher."""
    direction = geo.sub(towards, start)
    x, y, z = geo.scale(direction, 1 / geo.norm(direction))
    middle = geo.add(start, geo.scale((x, y, z), length / 2))
    return Pose(middle, geo.unit((-y, x, 0.0, 1 + z)))


def helper_hand(world: DyadWorld, t: float) -> Vec | None:
    """Where the helper's hand is at a time (metres), None while it is out of the way."""
    for reach in world.ego.reaches:
        if reach.start <= t < reach.end:
            above = geo.add(world.session.pose(reach.part, t).position, _grip(world, reach))
            if t < reach.grip:
                return geo.mix(_REST, above, (t - reach.start) / (reach.grip - reach.start))
            if t < reach.release:
                return above
            return geo.mix(above, _REST, (t - reach.release) / (reach.end - reach.release))
    return None


def _grip(world: DyadWorld, reach: Reach) -> Vec:
    """The point of a part that the helper holds: its far edge, or its middle when handed over."""
    size = world.product.part(reach.part).size
    if reach.part == world.product.base:
        return (0.12, 0.13, 0.04)
    return (0.0, 0.02, 0.02 + 0.5 * min(size))


def frame_times(world: DyadWorld, fps: int) -> list[float]:
    """When the camera takes its pictures: seconds, frame n at n / fps, until `world.recorded`."""
    return [n / fps for n in range(math.floor(world.recorded * fps) + 1)]


def film(world: DyadWorld, size: tuple[int, int], fps: int) -> Iterator[Picture]:
    """The ego camera's pictures, uint8 [h, w, 3], one at a time."""
    with EgoRenderer(world, size) as renderer:
        for t in frame_times(world, fps):
            yield renderer.frame(t).rgb


# Arrays -------------------------------------------------------------------------------------------


def head_poses(world: DyadWorld, times: list[float]) -> Floats:
    """Head poses float32 [n, 4, 4]: columns right, up, back, position (metres)."""
    return np.stack([_head(world, t) for t in times]).astype(np.float32)


def _head(world: DyadWorld, t: float) -> NDArray[np.float64]:
    view = filming.view(world.session, t)
    back = np.subtract(view.eye, view.look_at)
    back /= np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :4] = np.stack([right, np.cross(back, right), back, np.asarray(view.eye)], axis=1)
    return np.round(pose, 3)


def gaze_rays(world: DyadWorld, times: list[float]) -> tuple[Floats, Floats]:
    """Gaze origins and unit directions, both float32 [n, 3]."""
    eyes = np.array([filming.view(world.session, t).eye for t in times])
    points = np.array([world.ego.gaze(t) for t in times])
    direction = points - eyes
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.round(eyes, 3).astype(np.float32), np.round(direction, 4).astype(np.float32)


def hand_joints(world: DyadWorld, times: list[float]) -> Floats:
    """Joints float32 [n, 2, 26, 4, 4] of the left and the right hand: rigid open hands.

    A joint's columns are right, up, back (towards the wrist) and position, in metres.
    """
    offsets = _joint_offsets()
    found = np.zeros((len(times), 2, JOINTS, 4, 4))
    for n, t in enumerate(times):
        right, left = filming.arms(world.session, t, world.difficulty.occlusion)
        for side, arm in enumerate((left, right)):
            back = np.subtract(arm.elbow, arm.hand)
            back /= np.linalg.norm(back)
            across = np.cross((0.0, 0.0, 1.0), back)
            across /= np.linalg.norm(across)
            axes = np.stack([across, np.cross(back, across), back], axis=1)
            mirrored = offsets * np.array((1.0 if side else -1.0, 1.0, 1.0))
            found[n, side, :, :3, :3] = axes
            found[n, side, :, :3, 3] = np.asarray(arm.hand) + mirrored @ axes.T
            found[n, side, :, 3, 3] = 1.0
    return np.round(found, 3).astype(np.float32)


def _joint_offsets() -> NDArray[np.float64]:
    """Rest positions float64 [26, 3] in a right hand's frame: palm, wrist, thumb, four fingers."""
    points = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.07)]
    points += [(-0.03 - 0.012 * k, 0.0, 0.03 - 0.02 * k) for k in range(4)]
    for finger in range(4):
        x = -0.024 + 0.016 * finger
        points += [(x, 0.0, 0.02 - 0.022 * k) for k in range(5)]
    return np.array(points)
