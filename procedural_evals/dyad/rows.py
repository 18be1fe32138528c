"""The corpus as rows of three tables: one a second, one an intervention, one a question.

A row holds what its task may show, what it is scored by, and bookkeeping. What a task withholds
(for an intervention its trigger, initiation, outcome, words and step) has no column at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from procedural_evals.dyad import layout
from procedural_evals.dyad.records import Corpus
from procedural_evals.dyad.response import (
    ContextStep,
    PastIntervention,
    ResponseContext,
    Turn,
    response_manifest,
)
from procedural_evals.dyad.splits import DEVELOPMENT, TEST
from procedural_evals.dyad.steps import lookback, step_tracks
from procedural_evals.dyad.windows import mode_manifest

Row = dict[str, Any]

VALIDATION = "validation"
#: Name of each split of the protocol as `datasets` calls it.
SPLITS = {DEVELOPMENT: VALIDATION, TEST: TEST}


def video_file(session: str) -> str:
    """The ego video of the session with this id, as a path below the data folder."""
    return f"{layout.SESSIONS}/{session}/{layout.VIDEO}"


def step_rows(corpus: Corpus) -> dict[str, list[Row]]:
    """A row for each whole second of each session, by split; `label` is None where none is known.

    `frames` are the numbers of the four frames that may be shown, oldest first; without frame
    times there are none. Clip times are seconds of the video.
    """
    rows: dict[str, list[Row]] = {name: [] for name in SPLITS.values()}
    for track in step_tracks(corpus):
        session = corpus.session(track.session)
        taken = session.frame_times
        for time, label in zip(track.times, track.labels, strict=True):
            frames = lookback(session, time) if taken.size else ()
            first = float(taken[frames[0]]) if frames else time
            rows[SPLITS[track.split]].append(
                {
                    "id": f"{session.id}-second-{round(time * 1000):07d}",
                    "session": session.id,
                    "participant": session.participant,
                    "time": time,
                    "label": label,
                    "clip_start": session.video_time(first),
                    "clip_end": session.video_time(time),
                    "frames": list(frames),
                }
            )
    return rows


def mode_rows(corpus: Corpus) -> dict[str, list[Row]]:
    """A row for each eligible intervention, all in the split test; `fold` is the one that tests it.

    The frames that may be shown are [first_frame, stop_frame). `start` and `end` are the window on
    the session's clock, the clip times are the same in seconds of the video.
    """
    rows = [
        {
            "id": example.event_id,
            "session": example.session,
            "participant": example.participant,
            "fold": example.fold,
            "mode": example.mode,
            "start": example.start,
            "end": example.end,
            "clip_start": example.clip_start,
            "clip_end": example.clip_end,
            "first_frame": example.first_frame,
            "stop_frame": example.stop_frame,
        }
        for example in mode_manifest(corpus).examples
    ]
    return {TEST: rows}


def response_rows(corpus: Corpus) -> dict[str, list[Row]]:
    """A row for each question that was answered in words, by split.

    `start` and `end` say when it was asked, on the session's clock; the clip times are the same in
    seconds of the video.
    """
    rows: dict[str, list[Row]] = {name: [] for name in SPLITS.values()}
    for pair in response_manifest(corpus).pairs:
        session = corpus.session(pair.session)
        context = pair.context
        rows[SPLITS[pair.split]].append(
            {
                "id": pair.id,
                "assistance_id": pair.assistance_id,
                "session": pair.session,
                "participant": pair.participant,
                "start": pair.start,
                "end": pair.end,
                "clip_start": None if pair.start is None else session.video_time(pair.start),
                "clip_end": session.video_time(pair.end),
                "question": context.question,
                "answers": [pair.reference],
                "procedure": list(context.procedure),
                "parts": list(context.parts),
                "common_errors": list(context.common_errors),
                "steps": [
                    {"step": s.step, "status": s.status, "objects": _list(s.objects)}
                    for s in context.steps
                ],
                "dialogue": [{"speaker": t.speaker, "text": t.text} for t in context.dialogue],
                "interventions": [
                    {"trigger": p.trigger, "objects": _list(p.objects)}
                    for p in context.interventions
                ],
                "reference_image": context.reference_image,
            }
        )
    return rows


def _list(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _tuple(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def context_of(row: Mapping[str, Any]) -> ResponseContext:
    """The context of a row of the response table, back from its columns."""
    return ResponseContext(
        procedure=tuple(row["procedure"]),
        parts=tuple(row["parts"]),
        common_errors=tuple(row["common_errors"]),
        steps=tuple(
            ContextStep(s["step"], s["status"], _tuple(s["objects"])) for s in row["steps"]
        ),
        dialogue=tuple(Turn(t["speaker"], t["text"]) for t in row["dialogue"]),
        interventions=tuple(
            PastIntervention(p["trigger"], _tuple(p["objects"])) for p in row["interventions"]
        ),
        reference_image=row["reference_image"],
        question=row["question"],
    )


#: The tables by name.
TABLES: dict[str, Callable[[Corpus], dict[str, list[Row]]]] = {
    "steps": step_rows,
    "mode": mode_rows,
    "response": response_rows,
}


def annotation_files(root: Path) -> Iterator[Path]:
    """The files below a data folder that rows are made from, media left out."""
    names = (layout.TASK, layout.SPLITS)
    yield from (root / name for name in names if (root / name).is_file())
    parts = (layout.SESSION, layout.STEPS, layout.REQUESTS, layout.ASSISTANCE, layout.FRAME_TIMES)
    for folder in layout.session_folders(root):
        yield from (folder / name for name in parts if (folder / name).is_file())


def annotation_digest(root: Path) -> str:
    """First 12 hex digits of a SHA-256 over the annotation files' names and bytes."""
    digest = hashlib.sha256()
    for file in annotation_files(root):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:12]
