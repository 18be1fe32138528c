"""`procedural-evals judge-audit`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "compare several judges over the same answers, and with people"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("answers", nargs="+", help="predictions (.json, .jsonl) or results folders")
    parser.add_argument("--judge", action="append", required=True, help="once a judge, as for run")
    parser.add_argument("--rubric", help="name or file (default: the runs' own, or promqa_ternary)")
    parser.add_argument(
        "--human",
        help="people's grades (.csv, .json, .jsonl): id, grade, predictor as the tables name it",
    )
    parser.add_argument("--out", help="JSON file for the tables")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the tables of agreement."""
    from procedural_evals.harness import judge_audit

    return judge_audit.run(
        [Path(path) for path in options.answers],
        options.judge,
        options.rubric,
        Path(options.human) if options.human else None,
        Path(options.out) if options.out else None,
    )
