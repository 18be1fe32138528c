"""Protocols: what a model is shown for a row, in which order, and what becomes of its reply.

A task's `utils.py` makes one protocol an experiment and names its methods; lmms-eval calls
`messages` for chat models, `visuals` and `text` for simple ones, and `process` for every reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from procedural_evals import replies
from procedural_evals.harness import records
from procedural_evals.prompts import Template, load_template

Doc = Mapping[str, Any]

CHOICE_METRICS = (
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "no_parse_rate",
    "random_chance",
    "most_frequent_chance",
    "answered",
    "failed",
)


@dataclass(frozen=True)
class MultipleChoice:
    """Flat-Pack Bench's protocol: video, then the visual prompts, then instruction and question.

    Attributes:
        benchmark: folder of the prompt templates.
        template: name of the template; `_one_image` or `_two_images` is added to it where visual
            prompts are shown.
        columns: the media columns shown, in the order shown: "video", "visual_prompts".
        categories: names of the row's `task` labels.
        metrics: names of the task's metrics, as in its YAML.
    """

    benchmark: str
    template: str
    columns: tuple[str, ...]
    categories: tuple[str, ...]
    metrics: tuple[str, ...] = CHOICE_METRICS

    def visuals(self, doc: Doc) -> list[Any]:
        """The media of a row for models that take them before the text; empty if one is missing."""
        if records.failure_of(doc, "", self.columns):
            return []
        visuals: list[Any] = []
        for column in self.columns:
            visuals += [doc["video"]["path"]] if column == "video" else doc[column]
        return visuals

    def text(self, doc: Doc) -> str:
        """The filled template; for a row whose media are missing, the failure mark and why."""
        failure = records.failure_of(doc, "", self.columns)
        if failure:
            return f"{replies.FAILURE_MARKS[1]}] {failure}"
        options = "\n".join(
            f"{letter}. {option}"
            for letter, option in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", doc["options"], strict=False)
        )
        return self.template_of(doc).fill(question=doc["question"], options=options)

    def template_of(self, doc: Doc) -> Template:
        """The template for this row's number of visual prompts."""
        name = self.template
        if "visual_prompts" in self.columns:
            name += "_two_images" if len(doc["frame_indices"]) > 1 else "_one_image"
        return load_template(self.benchmark, name)

    def messages(self, doc: Doc) -> list[dict[str, Any]]:
        """One user message, its parts in the order of the protocol."""
        content = [
            {"type": "video" if isinstance(visual, str) else "image", "url": visual}
            for visual in self.visuals(doc)
        ]
        return [{"role": "user", "content": [*content, {"type": "text", "text": self.text(doc)}]}]

    def target(self, doc: Doc) -> str:
        """The letter of the correct option."""
        return str(doc["answer_letter"])

    def process(self, doc: Doc, results: Sequence[str]) -> dict[str, records.Record]:
        """The item's record under every metric of the task."""
        record = records.choice_record(
            doc,
            results[0],
            needs=self.columns,
            category=self.categories[doc["task"]],
            template=self.template_of(doc).id,
        )
        return records.choice_metrics(record, self.metrics)
