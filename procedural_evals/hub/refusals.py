"""What a leaderboard refuses, and why: every reason that holds is named, not only the first.

A reason is one sentence that names the value and the way out. `CHECKS` holds one function a kind of
reason; each yields the reasons that a claim gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeGuard

from procedural_evals.harness import versions
from procedural_evals.harness.records import open_answers
from procedural_evals.harness.results import date_of
from procedural_evals.harness.task_files import aggregations
from procedural_evals.hub import completeness
from procedural_evals.hub.claims import LEXICAL, Claim
from procedural_evals.hub.rereading import reread
from procedural_evals.hub.submission import NEEDED_VERSIONS, REPO_ID

#: Metrics that an encoder makes.
SIMILARITIES = (
    "sentence_similarity",
    "bertscore_precision",
    "bertscore_recall",
    "bertscore_f1",
)

#: How far a stated number may lie from the recomputed one, in points: rounding alone.
TOLERANCE = 1e-6

# Names that stand in documentation for somebody's own.
_PLACEHOLDER = re.compile(
    r"(org|your[-_]?\w*|my[-_]?org|user(name)?|owner|namespace)/.*"
    r"|.*/(name|model|my[-_]?model|your[-_]?\w*|model[-_]?name)|\.\.\..*",
    re.IGNORECASE,
)
# A judge whose weights a name pins: a dated snapshot, or open weights under ORG/NAME.
_DATED = re.compile(r"20\d\d-?[01]\d-?[0-3]\d")
# Policies of the baseline that look at the answers.
_READS_ANSWERS = ("oracle", "ungrounded")


@dataclass(frozen=True)
class Refusal:
    """A kind of reason, and the reason in words."""

    kind: str
    reason: str

    def __str__(self) -> str:
        """As printed.

        >>> print(Refusal("partial run", "--limit 8"))
        partial run: --limit 8
        """
        return f"{self.kind}: {self.reason}"


def refusals(claim: Claim) -> list[Refusal]:
    """All reasons to refuse the claim; none when it may go onto its leaderboard."""
    return [Refusal(kind, reason) for kind, check in CHECKS for reason in check(claim)]


def _model_name(claim: Claim) -> Iterator[str]:
    if not REPO_ID.fullmatch(claim.model):
        yield f"--model {claim.model!r} is no repository of the Hub, ORG/NAME"
    elif _PLACEHOLDER.fullmatch(claim.model):
        yield f"--model {claim.model} is a placeholder; name the model's own repository"


def _another_model(claim: Claim) -> Iterator[str]:
    if not claim.run_config.get("model"):
        yield "the results file does not say which model was run"
    named = model_argument(
        str(claim.run_config.get("model_args")), "pretrained", "model", "model_version"
    )
    if Path(named).is_dir():
        return  # a folder of this machine says nothing about a repository
    if REPO_ID.fullmatch(named) and REPO_ID.fullmatch(claim.model) and named != claim.model:
        yield f"the run was made with {named}, and --model says {claim.model}"


def model_argument(arguments: str, *names: str) -> str:
    """The value of the first of these names in lmms-eval's model arguments; "" without one.

    >>> model_argument("pretrained=Qwen/Qwen2.5-VL-7B-Instruct,batch_size=1", "pretrained")
    'Qwen/Qwen2.5-VL-7B-Instruct'
    """
    given = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    return next((given[name] for name in names if name in given), "")


def _no_leaderboard(claim: Claim) -> Iterator[str]:
    if not claim.targets:
        yield f"{claim.task} is on no leaderboard"


def _simulated(claim: Claim) -> Iterator[str]:
    ours = any(target.simulated for target in claim.targets)
    if ours and not claim.simulated:
        yield (
            f"{claim.task} asks about simulated video, which says nothing about real video; "
            "--simulated submits it under the sample's own task id"
        )
    if claim.simulated and claim.targets and not ours:
        yield f"--simulated was given, and {claim.task} asks about real video; leave it out"
    if not ours and any(str(r.get("revision")).startswith("sample:") for r in claim.records):
        yield f"the records of {claim.task} are of the embedded sample"


def _judge(claim: Claim) -> Iterator[str]:
    for judge in claim.verdicts.judges:
        name = str(judge["id"]).split("|", 1)[0]
        if not judge["comparable"]:
            yield f"{name} compares words and is no judge whose scores compare; use --judge MODEL"
        elif name.endswith("latest") or not (_DATED.search(name) or REPO_ID.fullmatch(name)):
            yield (
                f"the judge {name!r} is not pinned: nobody can know which weights answered. Name a "
                "dated snapshot (gpt-4o-2024-11-20) or open weights (ORG/NAME)"
            )
    named = {str(record.get("judge")) for record in open_answers(claim.records)}
    if named == {LEXICAL} and not claim.verdicts.judges:
        yield "the run's judge was lexical, which compares words; use --judge MODEL"


def _prompt(claim: Claim) -> Iterator[str]:
    arguments = claim.run_config.get("resolved_cli_args") or {}
    if arguments.get("system_instruction") or claim.run.results.get("system_instruction"):
        yield "the run had a system instruction of its own"
    if shots := claim.run.results.get("n-shot", {}).get(claim.task):
        yield f"the run showed {shots} solved examples"
    if claim.config.get("repeats", 1) != 1:
        yield f"each item was asked {claim.config['repeats']} times; run with one"
    if arguments.get("include_path"):
        yield "the run read task files from --include_path, which may replace ours"


def _mixed(claim: Claim) -> Iterator[str]:
    for name in _ONE_A_RUN:
        values = {str(record[name]) for record in claim.records if name in record}
        if len(values) > 1:
            yield f"records of several kinds in one task: {name} {', '.join(sorted(values))}"


_ONE_A_RUN = (
    "revision",
    "parser",
    "frame_plan",
    "decoder",
    "decoding",
    "encoder",
    "judge",
    "rubric",
    "view",
)


def _frames(claim: Claim) -> Iterator[str]:
    if claim.run_config.get("model") == "procedural_baseline":
        return  # it looks at nothing
    unseen = [r for r in claim.records if "frame_plan" in r and not r.get("frame_times")]
    if unseen:
        names = completeness.some(str(r["id"]) for r in unseen)
        yield f"{names}: no times of the frames that were shown"


def _looked(claim: Claim) -> Iterator[str]:
    policy = model_argument(str(claim.run_config.get("model_args")), "policy")
    known = claim.run_config.get("model") == "procedural_baseline" and policy in _READS_ANSWERS
    if known and not claim.simulated:
        yield f"policy={policy} reads the answers"


def _score(claim: Claim) -> Iterator[str]:
    """Every stated number is made anew, but for similarities, which need the run's encoder."""
    for metric in aggregations(claim.task) if claim.targets else ():
        if metric in SIMILARITIES:
            continue
        stated = claim.stated(metric)
        try:
            made = claim.recomputed(metric)
        except (KeyError, TypeError, ValueError) as error:
            yield f"{metric} cannot be computed from the records: {error}"
            continue
        if _is_number(stated) and abs(made - stated) <= TOLERANCE:
            continue
        needed = metric in [target.metric for target in claim.targets]
        if needed or _is_number(stated) or _is_number(made):
            yield f"{metric} is stated as {_figure(stated)}; the records give {_figure(made)}"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _figure(value: object) -> str:
    return f"{value:.4f}" if _is_number(value) else repr(value)


def _versions(claim: Claim) -> Iterator[str]:
    stated = claim.config.get(versions.KEY) or {}
    if lacking := [name for name in NEEDED_VERSIONS if not stated.get(name)]:
        yield (
            f"the results file does not say which {' and '.join(lacking)} made it; run again with "
            "this package installed"
        )


def _date(claim: Claim) -> Iterator[str]:
    try:
        made = date_of(claim.run.results)
    except (KeyError, ValueError) as error:
        yield f"the results file does not say when the run was made: {error}"
        return
    if datetime.fromisoformat(made.replace("Z", "+00:00")) > datetime.now(timezone.utc):
        yield f"the run is dated {made}, which is still to come"


CHECKS: tuple[tuple[str, Callable[[Claim], Iterator[str]]], ...] = (
    ("model", _model_name),
    ("another model", _another_model),
    ("no leaderboard", _no_leaderboard),
    ("simulated", _simulated),
    ("partial run", completeness.partial),
    ("partial data", completeness.excerpt),
    ("unchecked", completeness.unchecked),
    ("failed items", completeness.failed),
    ("unjudged items", completeness.unjudged),
    ("judge", _judge),
    ("prompt", _prompt),
    ("mixed", _mixed),
    ("frames", _frames),
    ("answers read", _looked),
    ("records", reread),
    ("score", _score),
    ("versions", _versions),
    ("date", _date),
)
