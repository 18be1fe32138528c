"""A reply's words without its markup, every answer that the markup singles out behind a mark."""

from __future__ import annotations

import re
from typing import Any

from procedural_evals.replies import located_json

# Stands before an answer that was given in a box, a tag or under a JSON key. Of private use, so no
# reply holds it once `plain_text` is through.
VERDICT = "\ue000"

_END_OF_TURN = re.compile(
    r"(?<=\S)\s*(?:<\|(?:im_end|eot_id|endoftext|end)\|>|</s>|<end_of_turn>"
    r"|<\|(?:im_start|start_header_id|user)\|>|<start_of_turn>)"
)
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~")
_SINGLED_OUT = re.compile(
    r"\\(?:boxed|fbox)\s*\{|<\|begin_of_box\|>|<(?:final_?)?(?:answer|choice|option)>",
    re.IGNORECASE,
)
_ANSWERS_Q = re.compile(r"^A:[ \t]*(?=\(?[A-Za-z]\)?[. \t]*$)", re.MULTILINE)
_LETTER_TAG = re.compile(r"<([A-Z])>(?!.{0,80}</\1>)")
_TAG = re.compile(r"<[|/]?[a-z][a-z0-9_ ]{0,30}[|/]?>", re.IGNORECASE)
_EMPHASIS = re.compile(r"(\*{1,3}|`|\$|__)\s?([A-Za-z])\s?\1")
_COMMAND = re.compile(r"\\(?:text|math)?(?:bf|it|rm|sf|tt|normal)?\s*(?=\{)|\\[()\[\]]")
_ESCAPED_LINE_END = re.compile(r"\\[nr](?![a-z])")

# Squared and white-on-black letters, which Unicode's compatibility forms leave alone.
_LETTER_SIGNS = {first + i: chr(65 + i) for first in (0x1F150, 0x1F170) for i in range(26)}
# Soft hyphens, zero-width and direction marks: they show nothing, but would part a word.
_INVISIBLE = dict.fromkeys(
    [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFE0F, 0xFEFF]
)
# "İ" is the one letter that lower case makes two characters of: positions would shift.
_CHARACTERS = {**_LETTER_SIGNS, **_INVISIBLE, ord(VERDICT): None, ord("İ"): "I"}
_MARKUP = str.maketrans(dict.fromkeys("*`$#_\\", " "))

# The keys that hold an answer, the most telling first; compared without case and punctuation.
_ANSWER_KEYS = (
    *("finalanswer", "answer", "correctanswer", "answerletter", "ans", "correctoption"),
    *("selectedoption", "choice", "option", "letter", "prediction", "pred", "selection"),
    *("response", "result", "output", "label"),
)


def plain_text(visible: str) -> str:
    r"""The text without Markdown, LaTeX, HTML and JSON; `VERDICT` before each marked answer.

    What follows the mark of a turn's end or of the next turn is dropped, and so is struck-through
    text.

    >>> plain_text(r"so $\boxed{\text{B}}$").split(VERDICT)
    ['so  ', ' {B}} ']
    >>> plain_text('{"why": "A is tempting", "answer": "B"}') == VERDICT + "B\n"
    True
    """
    text = _END_OF_TURN.split(visible, maxsplit=1)[0].translate(_CHARACTERS)
    text = _without_json(text)
    text = _STRUCK.sub(" ", text)
    text = _ANSWERS_Q.sub(VERDICT, _SINGLED_OUT.sub(VERDICT, text))
    text = _LETTER_TAG.sub(r"(\1)", text)
    text = _TAG.sub(lambda tag: "\n" if tag[0].startswith("</") else " ", text)
    text = _EMPHASIS.sub(r"(\2)", text)
    text = _COMMAND.sub(" ", text)
    return _ESCAPED_LINE_END.sub("\n", text).translate(_MARKUP)


def _without_json(text: str) -> str:
    """Each JSON object that holds an answer replaced by that answer: its other values are prose."""
    if "{" not in text:
        return text
    parts, position = [], 0
    for located in located_json(text):
        answer = _answer_in(located.value)
        if answer is not None:
            parts += [text[position : located.start], f"{VERDICT}{answer}\n"]
            position = located.end
    return "".join([*parts, text[position:]])


def _answer_in(value: Any) -> str | None:
    """What stands under the most telling key of the outermost object that has such a key."""
    level = [value]
    while level:
        for item in reversed(level):
            if isinstance(item, dict):
                plain = {re.sub(r"[\W_]", "", key).casefold(): key for key in item}
                for key in _ANSWER_KEYS:
                    if key in plain and not isinstance(item[plain[key]], dict):
                        return _as_text(item[plain[key]])
        level = [inner for item in level for inner in _inside(item)]
    return None


def _inside(item: Any) -> list[Any]:
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [value for value in values if isinstance(value, dict | list)]


def _as_text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
