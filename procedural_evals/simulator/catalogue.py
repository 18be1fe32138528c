"""The kinds of products there are; each function draws one with seeded sizes and optional parts."""

from __future__ import annotations

import random
from collections.abc import Callable

from . import geometry as geo
from .difficulty import Difficulty
from .products import Builder, Product


def _side_table(b: Builder, name: str) -> Product:
    w, d, h = b.between(0.54, 0.66), b.between(0.42, 0.5), b.between(0.38, 0.46)
    top, t = 0.035, b.between(0.045, 0.055)
    x, y = w / 2 - t / 2 - 0.02, d / 2 - t / 2 - 0.02
    b.add_box("table top", "table top", (w, d, top), (0, 0, h + top / 2))
    legs = ["front left leg", "front right leg", "rear left leg", "rear right leg"]
    for key, sx, sy in zip(legs, (-1, 1, -1, 1), (-1, -1, 1, 1), strict=True):
        b.add_box(key, "leg", (t, t, h), (sx * x, sy * y, h / 2), model="leg")
        b.step(key, "table top", "attach the legs", screw=True)
    gap_x, gap_y = 2 * x - t, 2 * y - t
    rails = b.some(0, 4)
    sides = [
        ("left rail", "front left leg", "rear left leg", (-x, 0.0), (0.03, gap_y)),
        ("right rail", "front right leg", "rear right leg", (x, 0.0), (0.03, gap_y)),
        ("front rail", "front left leg", "front right leg", (0.0, -y), (gap_x, 0.03)),
        ("rear rail", "rear left leg", "rear right leg", (0.0, y), (gap_x, 0.03)),
    ]
    for key, first, second, at, size in sides[:rails]:
        model = "short rail" if size[0] < size[1] else "long rail"
        z = h - 0.09
        b.add_box(key, "rail", (*size, 0.05), (*at, z), model=model, group="rail")
        b.step(key, first, "attach the rails", after=[first, second])
    b.add_box("lower shelf", "shelf", (gap_x, d - 0.12, 0.025), (0, 0, 0.12))
    b.step("lower shelf", legs[0], "insert the shelf", after=legs)
    return b.build(name, "table top", geo.turn("x", 180))


def _stool(b: Builder, name: str) -> Product:
    radius, h, r = b.between(0.19, 0.22), b.between(0.42, 0.48), b.between(0.022, 0.027)
    b.add_cylinder("round seat", "seat", radius, 0.045, (0, 0, h + 0.0225))
    spread = radius * 0.62
    legs = ["front left leg", "front right leg", "rear left leg", "rear right leg"]
    for key, sx, sy in zip(legs, (-1, 1, -1, 1), (-1, -1, 1, 1), strict=True):
        b.add_cylinder(key, "leg", r, h, (sx * spread, sy * spread, h / 2), model="leg")
        b.step(key, "round seat", "attach the legs", screw=True)
    gap = 2 * spread - 2 * r
    bars = [
        ("front bar", legs[0], legs[1], (0.0, -spread), (gap, 0.025), 0.17),
        ("rear bar", legs[2], legs[3], (0.0, spread), (gap, 0.025), 0.17),
        ("left bar", legs[0], legs[2], (-spread, 0.0), (0.025, gap), 0.26),
        ("right bar", legs[1], legs[3], (spread, 0.0), (0.025, gap), 0.26),
    ]
    for key, first, second, at, size, z in bars[: b.some(2, 4)]:
        b.add_box(key, "cross bar", (*size, 0.03), (*at, z), model="bar")
        b.step(key, first, "attach the cross bars", after=[first, second])
    return b.build(name, "round seat", geo.turn("x", 180))


def _chair(b: Builder, name: str) -> Product:
    w, d, h = b.between(0.4, 0.45), b.between(0.38, 0.43), b.between(0.42, 0.46)
    t, seat, back = b.between(0.042, 0.05), 0.04, b.between(0.84, 0.9)
    x, front, rear = w / 2 - t / 2, d / 2 - t / 2, -d / 2 - t / 2
    b.add_box("seat", "seat", (w, d, seat), (0, 0, h + seat / 2))
    for side, sx in (("left", -1), ("right", 1)):
        leg = f"front {side} leg"
        b.add_box(leg, "front leg", (t, t, h), (sx * x, front, h / 2), model="front leg")
        b.step(leg, "seat", "attach the front legs", screw=True)
    for side, sx in (("left", -1), ("right", 1)):
        bar = f"{side} stretcher"
        b.add_box(bar, "stretcher", (0.03, d - t, 0.04), (sx * x, -t / 2, 0.2), "stretcher", "rail")
        b.step(bar, f"front {side} leg", "attach the stretchers", after=[f"front {side} leg"])
    for side, sx in (("left", -1), ("right", 1)):
        b.add_box(
            f"rear {side} leg", "rear leg", (t, t, back), (sx * x, rear, back / 2), "rear leg"
        )
    b.step("rear left leg", "seat", "attach the rear legs", ["left stretcher"], screw=True)
    slats = [f"{word} slat" for word in ("lower", "middle", "upper")][: b.some(1, 3)]
    for n, key in enumerate(slats):
        z = h + 0.13 + 0.105 * n
        b.add_box(key, "slat", (w - 2 * t, 0.025, 0.055), (0, rear, z), "slat", "rail")
        b.step(key, "rear left leg", "insert the slats", after=["rear left leg"])
    closing = ["right stretcher", *slats]
    b.step("rear right leg", "seat", "attach the rear legs", after=closing, screw=True)
    b.add_box("head rail", "head rail", (w, t, 0.04), (0, rear, back + 0.02), "head rail", "rail")
    b.step("head rail", "rear left leg", "cap the back", ["rear left leg", "rear right leg"])
    return b.build(name, "seat", geo.turn("x", 90))


def _bench(b: Builder, name: str) -> Product:
    length, d, h = b.between(0.72, 0.86), b.between(0.3, 0.36), b.between(0.38, 0.44)
    t = 0.045
    x = length / 2 - t / 2
    b.add_box("left frame", "leg frame", (t, d, h), (-x, 0, h / 2), model="leg frame")
    b.add_box("right frame", "leg frame", (t, d, h), (x, 0, h / 2), model="leg frame")
    places = [("front bottom", -0.1, 0.1), ("rear bottom", 0.1, 0.1), ("front top", -0.1, 0.29)]
    places += [("rear top", 0.1, 0.29), ("middle", 0.0, 0.2)]
    bars = []
    for where, y, z in places[: b.some(2, 5)]:
        key = f"{where} stretcher"
        bars.append(key)
        b.add_box(key, "stretcher", (length - 2 * t, 0.04, 0.04), (0, y, z), model="stretcher")
        b.step(key, "left frame", "attach the stretchers", screw=True)
    b.step("right frame", bars[0], "close the frame", after=bars, screw=True)
    slats = [f"{word} seat slat" for word in ("front", "middle", "rear")]
    width = (d - 0.04) / 3
    for n, key in enumerate(slats):
        y = (n - 1) * (width + 0.02)
        b.add_box(key, "seat slat", (length, width, 0.03), (0, y, h + 0.015), model="seat slat")
        b.step(key, "left frame", "lay the seat", after=["right frame"], upright=True)
    return b.build(name, "left frame", geo.turn("y", -90))


def _shelf(b: Builder, name: str) -> Product:
    w, d, h = b.between(0.5, 0.6), b.between(0.26, 0.3), b.between(0.66, 0.8)
    t = 0.03
    x = w / 2 - t / 2
    b.add_box("left side panel", "side panel", (t, d, h), (-x, 0, h / 2), model="side panel")
    b.add_box("right side panel", "side panel", (t, d, h), (x, 0, h / 2), model="side panel")
    count = b.some(2, 4)
    words = {2: ("lower", "upper"), 3: ("lower", "middle", "upper")}
    titles = words.get(count, ("bottom", "lower", "upper", "top"))
    inner, inside = w - 2 * t, []
    for n, word in enumerate(titles):
        key = f"{word} shelf"
        z = 0.12 + n * (h - 0.26) / (count - 1)
        inside.append(key)
        b.add_box(key, "shelf", (inner, d - 0.07, 0.028), (0, 0.03, z), "board", "board")
        b.step(key, "left side panel", "insert the shelves", screw=True)
    for word, z in (("lower", 0.2), ("upper", h - 0.07))[: b.some(1, 2)]:
        key = f"{word} back rail"
        inside.append(key)
        size, at = (inner, 0.02, 0.07), (0.0, -d / 2 + 0.012, z)
        b.add_box(key, "back rail", size, at, "back rail", "back rail")
        b.step(key, "left side panel", "attach the back rails")
    b.step("right side panel", inside[0], "close the sides", after=inside, screw=True)
    b.add_box("top board", "top board", (w + 0.04, d + 0.02, 0.03), (0, 0, h + 0.015))
    after = ["right side panel"]
    b.step("top board", "left side panel", "put on the top", after=after, upright=True)
    return b.build(name, "left side panel", geo.turn("y", -90))


def _desk(b: Builder, name: str) -> Product:
    w, d, h = b.between(0.76, 0.88), b.between(0.44, 0.5), b.between(0.42, 0.48)
    t, top, bar = 0.045, 0.035, 0.045
    x, y = w / 2 - 0.09, d / 2 - 0.06
    b.add_box("desktop", "desktop", (w, d, top), (0, 0, h + top / 2))
    for side, sx in (("left", -1), ("right", 1)):
        beam = f"{side} beam"
        b.add_box(beam, "beam", (t, d - 0.06, bar), (sx * x, 0, h - bar / 2), "beam", "beam")
        own = []
        for end, sy in (("front", -1), ("rear", 1)):
            leg = f"{end} {side} leg"
            own.append(leg)
            at = (sx * x, sy * y, (h - bar) / 2)
            b.add_box(leg, "leg", (t, t, h - bar), at, model="leg")
            b.step(leg, beam, f"build the {side} trestle", screw=True)
        b.step(beam, "desktop", "mount the trestles", after=own, screw=True)
    gap = 2 * x - t
    for end, sy in (("rear", 1), ("front", -1))[: b.some(1, 2)]:
        key = f"{end} crossbar"
        b.add_box(key, "crossbar", (gap, 0.035, 0.045), (0, sy * y, 0.16), "crossbar", "beam")
        b.step(key, f"{end} left leg", "attach the crossbars", ["left beam", "right beam"])
    b.add_box("drawer box", "drawer box", (0.3, d - 0.16, 0.1), (0.04, 0, h - 0.05))
    b.step("drawer box", "desktop", "attach the drawer box")
    return b.build(name, "desktop", geo.turn("x", 180))


def _plant_stand(b: Builder, name: str) -> Product:
    low, high = b.between(0.28, 0.32), b.between(0.28, 0.32)
    r, t = 0.028, 0.02
    z = 0.03
    b.add_cylinder("foot plate", "foot plate", 0.17, z, (0, 0, z / 2))
    b.add_cylinder("lower post", "post", r, low, (0, 0, z + low / 2), model="post")
    z += low
    b.add_cylinder("middle tray", "tray", 0.11, t, (0, 0, z + t / 2), model="tray")
    z += t
    b.add_cylinder("upper post", "post", r, high, (0, 0, z + high / 2), model="post")
    z += high
    b.add_cylinder("top tray", "tray", 0.11, t, (0, 0, z + t / 2), model="tray")
    b.step("lower post", "foot plate", "raise the post", screw=True)
    b.step("middle tray", "lower post", "stack the trays", after=["lower post"])
    b.step("upper post", "middle tray", "raise the post", after=["middle tray"], screw=True)
    b.step("top tray", "upper post", "stack the trays", after=["upper post"])
    arms = [
        ("right", 1, 0, 0.22, "lower post"),
        ("left", -1, 0, 0.03 + low + t + 0.16, "upper post"),
        ("front", 0, -1, 0.03 + low + t + 0.1, "upper post"),
        ("rear", 0, 1, 0.15, "lower post"),
    ]
    for side, sx, sy, height, post in arms[: b.some(2, 4)]:
        key, cup = f"{side} arm", f"{side} cup"
        reach = 0.2
        middle = r + reach / 2
        size = (reach if sx else 0.03, reach if sy else 0.03, 0.03)
        b.add_box(key, "arm", size, (sx * middle, sy * middle, height), model="arm")
        b.step(key, post, "attach the arms", after=[post], screw=True)
        out = r + reach - 0.05
        at = (sx * out, sy * out, height + 0.015 + 0.02)
        b.add_cylinder(cup, "cup", 0.06, 0.04, at, model="cup")
        b.step(cup, key, "place the cups", after=[key])
    return b.build(name, "foot plate")


def _toy_truck(b: Builder, name: str) -> Product:
    length, width = b.between(0.5, 0.58), b.between(0.2, 0.24)
    r, z = 0.06, 0.1
    b.add_box("chassis", "chassis", (length, width, 0.05), (0, 0, z))
    top = z + 0.025
    y = width / 2 + 0.02
    for end, sx in (("front", 1), ("rear", -1)):
        for side, sy in (("left", 1), ("right", -1)):
            key = f"{end} {side} wheel"
            at = (sx * (length / 2 - 0.1), sy * y, r)
            b.add_cylinder(key, "wheel", r, 0.04, at, axis="y", model="wheel")
            b.step(key, "chassis", "attach the wheels", screw=True)
    front = length / 2 - 0.1
    b.add_box("interior", "interior", (0.14, width - 0.06, 0.07), (front, 0, top + 0.035))
    b.step("interior", "chassis", "fit the cab")
    b.add_box("cabin", "cabin", (0.16, width - 0.02, 0.09), (front, 0, top + 0.07 + 0.045))
    b.step("cabin", "interior", "fit the cab", after=["interior"], screw=True)
    b.add_box("roof", "roof", (0.18, width, 0.025), (front, 0, top + 0.16 + 0.0125))
    b.step("roof", "cabin", "fit the cab", after=["cabin"])
    b.add_box("bumper", "bumper", (0.03, width, 0.05), (length / 2 + 0.015, 0, z))
    b.step("bumper", "chassis", "attach the bumper", screw=True)
    bed = length - 0.26
    middle = -length / 2 + bed / 2
    b.add_box("cargo bed", "cargo bed", (bed, width, 0.02), (middle, 0, top + 0.01))
    b.step("cargo bed", "chassis", "build the cargo bed", screw=True)
    for side, sy in (("left", 1), ("right", -1))[: b.some(0, 2)]:
        key = f"{side} side wall"
        at = (middle, sy * (width / 2 - 0.01), top + 0.02 + 0.045)
        b.add_box(key, "wall", (bed, 0.02, 0.09), at, "side wall", "wall")
        b.step(key, "cargo bed", "build the cargo bed", after=["cargo bed"])
    at = (middle - bed / 2 + 0.01, 0.0, top + 0.02 + 0.045)
    b.add_box("tailgate", "tailgate", (0.02, width - 0.04, 0.09), at, "tailgate", "wall")
    b.step("tailgate", "cargo bed", "build the cargo bed", after=["cargo bed"])
    return b.build(name, "chassis")


def _toy_chest(b: Builder, name: str) -> Product:
    w, d, h = b.between(0.5, 0.58), b.between(0.34, 0.4), b.between(0.2, 0.26)
    t, foot = 0.022, 0.04
    floor = foot + 0.025
    b.add_box("bottom board", "bottom board", (w, d, 0.025), (0, 0, foot + 0.0125))
    for word, sx, sy in (("front left", -1, -1), ("front right", 1, -1), ("rear left", -1, 1),
                         ("rear right", 1, 1))[: 2 * b.some(0, 2)]:  # fmt: skip
        key = f"{word} foot"
        at = (sx * (w / 2 - 0.05), sy * (d / 2 - 0.05), foot / 2)
        b.add_box(key, "foot", (0.06, 0.06, foot), at, model="foot")
        b.step(key, "bottom board", "attach the feet", screw=True)
    z = floor + h / 2
    for side, sy in (("front", -1), ("rear", 1)):
        key = f"{side} wall"
        b.add_box(key, "wall", (w, t, h), (0, sy * (d / 2 - t / 2), z), "long wall", "wall")
        b.step(key, "bottom board", "raise the long walls", screw=True)
    long = ["front wall", "rear wall"]
    inner = d - 2 * t
    ends = []
    for side, sx in (("left", -1), ("right", 1)):
        key = f"{side} wall"
        ends.append(key)
        b.add_box(key, "wall", (t, inner, h), (sx * (w / 2 - t / 2), 0, z), "short wall", "wall")
        b.step(key, "front wall", "insert the short walls", after=long)
    dividers = ["left divider", "right divider"][: b.some(1, 2)]
    for key, sx in zip(dividers, (-1, 1), strict=False):
        size, at = (t, inner, h - 0.05), (sx * 0.1, 0.0, floor + (h - 0.05) / 2)
        b.add_box(key, "divider", size, at, "divider", "wall")
        b.step(key, "bottom board", "insert the dividers", after=long)
    b.add_box("lid", "lid", (w + 0.03, d + 0.03, 0.025), (0, 0, floor + h + 0.0125))
    b.step("lid", "front wall", "close the lid", after=[*long, *ends, *dividers])
    return b.build(name, "bottom board")


_KINDS: dict[str, tuple[str, Callable[[Builder, str], Product]]] = {
    "side table": ("Table", _side_table),
    "stool": ("Chair", _stool),
    "chair": ("Chair", _chair),
    "bench": ("Bench", _bench),
    "shelf": ("Shelf", _shelf),
    "desk": ("Desk", _desk),
    "plant stand": ("Misc", _plant_stand),
    "toy truck": ("Misc", _toy_truck),
    "toy chest": ("Misc", _toy_chest),
}
KINDS = tuple(_KINDS)


def make_product(kind: str, seed: int = 0, difficulty: Difficulty | None = None) -> Product:
    """A product of a kind, with seeded sizes, colours, part ids and optional parts.

    Parameters
    ----------
    kind
        One of `KINDS`.
    seed
        The same kind, seed and difficulty give the same product.
    difficulty
        `look_alikes` and `length` matter here; medium when not given.

    >>> table = make_product("side table", seed=1)
    >>> table.category, len(table.parts) == len(table.steps) + 1
    ('Table', True)
    >>> sorted(set(step.stage for step in table.steps))
    ['attach the legs', 'attach the rails', 'insert the shelf']
    """
    if kind not in _KINDS:
        raise ValueError(f"make_product: no kind {kind!r}; there are {', '.join(KINDS)}")
    category, make = _KINDS[kind]
    level = difficulty or Difficulty()
    rng = random.Random(f"product/{kind}/{seed}")
    return make(Builder(category, kind, rng, level), f"{kind.replace(' ', '_')}_{seed}")
