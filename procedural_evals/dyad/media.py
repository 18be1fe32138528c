"""Whether a session's video is there and shows its frames when the annotations say it does.

Windows are cut by frame times; a video that runs on another clock would show frames from behind
the boundary. So the check is part of the leakage contract, not only of a download's.
"""

from __future__ import annotations

import numpy as np

from procedural_evals import video
from procedural_evals.dyad import layout
from procedural_evals.dyad.records import Session


def video_problem(session: Session) -> str | None:
    """What is wrong with the session's ego video, or None: missing, damaged, or on another clock.

    The video must have as many frames as there are frame times, and each within half a frame of
    its time, both counted from the first frame.
    """
    path = session.folder / layout.VIDEO
    if not path.is_file():
        return f"missing: {path}"
    if session.frame_times.size == 0:
        return f"{path.parent / layout.FRAME_TIMES} is missing, so nothing ties the video to time"
    try:
        shown = video.frame_times(path)
    except video.VideoError as error:
        return str(error)
    taken = session.frame_times - session.frame_times[0]
    if shown.size != taken.size:
        return f"{path} has {shown.size} frames for {taken.size} times in {layout.FRAME_TIMES}"
    off = np.abs(shown - taken)
    half = 0.5 * float(np.median(np.diff(taken))) if taken.size > 1 else 0.0
    worst = int(off.argmax())
    if off[worst] > half:
        return (
            f"{path}: frame {worst} is shown at {shown[worst]:.3f} s, but was taken at "
            f"{taken[worst]:.3f} s after the first one"
        )
    return None
