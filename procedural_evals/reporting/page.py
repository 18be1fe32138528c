"""What a report's page says, before it is laid out: one section a task, made from a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from procedural_evals.dyad.vocabulary import MODES, STEPS
from procedural_evals.harness import report, results, summaries
from procedural_evals.harness.judging import judge_records
from procedural_evals.harness.masking import without_secrets
from procedural_evals.harness.records import Record, answered_records, open_answers
from procedural_evals.harness.table_row import Row, Table, table_of
from procedural_evals.printable import clipped
from procedural_evals.reporting import figures
from procedural_evals.reporting.media import Picture, Rows, pictures
from procedural_evals.reporting.telling import COUNT, Telling, telling_items

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What a record says of how it came about, and what the page calls it.
SETTINGS = {
    "template": "prompt template",
    "revision": "data",
    "parser": "parser",
    "frame_plan": "frames",
    "decoder": "decoder",
    "view": "camera",
    "rubric": "rubric",
    "judge": "judge",
    "encoder": "encoder",
    "decoding": "step decoder",
}
# So many characters of a text, of a line, and so many lines are shown: a page is to be read.
TEXT, LINE, SHOWN = 8000, 300, 50
_CHANCE = ("random", "most frequent", "majority")


@dataclass(frozen=True)
class Option:
    """A lettered option of a question."""

    letter: str
    text: str
    right: bool
    said: bool


@dataclass(frozen=True)
class Item:
    """One of the items that say most."""

    id: str
    why: str
    tone: str
    """"good", "bad" or "plain"."""
    facts: Mapping[str, str]
    question: str = ""
    options: tuple[Option, ...] = ()
    answers: tuple[str, ...] = ()
    reply: str = ""
    judge_words: tuple[tuple[str, str], ...] = ()
    """Judge and its reply."""
    prompt: str = ""
    pictures: tuple[Picture, ...] = ()
    figure: str = ""
    """Evidence spans as SVG."""
    problem: str = ""
    """Why there are no pictures."""


@dataclass(frozen=True)
class Shortfall:
    """Items of one kind that have no score: how many, and a line for each of the first."""

    count: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Everything about one task of the run."""

    task: str
    heading: str
    """What the score is: accuracy, judge, IoU, ..."""
    headline: Row | None
    counts: str
    figure: str
    table: Table | None
    notes: tuple[str, ...] = ()
    published: tuple[Table, ...] = ()
    published_figure: str = ""
    source: str = ""
    confusion: Table | None = None
    ribbons: str = ""
    shortfalls: Mapping[str, Shortfall] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """A run as a page."""

    model: str
    arguments: str
    date: str
    file: str
    versions: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def page_of(
    run: results.Run,
    items: int = COUNT,
    media: bool = True,
    encoder: str | None = None,
    progress: bool = True,
    ask: bool = False,
) -> Page:
    """The page of a run, with at most so many items a task, with or without their pictures.

    `encoder` and `ask` as for `report.report`.
    """
    report.use_judge_of(run)
    config = run.results.get("config") or {}
    sections = []
    for task, records in tqdm(run.records.items(), desc="tasks", disable=not progress):
        with report.verdicts_beside(run, task, ask):
            sections.append(_section(run, task, records, items, media, encoder))
    return Page(
        model=str(config.get("model")),
        arguments=without_secrets(config.get("model_args") or ""),
        date=_date(run.results),
        file=run.path.name,
        versions=tuple(_versions(run)),
        sections=tuple(sections),
    )


def _date(found: Mapping[str, Any]) -> str:
    """When the run was made, in UTC; what cannot be read as a time is shown as it is.

    >>> _date({"date": "20261130_083537",
    ...     "config": {"resolved_cli_args": {"timezone": "Asia/Singapore"}}})
    '2026-11-30 00:35 UTC'
    """
    try:
        made = results.date_of(found)
    except (KeyError, ValueError):
        return str(found.get("date") or "")
    return f"{made[:10]} {made[11:16]} UTC"


def _versions(run: results.Run) -> Iterable[tuple[str, str]]:
    config = run.results.get("config") or {}
    yield "lmms-eval", str(run.results.get("lmms_eval_version"))
    for name in ("gen_kwargs", "batch_size", "device", "limit", "offset", "random_seed"):
        if config.get(name):
            yield name.replace("_", " "), without_secrets(config[name])
    seconds = run.results.get("total_evaluation_time_seconds")
    if seconds:
        yield "time", f"{float(seconds):.0f} s"


def _section(
    run: results.Run,
    task: str,
    records: Sequence[Record],
    items: int,
    media: bool,
    encoder: str | None,
) -> Section:
    rows = summaries.rows(records)
    answered = answered_records(records)
    heading = summaries.ROWS[answered[0]["kind"]][0] if answered else "score"
    beside = report.published_beside(task, records, encoder)
    notes = list(beside.notes)
    if beside.grounded:
        notes += [line.strip() for line in report.answering_gap(answered, encoder)]
    kind = answered[0]["kind"] if answered else ""
    return Section(
        task=task,
        heading=heading,
        headline=rows[0] if rows else None,
        counts=summaries.counts(records),
        figure=_figure(rows, heading),
        table=table_of(rows, heading) if rows else None,
        notes=tuple(notes),
        published=beside.tables,
        published_figure=_published_figure(beside, rows, heading),
        source=beside.source,
        confusion=_confusion(answered) if kind == "mode" else None,
        ribbons=_ribbons(answered) if kind == "steps" else "",
        shortfalls=_shortfalls(summaries.shortfalls(records, run.expected(task))),
        items=tuple(_items(run, task, records, items, media)),
        settings=tuple(_settings(answered)),
    )


def _figure(rows: Sequence[Row], heading: str) -> str:
    if not rows:
        return ""
    chance = {name: value for name in _CHANCE if (value := rows[0].extra.get(name)) is not None}
    lines = [figures.Whisker(r.label, r.score, r.low, r.high, f"n {r.n}") for r in rows]
    return figures.whiskers(lines, heading, chance)


def _published_figure(beside: report.Beside, rows: Sequence[Row], heading: str) -> str:
    """Published rows of a plain table, best first, with this run among them."""
    if not beside.tables or beside.grounded or not rows:
        return ""
    lines = [figures.Whisker(report.OURS, rows[0].score, rows[0].low, rows[0].high)]
    for name, first, *_ in beside.tables[0].lines:
        if name and name != report.OURS and first != "-":
            lines.append(figures.Whisker(name, float(first), kind="published"))
    return figures.whiskers(sorted(lines, key=lambda line: -line.score), heading)


def _confusion(answered: Sequence[Record]) -> Table:
    """Events by what the helper did (lines) and what the run said (columns)."""
    said = [*MODES, None]
    lines = [
        [
            f"helper: {gold}",
            *(
                str(sum(r["gold"] == gold and r["prediction"] == label for r in answered))
                for label in said
            ),
        ]
        for gold in MODES
    ]
    return Table(["", *(f"said: {label or 'nothing read'}" for label in said)], lines)


def _ribbons(answered: Sequence[Record]) -> str:
    tracks: dict[str, tuple[list[str | None], list[str | None]]] = {}
    for record in sorted(answered, key=lambda r: (r["session"], float(r["time"]))):
        truth, given = tracks.setdefault(record["session"], ([], []))
        truth.append(record["gold"])
        given.append(record.get("prediction"))
    if not any(label for _, given in tracks.values() for label in given):
        return ""
    return figures.ribbons(tracks, STEPS)


def _shortfalls(found: Mapping[str, Sequence[str]]) -> dict[str, Shortfall]:
    """The first items of each kind, and how many there are."""
    return {
        kind: Shortfall(len(lines), tuple(clipped(line, LINE) for line in lines[:SHOWN]))
        for kind, lines in found.items()
    }


def _settings(answered: Sequence[Record]) -> Iterable[tuple[str, str]]:
    for name, title in SETTINGS.items():
        values = sorted({str(r[name]) for r in answered if r.get(name) is not None})
        if values:
            # A judge is named with its address, which may hold a password.
            yield title, without_secrets(", ".join(values))


# ---- items ----------------------------------------------------------------------------------


def _items(
    run: results.Run, task: str, records: Sequence[Record], count: int, media: bool
) -> Iterable[Item]:
    chosen = telling_items(records, count)
    prompts = results.prompts(run, task) if chosen else {}
    rows = Rows((run.results.get("configs") or {}).get(task) or {})
    words: dict[str, list[tuple[str, str]]] = {}
    if chosen and "rubric" in chosen[0].record:
        verdicts = judge_records(open_answers(answered_records(records)))
        for name, judgements in verdicts.rows.items():
            words[name] = [
                (j.judge.split("|")[0], j.replies[-1] if j.replies else j.reason or "")
                for j in judgements
            ]
    for telling in tqdm(chosen, desc=task, leave=False, disable=not media):
        name = str(telling.record["id"])
        yield _item(telling, rows, prompts.get(name, ""), words.get(name, []), media)


def _item(
    telling: Telling, rows: Rows, prompt: str, words: list[tuple[str, str]], media: bool
) -> Item:
    record = telling.record
    row: Mapping[str, Any] = {}
    problem = ""
    found: list[Picture] = []
    try:
        row = rows.row(record)
        found = list(pictures(row, record)) if media else []
    except (LookupError, OSError, ValueError, RuntimeError) as error:
        problem = " ".join(str(error).split())
    score = telling.score
    return Item(
        id=str(record["id"]),
        why=telling.why,
        tone="plain" if score is None else "good" if score >= 50 else "bad",
        facts=_facts(record, score),
        question=clipped(str(record.get("question") or row.get("question") or ""), TEXT),
        options=_options(record, row),
        answers=tuple(record.get("answers") or _gold(record)),
        reply=clipped(str(record.get("reply") or record.get("prediction") or ""), TEXT),
        judge_words=tuple((judge, clipped(said, TEXT)) for judge, said in words if said),
        prompt=clipped(prompt, TEXT),
        pictures=tuple(found),
        figure=_evidence(record, row),
        problem=problem,
    )


def _facts(record: Record, score: float | None) -> dict[str, str]:
    facts: dict[str, str] = {}
    if record["kind"] == "choice":
        facts["category"] = str(record["category"])
    facts |= {str(name): str(value) for name, value in (record.get("groups") or {}).items()}
    if score is not None and record["kind"] in ("judged", "response", "grounded"):
        facts["judge"] = f"{score:.0f}"
    facts["video"] = str(record.get("session") or record["cluster"])
    return facts


def _gold(record: Record) -> tuple[str, ...]:
    return (str(record["gold"]),) if record["kind"] in ("steps", "mode") else ()


def _options(record: Record, row: Mapping[str, Any]) -> tuple[Option, ...]:
    if record["kind"] != "choice":
        return ()
    return tuple(
        Option(letter, str(text), letter == record["gold"], letter == record["letter"])
        for letter, text in zip(LETTERS, row.get("options") or (), strict=False)
    )


def _evidence(record: Record, row: Mapping[str, Any]) -> str:
    if record["kind"] != "grounded":
        return ""
    end = row.get("clip_end")
    length = 0.0 if end is None else float(end) - float(row.get("clip_start") or 0.0)
    return figures.evidence(record["evidence"], record["spans"], length)
