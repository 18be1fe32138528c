"""Clean an export, run the reference systems, score predictions, or take the decoder apart.

python -m procedural_evals.dyad clean DATA OUT
python -m procedural_evals.dyad reference DATA [--out DIR]
python -m procedural_evals.dyad score DATA PREDICTIONS [PREDICTIONS ...]
python -m procedural_evals.dyad ablation RESULTS

DATA is a folder in DYAD's layout, or the word `sample` for the embedded simulated one. PREDICTIONS
are JSON lines as `reference` writes them, or the results folder of a run of the mode task. RESULTS
is the results folder of a run of the step task.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from procedural_evals import folders
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
    ablation = commands.add_parser("ablation", help="a run's answers under each step decoder")
    ablation.add_argument("results", type=Path, help="results of a run of the step task")
    for command in (cleaning, reference, scoring):
        command.add_argument("data", help="folder in DYAD's layout, or the word sample")
        command.add_argument(
            "--lenient", action="store_true", help="leave what is malformed out instead of stopping"
        )
    cleaning.add_argument("out", type=Path, help="folder for the JSON lines")
    reference.add_argument("--out", type=Path, help="folder for the predictions")
    scoring.add_argument("predictions", type=Path, nargs="+", help="JSON lines, or results folders")
    options = parser.parse_args(arguments)
    try:
        if options.command == "ablation":
            _print_ablation(options.results)
            return 0
        corpus = load_corpus(_folder(options.data), strict=not options.lenient)
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
            rows = {path.stem: _predictions(path) for path in options.predictions}
        _print_scores(rows, manifest)
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _folder(name: str) -> Path:
    return folders.dataset_scripts() / "dyad" / "sample" if name == "sample" else Path(name)


def _predictions(path: Path) -> list[ModePrediction]:
    """Of a file of JSON lines, or of a run of the mode task."""
    if path.is_file() and path.suffix == ".jsonl":
        return read_predictions(path)
    from procedural_evals.harness.dyad_records import mode_predictions
    from procedural_evals.harness.records import answered_records

    return mode_predictions(answered_records(_records(path, "mode")))


def _records(path: Path, kind: str) -> list[dict[str, Any]]:
    """The records of that kind in a run's results; ValueError unless one task has them."""
    from procedural_evals.harness.results import load_run

    found = {
        task: records
        for task, records in load_run(path).records.items()
        if records and records[0].get("kind") == kind
    }
    if len(found) != 1:
        names = ", ".join(found) or "none"
        raise ValueError(
            f"{path}: one task with records of kind {kind!r} is needed; it has {names}"
        )
    return next(iter(found.values()))


def _print_ablation(path: Path) -> None:
    from procedural_evals.harness.dyad_tables import ablation_rows
    from procedural_evals.harness.summaries import text_of

    print(text_of(list(ablation_rows(_records(path, "steps"))), "F1@0.1"))


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
