"""What performer and helper of the simulated DYAD say: sentences with blanks for the facts.

Each helper's sentence is a right and complete answer to each request of its need, as long as the
blanks are filled from the state of the world at that time.

Blanks: part, colour (what it looks like), place (where it lies), target (what it goes onto), next
(the next step), missing (what has to be done first), wrong (the part that was taken by mistake),
driver, wrong_driver.
"""

from __future__ import annotations

import random

#: Needs outside the nine triggers.
CONFIRM, FINISHED = "confirm", "finished"

REQUESTS: dict[str, tuple[str, ...]] = {
    "out_of_reach": (
        "Could you pass me the {part}?",
        "I can't get to the {part} from here, can you hand it over?",
        "The {part} is too far away, could you reach it for me?",
        "Can you give me the {part}, please?",
        "May I have the {part} over here?",
    ),
    "cannot_find_part": (
        "Where is the {part}?",
        "I don't see the {part} anywhere, where did it go?",
        "Which of these is the {part}?",
        "Do you know where the {part} lies?",
        "I am looking for the {part}, is it on the table?",
    ),
    "cannot_decide_next_step": (
        "What do I do next?",
        "Okay, and what comes now?",
        "I am not sure how to go on, what is next?",
        "Which step follows this one?",
        "What should I put on now?",
    ),
    "wrong_part": (
        "Is this the right one for here?",
        "Does this go on the {target}, or is it the other one?",
        "Hm, that looks odd, did I take the right part?",
        "Is it this one that belongs there?",
        "Was that the correct part?",
    ),
    "ordering_violation": (
        "Can I put the {part} on already?",
        "Is it time for the {part} now?",
        "Does the {part} come at this point?",
        "Am I too early with the {part}?",
    ),
    "wrong_orientation": (
        "Is the {part} the right way round?",
        "Does the {part} go in like this?",
        "Which way does the {part} have to face?",
        "It does not line up, is the {part} turned correctly?",
    ),
    "wrong_screwdriver": (
        "This driver slips, which one do I need for the {part}?",
        "Is this the right screwdriver?",
        "Which screwdriver fits the screws of the {part}?",
        "The screw won't turn, do I need another driver?",
    ),
    "stabilization_needed": (
        "Can you hold this while I fasten the {part}?",
        "It keeps tipping, could you steady it?",
        "Could you keep the {target} still for me?",
        "Would you hold it in place for a moment?",
    ),
    "missed_screw": (
        "Did I forget something at the {part}?",
        "The {part} feels loose, is that normal?",
        "Is the {part} fixed like that?",
    ),
    CONFIRM: (
        "Is the {part} sitting right?",
        "Does that look good to you?",
        "Is it okay like this?",
        "Is the {part} in all the way?",
    ),
    FINISHED: (
        "It turns, are we done?",
        "Is that everything?",
        "Does it run as it should?",
    ),
}
SPOKEN: dict[str, tuple[str, ...]] = {
    "out_of_reach": (
        "Lean over a little: the {part} is {place}, and you can get hold of it.",
        "You can just reach the {part} {place} if you get up.",
    ),
    "cannot_find_part": (
        "The {part} is {place}, it is the {colour} one.",
        "Look {place}: the {colour} piece there is the {part}.",
        "You will find the {part} {place}. It is the {colour} one.",
        "It is the {colour} part {place}, that is the {part}.",
    ),
    "cannot_decide_next_step": (
        "Next, {next}.",
        "Now {next}.",
        "You can go on and {next}.",
        "The next thing is to {next}.",
    ),
    "wrong_part": (
        "No, that is the {wrong}. Take it off and use the {part}, {place}.",
        "That one is the {wrong}; the {part} belongs on the {target}. It is {place}.",
        "You have the {wrong} there. Swap it for the {part}, {place}.",
    ),
    "ordering_violation": (
        "Not yet: take the {part} off again, first {missing}.",
        "Wait, the {part} comes later. Remove it and {missing} first.",
        "Stop, too early for the {part}. First {missing}, so take it off again.",
    ),
    "wrong_orientation": (
        "The {part} is turned. Take it off and rotate it by a quarter so that it sits flush on the "
        "{target}.",
        "Take the {part} off and turn it by ninety degrees before you put it back on the {target}.",
        "Lift the {part} off the {target} and give it a quarter turn, then it lines up.",
    ),
    "wrong_screwdriver": (
        "That is the {wrong_driver}. Use the {driver} for the {part}.",
        "Take the {driver}, the {wrong_driver} does not fit the screws of the {part}.",
        "You need the {driver} for the {part}, not the {wrong_driver}.",
    ),
    "stabilization_needed": (
        "Press the {target} down with your left hand while you fasten the {part}.",
        "Rest your free hand on the {target}, then it stays still for the {part}.",
    ),
    "missed_screw": (
        "The {part} has no screw yet. Fasten it with the {driver}.",
        "You left out the screw of the {part}, put it in with the {driver}.",
        "The {part} is still loose: tighten its screw with the {driver}.",
    ),
    CONFIRM: (
        "Yes, the {part} sits right. Next, {next}.",
        "Yes, that is fine. Now {next}.",
        "Looks good, the {part} is in place; go on and {next}.",
    ),
    FINISHED: (
        "Yes, both gears turn, the gearbox is finished.",
        "That is it: the crank drives both gears, you are done.",
    ),
}
#: Said while helping by hand.
HANDED: dict[str, tuple[str, ...]] = {
    "out_of_reach": ("Here is the {part}.", "There you go, the {part}.", "Sure, here you are."),
    "cannot_find_part": (
        "It is this one, I put the {part} here for you.",
        "Here, this is the {part}.",
    ),
    "wrong_part": ("Take this one instead, it is the {part}.",),
    "stabilization_needed": ("I am holding it.", "Go ahead, I keep the {target} still.", "Got it."),
}


class Speech:
    """Chooses sentences; none is repeated before all others of its kind were said."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._left: dict[tuple[str, str], list[str]] = {}

    def say(self, kind: str, need: str, blanks: dict[str, str]) -> str:
        """A sentence of a kind ("request", "spoken", "handed") for a need, its blanks filled."""
        choices = {"request": REQUESTS, "spoken": SPOKEN, "handed": HANDED}[kind][need]
        left = self._left.setdefault((kind, need), [])
        if not left:
            left += self._rng.sample(choices, len(choices))
        return left.pop().format(**blanks)


def speaking_time(text: str) -> float:
    """Seconds that it takes to say something, at a brisk pace.

    >>> speaking_time("Where is the crank?")
    1.51
    """
    return round(0.3 + len(text.split()) / 3.3, 2)
