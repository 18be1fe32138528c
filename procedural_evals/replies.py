"""What every reader of a model's reply needs: the part that was meant, and the JSON inside it."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, NamedTuple

# <think> and its like; Kimi-VL's ◁think▷; the channels of gpt-oss before its final one.
_REASONING = re.compile(
    r"[<◁](think(?:ing)?|thought|reasoning)[>▷].*?(?:[<◁]/\1[>▷]|\Z)"
    r"|<\|channel\|>(?:analysis|commentary)<\|message\|>.*?(?:(?=<\|channel\|>final)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_REASONING_END = re.compile(
    r"[<◁]/(?:think(?:ing)?|thought|reasoning)[>▷]|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
# An opening that what follows may make JSON: the braces of formulas and code are passed over.
_OPENING = re.compile(r'\{(?=[ \t\r\n]*["}])|\[(?=[ \t\r\n]*[\[\]{"\dtfnNI-])')

# A failed request comes back from lmms-eval's API models as text that begins with the first mark,
# a request that was never sent because the token budget was spent with the last; our own models
# begin with the second. None of them is an answer.
FAILURE_MARKS = (
    "[LMMS_EVAL_REQUEST_FAILED",
    "[PROCEDURAL_EVALS_FAILED",
    "[LMMS_EVAL_BUDGET_EXCEEDED",
)
# What lmms-eval's API models return, word for word, when the server answers without a text.
_NO_TEXT = 'Error: can only concatenate str (not "NoneType") to str'


def visible_text(reply: str) -> str:
    r"""The reply without its reasoning blocks, its full-width forms made plain (NFKC).

    A block that is never closed hides everything after it: nothing was answered. A closing mark
    without an opening one (the opening was part of the prompt) hides everything before it.

    >>> visible_text("<think>A or D?</think>\nＣ")
    'C'
    >>> visible_text("it may be A</think> B")
    'B'
    >>> visible_text("<think>it may be A")
    ''
    """
    text = _REASONING.sub("", reply)
    ends = [match.end() for match in _REASONING_END.finditer(text)]
    if ends:
        text = text[ends[-1] :]
    return unicodedata.normalize("NFKC", text).strip()


class LocatedJson(NamedTuple):
    """A JSON object or array and the half-open range of characters that it takes up."""

    start: int
    end: int
    value: Any


def located_json(text: str) -> list[LocatedJson]:
    """The outermost JSON objects and arrays in the text, in order, and where they stand.

    The work is bounded by a multiple of the text's length: of a text made of openings that are
    never closed, only the beginning is tried.

    >>> located_json("so [1] it is")
    [LocatedJson(start=3, end=6, value=[1])]
    """
    decoder = json.JSONDecoder()
    found: list[LocatedJson] = []
    position, allowance = 0, 10_000 + 8 * len(text)
    while allowance > 0 and (match := _OPENING.search(text, position)):
        start = match.start()
        position = start + 1
        try:
            value, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # The error has read up to its place, and counted the lines before, some 64 at a step.
            allowance -= error.pos - start + error.pos // 64
        except (ValueError, RecursionError):  # a number of over 4,300 digits; nested too deeply
            allowance -= len(text) - start
        else:
            found.append(LocatedJson(start, position, value))
    return found


def json_values(text: str) -> list[Any]:
    """The outermost JSON objects and arrays that stand in the text, in order.

    >>> json_values('first {"answer": "B"} then [[0, 2.5]]')
    [{'answer': 'B'}, [[0, 2.5]]]
    >>> json_values("nothing [here")
    []
    """
    return [located.value for located in located_json(text)]


def failed_request(reply: str) -> str | None:
    """Why the request behind this reply failed, or None when the reply is the model's own words.

    >>> failed_request("[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout")
    'after 3 retries] timeout'
    >>> failed_request("B") is None
    True
    """
    text = reply.lstrip()
    if text.rstrip() == _NO_TEXT:
        return "the server answered without a text"
    for mark in FAILURE_MARKS:
        if text.startswith(mark):
            return text[len(mark) :].strip(" :[]") or "no reason given"
    return None
