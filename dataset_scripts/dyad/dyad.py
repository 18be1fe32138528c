"""DYAD: what is being done, will the helper speak or act, and what should be said.

load_dataset("dyad", "steps")           a row a second with its step; validation and test sessions
load_dataset("dyad", "mode")            a row an intervention with its mode and fold
load_dataset("dyad", "response")        a row a question with its context; validation and test
load_dataset("dyad", "steps_sample")    simulated, embedded; also mode_sample, response_sample
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets

from procedural_evals import sources
from procedural_evals.builders import (
    BenchmarkBuilder,
    BenchmarkConfig,
    checked_picture,
    checked_video,
)
from procedural_evals.dyad import media, rows
from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.manifests import count_differences
from procedural_evals.dyad.records import Corpus, Session
from procedural_evals.dyad.vocabulary import MODES, STEPS

_TEXT, _NUMBER = datasets.Value("string"), datasets.Value("float64")
_TEXTS, _FRAME = datasets.List(_TEXT), datasets.Value("int64")
_COMMON = {
    "id": _TEXT,
    "session": _TEXT,
    "participant": _TEXT,
    "video": datasets.Video(decode=False),
    "clip_start": _NUMBER,
    "clip_end": _NUMBER,
    "problems": _TEXTS,
    "revision": _TEXT,
}
_WINDOW = {"start": _NUMBER, "end": _NUMBER}

FEATURES = {
    "steps": {
        **_COMMON,
        "time": _NUMBER,
        "label": datasets.ClassLabel(names=list(STEPS)),
        "frames": datasets.List(_FRAME),
    },
    "mode": {
        **_COMMON,
        **_WINDOW,
        "mode": datasets.ClassLabel(names=list(MODES)),
        "fold": datasets.Value("int64"),
        "first_frame": _FRAME,
        "stop_frame": _FRAME,
    },
    "response": {
        **_COMMON,
        **_WINDOW,
        "assistance_id": _TEXT,
        "question": _TEXT,
        "answers": _TEXTS,
        "procedure": _TEXTS,
        "parts": _TEXTS,
        "common_errors": _TEXTS,
        "steps": datasets.List({"step": _TEXT, "status": _TEXT, "objects": _TEXTS}),
        "dialogue": datasets.List({"speaker": _TEXT, "text": _TEXT}),
        "interventions": datasets.List({"trigger": _TEXT, "objects": _TEXTS}),
        "reference_image": _TEXT,
        "parts_image": datasets.Image(),
    },
}


@dataclass
class DyadConfig(BenchmarkConfig):
    """Which table, and whether an export that cannot be read in full is an error."""

    table: str = ""
    strict: bool = True


class Dyad(BenchmarkBuilder):
    """20 sessions of a performer and a helper at one gearbox, in the layout of `dyad.layout`."""

    NAME = "dyad"
    MARKERS = (("task.json", "sessions"),)
    MEDIA_HINT = """\
  The recordings are not public yet. Bring an export into the layout of the dataset card
  (dataset_scripts/dyad/README.md), and put it into $PROCEDURAL_EVALS_DATA/dyad."""
    BUILDER_CONFIG_CLASS = DyadConfig
    BUILDER_CONFIGS = [  # noqa: RUF012  (the library's own name and form)
        *(DyadConfig(name=table, table=table) for table in rows.TABLES),
        *(DyadConfig(name=f"{table}_sample", table=table, sample=True) for table in rows.TABLES),
        DyadConfig(name="sample", table="steps", sample=True),
    ]

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """The ego video of each session, and the reference picture."""
        corpus = load_corpus(folder, strict=False)
        for session in corpus.sessions:
            yield "video", sources.find_media(folder, [rows.video_file(session.id)])
        if corpus.task.reference_image is not None:
            yield "parts image", sources.find_media(folder, [corpus.task.reference_image])

    def video_file(self, row: Mapping[str, Any]) -> str:
        """The session's video below $PROCEDURAL_EVALS_DATA."""
        return f"{self.NAME}/{rows.video_file(row['session'])}"

    @classmethod
    def deviations(cls, folder: Path) -> list[str]:
        """Where a recorded corpus differs from its published counts, and a video from its times."""
        corpus = load_corpus(folder, strict=False)
        clocks = (media.video_problem(session) for session in corpus.sessions)
        return [
            *count_differences(corpus),
            *(p for p in clocks if p and not p.startswith("missing")),
        ]

    def source(self) -> sources.Source:
        """The folder to read; there is nothing to download."""
        config = self.config
        if not config.sample and sources.local_folder(self.NAME, self.data_folder) is None:
            raise sources.SourceNotFoundError(
                f"{self.NAME}: no data_dir was given, and ${sources.DATA_VARIABLE}/{self.NAME} is "
                f"no folder.\n{self.MEDIA_HINT}\nThe embedded sample is there: "
                f'load_dataset("{self.NAME}", "{config.table}_sample").'
            )
        return super().source()

    def _info(self) -> datasets.DatasetInfo:
        if self.config.table not in FEATURES:
            raise ValueError(
                f"{self.NAME}: table {self.config.table!r}; one of {', '.join(FEATURES)} is "
                f'needed, as in load_dataset("{self.NAME}", "steps")'
            )
        return datasets.DatasetInfo(
            description=__doc__,
            features=datasets.Features(FEATURES[self.config.table]),
            homepage="https://arxiv.org/abs/2609.09023",
            license="recordings: controlled access; simulated sample: Apache-2.0",
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        source = self.source()
        # Read here: an error in a generator would reach the user as "an error occurred".
        corpus = load_corpus(source.folder, strict=self.config.strict)
        differences = "; ".join(count_differences(corpus))
        if differences:
            warnings.warn(f"{self.NAME} in {source.folder}: {differences}", stacklevel=2)
        videos = {session.id: _video(corpus, session) for session in corpus.sessions}
        revision = f"{source.origin}:{self.NAME}@{rows.annotation_digest(source.folder)}"
        shared = {"folder": source.folder, "videos": videos, "revision": revision}
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"examples": examples, **shared})
            for split, examples in rows.TABLES[self.config.table](corpus).items()
        ]

    def _generate_examples(
        self,
        examples: list[dict[str, Any]],
        folder: Path,
        videos: dict[str, tuple[str | None, list[str]]],
        revision: str,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for row in examples:
            path, found = videos[row["session"]]
            problems = list(found)
            more = {"video": path, "problems": problems, "revision": revision}
            if self.config.table == "response":
                more["parts_image"] = None
                if row["reference_image"] is not None:
                    picture = sources.find_media(folder, [row["reference_image"]])
                    more["parts_image"] = checked_picture(picture, problems, "parts image")
            yield row["id"], {**row, **more}


def _video(corpus: Corpus, session: Session) -> tuple[str | None, list[str]]:
    """Path of the session's video where it may be shown, and what is wrong with it otherwise."""
    problems: list[str] = []
    path = checked_video(sources.find_media(corpus.root, [rows.video_file(session.id)]), problems)
    reason = media.video_problem(session) if path is not None else None
    if reason is not None:
        problems.append(f"video not on the session's clock: {reason}")
        path = None
    return path, problems


BUILDER = Dyad
