"""The folder that DYAD is read from: file names, columns, clocks, and the reading of raw rows.

The recordings are not public; this layout is ours. The simulated world writes it, and a real
export is brought into it by renaming files and columns, defects included: `clean` repairs those.

    DATA/
      task.json              the procedure, and whether the data were recorded or simulated
      reference.png          picture of the finished gearbox (named in task.json)
      splits.json            optional: groups and development sessions, instead of the rules
      sessions/
        s01/                 one folder a session; its name is the session's id
          session.json       participant and clock
          steps.csv          annotation layer: task steps
          requests.csv       annotation layer: what the performer asked
          assistance.csv     annotation layer: how the helper helped
          ego_rgb_times.csv  when each frame of the ego video was taken
          ego_rgb.mp4        optional (large): egocentric RGB
          hands.npz          optional: hand joints
          gaze.npz           optional: gaze rays
          head_pose.npz      optional: head poses

Folders and files whose names begin with a dot are passed over. All text is UTF-8.

`task.json`: an object with

- `recorded`: true for the real corpus (its published counts are then checked), false for a
  simulated one;
- `procedure`, `parts`, `common_errors`: lists of strings, the structured context of the response
  task (the procedure in its order);
- `reference_image`: file name below DATA, or null.

`splits.json` (optional): an object with either or both of

- `mode_groups`: a list of lists of participants, disjoint and complete, one list a fold; fold i
  tests group i, validates on group i + 1 and trains on the rest;
- `development_sessions`: the sessions of the step task's validation split and of the response
  task's development split; all other sessions are test.

`session.json`: an object with

- `participant`: the performer's name, a string;
- `recording_start`: what the session's clock showed at session time 0, as a clock text, or null.

The three layers and the frame times are CSV files with a header line (comma, double quotes around
cells with commas or line ends). The order of columns and rows does not matter; other columns are
left out and reported. There are no event ids in an export.

| file | columns |
|---|---|
| steps.csv | start, end, step, objects, tool |
| requests.csv | start, end, utterance, confidence |
| assistance.csv | start, end, mode, initiation, hard_stop, trigger, objects, utterance, outcome |
| ego_rgb_times.csv | frame, time |

- `start`, `end`, `time`: a clock text `H:MM:SS.fff` or `MM:SS.fff` (up to six decimals, a comma
  will do) or plain seconds `12.5`. A file most of whose times lie at one hour or later has an
  absolute-style clock, and `recording_start` is taken off; without a `recording_start` the first
  frame's time is, if the frames have the absolute-style clock too. Every other file is relative
  already. A session is shorter than an hour, and no event begins before its recording.
- `frame`: 0, 1, 2, ... without a hole; frame n is the n-th picture of ego_rgb.mp4. The times
  rise. The video's own presentation times, counted from its first frame, follow these times,
  counted from theirs, to within half a frame.
- `step`, `mode`, `initiation`, `trigger`, `outcome`: labels of `vocabulary`, spelled in whatever
  way; `hard_stop`: true or false (yes, no, 1, 0).
- `objects`: names, separated by semicolons. `tool`, `utterance`: text. `confidence`: 0 to 1.
- Null: an empty cell, or one of null, none, n/a, na, nan (in free text only null). Every field may
  be null but `frame` and `time`.

The arrays are NumPy `.npz` files (no pickles), each with `times` float64 [n], seconds on the
session's clock (relative, or absolute-style by the same rule), rising, and

| file | arrays |
|---|---|
| hands.npz | joints float32 [n, 2, 26, 4, 4]: left and right hand, 26 joints, 4 x 4 poses |
| gaze.npz | origin float32 [n, 3], direction float32 [n, 3] |
| head_pose.npz | pose float32 [n, 4, 4] |
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

TASK, SPLITS, SESSIONS, SESSION = "task.json", "splits.json", "sessions", "session.json"
STEPS, REQUESTS, ASSISTANCE = "steps.csv", "requests.csv", "assistance.csv"
FRAME_TIMES, VIDEO = "ego_rgb_times.csv", "ego_rgb.mp4"

COLUMNS: dict[str, tuple[str, ...]] = {
    STEPS: ("start", "end", "step", "objects", "tool"),
    REQUESTS: ("start", "end", "utterance", "confidence"),
    ASSISTANCE: (
        "start",
        "end",
        "mode",
        "initiation",
        "hard_stop",
        "trigger",
        "objects",
        "utterance",
        "outcome",
    ),
    FRAME_TIMES: ("frame", "time"),
}
#: Array files, their arrays, and each array's shape behind the axis of times.
SENSORS: dict[str, dict[str, tuple[int, ...]]] = {
    "hands.npz": {"joints": (2, 26, 4, 4)},
    "gaze.npz": {"origin": (3,), "direction": (3,)},
    "head_pose.npz": {"pose": (4, 4)},
}


class RawRow(NamedTuple):
    """A row of a CSV file: its number (1 is the first below the header), cells, and cells too many.

    A cell that the row is too short for is None.
    """

    number: int
    cells: dict[str, str | None]
    surplus: tuple[str, ...]


class RawLayer(NamedTuple):
    """The rows of a CSV file, and the columns that the layout does not know."""

    rows: tuple[RawRow, ...]
    unknown: tuple[str, ...]


def session_folders(root: Path) -> list[Path]:
    """The session folders below DATA, by name; FileNotFoundError when there are none."""
    home = root / SESSIONS
    found = sorted(p for p in home.glob("*") if p.is_dir() and not p.name.startswith("."))
    if not found:
        raise FileNotFoundError(
            f"{home} holds no session folders; a DYAD folder has {TASK} and {SESSIONS}/<id>/ with "
            f"{SESSION}, {STEPS}, {REQUESTS}, {ASSISTANCE} and {FRAME_TIMES}"
        )
    return found


def read_object(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """The JSON object of a file, which has these keys; ValueError names the file and the key."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not JSON in UTF-8: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: an object is needed, not {type(value).__name__}")
    for key in keys:
        if key not in value:
            raise ValueError(f"{path}: no {key!r}; its keys are {', '.join(keys)}")
    return value


def read_layer(path: Path) -> RawLayer:
    """The rows of one of the CSV files, as written; header names without case and outer space.

    FileNotFoundError for a missing file, ValueError for one without a column that it must have.
    """
    columns = COLUMNS[path.name]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} is missing; a layer without events is a file with the header "
            f"{','.join(columns)} alone"
        ) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not CSV in UTF-8: {error}") from None
    header = [name.strip().lower().replace(" ", "_") for name in lines[0]] if lines else []
    missing = [name for name in columns if header.count(name) != 1]
    if missing:
        raise ValueError(
            f"{path}: column {missing[0]!r} is needed once; the header has {', '.join(header)}"
        )
    rows = []
    for number, line in enumerate(lines[1:], 1):
        cells: dict[str, str | None] = dict.fromkeys(columns)
        cells.update((name, cell) for name, cell in zip(header, line, strict=False))
        rows.append(
            RawRow(number, {name: cells[name] for name in columns}, tuple(line[len(header) :]))
        )
    return RawLayer(tuple(rows), tuple(name for name in header if name not in columns))
