"""A claim: one task of a run that wants to be on a leaderboard, and what it can be checked against.

Nothing that a results folder says is taken on trust. Every record is made anew from its reply and
the dataset's own row, and every number from the records; `refusals` compares.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from procedural_evals.environment import variable
from procedural_evals.harness import results
from procedural_evals.harness.judging import (
    JUDGE_VARIABLE,
    NO_JUDGE,
    Verdicts,
    judge_records,
    kept_verdicts,
)
from procedural_evals.harness.records import Record, open_answers
from procedural_evals.harness.task_files import aggregations, protocol_of, task_file
from procedural_evals.hub.task_ids import BenchmarkTask, of_lmms_task
from procedural_evals.prompts import PROMPTS_VARIABLE
from procedural_evals.registry import VIEW_VARIABLE
from procedural_evals.sources import DATA_VARIABLE, SourceNotFoundError

LEXICAL = results.LEXICAL


@dataclass(frozen=True)
class Claim:
    """One task of a run under a model's name.

    Attributes:
        run: the run that the task is part of.
        task: the task of lmms-eval.
        model: repository of the model, ORG/NAME.
        simulated: whether the submitter says that the questions are simulated.
        verdicts: what the judges said, for open answers.
        rows: the dataset's rows by id, as they are on this machine; None, with the reason in
            `rows_problem`, when they cannot be read.
    """

    run: results.Run
    task: str
    model: str
    simulated: bool
    verdicts: Verdicts
    rows: Mapping[str, Mapping[str, Any]] | None
    rows_problem: str = ""

    @property
    def records(self) -> list[Record]:
        """The records of the task's items."""
        return self.run.records[self.task]

    @property
    def targets(self) -> list[BenchmarkTask]:
        """The leaderboards' numbers that the task gives."""
        return of_lmms_task(self.task)

    @property
    def config(self) -> Mapping[str, Any]:
        """The task's part of the results file."""
        found: Mapping[str, Any] = self.run.results["configs"][self.task]
        return found

    @property
    def run_config(self) -> Mapping[str, Any]:
        """The arguments of the run."""
        found: Mapping[str, Any] = self.run.results.get("config", {})
        return found

    def stated(self, metric: str) -> Any:
        """The number that the results file states."""
        return self.run.results["results"].get(self.task, {}).get(f"{metric},none")

    @cached_property
    def remade(self) -> dict[str, Record]:
        """The records made anew from the replies, by id; only of items that the dataset has."""
        if self.rows is None:
            return {}
        protocol = protocol_of(self.task)
        with shipped_prompts():
            return {
                record["id"]: protocol.record(
                    {**self.rows[record["id"]], "problems": []}, record["reply"]
                )
                for record in self.records
                if record["id"] in self.rows and "reply" in record
            }

    def recomputed(self, metric: str) -> float:
        """The number made anew from the records, by the task's own function."""
        with kept_verdicts(self.verdicts):
            return float(aggregations(self.task)[metric](self.records))


def shipped_prompts() -> AbstractContextManager[None]:
    """Templates and rubrics within are the package's own, whatever the environment says."""
    return variable(PROMPTS_VARIABLE, None)


def claim(run: results.Run, task: str, model: str, simulated: bool = False) -> Claim:
    """The claim of a run's task, with its dataset's rows and its judges' verdicts.

    Raises JudgeUnreachable when verdicts are lacking and the judge cannot be asked.
    """
    views = tuple(sorted({str(r["view"]) for r in run.records[task] if "view" in r}))
    rows, problem = dataset_rows(task, views) if of_lmms_task(task) else (None, "")
    return Claim(run, task, model, simulated, verdicts_of(run, task), rows, problem)


def verdicts_of(run: results.Run, task: str) -> Verdicts:
    """The verdicts that lie beside the samples, or else the judge's, whose replies are kept.

    `procedural-evals run` writes them; after a run by lmms_eval itself they are written here.
    """
    answers = open_answers(run.records[task])
    if not answers:
        return Verdicts((), {})
    file = results.judgements_file(run, task)
    if not file.is_file():
        chosen = {str(record.get("judge") or NO_JUDGE) for record in answers}
        with variable(JUDGE_VARIABLE, chosen.pop() if len(chosen) == 1 else NO_JUDGE):
            verdicts = judge_records(answers)
        results.write_judgements(run, task, verdicts)
        return verdicts
    return results.read_judgements(file)


def dataset_rows(
    task: str, views: tuple[str, ...] = ()
) -> tuple[dict[str, dict[str, Any]] | None, str]:
    """The rows that a task asks about, by id and without their pictures; or None and why.

    `views` are the cameras that the records name; a task has one.
    """
    import datasets
    from datasets.exceptions import DatasetsError

    config = task_file(task)
    # By the variable, as in a run: a built folder of that name takes no such argument.
    view = views[0] if len(views) == 1 else os.environ.get(VIEW_VARIABLE)
    try:
        with variable(VIEW_VARIABLE, view):
            rows = datasets.load_dataset(
                config["dataset_path"],
                config["dataset_name"],
                split=config["test_split"],
                **(config.get("dataset_kwargs") or {}),
            )
    except (OSError, ValueError, KeyError, RuntimeError, DatasetsError) as error:
        absent = isinstance(error, SourceNotFoundError)
        cause = error if absent else error.__cause__ or error
        return None, _why_no_rows(config["dataset_path"], cause)
    pictures = [name for name, feature in rows.features.items() if "Image(" in repr(feature)]
    return {str(row["id"]): row for row in rows.remove_columns(pictures)}, ""


def _why_no_rows(name: str, cause: BaseException) -> str:
    """A line; where the files are absent, all that was tried and how to get them is more."""
    if isinstance(cause, SourceNotFoundError):
        return (
            f"rows of {name} not found: set ${DATA_VARIABLE} as for the run; "
            f"`procedural-evals check-data {name}` says what is missing"
        )
    words = " ".join(str(cause).split())
    return f"rows of {name} cannot be read: {type(cause).__name__}: {words}"
