"""`procedural-evals report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "print a run's scores beside the published ones, and what they rest on; or as a page"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", help="results folder of a run, or its results file")
    parser.add_argument("--out", help="folder for report.html and report.md, to look at")
    parser.add_argument("--items", type=int, default=20, help="items a task on the page (20)")
    parser.add_argument(
        "--no-media", action="store_true", help="a page without the items' pictures"
    )
    parser.add_argument("--judge", help="as for run (default: the run's own)")
    parser.add_argument("--encoder", help="MODEL, MODEL@LAYER, packaged or none, for similarities")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the report, or write its page."""
    from procedural_evals.commands import set_variables
    from procedural_evals.harness import judging, report, results
    from procedural_evals.printable import printable

    if options.items < 0:
        raise ValueError(f"--items {options.items}: a number from 0 is needed")
    set_variables({judging.JUDGE_VARIABLE: options.judge})
    ask = options.judge is not None
    if options.out is None:
        print(printable(report.report(Path(options.results), options.encoder, ask)))
        return 0
    from procedural_evals.harness.outputs import check_writable
    from procedural_evals.reporting import page, render

    run = results.load_run(Path(options.results))
    check_writable(Path(options.out))
    made = page.page_of(run, options.items, not options.no_media, options.encoder, ask=ask)
    print("\n".join(map(str, render.write(made, Path(options.out)))))
    return 0
