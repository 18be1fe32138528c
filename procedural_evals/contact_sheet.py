"""A contact sheet: the pictures of a dozen rows on one page, to be looked at by a person."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
from PIL import Image, ImageDraw, ImageFont

TILE = (400, 300)
CAPTION = 44
COLUMNS = 4


def make_contact_sheet(
    name: str, out: Path, config: str | None = None, count: int = 12, **options: Any
) -> int:
    """Write the pictures of rows spread over a dataset to one file; how many there were.

    Args:
        name: dataset name, for example "flatpack-bench".
        out: picture file to write; its suffix says the format.
        config: the dataset's configuration, for example "sample".
        count: how many pictures at most.
        options: further arguments of `load_dataset`, for example data_dir=.

    Raises ValueError when no row has a picture; its problems say why.
    """
    rows = next(iter(datasets.load_dataset(name, config, **options).values()))
    step = max(1, len(rows) // count)
    tiles = []
    for position in range(0, len(rows), step):
        row = rows[position]
        tiles += [(picture, caption) for picture, caption in _pictures(row)]
        if len(tiles) >= count:
            break
    if not tiles:
        first = next((problem for row in rows for problem in row.get("problems") or ()), None)
        raise ValueError(
            f"{name}: none of {len(rows)} rows has a picture"
            + (f"; the first problem is: {first}" if first else "")
            + f". `procedural-evals check-data {name}` lists what is missing; `--config sample` "
            "shows the embedded sample."
        )
    _page(tiles[:count]).save(out)
    return len(tiles[:count])


def _pictures(row: dict[str, Any]) -> Iterator[tuple[Image.Image, str]]:
    pictures = row.get("visual_prompts") or filter(None, [row.get("parts_image")])
    for number, picture in enumerate(pictures):
        letter = f" [{'AB'[number]}]" if len(row.get("frame_indices") or ()) > 1 else ""
        yield picture, f"{row['id']}{letter}\n{row['question']}"


def _page(tiles: list[tuple[Image.Image, str]]) -> Image.Image:
    lines = math.ceil(len(tiles) / COLUMNS)
    page = Image.new("RGB", (COLUMNS * TILE[0], lines * (TILE[1] + CAPTION)), "white")
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(size=13)
    for number, (picture, caption) in enumerate(tiles):
        x = number % COLUMNS * TILE[0]
        y = number // COLUMNS * (TILE[1] + CAPTION)
        page.paste(picture.convert("RGB").resize(TILE), (x, y))
        for line, text in enumerate(caption.splitlines()[:2]):
            while draw.textlength(text, font=font) > TILE[0] - 8:
                text = text[:-2]
            draw.text((x + 4, y + TILE[1] + 4 + 18 * line), text, "black", font=font)
    return page
