"""The systems that any model of the mode task is compared with (DYAD, table IX).

- majority: the training participants' more frequent mode, for every event.
- metadata: logistic regression on six causal numbers about the session so far; no pixels.
- trigger mapping: physical for reach and stabilisation, verbal otherwise. Privileged: triggers were
  annotated after the intervention, so this measures how consistent the annotation is.

Each predicts every event out of fold, fitted on that fold's training participants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from procedural_evals.dyad.features import metadata_features, past_events
from procedural_evals.dyad.logistic import Logistic, fit
from procedural_evals.dyad.mode_scores import ModePrediction
from procedural_evals.dyad.records import Corpus
from procedural_evals.dyad.vocabulary import MODES, PHYSICAL, PHYSICAL_TRIGGERS, VERBAL
from procedural_evals.dyad.windows import ModeExample, ModeManifest
from procedural_evals.scores.classification import macro_f1

#: Regularisation strengths among which the validation participants choose, strongest first.
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def _prediction(example: ModeExample, score: float, predicted: str) -> ModePrediction:
    return ModePrediction(example.event_id, example.fold, 0, example.mode, predicted, score)


def _answered(example: ModeExample, physical: bool) -> ModePrediction:
    """A yes-or-no answer as a prediction: its score ranks nothing beyond the answer."""
    return _prediction(example, float(physical), PHYSICAL if physical else VERBAL)


def majority(corpus: Corpus, manifest: ModeManifest) -> list[ModePrediction]:
    """The more frequent mode of each fold's training participants; verbal when they are equal."""
    predictions = []
    for fold in manifest.folds:
        modes = [example.mode for example in manifest.of(fold.train)]
        if not modes:
            raise ValueError(f"no events of the training participants {', '.join(fold.train)}")
        predicted = max(MODES, key=modes.count)
        predictions += [
            _answered(example, predicted == PHYSICAL) for example in manifest.of(fold.test)
        ]
    return predictions


def trigger_mapping(corpus: Corpus, manifest: ModeManifest) -> list[ModePrediction]:
    """Physical for the triggers whose help is nearly always physical, verbal for all others."""
    triggers = {
        event.id: event.trigger for session in corpus.sessions for event in session.assistance
    }
    return [
        _answered(example, triggers[example.event_id] in PHYSICAL_TRIGGERS)
        for example in manifest.examples
    ]


def metadata(corpus: Corpus, manifest: ModeManifest) -> list[ModePrediction]:
    """Class-weighted logistic regression on `features.MetadataFeatures`.

    Each fold's validation participants choose the regularisation by macro-F1, the stronger of
    equals.
    """
    predictions = []
    for fold in manifest.folds:
        durations = [s.duration for s in corpus.sessions if s.participant in fold.train]
        usual = float(np.median(durations))
        train, validation, test = (list(manifest.of(people)) for people in fold)
        x, y = _rows(corpus, train, usual), [example.mode == PHYSICAL for example in train]
        held_out = _rows(corpus, validation, usual)
        models = [fit(x, y, strength) for strength in STRENGTHS]
        scores = [_macro_f1(model, held_out, validation) for model in models]
        best = models[int(np.argmax(scores))]
        for example, score in zip(
            test, best.probabilities(_rows(corpus, test, usual)).tolist(), strict=True
        ):
            predictions.append(_prediction(example, score, PHYSICAL if score > 0.5 else VERBAL))
    return predictions


def _rows(corpus: Corpus, examples: Sequence[ModeExample], usual: float) -> np.ndarray:
    """Feature vectors float64 [examples, 6], made from what lies before each window's end."""
    sessions = {session.id: session for session in corpus.sessions}
    rows = [
        metadata_features(e.end, past_events(sessions[e.session], e.end), usual).vector()
        for e in examples
    ]
    return np.array(rows, np.float64).reshape(len(rows), 6)


def _macro_f1(model: Logistic, rows: np.ndarray, examples: Sequence[ModeExample]) -> float:
    if not examples:
        return 0.0
    modes = [PHYSICAL if p > 0.5 else VERBAL for p in model.probabilities(rows)]
    return macro_f1(modes, [example.mode for example in examples], MODES)


#: The systems by the names of their rows, in the order of the published table.
SYSTEMS: dict[str, Callable[[Corpus, ModeManifest], list[ModePrediction]]] = {
    "majority": majority,
    "metadata": metadata,
    "trigger_mapping": trigger_mapping,
}
