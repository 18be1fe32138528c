"""An lmms-eval results folder, read back: aggregated numbers and the record of every item."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from procedural_evals.harness.judging import Verdicts
from procedural_evals.harness.masking import without_secrets
from procedural_evals.judge.base import Judgement

Record = dict[str, Any]

RESULTS = "_results.json"
# The metric under which a task's samples hold the item's whole record; tasks of lmms-eval's own
# have none.
RECORD_KEYS = ("accuracy", "judge", "iou", "f1_10", "macro_f1", "record")
# The judge whose grades stand beside no others.
LEXICAL = "lexical"
# What every record says, whatever its kind.
_FIELDS = ("id", "kind", "failure", "cluster")


@dataclass(frozen=True)
class Run:
    """One run: its results file, what lmms-eval wrote there, and the items' records by task.

    Attributes:
        foreign: tasks of lmms-eval's own, which have no records.
    """

    path: Path
    results: dict[str, Any]
    records: dict[str, list[Record]]
    foreign: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """Model name and arguments, as given on the command line but for keys and passwords."""
        config = self.results.get("config", {})
        return f"{config.get('model')} ({without_secrets(config.get('model_args'))})"

    def expected(self, task: str) -> int:
        """How many items the task has, with the run's --limit and --offset."""
        counts = self.results.get("n-samples", {}).get(task)
        if counts is None:
            raise ValueError(f'{self.path}: "n-samples" does not say how many items {task} has')
        offset = int(self.results.get("config", {}).get("offset") or 0)
        return max(0, min(int(counts["effective"]), int(counts["original"]) - offset))


def date_of(run: Mapping[str, Any]) -> str:
    """When a run was made, in UTC: its results file has the time of a zone that it names.

    KeyError without a date, ValueError for a date or a zone that cannot be read.

    >>> date_of({"date": "20261130_083537",
    ...     "config": {"resolved_cli_args": {"timezone": "Asia/Singapore"}}})
    '2026-11-30T00:35:37Z'
    """
    name = (run.get("config", {}).get("resolved_cli_args") or {}).get("timezone") or "UTC"
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"the run's time zone {name!r} is not known here") from None
    given = datetime.strptime(str(run["date"]), "%Y%m%d_%H%M%S").replace(tzinfo=zone)
    return given.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def results_files(folder: Path) -> set[Path]:
    """All results files below the folder."""
    return set(folder.rglob(f"*{RESULTS}")) if folder.is_dir() else set()


def load_run(path: Path) -> Run:
    """The run of a results file, or the newest one below a folder.

    Tasks of lmms-eval's own are set aside. Raises FileNotFoundError when there is no such file,
    ValueError for a damaged one and for a run that has no task of this package.
    """
    if path.is_dir():
        files = sorted(results_files(path), key=lambda file: file.name)
        if not files:
            raise FileNotFoundError(f"{path}: no *{RESULTS} below it; did the run finish?")
        path = files[-1]
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such results file")
    results = _json(path.read_bytes(), f"{path}")
    for part in ("configs", "config", "n-samples"):
        if not isinstance(results.get(part, {}), dict):
            raise ValueError(f'{path}: "{part}" is {results[part]!r:.40}, no JSON object')
    tasks = results.get("configs")
    if not tasks:
        raise ValueError(f'{path}: no results of lmms-eval, which name their tasks in "configs"')
    records: dict[str, list[Record]] = {}
    foreign: list[str] = []
    for task in tasks:
        file = samples_file(path, task)
        samples = _samples(file)
        if samples and not any(map(_copies, samples)):
            foreign.append(task)
        else:
            records[task] = [_record(sample, file) for sample in samples]
    if not records and only_replies(results):
        raise ValueError(
            f"{path}: replies that nothing has scored yet (--predict_only); the same command "
            "without --predict_only scores them, without asking the model again"
        )
    if not records:
        raise ValueError(
            f"{path}: {', '.join(foreign)}: no task of this package, whose samples hold records"
        )
    return Run(path, results, records, tuple(foreign))


def only_replies(results: Mapping[str, Any]) -> bool:
    """Whether a run was made with --predict_only."""
    arguments = (results.get("config") or {}).get("resolved_cli_args") or {}
    return bool(arguments.get("predict_only"))


def samples_file(path: Path, task: str) -> Path:
    """Where lmms-eval keeps a task's samples beside a results file."""
    return path.parent / f"{path.name.removesuffix(RESULTS)}_samples_{task}.jsonl"


def prompts(run: Run, task: str) -> dict[str, str]:
    """The words that each item's model was shown, by item id."""
    file = samples_file(run.path, task)
    return {_record(s, file)["id"]: str(s.get("input") or "") for s in _samples(file)}


def judgements_file(run: Run, task: str) -> Path:
    """Where the judges' grades and words of a task are kept, beside its samples."""
    prefix = run.path.name.removesuffix(RESULTS)
    return run.path.parent / f"{prefix}_judgements_{task}.jsonl"


def write_judgements(run: Run, task: str, verdicts: Verdicts) -> Path | None:
    """Keep every judge's grades and words of a task beside its samples; None when there are none.

    One JSON line for each item and judge: item, judge, grades, score, reason, replies.
    """
    if not verdicts.rows:
        return None
    file = judgements_file(run, task)
    with file.open("w", encoding="utf-8", errors="backslashreplace") as lines:
        for row in verdicts.rows.values():
            for judgement in row:
                entry = asdict(judgement) | {"grades": dict(judgement.grades)}
                lines.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return file


def read_judgements(file: Path) -> Verdicts:
    """What `write_judgements` has kept; ValueError with the line of one that cannot be read."""
    rows: dict[str, tuple[Judgement, ...]] = {}
    names: dict[str, None] = {}
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                judgement = Judgement(**entry | {"replies": tuple(entry["replies"])})
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{file}:{number}: no judgement: {error}") from None
            rows[judgement.item] = (*rows.get(judgement.item, ()), judgement)
            names[judgement.judge] = None
    judges = [{"id": name, "comparable": not name.startswith(f"{LEXICAL}@")} for name in names]
    return Verdicts(tuple(judges), rows)


def _samples(file: Path) -> list[dict[str, Any]]:
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no samples; run with --log_samples")
    return [
        _json(line, f"{file}:{number}")
        for number, line in enumerate(file.read_bytes().split(b"\n"), 1)
        if line.strip()
    ]


def _json(text: bytes, place: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"{place}: damaged, or cut off while it was written ({error}); the same run once more "
            "writes it anew, from the replies that are kept"
        ) from None
    if not isinstance(found, dict):
        raise ValueError(f"{place}: {type(found).__name__} in the place of a JSON object")
    return found


def _copies(sample: Mapping[str, Any]) -> list[Record]:
    found = [sample.get(key) for key in RECORD_KEYS]
    return [record for record in found if isinstance(record, dict) and "id" in record]


def _record(sample: Mapping[str, Any], file: Path) -> Record:
    copies = _copies(sample)
    # One of the copies is whole; the others lack the reply.
    for record in (*(copy for copy in copies if "reply" in copy), *copies):
        missing = [name for name in _FIELDS if name not in record]
        if missing:
            raise ValueError(f"{file}: the record of {record['id']} lacks {', '.join(missing)}")
        return record
    raise ValueError(f"{file}: sample {sample.get('doc_id')} has no record of this package")
