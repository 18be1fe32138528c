"""Visual prompts: a frame on which parts are outlined, tinted and numbered.

The form is that of Flat-Pack Bench (arXiv 2605.21625): a translucent mask, an outline of two
pixels and the part's number at the deepest point of its mask, each of which can be left out, as in
the paper's study of what a visual prompt needs.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from procedural_evals.masks import Mask, box_of, label_point, resize_mask

Picture = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


#: How the parts of a picture get their colours.
COLOURS = ("contrast", "palette")


@dataclass(frozen=True)
class PromptStyle:
    """What is drawn, and how: sizes in pixels of the finished picture, opacity in [0, 1].

    `colours` is "contrast" (`pick_colours`: far from each other and from what lies below) or
    "palette" (`palette`: the same colours in every picture).
    """

    labels: bool = True
    boundaries: bool = True
    masks: bool = True
    size: tuple[int, int] | None = (640, 480)
    boundary_width: int = 2
    opacity: float = 0.1
    font_size: int = 16
    colours: str = "contrast"

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if self.colours not in COLOURS:
            raise ValueError(f"colours: {self.colours!r} is not one of {', '.join(COLOURS)}")
        if not self.font_size > 0:
            raise ValueError(f"font_size: {self.font_size!r}; a number of pixels is needed")

    def __str__(self) -> str:
        """As recorded in results.

        >>> str(PromptStyle(masks=False))
        'labels, boundaries; contrast colours, font 16'
        """
        parts = ("labels", "boundaries", "masks")
        shown = ", ".join(part for part in parts if getattr(self, part))
        return f"{shown or 'nothing'}; {self.colours} colours, font {self.font_size}"


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
    given = {(names or {}).get(part, part): mask for part, mask in masks.items()}
    shown = {
        label: _Part.at(resize_mask(given[label], size))
        for label in sorted(given, key=_natural)
        if given[label].any()
    }
    parts = list(shown.values())
    picture = _resized(frame, size)
    colours = palette(len(parts))
    if style.colours == "contrast":
        colours = _contrasting([part.mean_colour(picture) for part in parts])
    if style.masks:
        _tint(picture, parts, colours, style.opacity)
    if style.boundaries:
        for part, colour in zip(parts, colours, strict=True):
            picture[part.box][boundary(part.mask, style.boundary_width)] = colour.round()
    image = Image.fromarray(picture)
    if style.labels:
        for label in shown:
            # At the mask's own resolution: its deepest point is sharper there.
            point = label_point(given[label])
            if point is not None:
                height, width = given[label].shape
                centre = (point[0] * size[0] / width, point[1] * size[1] / height)
                _draw_label(image, label, centre, style.font_size)
    return image


def _resized(frame: Picture, size: tuple[int, int]) -> Picture:
    """The frame at (width, height), as an array of its own."""
    resized: Picture = frame.copy()
    if (frame.shape[1], frame.shape[0]) != size:
        resized = np.array(Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR))
    return resized


class _Part(NamedTuple):
    """A part of the finished picture: the box around it, and its mask within that box."""

    box: tuple[slice, slice]
    mask: Mask

    @classmethod
    def at(cls, mask: Mask) -> _Part:
        box = box_of(mask)
        return cls(box, np.ascontiguousarray(mask[box]))

    def covers(self, rows: Ints, columns: Ints) -> Mask:
        """Which of these pixels of the picture belong to the part."""
        y, x = rows - self.box[0].start, columns - self.box[1].start
        height, width = self.mask.shape
        found: Mask = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        found[found] = self.mask[y[found], x[found]]
        return found

    def mean_colour(self, picture: Picture) -> Floats:
        """Mean RGB of the pixels under the mask; nan where there are none."""
        import cv2

        count = cv2.countNonZero(self.mask.view(np.uint8)) if self.mask.size else 0
        if not count:
            return np.full(3, np.nan)
        mean = np.array(cv2.mean(picture[self.box], self.mask.view(np.uint8))[:3])
        # OpenCV multiplies the sum by 1 / count; the sum itself is whole.
        total: Floats = (mean * count).round()
        return total / count


def _tint(picture: Picture, parts: list[_Part], colours: list[Floats], opacity: float) -> None:
    """Blend each part's colour into the picture, one part after the other, in place.

    A pixel of one part takes its value from a table of 256; where parts overlap the blends follow
    each other unrounded.
    """
    import cv2

    height, width = picture.shape[:2]
    depth = np.zeros((height, width), np.uint8)
    for part in parts:
        depth[part.box] += part.mask
    shared = np.flatnonzero(depth > 1)
    rows, columns = np.divmod(shared, width)
    blended = picture[rows, columns].astype(np.float64)
    levels = np.arange(256.0)[:, None]
    for part, colour in zip(parts, colours, strict=True):
        table = (levels + opacity * (colour - levels)).round().astype(np.uint8)
        below = picture[part.box]
        if below.size:
            cv2.copyTo(cv2.LUT(below, table[:, None]), part.mask.view(np.uint8), below)
        if shared.size:
            inside = part.covers(rows, columns)
            blended[inside] += opacity * (colour - blended[inside])
    picture[rows, columns] = blended.round()


def boundary(mask: Mask, width: int) -> Mask:
    """Pixels of the mask [h, w] that lie within `width` pixels of its edge, inside it."""
    import cv2

    if not mask.size:
        return mask
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
    return _contrasting([_Part.at(mask).mean_colour(picture) for mask in masks])


def _contrasting(below: list[Floats]) -> list[Floats]:
    rgb, lab = _candidates()
    nearest = np.full(len(rgb), np.inf)
    colours: list[Floats] = []
    for mean in below:
        distance = np.linalg.norm(lab - rgb_to_lab(mean[None] / 255)[0], axis=1)
        best = int(np.minimum(nearest, distance).argmax())
        colours.append(rgb[best] * 255)
        nearest = np.minimum(nearest, np.linalg.norm(lab - lab[best], axis=1))
    return colours


def palette(count: int) -> list[Floats]:
    """`count` RGB colours (float, [0, 255]) whose hues turn by the golden angle, from red on.

    >>> [colour.round().astype(int).tolist() for colour in palette(2)]
    [[255, 38, 38], [38, 255, 101]]
    """
    turn = (3 - 5**0.5) / 2  # of a whole turn
    colours = [colorsys.hsv_to_rgb(number * turn % 1, 0.85, 1.0) for number in range(count)]
    return [255 * np.array(colour) for colour in colours]


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
    font = _font(font_size)
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((0, 0), label, font=font)
    width, height = right - left + 4, bottom - top + 4
    x = min(max(centre[0] - width / 2, 0), max(image.width - width, 0))
    y = min(max(centre[1] - height / 2, 0), max(image.height - height, 0))
    draw.rectangle((x, y, x + width, y + height), fill=(0, 0, 0))
    draw.text((x + 2 - left, y + 2 - top), label, font=font, fill=(255, 255, 255))


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that comes with Pillow: unpacking it takes longer than drawing a label."""
    return ImageFont.load_default(size=size)


def _natural(label: str) -> tuple[int, str]:
    """Numbers in numeric order before other labels: 2 before 10."""
    return (int(label), "") if label.isdecimal() else (10**9, label)
