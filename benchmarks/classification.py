"""Participant bootstrap of macro-F1, balanced accuracy and AUPRC against a scikit-learn loop.

    python benchmarks/classification.py [--replicates 2000] [--peer-replicates 50]

829 events of 20 participants, the size of DYAD's mode manifest. The peer draws the same
participants, gathers their events and calls scikit-learn for each replicate. It is run for
`--peer-replicates` and its time is scaled to all of them, because it is slow; both results on
these replicates are compared first.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score

from procedural_evals.scores.classification import bootstrap_scores
from procedural_evals.scores.uncertainty import cluster_counts, percentile_ends

EVENTS, PARTICIPANTS, PHYSICAL = 829, 20, 219


def events(seed: int) -> tuple[list[str], list[str], np.ndarray, list[str]]:
    """Predictions, references, physical scores and participants of a made-up system."""
    rng = np.random.default_rng(seed)
    physical = np.zeros(EVENTS, bool)
    physical[rng.permutation(EVENTS)[:PHYSICAL]] = True
    scores = rng.normal(size=EVENTS) + physical
    names = np.array(["verbal", "physical"])
    participants = [f"p{n:02d}" for n in rng.integers(0, PARTICIPANTS, EVENTS)]
    predicted = names[(scores > 1).astype(int)].tolist()
    return predicted, names[physical.astype(int)].tolist(), scores, participants


def peer(
    predicted: list[str],
    true: list[str],
    scores: np.ndarray,
    participants: list[str],
    counts: np.ndarray,
) -> np.ndarray:
    """Macro-F1, balanced accuracy and AUPRC of each replicate, float64 [replicates, 3]."""
    y, p = np.array(true), np.array(predicted)
    order = list(dict.fromkeys(participants))
    items = [np.flatnonzero(np.array(participants) == name) for name in order]
    rows = []
    for drawn in counts:
        chosen = np.concatenate([items[c] for c in np.repeat(np.arange(len(order)), drawn)])
        rows.append(
            (
                f1_score(y[chosen], p[chosen], average="macro"),
                balanced_accuracy_score(y[chosen], p[chosen]),
                average_precision_score(y[chosen] == "physical", scores[chosen]),
            )
        )
    return np.array(rows)


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--peer-replicates", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    predicted, true, scores, participants = events(options.seed)

    def ours(draws: int) -> dict[str, tuple[float, float, float]]:
        return dict(
            bootstrap_scores(
                predicted,
                true,
                participants,
                scores=scores,
                positive="physical",
                draws=draws,
                seed=options.seed,
            )
        )

    few = options.peer_replicates
    counts = cluster_counts(len(set(participants)), few, options.seed)
    start = time.perf_counter()
    values = peer(predicted, true, scores, participants, counts)
    peer_seconds = (time.perf_counter() - start) * options.replicates / few
    found = ours(few)
    for column, name in enumerate(("macro_f1", "balanced_accuracy", "auprc")):
        np.testing.assert_allclose(found[name][1:], percentile_ends(values[:, column]), atol=1e-12)

    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        ours(options.replicates)
        seconds.append(time.perf_counter() - start)
    best, median = min(seconds), sorted(seconds)[len(seconds) // 2]
    print(f"{options.replicates} replicates over {EVENTS} events, {PARTICIPANTS} participants")
    print(f"scikit-learn loop  {peer_seconds:8.3f} s (scaled from {few} replicates)")
    print(f"procedural_evals   {median:8.3f} s (median of {len(seconds)}; best {best:.3f} s)")
    print(f"ratio              {peer_seconds / median:8.0f} times")


if __name__ == "__main__":
    main()
