"""From a raw export to clean records, with a list of every change (DYAD, section III-B).

What is done, in the order of the rules that the changes name:

- "column": a column that the layout does not know is left out.
- "null": a word for null becomes null. Nulls stay: nothing is imputed, no row is dropped for them.
- "white space": outer space of a free text is removed.
- "spelling": a label in another spelling becomes the label of the vocabulary.
- "vocabulary": a trigger outside the nine becomes null, because a null trigger is a need outside
  the taxonomy. In the other vocabularies such a text is a problem.
- "clock": times on an absolute-style clock become times since the start of the recording; the
  session keeps its clock's origin.
- "duplicate": a row that repeats another row, or is a damaged or poorer copy of it, is removed.
- "malformed": (only without `strict`) what cannot be read is left out, with the reason.

Then each event gets an id from its session, layer and start, so that it does not depend on the
order of rows, on spelling, or on what else was repaired.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from procedural_evals.dyad import layout
from procedural_evals.dyad.cells import HOUR, microseconds
from procedural_evals.dyad.layers import CLOCK, COLUMN, LAYERS, Ledger, clean_layer, is_absolute
from procedural_evals.dyad.records import Corpus, Session, Task
from procedural_evals.sources import inside

_SHOWN = 20


def load_corpus(root: str | Path, strict: bool = True) -> Corpus:
    """Read and clean a folder in DYAD's layout (see `layout`).

    Args:
        root: the data folder.
        strict: whether what no rule repairs is an error; otherwise it is left out and listed
            among the changes.

    Raises:
        FileNotFoundError: the folder, a layer or a session's description is missing.
        ValueError: a file cannot be read at all, or, when strict, the list of problems: file,
            row, field, value and reason of each.
    """
    home = Path(root)
    if not home.is_dir():
        raise FileNotFoundError(f"{home} is no folder; DYAD's layout is described in dyad.layout")
    ledger = Ledger(home, strict)
    task = _task(home)
    sessions = tuple(_session(ledger, folder) for folder in layout.session_folders(home))
    groups, development = _splits(home, sessions)
    if ledger.problems:
        shown = "\n".join(f"  {problem}" for problem in ledger.problems[:_SHOWN])
        more = len(ledger.problems) - _SHOWN
        tail = f"\n  and {more} more" if more > 0 else ""
        hint = "correct them, or read with strict=False to leave what is malformed out"
        raise ValueError(f"{home}: {len(ledger.problems)} problems; {hint}:\n{shown}{tail}")
    return Corpus(home, task, sessions, tuple(ledger.changes), groups, development)


def _session(ledger: Ledger, folder: Path) -> Session:
    path = folder / layout.SESSION
    about = layout.read_object(path, ("participant", "recording_start"))
    participant = about["participant"]
    if not isinstance(participant, str) or not participant.strip():
        raise ValueError(f"{path}: participant is {participant!r}; give the performer's name")
    frames = _frame_times(ledger, folder / layout.FRAME_TIMES)
    origin = _origin(ledger, path, about["recording_start"], frames)
    relative = np.array(frames, np.int64)
    if is_absolute(frames) and origin is not None:
        relative -= origin
        before, after = frames[0] / 1e6, float(relative[0] / 1e6)
        ledger.change(folder / layout.FRAME_TIMES, None, "time", before, after, CLOCK)
    if relative.size and not (relative[0] >= 0 and relative[-1] < HOUR):
        reason = "frames do not lie within the hour from the start of the recording"
        ends = [float(relative[0] / 1e6), float(relative[-1] / 1e6)]
        ledger.problem(folder / layout.FRAME_TIMES, None, "time", ends, reason)
        relative = relative[:0]
    steps, requests, assistance = (
        clean_layer(ledger, folder / name, folder.name, origin) for name in LAYERS
    )
    return Session(
        id=folder.name,
        participant=participant.strip(),
        clock_origin=(origin or 0) / 1e6,
        folder=folder,
        frame_times=relative / 1e6,
        steps=steps,
        requests=requests,
        assistance=assistance,
    )


def _origin(ledger: Ledger, path: Path, written: Any, frames: Sequence[int]) -> int | None:
    """What the session's clock showed at time 0, in microseconds, or None when nothing says."""
    if written is not None:
        value = microseconds(str(written))
        if value is None:
            raise ValueError(f"{path}: recording_start is {written!r}; give H:MM:SS.fff or null")
        return value
    if is_absolute(frames):
        ledger.change(path, None, "recording_start", None, frames[0] / 1e6, CLOCK)
        return frames[0]
    return None


def _frame_times(ledger: Ledger, path: Path) -> list[int]:
    """Microseconds of each frame on the export's clock; empty when the file is not there."""
    if not path.is_file():
        return []
    raw = layout.read_layer(path)
    for column in raw.unknown:
        ledger.change(path, None, column, column, None, COLUMN)
    times: list[int] = []
    for row in sorted(raw.rows, key=lambda r: _frame_number(r.cells["frame"])):
        number, text = row.cells["frame"], row.cells["time"]
        if _frame_number(number) != len(times):
            reason = f"frame {len(times)} is missing, or another one stands twice"
            ledger.problem(path, row.number, "frame", number, reason)
            return []
        value = microseconds(text or "")
        if value is None or (times and value <= times[-1]):
            ledger.problem(path, row.number, "time", text, "no time later than the frame before")
            return []
        times.append(value)
    return times


def _frame_number(text: str | None) -> int:
    word = (text or "").strip()
    return int(word) if word.isdecimal() else -1


def _task(root: Path) -> Task:
    path = root / layout.TASK
    keys = ("recorded", "procedure", "parts", "common_errors", "reference_image")
    about = layout.read_object(path, keys)
    if not isinstance(about["recorded"], bool):
        raise ValueError(f"{path}: recorded is {about['recorded']!r}; true or false is needed")
    image = about["reference_image"]
    if image is not None:
        inside(root, str(image))
    return Task(
        recorded=about["recorded"],
        procedure=_strings(path, about, "procedure"),
        parts=_strings(path, about, "parts"),
        common_errors=_strings(path, about, "common_errors"),
        reference_image=None if image is None else str(image),
    )


def _strings(path: Path, about: dict[str, Any], name: str) -> tuple[str, ...]:
    value = about[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{path}: {name} is {value!r:.60}; a list of strings is needed")
    return tuple(value)


def _splits(
    root: Path, sessions: Sequence[Session]
) -> tuple[tuple[tuple[str, ...], ...] | None, tuple[str, ...] | None]:
    """Groups of participants and development sessions, as far as the data folder names them."""
    path = root / layout.SPLITS
    if not path.is_file():
        return None, None
    about = layout.read_object(path, ())
    groups = None
    if "mode_groups" in about:
        groups = tuple(
            _strings(path, {"mode_groups": group}, "mode_groups") for group in about["mode_groups"]
        )
        members = sorted(name for group in groups for name in group)
        people = sorted({session.participant for session in sessions})
        if members != people:
            raise ValueError(
                f"{path}: mode_groups must hold each participant once; it holds "
                f"{', '.join(members)}, the sessions {', '.join(people)}"
            )
    development = None
    if "development_sessions" in about:
        development = _strings(path, about, "development_sessions")
        unknown = sorted(set(development) - {session.id for session in sessions})
        if unknown:
            raise ValueError(f"{path}: development_sessions names no session: {unknown}")
    return groups, development
