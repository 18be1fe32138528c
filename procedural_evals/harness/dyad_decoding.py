"""How what a model said about each second becomes one step a second: the causal decoder's stages.

`$PROCEDURAL_EVALS_STEP_DECODER` chooses the stages of a run: `none` (each second as answered),
`full`, or what differs from `full`:

    smoothing=1      without the moving average
    margin=0         without hysteresis
    dwell=1          without minimum dwell
    pmi=no           without the scores on grey frames
    dwell=1,pmi=no   without either

The choice is part of every item's record, and what a model said is kept, so that stored results can
be decoded in another way without asking the model again (`python -m procedural_evals.dyad ablation
RESULTS`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from procedural_evals.scores.causal_decoder import CausalDecoder, Decoded, pmi_debiased

Floats = NDArray[np.float64]

STEP_DECODER_VARIABLE = "PROCEDURAL_EVALS_STEP_DECODER"
_TRUTHS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Decoding:
    """The stages and their settings; the scores that are decoded are probabilities of the steps.

    Attributes:
        smoothing, margin, dwell: as of `CausalDecoder`; (1, 0, 1) leaves every second as it is.
        pmi: whether the captions' likelihoods on grey frames are subtracted, where there are any.
    """

    smoothing: float = 0.5
    margin: float = 0.1
    dwell: int = 3
    pmi: bool = True

    @classmethod
    def from_text(cls, text: str) -> Decoding:
        """The stages that a text names; ValueError says what may stand there.

        >>> Decoding.from_text("none") == NONE, Decoding.from_text("full") == FULL
        (True, True)
        >>> str(Decoding.from_text("dwell=1, pmi=no"))
        'smoothing=0.5,margin=0.1,dwell=1,pmi=no'
        """
        named = {"none": NONE, "full": FULL}.get(text.strip())
        if named is not None:
            return named
        changes: dict[str, Any] = {}
        for part in text.split(","):
            name, _, value = (word.strip() for word in part.partition("="))
            try:
                changes[name] = _READERS[name](value)
            except (KeyError, ValueError):
                raise ValueError(
                    f"step decoder {text!r}: {part.strip()!r} is not understood; none, full, or "
                    "smoothing=0.5,margin=0.1,dwell=3,pmi=yes in part or whole is needed"
                ) from None
        decoding = replace(FULL, **changes)
        _ = decoding.decoder  # which checks the numbers
        return decoding

    @classmethod
    def from_environment(cls, default: Decoding) -> Decoding:
        """What `$PROCEDURAL_EVALS_STEP_DECODER` names, or the protocol's own."""
        text = os.environ.get(STEP_DECODER_VARIABLE)
        return cls.from_text(text) if text else default

    def __str__(self) -> str:
        """As recorded in results; `from_text` reads it back."""
        pmi = "yes" if self.pmi else "no"
        return f"smoothing={self.smoothing:g},margin={self.margin:g},dwell={self.dwell},pmi={pmi}"

    @property
    def decoder(self) -> CausalDecoder:
        """The decoder with these settings."""
        return CausalDecoder(self.smoothing, self.margin, self.dwell)

    def decode(self, probabilities: ArrayLike) -> Decoded:
        """Column numbers int64 [seconds] and smoothed scores float64 [seconds, steps]."""
        return self.decoder.decode(probabilities)

    def probabilities(self, evidence: Mapping[str, Any], classes: int) -> Floats:
        """What one item's evidence says of each step: float64 [classes], summing to 1.

        The evidence is the `column` that was answered, or `log_likelihoods` of the captions with
        those on grey frames (`blank`). Likelihoods less those on grey frames are the captions'
        pointwise mutual information with the frames; normalised, they are the steps' probabilities
        when no step is likelier than another beforehand.

        >>> FULL.probabilities({"column": 1}, 3).tolist()
        [0.0, 1.0, 0.0]
        >>> FULL.probabilities({"log_likelihoods": [-9, -2], "blank": [-8, -1]}, 2).tolist()
        [0.5, 0.5]
        """
        shares: Floats = np.zeros(classes)
        if evidence.get("column") is not None:
            shares[evidence["column"]] = 1.0
            return shares
        scores = np.asarray([evidence["log_likelihoods"]], np.float64)
        if self.pmi:
            scores = pmi_debiased(scores, evidence["blank"])
        shares = np.exp(scores[0] - scores[0].max())
        shares /= shares.sum()
        return shares


def _truth(word: str) -> bool:
    return _TRUTHS[word.lower()]


_READERS: dict[str, Any] = {"smoothing": float, "margin": float, "dwell": int, "pmi": _truth}

FULL = Decoding()
NONE = Decoding(smoothing=1.0, margin=0.0, dwell=1)
#: The rows of the decoder's ablation (DYAD, table XIII, and two more).
VARIANTS = {
    "full decoder": FULL,
    "without smoothing": replace(FULL, smoothing=1.0),
    "without hysteresis": replace(FULL, margin=0.0),
    "without dwell": replace(FULL, dwell=1),
    "without PMI": replace(FULL, pmi=False),
    "no decoder": NONE,
}
