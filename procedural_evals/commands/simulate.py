"""`procedural-evals simulate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from procedural_evals.simulator.difficulty import PRESETS

HELP = "write a simulated assembly world in a benchmark's layout"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", help="dataset name, for example flatpack-bench")
    parser.add_argument("--out", help="folder to write to: new or empty")
    parser.add_argument("--count", type=int, default=4, help="products, toys or sessions (4)")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another world (0)")
    parser.add_argument(
        "--difficulty",
        choices=PRESETS,
        default="medium",
        help="how much happens at once and how alike things are (medium)",
    )
    parser.add_argument(
        "--sample", action="store_true", help="make the embedded sample anew, of NAME or of all"
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Write a world, or the embedded samples anew."""
    from procedural_evals import folders
    from procedural_evals.simulator import writers

    if options.sample:
        for name in [options.name] if options.name else writers.WRITERS:
            folder = folders.dataset_scripts() / name.replace("-", "_") / "sample"
            print(writers.make_sample(name, folder))
    elif options.name and options.out:
        print(
            writers.simulate(
                options.name, Path(options.out), options.count, options.seed, options.difficulty
            )
        )
    else:
        raise ValueError("say NAME and --out FOLDER, or --sample for the embedded samples")
    return 0
