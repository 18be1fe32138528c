"""What a reply says about the letters that it mentions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import zip_longest

from procedural_evals import choice_words as table
from procedural_evals.choice_markup import VERDICT
from procedural_evals.choice_mentions import AND_OR, CLAUSE_END, Group, Mention, Reply, start_of
from procedural_evals.choice_words import any_of


def mark_claims(reply: Reply) -> None:
    """Mark the mentions that are announced, rejected, confirmed, alone on a line, or listed."""
    _mark_announced(reply)
    _mark_rejected(reply)
    _mark_confirmed(reply)
    _set_echoes_aside(reply)
    _mark_alone(reply)
    _mark_listed(reply)


# ---- announced: "the answer is B" ----

_FILLER = rf"[ \t:=(\[{{<\"'“‘「『【«–—>|…-]|\.{{2,}}|{any_of(table.FILLER)}"
_FILL_HERE, _FILL = rf"(?:{_FILLER})*", rf"(?:\s|{_FILLER})*"  # on the same line; on any
_LINK = rf"(?:{any_of(table.LINK)}|[:=→]|->)"
_ANNOUNCEMENTS = (
    # cue, what may stand between it and the letter, whether the clause has to end after the letter
    (rf"{VERDICT}|{any_of(table.ANSWER)}", rf"(?:[^\n.!?;]{{0,70}}?{_LINK})?{_FILL}", False),
    (any_of(table.OPTION), rf"[^\n.!?;]{{0,50}}?{_LINK}{_FILL}", False),
    (any_of(table.CHOOSE), _FILL, False),
    (
        rf"{any_of(table.THEREFORE)}|(?<!\w)no(?=\s*[,.!–—-])",
        rf"(?!\s+is\b)(?:[,.:!]+\s*)?{_FILL_HERE}",
        True,
    ),
    (any_of(table.CONCLUSION), rf"(?!\s+is\b)[^\n.!?;]{{0,90}}?{_LINK}{_FILL_HERE}", True),
)
_CUES = [(re.compile(cue), re.compile(gap), ends) for cue, gap, ends in _ANNOUNCEMENTS]
_HEDGE = re.compile(any_of(table.HEDGE))
_QUESTION = re.compile(r"[)\]\"' ]{0,3}\?")
_SUPPOSED = re.compile(rf"{any_of(table.SUPPOSE)}[\s\w]{{0,16}}\Z")


def _mark_announced(reply: Reply) -> None:
    for cue, gap, ends in _CUES:
        for match in cue.finditer(reply.lower):
            index = bisect_left(reply.mentions, match.end(), key=start_of)
            if index == len(reply.mentions):
                continue
            mention = reply.mentions[index]
            if mention.start - match.end() > 100:
                continue
            between = reply.lower[match.end() : mention.start]
            if not gap.fullmatch(between) or _HEDGE.search(between):
                continue
            if _SUPPOSED.search(reply.lower, max(0, match.start() - 24), match.start()):
                continue
            stop = mention.group.members[-1].stop
            asked = _QUESTION.match(reply.lower, stop)
            if not asked and (not ends or CLAUSE_END.match(reply.lower, stop)):
                mention.announced = True


# ---- rejected and confirmed: "not A", "A is wrong", "B is correct" ----

_NOT_FILL = rf"(?:[ \t:(\"'“]|{any_of(table.NOT_FILLER)})*\Z"
_NOT_BEFORE = re.compile(rf"{any_of([*table.NOT, *table.BAD_ONES])}{_NOT_FILL}")
_BAD_BEFORE = re.compile(rf"{any_of(table.BAD_ONES)}{_NOT_FILL}")
# Words on the next line speak about something else, but for those that a colon announces.
_GAP = r"[^\S\n]*"
_AFTER = rf"[ \t)\]\"'”’」】]{{0,3}}(?:\.(?=[^\S\n]+(?:is|was|can|cannot|does)\b){_GAP})?"
_SIDE = rf"(?:{_GAP}[:(–—-]\s*)?"
_IS = rf"(?:{any_of(table.IS)}{_GAP})?(?:{any_of(table.DEGREE)}{_GAP}){{0,4}}"
_REACH = 80  # how many characters after a mention are read for what they say about it
_WRONG_AFTER = re.compile(
    rf"{_AFTER}(?:{_GAP}{any_of(table.IS_NOT)}|{_SIDE}{_GAP}{_IS}{any_of(table.WRONG)})"
)
_RIGHT_AFTER = re.compile(
    rf"{_AFTER}{_SIDE}{_GAP}{_IS}{any_of(table.RIGHT)}(?!\s*{any_of(table.ONLY_THEN)})"
)

# Of a line that opens with a label, the first clause speaks about that label.
_CLAUSE = r"[.):][^\n.;]{1,160}?"
_PLURAL = re.compile(rf"{_AFTER}{_GAP}(?:are|were|aren['’]t|weren['’]t)\b")
_WRONG_IN_LINE = re.compile(
    rf"{_CLAUSE}(?:{any_of(table.IS_NOT)}|(?:{any_of(table.IS)}|[:(–—-])\s*{_IS}{any_of(table.WRONG)})"
)
_RIGHT_IN_LINE = re.compile(
    rf"{_CLAUSE}(?:{any_of(table.IS)}|[:(–—-])\s*{_IS}{any_of(table.RIGHT)}"
    rf"(?!\s*{any_of(table.ONLY_THEN)})"
)


def _says(after: re.Pattern[str], in_line: re.Pattern[str], reply: Reply, mention: Mention) -> bool:
    """Whether the words after a mention, or the line that it labels, say so about it."""
    if after.match(reply.lower, mention.stop, mention.stop + _REACH):
        return True
    line_start, stop = _line_around(reply.text, mention.start, mention.stop)
    if reply.text[line_start : mention.start].strip(" \t-•("):
        return False
    following = bisect_right(reply.mentions, mention.start, key=start_of)
    if following < len(reply.mentions):
        stop = min(stop, reply.mentions[following].start)
    return bool(in_line.match(reply.lower, mention.label_stop, stop))


def _mark_rejected(reply: Reply) -> None:
    for mention in reply.mentions:
        first, last = mention.group.members[0], mention.group.members[-1]
        if mention is first and _NOT_BEFORE.search(
            reply.lower, max(0, mention.start - 48), mention.start
        ):
            joints = mention.group.joints
            all_of_them = bool(joints) and bool(
                AND_OR.search(joints[-1])
                or _BAD_BEFORE.search(reply.lower, max(0, mention.start - 48), mention.start)
            )
            for member in mention.group.members if all_of_them else [mention]:
                member.rejected = True
        if mention is last and _says(_WRONG_AFTER, _WRONG_IN_LINE, reply, mention):
            plural = bool(_PLURAL.match(reply.lower, mention.stop, mention.stop + _REACH))
            _reject_backwards(mention.group, plural)


def _reject_backwards(group: Group, plural: bool) -> None:
    """Reject the last member, and those beside it, as in "A and C are" or "A, C are"."""
    group.members[-1].rejected = True
    beside = plural and not any(AND_OR.search(joint) for joint in group.joints)
    for member, joint in zip(group.members[-2::-1], group.joints[::-1], strict=True):
        beside = beside or bool(AND_OR.search(joint))
        if not beside or member.announced:
            break
        member.rejected = True


def _mark_confirmed(reply: Reply) -> None:
    for mention in reply.mentions:
        last = mention.group.members[-1]
        if (
            mention is last
            and not mention.rejected
            and _says(_RIGHT_AFTER, _RIGHT_IN_LINE, reply, mention)
        ):
            start = mention.group.members[0].start
            if not _SUPPOSED.search(reply.lower, max(0, start - 24), start):
                for member in mention.group.members:
                    member.confirmed = True


# ---- repeated prompts ----


def _set_echoes_aside(reply: Reply) -> None:
    """Take out enumerations of all the letters, as in "one of A, B, C or D"."""
    echoed: list[Mention] = []
    for group in _groups(reply):
        letters = {m.letter for m in group.members if not m.rejected}
        if len(letters) > 2 and letters.issuperset(reply.offer.letters):
            echoed += group.members
    if echoed:
        reply.echoes = echoed
        gone = {id(mention) for mention in echoed}
        reply.mentions = [mention for mention in reply.mentions if id(mention) not in gone]


_LABEL_END = re.compile(r"[ \t]?[.):\]]")
_LABELLED = re.compile(r"[ \t]?[.):\]]+[ \t]*[^\s.)]")
NOTHING_ELSE = re.compile(
    rf"(?:[^\w]|{any_of([*table.FILLER, *table.ANSWER, *table.OPTION])}|\d+[.)])*"
)


def _mark_alone(reply: Reply) -> None:
    """Mark the groups that share their line with nothing but "Option", brackets and the like."""
    before = 0
    groups = _groups(reply)
    for group, following in zip_longest(groups, groups[1:]):
        first, last = group.members[0], group.members[-1]
        start, end = _line_around(reply.text, first.start, last.stop)
        around = (reply.lower[start : first.start], reply.lower[last.stop : end])
        shared = before > start or (following and following.members[0].start < end)
        if not shared and all(len(p) < 60 and NOTHING_ELSE.fullmatch(p) for p in around):
            for member in group.members:
                member.alone = True
        before = last.stop


def _line_around(text: str, start: int, stop: int) -> tuple[int, int]:
    """The range of the line, or lines, that text[start:stop] stands in."""
    end = text.find("\n", stop)
    return text.rfind("\n", 0, start) + 1, len(text) if end < 0 else end


def _mark_listed(reply: Reply) -> None:
    """Mark labels in the offered order ("A. ...", "B. ...") and different answers in a column."""
    order = {letter: number for number, letter in enumerate(reply.offer.letters)}

    def label(mention: Mention) -> Mention | None:
        labels = not mention.announced and _LABEL_END.match(reply.text, mention.label_stop)
        return mention if labels and mention.letter in order else None

    def opens_line(mention: Mention, since: int) -> bool:
        begin = max(since, reply.text.rfind("\n", since, mention.start) + 1)
        return not reply.text[begin : mention.start][:40].strip(" \t.):]([-•")

    def labels_words(mention: Mention) -> bool:
        return bool(_LABELLED.match(reply.text, mention.label_stop))

    def next_in_order(one: Mention, other: Mention) -> bool:
        near = reply.text.count("\n", one.label_stop, other.start) < 2
        return (
            order[other.letter] == order[one.letter] + 1
            and (labels_words(one) or opens_line(one, 0))
            and (labels_words(other) or (near and opens_line(other, one.label_stop)))
        )

    def next_line(one: Mention, other: Mention) -> bool:
        _, end = _line_around(reply.text, one.start, one.group.members[-1].stop)
        return not reply.text[end : _line_around(reply.text, other.start, other.stop)[0]].strip()

    for run in _runs([label(m) for m in reply.mentions if not m.in_words], next_in_order):
        for mention in run:
            mention.listed = len(run) > 1
    column = [group.members[0] for group in _groups(reply)]
    for run in _runs([m if m.alone and not m.listed else None for m in column], next_line):
        differ = len({mention.letter for mention in run}) > 1
        for mention in run:
            mention.listed = differ


def _runs(
    mentions: list[Mention | None], follows: Callable[[Mention, Mention], bool]
) -> Iterator[list[Mention]]:
    """The longest stretches in which each mention follows the one before; None ends a stretch."""
    run: list[Mention] = []
    for mention in mentions:
        if mention is not None and run and follows(run[-1], mention):
            run.append(mention)
            continue
        yield run
        run = [] if mention is None else [mention]
    yield run


def _groups(reply: Reply) -> list[Group]:
    return list({id(mention.group): mention.group for mention in reply.mentions}.values())
