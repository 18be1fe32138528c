"""`procedural-evals report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "print a run's scores beside the published ones, and what they rest on"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", help="results folder of a run, or its results file")
    parser.add_argument("--judge", help="as for run (default: the run's own)")
    parser.add_argument("--encoder", help="MODEL, MODEL@LAYER, packaged or none, for similarities")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the report."""
    from procedural_evals.commands import set_variables
    from procedural_evals.harness import judging, report

    set_variables({judging.JUDGE_VARIABLE: options.judge})
    print(report.report(Path(options.results), options.encoder))
    return 0
