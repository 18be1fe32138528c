"""Free text to one of the offered letters, or to "no parse" with a reason.

A ladder of rules, tried in order; the first that finds something decides:

1. the whole reply is the text of one option;
2. the last explicit verdict: a box, a tag or a JSON key; "the answer is B"; "B is correct"; a line
   or a final sentence of nothing but an answer; the label that the reply or its last line opens
   with;
3. one letter stands: all others are rejected or not mentioned;
4. one option is named by its words;
5. every letter but one is rejected.

Decisions that a reader may want to know:

- A letter outweighs the words beside it: "B. Part 7" is B, also where Part 7 is option D.
- Several letters are no parse, unless they were joined by "and" and one option says just that:
  "A and B" is C where C reads "Both Option A and Option B are correct".
- A rejected letter ("not A", "A is wrong") is never an answer.
- Cyrillic and Greek capitals that look like an offered Latin letter stand for that letter, because
  the options were shown in Latin: Cyrillic "В" is B. Where the reply labels options in Cyrillic
  (Б, Г or Д stands on its own), they stand for nothing, since "В" might be the third option.
- A word of repeated letters ("BBBB") is no letter.
- A verdict ends the answer: what follows in a turn or a question that the model begins itself
  ("User: ...", "Question: ... Answer: B") is not read.
- A second choice ("Second best: A", "Alternative answer: C") is read as a rejected letter.
- Where options differ by a number alone ("Part 2", "Part 7"), "Answer: 7" names one of them; a mere
  "7" does not.
- Options of equal text, or of none, can only be named by their letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from procedural_evals import choice_words as table
from procedural_evals.choice_claims import NOTHING_ELSE, mark_claims
from procedural_evals.choice_markup import plain_text
from procedural_evals.choice_mentions import Mention, Reply, read, start_of
from procedural_evals.choice_offer import offer_of, squeezed, words_of
from procedural_evals.choice_words import any_of
from procedural_evals.replies import failed_request, visible_text

# Recorded with every result: a change of the rules or the tables that moves an answer changes it.
PARSER_VERSION = "choices-2"


@dataclass(frozen=True)
class ParsedChoice:
    """One of the offered letters, or None and the reason why there is none."""

    letter: str | None
    reason: str | None


def parse_choice(
    text: str,
    letters: Sequence[str],
    options: Sequence[str] | None = None,
    *,
    explicit: bool = False,
) -> ParsedChoice:
    """The offered letter that a model's free text answers with, or None and why there is none.

    Args:
        text: the reply, of any form and length; the time taken grows linearly with it.
        letters: the offered letters, different ones of A-Z or a-z; returned as they are written.
        options: the text of each letter's option, if replies may name an option by its words.
        explicit: read rules 1 and 2 only, for replies that reason at length: a letter that a
            chain of thought considers before it is cut off is no answer.

    Raises ValueError for letters or options that cannot be a question's; never for a reply.

    >>> parse_choice("The answer is (B), not A.", "ABCD")
    ParsedChoice(letter='B', reason=None)
    >>> parse_choice("Part 7", "AB", ["Part 2", "Part 7"]).letter
    'B'
    >>> parse_choice("A and B", "ABCD").reason
    'several letters: A, B'
    >>> parse_choice("Option A says that part 2", "ABCD", explicit=True).reason
    'no explicit answer'
    """
    offer = offer_of(tuple(letters), None if options is None else tuple(options))
    if failed_request(text) is not None:
        return ParsedChoice(None, "request failed")
    visible = visible_text(text)
    if not visible:
        return ParsedChoice(None, "nothing after the reasoning" if text.strip() else "empty reply")
    plain = plain_text(visible)
    for turn in islice(_NEXT_TURN.finditer(plain), _TURNS):
        reply = read(plain[: turn.start()], offer)
        mark_claims(reply)
        found = _last_verdict(reply)
        if found is not None and found.letter is not None:
            return found
    reply = read(plain, offer)
    mark_claims(reply)
    for rule in _LADDER[:_EXPLICIT] if explicit else _LADDER:
        found = rule(reply)
        if found is not None:
            return found
    return ParsedChoice(None, "no explicit answer" if explicit else _why_nothing(reply))


# ---- the next turn, begun by the model itself ----

_NEXT_TURN = re.compile(
    r"(?<=\S)\s*\n[ \t]*(?:(?:next |new )?(?:question|problem)|q|user|human)"
    r"(?:[ \t]*\d{1,4})?[ \t]*:",
    re.IGNORECASE,
)
_TURNS = 3  # the first ones only: each is read once more, and the time has to stay linear


# ---- the ladder ----


def _whole_option(reply: Reply) -> ParsedChoice | None:
    letter = reply.offer.verbatim.get(squeezed(reply.text))
    if letter is None:
        spoken = tuple(word.text for word in words_of(reply.text[:2000]))
        known = reply.offer.wordings.get(spoken[0], ()) if spoken else ()
        letter = next((owner for wording, owner in known if wording == spoken), None)
    lettered = [m for m in reply.mentions if not m.in_words]
    return None if letter is None or lettered else ParsedChoice(letter, None)


def _last_verdict(reply: Reply) -> ParsedChoice | None:
    verdicts = [m for m in reply.mentions if m.announced or m.confirmed]
    verdicts += [m for m in reply.mentions if m.alone and m.place == 0 and not m.listed]
    verdicts += [*_final_sentence(reply), *_opening_labels(reply)]
    for last in sorted(verdicts, key=start_of, reverse=True):
        members = last.group.members if last.confirmed else last.group.members[last.place :]
        if not all(member.rejected for member in members):
            return _outcome(reply, members)
    return None


def _one_letter_left(reply: Reply) -> ParsedChoice | None:
    standing = [
        m
        for m in reply.mentions
        if not (m.in_words or m.loose or m.rejected) and m.letter in reply.offer.letters
    ]
    found = [m for m in standing if not m.listed] or standing
    return _outcome(reply, found) if found else None


def _one_option_named(reply: Reply) -> ParsedChoice | None:
    found = [m for m in reply.mentions if m.in_words and not (m.loose or m.rejected)]
    return _outcome(reply, found) if found else None


def _all_but_one_rejected(reply: Reply) -> ParsedChoice | None:
    rejected = {m.letter for m in reply.mentions if m.rejected}
    left = [letter for letter in reply.offer.letters if letter not in rejected]
    return ParsedChoice(left[0], None) if len(left) == 1 and rejected else None


_LADDER: tuple[Callable[[Reply], ParsedChoice | None], ...] = (
    _whole_option,
    _last_verdict,
    _one_letter_left,
    _one_option_named,
    _all_but_one_rejected,
)
_EXPLICIT = 2  # so many of them read what is said to be the answer; the others infer it


def _outcome(reply: Reply, mentions: Iterable[Mention]) -> ParsedChoice:
    """The letter of these mentions, if it is one and offered; an option that joins theirs."""
    standing = [m for m in mentions if not m.rejected]
    letters = sorted({m.letter for m in standing})
    if len(letters) == 1 and letters[0] in reply.offer.letters:
        return ParsedChoice(letters[0], None)
    if len(letters) == 1:
        return ParsedChoice(None, f"letter {letters[0]} is not offered")
    group = standing[0].group
    joint = reply.offer.joint.get(frozenset(letters))
    if joint and not group.alternatives and {m.letter for m in group.members} == set(letters):
        return ParsedChoice(joint, None)
    kind = "options" if all(m.in_words for m in standing) else "letters"
    return ParsedChoice(None, f"several {kind}: {', '.join(letters)}")


def _why_nothing(reply: Reply) -> str:
    rejected = sorted({m.letter for m in reply.mentions if m.rejected})
    if rejected:
        return f"only rejected letters: {', '.join(rejected)}"
    echoed = sorted({m.letter for m in reply.echoes})
    if echoed:
        return f"several letters: {', '.join(echoed)}"
    return "no letter found"


# ---- verdicts by their place in the reply ----

_AFTER_LABEL = re.compile(rf"[ \t]*(?:[.):,;\]\n–—-]|$|{any_of(table.REASON)})")
_AFTER_SENTENCE = re.compile(rf"[.!?。][^\w\n]*(?:{any_of(table.CALLED)}[^\w\n]*)?$")
_NO_MORE = re.compile(r"[^\w]*$")


def _final_sentence(reply: Reply) -> list[Mention]:
    """The last mention, if it is a sentence of its own at the reply's end."""
    if not reply.mentions:
        return []
    last = reply.mentions[-1].group.members[0]
    before = reply.lower[max(0, last.start - 24) : last.start]
    ends = _NO_MORE.match(reply.text, reply.mentions[-1].stop)
    return [last] if ends and _AFTER_SENTENCE.search(before) and not last.listed else []


def _opening_labels(reply: Reply) -> list[Mention]:
    """The mention that the reply opens with, and the label that its last line opens with."""
    found = []
    last_line = reply.text.rstrip().rfind("\n") + 1
    for line_start in {0, last_line}:
        first = next((m for m in reply.mentions if m.start >= line_start), None)
        if first is None or first.listed or first.start - line_start > 60:
            continue
        letter_first = first.label_stop == first.start + 1
        if NOTHING_ELSE.fullmatch(reply.lower, line_start, first.start) and _AFTER_LABEL.match(
            reply.lower, first.label_stop if letter_first else first.stop
        ):
            found.append(first)
    return found
