"""Reasons that concern the items: which are lacking, and whether they can be compared at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from procedural_evals.harness.published import card_of, cards, tables_of
from procedural_evals.harness.records import open_answers
from procedural_evals.hub.claims import Claim
from procedural_evals.hub.task_ids import BenchmarkTask


def partial(claim: Claim) -> Iterator[str]:
    """A limit, an offset, items that are missing, repeated or not the dataset's."""
    for argument, neutral in (("limit", (None,)), ("offset", (None, 0))):
        if claim.run_config.get(argument) not in neutral:
            yield f"the run had --{argument} {claim.run_config[argument]}; run the whole task"
    counts = claim.run.results.get("n-samples", {}).get(claim.task, {})
    if counts.get("effective") != counts.get("original"):
        yield f"{counts.get('effective')} of {counts.get('original')} items were run"
    ids = Counter(str(record["id"]) for record in claim.records)
    if repeated := [item for item, count in ids.items() if count > 1]:
        yield f"{some(repeated)} scored more than once"
    if claim.rows is None:
        return
    if missing := [item for item in claim.rows if item not in ids]:
        yield f"{len(missing)} of {len(claim.rows)} items have no record: {some(missing)}"
    if unknown := [item for item in ids if item not in claim.rows]:
        yield f"{some(unknown)} not among the dataset's {len(claim.rows)} items"


def excerpt(claim: Claim) -> Iterator[str]:
    """The paper's number of items is known for some benchmarks; files may hold fewer."""
    for size in {published_size(target) for target in claim.targets} - {None, len(claim.records)}:
        yield f"{len(claim.records)} items; the published {claim.task} has {size}"


def published_size(target: BenchmarkTask) -> int | None:
    """How many items a benchmark's paper counts for a task; None where that is not on file.

    >>> from procedural_evals.hub.task_ids import task
    >>> published_size(task("flatpack_bench"))
    602
    """
    if target.simulated or target.config == "excerpt":
        return None
    card = card_of(target.lmms_task)
    if card is not None and card["benchmark"] == target.dataset:
        return int(card["questions"]["all"])
    for table in tables_of(cards()[target.dataset]) if target.dataset in cards() else ():
        if table.main and table.task == target.lmms_task:
            return table.items
    return None


def unchecked(claim: Claim) -> Iterator[str]:
    """The dataset cannot be read here."""
    if claim.rows is None and claim.targets:
        yield claim.rows_problem


def failed(claim: Claim) -> Iterator[str]:
    """Items that were not answered."""
    found = [r for r in claim.records if r.get("failure") is not None]
    if found:
        yield (
            f"{len(found)} of {len(claim.records)} items were not answered, the first because: "
            f"{found[0]['failure']} ({found[0]['id']}); run them again"
        )


def unjudged(claim: Claim) -> Iterator[str]:
    """Open answers without a verdict of every judge."""
    if not open_answers(claim.records):
        return
    if not claim.verdicts.judges:
        yield "no judge was asked; run with --judge MODEL or MODEL@http://HOST/v1"
        return
    lacking = [
        str(r["id"])
        for r in open_answers(claim.records)
        if r.get("failure") is None and claim.verdicts.score(r["id"]) is None
    ]
    if lacking:
        reason = claim.verdicts.reason(lacking[0])
        yield f"{len(lacking)} items are unjudged: {some(lacking)} ({reason}); run again"


def some(items: Iterable[str]) -> str:
    """The first three, and how many more there are."""
    shown = list(items)
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more
