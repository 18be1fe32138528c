"""Out-of-fold predictions of the mode task: stored, checked against the manifest, and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from procedural_evals.dyad.vocabulary import MODES, PHYSICAL
from procedural_evals.dyad.windows import ModeManifest
from procedural_evals.scores.classification import (
    OverSeeds,
    bootstrap_scores,
    over_seeds,
    paired_scores,
)
from procedural_evals.scores.uncertainty import DRAWS, Difference, Interval

_SHOWN = 5


@dataclass(frozen=True)
class ModePrediction:
    """A system's answer for one event.

    Attributes:
        event_id, fold: of the manifest; the fold is the one in which the event is tested.
        seed: of the system's training; 0 for a system without chance.
        label: the true mode.
        prediction: the predicted mode, None when there was no answer.
        score: how likely physical help is, higher for more likely.
    """

    event_id: str
    fold: int
    seed: int
    label: str
    prediction: str | None
    score: float


def write_predictions(path: str | Path, predictions: Iterable[ModePrediction]) -> None:
    """Store predictions as JSON lines."""
    lines = [json.dumps(asdict(prediction)) for prediction in predictions]
    Path(path).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def read_predictions(path: str | Path) -> list[ModePrediction]:
    """Predictions of a JSON-lines file; ValueError names the line that is none."""
    names = {field.name for field in fields(ModePrediction)}
    predictions = []
    # Only a line feed ends a line: a text may hold U+2028, which `splitlines` takes for an end.
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            good = isinstance(value, dict) and set(value) == names
        except json.JSONDecodeError:
            good = False
        if not good:
            raise ValueError(f"{path}:{number}: an object with {', '.join(sorted(names))}: {line}")
        predictions.append(ModePrediction(**value))
    return predictions


def checked_by_seed(
    predictions: Sequence[ModePrediction], manifest: ModeManifest
) -> dict[int, list[ModePrediction]]:
    """The predictions of each seed in the manifest's order, every eligible event exactly once.

    ValueError names the events that are missing, there twice or not eligible, and those whose fold
    or label is not the manifest's.
    """
    examples = {example.event_id: example for example in manifest.examples}
    if not predictions or not examples:
        raise ValueError(f"{len(predictions)} predictions for {len(examples)} eligible events")
    by_seed: dict[int, dict[str, ModePrediction]] = {}
    often = Counter((prediction.seed, prediction.event_id) for prediction in predictions)
    faults: dict[str, list[str]] = {"twice": [name for (_, name), n in often.items() if n > 1]}
    for prediction in predictions:
        by_seed.setdefault(prediction.seed, {})[prediction.event_id] = prediction
    for seed, found in by_seed.items():
        for name in examples:
            if name not in found:
                faults.setdefault(f"missing from seed {seed}", []).append(name)
        for name, prediction in found.items():
            if name not in examples:
                faults.setdefault("not eligible", []).append(name)
            elif prediction.fold != examples[name].fold:
                fault = f"of fold {prediction.fold}, tested in {examples[name].fold}"
                faults.setdefault("predicted in a fold that does not test them", []).append(
                    f"{name} ({fault})"
                )
            elif prediction.label != examples[name].mode:
                faults.setdefault("with another label than the manifest's", []).append(name)
            elif prediction.prediction not in (*MODES, None) or not np.isfinite(prediction.score):
                faults.setdefault("with no mode or no finite score", []).append(name)
    texts = [
        f"{len(names)} events {fault}: {', '.join(sorted(names)[:_SHOWN])}"
        + (", ..." if len(names) > _SHOWN else "")
        for fault, names in faults.items()
        if names
    ]
    if texts:
        raise ValueError("every eligible event is scored exactly once a seed; " + "; ".join(texts))
    return {seed: [found[name] for name in examples] for seed, found in by_seed.items()}


@dataclass(frozen=True)
class ModeScores:
    """Scores of a system: of each seed, with intervals, and over the seeds; fractions in [0, 1].

    `macro_f1` is the primary score and `auprc` that of physical help; the others are diagnostics.
    """

    events: int
    unanswered: int
    by_seed: dict[int, dict[str, Interval]]
    over_seeds: dict[str, OverSeeds]


def score_mode(
    predictions: Sequence[ModePrediction],
    manifest: ModeManifest,
    draws: int = DRAWS,
    seed: int = 0,
) -> ModeScores:
    """Score out-of-fold predictions; intervals by drawing participants."""
    people = [example.participant for example in manifest.examples]
    by_seed = {}
    unanswered = 0
    for number, found in checked_by_seed(predictions, manifest).items():
        unanswered += sum(prediction.prediction is None for prediction in found)
        by_seed[number] = bootstrap_scores(
            [prediction.prediction for prediction in found],
            [prediction.label for prediction in found],
            people,
            MODES,
            [prediction.score for prediction in found],
            PHYSICAL,
            draws=draws,
            seed=seed,
        )
    names = next(iter(by_seed.values()))
    means = {name: over_seeds([scores[name].mean for scores in by_seed.values()]) for name in names}
    return ModeScores(len(people), unanswered, by_seed, means)


def chance_macro_f1(labels: Sequence[str]) -> tuple[float, float]:
    """Macro-F1 in [0, 1] of tossing a fair coin, and of always saying the more frequent mode.

    Of a mode with share p, a coin finds half, and half of all events are called so: its F1 is
    p / (p + 1/2) when the expected counts are put in.

    >>> [round(value, 3) for value in chance_macro_f1(["verbal"] * 610 + ["physical"] * 219)]
    [0.471, 0.424]
    """
    if not labels:
        raise ValueError("no labels: chance needs at least one event")
    shares = [labels.count(mode) / len(labels) for mode in MODES]
    coin = [share / (share + 0.5) for share in shares]
    most = max(shares)
    return sum(coin) / len(MODES), 2 * most / (1 + most) / len(MODES)


def compare_modes(
    a: Sequence[ModePrediction],
    b: Sequence[ModePrediction],
    manifest: ModeManifest,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Difference]:
    """Each score of system a minus system b on the same drawn participants; one seed each."""
    sides = []
    for name, predictions in (("a", a), ("b", b)):
        found = checked_by_seed(predictions, manifest)
        if len(found) != 1:
            raise ValueError(f"{name} has the seeds {sorted(found)}; compare one seed with one")
        sides.append(next(iter(found.values())))
    return paired_scores(
        [prediction.prediction for prediction in sides[0]],
        [prediction.prediction for prediction in sides[1]],
        [example.mode for example in manifest.examples],
        [example.participant for example in manifest.examples],
        MODES,
        [prediction.score for prediction in sides[0]],
        [prediction.score for prediction in sides[1]],
        PHYSICAL,
        draws=draws,
        seed=seed,
    )
