"""Scores of multiple-choice studies from their records: several samples, several orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from procedural_evals.harness.records import Record, answered_records, score_of
from procedural_evals.scores.choice_orders import OrderScore, order_scores
from procedural_evals.scores.uncertainty import Interval, bootstrap_mean


def has_samples(records: Sequence[Record]) -> bool:
    """Whether the answers are votes over several samples."""
    return any("votes" in record for record in answered_records(records))


def has_orders(records: Sequence[Record]) -> bool:
    """Whether some question was answered in several orders of its options."""
    asked = [record.get("question_id") for record in answered_records(records)]
    return None not in asked and len(set(asked)) < len(asked)


def single_sample_accuracy(records: Sequence[Record]) -> Interval:
    """What one sample gets on average, in [0, 100], with its interval clustered by video."""
    voted = [record for record in answered_records(records) if "votes" in record]
    hits = [100.0 * r["votes"].get(r["gold"], 0) / r["num_samples"] for r in voted]
    return bootstrap_mean(hits, [record["cluster"] for record in voted])


def vote_agreement(records: Sequence[Record]) -> float:
    """Samples that chose their item's winning letter, in [0, 100], the mean over items."""
    voted = [record for record in answered_records(records) if "votes" in record]
    return float(np.mean([record["agreement"] for record in voted]))


def scores_by_rule(records: Sequence[Record]) -> dict[str, OrderScore]:
    """Strict, majority and any score of questions that were asked in several orders."""
    scored = answered_records(records)
    return order_scores(
        [record["question_id"] for record in scored],
        [score_of(record) == 100 for record in scored],
        [record["cluster"] for record in scored],
        [record["num_options"] for record in scored],
    )
