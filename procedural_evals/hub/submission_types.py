"""Whether the values of a submission are of the kinds that its fields have.

A submission's file is anybody's: whoever reads one may rely on its types, on texts of a length that
a page can show, and on texts without marks that reorder or hide what stands beside them.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from procedural_evals.printable import printable

#: Characters of a text, and bytes of a submission's file, at most.
LONGEST_TEXT = 10_000
LARGEST_FILE = 1_000_000


def wrong_types(given: Any) -> Iterator[str]:
    """A line for each field of a dataclass whose value is of another kind than its annotation.

    >>> from procedural_evals.hub.submission import Breakdown
    >>> list(wrong_types(Breakdown("all", 3, "1", None, float("nan"))))
    ["value is a str: '1'"]
    """
    for name, hint in get_type_hints(type(given)).items():
        value = getattr(given, name)
        if not _fits(value, hint):
            yield f"{name} is a {type(value).__name__}: {_short(value)}"
        elif wrong := next(_unfit_texts(value), None):
            yield f"{name} {wrong}"


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if kind is tuple:
        return isinstance(value, tuple) and all(_fits(each, inner[0]) for each in value)
    if kind is Mapping:
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and _fits(each, inner[1]) for name, each in value.items()
        )
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if isinstance(hint, type) and is_dataclass(hint):
        return isinstance(value, hint) and not any(wrong_types(value))
    return isinstance(value, hint)


def _unfit_texts(value: Any) -> Iterator[str]:
    """What is wrong with the texts in a value of any shape."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            yield f"has {len(value):,} characters; {LONGEST_TEXT:,} at most"
        elif printable(value) != value:
            yield f"holds characters that cannot be shown as they are: {_short(value)}"
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _unfit_texts(name)
            yield from _unfit_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _unfit_texts(each)


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
