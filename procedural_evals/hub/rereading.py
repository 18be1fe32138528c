"""Records and verdicts that do not follow from the replies: what was read is read once more."""

from __future__ import annotations

import json
from collections.abc import Iterator

from procedural_evals.harness.judging import judge_item
from procedural_evals.harness.records import Record, open_answers
from procedural_evals.hub.claims import LEXICAL, Claim, shipped_prompts
from procedural_evals.judge.base import Judgement, settled
from procedural_evals.judge.rubric import JudgeItem, Rubric, Verdict, load_rubric
from procedural_evals.revisions import content_of
from procedural_evals.verdicts import PARSER_VERSION, without_unfinished_number

# What the machine or the run's settings decide, and no reply does.
_OF_THE_RUN = frozenset(
    {"frame_plan", "frame_times", "decoder", "encoder", "judge", "decoding", "failure", "view"}
)
_READ = frozenset(
    {
        "letter",
        "reason",
        "score",
        "prediction",
        "spans",
        "invalid_spans",
        "column",
        "log_likelihoods",
        "blank",
    }
)
_TEMPLATES = frozenset({"template", "context_template"})


def reread(claim: Claim) -> Iterator[str]:
    """A reason for each kind of difference between the records and what the replies give."""
    found: dict[str, list[str]] = {}
    for record in claim.records:
        made = claim.remade.get(str(record["id"]))
        if made is None or record.get("failure") is not None:
            continue
        for kind, difference in _differences(record, made):
            found.setdefault(kind, []).append(f"{record['id']}: {difference}")
    for kind, lines in found.items():
        yield f"{kind}: {lines[0]}" + (f" (and {len(lines) - 1} more)" if lines[1:] else "")
    yield from _verdicts(claim)


def _differences(record: Record, made: Record) -> Iterator[tuple[str, str]]:
    made = json.loads(json.dumps(made))  # lists for tuples, as in a file
    for name in sorted((record.keys() | made.keys()) - _OF_THE_RUN):
        ours, theirs = made.get(name), record.get(name)
        if name == "revision":
            ours, theirs = content_of(str(ours)), content_of(str(theirs))
        if ours == theirs:
            continue
        if name not in record:
            yield "a record lacks what this version of the package writes; run again", name
            continue
        yield _kind(name), f"{name} {_short(theirs)} is on record, {_short(ours)} follows"


def _kind(name: str) -> str:
    if name in _TEMPLATES:
        return "the prompt is none of the shipped templates"
    if name == "revision":
        return "the run's data are not those that are here"
    if name == "parser":
        return "the replies were read by another version of the parser; run again"
    if name in _READ:
        return "reply and reading disagree"
    return "a record differs from the dataset's row"


def _verdicts(claim: Claim) -> Iterator[str]:
    """Reasons why the judges' grades are not what their replies say under the shipped rubric."""
    records = {str(record["id"]): record for record in open_answers(claim.records)}
    names = {str(record["rubric"]) for record in records.values()}
    if len(names) != 1 or not claim.verdicts.judges:
        return
    with shipped_prompts():
        rubric = load_rubric(names.pop())
    for judge in claim.verdicts.judges:
        _, _, settings = str(judge["id"]).partition("|")
        if judge["comparable"] and settings != f"{rubric.id}|{PARSER_VERSION}":
            yield (
                f"the judge's rubric or parser is none of the shipped ones: {settings}, and here "
                f"{rubric.id}|{PARSER_VERSION}"
            )
            return
    width = len(claim.verdicts.judges)
    wrong = []
    for item, row in claim.verdicts.rows.items():
        record = records.get(item)
        if record is None or record.get("failure") is not None:
            continue
        if len(row) != width:
            wrong.append(f"{item}: {len(row)} of {width} judges")
        shown = judge_item(record)
        wrong += [f"{item}: {each}" for each in row if not _follows(each, shown, rubric)]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if wrong[1:] else ""
        yield f"a judge's grades are not those of its reply: {_short(wrong[0])}{more}"


def _follows(given: Judgement, item: JudgeItem, rubric: Rubric) -> bool:
    """Whether the judgement is what its last reply says, or what needs no judge."""
    if given.judge.startswith(f"{LEXICAL}@") or given.score is None:
        return True  # refused anyway
    readings: list[Verdict | None] = [settled(item, rubric)]
    if given.replies:
        whole = given.replies[-1]
        # A reply that was cut off is read without the number at its end.
        readings = [rubric.verdict(text) for text in (whole, without_unfinished_number(whole))]
    return any(
        reading is not None and (reading.grades, reading.score) == (dict(given.grades), given.score)
        for reading in readings
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
