"""Scores of DYAD's tasks from the records of their items. All are in [0, 100] but the grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from procedural_evals.dyad.mode_scores import chance_macro_f1
from procedural_evals.dyad.steps import RATE, StepTrack, step_intervals, step_scores
from procedural_evals.dyad.vocabulary import MODES, PHYSICAL, STEPS
from procedural_evals.harness.dyad_decoding import Decoding
from procedural_evals.harness.dyad_records import is_parsed, mode_predictions
from procedural_evals.harness.records import Record, answered_records
from procedural_evals.scores.classification import bootstrap_scores
from procedural_evals.scores.uncertainty import Interval


@dataclass(frozen=True)
class StepScores:
    """Scores of the step task.

    Attributes:
        scores: f1@T, edit, mof, frame_map, map@T as of `dyad.steps.step_scores`, and how many
            sequences and frames they rest on.
        intervals: of f1@T, edit and mof, over participants.
        no_parse_rate: share of the scored seconds to which nothing was answered, in [0, 100].
    """

    scores: Mapping[str, float]
    intervals: Mapping[str, Interval]
    no_parse_rate: float


class DecodedSteps(NamedTuple):
    """The sessions' tracks; for each second that counts the decoded step (None: no answer), and,
    where something was answered, the scores of all steps.
    """

    tracks: list[StepTrack]
    labels: dict[tuple[str, float], str | None]
    scores: dict[tuple[str, float], list[float]]


def decoded_steps(answered: Sequence[Record], decoding: Decoding | None = None) -> DecodedSteps:
    """The answered seconds, decoded session by session; see `step_summary`."""
    if decoding is None:
        named = {record["decoding"] for record in answered}
        if len(named) > 1:
            raise ValueError(f"records of several step decoders: {'; '.join(sorted(named))}")
        decoding = Decoding.from_text(named.pop())
    found = DecodedSteps([], {}, {})
    for session in _by_session(answered):
        found.tracks.append(_track(session))
        parsed = [record for record in session if is_parsed(record)]
        found.labels.update({second_of(r): None for r in session if r["gold"] is not None})
        if not parsed:
            continue
        table = [decoding.probabilities(record, len(STEPS)) for record in parsed]
        decoded = decoding.decode(table)
        for record, column, row in zip(parsed, decoded.labels, decoded.scores, strict=True):
            if record["gold"] is not None:
                found.labels[second_of(record)] = STEPS[column]
                found.scores[second_of(record)] = row.tolist()
    return found


def step_summary(records: Sequence[Record], decoding: Decoding | None = None) -> StepScores:
    """Scores of the answered seconds, decoded session by session.

    The decoder sees every answer of a session; scored are the seconds with an annotated step. One
    to which nothing was answered is a wrong step of its own and leaves the decoder as it was; a
    failed item is left out. `decoding` takes the place of the one that the records name. ValueError
    when no second can be scored, or for records of several decodings.
    """
    answered = answered_records(records)
    scored = [record for record in answered if record["gold"] is not None]
    if not scored:
        raise ValueError(f"{len(answered)} seconds were answered, none of them with a known step")
    tracks, labels, scores = decoded_steps(answered, decoding)
    nothing = [0.0] * len(STEPS)
    ranked = {key: scores.get(key, nothing) for key in labels}
    unparsed = sum(not is_parsed(record) for record in scored)
    return StepScores(
        step_scores(tracks, labels, class_scores=ranked),
        step_intervals(tracks, labels),
        100 * unparsed / len(scored),
    )


def second_of(record: Record) -> tuple[str, float]:
    """The session and the time in it that a step's record is about."""
    return record["session"], float(record["time"])


def _by_session(records: Iterable[Record]) -> list[list[Record]]:
    sessions: dict[str, list[Record]] = {}
    for record in sorted(records, key=second_of):
        sessions.setdefault(record["session"], []).append(record)
    return list(sessions.values())


def _track(session: Sequence[Record]) -> StepTrack:
    """The session's true labels from its first to its last second; None where there is no item."""
    gold = {round(float(record["time"]) * RATE): record["gold"] for record in session}
    ticks = range(min(gold), max(gold) + 1)
    return StepTrack(
        session=session[0]["session"],
        participant=session[0]["cluster"],
        split="",
        times=tuple(round(tick / RATE, 6) for tick in ticks),
        labels=tuple(gold.get(tick) for tick in ticks),
    )


@dataclass(frozen=True)
class ModeScores:
    """Scores of the mode task.

    Attributes:
        intervals: macro_f1, balanced_accuracy, accuracy, f1_verbal, f1_physical, and auprc (of
            physical help, where there is any), over participants.
        random, majority: macro-F1 that a fair coin and the more frequent mode would get.
        no_parse_rate: share of the events for which no mode was answered.
    """

    intervals: Mapping[str, Interval]
    random: float
    majority: float
    no_parse_rate: float


def mode_summary(records: Sequence[Record]) -> ModeScores:
    """Scores of the answered events; ValueError when there is none."""
    answered = answered_records(records)
    predictions = mode_predictions(answered)
    gold = [prediction.label for prediction in predictions]
    ranked = PHYSICAL in gold
    found = bootstrap_scores(
        [prediction.prediction for prediction in predictions],
        gold,
        [record["cluster"] for record in answered],
        MODES,
        [prediction.score for prediction in predictions] if ranked else None,
        PHYSICAL if ranked else None,
    )
    random, majority = chance_macro_f1(gold)
    unparsed = sum(prediction.prediction is None for prediction in predictions)
    return ModeScores(
        {name: Interval(*(100 * value for value in ends)) for name, ends in found.items()},
        100 * random,
        100 * majority,
        100 * unparsed / len(gold),
    )
