"""`upload.py cards`: the model cards of the reference systems and of the published results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "write the model cards of the reference systems and of the papers' published results"


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--out", type=Path, required=True, help="folder; one folder a card is made in it"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a README.md there that this program has not written, too",
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Write the cards and name their files."""
    del rest
    from procedural_evals.hub.reference_cards import CARD, build_cards

    for folder in build_cards(options.out, overwrite=options.overwrite):
        print(folder / CARD)
    return 0
