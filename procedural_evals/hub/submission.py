"""A submission: one number on a leaderboard, with everything that it rests on.

A traces repository holds two files for every submission, in
`<benchmark>/<org>--<model>/<task id>/`:

    submission.json    the submission, as `Submission.to_json` writes it
    items.jsonl        the record of every item: id, cluster, reply, what was read from it, score

`submissions(folder)` reads all of them from a local copy of the repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from procedural_evals.hub.submission_types import LARGEST_FILE, wrong_types

#: Version of the file format. A file of another version is refused, never guessed at.
VERSION = 1

SUBMISSION_FILE = "submission.json"
ITEMS_FILE = "items.jsonl"

#: Packages whose versions every submission names.
NEEDED_VERSIONS = ("procedural-evals", "lmms-eval")

#: ORG/NAME.
REPO_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# Fields that are lists in a file.
_LISTS = ("scale", "rows", "judges", "templates")
# No number of a submission comes near it.
_BEYOND = 1e12


class SubmissionError(ValueError):
    """A submission, or a file of one, that does not hold what it has to."""


@dataclass(frozen=True)
class Breakdown:
    """One line of the score table: `value`, `low` and `high` in the headline's unit."""

    label: str
    n: int
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One number of one model on one task of a benchmark.

    Attributes:
        benchmark: the benchmark's name: "flatpack-bench".
        dataset: repository of the dataset, ORG/NAME.
        revision: what the items' records call the data: a commit, or a hash of the annotations.
        task: name of the lmms-eval task.
        task_id: the number's name on the leaderboard; one number a task id.
        metric: what the number measures: "accuracy".
        scale: lowest and highest possible value.
        model: repository of the model, ORG/NAME.
        date: when the run was made, ISO 8601.
        value, low, high: the number with the ends of its 95 % interval, in the unit of `scale`; the
            ends are None for a number that has no interval.
        n: how many items the number rests on.
        rows: the number by kind of question, and so on; without the headline.
        items, answered, failed: how many items there are, were answered, and were not.
        parse_rate: share of the answered items from whose reply an answer could be read, in
            [0, 100]; None where nothing is read from a reply.
        judged_rate: share of the answered items that have a verdict of every judge, in [0, 100];
            None where no judge is needed.
        extra: further columns of the headline by name: chance, IoP, similarities.
        judges: ids of the judges: model, rubric and everything else that makes a verdict.
        rubric, encoder, frame_plan, parser, decoder, decoding, view: as the items' records have
            them; None where there is none. `decoding` is DYAD's step decoder.
        templates: ids of the prompt templates.
        versions: of packages, by name; `NEEDED_VERSIONS` are always there.
        model_name, model_args: the model as it was named to lmms-eval.
        generation: generation arguments of the task.
        simulated: whether the questions come from the simulated world.
        traces: path of the items' records in the traces repository.
        traces_repo: the traces repository, ORG/NAME.
    """

    benchmark: str
    dataset: str
    revision: str
    task: str
    task_id: str
    metric: str
    scale: tuple[float, float]
    model: str
    date: str
    value: float
    low: float | None
    high: float | None
    n: int
    rows: tuple[Breakdown, ...]
    items: int
    answered: int
    failed: int
    versions: Mapping[str, str] = field(hash=False)
    templates: tuple[str, ...]
    model_name: str
    model_args: str
    generation: Mapping[str, Any] = field(hash=False)
    traces: str
    traces_repo: str
    parse_rate: float | None = None
    judged_rate: float | None = None
    extra: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    judges: tuple[str, ...] = ()
    rubric: str | None = None
    encoder: str | None = None
    frame_plan: str | None = None
    parser: str | None = None
    decoder: str | None = None
    decoding: str | None = None
    view: str | None = None
    simulated: bool = False

    def __post_init__(self) -> None:
        """SubmissionError, which lists everything that is wrong."""
        problems = list(wrong_types(self)) or list(_problems(self))
        if problems:
            raise SubmissionError(f"{self.benchmark}/{self.task_id}: " + "; ".join(problems))

    @property
    def folder(self) -> str:
        """Folder in the traces repository: `flatpack-bench/org--model/flatpack_bench`."""
        return folder_of(self.benchmark, self.model, self.task_id)

    def to_json(self) -> str:
        """The file's text; `from_json` reads it back."""
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Submission:
        """The submission in a file's text; SubmissionError for anything else."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SubmissionError(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise SubmissionError(f"{type(data).__name__} instead of an object")
        version = data.pop("version", None)
        if version != VERSION:
            raise SubmissionError(f"version {version!r}; this package reads version {VERSION}")
        known = {each.name for each in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise SubmissionError(f"unknown fields: {', '.join(unknown)}")
        for name in _LISTS:
            if not isinstance(data.get(name), list):
                raise SubmissionError(f"{name} is no list")
            data[name] = tuple(data[name])
        try:
            data["rows"] = tuple(Breakdown(**row) for row in data["rows"])
            return cls(**data)
        except TypeError as error:
            raise SubmissionError(f"fields do not fit: {error}") from None

    @classmethod
    def from_file(cls, file: Path) -> Submission:
        """The submission in a file; SubmissionError for anything else, OSError as `open`."""
        if (size := file.stat().st_size) > LARGEST_FILE:
            raise SubmissionError(f"{size:,} bytes; a submission has {LARGEST_FILE:,} at most")
        try:
            return cls.from_json(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise SubmissionError(f"not UTF-8: {error}") from None


def folder_of(benchmark: str, model: str, task_id: str) -> str:
    """Where a submission lies in a traces repository.

    >>> folder_of("flatpack-bench", "org/model", "flatpack_bench")
    'flatpack-bench/org--model/flatpack_bench'
    """
    return f"{benchmark}/{model.replace('/', '--')}/{task_id}"


def submissions(folder: Path) -> list[Submission]:
    """All submissions in a local copy of a traces repository, in the order of their paths.

    Raises FileNotFoundError when the folder is absent, SubmissionError that names the file for one
    that cannot be read or lies where it does not belong.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder")
    found = []
    for file in sorted(folder.glob(f"*/*/*/{SUBMISSION_FILE}")):
        try:
            submission = Submission.from_file(file)
        except SubmissionError as error:
            raise SubmissionError(f"{file}: {error}") from None
        if file.parent.relative_to(folder).as_posix() != submission.folder:
            raise SubmissionError(f"{file}: it belongs into {submission.folder}")
        found.append(submission)
    return found


def items(folder: Path, submission: Submission) -> list[dict[str, Any]]:
    """The records of a submission's items, in the order of their ids.

    Each has `id`, `cluster` (video, recording or participant), `failure` and `reply`; scored ones
    have `score` in the unit of the submission's scale where an item has a score of its own.
    SubmissionError that names the line of one that is no record, OSError when there is no file.
    """
    with (folder / submission.traces).open("rb") as lines:
        return [
            _item(line, f"{submission.traces}:{number}") for number, line in enumerate(lines, 1)
        ]


def _item(line: bytes, place: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SubmissionError(f"{place}: not JSON: {error}") from None
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise SubmissionError(f"{place}: no record of an item")
    if "score" in item and not _finite(item["score"]):
        raise SubmissionError(f"{place}: score {item['score']!r:.40} is no number")
    return item


def _problems(given: Submission) -> Iterator[str]:
    for name in ("benchmark", "task", "task_id"):
        if not _NAME.fullmatch(str(getattr(given, name))):
            yield f"{name} {getattr(given, name)!r} is no name"
    for name in ("dataset", "model", "traces_repo"):
        if not REPO_ID.fullmatch(str(getattr(given, name))):
            yield f"{name} {getattr(given, name)!r} is no repository, ORG/NAME"
    for name in ("revision", "metric", "model_name"):
        if not isinstance(getattr(given, name), str) or not getattr(given, name):
            yield f"{name} is empty"
    if not given.templates:
        yield "no prompt template is named"
    try:
        datetime.fromisoformat(given.date.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        yield f"date {given.date!r} is not ISO 8601"
    if lacking := [name for name in NEEDED_VERSIONS if not given.versions.get(name)]:
        yield f"no version of {', '.join(lacking)}"
    yield from _wrong_numbers(given)
    path = PurePosixPath(given.traces)
    if path.is_absolute() or ".." in path.parts or not str(given.traces).endswith(".jsonl"):
        yield f"traces {given.traces!r} is no path of a .jsonl file within the traces repository"


def _wrong_numbers(given: Submission) -> Iterator[str]:
    lines = [Breakdown("", given.n, given.value, given.low, given.high), *given.rows]
    numbers = [*given.scale, *(number for row in lines for number in _numbers(row))]
    if len(given.scale) != 2 or not all(_finite(number) for number in numbers):
        yield f"scale, value, low and high have to be numbers: {numbers}"
        return
    bottom, top = given.scale
    if not bottom < top:
        yield f"scale {given.scale}: the lowest value comes first"
    for row in lines:
        label = f" of {row.label}" if row.label else ""
        if not bottom <= row.value <= top:
            yield f"value{label} {row.value} outside its scale, {bottom:g} to {top:g}"
        if (row.low is None) != (row.high is None):
            yield f"interval{label} [{row.low}, {row.high}] has one end only"
        elif row.low is not None and row.high is not None and not row.low <= row.high:
            yield f"interval{label} [{row.low}, {row.high}] ends before it begins"
        if not 1 <= row.n < _BEYOND:
            yield f"n{label} {row.n!r}: at least 1 item is needed"
    if given.answered + given.failed != given.items or given.failed < 0:
        yield f"{given.answered} answered and {given.failed} failed of {given.items} items"
    for name, number in given.extra.items():
        if number is not None and not _finite(number):
            yield f"extra {name} {number!r} is no number"
    for name in ("parse_rate", "judged_rate"):
        rate = getattr(given, name)
        if rate is not None and not (_finite(rate) and 0 <= rate <= 100):
            yield f"{name} {rate!r} outside 0 to 100"


def _numbers(row: Breakdown) -> list[object]:
    ends = (row.low, row.high)
    return [row.value, *(end for end in ends if end is not None)]


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_BEYOND < value < _BEYOND  # a NaN is on neither side
