"""Multiple-choice accuracy as an `evaluate` module: features, checks and calls into the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.choice_offer import offered_letters
from procedural_evals.choices import PARSER_VERSION, parse_choice
from procedural_evals.scores.choice_accuracy import ChoiceScores, shuffle_agreement, summarise
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Accuracy of multiple-choice answers given as free text, over all questions and per task, with the
share of replies that name no offered letter, both chance levels, and a seeded bootstrap interval
clustered by video. A reply that cannot be read is wrong, counted, and never given a letter.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one reply a question: free text or a letter.
    references: one correct letter a question.
    letters: the offered letters: one offer for all ("ABCD"), or one a question.
    num_options: instead of letters: how many of A, B, C, ... are offered; one number, or one a
        question.
    options: the options' texts, a list a question; then replies may name an option by its words,
        and neither letters nor num_options are needed.
    tasks: one task's name a question; each gets a row of its own.
    clusters: what questions share, usually the video; the bootstrap draws whole clusters.
    question_ids: the same id for each order in which one question was asked; adds shuffle_*.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    accuracy, accuracy_low, accuracy_high, parse_failure_rate, random_chance and
    most_frequent_chance in [0, 100]; n, n_correct, n_clusters, parse_failures and
    request_failures, counts; most_frequent_letter; parser_version; each of the numbers also as
    NAME/TASK; with question_ids shuffle_strict, shuffle_majority and shuffle_any in [0, 100], and
    the counts shuffle_questions, shuffle_fewest and shuffle_most.
Examples:
    >>> import evaluate
    >>> metric = evaluate.load("metrics/multiple_choice_accuracy")
    >>> found = metric.compute(
    ...     predictions=["The answer is (B).", "A or C"], references=["B", "C"], num_options=4
    ... )
    >>> found["accuracy"], found["parse_failure_rate"], found["random_chance"]
    (50.0, 50.0, 25.0)
"""

_CITATION = """
@misc{flatpackbench2026,
  title = {Flat-Pack Bench: Evaluating Spatio-Temporal Understanding in Large Vision-Language
           Models through Furniture Assembly},
  year = {2026},
  eprint = {2605.21625},
  archivePrefix = {arXiv}
}
"""


class MultipleChoiceAccuracy(evaluate.Metric):
    """Accuracy of free-text answers to multiple-choice questions; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        letters: Sequence[Any] | None = None,
        num_options: int | Sequence[int] | None = None,
        options: Sequence[Sequence[str]] | None = None,
        tasks: Sequence[str] | None = None,
        clusters: Sequence[Any] | None = None,
        question_ids: Sequence[Any] | None = None,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> dict[str, Any]:
        offers = offered_letters(len(references), letters, num_options, options)
        for item, reply in enumerate(predictions):
            if reply is None:
                raise ValueError(f"predictions: item {item} is None; give '' where nothing came")
        texts = [None] * len(offers) if options is None else options
        parsed = [
            parse_choice(*question) for question in zip(predictions, offers, texts, strict=True)
        ]
        for item, (gold, offer) in enumerate(zip(references, offers, strict=True)):
            if gold not in list(offer):
                raise ValueError(f"references: item {item} is {gold!r}, not one of {offer!r}")
        correct = [p.letter == gold for p, gold in zip(parsed, references, strict=True)]
        scores = summarise(
            correct=correct,
            parsed=[p.letter is not None for p in parsed],
            tasks=tasks,
            num_options=[len(offer) for offer in offers],
            gold=references,
            clusters=clusters,
            draws=draws,
            seed=seed,
        )
        result = _row(scores)
        result["request_failures"] = sum(p.reason == "request failed" for p in parsed)
        result["parser_version"] = PARSER_VERSION
        for task, row in scores.tasks.items():
            result |= {f"{name}/{task}": value for name, value in _row(row).items()}
        if question_ids is not None:
            agreement = vars(shuffle_agreement(question_ids, correct))
            result |= {f"shuffle_{name.removeprefix('n_')}": n for name, n in agreement.items()}
        return result


def _row(scores: ChoiceScores) -> dict[str, Any]:
    row = {name: value for name, value in vars(scores).items() if name != "tasks"}
    return {{"low": "accuracy_low", "high": "accuracy_high"}.get(k, k): v for k, v in row.items()}
