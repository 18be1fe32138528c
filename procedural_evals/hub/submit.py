"""Submissions made from a run: which numbers, in which words, and why none where there is none.

`plan` works on this machine alone; `pull_requests` then talks to the Hub.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from procedural_evals.harness import results, versions
from procedural_evals.harness.records import Record
from procedural_evals.hub.claims import Claim, claim
from procedural_evals.hub.numbers import breakdown, headline, rates
from procedural_evals.hub.refusals import Refusal, model_argument, refusals
from procedural_evals.hub.submission import ITEMS_FILE, REPO_ID, Submission, folder_of
from procedural_evals.hub.task_ids import BenchmarkTask, of_lmms_task
from procedural_evals.hub.traces import clean, clean_arguments, item_lines, leaks, withheld
from procedural_evals.revisions import content_of

# Columns of the score tables that stand beside a headline, by their metric.
_BESIDE = {
    "random_chance": "random",
    "most_frequent_chance": "most frequent",
    "majority_chance": "majority",
    "iop": "IoP",
    "iog": "IoG",
    "no_span_rate": "no span %",
    "sentence_similarity": "similarity",
    "bertscore_f1": "BERTScore F1",
}
_PACKAGES_IN_NOTES = ("procedural-evals", "lmms-eval", "transformers")


@dataclass(frozen=True)
class Prepared:
    """A submission, its items as JSON lines, and which fields the dataset's terms keep back."""

    submission: Submission
    items: str
    withheld: tuple[str, ...]

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the items."""
        return hashlib.sha256(self.items.encode()).hexdigest()[:12]

    @property
    def notes(self) -> str:
        """One line for the leaderboard: scale, interval, counts, and what the number rests on."""
        return notes_of(self.submission, self.digest)


@dataclass(frozen=True)
class Plan:
    """What a run gives: submissions, the reasons against each task, and tasks left out."""

    prepared: tuple[Prepared, ...]
    refused: Mapping[str, Sequence[Refusal]]
    left_out: tuple[str, ...]


def plan(
    run: results.Run,
    model: str,
    datasets: Sequence[str],
    traces_repo: str,
    *,
    simulated: bool = False,
    tasks: Sequence[str] = (),
) -> Plan:
    """The submissions of a run's tasks, or of those named, each checked.

    `datasets` are the repositories of the benchmarks, ORG/NAME, where NAME is the benchmark's name,
    or BENCHMARK=ORG/NAME. Tasks that are on no leaderboard are left out, unless they are named.
    Raises KeyError for a task that the run does not have, ValueError for datasets that are none.
    """
    repositories = repositories_of(datasets)
    if unknown := [task for task in tasks if task not in run.records]:
        raise KeyError(f"{', '.join(unknown)}: not in this run, which has {', '.join(run.records)}")
    chosen = [task for task in tasks or run.records if tasks or of_lmms_task(task)]
    left_out = tuple(task for task in run.records if not tasks and not of_lmms_task(task))
    prepared: list[Prepared] = []
    refused: dict[str, list[Refusal]] = {}
    for task in chosen:
        try:
            made = claim(run, task, model, simulated)
            reasons = refusals(made)
        except (AttributeError, KeyError, TypeError) as error:
            refused[task] = [_damaged(run, error)]
            continue
        for target in made.targets:
            if target.dataset not in repositories:
                reasons.append(_without_dataset(target))
                break
        if not reasons:
            for target in made.targets:
                one = prepare(made, target, repositories[target.dataset], traces_repo)
                prepared.append(one)
                found = leaks(one.submission.to_json(), one.items, run.path.parent)
                reasons += [Refusal("leak", each) for each in found]
        if reasons:
            refused[task] = reasons
    if not chosen:
        refused["run"] = [Refusal("no leaderboard", f"none of {', '.join(run.records)} is on one")]
    return Plan(tuple(prepared), refused, left_out)


def repositories_of(datasets: Sequence[str]) -> dict[str, str]:
    """Repository of each benchmark, from ORG/NAME and BENCHMARK=ORG/NAME.

    >>> repositories_of(["acme/flatpack-bench", "dyad=acme/dyad-built"])
    {'flatpack-bench': 'acme/flatpack-bench', 'dyad': 'acme/dyad-built'}
    """
    found: dict[str, str] = {}
    for given in datasets:
        name, _, repository = given.rpartition("=")
        if not REPO_ID.fullmatch(repository):
            raise ValueError(f"--dataset {given}: ORG/NAME or BENCHMARK=ORG/NAME is needed")
        benchmark = name or repository.split("/")[1]
        if found.setdefault(benchmark, repository) != repository:
            raise ValueError(
                f"--dataset names two repositories for {benchmark}: {found[benchmark]} and "
                f"{repository}"
            )
    return found


def _damaged(run: results.Run, error: Exception) -> Refusal:
    return Refusal(
        "damaged files",
        f"the files beside {run.path.name} are not as a run writes them ({error!r}); run again",
    )


def _without_dataset(target: BenchmarkTask) -> Refusal:
    return Refusal(
        "dataset",
        f"no --dataset for {target.dataset}; name the repository whose leaderboard is meant: "
        f"--dataset ORG/{target.dataset}, or --dataset {target.dataset}=ORG/NAME",
    )


def prepare(made: Claim, target: BenchmarkTask, dataset: str, traces_repo: str) -> Prepared:
    """The submission of one number of a claim against which there is no reason."""
    whole = headline(made, target)
    parse_rate, judged_rate = rates(made)
    folder = folder_of(target.dataset, made.model, target.id)
    generation = made.config.get("generation_kwargs") or {}
    submission = Submission(
        benchmark=target.dataset,
        dataset=dataset,
        revision=content_of(str(made.records[0]["revision"])),
        task=made.task,
        task_id=target.id,
        metric=target.metric,
        scale=(target.low, target.high),
        model=made.model,
        date=results.date_of(made.run.results),
        value=whole.value,
        low=whole.low,
        high=whole.high,
        n=whole.n,
        rows=breakdown(made, target),
        items=len(made.records),
        answered=len(made.records),
        failed=0,
        versions=dict(made.config[versions.KEY]),
        templates=tuple(sorted({str(record["template"]) for record in made.records})),
        model_name=str(made.run_config.get("model")),
        model_args=clean_arguments(str(made.run_config.get("model_args") or "")),
        generation=clean(generation),
        traces=f"{folder}/{ITEMS_FILE}",
        traces_repo=traces_repo,
        parse_rate=parse_rate,
        judged_rate=judged_rate,
        extra=_beside(made),
        judges=tuple(str(judge["id"]) for judge in made.verdicts.judges),
        rubric=_one(made.records, "rubric"),
        encoder=_one(made.records, "encoder"),
        frame_plan=_one(made.records, "frame_plan"),
        parser=_one(made.records, "parser"),
        decoder=_one(made.records, "decoder"),
        decoding=_one(made.records, "decoding"),
        view=_one(made.records, "view"),
        simulated=target.simulated,
    )
    return Prepared(submission, item_lines(made, target), tuple(withheld(made, target)))


def _beside(made: Claim) -> dict[str, float | None]:
    stated = {heading: made.stated(metric) for metric, heading in _BESIDE.items()}
    return {
        heading: float(number)
        for heading, number in stated.items()
        if isinstance(number, int | float) and number == number
    }


def _one(records: Sequence[Record], field: str) -> str | None:
    return next((str(record[field]) for record in records if field in record), None)


def notes_of(given: Submission, digest: str) -> str:
    """The leaderboard's line about a submission whose items have this digest."""
    low, high = given.scale
    parts = [f"{given.metric}, scale {low:g} to {high:g}"]
    if given.low is not None and given.high is not None:
        parts.append(f"95 % interval [{given.low:.2f}, {given.high:.2f}]")
    parts.append(f"{given.answered} of {given.items} items answered, n = {given.n}")
    if given.parse_rate is not None:
        parts.append(f"{given.parse_rate:.2f} % of the replies could be read")
    if given.judged_rate is not None:
        parts.append(f"{given.judged_rate:.2f} % judged by {', '.join(given.judges)}")
    for word, value in (
        ("frames", given.frame_plan),
        ("view", given.view),
        ("step decoding", given.decoding),
        ("template", ", ".join(given.templates)),
        ("data", given.revision),
    ):
        if value:
            parts.append(f"{word} {value}")
    known = [name for name in _PACKAGES_IN_NOTES if name in given.versions]
    parts.append(", ".join(f"{name} {given.versions[name]}" for name in known))
    policy = model_argument(given.model_args, "policy")
    if policy == "file":
        parts.append("replies read from a file")
    if given.simulated:
        parts.append("simulated questions")
    parts.append(f"items sha256 {digest}")
    return "; ".join(parts)
