"""`procedural-evals compare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "compare two runs item by item: paired differences, p-values, the items that changed"
DESCRIPTION = (
    "A difference in what makes a score (dataset revision, template, frame plan, parser, rubric, "
    "judges, step decoder, view, questions) is a refusal and ends with status 1; differences of "
    "the models compared (frame times, decoder library, generation arguments, versions) are notes."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="results folder (its newest run) or results file")
    parser.add_argument("b", metavar="B", help="the same; differences are B - A")
    parser.add_argument(
        "--tasks",
        help="TASK,TASK_A:TASK_B,...: these tasks, or one of A against another one of B "
        "(default: every task that both have)",
    )
    parser.add_argument(
        "--force", action="store_true", help="compare although something differs, and say what"
    )
    parser.add_argument(
        "--flips", type=int, default=5, metavar="N", help="items shown that changed each way (5)"
    )
    parser.add_argument("--judge", help="judge both by this one, as for run (default: their own)")
    parser.add_argument(
        "--similarity", action="store_true", help="compare similarities too (loads the encoder)"
    )
    parser.add_argument("--json", help="file for everything, with all items that changed")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the comparison; 1 when a task was refused."""
    from procedural_evals.harness.run_comparison import Options, compare_runs
    from procedural_evals.harness.write_json import write_json
    from procedural_evals.printable import printable

    if options.flips < 0:
        raise ValueError(f"--flips {options.flips}: a number from 0 is needed")
    found = compare_runs(
        Path(options.a),
        Path(options.b),
        Options(
            tuple(filter(None, (options.tasks or "").split(","))),
            options.force,
            options.judge,
            options.similarity,
        ),
    )
    print(printable("\n".join(found.lines(options.flips))))
    if options.json:
        write_json(Path(options.json), found.as_dict())
    return 1 if found.refused else 0
