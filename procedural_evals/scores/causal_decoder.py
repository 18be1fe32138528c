"""From per-class scores to labels, using nothing but the past.

A step recogniser that looks at each second alone flickers. The decoder smooths the scores, demands
a margin before a competing step counts, and makes it stay ahead for a while before the label
changes (DYAD, arXiv 2609.09023, section IV-B). Each part can be taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Decoded(NamedTuple):
    """Label int64 [frames] (column numbers) and the smoothed scores float64 [frames, classes]."""

    labels: Ints
    scores: Floats


@dataclass(frozen=True)
class CausalDecoder:
    """Exponential smoothing, hysteresis and minimum dwell; output at t depends on scores up to t.

    Attributes:
        smoothing: weight of the new score in the moving average, in (0, 1]; 1 takes smoothing out.
            The average starts at the first score.
        margin: by how much a competing class must exceed the current one, in the scores' unit;
            0 takes hysteresis out.
        dwell: for how many frames in a row the same competitor must be ahead by the margin before
            the label changes, at least 1; 1 takes the dwell out.

    >>> scores = [[1, 0], [0, 1], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> CausalDecoder(smoothing=1, margin=0, dwell=1).decode(scores).labels.tolist()
    [0, 1, 0, 1, 1, 1]
    >>> CausalDecoder(smoothing=1, margin=0, dwell=2).decode(scores).labels.tolist()
    [0, 0, 0, 0, 1, 1]
    """

    smoothing: float = 0.5
    margin: float = 0.1
    dwell: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.smoothing <= 1:
            raise ValueError(f"smoothing: {self.smoothing} is not in (0, 1]")
        if not 0 <= self.margin < np.inf:
            raise ValueError(f"margin: {self.margin}; a finite number, 0 or more, is needed")
        if self.dwell < 1 or self.dwell != int(self.dwell):
            raise ValueError(f"dwell: {self.dwell}; a whole number of frames, 1 or more, is needed")

    def decode(self, scores: ArrayLike) -> Decoded:
        """Labels of one sequence of scores [frames, classes], higher meaning more likely.

        The first label is the first frame's best class, the first of equals. ValueError for
        another shape or a score that is not finite.
        """
        smoothed = self.smooth(scores)
        labels = np.empty(len(smoothed), np.int64)
        current, candidate, ahead = -1, -1, 0
        for t, row in enumerate(smoothed):
            best = int(row.argmax())
            if current < 0:
                current = best
            if best != current and row[best] > row[current] + self.margin:
                ahead = ahead + 1 if best == candidate else 1
                candidate = best
                if ahead >= self.dwell:
                    current, candidate, ahead = best, -1, 0
            else:
                candidate, ahead = -1, 0
            labels[t] = current
        return Decoded(labels, smoothed)

    def smooth(self, scores: ArrayLike) -> Floats:
        """Exponential moving average of the scores, float64 [frames, classes]."""
        table = _checked(scores, "scores")
        smoothed: Floats = table.copy()
        for t in range(1, len(table)):
            smoothed[t] = (1 - self.smoothing) * smoothed[t - 1] + self.smoothing * table[t]
        return smoothed


def pmi_debiased(scores: ArrayLike, blank: ArrayLike) -> Floats:
    """Log-likelihoods less what each class gets without any evidence: [frames, classes].

    Pointwise mutual information of caption and picture: the score of a caption on the frames minus
    its score on blank frames, so that wording that is likely anyway gains nothing.

    Args:
        scores: [frames, classes] log-likelihood of each class's caption.
        blank: [classes] the same on blank input, or [frames, classes].

    >>> pmi_debiased([[-1.0, -3.0]], [-1.0, -4.0]).tolist()
    [[0.0, 1.0]]
    """
    table = _checked(scores, "scores")
    bias = np.asarray(blank, np.float64)
    if bias.shape not in (table.shape[1:], table.shape) or not np.isfinite(bias).all():
        raise ValueError(
            f"blank: shape {bias.shape} for {table.shape[1]} classes; one finite score a class"
        )
    debiased: Floats = table - bias
    return debiased


def _checked(scores: ArrayLike, name: str) -> Floats:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"{name}: shape {table.shape}; frames by classes are needed")
    if not np.isfinite(table).all():
        frame, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(f"{name}: frame {frame}, class {column} is {table[frame, column]}")
    return table
