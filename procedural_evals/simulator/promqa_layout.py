"""Writes simulated toy assemblies the way the authors of ProMQA-Assembly lay out theirs.

    all_v1.json                            the questions
    graph/all.json                         the task graph of each toy
    parts/<toy>-all.png                    parts picture
    annots/<sequence>.csv                  steps, in the form of Assembly101's mistake annotations
    recordings/<sequence>/C10115_rgb.mp4   the recording, seen from above

Names follow the authors' pattern, but begin with "simulated", and so do toys with "sim".
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from procedural_evals.layouts.assembly101 import DEFAULT_VIEW
from procedural_evals.task_graph import END, START, Step, TaskGraph

from .exploded_view import parts_image
from .media import Picture, write_video
from .products import Product
from .promqa_questions import FRAME_RATE, ToyQuestion, fault_of, joint_of, steps_of
from .promqa_truth import REMARKS
from .world import World

_NODES = {START: "0", END: "100"}


@dataclass(frozen=True)
class Recording:
    """One recording: its world, actor's number, questions, and pictures (uint8 [h, w, 3])."""

    world: World
    actor: int
    questions: Sequence[ToyQuestion] = ()
    pictures: Sequence[Picture] = ()

    @property
    def toy_id(self) -> str:
        """Id of the toy."""
        return toy_id(self.world.product)

    @property
    def sequence(self) -> str:
        """Id of the recording."""
        who = f"{self.actor:04d}"
        video = self.world.video_id
        return f"simulated_action_both_{who}-{self.toy_id}_{who}_user_id_{video}"

    @property
    def start(self) -> float:
        """When the first step begins, seconds; clips begin there."""
        return math.floor(steps_of(self.world)[0].start * FRAME_RATE) / FRAME_RATE


def toy_id(product: Product) -> str:
    """Id of a toy: its kind and its seed's number in letters and digits.

    >>> from procedural_evals.simulator.promqa_toys import make_toy
    >>> toy_id(make_toy("toy train", seed=4))
    'simtrain4'
    """
    return "sim" + product.name.removeprefix("toy_").replace("_", "")


def graph_of(product: Product) -> TaskGraph:
    """A toy's task graph, without the edges that longer paths imply."""
    ids = {step.id: str(n) for n, step in enumerate(product.steps, 1)}
    steps = [Step(ids[step.id], step.label, step.screw) for step in product.steps]
    precedence = [(ids[a], ids[b]) for a, b in product.precedence]
    reduced = TaskGraph.from_steps(steps, precedence).reduction()
    return TaskGraph.from_steps(steps, reduced.precedence, f"toy {toy_id(product)}")


def graph_record(product: Product) -> dict[str, Any]:
    """The task graph as the authors store it."""
    graph = graph_of(product)
    nodes: list[dict[str, Any]] = [
        {"id": _NODES[end], "data": {"label": end}} for end in (START, END)
    ]
    nodes += [
        {"id": step.id, "data": {"checked": step.fastening, "label": step.label}}
        for step in graph.steps
    ]
    edges = [{"source": _NODES.get(a, a), "target": _NODES.get(b, b)} for a, b in graph.edges]
    toy = toy_id(product)
    return {"toy_id": toy, "nodes": nodes, "edges": edges, "filepath_image": f"{toy}-all.png"}


def question_record(asked: ToyQuestion, recording: Recording) -> dict[str, Any]:
    """A question as the authors store it."""
    return {
        "toy_id": recording.toy_id,
        "sequence_id": recording.sequence,
        "video": {"start": recording.start, "end": asked.end},
        "question": asked.question,
        "answers": list(asked.answers),
        "question_type": asked.question_type,
        "multimodal": asked.multimodal,
        "procedural": True,
        "source": "machine",
    }


def annotation_csv(world: World) -> str:
    """The steps as Assembly101 annotates them, frame numbers at 30 frames a second."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for action in steps_of(world):
        fault = fault_of(world, action)
        label = "mistake" if fault else "correct" if action.kind == "attach" else "correction"
        start = math.floor(action.start * FRAME_RATE)
        end = math.ceil(action.end * FRAME_RATE)
        remark = REMARKS[fault.kind] if fault else ""
        writer.writerow([start, end, action.kind, *joint_of(world, action), label, remark])
    return text.getvalue()


def write_recording(recording: Recording, out: Path, fps: int, crf: int) -> None:
    """The recording's video and step annotations."""
    video = out / "recordings" / recording.sequence / f"{DEFAULT_VIEW}.mp4"
    write_video(video, recording.pictures, fps=fps, crf=crf)
    annotations = out / "annots" / f"{recording.sequence}.csv"
    annotations.parent.mkdir(parents=True, exist_ok=True)
    annotations.write_text(annotation_csv(recording.world), encoding="utf-8")


def write_toys(toys: Sequence[Product], out: Path) -> None:
    """Task graphs and parts pictures."""
    _write_json(out / "graph/all.json", [graph_record(toy) for toy in toys])
    for toy in toys:
        path = out / "parts" / f"{toy_id(toy)}-all.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts_image(toy).save(path, "PNG", optimize=True)


def write_questions(recordings: Sequence[Recording], out: Path) -> int:
    """All questions, in the order of the recordings and of time; returns their number."""
    records = [
        question_record(asked, recording)
        for recording in recordings
        for asked in sorted(recording.questions, key=lambda q: q.end)
    ]
    _write_json(out / "all_v1.json", records)
    return len(records)


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")
