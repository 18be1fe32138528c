"""A model's reply about evidence -> spans of time in seconds, or none and why.

What is decided here, and nowhere else:

- The unit comes from the prompt, which asks for seconds: a bare number is seconds, a clock time is
  m:ss or h:mm:ss, a written unit is applied. Frame numbers are invalid: a reply does not say how
  many there are in a second.
- A span that ends before it starts, has a negative or infinite end, or has no length ([5, 5) holds
  nothing) is invalid: counted, never swapped or repaired. So is a field that should hold a span
  and holds something else (one time, four numbers in a row). A single time in prose is no span.
- Two times with a comma between them are a span where they are all that an evidence field, a part
  headed "Evidence:" or a line of either holds ("1.0, 2.0"). "1,500" without a space is no pair.
- A reply with an evidence field (JSON), or with a part headed "Evidence:", gives its spans there;
  numbers in the answer's sentence are not looked at. Of several JSON objects with such a field the
  last one counts.
- Spans stay in the order given, overlaps and repetitions as they are: merging is the score's part.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from procedural_evals import replies
from procedural_evals.times import Claim, checked, find_claims, single_time, words

PARSER_VERSION = "2"

_DEEPEST = 12  # JSON nested further holds no evidence that a person would look for


@dataclass(frozen=True)
class ParsedSpans:
    """Spans (start, end) in seconds as given; how many were invalid; why there are none."""

    spans: tuple[tuple[float, float], ...] = ()
    invalid: int = 0
    reason: str | None = None


class _Found(NamedTuple):
    """The claims of a reply, and whether they stand in a field or part of their own."""

    claims: list[Claim]
    in_own_place: bool


def _key(name: object) -> str:
    return re.sub(r"[^a-z]", "", str(name).lower())


_START_KEYS = words(
    """
    start starts starttime startsec startsecs startseconds startsecond starttimestamp begin
    begintime beginning from tstart timestart onset
    """
)
_END_KEYS = words(
    """
    end ends endtime endsec endsecs endseconds endsecond endtimestamp stop stoptime finish
    to tend timeend until offset
    """
)
_FRAME_KEYS = words(
    """
    startframe endframe framestart frameend frames framerange
    """
)
_SPAN_KEYS = words(
    """
    span spans timespan timespans segment segments timesegment timesegments interval
    intervals timeinterval timeintervals timestamp timestamps timerange timeranges range
    ranges window windows timewindow timewindows relevantwindows moment moments time times
    period periods
    """
)
_ANSWER_KEYS = frozenset(["answer", "finalanswer", "response"])


def _is_evidence(key: str) -> bool:
    return "evidence" in key


# -- JSON -----------------------------------------------------------------------------------------


def _seconds(value: Any) -> float | None:
    """Seconds of a JSON value that is one time, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return single_time(value) if isinstance(value, str) else None


def _pair(start: Any, end: Any) -> Claim:
    a, b = _seconds(start), _seconds(end)
    return Claim(None, "not a time") if a is None or b is None else checked(a, b)


def _list_claims(values: list[Any], depth: int) -> list[Claim]:
    times = [i for i, value in enumerate(values) if _seconds(value) is not None]
    numbers = any(isinstance(values[i], (int, float)) for i in times)
    if times == [0, 1] and not any(isinstance(value, (list, dict)) for value in values[2:]):
        return [_pair(values[0], values[1])]
    if numbers or (times and len(times) == len(values)):
        return [Claim(None, "not a pair of times")]
    return [claim for value in values for claim in _claims(value, depth + 1)]


def _dict_claims(value: dict[Any, Any], depth: int) -> list[Claim]:
    fields = [(_key(name), field) for name, field in value.items()]
    evidence = [field for name, field in fields if _is_evidence(name)]
    if not any(isinstance(field, (list, dict)) for field in evidence):
        start = next((field for name, field in fields if name in _START_KEYS), None)
        end = next((field for name, field in fields if name in _END_KEYS), None)
        if _seconds(start) is not None or _seconds(end) is not None:
            return [_pair(start, end)]
    if any(name in _FRAME_KEYS for name, _ in fields):
        return [Claim(None, "frame numbers")]
    for field in evidence + [field for name, field in fields if name in _SPAN_KEYS]:
        if claims := _claims(field, depth + 1):
            return claims
    nested = [field for _, field in fields if isinstance(field, (list, dict))]
    return [] if evidence else [claim for field in nested for claim in _claims(field, depth + 1)]


_PAIR_WITH_COMMA = re.compile(r"[^,\n]{1,40},[ \t]+[^,\n]{1,40}|[^,\n]*[.:]\d+,[^,\n]*[.:]\d+")


def _text_claims(text: str) -> list[Claim]:
    """The spans that a text claims, when it is known to be evidence."""
    claims = find_claims(text, expected=True)
    pairs = [piece.strip(" \t\"'*_`.") for piece in re.split("[;\n]", text) if piece.strip()]
    if claims or not all(_PAIR_WITH_COMMA.fullmatch(pair) for pair in pairs):
        return claims
    found: list[Claim] = []
    for pair in pairs:
        start, end = (single_time(time) for time in pair.split(","))
        if start is None or end is None:
            return claims
        found.append(checked(start, end))
    return found


def _claims(value: Any, depth: int = 0) -> list[Claim]:
    """The spans that a JSON value claims, when it is known to be evidence."""
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return _list_claims(value, depth)
    if isinstance(value, dict):
        return _dict_claims(value, depth)
    if isinstance(value, str):
        return _text_claims(value)
    return [] if value is None or isinstance(value, bool) else [Claim(None, "not a pair of times")]


def _objects(value: Any, depth: int = 0) -> Iterator[dict[Any, Any]]:
    """Every JSON object in the value, the outer ones first."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield value
    if isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _objects(inner, depth + 1)


def _has_evidence(value: Any) -> bool:
    return any(_is_evidence(_key(name)) for item in _objects(value) for name in item)


def _holds_spans(value: Any) -> bool:
    """Is this JSON about spans, though no field is called evidence? [1, 2] may be a footnote."""
    if isinstance(value, list):
        return any(isinstance(item, (list, dict)) for item in value)
    names = {_key(name) for item in _objects(value) for name in item}
    return bool(names & (_SPAN_KEYS | _FRAME_KEYS) or (names & _START_KEYS and names & _END_KEYS))


# -- parts with a heading -------------------------------------------------------------------------

_EVIDENCE_HEAD = r"""(?:(?:temporal|supporting|visual|video)[ _-]?)?evidences?
    (?:[ _-](?:spans?|times?|segments?|intervals?|timestamps?))?
  | time[ _-]?(?:stamps?|spans?|ranges?|intervals?) | spans? | intervals? | segments?"""
_HEAD = re.compile(
    rf"""
    (?<![\w-]) (?: (?P<evidence>{_EVIDENCE_HEAD})
      | (?P<answer>(?:final[ _-]?)?answer | response)
      | (?P<other>explanation | reasoning | rationale | question | confidence | note
          | justification) )
    (?:[ ]?\#?\d{{1,2}})? (?:[ ]?\([^()\n]{{0,30}}\))?
    (?: ["'*_`]{{0,3}}[ ]?[:=]["'*_`]{{0,3}} | [*_]{{0,2}}[ ]*(?=\n) | (?<=\w)> )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CLOSING_TAG = re.compile(r"</\w{1,20}>")


class _Part(NamedTuple):
    """A part of the text behind a heading: its kind, and where heading, text and part end."""

    kind: str
    head: int
    start: int
    end: int


def _is_heading(match: re.Match[str], text: str) -> bool:
    """Evidence and answer are headings anywhere; other names only where a sentence begins."""
    if re.search("evidence|answer", match.group(), re.IGNORECASE):
        return True
    before = text[max(0, match.start() - 8) : match.start()].rstrip(" \t\"'*_`#<-")
    return not before or before[-1] in "\n.!?;,{}>|])"


def _parts(text: str) -> list[_Part]:
    """The parts of the text that have a heading. An answer lasts until the next evidence."""
    parts: list[_Part] = []
    heads = [match for match in _HEAD.finditer(text) if _is_heading(match, text)]
    closings = [match.start() for match in _CLOSING_TAG.finditer(text)]
    end, closing = len(text), len(closings)
    evidence = len(text)
    for match in reversed(heads):
        kind = str(match.lastgroup)
        while closing and closings[closing - 1] >= match.end():
            closing -= 1
        closed = closings[closing] if closing < len(closings) else len(text)
        limit = end if kind == "evidence" else evidence
        parts.append(_Part(kind, match.start(), match.end(), min(limit, closed)))
        end = match.start()
        evidence = end if kind == "evidence" else evidence
    return parts[::-1]


# -- replies --------------------------------------------------------------------------------------


def _find(text: str, values: list[replies.LocatedJson], parts: list[_Part]) -> _Found:
    keyed = [located.value for located in values if _has_evidence(located.value)]
    if keyed:
        return _Found(_evidence_claims(keyed[-1]), True)
    claims = [
        c for located in values if _holds_spans(located.value) for c in _claims(located.value)
    ]
    if claims:
        return _Found(claims, True)
    headed = [part for part in parts if part.kind == "evidence"]
    if headed:
        in_parts = [_text_claims(text[part.start : part.end]) for part in headed]
        return _Found([claim for found in in_parts for claim in found], True)
    return _Found(find_claims(text), False)


def _evidence_claims(value: Any) -> list[Claim]:
    """Claims of the evidence fields, wherever in the value the outermost of them stand."""
    if isinstance(value, dict) and any(_is_evidence(_key(name)) for name in value):
        return _claims(value)
    inner = value.values() if isinstance(value, dict) else value
    return [claim for item in inner if _has_evidence(item) for claim in _evidence_claims(item)]


def _parsed(found: _Found) -> ParsedSpans:
    spans = tuple(claim.span for claim in found.claims if claim.span is not None)
    problems = [claim.problem for claim in found.claims if claim.span is None]
    if spans:
        return ParsedSpans(spans, len(problems))
    if problems:
        return ParsedSpans((), len(problems), f"no valid span: {problems[0]}")
    return ParsedSpans((), 0, "evidence is empty" if found.in_own_place else "no span")


def _unanswered(reply: str, text: str) -> ParsedSpans | None:
    failure = replies.failed_request(reply)
    if failure is not None:
        return ParsedSpans((), 0, f"failed request: {failure}")
    return None if text else ParsedSpans((), 0, "empty reply")


def parse_spans(text: str) -> ParsedSpans:
    """The evidence spans of a reply, in seconds, in the order given.

    Never raises; takes time linear in the length of the reply. `reason` is None exactly when there
    is a span.

    >>> parse_spans('{"answer": "put 2 to 3 cups", "evidence": [[5, 12], [20, 14]]}')
    ParsedSpans(spans=((5.0, 12.0),), invalid=1, reason=None)
    >>> parse_spans("The tea is stirred from 0:05 to 0:12.").spans
    ((5.0, 12.0),)
    >>> parse_spans("see steps 3-5").reason
    'no span'
    """
    visible = replies.visible_text(text)
    return _unanswered(text, visible) or _parsed(
        _find(visible, replies.located_json(visible), _parts(visible))
    )


def _plain(value: Any) -> str:
    if value is None or isinstance(value, str):
        return (value or "").strip()
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:  # no answer that anybody would read
        return ""


def _json_answer(values: list[replies.LocatedJson]) -> str | None:
    """The answer field of the last JSON object that has one."""
    for located in reversed(values):
        for item in _objects(located.value):
            for name, field in item.items():
                if _key(name) in _ANSWER_KEYS:
                    return _plain(field)
    return None


_FENCE = re.compile(r"```\w*")
_HOLE = "\0"
_EMPTY_BRACKETS = re.compile(r"\s?[(\[](?:[\s,;&\0]|and)*[)\]]")


def _headed_answer(text: str, parts: list[_Part]) -> str | None:
    """What stands behind the last heading "Answer:" that has something behind it."""
    for part in reversed(parts):
        if part.kind == "answer":
            answer = _FENCE.sub("", text[part.start : part.end]).strip().rstrip("*_#<{ \n")
            if re.search("[\"']", text[part.head : part.start]):  # JSON that is cut off or wrong
                answer = answer.strip(" \n\"'{}[],")
            if answer.strip():
                return answer.strip()
    return None


def _without(text: str, ranges: list[tuple[int, int]], filling: str = "") -> str:
    kept, position = [], 0
    for start, end in sorted(ranges):
        kept += [text[position:start], filling]
        position = end
    return "".join(kept) + text[position:]


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _line_without_spans(line: str) -> str | None:
    """The line without its spans in brackets; None for a line that holds nothing but spans."""
    claims = find_claims(line)
    if not claims:
        return line
    holed = _without(line, [(claim.start, claim.end) for claim in claims], _HOLE)
    if not re.search(r"[^\W\d_]", holed):
        return None
    spans = (line[claim.start : claim.end] for claim in claims)
    kept: list[str] = []
    for piece in re.split(f"({_EMPTY_BRACKETS.pattern})", holed):
        filled = re.sub(_HOLE, lambda _: "" if (span := next(spans))[0] == "(" else span, piece)
        kept.append("" if _EMPTY_BRACKETS.fullmatch(piece) else filled)
    return "".join(kept).rstrip()


def _without_spans(text: str) -> str:
    lines = [_line_without_spans(line) for line in text.replace(_HOLE, "").split("\n")]
    return "\n".join(line for line in lines if line is not None).strip()


def parse_grounded_answer(text: str) -> tuple[str, ParsedSpans]:
    r"""The answer of a reply without its evidence, and the spans that `parse_spans` finds in it.

    The answer is the answer field of the JSON, else the part headed "Answer:", else what is left of
    the reply without JSON, parts headed "Evidence:", lines that hold spans only, and spans in
    brackets. A sentence that names a time keeps it.

    >>> parse_grounded_answer("Answer: It is stirred.\nEvidence: 0:05-0:12")
    ('It is stirred.', ParsedSpans(spans=((5.0, 12.0),), invalid=0, reason=None))
    >>> parse_grounded_answer('{"answer": "Yes.", "evidence": []}')
    ('Yes.', ParsedSpans(spans=(), invalid=0, reason='evidence is empty'))
    """
    visible = replies.visible_text(text)
    unanswered = _unanswered(text, visible)
    if unanswered is not None:
        return "", unanswered
    values, parts = replies.located_json(visible), _parts(visible)
    found = _find(visible, values, parts)
    answer = _json_answer(values)
    if answer is not None:
        return answer, _parsed(found)
    rest = _headed_answer(visible, parts)
    if rest is None:
        json_ranges = [
            (v.start, v.end) for v in values if _has_evidence(v.value) or _holds_spans(v.value)
        ]
        taken = json_ranges + [(p.head, p.end) for p in parts if p.kind == "evidence"]
        rest = re.sub(r"</?\w{1,20}>", "", _FENCE.sub("", _without(visible, _merged(taken))))
    return _without_spans(rest).rstrip("*_#<{ \n"), _parsed(found)
