"""What two scores rest on: which differences forbid a comparison, and which are worth a note.

A difference *refuses* where the number would no longer mean the same thing: other questions or
answers, other words asked, another reader of replies, another judge. It is a *note* where it
belongs to what is being compared: a model's own sampling of frames, the library that decodes them,
generation arguments, versions. The plan of the frames that a task shows is part of the question
(20 frames of a film are not 8); where only one side has a plan, the other's model took frames from
the file by itself, which is a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from procedural_evals.harness.pairing import Pairs
from procedural_evals.revisions import content_of

#: Fields that refuse, under the names that users read.
REFUSING = {
    "kind": "kind of task",
    "revision": "dataset revision",
    "template": "template",
    "context_template": "template of the context",
    "parser": "parser",
    "rubric": "rubric",
    "judges": "judges",
    "decoding": "step decoder",
    "view": "view",
    "prompt_style": "style of the visual prompts",
}
#: What is asked and what an answer is held against; the same id must mean the same there.
TRUTH = ("option_order", "gold", "num_options", "question", "answers", "evidence")


class NotComparableError(ValueError):
    """The runs differ in what makes a score; `contrasts` says in what."""

    def __init__(self, contrasts: tuple[Contrast, ...]) -> None:
        self.contrasts = contrasts
        lines = "\n".join(f"  {contrast}" for contrast in contrasts)
        super().__init__(f"A and B are not comparable:\n{lines}")


@dataclass(frozen=True)
class Contrast:
    """One setting in which the runs differ.

    Attributes:
        setting: its name.
        refuses: whether it forbids a comparison.
        items: on how many of the compared items it differs.
        values: what A and B have there, and on how many items, commonest first.
    """

    setting: str
    refuses: bool
    items: int
    values: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        return self.text("A", "B")

    def text(self, a: str, b: str) -> str:
        """What differs, in words; the runs are called `a` and `b`."""
        first, *others = self.values
        text = f"{self.setting}: {a} has {first[0]}, {b} has {first[1]}"
        where = f" ({first[2]} of {self.items} items)" if others else ""
        more = f"; and {len(others)} more" if len(others) > 1 else ""
        if len(others) == 1:
            more = f"; {a} has {others[0][0]}, {b} has {others[0][1]} ({others[0][2]} items)"
        return f"{text}{where}{more}"


def contrasts(pairs: Pairs, similarity: bool = False) -> tuple[Contrast, ...]:
    """All settings in which the compared items' records differ, those that refuse first.

    With `similarity` the answers' similarities are compared too, and their encoder refuses.
    """
    found = [_contrast(pairs, name, True, field) for field, name in REFUSING.items()]
    truth = [field for field in TRUTH if _everywhere(pairs, field)]
    found.append(_contrast(pairs, "questions", True, *truth))
    if _everywhere(pairs, "shown"):
        found.append(_contrast(pairs, "media shown", True, "shown"))
    found.append(_contrast(pairs, "frame plan", _everywhere(pairs, "frame_plan"), "frame_plan"))
    found.append(_contrast(pairs, "samples voted over", False, "num_samples"))
    found.append(_contrast(pairs, "frame decoder", False, "decoder"))
    found.append(_contrast(pairs, "encoder of similarities", similarity, "encoder"))
    found.append(_contrast(pairs, "frame times", False, "frame_times"))
    there = [contrast for contrast in found if contrast is not None]
    return tuple(sorted(there, key=lambda contrast: not contrast.refuses))


def settings_contrasts(
    a: Mapping[str, object], b: Mapping[str, object], items: int
) -> tuple[Contrast, ...]:
    """Notes on settings of whole runs, by name: arguments, versions, limits."""
    names = dict.fromkeys([*a, *b])
    return tuple(
        Contrast(name, False, items, ((_text(a.get(name)), _text(b.get(name)), items),))
        for name in names
        if a.get(name) != b.get(name)
    )


def _everywhere(pairs: Pairs, field: str) -> bool:
    return all(field in record for record in (*pairs.a, *pairs.b))


def _contrast(pairs: Pairs, name: str, refuses: bool, *fields: str) -> Contrast | None:
    """Where the records differ in one of the fields; an empty list is as good as none."""
    counts: Counter[tuple[str, str]] = Counter()
    for left, right in zip(pairs.a, pairs.b, strict=True):
        for field in fields:
            here, there = left.get(field) or None, right.get(field) or None
            if not _same(field, here, there):
                prefix = f"{field} " if len(fields) > 1 else ""
                counts[f"{prefix}{_text(here)}", f"{prefix}{_text(there)}"] += 1
                break
    if not counts:
        return None
    values = tuple((*texts, count) for texts, count in counts.most_common())
    return Contrast(name, refuses, counts.total(), values)


def _same(field: str, here: Any, there: Any) -> bool:
    """Whether two values mean the same: the same files are, wherever they lay."""
    if field == "revision" and isinstance(here, str) and isinstance(there, str):
        return content_of(here) == content_of(there)
    return bool(here == there)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list) and value and isinstance(value[0], float):
        return f"{len(value)} frames from {value[0]:g} to {value[-1]:g} s"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 160 else f"{text[:157]}..."
