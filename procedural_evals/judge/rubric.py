"""Rubrics: what a judge is asked, which grades it may give, and how they become a score.

A rubric is a YAML file with a name and a version. `PROCEDURAL_EVALS_PROMPTS=DIR` puts DIR/NAME.yaml
before our own file, so that somebody with other words can use them; the template's hash is part of
a rubric's id, so that two runs with different words are never compared unawares.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from procedural_evals.prompts import PROMPTS_VARIABLE, Template
from procedural_evals.replies import visible_text
from procedural_evals.verdicts import (
    MARKER,
    neutralise,
    parse_verdict,
    parse_verdicts,
)

RUBRICS = Path(__file__).parent / "rubrics"
FIELDS = frozenset({"question", "answers", "prediction", "steps", "context"})

_PLACEHOLDER = re.compile(r"\$\{?([a-z_]+)\}?")
_REQUIRED = frozenset({"name", "version", "template", "grades", "scale", "reminder"})
_OPTIONAL = frozenset({"marker", "dimensions", "score", "sections"})


@dataclass(frozen=True)
class JudgeItem:
    """One prediction to be judged, with what the rubric's template may ask for.

    `steps` are the steps performed before the question, None where they are not known; `context`
    is any other text, such as the dialogue so far.
    """

    id: str
    prediction: str
    answers: tuple[str, ...]
    question: str = ""
    steps: tuple[str, ...] | None = None
    context: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.answers, str):
            raise ValueError(f"item {self.id}: answers is one text; give a list of answers")
        for text in (self.prediction, *self.answers):
            if not isinstance(text, str):
                raise ValueError(
                    f"item {self.id}: {text!r} is no text; predictions and answers are"
                )
        if not self.answers:
            raise ValueError(f"item {self.id}: no answers; give at least one reference answer")


@dataclass(frozen=True)
class Verdict:
    """What a reply says under a rubric: all grades with the score in [0, 100], or the reason."""

    grades: Mapping[str, float]
    grade: float | None
    score: float | None
    reason: str | None = None


def _names(placeholders: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(placeholders)) or "no placeholder"


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts)


@dataclass(frozen=True)
class Rubric:
    """A rubric file; read one with `load_rubric`.

    With `dimensions`, each is a marker of its own and `score` says which grade counts: `mean`, or
    a dimension's name. Without, the marker's grade counts. The grade times `scale` is the score in
    [0, 100]. `sections` are the template's own headings, which a prediction must not imitate.
    """

    name: str
    version: int
    template: Template
    grades: tuple[float, ...]
    scale: float
    reminder: str
    marker: str = MARKER
    dimensions: tuple[str, ...] = ()
    score: str = "mean"
    sections: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 of the template's text, 64 hex digits."""
        return hashlib.sha256(self.template.text.encode()).hexdigest()

    @property
    def id(self) -> str:
        """Name, version and the beginning of the hash: `promqa_ternary@1:0123456789ab`."""
        return f"{self.name}@{self.version}:{self.hash[:12]}"

    @property
    def markers(self) -> tuple[str, ...]:
        """The words that announce a grade."""
        return self.dimensions or (self.marker,)

    def prompt(self, item: JudgeItem) -> str:
        """The template filled for this item; the prediction without its reasoning blocks.

        Raises ValueError when the template asks for a question and the item has none.
        """
        self.check(item)
        prediction = neutralise(visible_text(item.prediction), [*self.markers, *self.sections])
        text = self.template.fill(
            question=item.question,
            answers=_bullets(item.answers),
            prediction=prediction,
            steps="- (not recorded)"
            if item.steps is None
            else _bullets(item.steps) or "- (none yet)",
            context=item.context or "(none)",
        )
        return text.encode("utf-8", "replace").decode(
            "utf-8"
        )  # half a surrogate pair can't be sent

    def check(self, item: JudgeItem) -> None:
        """ValueError when the template asks for a question and the item has none."""
        if "question" in _PLACEHOLDER.findall(self.template.text) and not item.question.strip():
            raise ValueError(
                f"item {item.id}: rubric {self.name} needs its question, which is empty"
            )

    def verdict(self, reply: str) -> Verdict:
        """Read a judge's reply; without a grade for every marker there is no verdict."""
        if not self.dimensions:
            single = parse_verdict(reply, self.grades, self.marker)
            return self._verdict({self.marker: single.grade}, single.reason)
        several = parse_verdicts(reply, dict.fromkeys(self.dimensions, self.grades))
        return self._verdict(several.grades, several.reason)

    def uniform(self, grade: float) -> Verdict:
        """The verdict that gives every marker this grade."""
        return self._verdict(dict.fromkeys(self.markers, grade), None)

    def _verdict(self, grades: Mapping[str, float | None], reason: str | None) -> Verdict:
        given = {name: grade for name, grade in grades.items() if grade is not None}
        if len(given) < len(self.markers):
            return Verdict(given, None, None, reason)
        mean = sum(given.values()) / len(given)
        grade = given.get(self.score, mean)
        return Verdict(given, grade, grade * self.scale)


def _check_keys(values: Mapping[str, Any], path: Path) -> None:
    missing, unknown = (
        sorted(_REQUIRED - values.keys()),
        sorted(values.keys() - _REQUIRED - _OPTIONAL),
    )
    if missing:
        raise ValueError(f"{path}: the rubric lacks {', '.join(missing)}")
    if unknown:
        known = ", ".join(sorted(_REQUIRED | _OPTIONAL))
        raise ValueError(f"{path}: {', '.join(unknown)} is no part of a rubric; there are {known}")


def read_rubric(path: Path) -> Rubric:
    """Read one rubric file.

    Raises ValueError, with the path, for what is missing, unknown or out of range.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not readable as YAML: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: a rubric is a mapping of keys to values")
    _check_keys(values, path)
    grades = tuple(values["grades"])
    try:
        parse_verdict("", grades)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    template = Template(str(values["name"]), str(values["template"]), path)
    used = set(_PLACEHOLDER.findall(template.text))
    if not {"answers", "prediction"} <= used <= FIELDS:
        raise ValueError(
            f"{path}: the template uses {_names(used)}; it needs $answers and $prediction, and may "
            f"have others of {_names(FIELDS)}"
        )
    dimensions = tuple(values.get("dimensions") or ())
    score = str(values.get("score", "mean"))
    if score not in {"mean", *dimensions}:
        raise ValueError(f"{path}: score {score!r} is neither 'mean' nor one of {list(dimensions)}")
    scale = float(values["scale"])
    if min(grades) < 0 or not 0 < max(grades) * scale <= 100:
        raise ValueError(f"{path}: grades {list(grades)} x scale {scale:g} leave [0, 100]")
    return Rubric(
        name=template.name,
        version=int(values["version"]),
        template=template,
        grades=grades,
        scale=scale,
        reminder=str(values["reminder"]).strip(),
        marker=str(values.get("marker", MARKER)),
        dimensions=dimensions,
        score=score,
        sections=tuple(values.get("sections") or ()),
    )


def load_rubric(name: str) -> Rubric:
    """The rubric of that name, or the rubric file at that path (it ends in .yaml).

    Raises FileNotFoundError that lists what there is.

    >>> rubric = load_rubric("promqa_ternary")
    >>> rubric.grades, rubric.verdict("[Judge] 1").score
    ((0, 1, 2), 50.0)
    """
    if name.endswith((".yaml", ".yml")):
        if not Path(name).is_file():
            raise FileNotFoundError(f"no rubric file {name}")
        return read_rubric(Path(name))
    override = os.environ.get(PROMPTS_VARIABLE)
    if override and not Path(override).is_dir():
        raise FileNotFoundError(f"${PROMPTS_VARIABLE}={override} is not a folder")
    places = ([Path(override)] if override else []) + [RUBRICS]
    for place in places:
        if (place / f"{name}.yaml").is_file():
            rubric = read_rubric(place / f"{name}.yaml")
            if rubric.name != name:
                raise ValueError(f"{place / name}.yaml: calls itself {rubric.name!r}, not {name!r}")
            return rubric
    known = ", ".join(sorted(path.stem for path in RUBRICS.glob("*.yaml")))
    raise FileNotFoundError(
        f"no rubric {name!r}; there are: {known}, or give a path to a .yaml file"
    )
