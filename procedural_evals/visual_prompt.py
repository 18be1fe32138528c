"""Visual prompts: a frame on which parts are outlined, tinted and numbered.

The form is that of Flat-Pack Bench (arXiv 2605.21625): a translucent mask, an outline of two
pixels and the part's number at the deepest point of its mask, each of which can be left out, as in
the paper's study of what a visual prompt needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from procedural_evals.masks import Mask, label_point, resize_mask

Picture = NDArray[np.uint8]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PromptStyle:
    """What is drawn, and how: sizes in pixels of the finished picture, opacity in [0, 1]."""

    labels: bool = True
    boundaries: bool = True
    masks: bool = True
    size: tuple[int, int] | None = (640, 480)
    boundary_width: int = 2
    opacity: float = 0.1
    font_size: int = 16


def draw_visual_prompt(
    frame: Picture,
    masks: Mapping[str, Mask],
    style: PromptStyle = PromptStyle(),
    names: Mapping[str, str] | None = None,
) -> Image.Image:
    """The frame with its parts marked.

    Args:
        frame: uint8 [h, w, 3], RGB.
        masks: part id to boolean mask [h, w]; masks of another size are scaled to the frame.
        style: what to draw and at which size.
        names: the label shown for each part id, where it is not the id itself (Image B of a
            tracking question shows permuted ids).

    Colours are picked in the order of the labels that are shown, so that a colour never carries a
    part's identity from one picture to another. The same input gives the same picture.
    """
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise ValueError(f"frame: {frame.dtype} {frame.shape}; uint8 [h, w, 3] is needed")
    size = style.size or (frame.shape[1], frame.shape[0])
    canvas = np.asarray(Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR))
    given = {(names or {}).get(part, part): mask for part, mask in masks.items() if mask.any()}
    shown = {label: resize_mask(given[label], size) for label in sorted(given, key=_natural)}
    colours = pick_colours(canvas, list(shown.values()))

    picture = canvas.astype(np.float64)
    for mask, colour in zip(shown.values(), colours, strict=True):
        if style.masks:
            picture[mask] += style.opacity * (colour - picture[mask])
    for mask, colour in zip(shown.values(), colours, strict=True):
        if style.boundaries:
            picture[boundary(mask, style.boundary_width)] = colour
    image = Image.fromarray(picture.round().astype(np.uint8))
    if style.labels:
        for label in shown:
            # At the mask's own resolution: its deepest point is sharper there.
            point = label_point(given[label])
            if point is not None:
                height, width = given[label].shape
                centre = (point[0] * size[0] / width, point[1] * size[1] / height)
                _draw_label(image, label, centre, style.font_size)
    return image


def boundary(mask: Mask, width: int) -> Mask:
    """Pixels of the mask [h, w] that lie within `width` pixels of its edge, inside it."""
    import cv2

    kernel = np.ones((3, 3), np.uint8)
    inner = cv2.erode(
        mask.astype(np.uint8),
        kernel,
        iterations=width,
        borderType=cv2.BORDER_CONSTANT,
        borderValue=0,
    )
    edge: Mask = mask & (inner == 0)
    return edge


def pick_colours(picture: Picture, masks: list[Mask]) -> list[Floats]:
    """One RGB colour (float, [0, 255]) a mask, each far from the ones before and from its pixels.

    Greedy: of a fixed set of candidates, the one whose smallest CIELAB distance to the colours
    already taken and to the mean of the pixels it will lie on is largest.
    """
    rgb, lab = _candidates()
    nearest = np.full(len(rgb), np.inf)
    colours: list[Floats] = []
    for mask in masks:
        below = rgb_to_lab(picture[mask].mean(axis=0)[None] / 255)[0]
        distance = np.minimum(nearest, np.linalg.norm(lab - below, axis=1))
        best = int(distance.argmax())
        colours.append(rgb[best] * 255)
        nearest = np.minimum(nearest, np.linalg.norm(lab - lab[best], axis=1))
    return colours


@lru_cache(maxsize=1)
def _candidates() -> tuple[Floats, Floats]:
    """A grid of vivid colours, RGB in [0, 1] [n, 3], and their CIELAB coordinates."""
    steps = np.linspace(0, 1, 9)
    rgb = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    vivid = rgb.max(axis=1) - rgb.min(axis=1) >= 0.5
    rgb = rgb[vivid]
    return rgb, rgb_to_lab(rgb)


def rgb_to_lab(rgb: Floats) -> Floats:
    """CIELAB (D65) of sRGB colours in [0, 1], [n, 3] to [n, 3] (CIE 15; IEC 61966-2-1).

    >>> np.abs(rgb_to_lab(np.array([[1.0, 1.0, 1.0]]))).round(1).tolist()
    [[100.0, 0.0, 0.0]]
    """
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    white = to_xyz.sum(axis=1)
    ratio = linear @ to_xyz.T / white
    small = (6 / 29) ** 3
    f = np.where(ratio > small, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    lab: Floats = np.stack(
        [116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=-1
    )
    return lab


def _draw_label(
    image: Image.Image, label: str, centre: tuple[float, float], font_size: int
) -> None:
    """White text on a black box around the centre (x, y), kept inside the picture."""
    font = ImageFont.load_default(size=font_size)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((0, 0), label, font=font)
    width, height = right - left + 4, bottom - top + 4
    x = min(max(centre[0] - width / 2, 0), max(image.width - width, 0))
    y = min(max(centre[1] - height / 2, 0), max(image.height - height, 0))
    draw.rectangle((x, y, x + width, y + height), fill=(0, 0, 0))
    draw.text((x + 2 - left, y + 2 - top), label, font=font, fill=(255, 255, 255))


def _natural(label: str) -> tuple[int, str]:
    """Numbers in numeric order before other labels: 2 before 10."""
    return (int(label), "") if label.isdecimal() else (10**9, label)
