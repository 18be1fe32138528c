"""Visual prompts inside a video, in the two forms of Flat-Pack Bench's study (arXiv 2605.21625).

`concat` shows them as the video's first frames, `collage` beside every frame of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image

from procedural_evals import clips, video
from procedural_evals.timelines import Float64
from procedural_evals.video import UInt8

FORMS = ("concat", "collage")
BORDER = 10  # black pixels around and between the pictures of a collage

_VERSION = 1  # raised whenever the same call would write another video


@dataclass(frozen=True)
class Plan:
    """How a video with prompts inside is made.

    Attributes:
        form: one of `FORMS`.
        count: most frames of the result, the prompts of a `concat` among them.
        rule: how the frames of the original are chosen, one of `video.RULES`.
        size: (width, height) of each picture.
    """

    form: str
    count: int
    rule: str
    size: tuple[int, int]

    def kept(self, prompts: int) -> int:
        """How many frames of the original there is room for beside so many prompts.

        >>> Plan("concat", 32, "uniform", (640, 480)).kept(2)
        30
        """
        if self.form not in FORMS:
            raise ValueError(f"form: {self.form!r} is not one of {', '.join(FORMS)}")
        kept = self.count - (prompts if self.form == "concat" else 0)
        if kept < 1:
            raise ValueError(
                f"{self.count} frames have no room for a video after {prompts} visual prompts"
            )
        return kept

    def rate(self, path: Path, prompts: int) -> Fraction:
        """Frames a second of the result: the original's frames last as long as the original."""
        times = video.planned_times(path, self.kept(prompts), rule=self.rule)
        return Fraction(len(times) / video.probe(path).duration).limit_denominator(1000)


def pictures(path: Path, prompts: Sequence[Image.Image], plan: Plan) -> tuple[list[UInt8], Float64]:
    """Frames of the result, and the seconds at which the original's ones come on screen there.

    Raises what `video.sample_frames` raises for a bad file, ValueError for a bad plan.
    """
    frames, times = video.sample_frames(
        path, count=plan.kept(len(prompts)), rule=plan.rule, size=plan.size, strict=True
    )
    shown = [np.asarray(prompt.convert("RGB").resize(plan.size)) for prompt in prompts]
    if plan.form == "concat":
        return [*shown, *frames], times
    return list(_collages(shown, frames, plan.size)), times


def _collages(prompts: Sequence[UInt8], frames: UInt8, size: tuple[int, int]) -> Iterator[UInt8]:
    width, height = size
    count = len(prompts) + 1
    page = np.zeros((height + 2 * BORDER, count * (width + BORDER) + BORDER, 3), np.uint8)

    def put(number: int, picture: UInt8) -> None:
        left = BORDER + number * (width + BORDER)
        page[BORDER : BORDER + height, left : left + width] = picture

    for number, prompt in enumerate(prompts):
        put(number, prompt)
    for frame in frames:
        put(count - 1, frame)
        yield page.copy()


def prompted_video(path: Path, prompts: Sequence[Image.Image], plan: Plan, folder: Path) -> Path:
    """A file in `folder` with the prompts inside; the same one is made once."""
    stat = path.stat()
    seen = hashlib.sha256()
    for prompt in prompts:
        seen.update(repr(prompt.size).encode() + prompt.convert("RGB").tobytes())
    source = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    key = repr((_VERSION, video.DECODER_VERSION, source, astuple(plan), seen.hexdigest()))
    target = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.mp4"

    def write(partial: Path) -> None:
        frames, _ = pictures(path, prompts, plan)
        clips.write_video(partial, frames, plan.rate(path, len(prompts)))

    clips.write_once(target, write)
    return target
