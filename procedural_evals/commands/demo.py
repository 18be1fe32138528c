"""`procedural-evals demo`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

HELP = "score the reference policies on the embedded sample"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--output", help="folder for results (default: a new temporary one)")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the reference policies; 1 when a score is not what it has to be."""
    from procedural_evals.harness import demo

    return demo.run(options.output)
