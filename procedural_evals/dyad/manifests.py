"""The cleaned records and manifests as JSON lines, and the published counts they must have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from procedural_evals.dyad.records import Corpus, Session, counts
from procedural_evals.dyad.response import response_manifest
from procedural_evals.dyad.steps import step_tracks
from procedural_evals.dyad.vocabulary import MODES
from procedural_evals.dyad.windows import mode_manifest

#: DYAD (arXiv 2609.09023), tables IV, V and VII. The step counts lack one unlabelled interval.
PUBLISHED_COUNTS = {
    "sessions": 20,
    "participants": 20,
    "steps": 528,
    "step labels": 527,
    "requests": 611,
    "assistance": 851,
    "mode labels": 850,
    "verbal": 619,
    "physical": 231,
    "initiation labels": 850,
    "performer_requested": 580,
    "helper_initiated": 270,
    "hard stops": 135,
    "outcome labels": 827,
    "effective": 812,
    "ineffective": 3,
    "unnecessary": 12,
    "triggers": 756,
    "trigger out_of_reach": 172,
    "trigger cannot_find_part": 124,
    "trigger cannot_decide_next_step": 123,
    "trigger wrong_part": 96,
    "trigger ordering_violation": 63,
    "trigger wrong_orientation": 63,
    "trigger wrong_screwdriver": 57,
    "trigger stabilization_needed": 36,
    "trigger missed_screw": 22,
    "step gear_on_shaft": 108,
    "step bearing_in_holder": 96,
    "step second_holder": 89,
    "step first_holder": 87,
    "step part_search": 83,
    "step shaft_assembly_in_post": 28,
    "step attach_crank": 20,
    "step verify_rotation": 16,
    "mode examples": 829,
    "mode examples verbal": 610,
    "mode examples physical": 219,
    "response pairs": 376,
    "response pairs development": 120,
    "response pairs test": 256,
}


def benchmark_counts(corpus: Corpus) -> dict[str, int]:
    """`records.counts` and how many examples each benchmark has."""
    found = counts(corpus)
    modes = [example.mode for example in mode_manifest(corpus).examples]
    found["mode examples"] = len(modes)
    for mode in MODES:
        found[f"mode examples {mode}"] = modes.count(mode)
    splits = [pair.split for pair in response_manifest(corpus).pairs]
    found["response pairs"] = len(splits)
    for split in ("development", "test"):
        found[f"response pairs {split}"] = splits.count(split)
    return found


def count_differences(corpus: Corpus) -> list[str]:
    """How the recorded corpus differs from the published counts; empty for a simulated one."""
    if not corpus.task.recorded:
        return []
    found = benchmark_counts(corpus)
    return [
        f"{name}: {found[name]}, published {published}"
        for name, published in PUBLISHED_COUNTS.items()
        if found[name] != published
    ]


def write_manifests(corpus: Corpus, folder: str | Path) -> dict[str, int]:
    """Write everything that cleaning gives as JSON lines; return the number of lines a file.

    sessions, steps, requests, assistance: the clean records. changes: what cleaning changed.
    mode: eligible events with their windows. mode_folds: participants. mode_left_out,
    response_left_out: event and reason. step_track: session, time, label. response: pairs with
    their context.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    mode, response = mode_manifest(corpus), response_manifest(corpus)
    reasons = ("event_id", "reason")
    files: dict[str, Iterable[dict[str, Any]]] = {
        "sessions": map(_about, corpus.sessions),
        "steps": (asdict(step) for session in corpus.sessions for step in session.steps),
        "requests": (asdict(r) for session in corpus.sessions for r in session.requests),
        "assistance": (asdict(e) for session in corpus.sessions for e in session.assistance),
        "changes": map(asdict, corpus.changes),
        "mode": map(asdict, mode.examples),
        "mode_folds": ({"fold": i, **fold._asdict()} for i, fold in enumerate(mode.folds)),
        "mode_left_out": (dict(zip(reasons, pair, strict=True)) for pair in mode.left_out),
        "step_track": (
            {"session": track.session, "split": track.split, "time": time, "label": label}
            for track in step_tracks(corpus)
            for time, label in zip(track.times, track.labels, strict=True)
        ),
        "response": map(asdict, response.pairs),
        "response_left_out": (dict(zip(reasons, pair, strict=True)) for pair in response.left_out),
    }
    written = {}
    for name, rows in files.items():
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (target / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        written[name] = len(lines)
    return written


def _about(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "participant": session.participant,
        "clock_origin": session.clock_origin,
        "frames": int(session.frame_times.size),
        "duration": session.duration,
    }
