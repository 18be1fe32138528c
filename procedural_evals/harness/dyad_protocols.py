"""DYAD's protocols: what is shown of a second, an intervention, a question.

Frames are chosen by their numbers, which the annotations' frame times give, and never by a time of
the video: so no frame from behind the boundary can be read, however the video's own times are
rounded. Nothing of a row but its frames reaches the prompts of steps and modes: their texts are the
same for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from procedural_evals import frame_cache, video
from procedural_evals.dyad.rows import context_of
from procedural_evals.dyad.steps import LOOKBACK
from procedural_evals.dyad.vocabulary import MODES, STEPS
from procedural_evals.harness import dyad_records, records
from procedural_evals.harness.dyad_decoding import FULL, NONE, Decoding
from procedural_evals.harness.protocols import LETTERS, Doc, FramePlan, OpenAnswer, Protocol
from procedural_evals.prompts import Template, load_template

BENCHMARK = "dyad"
SIZE = (640, 360)
LOOKBACK_PLAN = FramePlan(LOOKBACK, "lookback", SIZE)


@dataclass(frozen=True)
class DyadFrames(Protocol):
    """Frames by number, then the filled template."""

    columns: tuple[str, ...] = ("frames",)
    labels: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def numbers(self, doc: Doc) -> list[int]:
        """Numbers of the frames that are shown, in order."""
        raise NotImplementedError

    def label(self, doc: Doc) -> str | None:
        """The true label; None where there is none."""
        raise NotImplementedError

    def target(self, doc: Doc) -> str:
        """The letter of the true label's option; nothing where there is no label."""
        label = self.label(doc)
        return "" if label is None else LETTERS[self.labels.index(label)]

    def values(self, doc: Doc, frame_times: Sequence[float]) -> dict[str, str]:
        """`$options`, one lettered line an option."""
        lettered = zip(LETTERS, self.options, strict=False)
        return {"options": "\n".join(f"{letter}. {option}" for letter, option in lettered)}

    def _frames(self, doc: Doc) -> tuple[list[Image.Image], tuple[float, ...]]:
        numbers = tuple(self.numbers(doc))
        return _pictures(doc["video"]["path"], numbers, self.plan.size if self.plan else None)


@lru_cache(maxsize=4)
def _pictures(
    path: str, numbers: tuple[int, ...], size: tuple[int, int] | None
) -> tuple[list[Image.Image], tuple[float, ...]]:
    """Frames by number and their times; kept for the next call, which asks for the text."""
    shown = video.frame_times(path)
    if not numbers or not 0 <= min(numbers) <= max(numbers) < len(shown):
        raise ValueError(f"{path}: {len(shown)} frames, and {list(numbers)} are asked for")
    chosen = shown[list(numbers)].tolist()
    frames, times = frame_cache.sample_frames(path, times=chosen, size=size, strict=True)
    return [Image.fromarray(frame) for frame in frames], tuple(round(float(t), 3) for t in times)


@dataclass(frozen=True)
class StepUnderstanding(DyadFrames):
    """At one second: a causal lookback of four frames, answered by one of eight steps.

    Attributes:
        likelihood: whether the reply holds the likelihoods of captions instead of an option.
        decoding: how the answers of a session become its steps.
    """

    labels: tuple[str, ...] = STEPS
    options: tuple[str, ...] = tuple(step.replace("_", " ") for step in STEPS)
    plan: FramePlan | None = LOOKBACK_PLAN
    metrics: tuple[str, ...] = dyad_records.STEP_METRICS
    likelihood: bool = False
    decoding: Decoding = NONE

    @classmethod
    def of(cls, template: str, likelihood: bool = False) -> StepUnderstanding:
        """The protocol with the stages of decoding that the run asks for.

        By default an option stays as it was answered, since it carries no degree of likelihood;
        likelihoods go through the full decoder, as published.
        """
        decoding = Decoding.from_environment(FULL if likelihood else NONE)
        return cls(BENCHMARK, template, likelihood=likelihood, decoding=decoding)

    def numbers(self, doc: Doc) -> list[int]:
        """The row's lookback: none of its frames was taken after the row's time."""
        return list(doc["frames"])

    def label(self, doc: Doc) -> str | None:
        """The annotated step; None where no step is annotated."""
        return None if doc["label"] is None else self.labels[doc["label"]]

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The record of one second."""
        common = self.common(doc, reply) | {"time": doc["time"], "decoding": str(self.decoding)}
        gold = self.label(doc)
        if self.likelihood:
            return dyad_records.likelihood_record(common, doc, gold=gold, count=len(self.labels))
        return dyad_records.label_record(
            common, doc, kind="steps", gold=gold, labels=self.labels, options=self.options
        )

    def process(self, doc: Doc, results: Sequence[str]) -> dict[str, records.Record]:
        """The item's record under every metric of the task."""
        return dyad_records.under_step_metrics(self.record(doc, results[0]), self.metrics)


@dataclass(frozen=True)
class ModeAnticipation(DyadFrames):
    """Before an intervention: frames of the window that ends half a second earlier; speak or act.

    The frames are spread over the window's frames by the plan's rule.
    """

    labels: tuple[str, ...] = MODES
    options: tuple[str, ...] = ("speak", "act")
    metrics: tuple[str, ...] = dyad_records.MODE_METRICS

    def numbers(self, doc: Doc) -> list[int]:
        """Numbers of the row's window only: [first_frame, stop_frame)."""
        if self.plan is None:
            raise ValueError(f"{self.benchmark}/{self.template}: frames are shown without a plan")
        first, stop = doc["first_frame"], doc["stop_frame"]
        times = np.asarray(video.frame_times(doc["video"]["path"])[first:stop], np.float64)
        chosen = video.RULES[self.plan.rule](times, self.plan.count)
        return [first + int(number) for number in chosen]

    def label(self, doc: Doc) -> str | None:
        """How help was given."""
        return self.labels[doc["mode"]]

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The record of one intervention."""
        return dyad_records.label_record(
            self.common(doc, reply) | {"fold": doc["fold"]},
            doc,
            kind="mode",
            gold=self.label(doc),
            labels=self.labels,
            options=self.options,
        )


@dataclass(frozen=True)
class ResponseGeneration(OpenAnswer):
    """A question with what was known when it was asked; answered in words and judged."""

    columns: tuple[str, ...] = ("parts_image",)
    rubric: str = "dyad_response"
    cluster: str = "participant"
    metrics: tuple[str, ...] = field(default=dyad_records.RESPONSE_METRICS)

    def __hash__(self) -> int:
        """By identity: a protocol is made once."""
        return id(self)

    def template_of(self, doc: Doc) -> Template:
        """The template with the picture of the finished product, or the one without."""
        name = self.template if doc["reference_image"] else f"{self.template}_no_picture"
        return load_template(self.benchmark, name)

    def context(self, doc: Doc) -> str:
        """What was known, as text; the judge is given the same."""
        sections = context_of(doc).sections()
        return load_template(self.benchmark, f"{self.template}_context").fill(**sections)

    def values(self, doc: Doc, frame_times: Sequence[float]) -> dict[str, str]:
        """`$context` and `$question`."""
        return {"context": self.context(doc), "question": doc["question"]}

    def _media(self, doc: Doc) -> tuple[list[Any], tuple[float, ...]]:
        return ([doc["parts_image"]] if doc["reference_image"] else []), ()

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The record of one question, with the context for the judge."""
        return super().record(doc, reply) | {
            "kind": "response",
            "context": self.context(doc),
            "context_template": load_template(self.benchmark, f"{self.template}_context").id,
        }
