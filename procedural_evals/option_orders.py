"""Other orders of a question's options: which there are, and what the options say in each.

Options that speak of other ones ("None of the options are correct", "Both Option A and Option B
are correct") keep their places, as in the benchmark's own orders; the letters that they name
follow the options.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_NAMED = re.compile(r"\b[Oo]ptions?\s+[A-Z]\b(?:(?:,|\s+and|\s+or)+\s+(?:[Oo]ption\s+)?[A-Z]\b)*")
_LETTER = re.compile(r"\b[A-Z]\b")
_JOINT = re.compile(
    r"\b(?:none|neither|both|all|any)\b.*\b(?:options?|answers?|correct|above|these)\b"
    r"|\bboth correct\b",
    re.IGNORECASE,
)


def speaks_of_others(option: str) -> bool:
    """Whether an option means something only beside the other ones.

    >>> [speaks_of_others(text) for text in ("Part 7", "None of the options are correct")]
    [False, True]
    """
    return bool(_JOINT.search(option) or _NAMED.search(option))


def option_orders(options: Sequence[str], count: int, seed: str) -> list[tuple[int, ...]]:
    """Different orders of the options, the given one first: at most `count`, and all there are.

    An order lists, for each place, the given place of the option that stands there.

    >>> option_orders(["yes", "no"], 5, "q1")
    [(0, 1), (1, 0)]
    >>> option_orders(["Part 1", "Part 2", "None of these"], 2, "q1")
    [(0, 1, 2), (1, 0, 2)]
    """
    if count < 1:
        raise ValueError(f"orders: {count}; at least 1 is needed")
    places = [place for place, option in enumerate(options) if not speaks_of_others(option)]
    generator = random.Random(seed)
    found = {tuple(places): None}  # a dict keeps the order in which they were drawn
    while len(found) < min(count, math.factorial(len(places))):
        found[tuple(generator.sample(places, len(places)))] = None
    orders = []
    for drawn in found:
        order = list(range(len(options)))
        for place, taken in zip(places, drawn, strict=True):
            order[place] = taken
        orders.append(tuple(order))
    return orders


def reordered(options: Sequence[str], order: Sequence[int]) -> list[str]:
    """The options in that order; letters within them name the same options as before.

    >>> reordered(["Part 1", "Part 2", "Part 3", "Both Option A and Option C are correct"],
    ...           (1, 0, 2, 3))
    ['Part 2', 'Part 1', 'Part 3', 'Both Option B and Option C are correct']
    """
    renamed = {LETTERS[taken]: LETTERS[place] for place, taken in enumerate(order)}

    def follow(named: re.Match[str]) -> str:
        return _LETTER.sub(lambda letter: renamed.get(letter[0], letter[0]), named[0])

    return [_NAMED.sub(follow, options[taken]) for taken in order]
