"""Questions and answers of the simulated ProMQA-Assembly in words.

A form is one way to ask; it has several wordings (variants), and its answers follow from a
`Finding`. Who finds it out is not known here: the writer takes it from the session, the verifier
from the graph and the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Joint(NamedTuple):
    """A part and what it is attached to, by their titles."""

    part: str
    target: str

    @property
    def label(self) -> str:
        """The step's label in the task graph.

        >>> Joint("roof", "cab").label
        'attach roof to cab'
        """
        return f"attach {self.part} to {self.target}"


class Fault(NamedTuple):
    """What is wrong with an attached part, or with taking one off.

    `kind` is "order" (parts that should have come before, `missing`, were not there), "position",
    "stranger" (the two parts do not belong together), "previous" (built onto a mistake with the
    part `culprit`) or "needless" (taken off although it was right). `detail` of a position is
    "turned", "shifted" or "swapped" (in another part's place), None where it is not known.
    """

    kind: str
    joint: Joint
    missing: tuple[Joint, ...] = ()
    culprit: str = ""
    detail: str | None = None


class Finding(NamedTuple):
    """What there is to say about one question; a form uses the entries that it needs.

    `this` is the part asked about, `joints` are steps in the graph's order, `faults` are in the
    order of time; `relation` of an earlier part, `other`, to `this` is "needed", "reversed" or
    "free"; `holds` says whether there is a screw, `steps` how many were performed.
    """

    toy: str
    this: Joint | None = None
    joints: tuple[Joint, ...] = ()
    faults: tuple[Fault, ...] = ()
    other: str = ""
    relation: str = ""
    holds: bool | None = None
    steps: int = 0


class Form(NamedTuple):
    """One way to ask: the benchmark's type, wordings ({x}: the part asked about), modality."""

    question_type: str
    wordings: tuple[str, ...]
    multimodal: bool = True


FORMS: dict[str, Form] = {
    "next_all": Form(
        "next", ("What can I attach next?", "Which step comes now?", "How do I go on?")
    ),
    "next_this": Form("next", ("Can I attach the {x} now?", "Is it time for the {x}?")),
    "missing_any": Form(
        "missing",
        (
            "Did I skip a step before I attached this part?",
            "Have I forgotten something that this part needs?",
        ),
    ),
    "missing_until": Form(
        "missing",
        ("What is still missing before the {x} can go on?", "What keeps me from adding the {x}?"),
    ),
    "order_latest": Form(
        "order", ("Did I attach this part too early?", "Was it too soon for this part?")
    ),
    "order_pair": Form(
        "order",
        ("Was it right to attach the {x} before this part?", "Should the {x} come before this?"),
    ),
    "undo_latest": Form(
        "misadjustment",
        ("Was it right to take the {x} off again?", "Should I have detached the {x}?"),
    ),
    "undo_this": Form(
        "misadjustment",
        ("Should I take this part off again?", "Do I have to redo the part I attached last?"),
    ),
    "past_any": Form(
        "past", ("Have I made any mistakes so far?", "Did anything go wrong until now?")
    ),
    "past_first": Form(
        "past",
        (
            "What was wrong when I attached the {x} the first time?",
            "Which mistake did I make with the {x} before?",
        ),
    ),
    "past_open": Form(
        "past", ("Have I put all my mistakes right?", "Are all my errors corrected by now?")
    ),
    "place_latest": Form(
        "location",
        (
            "Is this part in the right place?",
            "Did I put this part where it belongs?",
            "Does this part sit correctly?",
        ),
    ),
    "place_held": Form(
        "location", ("Where does the part in my hand go?", "Where should I put this now?")
    ),
    "why_undone": Form(
        "others (process)",
        ("Why did I have to remove the {x}?", "What made it necessary to take off the {x}?"),
    ),
    "how_many": Form("others (process)", ("How many steps are left?", "How far am I?")),
    "screw_latest": Form(
        "others (step)", ("Does this part need a screw?", "Should I screw this part on?")
    ),
    "screw_named": Form("others (step)", ("Do I need the screwdriver for the {x}?",), False),
}

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
            "eleven", "twelve")  # fmt: skip


def number(count: int) -> str:
    """A count in words up to twelve, in digits beyond.

    >>> number(3), number(31)
    ('three', '31')
    """
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def listed(items: Iterable[str]) -> str:
    """Texts as a list in a sentence.

    >>> listed(["the cab", "the roof", "the seat"])
    'the cab, the roof and the seat'
    """
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _the(joints: Sequence[Joint]) -> str:
    return listed(f"the {joint.part}" for joint in joints)


def _steps(joints: Sequence[Joint]) -> str:
    return listed(f"the {joint.part} to the {joint.target}" for joint in joints)


def _have(joints: Sequence[Joint]) -> str:
    return "has" if len(joints) == 1 else "have"


def question(form: str, part: str, variant: int) -> str:
    """The question's words.

    >>> question("next_this", "roof", 1)
    'Is it time for the roof?'
    """
    return FORMS[form].wordings[variant].format(x=part)


def recognise(text: str, parts: Sequence[str]) -> tuple[str, str, int]:
    """Form, part asked about (empty without one) and variant of a question's words.

    >>> recognise("Is it time for the roof?", ["cab", "roof"])
    ('next_this', 'roof', 1)
    """
    for name, form in FORMS.items():
        for variant, wording in enumerate(form.wordings):
            for part in parts if "{x}" in wording else ("",):
                if wording.format(x=part) == text:
                    return name, part, variant
    raise ValueError(f"{text!r} is no simulated question about {', '.join(parts)}")


#: Why a part is, or was, not right, by the kind of its fault.
_REASONS = {
    "order": "{missing} {have} to be on before the {part}",
    "position": "the {part} {verb} not in its place on the {target}",
    "stranger": "the {part} does not belong on the {target}",
    "previous": "the {part} {verb} built onto a mistake, the {culprit}",
}
#: Mistakes as something that "you" did.
_DEEDS = {
    "order": "you attached the {part} before {missing}",
    "position": "you attached the {part} to the {target} in a wrong position",
    "stranger": "you attached the {part} to the {target}, where it does not belong",
    "previous": "you built the {part} onto a mistake, the {culprit}",
    "needless": "you took the {part} off the {target} without need",
}


def _clause(wordings: Mapping[str, str], fault: Fault, verb: str = "") -> str:
    """A fault told by one of these wordings; `verb` is "is" or "was"."""
    missing = _the(fault.missing) if fault.missing else ""
    return wordings[fault.kind].format(
        **fault.joint._asdict(), missing=missing, have=_have(fault.missing),
        culprit=fault.culprit, verb=verb,
    )  # fmt: skip


_STILL = {
    "order": "although it came too early",
    "position": "in a wrong position",
    "stranger": "where it does not belong",
    "previous": "on top of a mistake",
}
_DETAIL = {
    "turned": "No, turn the {x} by 90 degrees.",
    "shifted": "No, move the {x} to its proper spot.",
    "swapped": "No, the {x} sits where another part belongs.",
}


def answers(form: str, found: Finding, variant: int) -> tuple[str, ...]:
    """All right answers, the plainest first; the same finding gives the same answers.

    Where a detail of a fault is not known, the last answer, which would tell it, is left out.

    >>> cab = Joint("cab", "chassis")
    >>> answers("screw_latest", Finding("toy", this=cab, holds=True), 0)
    ('Yes, fasten the cab to the chassis with a screw.', 'Yes, the cab is screwed on.')
    """
    if form in {"next_all", "missing_until", "past_any", "past_open", "how_many"}:
        return _about_the_whole(form, found, variant)
    if form.startswith("order") or form in {"next_this", "missing_any"}:
        return _about_the_order(form, found)
    return _about_a_part(form, found)


def _about_the_whole(form: str, found: Finding, variant: int) -> tuple[str, ...]:
    toy, joints, faults = found.toy, found.joints, found.faults
    if form == "next_all":
        if not joints:
            return (f"Nothing is left to attach: the {toy} is finished.", f"The {toy} is complete.")
        wording = (
            "You can attach the {} to the {} next.",
            "The step that comes now is to fit the {} onto the {}.",
            "Go on with the {}, which goes onto the {}.",
        )[variant]
        return tuple(wording.format(*joint) for joint in joints)
    if form == "missing_until":
        assert found.this is not None
        part, target = found.this
        if not joints:
            return (f"Nothing is missing: put the {part} onto the {target} right away.",)
        verb = "is" if len(joints) == 1 else "are"
        there = f"{_the(joints)[0].upper()}{_the(joints)[1:]} {verb} not on yet."
        return (there, f"Attach {_steps(joints)} before you come to the {part}.")
    if form == "past_any":
        if not faults:
            return (f"No, all {number(found.steps)} steps so far were right.", "No mistake so far.")
        return tuple(dict.fromkeys(f"Yes, {_clause(_DEEDS, fault)}." for fault in faults))
    if form == "past_open":
        if not faults:
            return (f"Yes, nothing is wrong with the {toy} any more.", "Yes, you fixed them all.")
        return tuple(
            f"No, put the {f.joint.part} back onto the {f.joint.target}."
            if f.kind == "needless"
            else f"No, the {f.joint.part} is still on the {f.joint.target}, {_STILL[f.kind]}."
            for f in faults
        )
    count = number(len(joints)).capitalize()
    steps = "step is" if len(joints) == 1 else "steps are"
    if not joints:
        return (f"No step is left: you have finished the {toy}.",)
    whole = f"{count} {steps} left before the {toy} is complete."
    if len(joints) > 3:
        return (whole, f"{count} more to go.")
    return (f"{count} {steps} left: {_the(joints)}.", whole)


def _about_the_order(form: str, found: Finding) -> tuple[str, ...]:
    assert found.this is not None
    part, target = found.this
    missing = found.joints
    if form == "next_this":
        if missing:
            return (f"No, first attach {_steps(missing)}.", f"Not yet, {_the(missing)} "
                    f"{_have(missing)} to be there before the {part}.")  # fmt: skip
        return (f"Yes, the {part} can go onto the {target} now.", f"Yes, go on with the {part}.")
    if form == "missing_any":
        if not missing:
            return (f"No, you had everything that the {part} needs.", f"No, nothing was left out "
                    f"before the {part} went onto the {target}.")  # fmt: skip
        singles = tuple(f"Yes, you left out the {j.part}." for j in missing if len(missing) > 1)
        return (f"Yes, you skipped {_the(missing)} before the {part}.",
                f"Yes, you should have attached {_steps(missing)} first.", *singles)  # fmt: skip
    if form == "order_latest":
        if not missing:
            return (f"No, it was fine to attach the {part} at this point.",
                    f"No, all that comes before the {part} was done.")  # fmt: skip
        return (f"Yes, the {part} comes after {_the(missing)}.",
                f"Yes, {_the(missing)} should have been there before the {part}.")  # fmt: skip
    return {
        "needed": (
            f"Yes, the {part} needs the {found.other} to be there first.",
            f"Yes, the {found.other} has to come before the {part}.",
        ),
        "reversed": (
            f"No, the {found.other} is to be attached after the {part}.",
            f"No, the {part} has to come first, then the {found.other}.",
        ),
        "free": (
            f"Yes, but the {found.other} and the {part} may come in any order.",
            f"It does not matter whether the {found.other} or the {part} comes first.",
        ),
    }[found.relation]


def _about_a_part(form: str, found: Finding) -> tuple[str, ...]:
    assert found.this is not None
    part, target = found.this
    fault = found.faults[0] if found.faults else None
    if form == "undo_latest":
        assert fault is not None, "who takes a part off undoes a mistake or makes one"
        if fault.kind == "needless":
            return (f"No, the {part} was right and should have stayed on the {target}.",
                    f"No, put the {part} back: nothing was wrong with it.")  # fmt: skip
        return (
            f"Yes, because {_clause(_REASONS, fault, 'was')}.",
            f"Yes, the {part} had to come off.",
        )
    if form == "undo_this":
        if fault is None:
            return (f"No, leave the {part} on the {target}.", f"No, the {part} is all right.")
        return (
            f"Yes, detach it: {_clause(_REASONS, fault, 'is')}.",
            f"Yes, take the {part} off the {target}.",
        )
    if form == "past_first":
        assert fault is not None, "asked only about parts that were wrong"
        deed = _clause(_DEEDS, fault)
        return (f"{deed[0].upper()}{deed[1:]}.",)
    if form == "why_undone":
        assert fault is not None, "asked only about parts that had to come off"
        return (f"Because {_clause(_REASONS, fault, 'was')}.",)
    if form == "place_latest":
        if fault is None:
            return (f"Yes, the {part} is where it belongs on the {target}.",
                    f"Yes, the {part} is placed correctly.")  # fmt: skip
        if fault.kind == "stranger":
            return (f"No, the {part} is not meant for the {target}.",)
        plain = f"No, the {part} is not in its place on the {target}."
        return (plain, _DETAIL[fault.detail].format(x=part)) if fault.detail else (plain,)
    if form == "place_held":
        return (f"The {part} goes onto the {target}.", f"Attach the {part} to the {target}.")
    if found.holds:
        return (f"Yes, fasten the {part} to the {target} with a screw.",
                f"Yes, the {part} is screwed on.")  # fmt: skip
    return (f"No, the {part} holds on the {target} by itself.", f"No screw for the {part}.")
