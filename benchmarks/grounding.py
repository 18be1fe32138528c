"""Grounded IoU, IoP and IoG of a whole dataset against the per-item Python way.

    python benchmarks/grounding.py [--items 10522] [--rounds 7]

As many items as ProcObject-10K has questions, 1 to 5 spans on a side, given as lists of pairs of
Python floats, as a results file gives them. The peer is how such scores are usually written: for
each item the spans of each side are sorted and merged, and all pairs of spans intersected. Both
results are compared first; each time is the best of the rounds, everything included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from procedural_evals.scores.grounding import grounded_iou

Item = list[tuple[float, float]]


def dataset(items: int, seed: int) -> tuple[list[Item], list[Item]]:
    """Predictions, which may overlap or be absent, and references of clips of about 72 seconds."""
    rng = np.random.default_rng(seed)

    def side(least: int) -> list[Item]:
        sizes = np.clip(rng.poisson(0.74, items) + 1, least, 5)
        sizes[rng.random(items) < 0.05] = least
        return [
            sorted((a, a + b) for a, b in zip(*rng.uniform(0.5, 36, (2, n)).tolist(), strict=True))
            for n in sizes
        ]

    return side(0), side(1)


def merged(spans: Item) -> Item:
    """The spans with overlapping ones joined."""
    result: Item = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def item_by_item(predictions: list[Item], references: list[Item]) -> list[tuple[float, ...]]:
    """IoU, IoP and IoG of each item, one item after the other."""
    scores = []
    for prediction, reference in zip(predictions, references, strict=True):
        p, t = merged(prediction), merged(reference)
        both = sum(max(0.0, min(b, d) - max(a, c)) for a, b in p for c, d in t)
        predicted, true = sum(b - a for a, b in p), sum(d - c for c, d in t)
        iop = both / predicted if predicted else 0.0
        scores.append((both / (predicted + true - both), iop, both / true))
    return scores


def best(work: Callable[[], object], rounds: int) -> float:
    """Processor time of the fastest round, in seconds: a busy machine changes little."""
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def main() -> None:
    """Compare both results, time both, print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_522)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    predictions, references = dataset(options.items, seed=0)
    dicts = [[[{"start": a, "end": b} for a, b in i] for i in s] for s in (predictions, references)]

    ours = grounded_iou(predictions, references)
    peer = np.array(item_by_item(predictions, references))
    np.testing.assert_allclose(np.stack([ours.iou, ours.iop, ours.iog], axis=1), peer, atol=1e-12)

    spans = sum(map(len, predictions)) + sum(map(len, references))
    print(f"{options.items} items, {spans} spans, best of {options.rounds}")
    loop = best(lambda: item_by_item(predictions, references), options.rounds)
    print(f"  per-item Python loop   {1e3 * loop:8.1f} ms")
    for name, (p, r) in {"pairs": (predictions, references), "dictionaries": dicts}.items():
        sweep = best(lambda p=p, r=r: grounded_iou(p, r), options.rounds)
        print(f"  one sweep, {name:<12} {1e3 * sweep:7.1f} ms   {loop / sweep:5.1f} times faster")


if __name__ == "__main__":
    main()
