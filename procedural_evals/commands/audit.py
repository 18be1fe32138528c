"""`procedural-evals audit`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "say how much of a score needs the video: a full run beside its variants and chance"
DESCRIPTION = (
    "Runs of one model on a task and its variants, such as flatpack_bench, "
    "flatpack_bench_image_only, flatpack_bench_blind and flatpack_bench_shuffled: from one run of "
    "all of them, or from several."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUNS", help="results folders (all runs below) or results files"
    )
    parser.add_argument("--full", metavar="TASK", help="the task that all others are variants of")
    parser.add_argument("--judge", help="judge all by this one, as for run (default: their own)")
    parser.add_argument(
        "--force", action="store_true", help="go on although variants had other judges"
    )
    parser.add_argument("--json", help="file for everything")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Print the audits; 1 when one was refused."""
    from procedural_evals.harness import results
    from procedural_evals.harness.audit import Audit, audit
    from procedural_evals.harness.audit_text import audit_lines
    from procedural_evals.harness.audit_variants import families, results_of, superseded, task_runs
    from procedural_evals.harness.verdict_records import judged_run
    from procedural_evals.harness.write_json import write_json
    from procedural_evals.printable import printable

    files = [file for path in options.runs for file in results_of(Path(path))]
    runs = [judged_run(results.load_run(file), options.judge) for file in files]
    found: list[Audit] = []
    refused: dict[str, str] = {}
    taken = task_runs(runs)
    for left_out in superseded(runs, taken):
        print(f"left out, for a later run has it: {left_out}")
    for family in families(taken, options.full):
        audits, reasons = audit(family, options.force)
        found += audits
        refused |= reasons
    print(printable("\n\n".join("\n".join(audit_lines(each)) for each in found)))
    for task, reason in refused.items():
        print(printable(f"\n{task}: not audited: {reason}"))
    if options.json:
        audited = [each.as_dict() for each in found]
        write_json(Path(options.json), {"audits": audited, "refused": refused})
    return 1 if refused else 0
