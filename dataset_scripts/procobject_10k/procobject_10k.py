"""ProcObject-10K: open questions on how objects change, with the time spans that show it.

load_dataset("procobject-10k")               splits train and test of the release
load_dataset("procobject-10k", "excerpt")    ten published examples with four models' answers
load_dataset("procobject-10k", "sample")     simulated, embedded
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets

from procedural_evals import sources, video
from procedural_evals.builders import BenchmarkBuilder, BenchmarkConfig, checked_video, per_version
from procedural_evals.layouts.procobject_10k import (
    HUB_REPOS,
    QUESTION_TYPES,
    REASONINGS,
    VIEWS,
    ProcObjectLayout,
    check_figures,
    is_whole,
    media_files,
)

_SPANS = datasets.List({"start": datasets.Value("float64"), "end": datasets.Value("float64")})

FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "video": datasets.Video(decode=False),
        "video_path": datasets.Value("string"),
        "clip_start": datasets.Value("float64"),
        "clip_end": datasets.Value("float64"),
        "question": datasets.Value("string"),
        "answers": datasets.List(datasets.Value("string")),
        "question_type": datasets.ClassLabel(names=list(QUESTION_TYPES.values())),
        "reasoning": datasets.ClassLabel(names=list(REASONINGS.values())),
        "view": datasets.ClassLabel(names=list(VIEWS.values())),
        "domain": datasets.Value("string"),
        "task": datasets.Value("string"),
        "source": datasets.Value("string"),
        "evidence": _SPANS,
        "problems": datasets.List(datasets.Value("string")),
        "revision": datasets.Value("string"),
    }
)

EXCERPT_FEATURES = datasets.Features(
    {
        **FEATURES,
        "published": datasets.List(
            {
                "model": datasets.Value("string"),
                "answer": datasets.Value("string"),
                "evidence": _SPANS,
                "iou": datasets.Value("float64"),
            }
        ),
        "published_blind": datasets.Value("string"),
    }
)


@dataclass
class ProcObjectConfig(BenchmarkConfig):
    """The release, or the published examples with the answers of four models."""

    excerpt: bool = False


class ProcObject10K(BenchmarkBuilder):
    """10,522 open questions over 1,799 videos, each with one or more spans of evidence."""

    NAME = "procobject-10k"
    MARKERS = (("data/training.json",), ("data/testing.json",), ("explorer_excerpt.json",))
    HUB_REPOS = HUB_REPOS
    BUILDER_CONFIG_CLASS = ProcObjectConfig
    BUILDER_CONFIGS = [  # noqa: RUF012  (the library's own name and form)
        ProcObjectConfig(name="default"),
        ProcObjectConfig(name="excerpt", excerpt=True),
        ProcObjectConfig(name="sample", sample=True),
    ]
    DEFAULT_CONFIG_NAME = "default"

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """Every recording that a question of either split names."""
        yield from media_files(folder)

    def video_file(self, row: Mapping[str, Any]) -> str:
        """The row's recording below $PROCEDURAL_EVALS_DATA."""
        folder = self.NAME if self.config.excerpt else f"{self.NAME}/videos"
        return f"{folder}/{row['video_path']}"

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=__doc__,
            features=EXCERPT_FEATURES if self.config.excerpt else FEATURES,
            homepage="https://wenliangguo.github.io/ProcObject-10K-Page/",
            license="CC BY-NC 4.0; videos: as CaptainCook4D, COIN, EgoPER and HoloAssist say",
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        source = self.source()
        layout = ProcObjectLayout(source.folder, self.config.excerpt)
        # Read here: an error in a generator would reach the user as "an error occurred".
        splits = layout.splits()
        if is_whole(splits):
            for difference in check_figures(splits):
                warnings.warn(f"{self.NAME} in {source.folder}: {difference}", stacklevel=2)
        return [
            datasets.SplitGenerator(
                name=split,
                gen_kwargs={"rows": splits[split], "revision": self.revision_of(source, file)},
            )
            for split, file in layout.files().items()
        ]

    def _generate_examples(
        self, rows: list[dict[str, Any]], revision: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for row in rows:
            problems = list(row["problems"])
            path = checked_video(row["video"], problems)
            length = _duration(Path(path)) if path is not None else None
            if length is not None and row["clip_start"] >= length:
                problems.append(
                    f"video too short: {row['video_path']} lasts {length:.2f} s, the clip "
                    f"begins at {row['clip_start']:.2f} s"
                )
                path = None
            yield row["id"], row | {"video": path, "problems": problems, "revision": revision}


@per_version
def _duration(path: Path) -> float:
    return video.probe(path).duration


BUILDER = ProcObject10K
