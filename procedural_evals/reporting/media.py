"""The pictures behind a record: the row's visual prompts, parts picture and frames, made small."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from procedural_evals import video
from procedural_evals.harness.records import Record
from procedural_evals.revisions import content_of

_LOG = logging.getLogger(__name__)

FRAMES = 6
_FRAME_WIDTH, _PROMPT_WIDTH = 240, 480
_QUALITY = 78
_PICTURES = {"visual_prompts": "visual prompt", "parts_image": "parts picture"}


@dataclass(frozen=True)
class Picture:
    """A small JPEG and what stands under it."""

    caption: str
    jpeg: bytes
    wide: bool = False


class Rows:
    """The dataset that a task read, loaded when the first row is asked for."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config` is the task's part of a results file's "configs"."""
        self._config = config

    @cached_property
    def _found(self) -> tuple[Any, dict[str, int]] | str:
        """The rows and the place of each id, or why they cannot be loaded."""
        import datasets

        config = self._config
        split = config.get("test_split") or config.get("validation_split") or "test"
        try:
            rows = datasets.load_dataset(
                config["dataset_path"],
                config.get("dataset_name"),
                split=split,
                **(config.get("dataset_kwargs") or {}),
            )
        except Exception as error:  # of many bases; a report is worth having without its pictures
            reason = error.__cause__ or error
            return f"{type(reason).__name__}: {reason}"
        return rows, {str(name): number for number, name in enumerate(rows["id"])}

    def row(self, record: Record) -> Mapping[str, Any]:
        """The row of a record.

        Raises LookupError when the data cannot be loaded or are not those of the run.
        """
        if isinstance(self._found, str):
            raise LookupError(self._found)
        rows, places = self._found
        place = places.get(str(record["id"]))
        if place is None:
            raise LookupError(f"the data found now have no row {record['id']}")
        row: Mapping[str, Any] = rows[place]
        if content_of(str(row["revision"])) != content_of(str(record["revision"])):
            raise LookupError(
                f"the run read {record['revision']}, the data found now are {row['revision']}"
            )
        return row


def pictures(row: Mapping[str, Any], record: Record) -> Iterator[Picture]:
    """The row's pictures, then at most six of the frames shown (or, of none shown, of its clip)."""
    shown = record.get("shown")
    for column, name in _PICTURES.items():
        found = row.get(column) or ()
        each = list(found) if isinstance(found, list | tuple) else [found]
        for number, picture in enumerate(each):
            letter = f" {'ABCDEFGH'[number]}" if len(each) > 1 else ""
            hidden = "" if shown is None or column in shown else ", not shown to the model"
            yield _small(picture, f"{name}{letter}{hidden}", _PROMPT_WIDTH, wide=True)
    film = row.get("video") or {}
    if film.get("path"):
        try:
            yield from _frames(row, record)
        except (OSError, ValueError) as error:
            _LOG.warning("no frames of %s: %s", record["id"], error)


def _frames(row: Mapping[str, Any], record: Record) -> Iterator[Picture]:
    path = row["video"]["path"]
    times = record.get("frame_times") or ()
    seen = bool(times)
    if not seen:
        times = video.planned_times(path, FRAMES, row.get("clip_start"), row.get("clip_end"))
    chosen = np.unique(np.linspace(0, len(times) - 1, FRAMES).round().astype(int))
    info = video.probe(path)
    size = (_FRAME_WIDTH, max(1, round(_FRAME_WIDTH * info.height / info.width)))
    frames, shown_at = video.sample_frames(path, times=[times[n] for n in chosen], size=size)
    for frame, time in zip(frames, shown_at, strict=True):
        caption = f"{time:.1f} s" if seen else f"{time:.1f} s, from the clip"
        yield _small(Image.fromarray(frame), caption, _FRAME_WIDTH)


def _small(picture: Any, caption: str, width: int, wide: bool = False) -> Picture:
    image: Image.Image = picture.convert("RGB")
    if image.width > width:
        height = max(1, round(image.height * width / image.width))
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    image.save(data, "JPEG", quality=_QUALITY)
    return Picture(caption, data.getvalue(), wide)
