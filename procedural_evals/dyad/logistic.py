"""L2-regularised logistic regression by Newton's method, enough for a handful of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_STEPS, _GRADIENT = 100, 1e-9


@dataclass(frozen=True)
class Logistic:
    """A fitted model: features are standardised, then weighted and summed.

    Attributes:
        center, scale: float64 [features] mean and deviation of the training rows; a constant
            feature has scale 1.
        weights: float64 [features], in units of the standardised features.
        intercept: log-odds at the training mean.
    """

    center: Floats
    scale: Floats
    weights: Floats
    intercept: float

    def probabilities(self, features: ArrayLike) -> Floats:
        """Probability of the positive class for each row [rows, features], float64 [rows]."""
        rows = (np.asarray(features, np.float64) - self.center) / self.scale
        return _sigmoid(rows @ self.weights + self.intercept)


def fit(features: ArrayLike, positive: ArrayLike, strength: float = 1.0) -> Logistic:
    """Fit to rows [rows, features] with truth [rows], both classes weighing the same in total.

    Minimises strength * sum of weighted log-losses + half the squared weights; the intercept is
    not penalised. These are the conventions of scikit-learn's LogisticRegression with
    C=strength and class_weight="balanced", on rows standardised by their own mean and deviation.

    Raises ValueError for rows that are not finite, another number of truths, or a single class.

    >>> model = fit([[0.0], [1.0], [2.0], [3.0]], [False, False, True, True])
    >>> bool(model.probabilities([[3.0]])[0] > 0.5)
    True
    """
    rows, truth = np.asarray(features, np.float64), np.asarray(positive, bool)
    if rows.ndim != 2 or truth.shape != rows.shape[:1]:
        raise ValueError(f"features {rows.shape} and truth {truth.shape}: one truth a row")
    if not np.isfinite(rows).all():
        raise ValueError("features: every value must be finite")
    n_positive = int(truth.sum())
    if not 0 < n_positive < truth.size:
        raise ValueError(
            f"{n_positive} of {truth.size} rows are positive; a model needs rows of both classes"
        )
    if not strength > 0:
        raise ValueError(f"strength: {strength}; a number above 0 is needed")
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    design = np.column_stack(((rows - center) / scale, np.ones(truth.size)))
    sizes = np.where(truth, n_positive, truth.size - n_positive)
    weight = strength * truth.size / (2 * sizes)
    penalty = np.ones(design.shape[1])
    penalty[-1] = 0
    found = _newton(design, truth, weight, penalty)
    return Logistic(center, scale, found[:-1], float(found[-1]))


def _newton(design: Floats, truth: NDArray[np.bool_], weight: Floats, penalty: Floats) -> Floats:
    """Minimum of the weighted log-loss plus penalty, by Newton steps halved until they help."""
    found: Floats = np.zeros(design.shape[1])
    sign = np.where(truth, 1.0, -1.0)

    def loss(parameters: Floats) -> float:
        margins = sign * (design @ parameters)
        return float(weight @ np.logaddexp(0, -margins) + penalty @ parameters**2 / 2)

    current = loss(found)
    for _ in range(_STEPS):
        probability = _sigmoid(design @ found)
        gradient = design.T @ (weight * (probability - truth)) + penalty * found
        if np.abs(gradient).max() <= _GRADIENT * max(1.0, float(weight.sum())):
            break
        curvature = weight * probability * (1 - probability)
        hessian = (design.T * curvature) @ design + np.diag(penalty)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        size = 1.0
        while (trial := loss(found - size * step)) > current and size > 1e-9:
            size /= 2
        found, current = found - size * step, trial
    return found


def _sigmoid(values: Floats) -> Floats:
    result: Floats = 0.5 * (1 + np.tanh(values / 2))
    return result
