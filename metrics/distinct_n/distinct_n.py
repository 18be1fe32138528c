"""Distinct-n as an `evaluate` module: features, checks and a call into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals import folders
from procedural_evals.scores.diversity import distinct_n

_DESCRIPTION = """
Distinct-1 and distinct-2: the type-token ratio of the words and word pairs of a set of texts, after
stop words are taken out. Higher means more varied wording.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: the texts, strings; the ratio is over all of them together.
    n: the sizes of n-gram; (1, 2) by default.
    stop_words: words to take out first, lower case; the list beside this file by default, none
        with [].
Returns:
    distinct_N in (0, 1] for each n; ngrams_N, how many n-grams there were; texts and stop_words,
    counts.
Examples:
    >>> import evaluate
    >>> distinct_n = evaluate.load("metrics/distinct_n")
    >>> found = distinct_n.compute(predictions=["attach the roof", "attach the wheel"])
    >>> found["distinct_1"], found["distinct_2"]
    (0.75, 1.0)
"""

_CITATION = """
@inproceedings{li2016diversity,
  title = {A Diversity-Promoting Objective Function for Neural Conversation Models},
  author = {Li, Jiwei and Galley, Michel and Brockett, Chris and Gao, Jianfeng and Dolan, Bill},
  booktitle = {NAACL},
  year = {2016}
}
"""


class DistinctN(evaluate.Metric):
    """Distinct-n; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features({"predictions": datasets.Value("string")}),
        )

    def _compute(
        self,
        predictions: Sequence[str],
        n: Sequence[int] = (1, 2),
        stop_words: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        missing = [i for i, text in enumerate(predictions) if text is None]
        if missing:
            raise ValueError(f"predictions: item {missing[0]} is None; give a text")
        if stop_words is None:
            # Not beside __file__: evaluate runs a copy of this module from its cache.
            path = folders.metrics() / "distinct_n" / "stop_words.txt"
            stop_words = path.read_text(encoding="utf-8").split()
        result: dict[str, Any] = {"texts": len(predictions), "stop_words": len(stop_words)}
        for size in n:
            found = distinct_n(predictions, size, stop_words)
            result[f"distinct_{size}"] = found.value
            result[f"ngrams_{size}"] = found.total
        return result
