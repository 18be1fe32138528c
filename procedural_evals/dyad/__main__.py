"""Clean an export, run the reference systems, or score stored predictions.

python -m procedural_evals.dyad clean DATA OUT
python -m procedural_evals.dyad reference DATA [--out DIR]
python -m procedural_evals.dyad score DATA PREDICTIONS.jsonl [PREDICTIONS.jsonl ...]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.manifests import count_differences, write_manifests
from procedural_evals.dyad.mode_scores import (
    ModePrediction,
    read_predictions,
    score_mode,
    write_predictions,
)
from procedural_evals.dyad.records import Corpus
from procedural_evals.dyad.reference_systems import SYSTEMS
from procedural_evals.dyad.windows import ModeManifest, mode_manifest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; 0 when it did what was asked and the counts are as published."""
    parser = argparse.ArgumentParser(prog="python -m procedural_evals.dyad")
    commands = parser.add_subparsers(dest="command", required=True)
    cleaning = commands.add_parser("clean", help="write clean records and manifests")
    reference = commands.add_parser("reference", help="run the mode task's reference systems")
    scoring = commands.add_parser("score", help="score stored out-of-fold predictions")
    for command in (cleaning, reference, scoring):
        command.add_argument("data", type=Path, help="folder in DYAD's layout")
        command.add_argument(
            "--lenient", action="store_true", help="leave what is malformed out instead of stopping"
        )
    cleaning.add_argument("out", type=Path, help="folder for the JSON lines")
    reference.add_argument("--out", type=Path, help="folder for the predictions")
    scoring.add_argument("predictions", type=Path, nargs="+", help="files of JSON lines")
    options = parser.parse_args(arguments)
    try:
        corpus = load_corpus(options.data, strict=not options.lenient)
        if options.command == "clean":
            return _clean(corpus, options.out)
        manifest = mode_manifest(corpus)
        if options.command == "reference":
            rows = {name: system(corpus, manifest) for name, system in SYSTEMS.items()}
            if options.out is not None:
                options.out.mkdir(parents=True, exist_ok=True)
                for name, predictions in rows.items():
                    write_predictions(options.out / f"{name}.jsonl", predictions)
        else:
            rows = {path.stem: read_predictions(path) for path in options.predictions}
        _print_scores(rows, manifest)
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _clean(corpus: Corpus, out: Path) -> int:
    for name, lines in write_manifests(corpus, out).items():
        print(f"{name}: {lines}")
    for rule, number in Counter(change.rule for change in corpus.changes).items():
        print(f"changed ({rule}): {number}")
    differences = count_differences(corpus)
    for difference in differences:
        print(f"differs from the published counts: {difference}", file=sys.stderr)
    return 1 if differences else 0


def _print_scores(rows: dict[str, list[ModePrediction]], manifest: ModeManifest) -> None:
    print(f"{len(manifest.examples)} events, {len(manifest.left_out)} left out")
    for name, predictions in rows.items():
        scores = score_mode(predictions, manifest)
        interval = next(iter(scores.by_seed.values()))["macro_f1"]
        print(
            f"{name:<20} macro-F1 {scores.over_seeds['macro_f1']} "
            f"[{interval.low:.3f}, {interval.high:.3f}]  "
            f"physical AUPRC {scores.over_seeds['auprc']}"
        )


if __name__ == "__main__":
    sys.exit(main())
