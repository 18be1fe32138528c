"""The jar's picture: a second camera's view, set into a corner of the frame, and how to read it.

`read` looks at pixels alone, so that a test can compare what a video shows with the truth.
Coordinates are shares of the inset's side, x to the right and y down.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .object_states import DYES, Jar, State
from .products import Colour

Picture = NDArray[np.uint8]
_Box = tuple[float, float, float, float]  # left, top, right, bottom

#: Side of the inset as a share of the frame's height, and its distance from the corner in pixels.
SHARE, MARGIN = 0.36, 4
_SUPERSAMPLE = 4

WATER: dict[str, Colour] = {
    "clear": (140, 198, 238),
    "red": (214, 56, 52),
    "yellow": (242, 208, 56),
    "blue": (48, 84, 200),
    "orange": (238, 134, 40),
    "green": (66, 160, 80),
    "purple": (136, 70, 168),
    "brown": (128, 88, 54),
}
_WALL: Colour = (236, 234, 228)
_SHELF: Colour = (150, 140, 128)
_GLASS: Colour = (74, 78, 86)
_LID: Colour = (58, 46, 42)
_SKIN: Colour = (224, 168, 136)
_SLEEVE: Colour = (96, 108, 128)
_JUG: Colour = (176, 178, 186)

_INSIDE: _Box = (0.26, 0.40, 0.58, 0.88)
_FLOOR = 0.88
_LID_SIZE = (0.36, 0.06)
_LID_ON, _LID_OFF = (0.42, 0.37), (0.79, 0.85)
_MOUTH = 0.42


class _Canvas:
    """Flat shapes on a square, drawn large and averaged down."""

    def __init__(self, side: int) -> None:
        self.side, n = side, side * _SUPERSAMPLE
        self.pixels = np.empty((n, n, 3), np.float32)
        self.pixels[:] = _WALL
        self._at = (np.arange(n, dtype=np.float64) + 0.5) / n

    def box(self, box: _Box, colour: Colour | NDArray[np.float64]) -> None:
        x = (self._at >= box[0]) & (self._at < box[2])
        y = (self._at >= box[1]) & (self._at < box[3])
        self.pixels[np.ix_(y, x)] = colour

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        inside = (self._at[None, :] - x) ** 2 + (self._at[:, None] - y) ** 2 < radius**2
        self.pixels[inside] = colour

    def picture(self) -> Picture:
        k = _SUPERSAMPLE
        small = self.pixels.reshape(self.side, k, self.side, k, 3).mean(axis=(1, 3))
        return np.asarray(np.rint(small), np.uint8)


def draw(jar: Jar, t: float, side: int) -> Picture:
    """The jar at t, uint8 [side, side, 3]; while it is being changed, a hand is in the picture."""
    current = jar.current(t)
    canvas = _Canvas(side)
    canvas.box((0.0, _FLOOR + 0.02, 1.0, _FLOOR + 0.06), _SHELF)
    if current is None:
        state = jar.state(t)
        _vessel(canvas, state.level, _tint(state), state)
        _lid(canvas, _LID_ON if state.closed else _LID_OFF)
        _frame(canvas)
        return canvas.picture()
    event, before, after = jar.events[current], jar.states[current], jar.states[current + 1]
    done = (t - event.start) / (event.end - event.start)
    late = max(2 * done - 1, 0.0)
    level = before.level + done * (after.level - before.level)
    blend = 1.0 if not before.level else late
    if event.action == "empty":
        blend = 0.0
    tint = (1 - blend) * _tint(before) + blend * _tint(after)
    _vessel(canvas, level, tint, before)
    surface = _FLOOR - (_FLOOR - _INSIDE[1]) * level / 4
    if event.action == "pour":
        _lid(canvas, _LID_ON if before.closed else _LID_OFF)
        _pour(canvas, surface, before.failure("pour"))
    elif event.action == "empty":
        _lid(canvas, _LID_ON if before.closed else _LID_OFF)
        if not before.closed:
            canvas.box((0.12, 0.38, _INSIDE[0], 0.42), tint)
            canvas.box((0.12, 0.38, 0.17, _FLOOR + 0.02), tint)
        _hand(canvas, _INSIDE[2] + 0.08, 0.55)
    elif event.action in ("open", "close"):
        share = done if event.action == "open" else 1 - done
        x = _LID_ON[0] + share * (_LID_OFF[0] - _LID_ON[0])
        y = _LID_ON[1] + share * (_LID_OFF[1] - _LID_ON[1]) - 0.2 * math.sin(math.pi * share)
        _lid(canvas, (x, y))
        _hand(canvas, x, y - 0.09)
    else:
        _lid(canvas, _LID_ON if before.closed else _LID_OFF)
        goal = _LID_ON[1] - 0.06 if before.closed else _FLOOR - 0.04
        fall = max((done - 0.6) / 0.4, 0.0)
        _hand(canvas, _MOUTH, 0.13)
        y = 0.24 + fall * (goal - 0.24)
        canvas.disc(_MOUTH, y, 0.045, WATER[event.action.removeprefix("drop ")])
    _frame(canvas)
    return canvas.picture()


def _tint(state: State) -> NDArray[np.float64]:
    return np.asarray(WATER[state.look.colour or "clear"], np.float64)


def _vessel(canvas: _Canvas, level: float, tint: NDArray[np.float64], state: State) -> None:
    left, top, right, bottom = _INSIDE
    canvas.box((left - 0.03, top, right + 0.03, bottom + 0.02), _GLASS)
    canvas.box((left, top - 0.01, right, bottom), _WALL)
    if level:
        canvas.box((left, bottom - (bottom - top) * level / 4, right, bottom), tint)
    else:
        for n, dye in enumerate(sorted(state.dyes)):
            canvas.disc(0.46 + 0.08 * n, bottom - 0.03, 0.035, WATER[dye])


def _lid(canvas: _Canvas, centre: tuple[float, float]) -> None:
    (x, y), (w, h) = centre, _LID_SIZE
    canvas.box((x - w / 2, y - h / 2, x + w / 2, y + h / 2), _LID)


def _hand(canvas: _Canvas, x: float, y: float) -> None:
    canvas.box((x - 0.06, 0.0, x + 0.06, y), _SLEEVE)
    canvas.disc(x, y, 0.09, _SKIN)


def _pour(canvas: _Canvas, surface: float, failure: str | None) -> None:
    end = _LID_ON[1] - _LID_SIZE[1] / 2 if failure == "closed" else surface
    canvas.box((_MOUTH - 0.025, 0.2, _MOUTH + 0.025, end), WATER["clear"])
    if failure:
        for x in (_INSIDE[0] - 0.055, _INSIDE[2] + 0.055):
            canvas.box((x - 0.025, _LID_ON[1], x + 0.025, _FLOOR + 0.02), WATER["clear"])
    canvas.box((_MOUTH - 0.05, 0.08, _MOUTH + 0.19, 0.21), _JUG)
    _hand(canvas, _MOUTH + 0.22, 0.14)


def _frame(canvas: _Canvas) -> None:
    for box in ((0, 0, 1, 0.02), (0, 0.98, 1, 1), (0, 0, 0.02, 1), (0.98, 0, 1, 1)):
        canvas.box((box[0], box[1], box[2], box[3]), _GLASS)


def place(height: int) -> tuple[slice, slice]:
    """Rows and columns of the inset in a frame of that height."""
    side = round(SHARE * height)
    return slice(MARGIN, MARGIN + side), slice(MARGIN, MARGIN + side)


def add(picture: Picture, jar: Jar, t: float) -> Picture:
    """A copy of a frame, uint8 [h, w, 3], with the jar at t in its upper left corner."""
    rows, columns = place(picture.shape[0])
    found = np.array(picture, np.uint8)
    found[rows, columns] = draw(jar, t, rows.stop - rows.start)
    return found


class Reading(NamedTuple):
    """What the pixels of one inset show.

    `handled`: a hand is there; `closed`: the lid is on; `level`: quarters of water; `colour`: its
    colour, None without; `pours`: a jug pours; `tablet`: colour of a tablet in the hand, or None.
    While the jar is handled, the other entries may be half way between two states.
    """

    handled: bool
    closed: bool
    level: int
    colour: str | None
    pours: bool
    tablet: str | None


def read(inset: Picture) -> Reading:
    """Read an inset, uint8 [side, side, 3]; small errors of a video codec do no harm."""
    skin = bool(_near(inset, _SKIN).mean() > 0.4 * math.pi * 0.09**2)
    lid = bool(_near(_cut(inset, (0.30, 0.35, 0.54, 0.39)), _LID).mean() > 0.5)
    jug = bool(_near(_cut(inset, (0.40, 0.11, 0.50, 0.18)), _JUG).mean() > 0.5)
    column = _cut(inset, (0.29, 0.41, 0.37, 0.87)).reshape(-1, 3).astype(np.float64)
    wet = np.abs(column - np.asarray(_WALL)).max(axis=1) > 48
    level = round(4 * float(wet.mean()))
    colour = _nearest(column[wet].mean(axis=0), WATER) if level else None
    tablet = _cut(inset, (_MOUTH - 0.02, 0.225, _MOUTH + 0.02, 0.265)).reshape(-1, 3).mean(axis=0)
    others = {"wall": _WALL, "water": WATER["clear"], "skin": _SKIN, "lid": _LID}
    what = _nearest(tablet, {**others, **{dye: WATER[dye] for dye in DYES}})
    return Reading(skin, lid, level, colour, skin and jug, what if skin and what in DYES else None)


def _cut(inset: Picture, box: _Box) -> Picture:
    side = inset.shape[0]
    left, top, right, bottom = (round(share * side) for share in box)
    return np.asarray(inset[top : max(bottom, top + 1), left : max(right, left + 1)], np.uint8)


def _near(pixels: Picture, colour: Colour) -> NDArray[np.bool_]:
    distance = np.abs(pixels.astype(np.int16) - np.asarray(colour, np.int16)).max(axis=-1)
    return np.asarray(distance < 26)


def _nearest(value: NDArray[np.float64], colours: dict[str, Colour]) -> str:
    return min(colours, key=lambda name: float(np.abs(value - np.asarray(colours[name])).sum()))
