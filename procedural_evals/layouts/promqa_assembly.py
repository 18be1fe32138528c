"""The file layout of ProMQA-Assembly (arXiv 2509.02949), read into rows.

The questions are read from the first of these that is there:

    all_v1.json, data/all_v1.json    as in the authors' GitHub repository
    TOY/test-*.parquet               as in their Hub repository, one configuration a toy
    qa_excerpt.json                  some of the same records

A record has toy_id, sequence_id, video {start, end} (or start and end), question, answers,
question_type, and may have multimodal, procedural and source. The task graphs likewise:

    graph/all.json, data/graph/all.json    a list, or an object with it under "examples"
    *.parquet, */*.parquet                 the Hub repository of the graphs (it has `nodes`)
    graph_excerpt.json

    parts/TOY-all.png, data/parts/...      the picture of the parts, also in parts/original/
    SEQUENCE/VIEW.mp4                      also in recordings/, videos/, or ../assembly101/
    annots/SEQUENCE.csv                    also in ../assembly101-mistakes/annots/
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from procedural_evals import sources
from procedural_evals.layouts import assembly101
from procedural_evals.layouts.assembly101 import DEFAULT_VIEW
from procedural_evals.layouts.promqa import (
    Record,
    Row,
    counts,
    differences,
    examples_of,
    first_file,
    flag,
    graph_columns,
    label,
    parsed,
    read_json,
    seconds,
    step_dependency,
    text,
    texts,
    unique,
)
from procedural_evals.task_graph import TaskGraph

QUESTION_TYPES = (
    "next",
    "missing",
    "order",
    "misadjustment",
    "past",
    "others (process)",
    "location",
    "others (step)",
)
SOURCES = ("machine", "human")

QUESTION_FILES = ("all_v1.json", "data/all_v1.json")
QUESTION_EXCERPT = "qa_excerpt.json"
GRAPH_FILES = ("graph/all.json", "data/graph/all.json")
GRAPH_EXCERPT = "graph_excerpt.json"
PARTS_FOLDERS = ("parts", "data/parts", "parts/original", "data/parts/original")

# The Hub repository of the questions embeds pictures: about 15 GB. Only its text is fetched.
HUB_QUESTIONS = "kimihiroh/promqa-assembly"
HUB_REPOS = (
    sources.HubRepo(HUB_QUESTIONS, ("README.md",)),
    sources.HubRepo("kimihiroh/assembly101-graph", ("*.parquet",)),
)
_FIELDS = (
    "toy_id",
    "sequence_id",
    "start",
    "end",
    "question",
    "answers",
    "question_type",
    "multimodal",
    "procedural",
    "source",
)

#: Counts that the paper prints of the whole dataset (tables 2 and 3, section A.3). The authors have
#: extended the file since: the all_v1.json of their repository holds more questions than these.
PUBLISHED: Mapping[str, Any] = {
    "questions": 391,
    "recordings": 201,
    "toys": 78,
    "question types": dict(
        zip(QUESTION_TYPES, (106, 55, 43, 34, 30, 12, 87, 24), strict=True),
    ),
    "multimodal procedural": 335,
    "sources": {"machine": 368, "human": 23},
    "answers a question": 1.8,
}


class PromqaAssemblyLayout:
    """One folder in the authors' layout, seen by one camera.

    Args:
        folder: the folder that holds the questions and the others.
        view: one of the twelve views of Assembly101.
    """

    def __init__(self, folder: Path, view: str = DEFAULT_VIEW) -> None:
        """Check the view; nothing is read yet."""
        assembly101.view_names(view)
        self.folder = folder
        self.view = view
        self._columns = lru_cache(maxsize=None)(self._graph_columns)
        self._recording = lru_cache(maxsize=None)(self._find_recording)
        self._parts = lru_cache(maxsize=None)(self._find_parts)
        self._mistakes = lru_cache(maxsize=None)(self._read_mistakes)

    @cached_property
    def question_files(self) -> list[Path]:
        """The file with the questions, or one a toy; FileNotFoundError when there is none."""
        file = first_file(self.folder, QUESTION_FILES)
        if file is not None:
            return [file]
        tables = [file for file in self._tables if "question" in _table_columns(file)]
        if tables:
            return tables
        file = first_file(self.folder, [QUESTION_EXCERPT])
        if file is not None:
            return [file]
        looked_for = ", ".join((*QUESTION_FILES, "*/test-*.parquet", QUESTION_EXCERPT))
        raise FileNotFoundError(
            f"ProMQA-Assembly: no questions in {self.folder}; looked for {looked_for}"
        )

    @property
    def whole(self) -> bool:
        """Whether these are all questions, as far as the file's name says."""
        return self.question_files[0].name != QUESTION_EXCERPT

    @cached_property
    def graph_files(self) -> list[Path]:
        """The file with the task graphs, or several tables; empty when there is none."""
        file = first_file(self.folder, GRAPH_FILES)
        if file is not None:
            return [file]
        tables = [file for file in self._tables if "nodes" in _table_columns(file)]
        file = first_file(self.folder, [GRAPH_EXCERPT])
        return tables or ([file] if file else [])

    @cached_property
    def _tables(self) -> list[Path]:
        return sorted([*self.folder.glob("*.parquet"), *self.folder.glob("*/*.parquet")])

    @cached_property
    def graphs(self) -> dict[str, TaskGraph]:
        """The task graph of each toy; ValueError, which names file and toy, for a damaged one."""
        graphs: dict[str, TaskGraph] = {}
        for file in self.graph_files:
            records = read_graphs(file)
            for toy, graph in parsed(
                records, lambda r: (text(r, "toy_id"), TaskGraph.from_assembly(r)), file
            ):
                if toy in graphs:
                    raise ValueError(f"{file}: toy {toy} has two graphs")
                graphs[toy] = graph
        return graphs

    def rows(self) -> list[Row]:
        """One dict a question, in the files' order; media as `sources.Media`.

        Raises FileNotFoundError when there are no questions, ValueError for a record that cannot
        be read; both name the file. What is missing beside them is named in `problems`.
        """
        self.graphs  # noqa: B018  (read first, so that their errors do not look like a question's)
        return unique(
            (
                row
                for file in self.question_files
                for row in parsed(read_questions(file), self._row, file)
            ),
            self.question_files[0],
        )

    def _row(self, record: Record) -> Row:
        toy, sequence = text(record, "toy_id"), text(record, "sequence_id")
        clip = record.get("video", record)
        if not isinstance(clip, Mapping):
            raise ValueError(f"video is {clip!r}; an object with start and end is needed")
        start, end = seconds(clip, "start"), seconds(clip, "end")
        if end <= start:
            raise ValueError(f"the clip ends at {end} s, not after its start at {start} s")
        question = text(record, "question")
        question_type = label(record, "question_type", QUESTION_TYPES)
        view, video = self._recording(sequence)
        performed, problems = self._performed(sequence, end)
        columns, graph_problem = self._columns(toy)
        return {
            "id": question_id(sequence, question_type, start, end, question),
            "question": question,
            "answers": texts(record, "answers"),
            "question_type": question_type,
            "multimodal": flag(record, "multimodal"),
            "procedural": flag(record, "procedural"),
            "source": label(record, "source", SOURCES) if record.get("source") else None,
            "toy": toy,
            "sequence": sequence,
            "view": view,
            "clip_start": start,
            "clip_end": end,
            "video": video,
            "parts_image": self._parts(toy),
            **columns,
            "performed_steps": performed,
            "problems": [*([graph_problem] if graph_problem else []), *problems],
        }

    def _graph_columns(self, toy: str) -> tuple[Row, str | None]:
        graph = self.graphs.get(toy)
        places = [str(file.relative_to(self.folder)) for file in self.graph_files]
        problem = None
        if graph is None:
            problem = (
                f"task graph missing: toy {toy} is not in {places[0]}"
                if places
                else f"task graph missing: no {GRAPH_FILES[0]}"
            )
        return graph_columns(graph), problem

    def find_graph(self, toy: str) -> sources.Media:
        """The file that holds the toy's task graph, or what is missing."""
        names = [str(file.relative_to(self.folder)) for file in self.graph_files]
        place = f"the graph of toy {toy} in {', '.join(names[:1]) or GRAPH_FILES[0]}"
        if toy not in self.graphs:
            return sources.missing((place,))
        return sources.Media(self.folder / names[0], None, (place,))

    def _find_recording(self, sequence: str) -> tuple[str, sources.Media]:
        """The name of the view, as the file has it, and the file."""
        media = assembly101.find_recording(self.folder, sequence, self.view)
        return (media.path.stem if media.path else self.view), media

    def _find_parts(self, toy: str) -> sources.Media:
        return sources.find_media(
            self.folder, [f"{folder}/{toy}-all.png" for folder in PARTS_FOLDERS]
        )

    def _read_mistakes(
        self, sequence: str
    ) -> tuple[assembly101.MistakeAnnotations | None, list[str]]:
        media = assembly101.find_mistakes(self.folder, sequence)
        if media.path is None:
            return None, [f"performed steps {media.problem}"]
        annotations = assembly101.read_mistakes(media.path)
        return annotations, [f"step annotation: {oddity}" for oddity in annotations.oddities]

    def _performed(self, sequence: str, time: float) -> tuple[list[Row] | None, list[str]]:
        annotations, problems = self._mistakes(sequence)
        if annotations is None:
            return None, problems
        return [step._asdict() for step in annotations.until(time)], problems


def question_id(sequence: str, question_type: str, start: float, end: float, question: str) -> str:
    """A name of the question that depends on what is asked about which clip, and on nothing else.

    >>> question_id("s", "next", 1.0, 2.5, "What now?")
    's/next/27117b8e7a'
    """
    content = json.dumps([f"{start:.3f}", f"{end:.3f}", question])
    return f"{sequence}/{question_type}/{hashlib.sha256(content.encode()).hexdigest()[:10]}"


def _table_columns(file: Any) -> list[str]:
    import pyarrow
    from pyarrow import parquet

    try:
        return list(parquet.ParquetFile(file).schema_arrow.names)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise ValueError(f"{file}: not a Parquet file: {error}") from error


def read_questions(file: Path) -> list[Record]:
    """The records of a JSON or Parquet file of questions."""
    if file.suffix == ".parquet":
        return question_columns(file)
    return examples_of(read_json(file), file)


def read_graphs(file: Path) -> list[Record]:
    """The records of a JSON or Parquet file of task graphs."""
    if file.suffix == ".parquet":
        from pyarrow import parquet

        table = parquet.ParquetFile(file).read(columns=["toy_id", "nodes", "edges"])
        return list(table.to_pylist())
    return examples_of(read_json(file), file)


def question_columns(file: Any) -> list[Record]:
    """The text columns of a table of questions (a path or an open file), and no pictures."""
    from pyarrow import parquet, types

    table = parquet.ParquetFile(file)
    schema = table.schema_arrow
    wanted = [name for name in _FIELDS if name in schema.names]
    video = schema.field("video").type if "video" in schema.names else None
    if video is not None and types.is_struct(video):
        wanted += [f"video.{name}" for name in ("start", "end") if video.get_field_index(name) >= 0]
    return [
        {key: value for key, value in record.items() if value is not None}
        for record in table.read(columns=wanted).to_pylist()
    ]


def fetch_questions(repo: str, revision: str, file: Path, filesystem: Any = None) -> None:
    """Write the questions of a Hub revision as JSON, reading only their text over the network.

    Args:
        repo: the dataset repository, one folder with one table a toy.
        revision: commit.
        file: the JSON file to write; it appears only when it is complete.
        filesystem: an fsspec file system in which `datasets/REPO@REVISION` lies, instead of the
            Hub's.
    """
    if filesystem is None:
        from huggingface_hub import HfFileSystem

        filesystem = HfFileSystem()
    tables = sorted(filesystem.glob(f"datasets/{repo}@{revision}/*/test-*.parquet"))
    if not tables:
        raise FileNotFoundError(f"{repo}@{revision} has no */test-*.parquet")

    def read(path: str) -> list[Record]:
        # A small block: the tables are large, the text in them is not.
        with filesystem.open(path, "rb", block_size=2**18) as stream:
            return question_columns(stream)

    with ThreadPoolExecutor(8) as pool:
        records = [record for table in pool.map(read, tables) for record in table]
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(records), encoding="utf-8")
    part.replace(file)


def media_files(folder: Path) -> Iterator[tuple[str, sources.Media]]:
    """Questions, and each recording, picture, graph and step annotation that they need, once.

    Recordings by other cameras than the default one are not needed, but known when they are there.
    """
    layout = PromqaAssemblyLayout(folder)
    rows = layout.rows()
    for file in layout.question_files:
        yield "annotations", sources.find_media(folder, [str(file.relative_to(folder))])
    for toy in dict.fromkeys(row["toy"] for row in rows):
        yield "task graph", layout.find_graph(toy)
    for sequence, media in {row["sequence"]: row["video"] for row in rows}.items():
        yield "video", media
        yield "step annotation", assembly101.find_mistakes(folder, sequence)
        for other in assembly101.other_views(folder, sequence, DEFAULT_VIEW):
            yield "video from another view", other
    for media in {row["toy"]: row["parts_image"] for row in rows}.values():
        yield "parts image", media


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """What the paper counts, and the step dependency of the graphs that are there."""
    return {
        **counts(rows, QUESTION_TYPES),
        "toys": len({row["toy"] for row in rows}),
        "multimodal procedural": sum(
            row["multimodal"] is True and row["procedural"] is not False for row in rows
        ),
        "sources": dict(Counter(row["source"] for row in rows)),
        "answers a question": round(
            sum(len(row["answers"]) for row in rows) / max(len(rows), 1), 1
        ),
        "step dependency": step_dependency(rows),
    }


def check_figures(rows: Sequence[Row]) -> list[str]:
    """A line for each figure of the paper that these rows do not give; empty for its release."""
    return differences(figures(rows), PUBLISHED)
