"""Answers simulated ProMQA-Assembly questions again, from the graph and the history alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .promqa_truth import Deed, Past, Truth, joint
from .promqa_words import Fault, Finding, Joint, answers, question


class Asked(Protocol):
    """What a question needs to be answered: see `promqa_questions.ToyQuestion`."""

    @property
    def form(self) -> str:
        """How it is asked."""

    @property
    def variant(self) -> int:
        """In which words."""

    @property
    def part(self) -> str:
        """The part it names, or empty."""

    @property
    def end(self) -> float:
        """When it is asked, seconds."""

    @property
    def question(self) -> str:
        """Its words."""

    @property
    def answers(self) -> tuple[str, ...]:
        """Its answers."""


def verify(asked: Asked, truth: Truth) -> tuple[str, ...]:
    """The answers of a question, found again; ValueError when it has others.

    With a truth read from files the answer that tells how a part is misplaced cannot be found:
    the files do not say it.
    """
    if asked.question != question(asked.form, asked.part, asked.variant):
        raise ValueError(f"{asked.question!r} is not how {asked.form} is asked")
    found = answers(asked.form, find(asked, truth), asked.variant)
    given = asked.answers
    if truth.details is None and asked.form == "place_latest":
        given = given[: len(found)]
    if found != given:
        raise ValueError(
            f"{asked.question!r} at {asked.end:.2f} s is answered by {found}, not by {given}"
        )
    return found


def find(asked: Asked, truth: Truth) -> Finding:
    """What there is to say about a question; ValueError when it cannot be asked at its time."""
    if asked.form == "place_held":
        return _held(asked, truth)
    past = truth.past(asked.end)
    finder = _FINDERS[asked.form]
    return finder(asked.part, past)._replace(toy=truth.toy)


def _held(asked: Asked, truth: Truth) -> Finding:
    begun = [step for step in truth.steps if step.start < asked.end]
    if not begun or begun[-1].end <= asked.end:
        raise ValueError(f"no part is in the hand at {asked.end:.2f} s")
    part = joint(begun[-1].label).part
    return Finding(truth.toy, _planned(Past(truth.graph, ()), part))


def _planned(past: Past, part: str) -> Joint:
    """Where a part goes by the plan."""
    found = [joint(s.label) for s in past.graph.steps if joint(s.label).part == part]
    if len(found) != 1:
        raise ValueError(f"{past.graph.name}: {len(found)} steps attach the {part}")
    return found[0]


def _untroubled(past: Past) -> None:
    if past.open_faults:
        raise ValueError(f"a mistake is not corrected yet: {past.open_faults[0]}")


def _latest(past: Past) -> Deed:
    if not past.deeds or not past.deeds[-1].attaches:
        raise ValueError("nothing was attached last")
    return past.deeds[-1]


def _before(past: Past) -> Past:
    """The past without the latest deed."""
    return Past(past.graph, past.deeds[:-1])


def _next_all(part: str, past: Past) -> Finding:
    _untroubled(past)
    steps = past.graph.next_steps(past.placed)
    return Finding("", joints=tuple(joint(step.label) for step in steps))


def _one_step(part: str, past: Past) -> Finding:
    _untroubled(past)
    this = _planned(past, part)
    if this.label in past.placed:
        raise ValueError(f"the {part} is in its place already")
    return Finding("", this, past.missing(this.label))


def _how_many(part: str, past: Past) -> Finding:
    _untroubled(past)
    left = [step.label for step in past.graph.steps if step.label not in past.placed]
    return Finding("", joints=tuple(joint(label) for label in left))


def _missing(part: str, past: Past) -> Finding:
    latest = _latest(past)
    missing = _before(past).missing(latest.joint.label)
    if bool(missing) != (latest.fault is not None and latest.fault.kind == "order"):
        raise ValueError(f"{latest.joint.label}: {latest.fault} is not a matter of order")
    return Finding("", latest.joint, missing)


def _order_pair(part: str, past: Past) -> Finding:
    latest, other = _latest(past), _planned(past, part)
    if other.label not in _before(past).placed:
        raise ValueError(f"the {part} is not in its place")
    graph = past.graph
    pair = graph.resolve(other.label).id, graph.resolve(latest.joint.label).id
    relation = "free"
    if pair in graph.closure():
        relation = "needed"
    elif pair[::-1] in graph.closure():
        relation = "reversed"
    return Finding("", latest.joint, other=part, relation=relation)


def _undo_this(part: str, past: Past) -> Finding:
    latest = _latest(past)
    return Finding("", latest.joint, faults=_some(latest.fault))


def _some(fault: Fault | None) -> tuple[Fault, ...]:
    return () if fault is None else (fault,)


def _undo_latest(part: str, past: Past) -> Finding:
    latest = past.deeds[-1]
    if latest.attaches or latest.undone is None or latest.joint.part != part:
        raise ValueError(f"the {part} was not taken off last")
    return Finding("", latest.joint, faults=_some(latest.fault or latest.undone.fault))


def _once_undone(past: Past, part: str) -> tuple[Deed, ...]:
    """Everything done with a part that was taken off once, because something was wrong."""
    deeds = tuple(d for d in past.deeds if d.joint.part == part)
    off = [d for d in deeds if not d.attaches]
    if len(off) != 1 or off[0].undone is None or off[0].undone.fault is None:
        raise ValueError(f"the {part} was not taken off once to correct a mistake")
    return deeds


def _why_undone(part: str, past: Past) -> Finding:
    deeds = _once_undone(past, part)
    undone = next(d.undone for d in deeds if d.undone is not None)
    return Finding("", undone.joint, faults=_some(undone.fault))


def _past_first(part: str, past: Past) -> Finding:
    deeds = _once_undone(past, part)
    if not deeds[0].attaches or not deeds[-1].attaches or len(deeds) < 3:
        raise ValueError(f"the {part} was not attached again")
    return Finding("", deeds[0].joint, faults=_some(deeds[0].fault))


def _past_any(part: str, past: Past) -> Finding:
    faults = tuple(d.fault for d in past.deeds if d.fault is not None)
    return Finding("", faults=faults, steps=len(past.deeds))


def _past_open(part: str, past: Past) -> Finding:
    """Faulty parts that still stand, and parts taken off without need and not on again."""
    standing = {id(d) for d in past.standing}
    on = {d.joint.part for d in past.standing}
    faults: list[Fault] = []
    for n, deed in enumerate(past.deeds):
        if deed.fault is None or not (deed.attaches or deed.joint.part not in on):
            continue
        again = any(
            later.fault and not later.attaches and later.joint.part == deed.joint.part
            for later in past.deeds[n + 1 :]
        )
        if id(deed) in standing if deed.attaches else not again:
            faults.append(deed.fault)
    return Finding("", faults=tuple(faults))


def _place_latest(part: str, past: Past) -> Finding:
    latest = _latest(past)
    if latest.fault is not None and latest.fault.kind not in {"position", "stranger"}:
        raise ValueError(f"{latest.joint.label}: {latest.fault} is not a matter of place")
    return Finding("", latest.joint, faults=_some(latest.fault))


def _screw(past: Past, this: Joint) -> Finding:
    return Finding("", this, holds=past.graph.resolve(this.label).fastening)


_FINDERS: dict[str, Callable[[str, Past], Finding]] = {
    "next_all": _next_all,
    "next_this": _one_step,
    "missing_until": _one_step,
    "missing_any": _missing,
    "order_latest": _missing,
    "order_pair": _order_pair,
    "undo_this": _undo_this,
    "undo_latest": _undo_latest,
    "why_undone": _why_undone,
    "past_first": _past_first,
    "past_any": _past_any,
    "past_open": _past_open,
    "place_latest": _place_latest,
    "how_many": _how_many,
    "screw_latest": lambda part, past: _screw(past, _latest(past).joint),
    "screw_named": lambda part, past: _screw(past, _planned(past, part)),
}
