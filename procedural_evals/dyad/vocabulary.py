"""The closed vocabularies of DYAD's annotation layers, and how other spellings are brought home.

Facts from DYAD (arXiv 2609.09023), tables III to V. A label that no spelling rule can bring home is
outside the vocabulary: the caller decides whether that is a null (triggers, whose taxonomy is open)
or a mistake in the export.
"""

from __future__ import annotations

import re
import unicodedata

from rapidfuzz.distance import Levenshtein

VERBAL, PHYSICAL = "verbal", "physical"

#: Coarse assembly steps.
STEPS = (
    "gear_on_shaft",
    "bearing_in_holder",
    "second_holder",
    "first_holder",
    "part_search",
    "shaft_assembly_in_post",
    "attach_crank",
    "verify_rotation",
)
#: Why help was needed. A null is a need outside these nine, not the absence of one.
TRIGGERS = (
    "out_of_reach",
    "cannot_find_part",
    "cannot_decide_next_step",
    "wrong_part",
    "ordering_violation",
    "wrong_orientation",
    "wrong_screwdriver",
    "stabilization_needed",
    "missed_screw",
)
#: How help was given: spoken guidance or physical help.
MODES = (VERBAL, PHYSICAL)
#: Who began it.
INITIATIONS = ("performer_requested", "helper_initiated")
#: What came of it.
OUTCOMES = ("effective", "ineffective", "unnecessary")
#: Triggers whose help is nearly always physical: the privileged mapping says physical for these.
PHYSICAL_TRIGGERS = frozenset({"out_of_reach", "stabilization_needed"})

_OTHER_WORDS = {
    "verbal_guidance": "verbal",
    "spoken": "verbal",
    "speech": "verbal",
    "physical_help": "physical",
    "physical_assistance": "physical",
    "requested": "performer_requested",
    "performer_initiated": "performer_requested",
    "requested_by_performer": "performer_requested",
    "performer": "performer_requested",
    "proactive": "helper_initiated",
    "initiated_by_helper": "helper_initiated",
    "helper": "helper_initiated",
    "not_effective": "ineffective",
    "not_necessary": "unnecessary",
    "cant_find_part": "cannot_find_part",
    "can_not_find_part": "cannot_find_part",
    "cant_decide_next_step": "cannot_decide_next_step",
    "stabilisation_needed": "stabilization_needed",
    "order_violation": "ordering_violation",
    "unreachable": "out_of_reach",
}
_TRUE = frozenset({"true", "yes", "y", "1"})
_FALSE = frozenset({"false", "no", "n", "0"})


def folded(text: str) -> str:
    """A label's text without case, accents' variants, punctuation and kinds of white space.

    >>> folded(" Can't find-Part ")
    'cant_find_part'
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = re.sub(r"['’`.]", "", plain)
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def spelled(text: str, vocabulary: tuple[str, ...]) -> str | None:
    """The label of the vocabulary that the text stands for, or None.

    Case, spaces, hyphens and apostrophes do not matter; known other words are mapped; of the rest,
    up to two typing mistakes (and at most one in four letters) are forgiven when a single label is
    closest.

    >>> spelled("Gear On-Shaft", STEPS), spelled("out of raech", TRIGGERS), spelled("tea", TRIGGERS)
    ('gear_on_shaft', 'out_of_reach', None)
    """
    name = folded(text)
    name = _OTHER_WORDS.get(name, name)
    if name in vocabulary:
        return name
    distances = sorted((Levenshtein.distance(name, label), label) for label in vocabulary)
    nearest, label = distances[0]
    single = len(distances) == 1 or distances[1][0] > nearest
    return label if single and nearest <= min(2, len(name) // 4) else None


def truth(text: str) -> bool | None:
    """True or False as written in any of the usual ways, or None for anything else.

    >>> truth("Yes"), truth("0"), truth("maybe")
    (True, False, None)
    """
    name = folded(text)
    return True if name in _TRUE else False if name in _FALSE else None
