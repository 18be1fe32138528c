"""Two submitted rows compared, item by item, for the leaderboard's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from procedural_evals.harness.comparison import Comparison, compare
from procedural_evals.harness.conditions import NotComparableError
from procedural_evals.harness.flips import Flip
from procedural_evals.harness.paired_line import ALL, Line
from procedural_evals.harness.records import Record
from procedural_evals.hub.leaderboard_submitted import entry_id, readable_submissions
from procedural_evals.hub.submission import Submission, items

# What a paired comparison calls the numbers of the boards.
_MEASURES = {
    "f1_10": "F1@0.1",
    "edit": "edit",
    "mof": "MoF",
    "map_10": "mAP@0.1",
    "macro_f1": "macro-F1",
    "auprc": "physical AUPRC",
}
# What a submission says once for all of its items.
_SETTINGS = ("revision", "parser", "rubric", "frame_plan", "decoder", "decoding", "view", "encoder")
# Numbers that are means of a score which every item's trace holds.
_OWN_SCORES = {"judge": "judge, 0 to 100", "iou": "IoU"}
_INSTEAD = (
    "The column that the table is sorted by has no value for single items in the traces: the "
    "headline is compared instead"
)
SHOWN = 20
_REPLY = 400


def compare_entries(folder: Path, a: str, b: str, metric: str) -> dict[str, Any]:
    """B - A of two submitted rows, ready for JSON; `{"error": ...}` in words where there is none.

    `a` and `b` are ids of rows, `metric` the number to compare: the rows' headline where the items
    cannot be compared by it.
    """
    try:
        found, _ = readable_submissions(folder)
        left, right = (_submission(found, row, metric) for row in (a, b))
        sides = ([_record(item, side) for item in items(folder, side)] for side in (left, right))
        return _as_data(compare(*sides), metric, left.metric)
    except NotComparableError as error:
        contrasts = "; ".join(map(str, error.contrasts))
        return {"error": f"These rows do not rest on the same thing. {contrasts}."}
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    except (KeyError, TypeError, AttributeError) as error:  # the items are anybody's
        return {"error": f"The items of these rows cannot be compared: {error!r}"}


def _submission(found: Sequence[Submission], row: str, metric: str) -> Submission:
    """The row's submission that holds the metric if one does, else its first."""
    group = [submission for submission in found if entry_id(submission) == row]
    if not group:
        raise ValueError(f"{row}: no such submission")
    return next((each for each in group if each.metric == metric), group[0])


def _record(item: Mapping[str, Any], submission: Submission) -> Record:
    """An item's record with what traces leave to the submission: settings, and the verdict.

    A number that every item has on its own counts as it was submitted; the truth behind it may
    not be in the traces, where the dataset's terms keep it back.
    """
    record = dict(item) | {
        name: getattr(submission, name)
        for name in _SETTINGS
        if getattr(submission, name) is not None
    }
    if submission.metric in _OWN_SCORES:
        own = {"kind": submission.metric, "rubric": submission.rubric or submission.metric}
        record |= own | {"judge_score": record.get("score"), "judges": list(submission.judges)}
    return record


def _as_data(found: Comparison, metric: str, submitted: str) -> dict[str, Any]:
    line = _line(found, metric, submitted)
    by = line.measure if submitted in _OWN_SCORES else found.flips.measure
    warnings = [] if _asked_for(line, metric) else [_INSTEAD]
    changed = sorted(
        (*found.flips.lost, *found.flips.gained), key=lambda flip: -abs(flip.b - flip.a)
    )
    return {
        "metric": line.measure,
        "difference": line.difference,
        "low": line.low,
        "high": line.high,
        "words": _words(line),
        "warnings": warnings + [str(contrast) for contrast in found.contrasts],
        "facts": _facts(found, line, by),
        "flipped": len(changed),
        "flips": [_flip(flip) for flip in changed[:SHOWN]],
    }


def _line(found: Comparison, metric: str, submitted: str) -> Line:
    """The line of the metric over all items, or else the headline."""
    if submitted in _OWN_SCORES:
        return replace(found.headline, measure=_OWN_SCORES[submitted])
    over_all = (line for line in found.lines if line.group == ALL)
    return next((line for line in over_all if _asked_for(line, metric)), found.headline)


def _asked_for(line: Line, metric: str) -> bool:
    wanted = _OWN_SCORES.get(metric) or _MEASURES.get(metric, metric)
    return line.measure.lower() == wanted.lower()


def _words(line: Line) -> str:
    """What the difference says, in a sentence.

    >>> _words(Line("accuracy", "all", 9, 3, 50.0, 60.0, 10.0, -2.0, 21.0, 0.12))
    'The interval holds 0 (p = 0.120): chance alone may make a difference like this.'
    """
    if line.low is None or line.high is None or line.p_value is None:
        return "All items come from one recording, so nothing says how far chance may go."
    p = f"p = {line.p_value:.3f}" if line.p_value >= 0.001 else "p < 0.001"
    if line.low <= 0 <= line.high:
        return f"The interval holds 0 ({p}): chance alone may make a difference like this."
    better = "B" if line.difference > 0 else "A"
    return f"{better} is better, and the interval does not hold 0 ({p})."


def _facts(found: Comparison, line: Line, by: str) -> list[str]:
    counts, flips = found.counts, found.flips
    facts = [
        f"A {line.a:.2f}, B {line.b:.2f}, over {line.n:,} items of {line.clusters:,} clusters "
        "(videos, recordings or participants)",
        f"by {by}: B is better on {flips.better:,} items, worse on {flips.worse:,}, "
        f"the same on {flips.same:,}",
    ]
    if flips.mcnemar is not None:
        facts.append(
            f"{flips.both_right:,} right in both, {flips.both_wrong:,} wrong in both; McNemar's "
            f"exact p = {flips.mcnemar:.3f}, which takes items for independent"
        )
    left_out = {
        "only in A": counts.only_a,
        "only in B": counts.only_b,
        "failed in A": counts.failed_a,
        "failed in B": counts.failed_b,
        "unjudged in A": counts.unjudged_a,
        "unjudged in B": counts.unjudged_b,
    }
    if any(left_out.values()):
        parts = ", ".join(f"{count:,} {name}" for name, count in left_out.items() if count)
        facts.append(f"left out: {parts}")
    return facts


def _flip(flip: Flip) -> dict[str, Any]:
    replies = {"reply_a": flip.reply_a, "reply_b": flip.reply_b}
    short = {
        name: text if len(text) <= _REPLY else f"{text[: _REPLY - 1]}…"
        for name, text in replies.items()
    }
    return {"id": flip.id, "a": flip.a, "b": flip.b, **short}
