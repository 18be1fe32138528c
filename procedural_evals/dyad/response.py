"""Response generation: which request was answered by which words, and what may be known then.

A request is matched to the temporally closest intervention from 5 s before to 15 s after its end;
only pairs whose intervention is spoken stay (DYAD, section IV-C). The context is built from what
was over before the question and the answer began, so neither the answer nor any of its labels can
be in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from procedural_evals.dyad.records import Assistance, Corpus, Request, Session, Task
from procedural_evals.dyad.splits import development_sessions, split_of
from procedural_evals.dyad.vocabulary import PHYSICAL, VERBAL

BEFORE, AFTER = 5.0, 15.0
TURNS, INTERVENTIONS = 10, 10
PERFORMER, HELPER = "performer", "helper"
COMPLETED, IN_PROGRESS = "completed", "in progress"


@dataclass(frozen=True)
class ContextStep:
    """An annotated step up to the question."""

    step: str | None
    status: str
    objects: tuple[str, ...] | None


@dataclass(frozen=True)
class Turn:
    """Something that was said before the question; the helper's words are the real ones."""

    speaker: str
    text: str


@dataclass(frozen=True)
class PastIntervention:
    """Physical help before the question. Its trigger is history, not the current one."""

    trigger: str | None
    objects: tuple[str, ...] | None


@dataclass(frozen=True)
class ResponseContext:
    """All that a system of the response task is given; nothing else may reach a prompt.

    Attributes:
        procedure, parts, common_errors: what is known of the task.
        steps: annotated steps that had begun, oldest first.
        dialogue: up to ten turns, oldest first.
        interventions: up to ten pieces of physical help, oldest first.
        reference_image: file below the data folder, or None.
        question: what the performer asks.
    """

    procedure: tuple[str, ...]
    parts: tuple[str, ...]
    common_errors: tuple[str, ...]
    steps: tuple[ContextStep, ...]
    dialogue: tuple[Turn, ...]
    interventions: tuple[PastIntervention, ...]
    reference_image: str | None
    question: str

    def sections(self) -> dict[str, str]:
        """The context as texts for the placeholders of a prompt template, one item a line."""
        steps = [f"{_words(step.step)} ({step.status}{_with(step.objects)})" for step in self.steps]
        turns = [f"{turn.speaker}: {turn.text}" for turn in self.dialogue]
        helped = [f"{_words(past.trigger)}{_with(past.objects)}" for past in self.interventions]
        return {
            "procedure": _lines(f"{n}. {line}" for n, line in enumerate(self.procedure, 1)),
            "parts": _lines(self.parts),
            "common_errors": _lines(self.common_errors),
            "steps": _lines(steps),
            "dialogue": _lines(turns),
            "interventions": _lines(helped),
            "question": self.question,
        }


def _words(label: str | None) -> str:
    return "not labelled" if label is None else label.replace("_", " ")


def _with(objects: tuple[str, ...] | None) -> str:
    return f"; objects: {', '.join(objects)}" if objects else ""


def _lines(items: Iterable[str]) -> str:
    return "\n".join(items) or "none"


@dataclass(frozen=True)
class ResponsePair:
    """A question with its real answer.

    Attributes:
        id: the request's event id.
        assistance_id, session, participant, split: bookkeeping, never part of a prompt.
        start, end: when the question was asked, seconds on the session's clock.
        context: what a system is given.
        reference: what the helper said.
    """

    id: str
    assistance_id: str
    session: str
    participant: str
    split: str
    start: float | None
    end: float
    context: ResponseContext
    reference: str


def closest_assistance(session: Session, request: Request) -> Assistance | None:
    """The intervention whose onset is closest to the request's end, from 5 s before to 15 s after.

    At equal distance the one after the end, since an answer follows its question. None for a
    request without an end, or without an intervention in that time.
    """
    if request.end is None:
        return None
    best: tuple[float, float] | None = None
    match = None
    for event in session.assistance:
        if event.start is None:
            continue
        delay = round(event.start - request.end, 6)
        if -BEFORE <= delay <= AFTER and (best is None or (abs(delay), -delay) < best):
            best, match = (abs(delay), -delay), event
    return match


def is_spoken(event: Assistance) -> bool:
    """Whether the intervention is verbal and its words are there."""
    return event.mode == VERBAL and bool(event.utterance)


def response_context(
    task: Task, session: Session, request: Request, answer: Assistance
) -> ResponseContext:
    """What was known when the question was asked.

    Everything in it was over (steps: had begun) by the start of the question, or by the answer's
    onset where that came first.
    """
    begin = request.end if request.start is None else request.start
    moments = [time for time in (begin, answer.start) if time is not None]
    if not moments or not request.utterance:
        raise ValueError(f"{request.id}: a question with a time and words is needed")
    now = min(moments)
    steps = tuple(
        ContextStep(
            step.step,
            COMPLETED if step.end is not None and step.end <= now else IN_PROGRESS,
            step.objects,
        )
        for step in session.steps
        if step.start is not None and step.start <= now
    )
    past = [event for event in session.assistance if event is not answer and _is_over(event, now)]
    asked = [other for other in session.requests if other is not request and _is_over(other, now)]
    turns = [(event.start, HELPER, event.utterance) for event in past if event.utterance]
    turns += [(other.start, PERFORMER, other.utterance) for other in asked if other.utterance]
    turns.sort(key=lambda turn: turn[0] or 0.0)
    helped = [event for event in past if event.mode == PHYSICAL]
    return ResponseContext(
        procedure=task.procedure,
        parts=task.parts,
        common_errors=task.common_errors,
        steps=steps,
        dialogue=tuple(Turn(speaker, str(text)) for _, speaker, text in turns[-TURNS:]),
        interventions=tuple(
            PastIntervention(event.trigger, event.objects) for event in helped[-INTERVENTIONS:]
        ),
        reference_image=task.reference_image,
        question=request.utterance,
    )


def _is_over(event: Assistance | Request, now: float) -> bool:
    """Whether it began before now and, as far as its end is known, had ended by now."""
    return event.start is not None and event.start < now and (event.end is None or event.end <= now)


@dataclass(frozen=True)
class ResponseManifest:
    """The pairs, by session and time, and why the other requests have none."""

    pairs: tuple[ResponsePair, ...]
    left_out: tuple[tuple[str, str], ...]

    def reasons(self) -> dict[str, int]:
        """How many requests were left out for each reason."""
        return dict(Counter(reason for _, reason in self.left_out))


def response_manifest(corpus: Corpus) -> ResponseManifest:
    """A pair for each request that was answered in words."""
    development = development_sessions(corpus)
    pairs, left_out = [], []
    for session in corpus.sessions:
        for request in session.requests:
            answer = closest_assistance(session, request)
            if request.end is None or not request.utterance:
                left_out.append((request.id, "no end or no words"))
            elif answer is None:
                left_out.append((request.id, "no intervention near its end"))
            elif not is_spoken(answer):
                left_out.append((request.id, "closest intervention is not spoken"))
            else:
                pairs.append(
                    ResponsePair(
                        id=request.id,
                        assistance_id=answer.id,
                        session=session.id,
                        participant=session.participant,
                        split=split_of(session, development),
                        start=request.start,
                        end=request.end,
                        context=response_context(corpus.task, session, request, answer),
                        reference=str(answer.utterance),
                    )
                )
    return ResponseManifest(tuple(pairs), tuple(left_out))
