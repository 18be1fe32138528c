"""The score tables of multiple choice: accuracy, votes over samples, orders of the options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from procedural_evals.harness import choice_scores
from procedural_evals.harness.records import Record, choice_summary
from procedural_evals.harness.table_row import Row
from procedural_evals.scores.choice_accuracy import ChoiceScores


def choice_rows(records: Sequence[Record]) -> Iterator[Row]:
    """Accuracy over all and by task, beside the two chance rows and the rate of no parse.

    Below it, where an answer is a vote, what one sample gets; where questions were asked in several
    orders, how many were right in all, most and any of them.
    """
    scores = choice_summary(records)
    parts = {"all": list(records)}
    parts |= {task: [r for r in records if r["category"] == task] for task in scores.tasks}
    sampled = choice_scores.has_samples(records)
    for label, row in {"all": scores, **scores.tasks}.items():
        yield _choice_row(label, row, parts[label] if sampled else ())
    if sampled:
        yield from _single_sample_rows(parts)
    if choice_scores.has_orders(records):
        yield from _order_rows(parts)


def _choice_row(label: str, scores: ChoiceScores, voted: Sequence[Record]) -> Row:
    extra = {
        "random": scores.random_chance,
        "most frequent": scores.most_frequent_chance,
        "no parse %": scores.parse_failure_rate,
    }
    if voted:
        extra["agreement %"] = choice_scores.vote_agreement(voted)
    return Row(label, scores.n, scores.accuracy, scores.low, scores.high, extra)


def _single_sample_rows(parts: Mapping[str, Sequence[Record]]) -> Iterator[Row]:
    for label, members in parts.items():
        mean, low, high = choice_scores.single_sample_accuracy(members)
        yield Row(_named("one sample", label), len(members), mean, low, high)


def _order_rows(parts: Mapping[str, Sequence[Record]]) -> Iterator[Row]:
    scores = {label: choice_scores.scores_by_rule(members) for label, members in parts.items()}
    for rule in scores["all"]:
        for label, by_rule in scores.items():
            found = by_rule[rule]
            extra = {"random": found.random_chance}
            yield Row(_named(rule, label), found.n, *found.interval, extra)


def _named(measure: str, label: str) -> str:
    return measure if label == "all" else f"{measure}: {label}"
