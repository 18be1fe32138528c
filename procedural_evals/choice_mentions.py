"""Where a reply mentions letters and options, and which mentions belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from procedural_evals import choice_words as table
from procedural_evals.choice_markup import VERDICT
from procedural_evals.choice_offer import Offer, Word, words_of
from procedural_evals.choice_words import IN_WORD, any_of


@dataclass(eq=False)
class Group:
    """Mentions joined by "and", "or", commas and the like, in order."""

    members: list[Mention]
    joints: list[str] = field(default_factory=list)

    @property
    def alternatives(self) -> bool:
        """Whether an "or" is among the joints."""
        return any(_OR.search(joint) for joint in self.joints)


@dataclass(eq=False)
class Mention:
    """A letter or an option's words, with the words that belong to it at text[start:stop].

    Attributes:
        start, stop: range in the text; a letter includes its option's words beside it.
        letter: as offered, or a capital that is not offered.
        label_stop: where the letter itself ends.
        in_words: whether the option was named by its words only.
        loose: a bare small letter or an option that is a mere number: it may be anything, and
            counts only where an answer is announced.
        rejected: "not A", "A is wrong".
        announced: "the answer is A".
        confirmed: "A is correct".
        alone: nothing else stands on its line.
        listed: one of several labels in a row, as where the options are repeated.
        group: the mentions that it is joined with, itself among them.
        place: its number in the group.
    """

    start: int
    stop: int
    letter: str
    label_stop: int
    in_words: bool = False
    loose: bool = False
    rejected: bool = False
    announced: bool = False
    confirmed: bool = False
    alone: bool = False
    listed: bool = False
    group: Group = field(default_factory=lambda: Group([]), repr=False)
    place: int = 0


@dataclass(eq=False)
class Reply:
    """A reply's plain text and its mentions in order."""

    text: str
    lower: str
    offer: Offer
    mentions: list[Mention]
    echoes: list[Mention] = field(default_factory=list)  # all letters in a row, as in a prompt


def read(text: str, offer: Offer) -> Reply:
    """The plain text's mentions, joined to groups; nothing is said about them yet."""
    lower = text.lower()
    worded = list(_options_in(text, offer))
    named = {mention.stop for mention in worded}
    worded += [mention for mention in _numbers_in(lower, offer) if mention.stop not in named]
    mentions = _with_their_words(
        text, sorted([*worded, *_letters_in(text, lower, offer, worded)], key=start_of)
    )
    reply = Reply(text, lower, offer, _without_things(lower, mentions))
    _join(reply)
    return reply


def start_of(mention: Mention) -> int:
    """Where a mention begins, as a sorting key."""
    return mention.start


# ---- options named by their words ----

_SENTENCE_END = frozenset(".!?。\n")
_EDGE = re.compile(f"[{IN_WORD}]")
# Options of one such word are named only where the word stands by itself: "No." but not "No part".
_ORDINARY = frozenset(["no", "yes", "none", "all", "both", "neither", "true", "false"])
_BY_ITSELF = re.compile(
    r"\s*(?:[^\w\s(]|$|\n|\([A-Z]\)|(?:because|since|as|they|it|these|those|the|is|and|or)\b)"
)


def _options_in(text: str, offer: Offer) -> Iterator[Mention]:
    """Options named by their own words: the longest wording, never a piece of an enumeration."""
    if not offer.wordings:
        return
    spoken = words_of(text)
    plain = [word.text for word in spoken]
    at = 0
    while at < len(spoken):
        wording, letter = _wording_at(text, spoken, plain, at, offer)
        n = len(wording)
        if n and not _in_enumeration(text, spoken, at, n, offer):
            start, stop = spoken[at].start, spoken[at + n - 1].stop
            if wording[0] not in _ORDINARY or n > 1 or _BY_ITSELF.match(text, stop):
                loose = n == 1 and wording[0].isdigit()
                yield Mention(start, stop, letter, stop, in_words=True, loose=loose)
        at += n or 1


def _wording_at(
    text: str, spoken: list[Word], plain: list[str], at: int, offer: Offer
) -> tuple[tuple[str, ...], str]:
    for wording, letter in offer.wordings.get(plain[at], ()):
        span = spoken[at : at + len(wording)]
        if tuple(plain[at : at + len(wording)]) == wording and _unbroken(text, span):
            return wording, letter
    return (), ""


def _unbroken(text: str, span: list[Word]) -> bool:
    """Whether the words follow one another in a sentence and begin and end as whole words."""
    gaps = [text[a.stop : b.start] for a, b in pairwise(span)]
    if any(len(gap) > 5 or not _SENTENCE_END.isdisjoint(gap) for gap in gaps):
        return False
    first, last = span[0], span[-1]
    before, after = text[max(0, first.start - 1) : first.start], text[last.stop : last.stop + 1]
    joined_before = _EDGE.match(before) and _EDGE.match(first.text[:1])
    joined_after = _EDGE.match(after) and _EDGE.match(last.text[-1:])
    return not (joined_before or joined_after)


def _in_enumeration(text: str, spoken: list[Word], at: int, n: int, offer: Offer) -> bool:
    """Whether "Part 2" is a piece of "Part 2, Part 9" where "Part 9" is no option.

    So it is where a joint leads to words that begin alike and that are no option themselves.
    """
    first = spoken[at].text
    if n < 2:
        return False
    for shift in (n, n + 1, -n, -n - 1):
        other = at + shift
        if not 0 <= other < len(spoken) or spoken[other].text != first:
            continue
        left, right = (at, other) if shift > 0 else (other, at)
        gap = text[spoken[left + n - 1].stop : spoken[right].start][:40].lower()
        if _JOINT.fullmatch(gap) and gap.strip():
            heard = tuple(word.text for word in spoken[other : other + 12])
            if not any(heard[: len(words)] == words for words, _ in offer.wordings[first]):
                return True
    return False


_NUMBER_GIVEN = re.compile(
    rf"(?:{VERDICT}|{any_of(table.ANSWER)})(?:[ \t:=(\"'{{]|(?:is|would be)\b){{0,8}}(\d{{1,6}})"
    r"(?=[ \t.)\"'}]*(?:\n|$))"
)


def _numbers_in(lower: str, offer: Offer) -> Iterator[Mention]:
    """Options that differ by a number, named by it where nothing else is the answer."""
    for match in _NUMBER_GIVEN.finditer(lower) if offer.numbers else ():
        if match[1] in offer.numbers:
            start, stop = match.span(1)
            yield Mention(start, stop, offer.numbers[match[1]], stop, in_words=True, loose=True)


# ---- single letters ----

_LETTER = re.compile(
    rf"(?<![{IN_WORD}°])(?<![{IN_WORD}]['’])[A-Za-zΑ-ΩА-ЯЁ](?![{IN_WORD}])(?!['’][A-Za-z])"
)
_LOOK_ALIKE = dict(zip("АВСЕНКМОРТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABCEHKMOPTXIJSABEZHIKMNOPTYX", strict=True))
_CYRILLIC_LABEL = re.compile(rf"(?<![{IN_WORD}])[БГД](?![{IN_WORD}])")
_OPENING, _CLOSING = frozenset("([{<\"'“‘「『【«"), frozenset(")]}>\"'”’」』】»")
_ABBREVIATION = re.compile(rf"(?<![{IN_WORD}])[A-Za-z]\.[A-Za-z](?![{IN_WORD}])")
_HYPHENATED = re.compile(r"[-‐‑][a-z]")
_NEXT_WORD = re.compile(rf"[ \t]+([{IN_WORD}][{IN_WORD}'’]*)")
_CALLED_OPTION = re.compile(rf"{any_of([*table.ANSWER, *table.OPTION])}[\s-]*\Z")
_THING = re.compile(rf"{any_of(table.THING)}[ \t]*\Z")
_RANGE = re.compile(
    rf"(?<![{IN_WORD}])([A-Za-z])\s?(?:[-–—~]|to|through)\s?([A-Za-z])(?![{IN_WORD}])"
)


def _letters_in(text: str, lower: str, offer: Offer, worded: list[Mention]) -> Iterator[Mention]:
    """Single letters outside the options' words, without articles, initials and the like."""
    look_alike = {} if _CYRILLIC_LABEL.search(text) else _LOOK_ALIKE
    covered = {i for m in worded for i in range(m.start, m.stop)}
    option_starts = {m.start for m in worded}
    ends = (offer.letters[0].upper(), offer.letters[-1].upper())
    pairs = list(_ABBREVIATION.finditer(text))
    if len(offer.letters) > 2:
        pairs += [m for m in _RANGE.finditer(text) if (m[1].upper(), m[2].upper()) == ends]
    passed_over = {i for m in pairs for i in (m.start(), m.end() - 1)}
    for match in _LETTER.finditer(text):
        start, stop = match.span()
        called = bool(_CALLED_OPTION.search(lower, max(0, start - 16), start))
        after_hyphen = start > 1 and text[start - 1] in "-‐‑" and _EDGE.match(text[start - 2])
        if start in covered or start in passed_over or _HYPHENATED.match(text, stop):
            continue
        if after_hyphen and not called:
            continue
        bracketed = bool(
            _OPENING.intersection(text[max(0, start - 2) : start])
            and _CLOSING.intersection(text[stop : stop + 2])
        )
        small = match[0].islower()
        if (small or match[0] in "AI" or match[0] in _LOOK_ALIKE) and not bracketed:
            label = start not in option_starts and not small
            if _is_word(text, stop, match[0], option_starts if label else set()):
                continue
        capital = look_alike.get(match[0], match[0].upper())
        letter = offer.by_capital.get(capital, capital)
        loose = small and not bracketed and not called
        yield Mention(start, stop, letter, stop, loose=loose)


def _is_word(text: str, stop: int, letter: str, option_starts: set[int]) -> bool:
    """Whether the letter is an article or a pronoun: a word follows that follows no letter."""
    follows = _NEXT_WORD.match(text, stop)
    if follows is None or follows.start(1) in option_starts:
        return False
    allowed = table.AFTER_I if letter == "I" else table.AFTER_LETTER
    return len(follows[1]) > 1 and follows[1].lower() not in allowed


_LABEL_GAP = re.compile(r"[ \t.):\]\"'”’>–—-]{0,6}\(?[\"']?")
_LETTER_AFTER = re.compile(rf"[\s,:–-]*(?:[(\[]\s*)?(?:{any_of(table.CALLED)}\s*|(?<=[(\[]))")


def _with_their_words(text: str, mentions: list[Mention]) -> list[Mention]:
    """Letter and option's words side by side made one mention, which the letter decides."""
    kept: list[Mention] = []
    for mention in mentions:
        last = kept[-1] if kept else None
        if last is not None:
            gap = text[last.stop : mention.start]
            if mention.in_words and not last.in_words and _LABEL_GAP.fullmatch(gap):
                last.stop, last.loose = mention.stop, False
                continue
            if last.in_words and not mention.in_words and _LETTER_AFTER.fullmatch(gap):
                mention.start = last.start
                mention.stop += text[mention.stop : mention.stop + 1] in (")", "]")
                kept[-1] = mention
                continue
        kept.append(mention)
    return kept


def _without_things(lower: str, mentions: list[Mention]) -> list[Mention]:
    """Without the letters that name a thing in the picture: "Part B", "images A and B"."""
    kept: list[Mention] = []
    thing_stop = -1
    for mention in mentions:
        joined = thing_stop >= 0 and _JOINT.fullmatch(lower[thing_stop : mention.start][:40])
        if not mention.in_words and (
            joined or _THING.search(lower, max(0, mention.start - 16), mention.start)
        ):
            thing_stop = mention.stop
        else:
            kept.append(mention)
    return kept


# ---- groups ----

_OR = re.compile(any_of(table.OR))
_AND_OR = rf"(?:{any_of(table.AND)}|{any_of(table.OR)})"
AND_OR = re.compile(_AND_OR)
_JOINT = re.compile(
    rf"[)\]\"'”’」】]?[ \t]?(?:,?[ \t]*{_AND_OR}|[,;、|]|->|→|[ \t]>[ \t]|[ \t][-–—][ \t])"
    rf"[ \t]*(?:the[ \t]+)?(?:{any_of(table.CALLED)})?[ \t]*[(\[\"'“‘「【]?"
    r"|[ \t]{1,3}|[)\]][ \t]?[(\[]"
)
# After a letter that was named for its own sake, not as the subject of a clause.
_STOP = rf"[.,;:!?)\]}}\"'”’」】。、\n/&]|[-–—→]|$|{any_of(table.REASON)}"
CLAUSE_END = re.compile(rf"[ \t]*(?:{_STOP}|{_AND_OR})")
_NEXT_OR_STOP = re.compile(rf"[ \t]*(?:{_STOP}|[a-z](?![{IN_WORD}]))")


def _join(reply: Reply) -> None:
    previous: Mention | None = None
    for mention in reply.mentions:
        gap = reply.lower[previous.stop : mention.start][:40] if previous else ""
        if previous and _JOINT.fullmatch(gap) and _joins(reply.lower, gap, previous, mention):
            group = previous.group
            group.joints.append(gap)
            mention.loose = mention.loose and previous.loose
        else:
            group = Group([])
        mention.group, mention.place = group, len(group.members)
        group.members.append(mention)
        previous = mention


def _joins(lower: str, gap: str, previous: Mention, mention: Mention) -> bool:
    """A comma or a space joins letters of a list, but not "B" and the clause "A came first"."""
    if AND_OR.search(gap):
        return True
    if ";" in gap and any(AND_OR.search(joint) for joint in previous.group.joints):
        return False
    if not gap.strip():
        return bool(_NEXT_OR_STOP.match(lower, mention.stop))
    return bool(CLAUSE_END.match(lower, mention.stop) or _ARE.match(lower, mention.stop))


_ARE = re.compile(r"\s+(?:are|were)\b")
