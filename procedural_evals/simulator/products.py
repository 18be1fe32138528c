"""Products of the simulated world: rigid parts, how they look alike, and the order of the steps.

A product is described in its own frame: z is up, the origin lies on the floor below its middle.
Which parts touch follows from the geometry (`Product.contacts`), never from a list by hand.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from . import geometry as geo
from .difficulty import Difficulty
from .geometry import Box, Pose, Quat, Vec

Pair = tuple[str, str]
Colour = tuple[int, int, int]


def pair(a: str, b: str) -> Pair:
    """Unordered pair of part ids in a fixed order.

    >>> pair("10", "2")
    ('2', '10')
    """
    return (a, b) if (len(a), a) <= (len(b), b) else (b, a)


@dataclass(frozen=True)
class Part:
    """A rigid part.

    Attributes
    ----------
    id
        Number as text, given out at random so that it says nothing about the order of assembly.
    name, title
        What it is ("leg"), and its unique name within the product ("front left leg").
    shape
        "box" or "cylinder" (axis along its own z).
    size
        Edge lengths in its own frame, metres (a cylinder: diameter, diameter, length).
    slot
        Pose in the finished product.
    model
        Parts of one model are identical and interchangeable.
    group
        Parts of one group look alike; a group holds one or several models.
    colour
        RGB, 0-255.
    """

    id: str
    name: str
    title: str
    shape: str
    size: Vec
    slot: Pose
    model: str
    group: str
    colour: Colour


@dataclass(frozen=True)
class Step:
    """One step: attach `part` (with whatever hangs on it) to `target`.

    `requires` are the ids of steps that have to be done before; `stage` is the coarse step that it
    belongs to, equal for the legs of one table; `screw` says whether it has to be fastened;
    `upright` that the product has to stand on its feet for it.
    """

    id: str
    part: str
    target: str
    label: str
    stage: str
    screw: bool
    requires: tuple[str, ...]
    upright: bool


@dataclass(frozen=True)
class Product:
    """A product to assemble; see the module for its frame.

    `base` is the part that lies on the workbench from the beginning; `work_rotation` is how the
    product is held before it is turned upright.
    """

    category: str
    name: str
    kind: str
    parts: tuple[Part, ...]
    steps: tuple[Step, ...]
    base: str
    work_rotation: Quat

    def __post_init__(self) -> None:
        """Check that ids, titles and steps fit together."""
        titles = [p.title for p in self.parts]
        if len(set(titles)) != len(titles):
            raise ValueError(f"{self.name}: two parts share a title: {sorted(titles)}")
        moved = [s.part for s in self.steps]
        if sorted([*moved, self.base]) != sorted(p.id for p in self.parts):
            raise ValueError(f"{self.name}: every part but the base needs exactly one step")
        for step in self.steps:
            if pair(step.part, step.target) not in self.contacts:
                raise ValueError(f"{self.name}: {step.label}: the two parts do not touch")

    @cached_property
    def by_id(self) -> dict[str, Part]:
        """Parts by id."""
        return {p.id: p for p in self.parts}

    @cached_property
    def step_by_id(self) -> dict[str, Step]:
        """Steps by id."""
        return {s.id: s for s in self.steps}

    def part(self, id: str) -> Part:
        """The part of that id; ValueError names the ids there are."""
        if id not in self.by_id:
            raise ValueError(f"{self.name}: no part {id!r}; there are {sorted(self.by_id)}")
        return self.by_id[id]

    def box(self, id: str, local: Pose | None = None) -> Box:
        """Bounds of a part in the product's frame, at its slot or at another pose there."""
        part = self.by_id[id]
        return geo.bounds(part.size, part.slot if local is None else local)

    @cached_property
    def contacts(self) -> frozenset[Pair]:
        """Pairs of parts that touch in the finished product."""
        return frozenset(touching_pairs({p.id: self.box(p.id) for p in self.parts}))

    @cached_property
    def extent(self) -> Box:
        """Bounds of the finished product."""
        return geo.union([self.box(p.id) for p in self.parts])

    @property
    def precedence(self) -> tuple[Pair, ...]:
        """Edges (before, after) between step ids, as the steps list them."""
        return tuple((before, s.id) for s in self.steps for before in s.requires)

    def ancestors(self, step: str) -> frozenset[str]:
        """All steps that have to be done before a step, directly or not."""
        found: set[str] = set()
        stack = list(self.step_by_id[step].requires)
        while stack:
            id = stack.pop()
            if id not in found:
                found.add(id)
                stack.extend(self.step_by_id[id].requires)
        return frozenset(found)

    def neighbours(self, part: str) -> tuple[str, ...]:
        """Parts that touch a part in the finished product, in the order of `parts`."""
        return tuple(p.id for p in self.parts if pair(part, p.id) in self.contacts)

    def look_alikes(self, part: str) -> tuple[str, ...]:
        """Other parts of the same group, in the order of `parts`."""
        group = self.by_id[part].group
        return tuple(p.id for p in self.parts if p.group == group and p.id != part)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Look-alike groups as part ids; a group of one is a part like no other."""
        names = dict.fromkeys(p.group for p in self.parts)
        return tuple(tuple(p.id for p in self.parts if p.group == name) for name in names)


def touching_pairs(boxes: dict[str, Box]) -> Iterable[Pair]:
    """Pairs of ids whose boxes touch."""
    ids = list(boxes)
    for i, a in enumerate(ids):
        for b in ids[i + 1 :]:
            if geo.touching(boxes[a], boxes[b]):
                yield pair(a, b)


@dataclass(frozen=True)
class _Draft:
    """A part before it gets its id."""

    key: str
    name: str
    shape: str
    size: Vec
    slot: Pose
    model: str
    group: str


class Builder:
    """Collects parts and steps under readable keys; `build` shuffles the ids and picks colours."""

    def __init__(self, category: str, kind: str, rng: random.Random, difficulty: Difficulty):
        self.category, self.kind = category, kind
        self.rng, self.difficulty = rng, difficulty
        self._parts: list[_Draft] = []
        self._steps: list[tuple[str, str, str, bool, tuple[str, ...], bool]] = []

    def between(self, low: float, high: float) -> float:
        """A length drawn between two lengths, to the millimetre."""
        return round(self.rng.uniform(low, high), 3)

    def some(self, low: int, high: int) -> int:
        """How many optional parts there are, by the difficulty's length."""
        return low + round(self.difficulty.length * (high - low))

    def add_box(
        self, key: str, name: str, size: Vec, at: Vec, model: str = "", group: str = ""
    ) -> None:
        """A cuboid with its centre at a point of the product's frame."""
        self._add(_Draft(key, name, "box", size, Pose(at), model or key, group or model or key))

    def add_cylinder(
        self,
        key: str,
        name: str,
        radius: float,
        length: float,
        at: Vec,
        axis: str = "z",
        model: str = "",
        group: str = "",
    ) -> None:
        """A cylinder with its centre at a point and its axis along x, y or z."""
        along = {"x": geo.turn("y", 90), "y": geo.turn("x", 90), "z": geo.IDENTITY}[axis]
        size = (2 * radius, 2 * radius, length)
        draft = _Draft(
            key, name, "cylinder", size, Pose(at, along), model or key, group or model or key
        )
        self._add(draft)

    def _add(self, draft: _Draft) -> None:
        size = geo.clean(draft.size)
        slot = Pose(geo.clean(draft.slot.position), draft.slot.rotation)
        self._parts.append(
            _Draft(draft.key, draft.name, draft.shape, size, slot, draft.model, draft.group)
        )

    def step(
        self,
        part: str,
        target: str,
        stage: str,
        after: Iterable[str] = (),
        screw: bool = False,
        upright: bool = False,
    ) -> None:
        """Attach `part` to `target` once the parts named in `after` have been attached."""
        self._steps.append((part, target, stage, screw, tuple(after), upright))

    def build(self, name: str, base: str, work_rotation: Quat = geo.IDENTITY) -> Product:
        """The product, with part ids in random order and a colour a look-alike group."""
        numbers = list(range(len(self._parts)))
        self.rng.shuffle(numbers)
        ids = {draft.key: str(n) for draft, n in zip(self._parts, numbers, strict=True)}
        colours = self._colours()
        parts = [
            Part(
                id=ids[d.key], name=d.name, title=d.key, shape=d.shape, size=d.size, slot=d.slot,
                model=d.model, group=d.group, colour=colours[d.key],
            )
            for d in self._parts
        ]  # fmt: skip
        step_ids = {s[0]: f"s{n:02d}" for n, s in enumerate(self._steps, 1)}
        steps = tuple(
            Step(
                id=step_ids[part], part=ids[part], target=ids[target],
                label=f"attach {part} to {target}", stage=stage, screw=screw,
                requires=tuple(step_ids[k] for k in after), upright=upright,
            )
            for part, target, stage, screw, after, upright in self._steps
        )  # fmt: skip
        ordered = tuple(sorted(parts, key=lambda p: int(p.id)))
        return Product(self.category, name, self.kind, ordered, steps, ids[base], work_rotation)

    def _colours(self) -> dict[str, Colour]:
        groups = list(dict.fromkeys(d.group for d in self._parts))
        palette = list(_TOY if self.kind.startswith("toy") else _WOOD)
        self.rng.shuffle(palette)
        colours: dict[str, Colour] = {}
        for n, group in enumerate(groups):
            members = [d for d in self._parts if d.group == group]
            same = self.rng.random() < self.difficulty.look_alikes
            for k, draft in enumerate(members):
                tint = palette[n % len(palette)] if same else palette[(n + k) % len(palette)]
                shade = 0 if same or k < len(palette) else 25
                colours[draft.key] = (
                    max(tint[0] - shade, 0), max(tint[1] - shade, 0), max(tint[2] - shade, 0),
                )  # fmt: skip
        return colours


_WOOD: tuple[Colour, ...] = (
    (226, 196, 146), (196, 142, 86), (122, 76, 46), (238, 236, 228), (62, 62, 68),
    (170, 62, 52), (66, 104, 160), (96, 142, 98), (212, 164, 66), (92, 150, 156),
)  # fmt: skip
_TOY: tuple[Colour, ...] = (
    (206, 54, 48), (54, 100, 188), (240, 196, 48), (74, 156, 84), (236, 132, 44),
    (52, 52, 58), (238, 238, 234), (132, 88, 168), (70, 172, 190), (150, 104, 66),
)  # fmt: skip
