"""Rigid poses, boxes and contact: the little geometry that the simulated world needs.

Plain tuples and `math`, rounded to a micrometre, so that the world is the same on every machine.
Lengths are metres, angles radians, quaternions (x, y, z, w) of unit length.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Vec = tuple[float, float, float]
Quat = tuple[float, float, float, float]

IDENTITY: Quat = (0.0, 0.0, 0.0, 1.0)
#: Faces closer than this touch; overlaps deeper than this are a collision (metres).
TOUCH = 0.001
#: Two faces have to share at least this much in both directions to count as contact (metres).
SHARED = 0.004


class Pose(NamedTuple):
    """Position (metres) and rotation (unit quaternion) of a frame in its parent."""

    position: Vec
    rotation: Quat = IDENTITY


class Box(NamedTuple):
    """Axis-aligned box, lower and upper corner (metres)."""

    low: Vec
    high: Vec

    @property
    def centre(self) -> Vec:
        """Middle of the box."""
        return scale(add(self.low, self.high), 0.5)

    @property
    def size(self) -> Vec:
        """Edge lengths."""
        return sub(self.high, self.low)


def add(a: Vec, b: Vec) -> Vec:
    """Sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vec, b: Vec) -> Vec:
    """Difference of two vectors."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(a: Vec, k: float) -> Vec:
    """A vector times a number."""
    return (a[0] * k, a[1] * k, a[2] * k)


def dot(a: Vec, b: Vec) -> float:
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def norm(a: Vec) -> float:
    """Euclidean length."""
    return math.sqrt(dot(a, a))


def mix(a: Vec, b: Vec, s: float) -> Vec:
    """The point at share s of the way from a to b."""
    return (a[0] + (b[0] - a[0]) * s, a[1] + (b[1] - a[1]) * s, a[2] + (b[2] - a[2]) * s)


def turn(axis: str, degrees: float) -> Quat:
    """Rotation about the x, y or z axis.

    >>> rotate(turn("z", 90), (1.0, 0.0, 0.0))
    (0.0, 1.0, 0.0)
    """
    half = math.radians(degrees) / 2
    s, c = math.sin(half), math.cos(half)
    return (s if axis == "x" else 0.0, s if axis == "y" else 0.0, s if axis == "z" else 0.0, c)


def multiply(a: Quat, b: Quat) -> Quat:
    """Rotation b followed by rotation a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quat) -> Quat:
    """The opposite rotation."""
    return (-q[0], -q[1], -q[2], q[3])


def matrix(q: Quat) -> tuple[Vec, Vec, Vec]:
    """Rows of the rotation matrix of a unit quaternion."""
    x, y, z, w = q
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )


def rotate(q: Quat, v: Vec) -> Vec:
    """A vector turned by a rotation, rounded to a micrometre."""
    rows = matrix(q)
    return clean((dot(rows[0], v), dot(rows[1], v), dot(rows[2], v)))


def clean(v: Vec) -> Vec:
    """Rounded to a micrometre, without negative zeros."""
    return (round(v[0], 6) + 0.0, round(v[1], 6) + 0.0, round(v[2], 6) + 0.0)


def compose(outer: Pose, inner: Pose) -> Pose:
    """Pose of `inner` (given in `outer`'s frame) in the parent of `outer`.

    >>> compose(Pose((1, 0, 0), turn("z", 90)), Pose((1, 0, 0))).position
    (1.0, 1.0, 0.0)
    """
    position = clean(add(outer.position, rotate(outer.rotation, inner.position)))
    return Pose(position, unit(multiply(outer.rotation, inner.rotation)))


def inverse(pose: Pose) -> Pose:
    """Pose of the parent in the frame of `pose`."""
    back = conjugate(pose.rotation)
    return Pose(clean(scale(rotate(back, pose.position), -1.0)), back)


def unit(q: Quat) -> Quat:
    """Unit length again after rounding."""
    length = math.sqrt(sum(c * c for c in q))
    x, y, z, w = (round(c / length, 9) + 0.0 for c in q)
    return (x, y, z, w)


def between(a: Pose, b: Pose, s: float) -> Pose:
    """Straight line in position, shortest arc in rotation (slerp); s in [0, 1]."""
    qa, qb = a.rotation, b.rotation
    cosine = sum(x * y for x, y in zip(qa, qb, strict=True))
    if cosine < 0:
        qb = (-qb[0], -qb[1], -qb[2], -qb[3])
        cosine = -cosine
    if cosine > 0.9999:
        wa, wb = 1 - s, s
    else:
        angle = math.acos(cosine)
        wa, wb = (
            math.sin((1 - s) * angle) / math.sin(angle),
            math.sin(s * angle) / math.sin(angle),
        )
    x, y, z, w = (wa * p + wb * q for p, q in zip(qa, qb, strict=True))
    return Pose(clean(mix(a.position, b.position, s)), unit((x, y, z, w)))


def bounds(size: Vec, pose: Pose) -> Box:
    """Axis-aligned bounds of a solid of the given edge lengths; exact for quarter turns."""
    half = scale(size, 0.5)
    rows = matrix(pose.rotation)
    reach = clean(
        (
            sum(abs(m) * h for m, h in zip(rows[0], half, strict=True)),
            sum(abs(m) * h for m, h in zip(rows[1], half, strict=True)),
            sum(abs(m) * h for m, h in zip(rows[2], half, strict=True)),
        )
    )
    return Box(sub(pose.position, reach), add(pose.position, reach))


def union(boxes: list[Box]) -> Box:
    """Smallest box around all of them."""
    low = tuple(min(b.low[k] for b in boxes) for k in range(3))
    high = tuple(max(b.high[k] for b in boxes) for k in range(3))
    return Box((low[0], low[1], low[2]), (high[0], high[1], high[2]))


def gaps(a: Box, b: Box) -> Vec:
    """Distance between two boxes along each axis (metres); negative where they overlap."""
    return (
        max(a.low[0] - b.high[0], b.low[0] - a.high[0]),
        max(a.low[1] - b.high[1], b.low[1] - a.high[1]),
        max(a.low[2] - b.high[2], b.low[2] - a.high[2]),
    )


def touching(a: Box, b: Box) -> bool:
    """Whether two boxes share a piece of a face (an edge or a corner alone is no contact).

    >>> table, leg = Box((0, 0, 1), (1, 1, 1.1)), Box((0, 0, 0), (0.1, 0.1, 1))
    >>> touching(table, leg), touching(leg, Box((0.1, 0.1, 0), (0.2, 0.2, 1)))
    (True, False)
    """
    near, middle, far = sorted(gaps(a, b))
    return far <= TOUCH and middle <= -SHARED and near <= -SHARED


def colliding(a: Box, b: Box) -> bool:
    """Whether two boxes overlap in space by more than the touching tolerance."""
    return max(gaps(a, b)) < -TOUCH


def contact_normal(fixed: Box, moved: Box) -> Vec:
    """Unit axis that points from `fixed` through the shared face into `moved`."""
    distances = gaps(fixed, moved)
    axis = max(range(3), key=lambda k: distances[k])
    sign = 1.0 if moved.centre[axis] >= fixed.centre[axis] else -1.0
    return (sign * (axis == 0), sign * (axis == 1), sign * (axis == 2))
