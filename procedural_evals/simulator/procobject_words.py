"""How questions about changing objects, and their answers, are worded.

Every function turns facts into words and decides nothing, so that the asker, who knows the truth,
and the verifier, who only looks, use the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .object_states import LEVELS, Look

JAR = "the jar in the inset"
_TIMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")

#: Of an attachment: what is wrong with it, and what has to be known to say so.
Mistake = tuple[str, object]


class Change(NamedTuple):
    """One event as it looks: what is done, and the jar before and after it."""

    action: str
    before: Look
    after: Look

    @property
    def failure(self) -> str | None:
        """Why the action has no effect: "closed", "full", or None when it has one."""
        if self.action in ("open", "close"):
            return None
        if self.before.closed:
            return "closed"
        return "full" if self.action == "pour" and self.before == self.after else None


class Joint(NamedTuple):
    """A part that is attached to a target (`joins`) or taken off it; titles, not ids."""

    part: str
    target: str
    joins: bool

    @property
    def name(self) -> str:
        """What happens, as a noun: "attaching the leg to the table top"."""
        verb, preposition = ("attaching", "to") if self.joins else ("taking", "off")
        return f"{verb} the {self.part} {preposition} the {self.target}"

    @property
    def clause(self) -> str:
        """What happens, as a clause: "the leg is attached to the table top"."""
        verb = "attached to" if self.joins else "taken off"
        return f"the {self.part} is {verb} the {self.target}"


def listed(things: Sequence[str]) -> str:
    """Things with their articles, in one phrase.

    >>> listed(["left rail", "right rail", "shelf"])
    'the left rail, the right rail and the shelf'
    """
    named = [f"the {thing}" for thing in things]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _story(clauses: Sequence[str]) -> str:
    if len(clauses) == 1:
        return _sentence(clauses[0])
    return _sentence(", ".join(f"{'then' if n else 'first'} {c}" for n, c in enumerate(clauses)))


def event_name(actions: Sequence[str], index: int) -> str:
    """One of a clip's events as a noun; numbered when the same thing is done more than once.

    >>> event_name(["open", "pour", "pour"], 2)
    'pouring water for the second time'
    """
    action = actions[index]
    plain = {
        "open": "taking off the lid",
        "close": "putting on the lid",
        "pour": "pouring water",
        "empty": "emptying it",
    }
    name = plain.get(action) or f"dropping the {action.removeprefix('drop ')} tablet"
    if list(actions).count(action) == 1:
        return name
    return f"{name} for the {_TIMES[list(actions[:index]).count(action)]} time"


def effect(change: Change) -> str:
    """What an event does to the jar, as a clause."""
    action, before, after = change
    if action in ("open", "close"):
        return f"the lid is {'taken off' if action == 'open' else 'put on'}"
    if action == "empty":
        return "it is emptied"
    if action == "pour":
        if change.failure == "closed":
            return "water is poured on the closed lid and runs off"
        if change.failure == "full":
            return "water is poured in although it is full, and runs over"
        turns = not before.level and after.colour != "clear"
        colour = f" and the water turns {after.colour}" if turns else ""
        return f"water is poured in until it is {LEVELS[after.level]}{colour}"
    tablet = f"a {action.removeprefix('drop ')} tablet is dropped"
    if change.failure:
        return f"{tablet} on the closed lid and stays outside"
    if not before.level:
        return f"{tablet} into it while it is empty"
    return f"{tablet} in and turns the water {after.colour}"


# Questions: each returns the question and its answer --------------------------------------------


def jar_before(joint: Joint, changes: Sequence[Change]) -> tuple[str, str]:
    """How the jar changed before a step."""
    return f"How does {JAR} change before {joint.name} begins?", _evolution(changes)


def jar_evolution(first: str, last: str, changes: Sequence[Change]) -> tuple[str, str]:
    """How the jar changes from one event to another, or through one."""
    through = f"through {first}" if first == last else f"from {first} to {last}"
    return f"How does {JAR} change {through}?", _evolution(changes)


def _evolution(changes: Sequence[Change]) -> str:
    story = _story([effect(change) for change in changes])
    first, last = changes[0].before.words, changes[-1].after.words
    return f"The jar is {first} at first. {story} In the end it is {last}."


def parts_before(joint: Joint, parts: Sequence[str]) -> tuple[str, str]:
    """Which parts a step requires, in the order in which they are attached."""
    question = f"What has to be in place before {joint.name} can begin, as the clip shows?"
    if len(parts) == 1:
        return question, f"The {parts[0]}, which is attached before."
    return question, f"These parts, attached in this order: {listed(parts)}."


def product_evolution(kind: str, joints: Sequence[Joint]) -> tuple[str, str]:
    """How the product changes from one step to another, or through one."""
    first, last = joints[0].name, joints[-1].name
    through = f"through {first}" if len(joints) == 1 else f"from {first} to {last}"
    return f"How does the {kind} change {through}?", _story([joint.clause for joint in joints])


def jar_without(
    name: str, would_be: Look, is_now: Look, lost: Sequence[str], won: Sequence[str]
) -> tuple[str, str]:
    """What the jar would be like if one event were left out, and which others would change."""
    question = f"What would {JAR} be like at the end of the clip without {name}?"
    consequences = [f"{event} would have no effect" for event in lost]
    consequences += [f"{event} would have an effect" for event in won]
    because = f" {_sentence(' and '.join(consequences))}" if consequences else ""
    return question, f"It would be {would_be.words} rather than {is_now.words}.{because}"


def step_without(joint: Joint, dependents: Sequence[str]) -> tuple[str, str]:
    """Which later steps could not be done without one."""
    question = f"Which later steps of the clip could not be carried out without {joint.name}?"
    return question, f"Without it, {listed(dependents)} could not be attached."


def jar_mistakes(changes: Sequence[Change]) -> tuple[str, str]:
    """What is done to the jar although it can have no effect."""
    question = f"What mistake occurs with {JAR}, and why is it a mistake?"
    sentences: list[str] = []
    for change in changes:
        if change.failure == "full":
            sentences.append("Water is poured although the jar is full, so that it runs over.")
        elif change.action == "pour":
            sentences.append("Water is poured while the lid is on, so that nothing gets in.")
        else:
            dye = change.action.removeprefix("drop ")
            sentences.append(
                f"The {dye} tablet is dropped while the lid is on, so that it stays outside."
            )
    return question, " ".join(sentences)


def part_mistakes(part: str, mistakes: Sequence[Mistake]) -> tuple[str, str]:
    """What goes wrong with a part: see `Mistake`."""
    sentences: list[str] = []
    for kind, detail in mistakes:
        if kind == "wrong_order":
            assert isinstance(detail, tuple)
            need = "has" if len(detail) == 1 else "have"
            words = f"before {listed(detail)}, which {need} to be in place first"
        elif kind == "wrong_position":
            words = f"{detail} cm off its place, so that it does not fit"
        elif kind == "wrong_orientation":
            words = "turned by 90 degrees, so that it does not fit"
        else:
            words = f"in the place of the {detail}, which belongs there"
        sentences.append(f"{'Later it' if sentences else 'It'} is attached {words}.")
    question = f"What mistake occurs with the {part}, and why is it a mistake?"
    return question, " ".join(sentences)


def jar_ready(name: str, look: Look, failure: str | None) -> tuple[str, str]:
    """Whether the jar is ready for an event, and what shows it."""
    question = f"Before {name} begins, is {JAR} ready for it, and what visible cues show this?"
    if failure == "closed":
        return question, "No. The lid is still on, so that nothing can get in."
    if failure == "full":
        return question, "No. The lid is off, but the jar is full to the brim already."
    return question, f"Yes. The jar is {look.words}, so that there is a way in and room for more."


def step_ready(
    kind: str, joint: Joint, required: Sequence[str], missing: Sequence[str]
) -> tuple[str, str]:
    """Whether everything that a step requires is in place."""
    question = (
        f"Before {joint.name} begins, is the {kind} ready for it, and what visible cues show this?"
    )
    parts = missing or required
    verb = "is" if len(parts) == 1 else "are"
    state = "not in place yet" if missing else "in place"
    answer = f"{listed(parts)} that it needs {verb} {state}"
    return question, f"{'No' if missing else 'Yes'}. {_sentence(answer)}"
