"""Agreement of two annotators as an `evaluate` module: features and a call into the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.harness.label_metric import KINDS, LabelMetric
from procedural_evals.scores.agreement import cohen_kappa, event_agreement, percent_agreement

_DESCRIPTION = """
Agreement of two annotators: percent agreement and Cohen's kappa on labels; one-to-one matching of
events within a tolerance, with precision, recall, F1 and boundary errors.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions, references: configuration "labels" (the default): one label an item, None being a
        label; configuration "events": for each session a list of {"start", "end"} in seconds, an
        end may be None.
    tolerance: ("events") how far matched onsets may be apart, 1 second by default.
Returns:
    labels: percent_agreement in [0, 100], kappa in [-1, 1], items.
    events: precision, recall, f1 in [0, 1], start_mae and end_mae in seconds (None without a
        match), matched, predicted, reference.
Examples:
    >>> import evaluate
    >>> agreement = evaluate.load("metrics/agreement")
    >>> agreement.compute(predictions=["a", "b"], references=["a", "b"])["kappa"]
    1.0
"""

_CITATION = """
@article{cohen1960coefficient,
  title = {A coefficient of agreement for nominal scales},
  author = {Cohen, Jacob},
  journal = {Educational and Psychological Measurement},
  volume = {20},
  number = {1},
  pages = {37--46},
  year = {1960}
}
"""

_EVENTS = datasets.List({"start": datasets.Value("float64"), "end": datasets.Value("float64")})


def _features(side: Any) -> datasets.Features:
    return datasets.Features({"predictions": side, "references": side})


def _check_events(side: str, sessions: Any) -> None:
    for i, events in enumerate(sessions or ()):
        for j, event in enumerate(events):
            lacking = {"start", "end"}.difference(event if isinstance(event, Mapping) else ())
            if lacking:
                raise ValueError(
                    f"{side}: session {i}, event {j} is {event!r:.80}, without "
                    f"{' and '.join(sorted(lacking))}; give {{'start': s, 'end': s}} in seconds, "
                    "with None for an end that is not known"
                )


class Agreement(LabelMetric, evaluate.Metric):
    """Agreement on labels or on events; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        features: Any
        if self.config_name == "events":
            features = _features(_EVENTS)
        elif self.config_name in ("labels", "default"):
            features = [_features(datasets.Value(kind)) for kind in KINDS]
        else:
            raise ValueError(
                f"agreement has no configuration {self.config_name!r}; use labels or events"
            )
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features,
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Check that events have a start and an end, and take them in."""
        if self.config_name == "events":
            for side, sessions in (("predictions", predictions), ("references", references)):
                _check_events(side, sessions)
        super().add_batch(predictions=predictions, references=references, **inputs)

    def _compute(
        self, predictions: Sequence[Any], references: Sequence[Any], tolerance: float = 1.0
    ) -> dict[str, Any]:
        if self.config_name == "events":
            return dict(event_agreement(predictions, references, tolerance).scores())
        return {
            "percent_agreement": percent_agreement(predictions, references),
            "kappa": cohen_kappa(predictions, references),
            "items": len(references),
        }
