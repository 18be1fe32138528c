"""How the reference policies answer the rows of each benchmark, in the format its tasks ask for.

A benchmark registers one `Policies` under the prefix that its task names share; the baseline model
looks it up by task name.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from procedural_evals.harness.items import Row

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Policies:
    """Reference ways of answering a row."""

    oracle: Callable[[Row], str]
    """The reply that gets full marks."""
    random: Callable[[Row, random.Random], str]
    """A reply drawn evenly from those that the row admits; draws from the generator only."""
    most_frequent: Callable[[Sequence[Row]], str]
    """The one reply that is right most often among these rows."""
    group: Callable[[Row], Hashable] = lambda row: None
    """What `scope=task` tells apart: the most frequent reply is found for each value by itself."""


_REGISTERED: dict[str, Policies] = {}


def register_policies(prefix: str, policies: Policies) -> None:
    """Answer all tasks whose name begins with `prefix` by these; a longer prefix wins."""
    _REGISTERED[prefix] = policies


def policies_for(task: str) -> Policies:
    """The policies registered for a task; ValueError names those that there are.

    >>> policies_for("flatpack_bench_blind_sample") is MULTIPLE_CHOICE
    True
    """
    prefixes = [prefix for prefix in _REGISTERED if task.startswith(prefix)]
    if not prefixes:
        known = ", ".join(sorted(f"{prefix}*" for prefix in _REGISTERED))
        raise ValueError(
            f"no reference policy answers task {task!r}; there are some for {known}. Use "
            f"policy=file,path=REPLIES.jsonl, or register_policies() for this task"
        )
    return _REGISTERED[max(prefixes, key=len)]


def choice_reply(letter: str) -> str:
    """The JSON object that the multiple-choice prompts ask for.

    >>> choice_reply("B")
    '{"answer": "B"}'
    """
    return f'{{"answer": "{letter}"}}'


def _right_letter(row: Row) -> str:
    return LETTERS[row["answer"]]


def _random_letter(row: Row, generator: random.Random) -> str:
    return choice_reply(LETTERS[generator.randrange(len(row["options"]))])


def _most_frequent_letter(rows: Sequence[Row]) -> str:
    counts = Counter(_right_letter(row) for row in rows)
    # Of equally frequent letters the first in the alphabet.
    return choice_reply(min(counts, key=lambda letter: (-counts[letter], letter)))


#: Rows with `options` (list of texts) and `answer` (index of the right one); `task` groups them.
MULTIPLE_CHOICE = Policies(
    oracle=lambda row: choice_reply(_right_letter(row)),
    random=_random_letter,
    most_frequent=_most_frequent_letter,
    group=lambda row: row.get("task"),
)

register_policies("flatpack_bench", MULTIPLE_CHOICE)
