"""Text of models and data that a terminal or a page shows as it is, whatever it holds.

A reply is anybody's text. Printed raw, its escape sequences would clear the screen, rename the
window or write to the clipboard, and half of a surrogate pair could not be written at all.
"""

from __future__ import annotations

import re

# C0 but tab and line feed, DEL and C1; marks that reorder what follows them; halves of pairs.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""The text with control characters as escapes; tabs, line ends and all scripts stay.

    >>> print(printable("\x1b[2Jdone\r\n"))
    \x1b[2Jdone
    <BLANKLINE>
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def clipped(text: str, longest: int) -> str:
    """The printable text, or its beginning and how much is left out.

    >>> clipped("abcdef", 4)
    'abcd... (2 more characters)'
    """
    more = len(text) - longest
    shown = printable(text[:longest])
    return f"{shown}... ({more:,} more characters)" if more > 0 else shown
