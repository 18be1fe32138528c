"""What every reader of a model's reply needs: the part that was meant, and the JSON inside it."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_REASONING = re.compile(r"<(think(?:ing)?|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(r".*</(?:think(?:ing)?|reasoning)>", re.DOTALL | re.IGNORECASE)

# A failed request comes back from lmms-eval's API models as text that begins with the first mark;
# our own models begin with the second. Neither is an answer.
FAILURE_MARKS = ("[LMMS_EVAL_REQUEST_FAILED", "[PROCEDURAL_EVALS_FAILED")


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
    text = _REASONING_END.sub("", text)
    return unicodedata.normalize("NFKC", text).strip()


def json_values(text: str) -> list[Any]:
    """The outermost JSON objects and arrays that stand in the text, in order.

    >>> json_values('first {"answer": "B"} then [[0, 2.5]]')
    [{'answer': 'B'}, [[0, 2.5]]]
    >>> json_values("nothing [here")
    []
    """
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = 0
    while match := re.compile(r"[\[{]").search(text, position):
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (json.JSONDecodeError, RecursionError):
            position = match.start() + 1
        else:
            values.append(value)
    return values


def failed_request(reply: str) -> str | None:
    """Why the request behind this reply failed, or None when the reply is the model's own words.

    >>> failed_request("[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout")
    'after 3 retries] timeout'
    >>> failed_request("B") is None
    True
    """
    text = reply.lstrip()
    for mark in FAILURE_MARKS:
        if text.startswith(mark):
            return text[len(mark) :].strip(" :[]") or "no reason given"
    return None
