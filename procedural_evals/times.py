"""Times in running text: clock times, seconds with or without a unit, and the ranges they form.

A text becomes a list of tokens in one pass; a range is looked for around each time, a bounded
number of tokens away. Both take time linear in the length of the text.

What is read as a range: `5 - 12`, `5s to 12s`, `between 5 and 12`, `[5, 12]`, `starts at 0:05 and
ends at 0:12`, with any dash, arrow or `~`. Bare numbers are seconds, because the prompt asks for
seconds; a unit that is written (`1.5 to 2 minutes`) is applied. Where only the words can tell, the
words decide: bare numbers after `steps`, `page`, `$`, or before a word that could be counted
(`2-3 cups`), are no range.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

TIME, WORD, DASH, MARK, NEWLINE = "time", "word", "dash", "mark", "newline"


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


class Token(NamedTuple):
    """A piece of the text; for a time also its seconds, and the unit that was written.

    `scale` is seconds per written unit, or None for a bare number; a clock time has scale 0.
    """

    kind: str
    text: str
    start: int
    end: int
    seconds: float = math.nan
    scale: float | None = None


class Claim(NamedTuple):
    """A span that the text claims: its seconds, or None and what is wrong with it."""

    span: tuple[float, float] | None
    problem: str
    start: int = 0
    end: int = 0


_SECOND, _MINUTE, _HOUR = r"(?:seconds?|secs?|s)", r"(?:minutes?|mins?|m)", r"(?:hours?|hrs?|h)"
_UNITS = {"ms": 0.001, "msec": 0.001, "msecs": 0.001, "millisecond": 0.001, "milliseconds": 0.001}
_UNITS |= dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0)
_UNITS |= dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0)
_UNITS |= dict.fromkeys(("hr", "hrs", "hour", "hours"), 3600.0)
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))

_TOKEN = re.compile(
    rf"""
    (?P<newline>\n)
  | (?P<clock>\d+(?::\d+)+(?:\.\d+|,\d{{3}}(?!\d))?(?:[ ]?{_SECOND}\b)?)
  | (?:(?P<h>\d{{1,6}})[ ]?{_HOUR}[ ,]{{0,2}}(?:and[ ])?)?
    (?P<m>\d{{1,6}})[ ]?{_MINUTE}[ ,]{{0,2}}(?:and[ ])?
    (?P<s>\d{{1,6}}(?:\.\d{{1,9}})?)[ ]?{_SECOND}\b
  | (?P<number>(?:\d+(?:\.\d+)*|\.\d+)(?:[eE][+-]?\d+)?)(?:[ -]?(?P<unit>(?i:{_UNIT}))\b)?
  | (?P<word>[^\W\d]\w*(?:[-'’]\w+)*)
  | (?P<dash>-+>|=+>|[→⟶➔➜]|--+|[-‐‑‒–—―−~〜∼]|\.{{2,}})
  | (?P<mark>\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}

_MINUS = frozenset("-‐‑‒–—―−")
_QUOTES = frozenset("\"'`*“”‘’«»_|")
_OPEN, _CLOSE = frozenset("([<{"), frozenset(")]>}")
_ABOUT_MARKS = _QUOTES | _OPEN | frozenset("=≈~:@")
_ABOUT_WORDS = words(
    """
    the about around approximately approx roughly circa ca exactly just t time timestamp
    timestamps second seconds sec at is of mark
    """
)
_TO = words("to until till til through thru")
_START = words(
    """
    start starts started starting start_time starttime start_sec begin begins beginning
    onset t_start
    """
)
_END = words(
    """
    end ends ended ending end_time endtime end_sec stop stops finish finishes finishing
    until t_end
    """
)
_FRAMES = frozenset(["frame", "frames"])
# A bare number after one of these is a number of something else.
_LABELS = words(
    """
    step steps part parts page pages p pp fig figure figures table tables item items
    question questions option options version chapter chapters section sections level levels
    number numbers nos line lines row rows column columns size sizes model room aisle
    grade score scene scenes shot shots bolt bolts screw screws piece pieces ingredient
    ingredients player players ratio january february march april june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec
    """
)
# A stretch of time after one of these is how long something takes, not where it is.
_LASTING = words(
    """
    for take takes took taking last lasts lasted lasting another additional every wait waits
    waiting
    """
)
_COUNTED = words(
    """
    cup cups tablespoon tablespoons tbsp teaspoon teaspoons tsp gram grams g kg kilograms mg
    ml l liter liters litre litres oz ounce ounces lb lbs pound pounds inch inches cm mm
    m km meter meters metre metres feet ft degree degrees c f percent pct times time x step
    steps piece pieces part parts people persons frame frames fps hz px pixel pixels egg
    eggs screw screws item items page pages point points day days week weeks month months
    year years am pm
    """
)
# A bare range in a sentence is one only when its sentence goes on with a word that counts nothing.
_FUNCTION_WORDS = words(
    """
    a an and are as at because before after but by can could during each for he her his i if
    in is it its mark marks of on once or she should so that the their them then there these
    they this those to until video clip was we were when where which while who with you your
    into shows showing show
    """
)
_ZONES = words("am pm a.m p.m")


def _clock_seconds(text: str) -> float:
    """Seconds of m:ss or h:mm:ss; NaN for anything else that has colons."""
    fields = re.split(":", text.rstrip("secondSECOND ").replace(",", "."))
    whole = [field.partition(".")[0] for field in fields]
    sixties = whole[1:]
    if len(fields) > 3 or any(len(w) != 2 or int(w) > 59 for w in sixties):
        return math.nan
    seconds = 0.0
    for field in fields:
        seconds = 60 * seconds + float(field)
    return seconds


def _token(match: re.Match[str], text: str) -> Token:
    start, end = match.span()
    groups = match.groupdict()
    word = match.group()
    if groups["newline"]:
        return Token(NEWLINE, word, start, end)
    if groups["clock"]:
        return Token(TIME, word, start, end, _clock_seconds(word), 0.0)
    if groups["m"]:
        minutes = 60 * int(groups["h"] or 0) + int(groups["m"])
        return Token(TIME, word, start, end, 60.0 * minutes + float(groups["s"]), 0.0)
    if number := groups["number"]:
        # 3D, 5th, 1.2.3: the digits are part of a name.
        if number.count(".") > 1 or (not groups["unit"] and text[end : end + 1].isalpha()):
            return Token(WORD, word, start, end)
        scale = _UNITS[groups["unit"].lower()] if groups["unit"] else None
        return Token(TIME, word, start, end, float(number) * (scale or 1.0), scale)
    if groups["word"]:
        lower = word.lower()
        if lower in _NOT_FINITE:
            return Token(TIME, word, start, end, _NOT_FINITE[lower])
        return Token(WORD, lower, start, end)
    return Token(DASH if groups["dash"] else MARK, word, start, end)


def tokenize(text: str) -> list[Token]:
    """The tokens of the text, in order; white space other than line ends is left out.

    >>> [token.seconds for token in tokenize("0:05 1m 2s 1.5 min") if token.kind == TIME]
    [5.0, 62.0, 90.0]
    """
    return [_token(match, text) for match in _TOKEN.finditer(text)]


def checked(start: float, end: float, where: tuple[int, int] = (0, 0)) -> Claim:
    """The claim of a span [start, end) in seconds; with a problem when there can be no such span.

    >>> checked(5, 12).span
    (5.0, 12.0)
    >>> checked(12, 5).problem
    'ends before it starts'
    """
    if not (math.isfinite(start) and math.isfinite(end)):
        return Claim(None, "not a time", *where)
    if start < 0 or end < 0:
        return Claim(None, "negative", *where)
    if start > end:
        return Claim(None, "ends before it starts", *where)
    if start == end:
        return Claim(None, "of zero length", *where)
    return Claim((float(start), float(end)), "", *where)


class _Link(NamedTuple):
    """How a time is joined to the next: by what, where that one stands, and the words between."""

    kind: str
    at: int
    words: frozenset[str]


_BINDING = ("tight", "word", "spaced")


class _Reader:
    """Claims in a list of tokens; `expected` says that the text is known to be evidence."""

    def __init__(self, text: str, expected: bool) -> None:
        self.tokens = tokenize(text)
        self.expected = expected

    def claims(self) -> list[Claim]:
        claims: list[Claim] = []
        index = 0
        while index < len(self.tokens):
            if self.tokens[index].kind != TIME:
                index += 1
                continue
            found, index = self._bracket_pair(index) or self._chain(index)
            claims += found
        return claims

    # -- single tokens ------------------------------------------------------------------------

    def _at(self, index: int) -> Token | None:
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def _is_time(self, index: int) -> bool:
        token = self._at(index)
        return token is not None and token.kind == TIME

    def _skip(self, index: int, step: int, marks: frozenset[str], words: frozenset[str]) -> int:
        """The first index from here on, at most six away, whose token is none of these."""
        for _ in range(6):
            token = self._at(index)
            if token is None or token.text not in (marks if token.kind in (MARK, DASH) else words):
                break
            index += step
        return index

    def _negative(self, index: int) -> bool:
        """A dash that touches the number and follows no number or word is its minus sign."""
        sign, before = self._at(index - 1), self._at(index - 2)
        if sign is None or sign.text not in _MINUS or sign.end != self.tokens[index].start:
            return False
        if before is None or before.kind in (NEWLINE, DASH):
            return True
        return before.kind == MARK or (before.kind == WORD and before.end < sign.start)

    def _value(self, index: int, scale: float | None = None) -> float:
        token = self.tokens[index]
        seconds = token.seconds * (scale if scale and token.scale is None else 1.0)
        return -seconds if self._negative(index) else seconds

    # -- [5, 12] ------------------------------------------------------------------------------

    def _bracket_pair(self, index: int) -> tuple[list[Claim], int] | None:
        opening = self._skip(index - 1, -1, _QUOTES | _MINUS, frozenset())
        first_open = self._at(opening)
        if first_open is None or first_open.text not in "([":
            return None
        comma = self._skip(index + 1, 1, _QUOTES, frozenset())
        separator = self._at(comma)
        if separator is None or separator.text not in (",", ";"):
            return None
        second = self._skip(comma + 1, 1, _QUOTES | _MINUS, frozenset(["\n"]))
        if not self._is_time(second):
            return None
        closing = self._skip(second + 1, 1, _QUOTES, frozenset(["\n"]))
        last = self._at(closing)
        if last is None or last.text not in ")]":
            return None
        return self._judged(index, second, (first_open.start, last.end)), closing + 1

    # -- 5 - 12, 5 to 12, between 5 and 12 ------------------------------------------------------

    def _link(self, index: int, may_be_and: bool) -> _Link | None:
        first = self.tokens[index]
        middle = self._at(index + 1)
        if middle is None:
            return None
        if middle.text == "," and self._is_time(index + 2):
            touching = first.end == middle.start and middle.end == self.tokens[index + 2].start
            return _Link("comma", index + 2, frozenset()) if touching else None
        joint = self._skip(index + 1, 1, _QUOTES | _CLOSE, frozenset(["mark"]))
        joining = self._at(joint)
        if joining is None:
            return None
        if joining.kind == DASH:
            before, after = self.tokens[joint - 1], self._at(joint + 1)
            touching = (
                after is not None and before.end == joining.start and joining.end == after.start
            )
            kind = "tight" if touching else "spaced"
        elif joining.text in _TO or (joining.text == "and" and may_be_and):
            kind = "word"
        else:
            return None
        fillers = _ABOUT_WORDS | _LABELS | _FRAMES
        second = self._skip(joint + 1, 1, _ABOUT_MARKS | _MINUS, fillers)
        if not self._is_time(second):
            return None
        return _Link(kind, second, frozenset(t.text for t in self.tokens[joint + 1 : second]))

    def _before(self, index: int) -> int:
        """Index of the last token before a time that is more than a way to introduce it."""
        marks = (_ABOUT_MARKS - {":"}) | _MINUS
        return self._skip(index - 1, -1, marks, _ABOUT_WORDS | {"from", "between"})

    def _chain(self, index: int) -> tuple[list[Claim], int]:
        """The claims of the times that are joined one to the next, from the time at `index` on."""
        introduced = self.tokens[max(0, self._before(index)) : index]
        between = any(token.text == "between" for token in introduced)
        times, links = [index], list[_Link]()
        while link := self._link(times[-1], between and not links):
            links.append(link)
            times.append(link.at)
        if not links:
            return self._start_and_end(index) or ([], index + 1)
        following = times[-1] + 1
        chunks = self._chunks(times, links)
        paired = [self._pairs(*chunk) for chunk in chunks]
        where = (self.tokens[index].start, self.tokens[times[-1]].end)
        if len(chunks) > 1 and any(paired) and not all(paired):
            # 5,5 - 12,5: a decimal comma or a list of four? Not ours to decide.
            return [Claim(None, "unclear", *where)], following
        claims = [claim for pairs in paired for a, b in pairs for claim in self._judged(a, b)]
        if not any(paired) and any(len(chunk[0]) > 2 for chunk in chunks):
            bare = all(self.tokens[i].scale is None for i in times)
            if not (bare and all(link.kind == "tight" for link in links)):  # 2024-05-12 is a date
                claims.append(Claim(None, "unclear", *where))
        return claims, following

    @staticmethod
    def _chunks(times: list[int], links: list[_Link]) -> list[tuple[list[int], list[_Link]]]:
        """The chain cut at its commas."""
        chunks: list[tuple[list[int], list[_Link]]] = [([times[0]], [])]
        for link in links:
            if link.kind == "comma":
                chunks.append(([link.at], []))
            else:
                chunks[-1][0].append(link.at)
                chunks[-1][1].append(link)
        return chunks

    @staticmethod
    def _pairs(times: list[int], links: list[_Link]) -> list[tuple[int, int]]:
        """The ranges of a chain. The closest joint binds: in `1 - 0:05-0:12` the 1 stands alone."""
        strongest = next((kind for kind in _BINDING if any(k.kind == kind for k in links)), None)
        bound = [link.kind == strongest for link in links]
        pairs = []
        for i, is_bound in enumerate(bound):
            neighbours = bound[max(0, i - 1) : i] + bound[i + 1 : i + 2]
            if is_bound and not any(neighbours):
                pairs.append((times[i], times[i + 1]))
        return pairs

    # -- starts at 5 and ends at 12 -------------------------------------------------------------

    def _start_and_end(self, index: int) -> tuple[list[Claim], int] | None:
        fillers = _ABOUT_WORDS | {"\n", "s"}
        opening = self._at(self._skip(index - 1, -1, _ABOUT_MARKS | _MINUS | _CLOSE, fillers))
        if opening is None or opening.text not in _START:
            return None
        for ahead in range(index + 1, min(index + 14, len(self.tokens))):
            token = self.tokens[ahead]
            if token.kind == TIME or token.text in _START:
                return None
            if token.text in _END:
                second = self._skip(ahead + 1, 1, _ABOUT_MARKS | _MINUS | _CLOSE, fillers)
                if not self._is_time(second):
                    return None
                return self._judged(index, second, (opening.start, self.tokens[second].end)), (
                    second + 1
                )
        return None

    # -- is it a span of time? ------------------------------------------------------------------

    def _judged(self, a: int, b: int, where: tuple[int, int] | None = None) -> list[Claim]:
        """No claim when the words speak of something else, or the one claim of this pair."""
        first, second = self.tokens[a], self.tokens[b]
        where = where or (first.start, second.end)
        bare = first.scale is None and second.scale is None
        label = self._at(self._before(a))
        if label is not None and label.text == ":" and bare:
            label = self._at(self._before(a) - 1)
        between = {token.text for token in self.tokens[a + 1 : b]}
        around = between | ({label.text} if label is not None else set())
        after = self._at(self._skip(b + 1, 1, _QUOTES | _CLOSE, frozenset()))
        following = after.text if after is not None else ""
        if bare:
            if around & _FRAMES or following in _FRAMES:
                return [Claim(None, "frame numbers", *where)]
            if around & _LABELS or (around & set("$#£€^/±")) or not self._may_follow(after):
                return []
        elif following in _ZONES or (not self.expected and around & _LASTING):
            return []
        return [checked(self._value(a, second.scale), self._value(b), where)]

    def _may_follow(self, after: Token | None) -> bool:
        if after is None or after.kind in (NEWLINE, TIME, DASH):
            return True
        if after.kind == MARK:
            return after.text not in "%°$/^×+"
        if self.expected:
            return after.text not in _COUNTED
        return after.text in _FUNCTION_WORDS


def find_claims(text: str, expected: bool = False) -> list[Claim]:
    """Every span of time that the text claims, in order, with its place in the text.

    `expected` means that the text is known to hold evidence (the value of an evidence field, the
    part behind "Evidence:"): then a bare range may be followed by any word that is no unit.

    >>> [claim.span for claim in find_claims("from 0:05 to 0:12, then 20s-25s")]
    [(5.0, 12.0), (20.0, 25.0)]
    >>> find_claims("add 2-3 cups in steps 4 to 6 on 2024-05-12")
    []
    """
    return _Reader(text, expected).claims()


def single_time(text: str) -> float | None:
    """Seconds of a text that is one time and nothing else, or None.

    >>> single_time("0:05"), single_time("-2 s"), single_time("at 5")
    (5.0, -2.0, None)
    """
    reader = _Reader(text, expected=True)
    tokens = [token for token in reader.tokens if token.kind != NEWLINE]
    if len(tokens) == 2 and tokens[0].text in _MINUS and tokens[1].kind == TIME:
        return -tokens[1].seconds
    return tokens[0].seconds if len(tokens) == 1 and tokens[0].kind == TIME else None
