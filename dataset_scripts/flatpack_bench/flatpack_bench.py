"""Flat-Pack Bench: multiple choice on furniture assembly, with visual prompts on parts.

load_dataset("flatpack-bench")                       trimmed video
load_dataset("flatpack-bench", "keyframes")          annotated frames only
load_dataset("flatpack-bench", "shuffled_seed42")    parts re-labelled (any seed that is there)
load_dataset("flatpack-bench", "sample")             simulated, embedded
load_dataset("flatpack-bench", orders=5)             each question in five orders of its options
load_dataset("flatpack-bench", draw_labels=False)    visual prompts without numbers
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from PIL import Image

from procedural_evals import masks, sources
from procedural_evals.builders import BenchmarkBuilder, BenchmarkConfig, checked_video, jpeg
from procedural_evals.layouts.flatpack_bench import (
    HUB_REPOS,
    TASKS,
    TEMPLATES,
    FlatPackLayout,
    media_files,
    video_paths,
)
from procedural_evals.visual_prompt import PromptStyle, draw_visual_prompt

_SHUFFLED = re.compile(r"shuffled_seed(\d+)")

FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "qid": datasets.Value("string"),
        "task": datasets.ClassLabel(names=list(TASKS.values())),
        "template": datasets.ClassLabel(names=list(TEMPLATES)),
        "question": datasets.Value("string"),
        "options": datasets.List(datasets.Value("string")),
        "answer": datasets.Value("int32"),
        "answer_letter": datasets.Value("string"),
        "option_order": datasets.List(datasets.Value("int32")),
        "furniture": datasets.Value("string"),
        "video_id": datasets.Value("string"),
        "video_variant": datasets.Value("string"),
        "frame_indices": datasets.List(datasets.Value("int64")),
        "parts": datasets.List({"id": datasets.Value("string"), "name": datasets.Value("string")}),
        "connections": datasets.List(
            {"a": datasets.Value("string"), "b": datasets.Value("string")}
        ),
        "masks": datasets.List(
            {
                "frame": datasets.Value("int64"),
                "part": datasets.Value("string"),
                "size": datasets.List(datasets.Value("int32")),
                "counts": datasets.Value("string"),
            }
        ),
        "label_map": datasets.List(
            {"part": datasets.Value("string"), "label": datasets.Value("string")}
        ),
        "video": datasets.Video(decode=False),
        "visual_prompts": datasets.List(datasets.Image()),
        "prompt_style": datasets.Value("string"),
        "problems": datasets.List(datasets.Value("string")),
        "revision": datasets.Value("string"),
    }
)


@dataclass
class FlatPackBenchConfig(BenchmarkConfig):
    """Which video, which labelling of the parts, orders of the options, what a prompt shows."""

    variant: str = "trimmed"
    shuffle_seed: int | None = None
    draw_labels: bool = True
    draw_boundaries: bool = True
    draw_masks: bool = True
    colours: str = "contrast"
    font_size: int = PromptStyle.font_size
    orders: int = 1

    @property
    def style(self) -> PromptStyle:
        """The style in which the visual prompts are drawn."""
        return PromptStyle(
            labels=self.draw_labels,
            boundaries=self.draw_boundaries,
            masks=self.draw_masks,
            colours=self.colours,
            font_size=self.font_size,
        )


class FlatPackBench(BenchmarkBuilder):
    """602 questions over 50 videos: tracking, temporal order, temporal location, mating."""

    NAME = "flatpack-bench"
    MARKERS = (("questions/questions.jsonl",),)
    HUB_REPOS = HUB_REPOS
    BUILDER_CONFIG_CLASS = FlatPackBenchConfig
    BUILDER_CONFIGS = [  # noqa: RUF012  (the library's own name and form)
        FlatPackBenchConfig(name="default"),
        FlatPackBenchConfig(name="keyframes", variant="keyframes"),
        FlatPackBenchConfig(name="shuffled_seed42", shuffle_seed=42),
        FlatPackBenchConfig(name="sample", sample=True),
    ]
    DEFAULT_CONFIG_NAME = "default"

    def _create_builder_config(self, config_name: str | None = None, **kwargs: Any) -> Any:
        """`shuffled_seedN` is a name for every N; which of them are there, the files say."""
        match = _SHUFFLED.fullmatch(config_name or "")
        if match and config_name not in self.builder_configs:
            return super()._create_builder_config("default", shuffle_seed=int(match[1]), **kwargs)
        return super()._create_builder_config(config_name, **kwargs)

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """Both videos of every question, and the frames its visual prompts are drawn from."""
        yield from media_files(folder)

    def video_file(self, row: Mapping[str, Any]) -> str:
        """The row's video below $PROCEDURAL_EVALS_DATA."""
        place = f"{row['furniture']}/{row['video_id']}"
        return f"{self.NAME}/{video_paths(place, row['video_variant'])[0]}"

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=__doc__,
            features=FEATURES,
            homepage="https://flat-pack-bench.github.io/",
            license="MIT; videos: IKEA Manuals at Work, CC BY 4.0",
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        source = self.source()
        layout = FlatPackLayout(
            source.folder, self.config.variant, self.config.shuffle_seed, self.config.orders
        )
        # Read here: an error in a generator would reach the user as "an error occurred". As a list
        # the rows are shared out when several processes build the pictures (num_proc=).
        rows = list(layout.rows())
        revision = self.revision_of(source, layout.questions_file)
        return [
            datasets.SplitGenerator(
                name=datasets.Split.TEST, gen_kwargs={"rows": rows, "revision": revision}
            )
        ]

    def _generate_examples(
        self, rows: list[dict[str, Any]], revision: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        prompts = _Prompts(self.config.style)
        for row in rows:
            problems = list(row["problems"])
            pictures = prompts.of(row, row["frames"], problems)
            video = checked_video(row["video"], problems)
            columns = {key: value for key, value in row.items() if key != "frames"}
            yield (
                row["id"],
                columns
                | {
                    "visual_prompts": pictures,
                    "prompt_style": str(prompts.style),
                    "video": video,
                    "problems": problems,
                    "revision": revision,
                },
            )


class _Prompts:
    """Draws a row's one or two visual prompts; a picture that many rows share is drawn once."""

    def __init__(self, style: PromptStyle) -> None:
        self.style = style
        self._draw = lru_cache(maxsize=256)(self._draw_uncached)

    def of(
        self, row: dict[str, Any], frames: list[sources.Media], problems: list[str]
    ) -> list[dict[str, Any]] | None:
        """The encoded pictures, or None with the reason in `problems`: half of them is no use."""
        pictures = []
        for number, (frame, media) in enumerate(zip(row["frame_indices"], frames, strict=True)):
            label_map = row["label_map"] if number == len(frames) - 1 else []
            shown = tuple((each["part"], each["label"]) for each in label_map)
            rles = tuple(
                (each["part"], tuple(each["size"]), each["counts"])
                for each in row["masks"]
                if each["frame"] == frame
            )
            if media.path is None:
                problems.append(f"visual prompt {media.problem}")
            elif rles:
                try:
                    pictures.append(self._draw(media.path, rles, shown))
                except (OSError, ValueError) as error:
                    problems.append(f"visual prompt damaged: {media.path.name}: {error}")
        return pictures if len(pictures) == len(frames) else None

    def _draw_uncached(
        self, frame: Path, rles: tuple[Any, ...], shown: tuple[tuple[str, str], ...]
    ) -> dict[str, Any]:
        with Image.open(frame) as image:
            pixels = np.asarray(image.convert("RGB"))
        parts = {
            part: masks.decode_rle({"size": size, "counts": counts}) for part, size, counts in rles
        }
        names = dict(shown)
        if names:  # the second picture of a tracking question shows only re-labelled parts
            parts = {part: mask for part, mask in parts.items() if part in names}
        return jpeg(draw_visual_prompt(pixels, parts, self.style, names))


BUILDER = FlatPackBench
