"""Causal step understanding: labels at 1 Hz, frames that may be looked at, and the scores.

At each whole second the question is which of the eight steps goes on; only frames at or before
that second are given (DYAD, section IV-B).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from procedural_evals.dyad.records import Corpus, Session
from procedural_evals.dyad.splits import development_sessions, split_of
from procedural_evals.dyad.vocabulary import STEPS
from procedural_evals.scores.localization import detections, frame_map, segments, temporal_map
from procedural_evals.scores.segmentation import (
    THRESHOLDS,
    SegmentCounts,
    paired_segment_differences,
    segment_counts,
)
from procedural_evals.scores.uncertainty import (
    DRAWS,
    LEVEL,
    Difference,
    Interval,
    cluster_counts,
    partition,
    percentile_ends,
)

RATE = 1.0
LOOKBACK = 4
#: Stands for a second without an annotated step, on both sides, when sequences are scored.
NO_STEP = "no_step"
#: Stands for a second to which a system gave no answer: a wrong step of its own.
NO_ANSWER = "no_answer"


@dataclass(frozen=True)
class StepTrack:
    """One session's labels.

    Attributes:
        session, participant, split: bookkeeping; split is development (validation) or test.
        times: decision times, seconds on the session's clock, 1 / rate apart.
        labels: the step at each time, None where none is annotated.
    """

    session: str
    participant: str
    split: str
    times: tuple[float, ...]
    labels: tuple[str | None, ...]

    def labelled(self) -> list[tuple[float, str]]:
        """The decision times that count, with their labels."""
        pairs = zip(self.times, self.labels, strict=True)
        return [(time, label) for time, label in pairs if label is not None]


def step_labels(session: Session, times: Sequence[float]) -> tuple[str | None, ...]:
    """The step whose interval [start, end) holds each time, None where no labelled one does.

    Where intervals overlap, the one that started last goes on: a step ends when another begins.
    """
    labels: list[str | None] = [None] * len(times)
    grid = np.asarray(times, np.float64)
    # Steps are in the order of their starts, so a later one overwrites.
    for step in session.steps:
        if step.start is not None and step.end is not None and step.step is not None:
            first, stop = np.searchsorted(grid, [step.start, step.end], side="left")
            labels[first:stop] = [step.step] * int(stop - first)
    return tuple(labels)


def step_tracks(corpus: Corpus, rate: float = RATE) -> tuple[StepTrack, ...]:
    """A track for each session, from its first frame's second to its end."""
    if not rate > 0:
        raise ValueError(f"rate: {rate} Hz; above 0 is needed")
    development = development_sessions(corpus)
    tracks = []
    for session in corpus.sessions:
        begin = float(session.frame_times[0]) if session.frame_times.size else 0.0
        first, last = math.ceil(begin * rate), math.floor(session.duration * rate)
        times = tuple(round(n / rate, 6) for n in range(first, last + 1))
        tracks.append(
            StepTrack(
                session=session.id,
                participant=session.participant,
                split=split_of(session, development),
                times=times,
                labels=step_labels(session, times),
            )
        )
    return tuple(tracks)


def lookback(
    session: Session, time: float, count: int = LOOKBACK, spacing: float = 1.0
) -> tuple[int, ...]:
    """Numbers of the frames on screen at time, time - spacing, ...: oldest first, none later.

    Early in a session the first frame stands for what was before it. ValueError when no frame had
    been taken by `time`.
    """
    moments = time - spacing * np.arange(count - 1, -1, -1)
    numbers = np.searchsorted(session.frame_times, np.round(moments, 6), side="right") - 1
    if numbers.size == 0 or numbers[-1] < 0:
        raise ValueError(f"{session.id}: no frame at or before {time} s")
    return tuple(int(n) for n in np.maximum(numbers, 0))


def step_scores(
    tracks: Sequence[StepTrack],
    predictions: Mapping[tuple[str, float], str | None],
    thresholds: Sequence[float] = THRESHOLDS,
    class_scores: Mapping[tuple[str, float], Sequence[float]] | None = None,
) -> dict[str, float]:
    """Segment F1, edit and MoF of predicted steps, each in [0, 100], and the counts behind them.

    Args:
        tracks: the sessions to score.
        predictions: label for each (session, time) that has one in its track; None is no answer.
        thresholds: tIoU thresholds.
        class_scores: for the same seconds, a score for each of `vocabulary.STEPS`.

    Returns:
        f1@T, edit and mof as in `scores.segmentation.segment_scores`; sequences, frames. Seconds
        without an annotated step separate segments, but are no segments, and do not count for mof.
        With class scores also frame_map over the labelled seconds, and map@T of the predicted
        segments, each as sure as its class's mean score.

    Raises:
        ValueError: naming (session, time) pairs that are missing or asked for by nobody.
    """
    wanted, predicted, true = _both_sides(tracks, predictions)
    scores = _counts(tracks, predicted, true, thresholds).scores()
    if class_scores is not None:
        _check_keys("class_scores", wanted, class_scores)
        scores.update(_ranked(tracks, predicted, true, class_scores, thresholds))
    return {**scores, "sequences": len(tracks), "frames": len(wanted)}


def step_intervals(
    tracks: Sequence[StepTrack],
    predictions: Mapping[tuple[str, float], str | None],
    thresholds: Sequence[float] = THRESHOLDS,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Interval]:
    """f1@T, edit and mof of `step_scores` with their percentile intervals over participants.

    Whole participants, with all of their sessions, are drawn with replacement.
    """
    _, predicted, true = _both_sides(tracks, predictions)
    counts = _counts(tracks, predicted, true, thresholds)
    group, k = partition([track.participant for track in tracks], len(tracks))
    replicates = counts.weighted(cluster_counts(k, draws, seed)[:, group])
    return {
        name: Interval(score, *percentile_ends(replicates[name], level))
        for name, score in counts.scores().items()
    }


def step_differences(
    tracks: Sequence[StepTrack],
    a: Mapping[tuple[str, float], str | None],
    b: Mapping[tuple[str, float], str | None],
    thresholds: Sequence[float] = THRESHOLDS,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, tuple[float, float, Difference]]:
    """f1@T, edit and mof of two systems on the same sessions, and a - b over drawn participants.

    `a` and `b` are predictions as for `step_scores`.
    """
    sides = (_both_sides(tracks, predictions)[1:] for predictions in (a, b))
    first, second = (_counts(tracks, predicted, true, thresholds) for predicted, true in sides)
    people = [track.participant for track in tracks]
    differences = paired_segment_differences(first, second, people, draws, seed, level)
    left, right = first.scores(), second.scores()
    return {name: (left[name], right[name], found) for name, found in differences.items()}


Sides = tuple[set[tuple[str, float]], list[list[str]], list[list[str]]]


def _both_sides(
    tracks: Sequence[StepTrack], predictions: Mapping[tuple[str, float], str | None]
) -> Sides:
    """The seconds that count, and the predicted and the true label of every second of a track."""
    wanted = {(track.session, time) for track in tracks for time, _ in track.labelled()}
    _check_keys("predictions", wanted, predictions)
    predicted = [_filled(track, predictions) for track in tracks]
    true = [[NO_STEP if label is None else label for label in track.labels] for track in tracks]
    return wanted, predicted, true


def _counts(
    tracks: Sequence[StepTrack],
    predicted: Sequence[list[str]],
    true: Sequence[list[str]],
    thresholds: Sequence[float],
) -> SegmentCounts:
    """Counts behind the scores; seconds without a step agree by construction and are taken out."""
    counts = segment_counts(predicted, true, thresholds, NO_STEP)
    labelled = np.array([len(track.labelled()) for track in tracks], np.int64)
    correct = counts.correct - (counts.frames - labelled)
    return replace(counts, correct=correct, frames=labelled)


def _check_keys(
    name: str, wanted: set[tuple[str, float]], given: Mapping[tuple[str, float], object]
) -> None:
    missing, strange = sorted(wanted - set(given)), sorted(set(given) - wanted)
    if missing or strange:
        raise ValueError(
            f"{name}: {len(missing)} labelled seconds have none {missing[:5]}, and "
            f"{len(strange)} belong to no labelled second {strange[:5]}"
        )


def _filled(track: StepTrack, predictions: Mapping[tuple[str, float], str | None]) -> list[str]:
    """A label for every second of the track: the answer, or that there is nothing to answer."""
    return [
        NO_STEP if label is None else predictions[track.session, time] or NO_ANSWER
        for time, label in zip(track.times, track.labels, strict=True)
    ]


def _ranked(
    tracks: Sequence[StepTrack],
    predicted: Sequence[list[str]],
    true: Sequence[list[str]],
    class_scores: Mapping[tuple[str, float], Sequence[float]],
    thresholds: Sequence[float],
) -> dict[str, float]:
    """Frame and temporal mAP from the scores of the classes."""
    nothing = [0.0] * len(STEPS)
    tables = [
        np.array(
            [class_scores.get((track.session, time), nothing) for time in track.times], np.float64
        ).reshape(-1, len(STEPS))
        for track in tracks
    ]
    labelled = [np.array([label is not None for label in track.labels], bool) for track in tracks]
    rows = [table[mask] for table, mask in zip(tables, labelled, strict=True)]
    names = [[label for _, label in track.labelled()] for track in tracks]
    # No answer has no score of its own: such segments are claims of nothing.
    silent = (NO_STEP, NO_ANSWER)
    claims = [
        detections(labels, table, STEPS, silent)
        for labels, table in zip(predicted, tables, strict=True)
    ]
    truth = [segments(labels, NO_STEP) for labels in true]
    return {
        "frame_map": frame_map(rows, names, STEPS).mean,
        **temporal_map(claims, truth, thresholds),
    }
