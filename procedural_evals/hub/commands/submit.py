"""`upload.py submit`: a run's numbers onto the leaderboards, as a pull request."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from procedural_evals.harness.results import Run
    from procedural_evals.hub.pull_requests import Sent
    from procedural_evals.hub.submit import Plan

HELP = "send a run's numbers to the leaderboards, as a pull request to the model's repository"
DESCRIPTION = (
    "Checks a run, item by item, and opens a pull request with its numbers on the model's "
    "repository; the items' records go into a dataset repository as the source. A run that a "
    "leaderboard cannot rely on is refused with all reasons, and the exit status is 1."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("results", type=Path, help="a results file, or a folder with runs below it")
    parser.add_argument("--model", required=True, metavar="ORG/NAME", help="the model's repository")
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="ORG/NAME",
        help="repository of a benchmark, named after it; or BENCHMARK=ORG/NAME; may be repeated",
    )
    parser.add_argument(
        "--traces",
        metavar="ORG/REPO",
        help="dataset repository for the items' records; made where it is absent "
        "(default: YOU/procedural-evals-traces)",
    )
    parser.add_argument("--task", action="append", default=[], help="only this task; repeatable")
    parser.add_argument("--public", action="store_true", help="the traces may be read by everybody")
    parser.add_argument(
        "--simulated", action="store_true", help="the questions are the simulated sample's"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check and show everything, ask the Hub nothing"
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """0: sent, or already there; 1: refused."""
    del rest
    from huggingface_hub import HfApi

    from procedural_evals.harness.results import load_run
    from procedural_evals.hub import benchmarks, pull_requests, trace_repository
    from procedural_evals.hub.results_files import as_yaml, results_file
    from procedural_evals.hub.submit import plan

    run = load_run(options.results)
    api = HfApi()
    traces = options.traces
    if traces is None:
        name = "YOU" if options.dry_run else pull_requests.account(api)
        traces = f"{name}/{trace_repository.NAME}"
    made = plan(
        run,
        options.model,
        options.dataset,
        traces,
        simulated=options.simulated,
        tasks=options.task,
    )
    _show(run, made)
    if _refused(made):
        return 1
    if options.dry_run:
        for one in made.prepared:
            entry = pull_requests.entry_of(one, "(the repository's commit)", str(api.endpoint))
            print(f"\n{results_file(one.submission.benchmark)}:\n{as_yaml([entry])}")
        print("dry run: the Hub was not asked, and nothing was sent")
        return 0
    names = {one.submission.dataset for one in made.prepared}
    found = {name: benchmarks.benchmark(api, name) for name in sorted(names)}
    if reasons := [*benchmarks.misfits(made.prepared, found)]:
        print("\nrefused:\n" + "\n".join(f"  {reason}" for reason in reasons))
        return 1
    sent = pull_requests.send(api, made.prepared, found, options.public)
    _report(sent)
    _note(run, made, sent)
    return 0


def _show(run: Run, made: Plan) -> None:
    print(f"{run.model}\n{run.path}")
    for task in made.left_out:
        print(f"left out: {task} is on no leaderboard")
    for one in made.prepared:
        print(f"\n{one.submission.task_id}: {one.submission.value:.2f}\n  {one.notes}")
        if one.withheld:
            print(f"  kept back by the dataset's terms: {', '.join(one.withheld)}")


def _refused(made: Plan) -> bool:
    for task, reasons in made.refused.items():
        print(f"\nrefused: {task}")
        print("\n".join(f"  {reason}" for reason in reasons))
    if made.refused:
        print("\nNothing was sent. --task NAME submits one task of a run alone.")
    return bool(made.refused)


def _report(sent: Sent) -> None:
    state = "sent" if sent.new_traces else "already there"
    print(f"\ntraces: {sent.traces} ({state})")
    if sent.private:
        print(
            "  The repository is private: nobody but its owners can open the source of these "
            "numbers. Its settings page makes it public; --public does so from the start."
        )
    if sent.pull_request is None:
        print("pull request: none is needed, the numbers are on the model's main branch")
    else:
        state = "opened" if sent.new_pull_request else "already open"
        print(f"pull request: {sent.pull_request} ({state})")


def _note(run: Run, made: Plan, sent: Sent) -> None:
    """Keep beside the results where they were sent, and whether others can read the traces."""
    from procedural_evals.harness.results import RESULTS

    file = run.path.with_name(f"{run.path.name.removesuffix(RESULTS)}_submitted.json")
    record = {
        "tasks": [one.submission.task_id for one in made.prepared],
        "model": made.prepared[0].submission.model,
        "traces": sent.traces,
        "traces_private": sent.private,
        "pull_request": sent.pull_request,
    }
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"noted: {file}")
