"""Lexical diversity of a set of texts: distinct-n, the type-token ratio of their n-grams.

Source: Li et al. (2016), arXiv 1510.03055; ProMQA-Assembly (arXiv 2509.02949), appendix A.2, takes
stop words out first. As the latter says type-token ratio, the distinct n-grams are divided by the
number of n-grams; Li et al. divide by the number of words, which differs for n > 1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

_WORD = re.compile(r"\w+(?:'\w+)*")


class Distinct(NamedTuple):
    """Share of distinct n-grams in (0, 1], how many are distinct, and how many there are."""

    value: float
    distinct: int
    total: int


def words(text: str) -> list[str]:
    """The words of a text in lower case; an apostrophe inside a word belongs to it.

    >>> words("Don’t attach the ROOF (2 screws)!")
    ["don't", 'attach', 'the', 'roof', '2', 'screws']
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    return _WORD.findall(plain.casefold())


def distinct_n(texts: Sequence[str], n: int, stop_words: Collection[str] = ()) -> Distinct:
    """Distinct n-grams over all n-grams of the texts, after the stop words are taken out.

    No n-gram spans two texts. Raises ValueError for n < 1 or when no n-gram is left.

    >>> distinct_n(["attach the roof", "attach the wheel"], 1, {"the"})
    Distinct(value=0.75, distinct=3, total=4)
    >>> distinct_n(["attach the roof", "attach the wheel"], 2, {"the"})
    Distinct(value=1.0, distinct=2, total=2)
    """
    if n < 1:
        raise ValueError(f"n: {n}; n-grams have at least one word")
    stop = frozenset(stop_words)
    grams: list[tuple[str, ...]] = []
    for text in texts:
        kept = [word for word in words(text) if word not in stop]
        grams += [tuple(kept[i : i + n]) for i in range(len(kept) - n + 1)]
    if not grams:
        raise ValueError(f"{len(texts)} texts hold no {n}-gram once the stop words are out")
    return Distinct(len(set(grams)) / len(grams), len(set(grams)), len(grams))
