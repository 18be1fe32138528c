"""ProMQA: open questions about cooking, with the recipe as a task graph and the steps so far.

load_dataset("promqa-cooking")

The columns are those of promqa-assembly: `toy` is the recipe, `sequence` the recording.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets

from procedural_evals import sources
from procedural_evals.builders import BenchmarkConfig
from procedural_evals.layouts import promqa
from procedural_evals.layouts.promqa_cooking import (
    QUESTION_TYPES,
    RECORDINGS,
    PromqaCookingLayout,
    check_figures,
    media_files,
)
from procedural_evals.open_qa import OpenQuestionBuilder, features


class PromqaCooking(OpenQuestionBuilder):
    """401 questions about 231 recordings of 24 recipes."""

    NAME = "promqa-cooking"
    MARKERS = (("examples.json", "graphs.json"), ("data/examples.json", "data/graphs.json"))
    MEDIA_HINT = """\
  git clone https://github.com/kimihiroh/promqa $PROCEDURAL_EVALS_DATA/promqa-cooking
  The recordings are CaptainCook4D's: fetch them with
  https://github.com/CaptainCook4D/downloader (download_gopro_data.py --resolution360p) into
  $PROCEDURAL_EVALS_DATA/captaincook4d/gopro/resolution_360p/."""
    BUILDER_CONFIGS = [BenchmarkConfig(name="default")]  # noqa: RUF012  (the library's own form)
    DEFAULT_CONFIG_NAME = "default"

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """The recording of every question."""
        yield from media_files(folder)

    def video_file(self, row: Mapping[str, Any]) -> str:
        """The row's recording below $PROCEDURAL_EVALS_DATA, in the smallest size."""
        return f"{RECORDINGS}/gopro/resolution_360p/{row['sequence']}_360p.mp4"

    @classmethod
    def beside(cls, folder: Path) -> list[Path]:
        """The recordings, which other benchmarks use as well."""
        return [root / RECORDINGS for root in promqa.data_roots(folder)]

    @classmethod
    def deviations(cls, folder: Path) -> list[str]:
        """Where the questions differ from the published figures."""
        return check_figures(PromqaCookingLayout(folder).rows())

    def source(self) -> sources.Source:
        """The folder to read; there is no Hub repository to download it from."""
        if sources.local_folder(self.NAME, self.data_folder) is None:
            raise sources.SourceNotFoundError(
                f"{self.NAME}: no data_dir was given and ${sources.DATA_VARIABLE}/{self.NAME} is "
                f"no folder. Get the files with:\n{self.MEDIA_HINT}"
            )
        return super().source()

    def layout(self, folder: Path) -> PromqaCookingLayout:
        """The authors' layout."""
        return PromqaCookingLayout(folder)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=__doc__,
            features=features(QUESTION_TYPES, ("machine", "human")),
            homepage="https://github.com/kimihiroh/promqa",
            license="task graphs: Apache-2.0; questions: mixed",
        )


BUILDER = PromqaCooking
