"""Files of Assembly101 (CVPR 2022) that other benchmarks point to: recordings, and their steps.

    assembly101/SEQUENCE/VIEW.mp4                a recording seen by one of twelve cameras
    assembly101-mistakes/annots/SEQUENCE.csv     its coarse steps, each judged right or wrong

A CSV has no header: start, end, verb, this, that, label, remark; the last field may be left out.
Frame numbers are at 30 frames a second.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from procedural_evals import sources
from procedural_evals.layouts.promqa import data_roots, find_in

FRAME_RATE = 30
MISTAKES = ("correct", "mistake", "correction")
RECORDINGS = "assembly101"
ANNOTATIONS = "assembly101-mistakes"

DEFAULT_VIEW = "C10115_rgb"
# Eight fixed cameras and four on the head. The headset was changed during the recordings, so that
# each of its four cameras goes by two names; a recording has one of them.
VIEWS = (
    ("C10095_rgb",),
    ("C10115_rgb",),
    ("C10118_rgb",),
    ("C10119_rgb",),
    ("C10379_rgb",),
    ("C10390_rgb",),
    ("C10395_rgb",),
    ("C10404_rgb",),
    ("HMC_21176875_mono10bit", "HMC_84346135_mono10bit"),
    ("HMC_21176623_mono10bit", "HMC_84347414_mono10bit"),
    ("HMC_21110305_mono10bit", "HMC_84355350_mono10bit"),
    ("HMC_21179183_mono10bit", "HMC_84358933_mono10bit"),
)
# How a verb goes together with the part and the place it is done to.
_JOINTS = {"attach": "to", "detach": "from", "position": "at"}


class PerformedStep(NamedTuple):
    """What somebody did, in seconds of the recording; `remark` says what was wrong, or None."""

    label: str
    start: float
    end: float
    mistake: str
    remark: str | None


class MistakeAnnotations(NamedTuple):
    """The steps of a recording in the order of their starts, and what is odd about the file."""

    steps: tuple[PerformedStep, ...]
    oddities: tuple[str, ...]

    def until(self, time: float) -> list[PerformedStep]:
        """The steps that have begun before this time; the last may still be going on.

        >>> step = PerformedStep("attach a to b", 1.0, 4.0, "correct", None)
        >>> len(MistakeAnnotations((step,), ()).until(2.0))
        1
        """
        return [step for step in self.steps if step.start < time]


def view_names(view: str) -> tuple[str, ...]:
    """The names that this camera's files may have, the given one first.

    Raises ValueError that lists the twelve views for another name.

    >>> view_names("HMC_84346135_mono10bit")
    ('HMC_84346135_mono10bit', 'HMC_21176875_mono10bit')
    """
    for names in VIEWS:
        if view in names:
            return (view, *(name for name in names if name != view))
    known = ", ".join(" = ".join(names) for names in VIEWS)
    raise ValueError(f"view: {view!r} is not one of the twelve of Assembly101: {known}")


def find_recording(folder: Path, sequence: str, view: str) -> sources.Media:
    """The recording as one camera saw it: in the folder, or beside it in `assembly101/`."""
    files = [f"{sequence}/{name}.mp4" for name in view_names(view)]
    own = [place + file for place in ("", "recordings/", "videos/") for file in files]
    beside = [
        (root, [f"{RECORDINGS}/{place}{file}" for place in ("", "recordings/") for file in files])
        for root in data_roots(folder)
    ]
    return find_in([(folder, own), *beside])


def find_mistakes(folder: Path, sequence: str) -> sources.Media:
    """The step annotations: in the folder's `annots/`, or beside it."""
    file = f"annots/{sequence}.csv"
    beside = [(root, [f"{ANNOTATIONS}/{file}"]) for root in data_roots(folder)]
    return find_in([(folder, [file]), *beside])


def read_mistakes(file: Path) -> MistakeAnnotations:
    """The steps of a CSV. ValueError, which names the file and the line, for one it cannot be."""
    steps: list[PerformedStep] = []
    oddities: list[str] = []
    with file.open(encoding="utf-8-sig", newline="") as stream:
        lines = csv.reader(stream)
        try:
            for fields in lines:
                if any(field.strip() for field in fields):
                    steps.append(_step(fields))
                    if fields[2].strip() not in _JOINTS:
                        oddities.append(
                            f"{file.name}, line {lines.line_num}: unknown verb {fields[2]!r}"
                        )
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{file}, line {lines.line_num}: {error}") from error
    return MistakeAnnotations(tuple(sorted(steps, key=lambda s: s.start)), tuple(oddities))


def _step(fields: Sequence[str]) -> PerformedStep:
    if len(fields) not in (6, 7):
        raise ValueError(f"{len(fields)} fields instead of 6 or 7: {','.join(fields)!r}")
    start, end, verb, this, that, mistake, *remark = (field.strip() for field in fields)
    for name, number in (("start", start), ("end", end)):
        if not (number.isascii() and number.isdecimal()):
            raise ValueError(f"{name} is {number!r}; a frame number is needed")
    if int(end) < int(start):
        raise ValueError(f"the step ends at frame {end}, before it starts at {start}")
    if mistake not in MISTAKES:
        raise ValueError(f"label is {mistake!r}; it must be one of {', '.join(MISTAKES)}")
    if not (verb and this and that):
        raise ValueError(f"verb, this and that are {verb!r}, {this!r}, {that!r}; none may be empty")
    words = (verb, this, *([_JOINTS[verb]] if verb in _JOINTS else []), that)
    return PerformedStep(
        label=" ".join(words),
        start=int(start) / FRAME_RATE,
        end=int(end) / FRAME_RATE,
        mistake=mistake,
        remark="".join(remark) or None,
    )


def other_views(folder: Path, sequence: str, view: str) -> Iterator[sources.Media]:
    """The recordings by other cameras that are there as well."""
    for names in VIEWS:
        if view not in names:
            media = find_recording(folder, sequence, names[0])
            if media.path is not None:
                yield media
