"""A small raw DYAD export with every kind of defect, beside the truth that cleaning must find.

The truth is made first, as clean records; the export is then written from it, one defect after the
other. Nothing here uses the code that cleans.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from procedural_evals.dyad.records import Assistance, Request, StepInterval

COLUMNS = {
    "steps.csv": ["start", "end", "step", "objects", "tool"],
    "requests.csv": ["start", "end", "utterance", "confidence"],
    "assistance.csv": [
        "start",
        "end",
        "mode",
        "initiation",
        "hard_stop",
        "trigger",
        "objects",
        "utterance",
        "outcome",
    ],
}
STEPS = [
    "first_holder",
    "bearing_in_holder",
    "gear_on_shaft",
    "part_search",
    "second_holder",
    "shaft_assembly_in_post",
    "attach_crank",
    "verify_rotation",
]
PHYSICAL_NEEDS = ["out_of_reach", "stabilization_needed"]
SPOKEN_NEEDS = [
    "cannot_find_part",
    "cannot_decide_next_step",
    "wrong_part",
    "ordering_violation",
    "wrong_orientation",
    "wrong_screwdriver",
    "missed_screw",
]
# Ways in which an export writes the same label.
VARIANTS = {
    "verbal": ["verbal", "Verbal", "verbal guidance", "VERBAL"],
    "physical": ["physical", "Physical Help", "physical-help", "phisical"],
    "out_of_reach": ["out_of_reach", "Out of reach", "out of raech"],
    "stabilization_needed": ["stabilization needed", "Stabilisation needed"],
    "cannot_find_part": ["cannot find part", "Can't find part", "cannot_find_part"],
    "performer_requested": ["performer_requested", "Performer-requested", "performer requested"],
    "helper_initiated": ["helper_initiated", "Helper-initiated", "helper intiated"],
    "effective": ["effective", "Effective", "efective"],
    "ineffective": ["ineffective", "inefective"],
    "gear_on_shaft": ["gear on shaft", "Gear on Shaft", "gear_on_shaft"],
}
TRUTHS = {True: ["true", "Yes", "1"], False: ["false", "no", "0"]}
FPS = 5
DURATION = 400


@dataclass
class Truth:
    """The clean records of one session, and how its export shows time."""

    id: str
    participant: str
    origin: float
    steps: list[StepInterval] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    assistance: list[Assistance] = field(default_factory=list)


def event_id(session: str, kind: str, start: float | None) -> str:
    """The documented id: session, layer, and start in milliseconds."""
    return f"{session}-{kind}-" + ("none" if start is None else f"{round(start * 1000):07d}")


def true_session(number: int, people: int, rng: random.Random) -> Truth:
    """A session of steps one after the other, needs for help, questions and answers."""
    session = f"s{number + 1:02d}"
    truth = Truth(session, f"p{number % people + 1:02d}", 0.0)
    time = 2.0
    while time < DURATION - 45:
        step = rng.choice(STEPS)
        end = round(time + rng.uniform(15, 40), 3)
        truth.steps.append(
            StepInterval(
                event_id(session, "step", time),
                session,
                time,
                end,
                step,
                ("gear", "shaft") if step == "gear_on_shaft" else None,
                "screwdriver" if "holder" in step else None,
            )
        )
        time = round(end + rng.choice([0.0, 1.5]), 3)
    time = 6.0
    while time < DURATION - 12:
        # Physical help comes late in a session, so that the past tells something.
        physical = rng.random() < (0.1 if time < DURATION / 2 else 0.7)
        needs = PHYSICAL_NEEDS if physical == (rng.random() < 0.95) else SPOKEN_NEEDS
        asked = rng.random() < 0.7
        onset = round(time + rng.uniform(3, 5), 3)
        if asked:
            truth.requests.append(
                Request(
                    event_id(session, "request", time),
                    session,
                    time,
                    round(time + 2, 3),
                    f"question at {time}?",
                    round(rng.uniform(0.5, 1), 2),
                )
            )
        truth.assistance.append(
            Assistance(
                event_id(session, "assistance", onset),
                session,
                onset,
                round(onset + 3, 3),
                "physical" if physical else "verbal",
                "performer_requested" if asked else "helper_initiated",
                rng.random() < 0.2,
                rng.choice(needs),
                ("crank",) if physical else None,
                None if physical else f"answer at {onset}.",
                "effective",
            )
        )
        time = round(time + rng.uniform(9, 16), 3)
    return truth


def clock(seconds: float, origin: float, rng: random.Random) -> str:
    """A clock text in one of the ways of an export."""
    micro = round(seconds * 1e6) + round(origin * 1e6)
    whole, rest = divmod(micro, 1_000_000)
    fraction = f"{rest:06d}".rstrip("0")
    hours, minutes, left = whole // 3600, whole // 60 % 60, whole % 60
    text = f"{hours}:{minutes:02d}:{left:02d}"
    if not hours and rng.random() < 0.3:
        text = f"{minutes}:{left:02d}"
    return text + (rng.choice([".", ","]) + fraction if fraction else "")


def cell(name: str, value: Any, origin: float, rng: random.Random) -> str:
    """A value as an export writes it."""
    if value is None:
        return rng.choice(["", "", "null"] + (["N/A"] if name in ("mode", "trigger") else []))
    if name in ("start", "end"):
        return clock(value, origin, rng)
    if name == "objects":
        return rng.choice(["; ", ";"]).join(value)
    if isinstance(value, bool):
        return rng.choice(TRUTHS[value])
    if name == "utterance":
        return rng.choice(["", " "]) + value
    return rng.choice(VARIANTS.get(value, [value])) if isinstance(value, str) else str(value)


def write_layer(path: Path, rows: list[dict[str, str]], extra: str | None = None) -> None:
    """Rows as CSV, with a column of another tool's when `extra` names one."""
    columns = COLUMNS[path.name] + ([extra] if extra else [])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="x")
        writer.writeheader()
        writer.writerows(rows)


def add_special_events(truth: Truth) -> None:
    """Events with nulls: no labels, no times, a need outside the taxonomy."""
    session = truth.id
    truth.assistance += [
        Assistance(
            event_id(session, "assistance", 200.25),
            session,
            200.25,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ),
        Assistance(
            event_id(session, "assistance", None),
            session,
            None,
            None,
            "verbal",
            "helper_initiated",
            False,
            "wrong_part",
            None,
            "somewhere",
            "ineffective",
        ),
    ]
    truth.requests.append(
        Request(event_id(session, "request", None), session, None, 77.5, None, None)
    )
    truth.steps.append(
        StepInterval(event_id(session, "step", 395.0), session, 395.0, 399.0, None, None, None)
    )


def sort_truth(truth: Truth) -> None:
    """By start, null starts last."""
    for layer in (truth.steps, truth.requests, truth.assistance):
        layer.sort(key=lambda event: (event.start is None, event.start or 0.0))


def write_export(
    root: Path,
    sessions: int = 10,
    people: int | None = None,
    seed: int = 0,
    row_seed: int = 0,
    recorded: bool = False,
) -> dict[str, Truth]:
    """Write the export below `root` and return its truth by session.

    `seed` decides what happened, `row_seed` only how it is written down. Session s01 has an
    absolute-style clock with its recording_start, s02 one whose start only the frames show; s03
    has the malformed duplicate, an exact duplicate and an unknown column.
    """
    rng, pen = random.Random(seed), random.Random(1000 + row_seed)
    truths = [true_session(i, people or sessions, rng) for i in range(sessions)]
    truths[0].origin, truths[1].origin = 50_526.25, 36_000.0
    add_special_events(truths[2])
    root.mkdir(parents=True, exist_ok=True)
    about = {
        "recorded": recorded,
        "procedure": ["insert the bearings", "put the gears on the shaft", "attach the crank"],
        "parts": ["holder", "shaft", "crank"],
        "common_errors": ["gears swapped"],
        "reference_image": "reference.png",
    }
    (root / "task.json").write_text(json.dumps(about))
    (root / "reference.png").write_bytes(b"picture")
    for number, truth in enumerate(truths):
        sort_truth(truth)
        folder = root / "sessions" / truth.id
        folder.mkdir(parents=True, exist_ok=True)
        start = clock(0.0, truth.origin, pen) if number == 0 else None
        (folder / "session.json").write_text(
            json.dumps({"participant": truth.participant, "recording_start": start})
        )
        with (folder / "ego_rgb_times.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["frame", "time"])
            for frame in range(DURATION * FPS):
                writer.writerow([frame, f"{frame / FPS + truth.origin:.3f}"])
        layers = (truth.steps, truth.requests, truth.assistance)
        for name, events in zip(COLUMNS, layers, strict=True):
            rows = [
                {
                    key: cell(key, value, truth.origin, pen)
                    for key, value in dataclasses.asdict(event).items()
                    if key in COLUMNS[name]
                }
                for event in events
            ]
            if number == 2 and name == "assistance.csv":
                unlabelled = next(i for i, e in enumerate(events) if e.start == 200.25)
                rows[unlabelled]["trigger"] = "needs a coffee"
                rows += [
                    # The malformed duplicate: same onset, an end nobody can read, labels lost.
                    {**rows[0], "end": "??:??", "mode": "", "outcome": "null"},
                    dict(rows[1]),
                ]
            pen.shuffle(rows)
            extra = "annotator" if number == 2 and name == "assistance.csv" else None
            write_layer(folder / name, rows, extra)
    return {truth.id: truth for truth in truths}
