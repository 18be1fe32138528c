"""Six causal numbers about a session's past, for guessing how the helper will act next.

They follow the kinds that the paper names (DYAD, section IV-A: clock time, session progress, event
index, prior-assistance counts); the published text does not spell the six out, so the counts are
our reading. A function here sees the boundary and what lies before it, and nothing of the event
that is to be guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from procedural_evals.dyad.records import Session
from procedural_evals.dyad.vocabulary import PHYSICAL, VERBAL

RECENT = 60.0


@dataclass(frozen=True)
class PastEvent:
    """What is remembered of an earlier intervention: when it began, and how help was given."""

    onset: float
    mode: str | None


@dataclass(frozen=True)
class MetadataFeatures:
    """The six numbers; there is no field for anything else.

    Attributes:
        clock_time: seconds from the recording's start to the boundary.
        session_progress: clock_time as a share of a usual session, at most 1. The usual length
            comes from training sessions: how long this session will last is not known yet.
        event_index: interventions so far.
        prior_verbal, prior_physical: spoken and physical ones so far.
        prior_recent: interventions in the last minute.
    """

    clock_time: float
    session_progress: float
    event_index: float
    prior_verbal: float
    prior_physical: float
    prior_recent: float

    def vector(self) -> tuple[float, ...]:
        """The numbers in the order of the fields."""
        return astuple(self)


def past_events(session: Session, boundary: float) -> tuple[PastEvent, ...]:
    """The interventions of the session that began before the boundary, in order."""
    return tuple(
        PastEvent(event.start, event.mode)
        for event in session.assistance
        if event.start is not None and event.start < boundary
    )


def metadata_features(
    boundary: float, past: Sequence[PastEvent], usual_duration: float
) -> MetadataFeatures:
    """The numbers at a boundary; ValueError when an event is not past.

    >>> metadata_features(100.0, [PastEvent(30.0, "verbal")], 400.0).session_progress
    0.25
    """
    late = [event.onset for event in past if event.onset >= boundary]
    if late:
        raise ValueError(f"an event at {late[0]} s is not before the boundary {boundary} s")
    if not usual_duration > 0:
        raise ValueError(f"usual_duration: {usual_duration} s; above 0 is needed")
    return MetadataFeatures(
        clock_time=boundary,
        session_progress=min(1.0, boundary / usual_duration),
        event_index=len(past),
        prior_verbal=sum(event.mode == VERBAL for event in past),
        prior_physical=sum(event.mode == PHYSICAL for event in past),
        prior_recent=sum(event.onset >= boundary - RECENT for event in past),
    )
