"""ProMQA-Assembly: open questions about toy assembly, with a task graph and a parts picture.

load_dataset("promqa-assembly")                         seen from above, as the authors run it
load_dataset("promqa-assembly", view="C10118_rgb")      any of Assembly101's twelve views
load_dataset("promqa-assembly", "sample")               simulated, embedded
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets

from procedural_evals import sources
from procedural_evals.builders import BenchmarkConfig
from procedural_evals.layouts import assembly101, promqa
from procedural_evals.layouts.promqa_assembly import (
    HUB_QUESTIONS,
    HUB_REPOS,
    QUESTION_FILES,
    QUESTION_TYPES,
    SOURCES,
    PromqaAssemblyLayout,
    check_figures,
    fetch_questions,
    media_files,
)
from procedural_evals.open_qa import OpenQuestionBuilder, features


@dataclass
class PromqaAssemblyConfig(BenchmarkConfig):
    """Which of the twelve cameras the recordings are from."""

    view: str = assembly101.DEFAULT_VIEW


class PromqaAssembly(OpenQuestionBuilder):
    """391 questions about 201 recordings of people who assemble 78 toys."""

    NAME = "promqa-assembly"
    MARKERS = (("all_v1.json",), ("data/all_v1.json",), ("qa_excerpt.json",))
    HUB_REPOS = HUB_REPOS
    MEDIA_HINT = """\
  or, instead of these about 15 GB, with questions, graphs, parts pictures and step annotations:
  git clone https://github.com/kimihiroh/promqa-assembly $PROCEDURAL_EVALS_DATA/promqa-assembly
  git clone https://github.com/assembly-101/assembly101-mistake-detection \
$PROCEDURAL_EVALS_DATA/assembly101-mistakes
  The recordings are Assembly101's: ask for them at https://assembly-101.github.io and put them into
  $PROCEDURAL_EVALS_DATA/assembly101/SEQUENCE/VIEW.mp4."""
    BUILDER_CONFIG_CLASS = PromqaAssemblyConfig
    BUILDER_CONFIGS = [  # noqa: RUF012  (the library's own name and form)
        PromqaAssemblyConfig(name="default"),
        PromqaAssemblyConfig(name="sample", sample=True),
    ]
    DEFAULT_CONFIG_NAME = "default"

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """Recordings, step annotations and parts pictures of all questions."""
        yield from media_files(folder)

    def video_file(self, row: Mapping[str, Any]) -> str:
        """The row's recording below $PROCEDURAL_EVALS_DATA."""
        return f"{assembly101.RECORDINGS}/{row['sequence']}/{row['view']}.mp4"

    @classmethod
    def beside(cls, folder: Path) -> list[Path]:
        """The recordings and the step annotations, which other benchmarks use as well."""
        names = (assembly101.RECORDINGS, assembly101.ANNOTATIONS)
        return [root / name for root in promqa.data_roots(folder) for name in names]

    @classmethod
    def deviations(cls, folder: Path) -> list[str]:
        """Where the questions, if they are not the excerpt, differ from the paper's figures."""
        layout = PromqaAssemblyLayout(folder)
        return check_figures(layout.rows()) if layout.whole else []

    def source(self) -> sources.Source:
        """The folder to read; of a Hub download, the text alone."""
        source = super().source()
        file = source.folder / QUESTION_FILES[0]
        if source.revisions and not file.is_file():
            try:
                fetch_questions(HUB_QUESTIONS, source.revisions[HUB_QUESTIONS], file)
            except OSError as error:  # the Hub's errors are of this kind
                raise sources.SourceNotFoundError(
                    f"{self.NAME}: reading the questions of {HUB_QUESTIONS} failed ({error}). "
                    f"Get the files with:\n{self.MEDIA_HINT}"
                ) from error
        return source

    def layout(self, folder: Path) -> PromqaAssemblyLayout:
        """The authors' layout, seen by the chosen camera."""
        return PromqaAssemblyLayout(folder, self.config.view)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=__doc__,
            features=features(QUESTION_TYPES, SOURCES),
            homepage="https://github.com/kimihiroh/promqa-assembly",
            license="parts pictures and step annotations: CC BY-NC 4.0; questions: mixed",
        )


BUILDER = PromqaAssembly
