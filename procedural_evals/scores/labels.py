"""Labels of items and of frames: one type throughout, checked before they are compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Labels = NDArray[Any]


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


def frame_labels(sequence: Any, name: str) -> Labels:
    """One sequence as a whole-number or string array [frames]."""
    if isinstance(sequence, str | bytes):
        raise ValueError(
            f"{name}: {sequence!r} is one label; a list of one label a frame is needed"
        )
    try:
        array = np.asarray(sequence)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise ValueError(f"{name}: one label a frame is needed, not {sequence!r:.60}")
    if array.size == 0:
        return np.empty(0, np.int64)
    # numpy turns a list that mixes strings with numbers into strings: look at the list itself.
    mixed = array.dtype.kind == "U" and not isinstance(sequence, np.ndarray)
    if mixed or array.dtype.kind == "O":
        wanted = str if any(isinstance(label, str) for label in sequence) else int
        for frame, label in enumerate(sequence):
            if not isinstance(label, wanted):
                raise ValueError(
                    f"{name}: frame {frame} is {label!r}; "
                    "use strings or whole numbers throughout, and a background label for no label"
                )
        array = array.astype(wanted)
    if array.dtype.kind not in "iubU":
        raise ValueError(
            f"{name}: labels of type {array.dtype} ({array[0]}); use strings or whole numbers"
        )
    return array


def run_starts(labels: Labels) -> Ints:
    """Frame numbers at which a segment begins."""
    if labels.size == 0:
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(labels[1:] != labels[:-1]) + 1))


def background_labels(background: Any, kinds: dict[str, str]) -> list[Any]:
    """The background labels as a list, of the labels' own type."""
    if background is None:
        return []
    single = isinstance(background, str) or not isinstance(background, Collection | np.ndarray)
    labels = [background] if single else list(background)
    for label in labels:
        kind = "strings" if isinstance(label, str) else "numbers"
        if kinds and kind not in kinds:
            raise ValueError(f"background: {label!r} can never occur among {', '.join(kinds)}")
    return labels
