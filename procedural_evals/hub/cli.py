"""The command line of `upload.py`: a shell over `procedural_evals.hub.commands`."""

from __future__ import annotations

from collections.abc import Sequence

from procedural_evals.cli import run_command
from procedural_evals.hub import commands


def main(arguments: Sequence[str] | None = None, prog: str = "upload.py") -> int:
    """Run one command; the exit status is 2 for a wrong argument or a missing file."""
    return run_command(
        commands,
        prog=prog,
        description="Build and push data sets, metrics and cards; submit results to the Hub.",
        arguments=arguments,
    )
