"""The helper of the simulated DYAD: a guidance-first policy, and the record of what was done.

The policy (DYAD, section III-A): speak first; leave time for self-correction when nobody asked;
help by hand where words do not help, that is for what is out of reach and what has to be held.
How often each need is asked about, and how often it is met by hand, follows the structure that the
paper reports; the numbers below are ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from procedural_evals.dyad.vocabulary import PHYSICAL, VERBAL

from .dyad_words import CONFIRM, FINISHED, Speech, speaking_time

ASKED, NOTICED = "performer_requested", "helper_initiated"
EFFECTIVE, INEFFECTIVE, UNNECESSARY = "effective", "ineffective", "unnecessary"
#: Seconds that a stalled performer is left alone, and until the helper cuts in on an error that
#: blocks what follows.
PATIENCE = (5.0, 8.0)
ALARM = (0.8, 1.6)
#: Seconds from the end of a request to the beginning of the help.
REACTION = (0.5, 1.2)


class Habit(NamedTuple):
    """How one need is usually met: shares in [0, 1].

    Attributes
    ----------
    asked
        How often the performer asks.
    physical
        How often the help is physical.
    hard_stop
        How often the helper stops the performer first.
    alarming
        Whether the helper cuts in at once instead of waiting.
    """

    asked: float
    physical: float
    hard_stop: float = 0.0
    alarming: bool = False


HABITS: Mapping[str, Habit] = {
    "out_of_reach": Habit(asked=0.9, physical=0.92),
    "cannot_find_part": Habit(asked=0.72, physical=0.05),
    "cannot_decide_next_step": Habit(asked=0.78, physical=0.0),
    "wrong_part": Habit(asked=0.5, physical=0.08, hard_stop=0.1),
    "ordering_violation": Habit(asked=0.15, physical=0.0, hard_stop=0.75, alarming=True),
    "wrong_orientation": Habit(asked=0.4, physical=0.0, hard_stop=0.55, alarming=True),
    "wrong_screwdriver": Habit(asked=0.55, physical=0.0, hard_stop=0.1),
    "stabilization_needed": Habit(asked=0.65, physical=0.92),
    "missed_screw": Habit(asked=0.2, physical=0.0, hard_stop=0.1),
    CONFIRM: Habit(asked=1.0, physical=0.0),
    FINISHED: Habit(asked=1.0, physical=0.0),
}


@dataclass
class Said:
    """A request: seconds, words."""

    start: float
    end: float
    text: str


@dataclass
class Help:
    """An intervention: seconds, what it met (None: outside the taxonomy), and how.

    `reply_to` is the request that it answers, as an index into `Helper.requests`.
    """

    start: float
    end: float
    mode: str
    initiation: str
    hard_stop: bool
    trigger: str | None
    objects: tuple[str, ...]
    text: str | None
    outcome: str
    reply_to: int | None


@dataclass
class Need:
    """A performer needs help from `time` on.

    Attributes
    ----------
    kind
        A trigger, `CONFIRM` or `FINISHED`.
    blanks
        Facts for the sentences, see `dyad_words`.
    act
        Helps by hand from a moment on, returns when that is over; None where hands cannot help.
    deadline
        The performer puts it right alone when nobody has helped by then.
    """

    kind: str
    time: float
    blanks: dict[str, str]
    objects: tuple[str, ...]
    act: Callable[[float], float] | None = None
    deadline: float = float("inf")


@dataclass
class Helper:
    """Watches one performer; collects `requests` and `helps`."""

    rng: random.Random
    speech: Speech
    requests: list[Said] = field(default_factory=list)
    helps: list[Help] = field(default_factory=list)

    @property
    def free(self) -> float:
        """When the last intervention is over and has been taken in."""
        return max((event.end for event in self.helps), default=0.0) + 0.4

    def meet(self, need: Need) -> Help | None:
        """Help, or None when the performer was faster; words come before hands.

        The performer asks, or the helper sees the need and waits as the policy says.
        """
        habit = HABITS[need.kind]
        asks = self.rng.random() < habit.asked
        reply_to: int | None = None
        if asks:
            onset = self._ask(need)
            reply_to = len(self.requests) - 1
        else:
            wait = ALARM if habit.alarming else PATIENCE
            onset = round(max(need.time + self.rng.uniform(*wait), self.free), 2)
            if onset > need.deadline:
                return None
        physical = self.rng.random() < habit.physical and need.act is not None
        help = self._help(need, onset, physical, reply_to)
        help.hard_stop = not physical and self.rng.random() < habit.hard_stop
        return help

    def follow_up(self, first: Help, need: Need) -> Help:
        """Words did not do it: after a while the helper helps by hand, unasked."""
        assert need.act is not None, "only what hands can do is followed up"
        first.outcome = INEFFECTIVE
        onset = round(first.end + self.rng.uniform(*PATIENCE), 2)
        return self._help(need, onset, True, None)

    def _ask(self, need: Need) -> float:
        """Let the performer ask; return when the help begins."""
        text = self.speech.say("request", need.kind, need.blanks)
        # Not before the last help is over: of all help, the answer then begins closest to the end
        # of the request.
        start = round(max(need.time + self.rng.uniform(0.3, 1.0), self.free), 2)
        end = round(start + speaking_time(text), 2)
        self.requests.append(Said(start, end, text))
        return round(end + self.rng.uniform(*REACTION), 2)

    def _help(self, need: Need, onset: float, physical: bool, reply_to: int | None) -> Help:
        kind = "handed" if physical else "spoken"
        text: str | None = self.speech.say(kind, need.kind, need.blanks)
        if physical:
            assert need.act is not None, "hands were asked for"
            end = need.act(onset)
            if self.rng.random() < 0.35:
                text = None
        else:
            end = round(onset + speaking_time(text or ""), 2)
        help = Help(
            onset,
            end,
            PHYSICAL if physical else VERBAL,
            NOTICED if reply_to is None else ASKED,
            False,
            None if need.kind in (CONFIRM, FINISHED) else need.kind,
            need.objects,
            text,
            EFFECTIVE,
            reply_to,
        )
        self.helps.append(help)
        return help
