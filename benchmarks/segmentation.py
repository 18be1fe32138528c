"""Segmental F1 at three thresholds, edit and MoF against the per-frame Python way.

    python benchmarks/segmentation.py [--sequences 362] [--frames 20000] [--peer-sequences 4]

A corpus of 362 sequences of 20,000 frames with hundreds of segments each. The peer is how such
scores are usually written: segments are found by walking over the frames, anew for each threshold;
the edit distance fills a numpy table cell by cell; frames are compared one by one. It is run for
`--peer-sequences` and its time is scaled to all of them, because it is slow; both results on these
sequences are compared first. Both get whole-number labels, ours as arrays, the peer as lists, which
are faster for it.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from procedural_evals.scores.segmentation import segment_scores

THRESHOLDS = (0.1, 0.25, 0.5)


def corpus(sequences: int, frames: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Predictions and references with 200 to 400 true segments and shifted, flickering guesses."""
    rng = np.random.default_rng(seed)
    predictions, references = [], []
    for _ in range(sequences):
        cuts = np.sort(rng.choice(np.arange(1, frames), rng.integers(200, 400), replace=False))
        labels = rng.integers(0, 20, cuts.size + 1)
        reference = np.repeat(labels, np.diff(cuts, prepend=0, append=frames))
        prediction = np.roll(reference, rng.integers(0, 30))
        for start in rng.integers(0, frames - 40, 60):
            prediction[start : start + rng.integers(5, 40)] = rng.integers(0, 20)
        predictions.append(prediction)
        references.append(reference)
    return predictions, references


def walk(labels: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Labels, starts and ends of the segments, frame by frame."""
    names, starts, ends = [labels[0]], [0], []
    for frame in range(1, len(labels)):
        if labels[frame] != labels[frame - 1]:
            names.append(labels[frame])
            starts.append(frame)
            ends.append(frame)
    ends.append(len(labels))
    return names, starts, ends


def table_distance(a: list[int], b: list[int]) -> float:
    """Edit distance, a numpy cell at a time."""
    table = np.zeros((len(a) + 1, len(b) + 1))
    table[:, 0], table[0, :] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]) + 1
    return float(table[-1, -1])


def count_hits(predicted: list[int], true: list[int], threshold: float) -> tuple[int, int, int]:
    """True positives, false positives and false negatives of one sequence at one threshold."""
    names, starts, ends = walk(predicted)
    true_names, true_starts, true_ends = walk(true)
    first, last, kinds = np.array(true_starts), np.array(true_ends), np.array(true_names)
    used = np.zeros(len(true_names), bool)
    tp = fp = 0
    for name, start, end in zip(names, starts, ends, strict=True):
        shared = np.minimum(end, last) - np.maximum(start, first)
        union = np.maximum(end, last) - np.minimum(start, first)
        iou = shared / union * (kinds == name)
        best = int(iou.argmax())
        if iou[best] >= threshold and not used[best]:
            used[best] = True
            tp += 1
        else:
            fp += 1
    return tp, fp, int(used.size - used.sum())


def peer(predictions: list[list[int]], references: list[list[int]]) -> dict[str, float]:
    """All scores, one sequence, one threshold and one frame at a time."""
    counts = {threshold: np.zeros(3) for threshold in THRESHOLDS}
    edits, correct, frames = [], 0, 0
    for predicted, true in zip(predictions, references, strict=True):
        for label, wanted in zip(predicted, true, strict=True):
            frames += 1
            if label == wanted:
                correct += 1
        for threshold in THRESHOLDS:
            counts[threshold] += count_hits(predicted, true, threshold)
        a, b = walk(predicted)[0], walk(true)[0]
        edits.append(100 * (1 - table_distance(a, b) / max(len(a), len(b))))
    scores = {}
    for threshold, (tp, fp, fn) in counts.items():
        scores[f"f1@{threshold:g}"] = 100 * 2 * tp / (2 * tp + fp + fn)
    return {**scores, "edit": float(np.mean(edits)), "mof": 100 * correct / frames}


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=362)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--peer-sequences", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    predictions, references = corpus(options.sequences, options.frames, options.seed)

    few = options.peer_sequences
    lists = [[array.tolist() for array in side[:few]] for side in (predictions, references)]
    start = time.perf_counter()
    expected = peer(*lists)
    peer_seconds = (time.perf_counter() - start) * options.sequences / few
    found = segment_scores(predictions[:few], references[:few], THRESHOLDS)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12)

    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        segment_scores(predictions, references, THRESHOLDS)
        seconds.append(time.perf_counter() - start)
    median = sorted(seconds)[len(seconds) // 2]
    print(f"{options.sequences} sequences of {options.frames} frames, thresholds {THRESHOLDS}")
    print(f"per-frame Python   {peer_seconds:8.3f} s (scaled from {few} sequences)")
    print(
        f"procedural_evals   {median:8.3f} s (median of {len(seconds)}; best {min(seconds):.3f} s)"
    )
    print(f"ratio              {peer_seconds / median:8.0f} times")


if __name__ == "__main__":
    main()
