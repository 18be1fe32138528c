"""A contact sheet: the pictures of a dozen rows on one page, to be looked at by a person."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
from PIL import Image, ImageDraw, ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

TILE = (400, 300)
COLUMNS = 4
MARGIN = 4
#: Between columns, so that a caption does not run into the next one.
GUTTER = 16
LINE = 18


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
    """The tiles in lines of `COLUMNS`, each with room for the longest caption."""
    font = ImageFont.load_default(size=13)
    captions = [wrapped(caption, font) for _, caption in tiles]
    height = TILE[1] + max(map(len, captions)) * LINE + 2 * MARGIN
    step = TILE[0] + GUTTER
    size = (COLUMNS * step - GUTTER, math.ceil(len(tiles) / COLUMNS) * height)
    page = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(page)
    for number, ((picture, _), lines) in enumerate(zip(tiles, captions, strict=True)):
        x, y = number % COLUMNS * step, number // COLUMNS * height
        page.paste(picture.convert("RGB").resize(TILE), (x, y))
        for line, text in enumerate(lines):
            top = y + TILE[1] + MARGIN + LINE * line
            draw.text((x + MARGIN, top), text, "black", font=font)
    return page


def wrapped(caption: str, font: Font) -> list[str]:
    """The caption in lines that are no wider than a tile; a word that is, is broken."""
    room = TILE[0] - 2 * MARGIN
    lines = []
    for paragraph in caption.splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".lstrip()
            if font.getlength(longer) > room:
                lines += [line] if line else []
                while font.getlength(word) > room:
                    cut = max(n for n in range(1, len(word)) if font.getlength(word[:n]) <= room)
                    lines.append(word[:cut])
                    word = word[cut:]
                longer = word
            line = longer
        lines.append(line)
    return lines
