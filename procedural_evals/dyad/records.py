"""Clean records: what the rest of the package works on. Times are seconds on the session's clock.

The session's clock is relative: 0 is the start of the recording. A null of the export is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from procedural_evals.dyad.vocabulary import INITIATIONS, MODES, OUTCOMES, STEPS, TRIGGERS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StepInterval:
    """An interval of one coarse assembly step."""

    id: str
    session: str
    start: float | None
    end: float | None
    step: str | None
    objects: tuple[str, ...] | None
    tool: str | None


@dataclass(frozen=True)
class Request:
    """A question or request of the performer."""

    id: str
    session: str
    start: float | None
    end: float | None
    utterance: str | None
    confidence: float | None


@dataclass(frozen=True)
class Assistance:
    """An intervention of the helper."""

    id: str
    session: str
    start: float | None
    end: float | None
    mode: str | None
    initiation: str | None
    hard_stop: bool | None
    trigger: str | None
    objects: tuple[str, ...] | None
    utterance: str | None
    outcome: str | None


@dataclass(frozen=True)
class Session:
    """A recorded session.

    Attributes:
        id: name of the session's folder.
        participant: the performer.
        clock_origin: what the export's clock showed at time 0, in seconds; 0 when it is relative.
        folder: where the session's media and arrays lie.
        frame_times: float64 [frames] when each ego frame was taken; empty when that is not known.
        steps, requests, assistance: the annotation layers, by start, null starts last.
    """

    id: str
    participant: str
    clock_origin: float
    folder: Path
    frame_times: Floats = field(repr=False, compare=False)
    steps: tuple[StepInterval, ...] = field(repr=False)
    requests: tuple[Request, ...] = field(repr=False)
    assistance: tuple[Assistance, ...] = field(repr=False)

    @property
    def duration(self) -> float:
        """Time of the last frame; of the last annotated end where there are no frame times."""
        if self.frame_times.size:
            return float(self.frame_times[-1])
        ends = [step.end for step in self.steps]
        ends += [request.end for request in self.requests]
        ends += [event.end for event in self.assistance]
        return max((end for end in ends if end is not None), default=0.0)

    def video_time(self, time: float) -> float:
        """Seconds after the video's first frame, the clock of `procedural_evals.video`."""
        first = float(self.frame_times[0]) if self.frame_times.size else 0.0
        return round(time - first, 6)


@dataclass(frozen=True)
class Task:
    """What everybody knew about the task, and whether the corpus was recorded or simulated."""

    recorded: bool
    procedure: tuple[str, ...]
    parts: tuple[str, ...]
    common_errors: tuple[str, ...]
    reference_image: str | None


@dataclass(frozen=True)
class Change:
    """One thing that cleaning changed.

    Attributes:
        file: path below the data folder.
        row: row of that file (1 is the first below the header), or None for the whole file.
        field: column or key; None for the whole row.
        before, after: the value as exported, and as it is now.
        rule: why (one of the rules of `clean`).
    """

    file: str
    row: int | None
    field: str | None
    before: Any
    after: Any
    rule: str


@dataclass(frozen=True)
class Corpus:
    """Everything that was read, cleaned, with a list of what cleaning changed."""

    root: Path
    task: Task
    sessions: tuple[Session, ...]
    changes: tuple[Change, ...] = field(repr=False)
    mode_groups: tuple[tuple[str, ...], ...] | None = None
    development_sessions: tuple[str, ...] | None = None

    def session(self, name: str) -> Session:
        """The session of that id; KeyError when there is none."""
        return {session.id: session for session in self.sessions}[name]

    @property
    def participants(self) -> tuple[str, ...]:
        """The performers, sorted, each once."""
        return tuple(sorted({session.participant for session in self.sessions}))


def counts(corpus: Corpus) -> dict[str, int]:
    """How many of everything there are, as in the published corpus statistics (table VII).

    What the benchmarks make of them is counted by `manifests.benchmark_counts`.
    """
    steps = [step for session in corpus.sessions for step in session.steps]
    events = [event for session in corpus.sessions for event in session.assistance]
    found = {
        "sessions": len(corpus.sessions),
        "participants": len(corpus.participants),
        "steps": len(steps),
        "requests": sum(len(session.requests) for session in corpus.sessions),
        "assistance": len(events),
        "mode labels": sum(event.mode is not None for event in events),
        "initiation labels": sum(event.initiation is not None for event in events),
        "outcome labels": sum(event.outcome is not None for event in events),
        "hard stops": sum(event.hard_stop is True for event in events),
        "triggers": sum(event.trigger is not None for event in events),
        "step labels": sum(step.step is not None for step in steps),
    }
    for label in MODES:
        found[label] = sum(event.mode == label for event in events)
    for label in INITIATIONS:
        found[label] = sum(event.initiation == label for event in events)
    for label in OUTCOMES:
        found[label] = sum(event.outcome == label for event in events)
    for label in TRIGGERS:
        found[f"trigger {label}"] = sum(event.trigger == label for event in events)
    for label in STEPS:
        found[f"step {label}"] = sum(step.step == label for step in steps)
    return found
