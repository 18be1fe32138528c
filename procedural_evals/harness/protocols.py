"""Protocols: what a model is shown for a row, in which order, and what becomes of its reply.

A task's `utils.py` makes one protocol an experiment and names its methods; lmms-eval calls
`messages` for chat models, `visuals` and `text` for simple ones, and `process` for every reply.
None of them raises for a row whose media cannot be read: the row becomes a failed item.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from procedural_evals import clips, folders, frame_cache, replies, spans, video
from procedural_evals.harness import records
from procedural_evals.harness.judging import JUDGE_VARIABLE
from procedural_evals.harness.shown import Key, Shown, note, recall
from procedural_evals.harness.similarity import chosen_encoder
from procedural_evals.prompts import Template, load_template

Doc = Mapping[str, Any]
Group = Sequence[str] | Callable[[Doc], Any] | None

FRAMES_VARIABLE = "PROCEDURAL_EVALS_FRAMES"
SAMPLING_VARIABLE = "PROCEDURAL_EVALS_SAMPLING"
VIDEO_AS_VARIABLE = "PROCEDURAL_EVALS_VIDEO_AS"

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# The word with which a builder's `problems` begin for each media column.
# Columns that are text are not media, but a protocol may need them all the same.
PROBLEM_WORDS = {
    "task_graph": "task graph",
    "video": "video",
    "clip": "video",
    "frames": "video",
    "visual_prompts": "visual prompt",
    "parts_image": "parts image",
}


@dataclass(frozen=True)
class FramePlan:
    """How many frames of a clip are shown, chosen by which rule, at which size (width, height)."""

    count: int
    rule: str = "uniform"
    size: tuple[int, int] | None = None

    @classmethod
    def from_environment(
        cls, count: int, rule: str = "uniform", size: tuple[int, int] | None = None
    ) -> FramePlan:
        """The protocol's plan, or the count and rule that a run asks for instead.

        `$PROCEDURAL_EVALS_FRAMES` and `$PROCEDURAL_EVALS_SAMPLING` are what `procedural-evals run
        --frames` and `--sampling` set; the plan used is recorded with every item.
        """
        asked = os.environ.get(FRAMES_VARIABLE)
        if asked and not (asked.isdecimal() and int(asked) > 0):
            raise ValueError(f"${FRAMES_VARIABLE}={asked}: a number of frames is needed")
        chosen = os.environ.get(SAMPLING_VARIABLE) or rule
        if chosen not in video.RULES:
            raise ValueError(f"${SAMPLING_VARIABLE}={chosen}: known are {', '.join(video.RULES)}")
        return cls(int(asked) if asked else count, chosen, size)

    def __str__(self) -> str:
        """As recorded in results.

        >>> str(FramePlan(20, size=(640, 360)))
        '20 uniform 640x360'
        """
        size = f" {self.size[0]}x{self.size[1]}" if self.size else ""
        return f"{self.count} {self.rule}{size}"


class Remark(str):
    """A text that stands between the media of a message; models that take media apart skip it."""


#: How a video is shown to models that take pictures only, where the run asks for that.
VIDEO_AS_FRAMES = FramePlan.from_environment(32, "uniform", (640, 360))


def frames_for_video() -> bool:
    """Whether this run shows frames in place of video files (`$PROCEDURAL_EVALS_VIDEO_AS`)."""
    chosen = os.environ.get(VIDEO_AS_VARIABLE, "file")
    if chosen not in ("file", "frames"):
        raise ValueError(f"${VIDEO_AS_VARIABLE}={chosen}: file or frames is needed")
    return chosen == "frames"


def in_place_of_video(frames: Sequence[Any]) -> list[Any]:
    """A video's frames between words that say what they are."""
    before = Remark(f"{len(frames)} frames of the video, in order:")
    return [before, *frames, Remark("That was the video.")]


def _content(medium: Any) -> dict[str, Any]:
    if isinstance(medium, Remark):
        return {"type": "text", "text": str(medium)}
    return {"type": "video" if isinstance(medium, str) else "image", "url": medium}


@dataclass(frozen=True)
class Protocol:
    """Media first, in the order of `columns`, then the filled template: one user message.

    Attributes:
        benchmark: folder of the prompt templates.
        template: name of the template.
        columns: the media shown, in order: "video" (the whole file), "clip" (a file that holds
            only the row's clip), "frames" (pictures sampled from the clip by `plan`),
            "visual_prompts", "parts_image".
        plan: how frames are sampled, where they are shown.
        metrics: names of the task's metrics, as in its YAML; the first one's values are the whole
            records.
    """

    benchmark: str
    template: str
    columns: tuple[str, ...] = ()
    plan: FramePlan | None = None
    metrics: tuple[str, ...] = ()

    # ---- what a model is shown ----------------------------------------------------------------

    def messages(self, doc: Doc) -> list[dict[str, Any]]:
        """One user message; for a row that cannot be shown, the failure mark and the reason."""
        media, failure = self._shown(doc)
        content = [_content(each) for each in media]
        text = self.text(doc) if failure is None else _failure_text(failure)
        return [{"role": "user", "content": [*content, {"type": "text", "text": text}]}]

    def visuals(self, doc: Doc) -> list[Any]:
        """The media of a row, for models that take them before the text."""
        return [each for each in self._shown(doc)[0] if not isinstance(each, Remark)]

    def text(self, doc: Doc) -> str:
        """The filled template, for models that take the media apart.

        lmms-eval asks for it before anything else, with a row that lacks its pictures: no medium
        is decoded here.
        """
        failure = self._problem(doc)
        template = self.template_of(doc)
        times: Sequence[float] = ()
        if failure is None and "frames" in self.columns and "$frame_times" in template.text:
            try:
                times = self._frame_times(doc)
            except (OSError, ValueError) as error:
                failure = f"{type(error).__name__}: {error}"
        if failure is not None:
            return _failure_text(failure)
        return template.fill(**self.values(doc, times))

    def template_of(self, doc: Doc) -> Template:
        """The template of this row."""
        return load_template(self.benchmark, self.template)

    def values(self, doc: Doc, frame_times: Sequence[float]) -> dict[str, str]:
        """What fills the template's placeholders."""
        raise NotImplementedError

    def _shown(self, doc: Doc) -> tuple[list[Any], str | None]:
        """The media of a row, or none and why; either way it is noted for the row's record."""
        failure = self._problem(doc)
        times: tuple[float, ...] = ()
        media: list[Any] = []
        if failure is None:
            try:
                media, times = self._media(doc)
            except (OSError, ValueError) as error:
                media, failure = [], f"{type(error).__name__}: {error}"
        note(self.key(doc), Shown(times, failure))
        return media, failure

    def key(self, doc: Doc) -> Key:
        """Where what was shown of this row is noted."""
        film = (doc.get("video") or {}).get("path")
        return Key(self.template_of(doc).id, str(doc["id"]), str(doc["revision"]), film)

    def _problem(self, doc: Doc) -> str | None:
        words = tuple(PROBLEM_WORDS[column] for column in self.columns)
        found = [problem for problem in doc["problems"] if problem.startswith(words)]
        return "; ".join(found) or None

    def _media(self, doc: Doc) -> tuple[list[Any], tuple[float, ...]]:
        media: list[Any] = []
        times: tuple[float, ...] = ()
        for column in self.columns:
            if column == "frames":
                pictures, times = self._frames(doc)
                media += pictures
            elif column in ("video", "clip") and frames_for_video():
                pictures, times = _sampled(doc, VIDEO_AS_FRAMES)
                media += in_place_of_video(pictures)
            elif column == "video":
                media.append(doc["video"]["path"])
            elif column == "clip":
                media.append(str(_clip(doc)))
            elif column == "visual_prompts":
                media += doc[column]
            elif column == "parts_image":
                media.append(doc[column])
        return media, times

    def _frames(self, doc: Doc) -> tuple[list[Image.Image], tuple[float, ...]]:
        return _sampled(doc, self._plan())

    def _frame_times(self, doc: Doc) -> tuple[float, ...]:
        plan = self._plan()
        path, start, end = doc["video"]["path"], doc["clip_start"], doc["clip_end"]
        return rounded(video.planned_times(path, plan.count, start, end, plan.rule))

    def _plan(self) -> FramePlan:
        if self.plan is None:
            raise ValueError(f"{self.benchmark}/{self.template}: frames are shown without a plan")
        return self.plan

    # ---- what becomes of its reply ------------------------------------------------------------

    def failure(self, doc: Doc, reply: str) -> str | None:
        """Why this item is no answer: its media could not be shown, or its request failed."""
        noted = recall(self.key(doc))
        return self._problem(doc) or noted.failure or replies.failed_request(reply)

    def common(self, doc: Doc, reply: str) -> records.Record:
        """The fields that every record has."""
        template = self.template_of(doc).id
        times = recall(self.key(doc)).frame_times
        return {
            "id": str(doc["id"]),
            # Half a surrogate pair cannot be written to the samples: lmms-eval would stop there.
            "reply": reply.encode("utf-8", "replace").decode("utf-8"),
            "template": template,
            "revision": doc["revision"],
            "failure": self.failure(doc, reply),
            "shown": list(self.columns),
            **({"view": doc["view"]} if isinstance(doc.get("view"), str) else {}),
            **self._frames_record(times),
        }

    def _frames_record(self, times: tuple[float, ...]) -> records.Record:
        """What was shown: by this protocol, or (without a plan) by the model's own sampling."""
        if not times and "frames" not in self.columns:
            return {}
        plan = self.plan if "frames" in self.columns else None
        if {"video", "clip"} & set(self.columns) and frames_for_video():
            plan = VIDEO_AS_FRAMES
        return {
            **({"frame_plan": str(plan)} if plan else {}),
            "frame_times": list(times),
            "decoder": video.DECODER_VERSION,
        }

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The whole record of one item."""
        raise NotImplementedError

    def process(self, doc: Doc, results: Sequence[str]) -> dict[str, records.Record]:
        """The item's record under every metric of the task."""
        reply = self.reply_text(results[0] if results else None)
        return records.under_metrics(self.record(doc, reply), self.metrics)

    @staticmethod
    def reply_text(reply: Any) -> str:
        """What a model gave, or a failure mark where that is no text."""
        if isinstance(reply, str):
            return reply
        return f"{replies.FAILURE_MARKS[1]}] the model gave {type(reply).__name__}, not text"


def _sampled(doc: Doc, plan: FramePlan) -> tuple[list[Image.Image], tuple[float, ...]]:
    """Frames of a row's clip and their times, in seconds from the start of the file."""
    frames, times = frame_cache.sample_frames(
        doc["video"]["path"],
        count=plan.count,
        start=doc.get("clip_start"),
        end=doc.get("clip_end"),
        rule=plan.rule,
        size=plan.size,
        strict=True,
    )
    return [Image.fromarray(frame) for frame in frames], rounded(times)


def rounded(times: Iterable[float]) -> tuple[float, ...]:
    """Seconds to the millisecond, as recorded."""
    return tuple(round(float(time), 3) for time in times)


def _failure_text(reason: str) -> str:
    return f"{replies.FAILURE_MARKS[1]}] {reason}"


def _clip(doc: Doc) -> Path:
    """A file with the row's clip and nothing after its end; the video itself where that is all."""
    path = Path(doc["video"]["path"])
    start, end = float(doc["clip_start"] or 0.0), doc["clip_end"]
    duration = video.probe(path).duration
    if start == 0 and (end is None or end >= duration):
        return path
    return clips.cut_clip(
        path, start, min(float(end or duration), duration), folders.cache("clips")
    )


@dataclass(frozen=True)
class MultipleChoice(Protocol):
    """Questions with lettered options; the reply names one of the letters.

    Attributes:
        categories: names of the row's `task` labels.
        explicit: whether only an explicit answer counts, because the prompt asks for reasoning.
    """

    categories: tuple[str, ...] = ()
    explicit: bool = False
    metrics: tuple[str, ...] = field(default=records.CHOICE_METRICS)

    def template_of(self, doc: Doc) -> Template:
        """The template for this row's number of visual prompts, where they are shown."""
        name = self.template
        if "visual_prompts" in self.columns:
            name += "_two_images" if len(doc["frame_indices"]) > 1 else "_one_image"
        return load_template(self.benchmark, name)

    def values(self, doc: Doc, frame_times: Sequence[float]) -> dict[str, str]:
        """`$question` and `$options`, one lettered line an option."""
        lettered = zip(LETTERS, doc["options"], strict=False)
        options = "\n".join(f"{letter}. {option}" for letter, option in lettered)
        return {"question": doc["question"], "options": options}

    def target(self, doc: Doc) -> str:
        """The letter of the correct option."""
        return str(doc["answer_letter"])

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The record of one multiple-choice item."""
        return records.choice_record(
            self.common(doc, reply) | self._asked(doc),
            cluster=doc["video_id"],
            category=self.categories[doc["task"]],
            gold=doc["answer_letter"],
            options=doc["options"],
            explicit=self.explicit,
        )

    def _asked(self, doc: Doc) -> records.Record:
        """Which question it was, in which order of its options, on pictures drawn how."""
        asked: records.Record = {}
        if doc.get("option_order"):
            asked |= {"question_id": str(doc["qid"]), "option_order": list(doc["option_order"])}
        if "visual_prompts" in self.columns and doc.get("prompt_style"):
            asked["prompt_style"] = str(doc["prompt_style"])
        return asked


@dataclass(frozen=True)
class OpenAnswer(Protocol):
    """Questions that are answered in words and judged under a rubric.

    Attributes:
        rubric: name of the rubric.
        cluster: the column whose values intervals are clustered by: the recording, the video.
        groups: columns by which scores are broken down, each with the names of its ClassLabel's
            values, with None for a column of another type, or with a function of the row.
        grounded: whether the reply also holds evidence spans, in seconds from the clip's start.
        reads_json: whether the reply is a JSON object whose "answer" is the answer; so it is for
            grounded ones.
    """

    rubric: str = ""
    cluster: str = "video_id"
    groups: Mapping[str, Group] = field(default_factory=dict)
    grounded: bool = False
    reads_json: bool = False
    metrics: tuple[str, ...] = field(default=records.JUDGED_METRICS)

    def __hash__(self) -> int:
        """By identity: a protocol is made once."""
        return id(self)

    def values(self, doc: Doc, frame_times: Sequence[float]) -> dict[str, str]:
        """`$question`, `$task_graph`, `$duration` and `$frame_times`, in seconds of the clip."""
        start = float(doc.get("clip_start") or 0.0)
        end = doc.get("clip_end")
        return {
            "question": doc["question"],
            "task_graph": doc.get("task_graph") or "",
            "duration": "" if end is None else f"{float(end) - start:.1f}",
            "frame_times": ", ".join(f"{time - start:.1f}" for time in frame_times),
        }

    def target(self, doc: Doc) -> str:
        """The first reference answer."""
        return str(doc["answers"][0])

    def record(self, doc: Doc, reply: str) -> records.Record:
        """The record of one open answer: what a judge needs, and the evidence spans."""
        record = self.common(doc, reply) | {
            "kind": "grounded" if self.grounded else "judged",
            "rubric": self.rubric,
            "encoder": chosen_encoder(),
            "judge": os.environ.get(JUDGE_VARIABLE),
            "cluster": str(doc[self.cluster]),
            "groups": {name: _group(doc, name, group) for name, group in self.groups.items()},
            "question": doc["question"],
            "answers": list(doc["answers"]),
        }
        performed = doc.get("performed_steps")
        if performed is not None:
            record["steps"] = [step["label"] for step in performed]
        if record["failure"] is None and self.grounded:
            answer, parsed = spans.parse_grounded_answer(reply)
            record |= {
                "prediction": answer,
                "spans": [list(span) for span in parsed.spans],
                "invalid_spans": parsed.invalid,
                "evidence": [[span["start"], span["end"]] for span in doc["evidence"]],
                "parser": spans.PARSER_VERSION,
            }
        elif record["failure"] is None and self.reads_json:
            record["prediction"] = spans.parse_grounded_answer(reply)[0]
        elif record["failure"] is None:
            record["prediction"] = replies.visible_text(reply)
        return record


def _group(doc: Doc, name: str, group: Group) -> str:
    value = group(doc) if callable(group) else doc[name]
    if value is None:
        return "unknown"
    if group is not None and not callable(group):
        return str(group[value])
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
