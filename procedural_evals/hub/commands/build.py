"""`upload.py build`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

HELP = "build and check a folder that is a complete dataset repository"
DESCRIPTION = """Build OUT/NAME: Parquet, card, eval.yaml and record, from the dataset's builder.
Media that may not be passed on are linked, text that may not be is refused. The folder is checked,
and loaded once with an empty cache, before it appears."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", help="dataset name, for example flatpack-bench")
    parser.add_argument(
        "--config",
        nargs="+",
        action="extend",
        dest="configs",
        metavar="CONFIG",
        help="configurations to build (default: the sample, and all whose files are found and "
        "whose text may be passed on)",
    )
    parser.add_argument(
        "--data-dir", help="folder with the authors' files (default: where load_dataset finds them)"
    )
    parser.add_argument(
        "--out", default="outputs", help="folder that NAME is built in (default: %(default)s)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a folder that an earlier build made"
    )
    parser.add_argument(
        "--embed-media",
        action="store_true",
        help="embed media that may not be passed on: for a copy of your own, never public",
    )
    parser.add_argument(
        "--embed-text",
        action="store_true",
        help="keep text that may not be passed on: for a copy of your own, never public",
    )
    parser.add_argument(
        "--framework",
        help="evaluation framework named in eval.yaml, one that the Hub knows (default: lmms-eval)",
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Build, and print what was made."""
    import logging
    import time

    from procedural_evals.hub import build, eval_yaml

    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    start = time.monotonic()
    framework = options.framework or eval_yaml.EVALUATION_FRAMEWORK
    built = build.build(
        options.name,
        options.out,
        configs=options.configs,
        data_dir=options.data_dir,
        embed_media=options.embed_media,
        embed_text=options.embed_text,
        overwrite=options.overwrite,
        framework=framework,
    )
    print(f"{built.folder}: built and checked in {time.monotonic() - start:.0f} s")
    for config, split, entry in built.each_split():
        size = sum(file["bytes"] for file in entry["files"].values()) / 1e6
        print(f"  {config}/{split}: {entry['rows']:,} rows, {size:.2f} MB")
    for config, entry in built.record["configs"].items():
        for column, rows in entry["linked"].items():
            print(f"  {config}: {column} linked in {rows:,} rows (see the card)")
    for line in built.restricted:
        print(f"  never public: {line}")
    if (built.folder / eval_yaml.FILE).is_file() and framework not in eval_yaml.LISTED_FRAMEWORKS:
        print(
            f"  {eval_yaml.FILE} names {framework}, which the Hub did not list in August 2026; "
            "where it refuses the file, build with --framework, or leave the file out"
        )
    return 0
