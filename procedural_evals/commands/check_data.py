"""`procedural-evals check-data`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

HELP = "say what of a benchmark's files is missing, damaged or extra"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", help="dataset name, for example flatpack-bench")
    parser.add_argument(
        "--data-dir", help="folder to look into (default: $PROCEDURAL_EVALS_DATA/NAME)"
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print what was found; 1 when something is missing or damaged."""
    from procedural_evals import registry
    from procedural_evals.harness import media_check

    report = media_check.check(options.name, options.data_dir)
    print("\n".join(report.lines(registry.builder_class(options.name).HUB_REPOS)))
    return 0 if report.complete else 1
