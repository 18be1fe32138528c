"""Writes simulated sessions in DYAD's layout (`procedural_evals.dyad.layout`), and their truth.

The truth are clean records. The export is written from it the way that a real one looks: labels in
all spellings, words for null, rows in any order, two sessions on an absolute-style clock, copies of
rows one of which is damaged, events after the camera's end. Nothing here uses the code that cleans.

    truth/steps.jsonl, requests.jsonl, assistance.jsonl    the clean records
    truth/mode.jsonl        each intervention with a label and a complete window, and that window
    truth/response.jsonl    each request with the spoken intervention that answers it
"""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from procedural_evals.dyad import layout
from procedural_evals.dyad.records import Assistance, Request, StepInterval
from procedural_evals.dyad.vocabulary import VERBAL

from . import dyad_film
from .dyad_gearbox import COLOURS, COMMON_ERRORS, PROCEDURE
from .dyad_world import DyadWorld
from .media import write_jpeg, write_video

REFERENCE = "reference.jpg"
#: How strongly the video is compressed (x264, lower is better).
VIDEO_CRF = 35
#: What is wrong with an export, in the order of the sessions that have it.
DEFECTS = (
    "absolute clock",
    "absolute clock without its start",
    "copies",
    "nulls",
    "no duration",
    "foreign column",
    "unknown label",
)
_ORIGINS = {"absolute clock": 50_526.25, "absolute clock without its start": 36_000.0}
#: How often annotators leave a field empty.
_EMPTY = 0.04


@dataclass(frozen=True)
class Window:
    """The window of an intervention with a mode: seconds [start, end), frames [first, stop)."""

    event_id: str
    session: str
    participant: str
    mode: str
    start: float
    end: float
    first_frame: int
    stop_frame: int


@dataclass(frozen=True)
class Answer:
    """A request and the spoken intervention that answers it."""

    id: str
    assistance_id: str
    question: str
    reference: str


@dataclass(frozen=True)
class Truth:
    """One session as it was: clean records by start (null starts last), windows, answers.

    `origin` is what the export's clock shows at time 0; `frames` how many pictures there are.
    """

    id: str
    participant: str
    origin: float
    fps: int
    frames: int
    steps: tuple[StepInterval, ...]
    requests: tuple[Request, ...]
    assistance: tuple[Assistance, ...]
    windows: tuple[Window, ...]
    answers: tuple[Answer, ...]

    def label(self, second: int) -> str | None:
        """The step that goes on at a whole second."""
        going = [
            step
            for step in self.steps
            if step.start is not None and step.end is not None and step.start <= second < step.end
        ]
        return going[-1].step if going else None


def event_id(session: str, kind: str, start: float | None) -> str:
    """An event's id: session, layer, and start in milliseconds.

    >>> event_id("s01", "request", 3.45)
    's01-request-0003450'
    """
    return f"{session}-{kind}-" + ("none" if start is None else f"{round(start * 1000):07d}")


def defects_of(number: int, sessions: int) -> frozenset[str]:
    """What is wrong with the export of the session of that number (0-based).

    >>> sorted(defects_of(2, 10)), sorted(defects_of(0, 6))
    (['copies'], ['absolute clock', 'unknown label'])
    """
    return frozenset(name for n, name in enumerate(DEFECTS) if n % sessions == number)


def true_session(
    world: DyadWorld, session: str, participant: str, fps: int, defects: frozenset[str]
) -> Truth:
    """What annotators would write down of a session, nulls included."""
    rng = random.Random(f"annotator/{world.video_id}")

    def some(value: Any) -> Any:
        return None if rng.random() < _EMPTY else value

    origin = next((o for name, o in _ORIGINS.items() if name in defects), 0.0)
    steps = [
        StepInterval(event_id(session, "step", i.start), session, i.start, i.end, i.step,
                     some(i.objects), i.tool)
        for i in world.intervals
    ]  # fmt: skip
    requests = [
        Request(event_id(session, "request", r.start), session, r.start, r.end, r.text,
                some(round(rng.uniform(0.55, 1), 2)))
        for r in world.requests
    ]  # fmt: skip
    helps = [
        Assistance(event_id(session, "assistance", h.start), session, h.start, h.end, h.mode,
                   h.initiation, h.hard_stop, h.trigger, some(h.objects), h.text, some(h.outcome))
        for h in world.helps
    ]  # fmt: skip
    reply_to = [h.reply_to for h in world.helps]
    if "nulls" in defects:
        k = len(helps) // 2
        helps[k] = Assistance(helps[k].id, session, helps[k].start, *[None] * 8)
        requests[0] = replace(requests[0], id=event_id(session, "request", None), start=None)
        steps[1] = replace(steps[1], step=None)
    if "no duration" in defects:
        helps[0] = replace(helps[0], end=helps[0].start)
        helps[1] = replace(helps[1], end=None)
    frames = len(dyad_film.frame_times(world, fps))
    answers = [
        Answer(requests[k].id, event.id, str(requests[k].utterance), event.utterance)
        for event, k in zip(helps, reply_to, strict=True)
        if k is not None and event.mode == VERBAL and event.utterance is not None
    ]
    return Truth(
        id=session,
        participant=participant,
        origin=origin,
        fps=fps,
        frames=frames,
        steps=tuple(steps),
        requests=tuple(sorted(requests, key=lambda r: (r.start is None, r.start or 0.0))),
        assistance=tuple(helps),
        windows=tuple(_windows(helps, session, participant, fps, frames)),
        answers=tuple(answers),
    )


def _windows(
    helps: Iterable[Assistance], session: str, participant: str, fps: int, frames: int
) -> Iterable[Window]:
    for event in helps:
        if event.start is None or event.mode is None or event.start > (frames - 1) / fps:
            continue
        start, end = round(event.start - 3.5, 6), round(event.start - 0.5, 6)
        if start >= 0:
            first, stop = (math.ceil(round(t * fps, 6)) for t in (start, end))
            yield Window(event.id, session, participant, event.mode, start, end, first, stop)


# The export ---------------------------------------------------------------------------------------


def write_task(out: Path, world: DyadWorld) -> None:
    """task.json and the picture of the finished gearbox."""
    with dyad_film.EgoRenderer(world, (320, 180)) as renderer:
        write_jpeg(out / REFERENCE, renderer.frame(world.duration, people=False).rgb)
    titles = {part.title for part in world.product.parts}
    about = {
        "recorded": False,
        "procedure": list(PROCEDURE),
        "parts": [f"{title} ({COLOURS[title][0]})" for title in COLOURS if title in titles],
        "common_errors": list(COMMON_ERRORS),
        "reference_image": REFERENCE,
    }
    (out / layout.TASK).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def write_session(
    out: Path,
    world: DyadWorld,
    truth: Truth,
    defects: frozenset[str],
    size: tuple[int, int] | None,
    sensors: float | None,
) -> None:
    """One session folder; without a size no video, without a rate (Hz) no hands, gaze and head."""
    folder = out / layout.SESSIONS / truth.id
    folder.mkdir(parents=True)
    pen = _Pen(truth, random.Random(f"pen/{world.video_id}"))
    known = "absolute clock" in defects
    about = {
        "participant": truth.participant,
        "recording_start": pen.clock(0.0) if known else None,
    }
    (folder / layout.SESSION).write_text(json.dumps(about) + "\n", encoding="utf-8")
    _write_csv(
        folder / layout.FRAME_TIMES,
        [
            {"frame": str(n), "time": f"{n / truth.fps + truth.origin:.3f}"}
            for n in range(truth.frames)
        ],
    )
    layers: dict[str, Sequence[StepInterval | Request | Assistance]] = {
        layout.STEPS: truth.steps,
        layout.REQUESTS: truth.requests,
        layout.ASSISTANCE: truth.assistance,
    }
    for name, events in layers.items():
        rows = [pen.row(name, asdict(event)) for event in events]
        if name == layout.ASSISTANCE:
            _spoil(rows, defects, pen)
        pen.rng.shuffle(rows)
        _write_csv(folder / name, rows)
    if size is not None:
        pictures = dyad_film.film(world, size, truth.fps)
        write_video(folder / layout.VIDEO, pictures, fps=truth.fps, crf=VIDEO_CRF)
    if sensors is not None:
        _write_sensors(folder, world, truth, sensors)


def _spoil(rows: list[dict[str, str]], defects: frozenset[str], pen: _Pen) -> None:
    if "unknown label" in defects:
        # The closing words have no trigger; this annotator gave them one of his own.
        rows[-1]["trigger"] = "wants reassurance"
    if "copies" in defects:
        # The first one is malformed: its end lies before its start, and labels are lost.
        early = {**rows[0], "end": "0:00:00.010", "mode": "", "outcome": "null"}
        rows += [early, dict(rows[1])]
    if "foreign column" in defects:
        for row in rows:
            row["annotator"] = pen.rng.choice(("A", "B"))


class _Pen:
    """Writes values as an export has them."""

    def __init__(self, truth: Truth, rng: random.Random) -> None:
        self.origin, self.rng = truth.origin, rng

    def row(self, layer: str, values: dict[str, Any]) -> dict[str, str]:
        """The cells of one event."""
        return {name: self.cell(name, values[name]) for name in layout.COLUMNS[layer]}

    def cell(self, name: str, value: Any) -> str:
        """A value as text."""
        if value is None:
            # In free text "N/A" would be words.
            labels = ["N/A", "none"] if name in ("mode", "trigger", "outcome") else []
            return self.rng.choice(["", "", "null", *labels])
        if name in ("start", "end"):
            return self.clock(value)
        if name == "objects":
            return self.rng.choice(("; ", ";")).join(value)
        if isinstance(value, bool):
            return self.rng.choice(("true", "Yes", "1") if value else ("false", "no", "0"))
        if name in ("step", "mode", "initiation", "trigger", "outcome"):
            return self.label(value)
        if name == "utterance":
            return self.rng.choice(("", "", " ")) + str(value)
        return str(value)

    def clock(self, seconds: float) -> str:
        """A time as a clock text or in plain seconds."""
        hundredths = round((seconds + self.origin) * 100)
        whole, rest = divmod(hundredths, 100)
        point = self.rng.choice((".", ".", ","))
        if self.rng.random() < 0.2:
            return f"{whole}.{rest:02d}"
        text = f"{whole // 60 % 60:02d}:{whole % 60:02d}{point}{rest:02d}"
        return text if whole < 3600 and self.rng.random() < 0.4 else f"{whole // 3600}:{text}"

    def label(self, label: str) -> str:
        """A label in another spelling, now and then with a letter left out."""
        words = label.split("_")
        if self.rng.random() < 0.08:
            k = self.rng.randrange(3, len(label) - 1)
            return label[:k] + label[k + 1 :]
        return self.rng.choice(
            (label, label, " ".join(words), " ".join(words).capitalize(), "-".join(words),
             " ".join(words).title() + " ")
        )  # fmt: skip


def _write_csv(path: Path, rows: Sequence[dict[str, str]]) -> None:
    columns = list(layout.COLUMNS[path.name])
    columns += [name for name in (rows[0] if rows else {}) if name not in columns]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_sensors(folder: Path, world: DyadWorld, truth: Truth, rate: float) -> None:
    times = [n / rate for n in range(math.floor(world.recorded * rate) + 1)]
    clock = np.array(times) + truth.origin
    origin, direction = dyad_film.gaze_rays(world, times)
    arrays: dict[str, dict[str, Any]] = {
        "hands.npz": {"joints": dyad_film.hand_joints(world, times)},
        "gaze.npz": {"origin": origin, "direction": direction},
        "head_pose.npz": {"pose": dyad_film.head_poses(world, times)},
    }
    for name, found in arrays.items():
        np.savez_compressed(folder / name, times=clock, **found)


def write_truth(out: Path, truths: Sequence[Truth]) -> None:
    """The clean records, windows and answers of all sessions as JSON lines."""
    folder = out / "truth"
    folder.mkdir()
    for name in ("steps", "requests", "assistance", "windows", "answers"):
        rows = [asdict(item) for truth in truths for item in getattr(truth, name)]
        file = {"windows": "mode", "answers": "response"}.get(name, name)
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / f"{file}.jsonl").write_text("".join(lines), encoding="utf-8")
