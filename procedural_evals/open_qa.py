"""What the builders of the two ProMQA benchmarks share: columns, media checks, splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import datasets

from procedural_evals import sources
from procedural_evals.builders import BenchmarkBuilder, checked_picture, checked_video


def features(question_types: Sequence[str], question_sources: Sequence[str]) -> datasets.Features:
    """The columns of a benchmark of open questions about a recording with a task graph.

    Times are seconds of the recording, as float64. `performed_steps` are those begun before
    `clip_end`; one that ends after it was still going on. A column is null where it is not known.
    """
    text = datasets.Value("string")
    return datasets.Features(
        {
            "id": text,
            "question": text,
            "answers": datasets.List(text),
            "question_type": datasets.ClassLabel(names=list(question_types)),
            "multimodal": datasets.Value("bool"),
            "procedural": datasets.Value("bool"),
            "source": datasets.ClassLabel(names=list(question_sources)),
            "toy": text,
            "sequence": text,
            "view": text,
            "clip_start": datasets.Value("float64"),
            "clip_end": datasets.Value("float64"),
            "video": datasets.Video(decode=False),
            "parts_image": datasets.Image(),
            "task_graph": text,
            "steps": datasets.List(
                {"id": text, "label": text, "fastening": datasets.Value("bool")}
            ),
            "precedence": datasets.List({"before": text, "after": text}),
            "performed_steps": datasets.List(
                {
                    "label": text,
                    "start": datasets.Value("float64"),
                    "end": datasets.Value("float64"),
                    "mistake": text,
                    "remark": text,
                }
            ),
            "problems": datasets.List(text),
            "revision": text,
        }
    )


class Layout(Protocol):
    """A folder with questions, read into rows."""

    @property
    def question_files(self) -> list[Path]:
        """The files with the questions; FileNotFoundError when there are none."""

    @property
    def graph_files(self) -> list[Path]:
        """The files with the task graphs."""

    def rows(self) -> list[dict[str, Any]]:
        """One dict a question, media as `sources.Media`."""


class OpenQuestionBuilder(BenchmarkBuilder):
    """A builder that reads a `Layout` into the split `test`."""

    def layout(self, folder: Path) -> Layout:
        """The layout of this benchmark, with the options of the configuration."""
        raise NotImplementedError

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        source = self.source()
        layout = self.layout(source.folder)
        # Read here: an error in a generator would reach the user as "an error occurred".
        rows = layout.rows()
        return [
            datasets.SplitGenerator(
                name=datasets.Split.TEST,
                gen_kwargs={"rows": rows, "revision": self._revision(source, layout)},
            )
        ]

    def _revision(self, source: sources.Source, layout: Layout) -> str:
        """Hub commits, and a digest of each file with questions or graphs."""
        return self.revision_of(source, *layout.question_files, *layout.graph_files)

    def _generate_examples(
        self, rows: list[dict[str, Any]], revision: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for row in rows:
            problems = list(row["problems"])
            video = checked_video(row["video"], problems)
            parts = row["parts_image"]
            if parts is not None:
                parts = checked_picture(parts, problems, "parts image")
            media = {"video": video, "parts_image": parts}
            yield row["id"], {**row, **media, "problems": problems, "revision": revision}
