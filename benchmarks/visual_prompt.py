"""Visual prompts drawn by this package against the same pictures drawn with `supervision`.

    python benchmarks/visual_prompt.py [--prompts 343] [--rounds 5] [--masks FOLDER]

As many prompts as Flat-Pack Bench has annotated frames, each 1280x720 with one to nine parts, from
run lengths to the finished picture: masks tinted, outlined and numbered. `--masks` takes the masks
of a `segmentation-masks` folder in the benchmark's layout; without it they are made (slats, boards
and discs that overlap). The peer decodes with pycocotools and draws with MaskAnnotator,
PolygonAnnotator and LabelAnnotator. It is given the colours and the places of the labels, which
this package finds within its own time: it does less. What can be checked of both pictures is
checked first: the same masks, numbers at the same places, the same tint away from outlines and
numbers. Both draw a prompt in turn; a time is the sum over the prompts of the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from procedural_evals.masks import Mask, decode_rle, encode_rle, label_point
from procedural_evals.visual_prompt import (
    Picture,
    PromptStyle,
    boundary,
    draw_visual_prompt,
    pick_colours,
)

try:
    import supervision as sv
    from pycocotools import mask as coco
except ImportError as error:
    raise SystemExit(f"{error}: pip install '.[bench]'") from error

SIZE = (1280, 720)
STYLE = PromptStyle(size=SIZE)


class Prompt(NamedTuple):
    """A frame, its masks as run lengths, and what the peer is told: colours, places of labels."""

    frame: Picture
    rles: Mapping[str, Mapping[str, Any]]
    palette: sv.ColorPalette
    places: NDArray[np.float64]


def made_masks(rng: np.random.Generator) -> dict[str, Mask]:
    """One to nine parts: thin slats, boards and discs, some of them over each other."""
    masks = {}
    for part in range(int(rng.integers(1, 10))):
        canvas = np.zeros(SIZE[::-1], np.uint8)
        centre = tuple(float(x) for x in rng.uniform(0.15, 0.85, 2) * SIZE)
        if rng.random() < 0.2:
            cv2.circle(
                canvas, (round(centre[0]), round(centre[1])), int(rng.integers(12, 60)), 1, -1
            )
        else:
            sides = (float(rng.uniform(80, 420)), float(rng.uniform(14, 130)))
            box = cv2.boxPoints((centre, sides, float(rng.uniform(0, 180))))
            cv2.fillPoly(canvas, [box.round().astype(np.int32)], 1)
        masks[str(part)] = canvas.astype(bool)
    return masks


def read_masks(folder: Path) -> Iterator[dict[str, Mask]]:
    """The masks of each annotated frame of a folder in the benchmark's layout."""
    for file in sorted(folder.rglob("*.json")):
        for parts in json.loads(file.read_text(encoding="utf-8"))["manual"].values():
            masks = {part: decode_rle(rle) for part, rle in parts.items()}
            found = {part: mask for part, mask in masks.items() if mask.any()}
            if found and all(mask.shape == SIZE[::-1] for mask in found.values()):
                yield found


def prompts(count: int, folder: Path | None) -> Iterator[Prompt]:
    """Prompts over frames of smooth noise."""
    rng = np.random.default_rng(0)
    given = list(read_masks(folder)) if folder else []
    if folder and not given:
        raise ValueError(f"{folder}: no masks of {SIZE[0]}x{SIZE[1]} below it")
    for number in range(count):
        masks = given[number % len(given)] if given else made_masks(rng)
        noise = rng.integers(0, 256, (45, 80, 3), dtype=np.uint8)
        frame: Any = cv2.resize(noise, SIZE, interpolation=cv2.INTER_CUBIC)
        ordered = dict(sorted(masks.items(), key=lambda item: int(item[0])))
        colours = pick_colours(frame, list(ordered.values()))
        yield Prompt(
            frame,
            {part: encode_rle(mask) for part, mask in ordered.items()},
            sv.ColorPalette([sv.Color(*map(round, colour.tolist())) for colour in colours]),
            np.array([label_point(mask) for mask in ordered.values()], np.float64),
        )


def ours(prompt: Prompt, style: PromptStyle = STYLE) -> Picture:
    """The prompt drawn by this package."""
    masks = {part: decode_rle(rle) for part, rle in prompt.rles.items()}
    return np.asarray(draw_visual_prompt(prompt.frame, masks, style))


def peer(prompt: Prompt, style: PromptStyle = STYLE) -> Picture:
    """The prompt drawn with supervision; its colours are blue, green, red, and so is its frame."""
    encoded = [
        {"size": rle["size"], "counts": rle["counts"].encode()} for rle in prompt.rles.values()
    ]
    masks = coco.decode(encoded).transpose(2, 0, 1).astype(bool)
    numbers = np.arange(len(masks))
    parts = sv.Detections(xyxy=sv.mask_to_xyxy(masks).astype(float), mask=masks, class_id=numbers)
    scene = prompt.frame[..., ::-1].copy()
    if style.masks:
        scene = sv.MaskAnnotator(prompt.palette, opacity=style.opacity).annotate(scene, parts)
    if style.boundaries:
        outline = sv.PolygonAnnotator(prompt.palette, thickness=style.boundary_width)
        scene = outline.annotate(scene, parts)
    if style.labels:
        spots = sv.Detections(xyxy=np.hstack([prompt.places, prompt.places]), class_id=numbers)
        label = sv.LabelAnnotator(sv.Color.BLACK, text_padding=2, text_position=sv.Position.CENTER)
        scene = label.annotate(scene, spots, labels=list(prompt.rles))
    picture: Picture = scene[..., ::-1]
    return picture


def near(pixels: Mask) -> Mask:
    """Pixels that lie within two pixels of these."""
    grown: Any = cv2.dilate(pixels.astype(np.uint8), np.ones((5, 5), np.uint8))
    return np.asarray(grown, bool)


def check(prompt: Prompt) -> tuple[float, float, float]:
    """Shares in [0, 1]: tint of the masks, pixels of outlines, and places of labels that agree.

    The tint agrees where no channel differs by more than 2, of the pixels of exactly one mask: of
    overlapping ones this package blends both, the peer paints the smaller. Outlines agree where a
    pixel of either lies within two pixels of the other: the peer draws on the edge, this package
    inside it. A label agrees when the peer's box covers our place.
    """
    masks = [decode_rle(rle) for rle in prompt.rles.values()]
    single = np.sum(masks, axis=0) == 1
    tint = PromptStyle(size=SIZE, labels=False, boundaries=False)
    difference = np.abs(ours(prompt, tint).astype(int) - peer(prompt, tint).astype(int)).max(axis=2)
    line = PromptStyle(size=SIZE, labels=False, masks=False)
    drawn = (peer(prompt, line) != prompt.frame).any(axis=2)
    mine = np.any([boundary(mask, STYLE.boundary_width) for mask in masks], axis=0)
    beside = int((drawn & near(mine)).sum()) + int((mine & near(drawn)).sum())
    word = PromptStyle(size=SIZE, boundaries=False, masks=False)
    covered = (peer(prompt, word) != prompt.frame).any(axis=2)
    places = prompt.places.astype(int)
    return (
        float((difference[single] <= 2).mean()) if single.any() else 1.0,
        beside / (int(drawn.sum()) + int(mine.sum())),
        float(covered[places[:, 1], places[:, 0]].mean()),
    )


def main() -> None:
    """Compare the pictures, draw all prompts with both in turn, print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=343)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--masks", type=Path, default=None)
    options = parser.parse_args()
    given = list(prompts(options.prompts, options.masks))
    tint, outline, label = np.mean([check(prompt) for prompt in given[:40]], axis=0)
    count = sum(len(prompt.rles) for prompt in given)
    print(f"{len(given)} prompts of {SIZE[0]}x{SIZE[1]}, {count} masks, best of {options.rounds}")
    print(f"  agreement: tint {tint:.2%}, outlines {outline:.2%}, places of labels {label:.2%}")

    seconds = np.full((2, len(given)), np.inf)
    for _ in range(options.rounds):
        for number, prompt in enumerate(given):
            for side, draw in enumerate((ours, peer)):
                begin = time.process_time()
                draw(prompt)
                seconds[side, number] = min(seconds[side, number], time.process_time() - begin)
    mine, theirs = seconds.sum(axis=1)
    for name, total in (("supervision", theirs), ("procedural_evals", mine)):
        print(f"  {name:<17} {len(given) / total:7.1f} prompts/s")
    print(f"  {theirs / mine:.2f} times as fast")


if __name__ == "__main__":
    main()
