"""The optional arrays of a session (hands, gaze, head pose), on the session's clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from procedural_evals.dyad import layout
from procedural_evals.dyad.records import Session

Arrays = dict[str, NDArray[Any]]


def load_sensor(
    session: Session, name: str, start: float | None = None, end: float | None = None
) -> Arrays | None:
    """The arrays of `hands`, `gaze` or `head_pose` with `times` in [start, end), or None.

    Args:
        session: whose folder holds `<name>.npz`.
        name: hands, gaze or head_pose.
        start: seconds on the session's clock; the beginning, by default.
        end: seconds; nothing at or after it comes back. The end of the recording, by default.

    Returns:
        None when the session has no such file; otherwise `times` float64 [n] and the arrays of
        `layout.SENSORS`, cut to those times.

    Raises:
        ValueError: an array is missing or has another shape, or the times do not rise.
    """
    file = f"{name}.npz"
    if file not in layout.SENSORS:
        known = ", ".join(key.removesuffix(".npz") for key in layout.SENSORS)
        raise ValueError(f"sensor: {name!r}; there are {known}")
    path = session.folder / file
    if not path.is_file():
        return None
    shapes = layout.SENSORS[file]
    with np.load(path, allow_pickle=False) as archive:
        missing = [key for key in ("times", *shapes) if key not in archive.files]
        if missing:
            raise ValueError(f"{path}: no array {missing[0]!r}; it holds {archive.files}")
        arrays: Arrays = {key: archive[key] for key in ("times", *shapes)}
    times = arrays["times"] = np.asarray(arrays["times"], np.float64)
    for key, shape in shapes.items():
        if times.ndim != 1 or arrays[key].shape != (times.size, *shape):
            raise ValueError(f"{path}: {key} is {arrays[key].shape} for times {times.shape}")
    if times.size and not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise ValueError(f"{path}: times must be finite and rise")
    if times.size and times[0] >= 3600:
        if not session.clock_origin:
            raise ValueError(f"{path}: absolute-style times, and the session has no clock origin")
        arrays["times"] = times = np.round(times - session.clock_origin, 6)
    ends = [-np.inf if start is None else start, np.inf if end is None else end]
    first, stop = np.searchsorted(times, ends, side="left")
    return {key: array[first:stop] for key, array in arrays.items()}
