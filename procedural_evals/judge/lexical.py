"""The offline judge `lexical`: compares words. For demos and plumbing, not for results.

Equal after normalisation is the highest grade; sharing half of the words with a reference answer is
the middle one; anything else is the lowest. Its scores are not comparable with those of a model.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from procedural_evals.judge.base import Judgement, JudgeOptions, judgement, settled
from procedural_evals.judge.client import Usage
from procedural_evals.judge.rubric import JudgeItem, Rubric
from procedural_evals.replies import visible_text

NAME = "lexical"
VERSION = 1
# Token F1 (of SQuAD: harmonic mean of the shares of words that two texts have in common) from
# which an answer counts as partly right.
PARTIAL_F1 = 0.5

_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})


def normalised_words(text: str) -> list[str]:
    """Words in lower case, without punctuation and articles.

    >>> normalised_words("You're done! The toy is complete.")
    ['you', 're', 'done', 'toy', 'is', 'complete']
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word for word in _WORD.findall(plain) if word not in _ARTICLES]


def token_f1(a: list[str], b: list[str]) -> float:
    """Harmonic mean of the shares of words that each side has in common with the other, in [0, 1].

    >>> token_f1(["attach", "roof"], ["attach", "wheel"])
    0.5
    """
    common = (Counter(a) & Counter(b)).total()
    return 2 * common / (len(a) + len(b)) if common else 0.0


class LexicalJudge:
    """Grades by words alone; `comparable` is False, and results say so."""

    comparable = False

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        self.usage = Usage()

    @property
    def id(self) -> str:
        """`lexical@1|promqa_ternary@1`: the scale is the rubric's, its words are not used."""
        return f"{NAME}@{VERSION}|{self.rubric.name}@{self.rubric.version}"

    def describe(self) -> dict[str, Any]:
        """The settings behind the id."""
        return {
            "id": self.id,
            "model": NAME,
            "comparable": False,
            "partial_f1": PARTIAL_F1,
            "rubric": self.rubric.id,
        }

    def check(self, item: JudgeItem) -> None:
        """Every item will do: neither question nor steps are looked at."""

    def grade(self, prediction: str, answers: tuple[str, ...]) -> float:
        """The best grade that any reference answer allows."""
        said = normalised_words(visible_text(prediction))
        scale = sorted(self.rubric.grades)
        best = 0
        for answer in answers:
            wanted = normalised_words(answer)
            if said == wanted:
                return scale[-1]
            if token_f1(said, wanted) >= PARTIAL_F1:
                best = len(scale) // 2
        return scale[best]

    @asynccontextmanager
    async def open(self, options: JudgeOptions) -> AsyncIterator[LexicalJudge]:
        """The judge itself: it needs no connection and no cache."""
        del options
        yield self

    async def ping(self) -> None:
        """Nothing can be out of reach."""

    async def judge(self, item: JudgeItem) -> Judgement:
        """The verdict on one item."""
        verdict = settled(item, self.rubric)
        if verdict is None:
            verdict = self.rubric.uniform(self.grade(item.prediction, item.answers))
        return judgement(item, self.id, verdict)
