"""Splits that no participant crosses: five grouped folds, and development against test sessions.

The published protocol has 20 participants with one session each: folds of 12 / 4 / 4, and 5
development to 15 test sessions. The same rules hold for a corpus of another size, and for one in
which somebody took part twice. Which participants go together is not published: here they are
grouped in the order of their names, unless the data folder's splits.json says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from procedural_evals.dyad.records import Corpus, Session

FOLDS = 5
DEVELOPMENT, TEST = "development", "test"


class Fold(NamedTuple):
    """Disjoint participants of one fold."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def grouped_folds(groups: Sequence[Sequence[str]]) -> tuple[Fold, ...]:
    """Fold i tests group i, validates on the next group, and trains on all others.

    >>> grouped_folds([["a"], ["b"], ["c"]])[2]
    Fold(train=('b',), validation=('a',), test=('c',))
    """
    if len(groups) < 3:
        raise ValueError(f"{len(groups)} groups; train, validation and test need one each")
    names = [name for group in groups for name in group]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not all(groups):
        raise ValueError(f"groups {groups!r}: empty, or with a participant twice: {twice}")
    folds = []
    for i, group in enumerate(groups):
        after = (i + 1) % len(groups)
        train = (name for j, g in enumerate(groups) if j not in (i, after) for name in g)
        folds.append(Fold(tuple(train), tuple(groups[after]), tuple(group)))
    return tuple(folds)


def mode_folds(corpus: Corpus) -> tuple[Fold, ...]:
    """The folds for mode anticipation: five, or one a participant where there are fewer."""
    if corpus.mode_groups is not None:
        return grouped_folds(corpus.mode_groups)
    people = corpus.participants
    n = min(FOLDS, len(people))
    bounds = [round(i * len(people) / n) for i in range(n + 1)]
    return grouped_folds([people[bounds[i] : bounds[i + 1]] for i in range(n)])


def development_sessions(corpus: Corpus) -> frozenset[str]:
    """Sessions of the development (validation) split: those of a quarter of the participants.

    The first quarter by name, at least one participant, and never all of them.
    """
    if corpus.development_sessions is not None:
        chosen = frozenset(corpus.development_sessions)
        developing = {session.participant for session in corpus.sessions if session.id in chosen}
        for session in corpus.sessions:
            if session.participant in developing and session.id not in chosen:
                raise ValueError(
                    f"splits.json: {session.participant} of session {session.id} (test) is also in "
                    "a development session"
                )
        return chosen
    people = corpus.participants
    if len(people) < 2:
        raise ValueError("development and test need two participants at least")
    first = set(people[: max(1, len(people) // 4)])
    return frozenset(session.id for session in corpus.sessions if session.participant in first)


def split_of(session: Session, development: frozenset[str]) -> str:
    """Name of the session's split."""
    return DEVELOPMENT if session.id in development else TEST
