"""`procedural-evals contact-sheet`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

HELP = "put the pictures of a dozen rows on one page, to look at"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", help="dataset name, for example flatpack-bench")
    parser.add_argument("--config", help="its configuration, for example sample")
    parser.add_argument("--data-dir", help="folder with its files")
    parser.add_argument("--out", default="contact-sheet.png", help="picture to write")


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Write the page."""
    from procedural_evals import contact_sheet

    count = contact_sheet.make_contact_sheet(
        options.name, Path(options.out), options.config, data_dir=options.data_dir
    )
    print(f"{count} pictures in {options.out}")
    return 0
