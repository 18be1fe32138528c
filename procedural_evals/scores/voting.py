"""Self-consistency: the answer that most of several samples give (Wang et al., ICLR 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Vote:
    """What several samples of one question chose.

    Attributes:
        winner: the letter with most votes; of equally many, the one whose first vote came first.
            None when no sample named a letter.
        counts: votes of each letter that has some, most first; equal ones as they came.
        samples: number of samples, with those that named no letter.
        agreement: samples that chose the winner, in [0, 100].
    """

    winner: str | None
    counts: dict[str, int]
    samples: int
    agreement: float


def majority_vote(letters: Sequence[str | None]) -> Vote:
    """The vote over the letters of one question's samples, None where a sample named none.

    The tie rule prefers no letter: a rule by alphabet would lean to the first option.

    >>> majority_vote(["C", None, "A", "A", "C"])
    Vote(winner='C', counts={'C': 2, 'A': 2}, samples=5, agreement=40.0)

    Raises ValueError without a sample.
    """
    if not letters:
        raise ValueError("a vote needs at least one sample")
    # Counter keeps the order of first votes, and most_common sorts stably.
    counts = dict(Counter(letter for letter in letters if letter is not None).most_common())
    winner = next(iter(counts), None)
    votes = 0 if winner is None else counts[winner]
    return Vote(winner, counts, len(letters), 100.0 * votes / len(letters))
