"""How the reference policies answer the rows of each benchmark, in the format its tasks ask for.

A benchmark registers one `Policies` under the prefix that its task names share; the baseline model
looks it up by task name.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from procedural_evals.dyad.vocabulary import MODES, STEPS
from procedural_evals.harness.items import Row

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Policies:
    """Reference ways of answering a row."""

    oracle: Callable[[Row], str]
    """The reply that gets full marks."""
    random: Callable[[Row, random.Random, Sequence[Row]], str]
    """A reply drawn evenly from those that the row, or all rows of the split, admit; draws from the
    generator only."""
    most_frequent: Callable[[Sequence[Row]], str]
    """The one reply that is right most often among these rows."""
    group: Callable[[Row], Hashable] = lambda row: None
    """What `scope=task` tells apart: the most frequent reply is found for each value by itself."""
    ungrounded: Callable[[Row], str] | None = None
    """The right answer without its evidence, where a task asks for both."""


#: What `policy=` may be.
POLICIES = ("random", "most_frequent", "oracle", "ungrounded", "file")


def check_policy(policy: str) -> None:
    """ValueError, which names those that there are, for a policy that is none of them."""
    if policy not in POLICIES:
        raise ValueError(f"policy={policy}: one of {', '.join(POLICIES)} is needed")


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


def _random_letter(row: Row, generator: random.Random, rows: Sequence[Row]) -> str:
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


def _random_answer(row: Row, generator: random.Random, rows: Sequence[Row]) -> str:
    return str(rows[generator.randrange(len(rows))]["answers"][0])


def _most_frequent_answer(rows: Sequence[Row]) -> str:
    counts = Counter(answer for row in rows for answer in row["answers"])
    return str(min(counts, key=lambda answer: (-counts[answer], answer)))


#: Rows with `answers` (list of texts): the random reply answers some question of the split.
OPEN = Policies(
    oracle=lambda row: str(row["answers"][0]),
    random=_random_answer,
    most_frequent=_most_frequent_answer,
    group=lambda row: row.get("question_type"),
)


def grounded_reply(answer: str, evidence: Sequence[tuple[float, float]]) -> str:
    """The JSON object that the prompts with evidence ask for.

    >>> grounded_reply("It boils.", [(0.0, 2.5)])
    '{"answer": "It boils.", "evidence": [[0.0, 2.5]]}'
    """
    return json.dumps({"answer": answer, "evidence": [list(span) for span in evidence]})


def _oracle_grounded(row: Row) -> str:
    spans = [(span["start"], span["end"]) for span in row["evidence"]]
    return grounded_reply(row["answers"][0], spans)


def _random_grounded(row: Row, generator: random.Random, rows: Sequence[Row]) -> str:
    """Some answer of the split, and a stretch of the clip whose ends are drawn evenly."""
    length = row["clip_end"] - row["clip_start"]
    start, end = sorted(round(generator.uniform(0, length), 1) for _ in range(2))
    return grounded_reply(_random_answer(row, generator, rows), [(start, end)])


#: Rows with `answers` and `evidence`, in seconds from the clip's start.
GROUNDED = Policies(
    oracle=_oracle_grounded,
    random=_random_grounded,
    most_frequent=lambda rows: grounded_reply(_most_frequent_answer(rows), []),
    group=lambda row: row.get("question_type"),
    ungrounded=lambda row: grounded_reply(row["answers"][0], []),
)


def numbered(column: str, count: int, reply: Callable[[int], str]) -> Policies:
    """Rows whose right answer is the one of `count` options whose number is in `column`.

    Where the column is null nothing is right, and the oracle says so.

    >>> numbered("mode", 2, lambda number: choice_reply(LETTERS[number])).oracle({"mode": 1})
    '{"answer": "B"}'
    """

    def frequent(rows: Sequence[Row]) -> str:
        found = Counter(row[column] for row in rows if row[column] is not None)
        return reply(min(found, key=lambda number: (-found[number], number)))

    return Policies(
        oracle=lambda row: "None of these." if row[column] is None else reply(row[column]),
        random=lambda row, generator, rows: reply(generator.randrange(count)),
        most_frequent=frequent,
    )


def certain_reply(number: int, count: int) -> str:
    """Likelihoods of `count` captions, of which one is certain, as `procedural_hf` gives them.

    >>> certain_reply(1, 2)
    '{"log_likelihoods": [-99.0, 0.0], "blank": [0.0, 0.0]}'
    """
    certain = [0.0 if each == number else -99.0 for each in range(count)]
    return json.dumps({"log_likelihoods": certain, "blank": [0.0] * count})


def _lettered(number: int) -> str:
    return choice_reply(LETTERS[number])


register_policies("flatpack_bench", MULTIPLE_CHOICE)
register_policies("promqa_assembly", OPEN)
register_policies("promqa_cooking", OPEN)
register_policies("procobject_10k", GROUNDED)
register_policies("dyad_step", numbered("label", len(STEPS), _lettered))
register_policies(
    "dyad_step_likelihood",
    numbered("label", len(STEPS), lambda number: certain_reply(number, len(STEPS))),
)
register_policies("dyad_mode", numbered("mode", len(MODES), _lettered))
register_policies("dyad_response", OPEN)
