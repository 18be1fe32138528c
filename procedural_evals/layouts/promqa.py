"""What the files of ProMQA-Assembly and of ProMQA (cooking) have in common: records as JSON.

The readers take one field each and raise ValueError (or KeyError) that says what is wrong with it;
`parsed` adds the file and the record. Nothing is repaired: a damaged annotation file is an error.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from procedural_evals import sources
from procedural_evals.task_graph import TaskGraph

Record = Mapping[str, Any]
Row = dict[str, Any]
T = TypeVar("T")

#: What reading a field of a damaged record may raise; numbers that fit nowhere overflow.
RECORD_ERRORS = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_json(file: Path) -> Any:
    """The content of a JSON file; ValueError that names the file, and the place if there is one."""
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file}: not JSON: {error}") from error


def first_file(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these files that is in the folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def examples_of(content: Any, file: Path) -> list[Record]:
    """The records of a list, or of an object that has them under `examples`."""
    records = content.get("examples") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise ValueError(f'{file}: neither a list of records nor an object with "examples"')
    return records


def parsed(records: Iterable[Any], parse: Callable[[Record], T], file: Path) -> Iterator[T]:
    """`parse` of every record; its errors name the file and the record, counted from 1."""
    for number, record in enumerate(records, 1):
        try:
            if not isinstance(record, Mapping):
                raise ValueError(f"{record!r} is no object")
            yield parse(record)
        except RECORD_ERRORS as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{file}, record {number}: {reason}") from error


def text(record: Record, key: str) -> str:
    """A text that says something."""
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is {value!r}; a text is needed")
    return value


def texts(record: Record, key: str) -> list[str]:
    """At least one text, in the order given."""
    value = record[key]
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(f"{key} is {value!r}; a list of at least one text is needed")
    return [text({key: each}, key) for each in value]


def label(record: Record, key: str, names: Sequence[str]) -> str:
    """One of the names."""
    value = record[key]
    if value not in names:
        raise ValueError(f"{key} is {value!r}; it must be one of {', '.join(names)}")
    return str(value)


def flag(record: Record, key: str) -> bool | None:
    """True, False, or None where the record does not say."""
    value = record.get(key)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{key} is {value!r}; it must be true or false")
    return value


def seconds(record: Record, key: str) -> float:
    """A time in seconds, finite and not negative."""
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{key} is {value!r}; a number of seconds is needed")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{key} is {value!r}; a time is finite and not negative")
    return float(value)


def unique(rows: Iterable[Row], file: Path) -> list[Row]:
    """The rows, or ValueError that names two records with the same id."""
    seen: dict[str, int] = {}
    kept = []
    for number, row in enumerate(rows, 1):
        if row["id"] in seen:
            raise ValueError(
                f"{file}: records {seen[row['id']]} and {number} have the same id {row['id']!r}: "
                "the same question about the same clip"
            )
        seen[row["id"]] = number
        kept.append(row)
    return kept


def graph_columns(graph: TaskGraph | None) -> Row:
    """The columns `task_graph` (DOT), `steps` and `precedence`; null where there is no graph."""
    if graph is None:
        return {"task_graph": None, "steps": None, "precedence": None}
    return {
        "task_graph": graph.to_dot(),
        "steps": [step._asdict() for step in graph.steps],
        "precedence": [{"before": a, "after": b} for a, b in graph.precedence],
    }


def step_dependency(rows: Iterable[Row]) -> float | None:
    """Edges between steps over all edges of the rows' different graphs together, in [0, 1].

    None where no row has a graph. Source: ProMQA-Assembly (arXiv 2509.02949), section 3.4.
    """
    graphs = {row["toy"]: row["task_graph"] for row in rows if row["task_graph"] is not None}
    parsed_graphs = [TaskGraph.from_dot(dot) for dot in graphs.values()]
    edges = sum(len(graph.edges) for graph in parsed_graphs)
    return sum(len(graph.precedence) for graph in parsed_graphs) / edges if edges else None


def counts(rows: Sequence[Row], question_types: Sequence[str]) -> Row:
    """How many questions, recordings and questions of each type there are."""
    types = Counter(row["question_type"] for row in rows)
    return {
        "questions": len(rows),
        "recordings": len({row["sequence"] for row in rows}),
        "question types": {name: types[name] for name in question_types},
    }


def differences(counted: Mapping[str, Any], published: Mapping[str, Any]) -> list[str]:
    """A line for each published figure that was counted otherwise.

    >>> differences({"questions": 45}, {"questions": 391})
    ['questions: 45 here, 391 published']
    """
    return [
        f"{name}: {counted[name]} here, {value} published"
        for name, value in published.items()
        if counted[name] != value
    ]


def data_roots(folder: Path) -> list[Path]:
    """Folders beside which other data may lie: that around the folder, and the data root."""
    roots = [folder.parent]
    root = os.environ.get(sources.DATA_VARIABLE)
    if root:
        roots.append(Path(root).expanduser().resolve())
    return list(dict.fromkeys(roots))


def find_in(places: Iterable[tuple[Path, Sequence[str]]]) -> sources.Media:
    """The first file of these (folder, relative paths); else what is wrong with all of them."""
    found = [sources.find_media(folder, names) for folder, names in places]
    for media in found:
        if media.path is not None or not str(media.problem).startswith("missing"):
            return media
    return sources.missing(tuple(name for media in found for name in media.candidates))
