"""What type labels have, checked before a storage layer turns one type into another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def label_kind(**sides: Iterable[Any]) -> str:
    """The one type of all labels of all sides, "string" or "int64"; "string" without any label.

    A side is a list of labels or a list of label lists; None is no label and is passed over.
    ValueError names the side, the place and the label that is something else, or the two types.

    >>> label_kind(predictions=[["a", "b"]], references=[["a", None]])
    'string'
    >>> label_kind(predictions=[1, 2], references=[1, 1.5])
    Traceback (most recent call last):
    ...
    ValueError: references: item 1 is 1.5; labels are strings or whole numbers
    """
    found: dict[str, str] = {}
    for side, items in sides.items():
        for item, value in enumerate(items):
            where = f"{side}: item {item}"
            for label in _samples(value):
                if label is None:
                    continue
                if isinstance(label, str):
                    found.setdefault("string", where)
                elif isinstance(label, int | np.integer) and not isinstance(label, bool):
                    found.setdefault("int64", where)
                else:
                    raise ValueError(f"{where} is {label!r}; labels are strings or whole numbers")
    if len(found) > 1:
        raise ValueError(
            f"labels of two types never match: strings ({found['string']}) and whole numbers "
            f"({found['int64']}); use one"
        )
    return next(iter(found), "string")


def _samples(labels: Any) -> list[Any]:
    """One label of each type that occurs; a walk over every frame in Python would be slow."""
    if not isinstance(labels, list | tuple | np.ndarray):
        return [labels]
    if isinstance(labels, np.ndarray) and labels.dtype.kind != "O":
        return labels[:1].tolist() if labels.ndim == 1 else [labels]
    return list(dict(zip(map(type, labels), labels, strict=True)).values())
