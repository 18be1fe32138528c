"""A camera that stands still and has everything in its picture, as large as possible."""

from __future__ import annotations

import math
from collections.abc import Iterable

from . import filming
from . import geometry as geo
from .geometry import Pose, Vec
from .session import Shot

_MARGIN = 0.04


def corners(size: Vec, pose: Pose) -> list[Vec]:
    """The corners of a box of these edge lengths at a pose.

    >>> len(corners((1.0, 1.0, 2.0), Pose((0.0, 0.0, 0.0))))
    8
    """
    x, y, z = geo.scale(size, 0.5)
    return [
        geo.compose(pose, Pose((a * x, b * y, c * z))).position
        for a in (-1, 1)
        for b in (-1, 1)
        for c in (-1, 1)
    ]


def fitted_shot(
    points: Iterable[Vec], azimuth: float, elevation: float, aspect: float, duration: float
) -> Shot:
    """The nearest take from a direction (degrees) with all points (metres) in the picture.

    `aspect` is the picture's width by its height; a small margin stays free on every side.
    """
    seen = list(points)
    sin, cos = math.sin(math.radians(azimuth)), math.cos(math.radians(azimuth))
    rise, flat = math.sin(math.radians(elevation)), math.cos(math.radians(elevation))
    right, up = (-sin, cos, 0.0), (-cos * rise, -sin * rise, flat)
    back = (cos * flat, sin * flat, rise)
    look_at: Vec = (0.0, 0.0, 0.0)
    for axis in (right, up, back):
        shares = [geo.dot(point, axis) for point in seen]
        look_at = geo.add(look_at, geo.scale(axis, (min(shares) + max(shares)) / 2))
    tangent = (1 - _MARGIN) * math.tan(math.radians(filming.FIELD_OF_VIEW) / 2)
    distance = 0.0
    for point in seen:
        offset = geo.sub(point, look_at)
        across = abs(geo.dot(offset, right)) / (tangent * aspect)
        along = abs(geo.dot(offset, up)) / tangent
        distance = max(distance, geo.dot(offset, back) + max(across, along))
    return Shot(0.0, duration, azimuth, 0.0, elevation, round(distance, 3), geo.clean(look_at))
