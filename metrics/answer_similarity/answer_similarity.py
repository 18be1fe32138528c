"""Similarity of open answers as an `evaluate` module: features and a call into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.encoders import MEASURES, answer_similarity
from procedural_evals.scores.similarity import blank_share, check_texts
from procedural_evals.scores.uncertainty import DRAWS, bootstrap_mean

_DESCRIPTION = """
Sentence similarity (cosine of sentence-transformers vectors) and BERTScore precision, recall and F1
between answers and reference answers, with any encoder, by name or folder, offline.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one text an item; an empty one scores 0.
    references: one text an item, or a list of texts of which the closest counts.
    model: name or folder of the encoder; has to be given, it decides the numbers.
    measures: any of "sentence" and "bertscore".
    bertscore_model: another model for BERTScore.
    layer: BERTScore's layer, the last by default.
    idf: weigh tokens by their inverse document frequency among the references.
    baseline: (P, R, F1), or a baseline file of the bert-score package, to rescale with.
    clusters: the video of each item; whole videos are drawn for the intervals.
    per_item: give the values of every item as well.
    device, batch_size: where and in what portions the model runs.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    sentence_similarity, bertscore_precision, bertscore_recall, bertscore_f1: means in [-1, 1];
    ids: what each measure was computed with; empty: share of empty predictions, in [0, 1];
    items, a count; intervals, [low, high] of the 95 % percentile interval of each mean;
    with per_item a list for each measure.
Examples:
    >>> import evaluate
    >>> from procedural_evals.encoders import packaged_minilm
    >>> metric = evaluate.load("metrics/answer_similarity")
    >>> found = metric.compute(predictions=["Yes."], references=["Yes."], model=packaged_minilm())
    >>> round(found["sentence_similarity"], 3)
    1.0
"""

_CITATION = """
@inproceedings{reimers2019sentence,
  title = {Sentence-{BERT}: Sentence Embeddings using Siamese {BERT}-Networks},
  author = {Reimers, Nils and Gurevych, Iryna},
  booktitle = {EMNLP-IJCNLP},
  year = {2019}
}
@inproceedings{zhang2020bertscore,
  title = {{BERTScore}: Evaluating Text Generation with {BERT}},
  author = {Zhang, Tianyi and Kishore, Varsha and Wu, Felix and Weinberger, Kilian Q. and Artzi, Yoav},
  booktitle = {ICLR},
  year = {2020}
}
"""  # noqa: E501


class AnswerSimilarity(evaluate.Metric):
    """Mean sentence similarity and BERTScore of answers; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        texts = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": texts}
            ),
        )

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Check one item, and take it in."""
        self.add_batch(predictions=[prediction], references=[reference], **inputs)

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Check every text, and take them in."""
        # The storage behind would take None, and one text for a list of its letters.
        check_texts(predictions, references)
        lists = [[texts] if isinstance(texts, str) else list(texts) for texts in references]
        super().add_batch(predictions=predictions, references=lists, **inputs)

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        model: Any = None,
        measures: Sequence[str] = MEASURES,
        bertscore_model: Any = None,
        layer: int | None = None,
        idf: bool = False,
        baseline: Any = None,
        clusters: Sequence[Any] | None = None,
        per_item: bool = False,
        device: str | None = None,
        batch_size: int = 64,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        if model is None:
            raise ValueError("model: None; name the encoder or its folder, it decides the numbers")
        values, ids = answer_similarity(
            predictions,
            references,
            model,
            measures,
            bertscore_model,
            layer,
            idf,
            baseline,
            device,
            batch_size,
        )
        means = {name: bootstrap_mean(v, clusters, draws, seed) for name, v in values.items()}
        result: dict[str, Any] = {name: interval.mean for name, interval in means.items()}
        result |= {"ids": ids, "empty": blank_share(predictions), "items": len(predictions)}
        result["intervals"] = {name: [i.low, i.high] for name, i in means.items()}
        if per_item:
            result["per_item"] = {name: array.tolist() for name, array in values.items()}
        return result
