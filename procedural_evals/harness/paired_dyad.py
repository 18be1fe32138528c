"""DYAD's steps and modes, of two runs on the same items.

F1 of segments, edit, MoF and macro-F1 are no means of items: whole participants are drawn, and
both runs are scored anew on each draw.
"""

from __future__ import annotations

import numpy as np

from procedural_evals.dyad.steps import step_differences
from procedural_evals.dyad.vocabulary import MODES, PHYSICAL
from procedural_evals.harness.dyad_records import mode_predictions
from procedural_evals.harness.dyad_scores import decoded_steps, second_of
from procedural_evals.harness.paired_line import ALL, Measured, line_of, numbers
from procedural_evals.harness.pairing import Pairs
from procedural_evals.scores.classification import classification_scores, paired_scores
from procedural_evals.scores.uncertainty import Difference

_TITLES = {
    "f1@0.1": "F1@0.1",
    "f1@0.25": "F1@0.25",
    "f1@0.5": "F1@0.5",
    "mof": "MoF",
    "macro_f1": "macro-F1",
    "auprc": "physical AUPRC",
    "balanced_accuracy": "balanced accuracy",
    "f1_verbal": "F1 verbal",
    "f1_physical": "F1 physical",
}


def step_measures(pairs: Pairs, draws: int, seed: int) -> Measured:
    """F1@T, edit and MoF of the seconds that both answered, each run decoded as its records say."""
    scored = [n for n, record in enumerate(pairs.a) if record["gold"] is not None]
    if not scored:
        raise ValueError(f"none of the {len(pairs.a)} compared seconds has a known step")
    left, right = decoded_steps(pairs.a), decoded_steps(pairs.b)
    people = [str(pairs.a[n]["cluster"]) for n in scored]
    differences = step_differences(left.tracks, right.labels, left.labels, draws=draws, seed=seed)
    lines = [
        line_of(_TITLES.get(name, name), ALL, a, b, found, people, name == "f1@0.1")
        for name, (b, a, found) in differences.items()
    ]
    values, answers = [], []
    for records, labels in ((pairs.a, left.labels), (pairs.b, right.labels)):
        named = [labels.get(second_of(record)) for record in records]
        values.append(
            numbers(
                [
                    None if record["gold"] is None else 100.0 * (label == record["gold"])
                    for record, label in zip(records, named, strict=True)
                ]
            )
        )
        answers.append([label or "no answer" for label in named])
    return Measured(lines, "right step", values[0], values[1], answers[0], answers[1])


def mode_measures(pairs: Pairs, draws: int, seed: int) -> Measured:
    """Macro-F1 and its companions of the events that both answered."""
    sides = [mode_predictions(records) for records in (pairs.a, pairs.b)]
    gold = [prediction.label for prediction in sides[0]]
    positive = PHYSICAL if PHYSICAL in gold else None
    labels = [[prediction.prediction for prediction in side] for side in sides]
    ranks = [[prediction.score for prediction in side] if positive else None for side in sides]
    a, b = (
        classification_scores(label, gold, MODES, rank, positive)
        for label, rank in zip(labels, ranks, strict=True)
    )
    differences = paired_scores(
        *(labels[1], labels[0], gold),
        clusters=pairs.clusters,
        labels=MODES,
        a_scores=ranks[1],
        b_scores=ranks[0],
        positive=positive,
        draws=draws,
        seed=seed,
    )
    lines = []
    for name, found in differences.items():
        percent = Difference(100 * found.mean, 100 * found.low, 100 * found.high, found.p_value)
        means = 100 * a[name], 100 * b[name]
        title, headline = _TITLES.get(name, name), name == "macro_f1"
        lines.append(line_of(title, ALL, *means, percent, pairs.clusters, headline))
    values = [
        np.array([100.0 * (label == truth) for label, truth in zip(side, gold, strict=True)])
        for side in labels
    ]
    answers = [[label or "no answer" for label in side] for side in labels]
    return Measured(lines, "right mode", values[0], values[1], answers[0], answers[1])
