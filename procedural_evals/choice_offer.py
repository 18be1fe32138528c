"""What a multiple-choice question offers: its letters, and the ways to word each option."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from procedural_evals.replies import visible_text

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Key = TypeVar("Key")
Wording = tuple[str, ...]

# Scripts without spaces: Thai, kana, Han, Hangul. Each of their characters is a word of its own.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"\d+(?:[.,:]\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+")
_NONE_OF = ("the above", "the options", "the given options", "the listed options", "these", "them")


class Word(NamedTuple):
    """A word of a text, case folded, and the half-open range of characters that it takes up."""

    text: str
    start: int
    stop: int


def words_of(text: str) -> list[Word]:
    """The words and numbers of a text.

    >>> [word.text for word in words_of("Part 7, 0.5 cm")]
    ['part', '7', '0.5', 'cm']
    """
    return [Word(m[0].casefold(), *m.span()) for m in _WORD.finditer(text)]


def squeezed(text: str) -> str:
    """The text case folded, with single spaces, without the quotes and stops around it."""
    return " ".join(text.casefold().split()).strip(" .\"'")


class Offer(NamedTuple):
    """The offered letters and what their options say.

    Attributes:
        letters: as they were given.
        by_capital: the offered letter of each capital.
        verbatim: the letter of each option's whole text, squeezed.
        wordings: by first word, the wordings of options with their letters, the longest first.
        numbers: by its number, the letter of an option that is one of several of the same words
            with another number: "7" of "Part 7" beside "Part 2".
        joint: the letter of an option that joins others, as "Both Part 2 and Part 1 are correct".
    """

    letters: tuple[str, ...]
    by_capital: dict[str, str]
    verbatim: dict[str, str]
    wordings: dict[str, list[tuple[Wording, str]]]
    joint: dict[frozenset[str], str]
    numbers: dict[str, str]


@functools.lru_cache(maxsize=4096)
def offer_of(letters: tuple[str, ...], options: tuple[str, ...] | None) -> Offer:
    """The checked offer; ValueError for letters or options that cannot be a question's.

    >>> offer_of(("A", "B"), ("Part 2", "Part 7")).verbatim
    {'part 2': 'A', 'part 7': 'B'}
    """
    if not letters:
        raise ValueError("letters: none given; offer at least one, such as 'ABCD'")
    for letter in letters:
        if not (isinstance(letter, str) and re.fullmatch("[A-Za-z]", letter)):
            raise ValueError(f"letters: {letter!r} is not a single letter of A-Z or a-z")
    by_capital = {letter.upper(): letter for letter in letters}
    if len(by_capital) < len(letters):
        raise ValueError(f"letters: {''.join(letters)!r} offers a letter twice")
    if options is None:
        return Offer(letters, by_capital, {}, {}, {}, {})
    if len(options) != len(letters):
        raise ValueError(f"options: {len(options)} texts for {len(letters)} letters; give one each")
    for option in options:
        if not isinstance(option, str):
            raise ValueError(f"options: {option!r} is not a text")
    texts = [
        (visible_text(option), letter) for option, letter in zip(options, letters, strict=True)
    ]
    spoken = [(tuple(word.text for word in words_of(text)), letter) for text, letter in texts]
    # An option that reads "B" is not told from the letter B, and letters come first.
    spoken = [
        (text, letter) for text, letter in spoken if not re.fullmatch("[a-z]?", "".join(text))
    ]
    variants = [(variant, letter) for text, letter in spoken for variant in _variants(text)]
    wordings: dict[str, list[tuple[Wording, str]]] = {}
    for wording, letter in sorted(_owned(variants).items(), key=lambda pair: -len(pair[0])):
        wordings.setdefault(wording[0], []).append((wording, letter))
    verbatim = _owned((squeezed(text), letter) for text, letter in texts if text)
    joint = _joint(spoken, by_capital)
    return Offer(letters, by_capital, verbatim, wordings, joint, _numbers(spoken))


def _owned(pairs: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """What belongs to one letter only: options of equal words cannot be told apart by them."""
    owners: dict[Key, set[str]] = {}
    for key, letter in pairs:
        owners.setdefault(key, set()).add(letter)
    return {key: next(iter(letters)) for key, letters in owners.items() if len(letters) == 1}


def _numbers(spoken: list[tuple[Wording, str]]) -> dict[str, str]:
    numbered = [(text, letter) for text, letter in spoken if len(text) > 1 and text[-1].isdigit()]
    names = Counter(text[:-1] for text, _ in numbered)
    found = _owned((text[-1], letter) for text, letter in numbered if names[text[:-1]] > 1)
    plain = {text[0] for text, _ in spoken if len(text) == 1}  # an option that reads "7" itself
    return {number: letter for number, letter in found.items() if number not in plain}


def _variants(text: Wording) -> Iterator[Wording]:
    """The ways in which replies word an option."""
    yield text
    if text[:2] == ("none", "of"):
        yield ("none",)
        yield from (("none", "of", *rest.split()) for rest in _NONE_OF)
    if text[0] in ("both", "all") and text[-2:] == ("are", "correct"):
        yield text[: -3 if text[-3] == "and" else -2]
        yield from ((text[0],), (text[0], "are", "correct"), (text[0], "of", "them"))
    elif text.count("and") == 1 and text[0] not in ("both", "all"):
        at = text.index("and")
        yield (*text[at + 1 :], "and", *text[:at])


def _joint(
    spoken: list[tuple[Wording, str]], by_capital: dict[str, str]
) -> dict[frozenset[str], str]:
    """The options that join others: by their letters ("Both Option A and ...") or their words."""
    joint: list[tuple[frozenset[str], str]] = []
    for text, letter in spoken:
        if text[0] in ("both", "all"):
            lettered = {
                by_capital[word.upper()]
                for before, word in pairwise(text)
                if before == "option" and word.upper() in by_capital
            }
            worded = {
                other
                for named, other in spoken
                if other != letter
                and any(text[i : i + len(named)] == named for i in range(len(text)))
            }
            joint.append((frozenset(lettered | worded), letter))
    return _owned((members, letter) for members, letter in joint if len(members) > 1)


def offered_letters(
    n: int,
    letters: Sequence[Sequence[str]] | None = None,
    num_options: int | Sequence[int] | None = None,
    options: Sequence[Sequence[str]] | None = None,
) -> list[str]:
    """The letters offered with each of n questions, from whichever arguments say so.

    Args:
        n: number of questions.
        letters: one offer for all ("ABCD"), or one a question (["ABCD", "AB"]).
        num_options: how many of A, B, C, ... are offered: one number, or one a question.
        options: the options' texts, a list a question.

    Raises ValueError where none is given, where they disagree, or for other than 1 to 26 letters.

    >>> offered_letters(2, num_options=[4, 2])
    ['ABCD', 'AB']
    """
    said: dict[str, list[str]] = {}
    if letters is not None:
        for_all = all(isinstance(letter, str) and len(letter) == 1 for letter in letters)
        each = ["".join(offer) for offer in letters]
        said["letters"] = ["".join(each)] * n if for_all else each
    if num_options is not None:
        counts = [num_options] * n if isinstance(num_options, int) else num_options
        said["num_options"] = [_first_letters(count, "num_options") for count in counts]
    if options is not None:
        said["options"] = [_first_letters(len(texts), "options") for texts in options]
    if not said:
        raise ValueError("letters, num_options and options are all missing; give one of them")
    first = next(iter(said.values()))
    for name, offers in said.items():
        if len(offers) != n:
            raise ValueError(f"{name}: {len(offers)} values for {n} questions; give one a question")
        for item, (one, other) in enumerate(zip(first, offers, strict=True)):
            if len(one) != len(other):
                raise ValueError(
                    f"{name}: item {item} has {len(other)} options where {next(iter(said))} says "
                    f"{len(one)}"
                )
    return first


def _first_letters(count: int, name: str) -> str:
    if count not in range(1, len(ALPHABET) + 1):
        raise ValueError(f"{name}: {count!r} options in a question; 1 to 26 have letters")
    return ALPHABET[:count]
