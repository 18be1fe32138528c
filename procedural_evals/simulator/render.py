"""Pictures of the simulated world, and which pixel shows which part.

pybullet's software rasteriser (extra `simulate`, no display needed) finds the surface behind every
pixel; light, shadow and material are computed here from its depth, so that the picture is soft,
the same on every run, and the masks are exact.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import filming
from . import geometry as geo
from .geometry import Pose, Vec
from .products import Colour
from .world import World

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

_NEAR, _FAR = 0.2, 8.0
_SUN: Vec = (0.42, -0.3, 0.86)
_SUN_MAP = 640
_SKIN: Colour = (224, 178, 150)
_SLEEVES: tuple[Colour, ...] = ((86, 104, 132), (120, 84, 92), (78, 112, 96), (64, 64, 72))
_STEEL: Colour = (120, 124, 132)
_FLOORS: tuple[tuple[str, Colour], ...] = (
    ("planks", (176, 152, 124)),
    ("planks", (142, 116, 92)),
    ("carpet", (150, 156, 166)),
    ("carpet", (168, 172, 158)),
    ("tiles", (186, 182, 174)),
)


def _pybullet() -> Any:
    try:
        import pybullet
    except ImportError as error:
        raise ImportError(
            "rendering needs pybullet: pip install 'procedural-evals[simulate]'"
        ) from error
    return pybullet


@dataclass(frozen=True)
class Frame:
    """One picture of the world.

    Attributes
    ----------
    rgb
        uint8 [h, w, 3].
    parts
        int16 [h, w]: index into `product.parts` of the part that a pixel shows, -1 for none.
    ids
        Part ids in the order of that index.
    """

    rgb: Image
    parts: NDArray[np.int16]
    ids: tuple[str, ...]

    def mask(self, part: str) -> NDArray[np.bool_]:
        """Visible pixels of a part, bool [h, w]."""
        return np.asarray(self.parts == self.ids.index(part))

    def areas(self) -> dict[str, int]:
        """Visible pixels of each part that is visible at all."""
        found, counts = np.unique(self.parts[self.parts >= 0], return_counts=True)
        return {self.ids[int(k)]: int(n) for k, n in zip(found, counts, strict=True)}


@dataclass
class _Solid:
    """A body of the scene: shape, edge lengths, material."""

    body: int
    shape: str
    size: Vec
    colour: Colour
    grain: float = 0.0


class Renderer:
    """Renders a world at any time; use it as a context manager.

    Parameters
    ----------
    world
        The world to film.
    size
        Width and height of the picture; 4:3 shows what the camera was planned for.
    supersample
        Rays a pixel along each axis.

    Notes
    -----
    Not safe for several threads; open one renderer a process.
    """

    def __init__(
        self, world: World, size: tuple[int, int] = (320, 240), supersample: int = 2
    ) -> None:
        if min(size) < 16 or supersample < 1:
            raise ValueError(f"Renderer: size {size} and supersample {supersample} are too small")
        self.world, self.size, self.supersample = world, size, supersample
        self._p = _pybullet()
        self._client: int = self._p.connect(self._p.DIRECT)
        self._solids: dict[int, _Solid] = {}
        self._parts = [self._part(p.id) for p in world.product.parts]
        self._index = np.full(64, -1, np.int16)
        for n, body in enumerate(self._parts):
            self._index[body] = n
        style = sum(ord(c) for c in world.video_id)
        self._floor = _FLOORS[style % len(_FLOORS)]
        sleeve = _SLEEVES[style // 7 % len(_SLEEVES)]
        radius = filming.arms(world.session, 0.0, world.difficulty.occlusion)[0].radius
        self._arm_bodies = [
            (
                self._solid("cylinder", (1.9 * radius, 1.9 * radius, 0.5), sleeve),
                self._solid("ball", (2.5 * radius, 2.5 * radius, 2.5 * radius), _SKIN),
            )
            for _ in range(2)
        ]
        self._tool = self._solid("cylinder", (0.014, 0.014, 0.16), _STEEL)
        # Somebody who leans in: an arm between camera and workbench.
        self._visitor = (
            self._solid("cylinder", (0.15, 0.15, 1.0), sleeve),
            self._solid("ball", (0.17, 0.17, 0.17), _SKIN),
        )
        self._sun = self._sun_camera()

    def __enter__(self) -> Renderer:
        """Open for use in a with statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the rasteriser."""
        self.close()

    def close(self) -> None:
        """Release the rasteriser; safe to call twice."""
        if self._client >= 0:
            self._p.disconnect(self._client)
            self._client = -1

    def frame(self, t: float, people: bool = True) -> Frame:
        """The world at t (seconds): picture and parts; without the worker's arms if asked.

        `frame(0.0, people=False)` is a picture of all parts before the assembly.
        """
        if self._client < 0:
            raise ValueError("Renderer: closed; open a new one")
        self._arrange(t, people)
        view = filming.view(self.world.session, t)
        width, height = (n * self.supersample for n in self.size)
        camera = _Camera(view.eye, view.look_at, width, height)
        depth, bodies = self._cast(camera.view, camera.projection, width, height)
        rgb = self._shade(camera, depth, bodies)
        k = self.supersample
        small = rgb.reshape(self.size[1], k, self.size[0], k, 3).mean(axis=(1, 3))
        centre = bodies[k // 2 :: k, k // 2 :: k]
        parts = np.where(centre >= 0, self._index[np.maximum(centre, 0)], -1).astype(np.int16)
        return Frame(
            np.clip(np.rint(small), 0, 255).astype(np.uint8),
            parts,
            tuple(p.id for p in self.world.product.parts),
        )

    # Scene --------------------------------------------------------------------------------------

    def _part(self, id: str) -> int:
        part = self.world.product.part(id)
        grain = 0.05 if not self.world.product.kind.startswith("toy t") else 0.0
        return self._solid(part.shape, part.size, part.colour, grain)

    def _solid(self, shape: str, size: Vec, colour: Colour, grain: float = 0.0) -> int:
        p = self._p
        if shape == "box":
            half = [s / 2 for s in size]
            visual = p.createVisualShape(p.GEOM_BOX, halfExtents=half, physicsClientId=self._client)
        elif shape == "cylinder":
            visual = p.createVisualShape(
                p.GEOM_CYLINDER, radius=size[0] / 2, length=size[2], physicsClientId=self._client
            )
        else:
            visual = p.createVisualShape(
                p.GEOM_SPHERE, radius=size[0] / 2, physicsClientId=self._client
            )
        body: int = p.createMultiBody(0, -1, visual, physicsClientId=self._client)
        self._solids[body] = _Solid(body, shape, size, colour, grain)
        return body

    def _place(self, body: int, pose: Pose) -> None:
        self._p.resetBasePositionAndOrientation(
            body, pose.position, pose.rotation, physicsClientId=self._client
        )

    def _arrange(self, t: float, people: bool) -> None:
        session = self.world.session
        for part, body in zip(self.world.product.parts, self._parts, strict=True):
            self._place(body, session.pose(part.id, t))
        away = Pose((0.0, 0.0, -5.0))
        for body in (self._tool, *self._visitor, *itertools.chain(*self._arm_bodies)):
            self._place(body, away)
        if not people:
            return
        for arm, (sleeve, hand) in zip(
            filming.arms(session, t, self.world.difficulty.occlusion),
            self._arm_bodies,
            strict=True,
        ):
            self._place(sleeve, _along(arm.hand, arm.elbow, 0.5))
            self._place(hand, Pose(arm.hand))
            if arm.tool:
                self._place(self._tool, Pose(geo.add(arm.hand, (0.0, 0.0, -0.08))))
        sleeve, hand = self._visitor
        for passing in session.passings:
            if passing.start <= t < passing.end:
                view = filming.view(session, t)
                share = (t - passing.start) / (passing.end - passing.start)
                towards = geo.mix(view.eye, view.look_at, 0.5)
                across = _across(view.eye, view.look_at)
                reach = 0.5 - 0.45 * math.sin(math.pi * share)
                tip = geo.add(towards, geo.scale(across, passing.side * reach))
                shoulder = geo.add(tip, geo.scale(across, passing.side * 1.0))
                shoulder = (shoulder[0], shoulder[1], shoulder[2] + 0.25)
                self._place(sleeve, _along(tip, shoulder, 1.0))
                self._place(hand, Pose(tip))

    # Light --------------------------------------------------------------------------------------

    def _cast(
        self, view: Any, projection: Any, width: int, height: int
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Depth buffer float32 [h, w] in [0, 1] and body number int64 [h, w], -1 for the floor."""
        p = self._p
        picture = p.getCameraImage(
            width, height, view, projection, shadow=0, renderer=p.ER_TINY_RENDERER,
            physicsClientId=self._client,
        )  # fmt: skip
        depth = np.asarray(picture[3], np.float32).reshape(height, width)
        bodies = np.asarray(picture[4], np.int64).reshape(height, width)
        return depth, bodies

    def _sun_camera(self) -> _Sun:
        return _Sun(1.25 * self.world.session.floor.radius + 0.2)

    def _shade(
        self, camera: _Camera, depth: Floats, bodies: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Lit picture, float32 [h, w, 3], 0-255."""
        points = camera.points(depth, bodies)
        normals = np.zeros_like(points)
        normals[..., 2] = 1.0
        colour = _floor_colour(self._floor, points)
        for body, solid in self._solids.items():
            here = bodies == body
            if not here.any():
                continue
            position, rotation = self._p.getBasePositionAndOrientation(
                body, physicsClientId=self._client
            )
            turn = np.asarray(geo.matrix(rotation), np.float32)
            local = (points[here] - np.asarray(position, np.float32)) @ turn
            normals[here] = _normals(solid, local) @ turn.T
            colour[here] = _material(solid, local)
        lit = self._sunlight(points, normals)
        sky = 0.5 + 0.5 * normals[..., 2]
        light = (0.36 + 0.18 * sky + 0.58 * lit)[..., None]
        tint = 1.0 + lit[..., None] * np.asarray((0.03, 0.0, -0.05), np.float32)
        fall = self._vignette(camera.width, camera.height)
        return np.asarray(colour * light * tint * fall, np.float32)

    def _sunlight(self, points: Floats, normals: Floats) -> Floats:
        """Share of sunlight on a surface, float32 [h, w] in [0, 1], with soft shadows."""
        sun = self._sun
        depth, _ = self._cast(sun.view, sun.projection, _SUN_MAP, _SUN_MAP)
        nearest = sun.distances(depth)
        facing = np.clip(normals @ np.asarray(sun.direction, np.float32), 0, 1)
        # Moving off the surface keeps it from shading itself.
        lifted = points + 0.006 * normals
        column, row, distance = sun.project(lifted)
        lit = np.zeros(points.shape[:2], np.float32)
        offsets = ((0, 0), (2, 1), (-2, -1), (1, -2), (-1, 2))
        for dx, dy in offsets:
            x = np.clip(np.rint(column) + dx, 0, _SUN_MAP - 1).astype(np.int64)
            y = np.clip(np.rint(row) + dy, 0, _SUN_MAP - 1).astype(np.int64)
            lit += distance <= nearest[y, x] + 0.012
        return np.asarray(facing * lit / len(offsets), np.float32)

    @staticmethod
    def _vignette(width: int, height: int) -> Floats:
        x = np.linspace(-1, 1, width, dtype=np.float32)
        y = np.linspace(-1, 1, height, dtype=np.float32)
        return np.asarray(1 - 0.08 * (x[None, :] ** 2 + y[:, None] ** 2), np.float32)[..., None]


class _Camera:
    """A pinhole camera: the matrices for the rasteriser, and back from depth to points."""

    def __init__(self, eye: Vec, look_at: Vec, width: int, height: int) -> None:
        self.eye, self.width, self.height = np.asarray(eye, np.float32), width, height
        back = np.asarray(geo.sub(eye, look_at), np.float64)
        back /= np.linalg.norm(back)
        right = np.cross((0.0, 0.0, 1.0), back)
        right /= np.linalg.norm(right)
        up = np.cross(back, right)
        self._axes = np.stack([right, up, back]).astype(np.float32)
        turn = np.eye(4)
        turn[:3, :3] = np.stack([right, up, back])
        turn[:3, 3] = -turn[:3, :3] @ np.asarray(eye)
        self.view = turn.T.ravel().tolist()
        self._tan = math.tan(math.radians(filming.FIELD_OF_VIEW) / 2)
        self._aspect = width / height
        focus = 1 / self._tan
        self.projection = _perspective(focus / self._aspect, focus, _NEAR, _FAR)

    def points(self, depth: Floats, bodies: NDArray[np.int64]) -> Floats:
        """World point behind each pixel, float32 [h, w, 3]; the floor (z = 0) where no body is."""
        x = ((np.arange(self.width, dtype=np.float32) + 0.5) / self.width * 2 - 1) * self._tan
        y = (1 - (np.arange(self.height, dtype=np.float32) + 0.5) / self.height * 2) * self._tan
        rays = np.empty((self.height, self.width, 3), np.float32)
        rays[..., 0] = x[None, :] * self._aspect
        rays[..., 1] = y[:, None]
        rays[..., 2] = -1
        rays = rays @ self._axes  # [h, w, 3] in world axes, 1 m along the optical axis
        distance = _metres(depth, _NEAR, _FAR)
        downward = np.minimum(rays[..., 2], -1e-3)
        floor = -self.eye[2] / downward
        reach = np.where(bodies >= 0, distance, floor)[..., None]
        return np.asarray(self.eye + rays * reach, np.float32)


class _Sun:
    """Light from far away: the camera of the shadow map (the rasteriser knows no parallel rays)."""

    def __init__(self, radius: float) -> None:
        self.direction = geo.scale(_SUN, 1 / geo.norm(_SUN))
        away = 9.0
        self._near, self._far = away - 2.5, away + 2.5
        self._focus = away / radius
        back = np.asarray(self.direction)
        right = np.cross((0.0, 0.0, 1.0), back)
        right /= np.linalg.norm(right)
        self._turn = np.stack([right, np.cross(back, right), back])
        self._eye = away * back
        view = np.eye(4)
        view[:3, :3] = self._turn
        view[:3, 3] = -self._turn @ self._eye
        self.view = view.T.ravel().tolist()
        self.projection = _perspective(self._focus, self._focus, self._near, self._far)

    def project(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Column and row in the shadow map and distance (metres) of points, each float32 [h, w]."""
        local = (points - self._eye.astype(np.float32)) @ self._turn.T.astype(np.float32)
        distance = -local[..., 2]
        column = (local[..., 0] * self._focus / distance + 1) / 2 * _SUN_MAP - 0.5
        row = (1 - local[..., 1] * self._focus / distance) / 2 * _SUN_MAP - 0.5
        return column, row, distance

    def distances(self, depth: Floats) -> Floats:
        """Distance (metres) of the surface in each cell of the shadow map."""
        return _metres(depth, self._near, self._far)


def _perspective(fx: float, fy: float, near: float, far: float) -> list[float]:
    """Projection matrix, column by column, of focal lengths in half picture sizes."""
    a, b = -(far + near) / (far - near), -2 * far * near / (far - near)
    return [fx, 0, 0, 0, 0, fy, 0, 0, 0, 0, a, -1, 0, 0, b, 0]


def _metres(depth: Floats, near: float, far: float) -> Floats:
    """Distance along the optical axis from a depth buffer in [0, 1]."""
    return np.asarray(far * near / (far - (far - near) * np.clip(depth, 0, 1)), np.float32)


def _normals(solid: _Solid, local: Floats) -> Floats:
    """Outward unit normals float32 [n, 3] of surface points in the solid's frame."""
    half = np.asarray(solid.size, np.float32) / 2
    found = np.zeros_like(local)
    rows = np.arange(len(local))
    if solid.shape == "ball":
        length = np.linalg.norm(local, axis=1, keepdims=True)
        return np.asarray(local / np.maximum(length, 1e-6), np.float32)
    if solid.shape == "box":
        axis = np.argmax(np.abs(local) - half, axis=1)
        found[rows, axis] = np.sign(local[rows, axis])
        return found
    radial = np.hypot(local[:, 0], local[:, 1])
    cap = np.abs(local[:, 2]) - half[2] > radial - half[0]
    found[cap, 2] = np.sign(local[cap, 2])
    side = ~cap
    found[side, :2] = local[side, :2] / np.maximum(radial[side, None], 1e-6)
    return found


def _material(solid: _Solid, local: Floats) -> Floats:
    """Colour float32 [n, 3] of surface points: paint with a little wood grain along the part."""
    base = np.asarray(solid.colour, np.float32)
    if not solid.grain:
        return np.broadcast_to(base, (len(local), 3))
    longest = int(np.argmax(solid.size))
    across = [k for k in range(3) if k != longest]
    along = local[:, longest]
    rings = 70 * local[:, across[0]] + 53 * local[:, across[1]] + 0.8 * np.sin(7 * along)
    grain = solid.grain * np.sin(4 * rings) * (0.6 + 0.4 * np.sin(1.7 * rings))
    return np.asarray(base * (1 + grain[:, None]), np.float32)


def _floor_colour(floor: tuple[str, Colour], points: Floats) -> Floats:
    """Colour float32 [h, w, 3] of floor points."""
    kind, colour = floor
    x, y = points[..., 0], points[..., 1]
    if kind == "planks":
        lane = np.floor(y / 0.13)
        shift = np.mod(lane * 0.37, 1.0)
        board = np.floor(x / 0.9 + shift)
        tone = np.mod(np.sin(lane * 12.9 + board * 78.2) * 43.7, 1.0)
        seam = (np.mod(y, 0.13) < 0.006) | (np.mod(x / 0.9 + shift, 1.0) < 0.006)
        factor = np.where(seam, 0.74, 0.92 + 0.13 * tone)
    elif kind == "tiles":
        seam = (np.mod(x, 0.4) < 0.008) | (np.mod(y, 0.4) < 0.008)
        tone = np.mod(np.floor(x / 0.4) * 0.31 + np.floor(y / 0.4) * 0.57, 1.0)
        factor = np.where(seam, 0.82, 0.97 + 0.04 * tone)
    else:
        factor = 1 + 0.02 * np.sin(21 * x) * np.sin(23 * y)
    return np.asarray(np.asarray(colour, np.float32) * factor[..., None], np.float32)


def _across(eye: Vec, look_at: Vec) -> Vec:
    """Unit vector to the right of the camera, level."""
    back = geo.sub(eye, look_at)
    length = math.hypot(back[0], back[1])
    return (-back[1] / length, back[0] / length, 0.0)


def _along(start: Vec, towards: Vec, length: float) -> Pose:
    """Pose of a cylinder of that length that begins at a point and runs towards another one."""
    direction = geo.sub(towards, start)
    direction = geo.scale(direction, 1 / geo.norm(direction))
    middle = geo.add(start, geo.scale(direction, length / 2))
    # The rotation that takes the z axis there: half-way quaternion.
    x, y, z = direction
    if z < -0.9999:
        return Pose(middle, (1.0, 0.0, 0.0, 0.0))
    return Pose(middle, geo.unit((-y, x, 0.0, 1 + z)))
