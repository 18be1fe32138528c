"""The leaderboard's submitted rows, from a local copy of a traces repository.

One submission is one number; the numbers of one model on one task are one row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from procedural_evals.hub.leaderboard import Cell, Entry, Fact
from procedural_evals.hub.leaderboard_boards import ALL, Board, Metric, board_of, column
from procedural_evals.hub.submission import (
    SUBMISSION_FILE,
    Breakdown,
    Submission,
    SubmissionError,
)

HUB = "https://huggingface.co"

# Columns of a score table that stand beside the headline, under the names of a board's numbers.
_BESIDE = {
    "IoP": "iop",
    "IoG": "iog",
    "similarity": "sentence_similarity",
    "BERTScore F1": "bertscore_f1",
}
_GUESSING = "random"

# lmms-eval's names of models that are asked over an API begin with these.
_APIS = ("openai", "async_openai", "gemini", "claude", "azure", "reka", "batch_gpt", "gpt")
_REFERENCE = "procedural_baseline"
_WORDS = "lexical"


def submitted_entries(folder: Path) -> tuple[list[Entry], list[str]]:
    """The rows in a copy of a traces repository, and what there is no submission and why.

    Raises FileNotFoundError when the folder is absent. One bad file takes no other row away.
    """
    found, problems = readable_submissions(folder)
    together: dict[tuple[str, str], list[Submission]] = {}
    for submission in found:
        if board_of(submission.task) is None:
            problems.append(f"{submission.folder}: no board shows the task {submission.task}")
        else:
            together.setdefault((submission.model, submission.task), []).append(submission)
    return [_entry(folder, group) for group in together.values()], problems


def readable_submissions(folder: Path) -> tuple[list[Submission], list[str]]:
    """The submissions in the order of their paths, and one line for each file that is none."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder of submissions")
    found, problems = [], []
    for file in sorted(folder.glob(f"*/*/*/{SUBMISSION_FILE}")):
        place = file.parent.relative_to(folder).as_posix()
        try:
            submission = Submission.from_file(file)
        except (SubmissionError, OSError) as error:
            problems.append(f"{place}: {error}")
            continue
        if submission.folder == place:
            found.append(submission)
        else:
            problems.append(f"{place}: belongs into {submission.folder}")
    return found, problems


def entry_id(submission: Submission) -> str:
    """The id of the row that the submission is part of."""
    return f"submitted/{submission.model}/{submission.task}"


def _entry(folder: Path, group: Sequence[Submission]) -> Entry:
    first = group[0]
    board = board_of(first.task)
    assert board is not None, "submissions of no board were left out"
    judges = tuple(dict.fromkeys(judge for each in group for judge in each.judges))
    cells: dict[str, Cell] = {}
    for submission in group:
        for key, cell in _cells(board, submission):
            if key not in cells or cell.low is not None:
                cells[key] = cell
    return Entry(
        id=entry_id(first),
        board=board.key,
        model=first.model,
        origin="submitted",
        access=_access(first.model_name),
        task=first.task,
        judge=", ".join(judge.partition("|")[0] for judge in judges),
        date=first.date[:10],
        cells=cells,
        chance={
            column(each.metric): each.extra[_GUESSING] or 0.0
            for each in group
            if each.extra.get(_GUESSING) is not None
        },
        facts=list(_facts(group, judges)),
        link=f"{HUB}/{quote(first.model)}",
        simulated=first.simulated,
        comparable=not any(judge.startswith(_WORDS) for judge in judges),
        traces=any((folder / each.traces).is_file() for each in group),
    )


def _access(model_name: str) -> str:
    if model_name == _REFERENCE:
        return "reference"
    return "API" if model_name.startswith(_APIS) else "open"


def _cells(board: Board, given: Submission) -> Iterator[tuple[str, Cell]]:
    metric = board.metrics.get(given.metric)
    if metric is not None:
        yield column(given.metric), _cell(given, given, metric)
        for row in given.rows:
            yield column(given.metric, row.label), _cell(row, given, metric)
    for name, number in given.extra.items():
        if number is not None and _BESIDE.get(name) in board.metrics:
            yield column(_BESIDE[name], ALL), Cell(number, n=given.n)


def _cell(row: Submission | Breakdown, given: Submission, metric: Metric) -> Cell:
    """The number on the column's scale: a judge's score of 0 to 100, for example, on 0 to 5."""
    (bottom, top), (low, high) = given.scale, metric.scale
    unit = (high - low) / (top - bottom)

    def scaled(number: float) -> float:
        return low + (number - bottom) * unit

    low_end, high_end = (None if end is None else scaled(end) for end in (row.low, row.high))
    return Cell(scaled(row.value), low_end, high_end, row.n)


def _facts(group: Sequence[Submission], judges: Sequence[str]) -> Iterator[Fact]:
    first = group[0]
    yield Fact("Items", f"{first.answered:,} of {first.items:,} answered, {first.failed:,} failed")
    rates = {"parse_rate": "Replies read", "judged_rate": "Answers judged"}
    for name, title in rates.items():
        found = [rate for each in group if (rate := getattr(each, name)) is not None]
        if found:
            yield Fact(title, f"{min(found):.1f} %")
    yield Fact(
        "Run", f"{first.model_name} ({first.model_args})" if first.model_args else first.model_name
    )
    yield Fact("Date", first.date[:10])
    yield Fact(
        "Data", f"{first.dataset} at {first.revision}", f"{HUB}/datasets/{quote(first.dataset)}"
    )
    for title, text in {
        "Judges": ", ".join(judges),
        "Encoder": first.encoder,
        "Frames": first.frame_plan,
        "Decoder": first.decoder,
        "Step decoder": first.decoding,
        "View": first.view,
        "Reader of replies": first.parser,
        "Prompts": ", ".join(first.templates),
        "Generation": json.dumps(dict(first.generation)) if first.generation else None,
        "Versions": ", ".join(f"{name} {number}" for name, number in first.versions.items()),
    }.items():
        if text:
            yield Fact(title, text)
    for each in group:
        url = f"{HUB}/datasets/{quote(each.traces_repo)}/blob/main/{quote(each.traces)}"
        yield Fact("Every item's record", each.traces, url)
