"""A toy's parts picture: an exploded view in which every part is named, and the finished toy.

Moving every part away from the toy's middle by the same factor keeps parts apart that do not
overlap: the plane that separates two of them still does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from . import geometry as geo
from .difficulty import EASY
from .floor_plan import Floor
from .framing import corners, fitted_shot
from .geometry import Pose, Vec
from .products import Product
from .render import Renderer
from .session import Session
from .world import World

_AZIMUTH, _ELEVATION = -58.0, 30.0
_SPREAD: Vec = (0.8, 1.9, 1.2)
_PAPER = (250, 250, 248)
_INK, _LINE, _BOX = (34, 38, 46), (196, 70, 54), (226, 240, 246)
_FONT_SIZE, _SUPERSAMPLE = 14, 3
#: Columns of the picture, in pixels: labels, exploded view, labels, finished toy.
_LABELS, _EXPLODED, _FINISHED, _HEIGHT = 130, (360, 340), (200, 180), 370
#: Visible pixels that a part has at least, so that its label has something to point to.
MIN_PIXELS = 12


@dataclass(frozen=True)
class _View:
    """A rendering on white: rgb uint8 [h, w, 3], and for each part its visible pixels."""

    rgb: NDArray[np.uint8]
    masks: Mapping[str, NDArray[np.bool_]]


def parts_image(product: Product) -> Image.Image:
    """The picture, 820x370 pixels, with few colours so that it makes a small PNG.

    Raises ValueError when a part cannot be made out in the exploded view, and ImportError without
    pybullet (extra `simulate`).
    """
    finished = {p.id: p.slot for p in product.parts}
    exploded = _render(product, spread_apart(product), _EXPLODED)
    whole = _render(product, finished, _FINISHED)
    hidden = [p.title for p in product.parts if exploded.masks[p.id].sum() < MIN_PIXELS]
    if hidden:
        raise ValueError(f"{product.name}: {', '.join(hidden)} cannot be seen in the exploded view")
    width = 2 * _LABELS + _EXPLODED[0] + _FINISHED[0]
    picture = Image.new("RGB", (width, _HEIGHT), _PAPER)
    top = _HEIGHT - _EXPLODED[1]
    picture.paste(Image.fromarray(exploded.rgb), (_LABELS, top))
    left = 2 * _LABELS + _EXPLODED[0]
    middle = (_HEIGHT - _FINISHED[1]) // 2
    picture.paste(Image.fromarray(whole.rgb), (left, middle))
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_FONT_SIZE)
    draw.text((8, 8), f"{product.kind}: parts", _INK, font)
    draw.text((left + _FINISHED[0] / 2, middle - 8), "finished", _INK, font, anchor="mb")
    _label(draw, product, exploded, (_LABELS, top), font)
    return picture.quantize(128, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def spread_apart(product: Product) -> dict[str, Pose]:
    """Poses of the parts in the exploded view, the finished toy's middle staying where it is."""
    middle = product.extent.centre
    spread = {}
    for part in product.parts:
        x, y, z = (k * (a - b) for k, a, b in zip(_SPREAD, part.slot.position, middle, strict=True))
        spread[part.id] = Pose(geo.add(part.slot.position, (x, y, z)), part.slot.rotation)
    return spread


def _render(product: Product, poses: Mapping[str, Pose], size: tuple[int, int]) -> _View:
    """The parts at these poses on white, as large as fits in."""
    box = geo.union([geo.bounds(product.part(id).size, pose) for id, pose in poses.items()])
    # Well above the floor, which is left out of the picture: so no shadow ends on it.
    lift = (-box.centre[0], -box.centre[1], 0.3 - box.low[2])
    initial = {id: Pose(geo.add(pose.position, lift), pose.rotation) for id, pose in poses.items()}
    points = [
        point for id, pose in initial.items() for point in corners(product.part(id).size, pose)
    ]
    shot = fitted_shot(points, _AZIMUTH, _ELEVATION, size[0] / size[1], 1.0)
    radius = math.hypot(*box.size) / 2
    floor = Floor(initial, ((0.0, 0.0),), radius)
    session = Session(product, floor, (), (), (), (shot,), (), initial, 0.0, 1.0)
    large = (size[0] * _SUPERSAMPLE, size[1] * _SUPERSAMPLE)
    with Renderer(World(product, session, EASY, 0), large, supersample=1) as renderer:
        frame = renderer.frame(0.0, people=False)
    rgb = np.where(frame.parts[..., None] < 0, np.asarray(_PAPER, np.uint8), frame.rgb)
    k = _SUPERSAMPLE
    small = rgb.reshape(size[1], k, size[0], k, 3).mean(axis=(1, 3))
    masks = {id: frame.mask(id)[k // 2 :: k, k // 2 :: k] for id in initial}
    return _View(np.rint(small).astype(np.uint8), masks)


def _label(
    draw: ImageDraw.ImageDraw,
    product: Product,
    view: _View,
    corner: tuple[int, int],
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> None:
    """Names in two columns beside the view, each with a line to its part; lines do not cross."""
    points = {}
    for part in product.parts:
        rows, columns = np.nonzero(view.masks[part.id])
        middle = (float(np.median(columns)), float(np.median(rows)))
        nearest = int(np.argmin((columns - middle[0]) ** 2 + (rows - middle[1]) ** 2))
        points[part.title] = (corner[0] + int(columns[nearest]), corner[1] + int(rows[nearest]))
    by_side = sorted(points, key=lambda title: points[title])
    half = (len(by_side) + 1) // 2
    height, width = view.masks[product.parts[0].id].shape
    for titles, x, anchor in (
        (by_side[:half], corner[0] - 4, "rm"),
        (by_side[half:], corner[0] + width + 4, "lm"),
    ):
        titles.sort(key=lambda title: points[title][1])
        for title, y in zip(titles, _rows(titles, points, corner[1], height), strict=True):
            draw.line(((x, y), points[title]), _LINE)
            px, py = points[title]
            draw.ellipse((px - 2, py - 2, px + 2, py + 2), _LINE)
            left, top, right, bottom = draw.textbbox((x, y), title, font, anchor=anchor)
            draw.rectangle((left - 3, top - 3, right + 3, bottom + 3), _BOX)
            draw.text((x, y), title, _INK, font, anchor=anchor)


def _rows(
    titles: list[str], points: Mapping[str, tuple[int, int]], top: int, height: int
) -> list[float]:
    """Heights of the labels, in order: near their points, but apart from each other."""
    gap = _FONT_SIZE + 10
    rows: list[float] = []
    for n, title in enumerate(titles):
        low = rows[-1] + gap if rows else top + gap / 2
        high = top + height - gap / 2 - gap * (len(titles) - 1 - n)
        rows.append(min(max(points[title][1], low), high))
    return rows
