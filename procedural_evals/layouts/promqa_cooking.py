"""The file layout of ProMQA (NAACL 2025; cooking), read into the same rows as ProMQA-Assembly.

    examples.json, data/examples.json    questions, and the steps performed before them
    graphs.json, data/graphs.json        {activity id: {name, steps, edges}}

The recordings are CaptainCook4D's. They are looked for as RECORDING_360p.mp4, RECORDING_4K.mp4
and RECORDING.mp4, in this folder and beside it in captaincook4d/, and there also in
gopro/resolution_360p/, gopro/resolution_4k/, resolution_360p/, resolution_4k/ and recordings/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from procedural_evals import sources
from procedural_evals.layouts.promqa import (
    Record,
    Row,
    counts,
    data_roots,
    differences,
    examples_of,
    find_in,
    first_file,
    graph_columns,
    label,
    parsed,
    read_json,
    step_dependency,
    text,
    texts,
    unique,
)
from procedural_evals.task_graph import TaskGraph

QUESTION_TYPES = (
    "next",
    "missing",
    "timing",
    "order",
    "measurement",
    "preparation",
    "temperature",
    "technique",
)
QUESTION_FILES = ("examples.json", "data/examples.json")
GRAPH_FILES = ("graphs.json", "data/graphs.json")
RECORDINGS = "captaincook4d"
VIEW = "gopro"

_RESOLUTIONS = (("360p", "360p"), ("4k", "4K"))
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d)", re.ASCII)
_STARTED = -1  # the "step" of a question that is asked before anything was done

#: Counts of the whole dataset (ProMQA-Assembly, table 4; step dependency is printed there as 0.8).
PUBLISHED: Mapping[str, Any] = {
    "questions": 401,
    "recordings": 231,
    "recipes": 24,
    "question types": dict(
        zip(QUESTION_TYPES, (158, 148, 25, 20, 17, 14, 10, 9), strict=True),
    ),
    "step dependency": 0.775,
}


class PromqaCookingLayout:
    """One folder in the authors' layout.

    Args:
        folder: the folder that holds `examples.json` and `graphs.json`, or `data/` with them.
    """

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet."""
        self.folder = folder
        self._columns = lru_cache(maxsize=None)(lambda key: graph_columns(self.graphs[key]))
        self._recording = lru_cache(maxsize=None)(self.find_recording)

    @property
    def question_files(self) -> list[Path]:
        """The file with the questions; FileNotFoundError when it is not there."""
        return [self._needed(QUESTION_FILES)]

    @property
    def graph_files(self) -> list[Path]:
        """The file with the task graphs; FileNotFoundError when it is not there."""
        return [self._needed(GRAPH_FILES)]

    @property
    def whole(self) -> bool:
        """Whether these are all questions: the authors publish one file."""
        return True

    def _needed(self, names: Sequence[str]) -> Path:
        file = first_file(self.folder, names)
        if file is None:
            raise FileNotFoundError(f"ProMQA (cooking): no {' or '.join(names)} in {self.folder}")
        return file

    @cached_property
    def graphs(self) -> dict[str, TaskGraph]:
        """The task graph of each activity id; ValueError, which names it, for a damaged one."""
        (file,) = self.graph_files
        content = read_json(file)
        if not isinstance(content, dict):
            raise ValueError(f"{file}: no object of activity id -> graph")
        return dict(
            zip(content, parsed(content.values(), TaskGraph.from_cooking, file), strict=True)
        )

    def rows(self) -> list[Row]:
        """One dict a question, in the file's order; media as `sources.Media`.

        Raises FileNotFoundError when a file is not there, ValueError for a record that cannot be
        read; both name the file.
        """
        (file,) = self.question_files
        records = examples_of(read_json(file), file)
        self.graphs  # noqa: B018  (read first, so that their errors do not look like a question's)
        return unique(parsed(records, self._row, file), file)

    def _row(self, record: Record) -> Row:
        recording = text(record, "recording_id")
        activity = recording.partition("_")[0]
        if activity not in self.graphs:
            raise ValueError(
                f"recording {recording!r} is of activity {activity!r}, without a graph"
            )
        graph = self.graphs[activity]
        if text(record, "activity_name") != graph.name.removeprefix("recipe "):
            raise ValueError(
                f"activity_name is {record['activity_name']!r}; {activity} is {graph.name}"
            )
        end = _clock(text(record, "end_time"))
        steps = [*record["previous_steps"], record["current_step"]]
        if not all(isinstance(step, Mapping) for step in steps):
            raise ValueError("previous_steps or current_step holds something that is no object")
        known = {step.id for step in graph.steps}
        return {
            "id": text(record, "question_id"),
            "question": text(record, "question"),
            "answers": texts(record, "answers"),
            "question_type": label(record, "type", QUESTION_TYPES),
            "multimodal": None,
            "procedural": None,
            "source": None,
            "toy": record["activity_name"],
            "sequence": recording,
            "view": VIEW,
            "clip_start": 0.0,
            "clip_end": end,
            "video": self._recording(recording),
            "parts_image": None,
            **self._columns(activity),
            "performed_steps": [
                _performed(step, known) for step in steps if step["step_id"] != _STARTED
            ],
            "problems": [],
        }

    def find_recording(self, recording: str) -> sources.Media:
        """The recording by the head camera, in the smallest size that is there."""
        names = [f"{recording}_{tag}.mp4" for _, tag in _RESOLUTIONS] + [f"{recording}.mp4"]
        own = [f"{place}{name}" for place in ("", "recordings/", "videos/") for name in names]
        upstream = [
            f"{top}resolution_{folder}/{recording}_{tag}.mp4"
            for top in ("gopro/", "")
            for folder, tag in _RESOLUTIONS
        ]
        beside = [f"{RECORDINGS}/{name}" for name in (*upstream, *own)]
        return find_in([(self.folder, own), *((root, beside) for root in data_roots(self.folder))])


def _clock(value: str) -> float:
    match = _CLOCK.fullmatch(value)
    if match is None:
        raise ValueError(f"end_time is {value!r}; HH:MM:SS is needed")
    hours, minutes, seconds = map(int, match.groups())
    time = float(hours * 3600 + minutes * 60 + seconds)
    if time == 0:
        raise ValueError("end_time is 0 s, so the clip has no length")
    return time


def _performed(step: Record, known: set[str]) -> Row:
    """A performed step: what was done, and in which ways it was wrong. There are no times."""
    if str(step["step_id"]) not in known:
        raise ValueError(f"step {step['step_id']!r} is not in the recipe")
    errors = [f"{text(e, 'tag')}: {text(e, 'description')}" for e in step.get("errors") or ()]
    return {
        "label": text(step, "description"),
        "start": None,
        "end": None,
        "mistake": "mistake" if errors else "correct",
        "remark": "; ".join(errors) or None,
    }


def media_files(folder: Path) -> Iterator[tuple[str, sources.Media]]:
    """Questions and task graphs, and each recording that a question needs, once."""
    layout = PromqaCookingLayout(folder)
    rows = layout.rows()
    for kind, files in (("annotations", layout.question_files), ("task graph", layout.graph_files)):
        for file in files:
            yield kind, sources.find_media(folder, [str(file.relative_to(folder))])
    for media in {row["sequence"]: row["video"] for row in rows}.values():
        yield "video", media


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """What table 4 counts, and the step dependency to three digits."""
    dependency = step_dependency(rows)
    return {
        **counts(rows, QUESTION_TYPES),
        "recipes": len({row["toy"] for row in rows}),
        "step dependency": None if dependency is None else round(dependency, 3),
    }


def check_figures(rows: Sequence[Row]) -> list[str]:
    """A line for each published figure that these rows do not give; empty for the whole data."""
    return differences(figures(rows), PUBLISHED)
