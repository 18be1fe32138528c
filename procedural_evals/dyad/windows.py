"""Mode anticipation: the window before an event, whether it is complete, and what a model may see.

For an event with onset t the window is [t - g - w, t - g), w = 3 s and g = 0.5 s (DYAD, section
IV-A). It is half-open: a frame at the boundary t - g is outside, so no pixel of the intervention,
nor of the half second before it, is ever read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from procedural_evals.dyad.records import Corpus, Session
from procedural_evals.dyad.splits import Fold, mode_folds

WIDTH, GAP = 3.0, 0.5
#: A camera that pauses for longer than this (or than 2.5 usual frames) leaves a window incomplete.
LONGEST_PAUSE = 0.2


class Window(NamedTuple):
    """A stretch of a session: seconds [start, end), and its ego frames [first, stop)."""

    start: float
    end: float
    first: int
    stop: int


def window_before(
    session: Session, onset: float | None, width: float = WIDTH, gap: float = GAP
) -> Window | str:
    """The complete window before an onset, or the reason why there is none.

    Complete means: the recording has begun before the window and still runs at the onset, and
    within the window frames follow each other without a pause longer than `LONGEST_PAUSE` or 2.5
    times the session's median frame period, the ends included.
    """
    if width <= 0 or gap < 0:
        raise ValueError(f"width {width} and gap {gap}: seconds above 0, and 0 or more, are needed")
    if onset is None:
        return "no onset"
    times = session.frame_times
    if times.size < 2:
        return "no frame times"
    # Rounded like the times themselves, so that a frame at the boundary is never taken for earlier.
    start, end = round(onset - gap - width, 6), round(onset - gap, 6)
    pause = max(LONGEST_PAUSE, 2.5 * float(np.median(np.diff(times))))
    if start < times[0] - pause or start < 0:
        return "begins before the recording"
    if onset > times[-1]:
        return "onset after the last frame"
    first, stop = (int(i) for i in np.searchsorted(times, [start, end], side="left"))
    edges = np.concatenate(([start], times[first:stop], [end]))
    if float(np.diff(edges).max()) > pause:
        return "frames are missing"
    return Window(start, end, first, stop)


@dataclass(frozen=True)
class ModeExample:
    """One row of the mode manifest.

    Attributes:
        event_id, session, participant, fold: bookkeeping; `fold` is the one that tests this event.
        start, end: the window on the session's clock, seconds, half-open.
        clip_start, clip_end: the same after the video's first frame.
        first_frame, stop_frame: ego frames of the window, half-open.
        mode: the target, verbal or physical.
    """

    event_id: str
    session: str
    participant: str
    fold: int
    start: float
    end: float
    clip_start: float
    clip_end: float
    first_frame: int
    stop_frame: int
    mode: str


@dataclass(frozen=True)
class ModeManifest:
    """All eligible events, the folds, and why the other events are not eligible."""

    examples: tuple[ModeExample, ...]
    folds: tuple[Fold, ...]
    left_out: tuple[tuple[str, str], ...]

    def of(self, participants: tuple[str, ...]) -> Iterator[ModeExample]:
        """The examples of these participants, in the manifest's order."""
        return (example for example in self.examples if example.participant in participants)


def mode_manifest(corpus: Corpus, width: float = WIDTH, gap: float = GAP) -> ModeManifest:
    """The manifest: events with a mode label and a complete window, by session and onset."""
    folds = mode_folds(corpus)
    tested_in = {name: i for i, fold in enumerate(folds) for name in fold.test}
    examples, left_out = [], []
    for session in corpus.sessions:
        for event in session.assistance:
            window = window_before(session, event.start, width, gap)
            if event.mode is None:
                left_out.append((event.id, "no mode label"))
            elif isinstance(window, str):
                left_out.append((event.id, window))
            else:
                examples.append(
                    ModeExample(
                        event_id=event.id,
                        session=session.id,
                        participant=session.participant,
                        fold=tested_in[session.participant],
                        start=window.start,
                        end=window.end,
                        clip_start=session.video_time(window.start),
                        clip_end=session.video_time(window.end),
                        first_frame=window.first,
                        stop_frame=window.stop,
                        mode=event.mode,
                    )
                )
    return ModeManifest(tuple(examples), folds, tuple(left_out))


@dataclass(frozen=True)
class ModeInput:
    """All that a model of the mode task is given: frames of the window and how old they are.

    No label, speech, step, participant or file name has a field here.

    Attributes:
        frames: numbers of the ego frames to show, in order.
        clip_times: their times after the video's first frame, seconds.
        ages: seconds from each frame to the window's end, above 0.
    """

    frames: tuple[int, ...]
    clip_times: tuple[float, ...]
    ages: tuple[float, ...]


def mode_input(session: Session, example: ModeExample, count: int) -> ModeInput:
    """`count` frames spread evenly over the window, the last admissible one always among them."""
    numbers = spread(example.first_frame, example.stop_frame, count)
    times = session.frame_times[numbers]
    return ModeInput(
        frames=tuple(int(n) for n in numbers),
        clip_times=tuple(session.video_time(float(t)) for t in times),
        ages=tuple(round(example.end - float(t), 6) for t in times),
    )


def spread(first: int, stop: int, count: int) -> NDArray[np.int64]:
    """At most `count` numbers of [first, stop), evenly spaced, ending with the last.

    >>> spread(10, 20, 4).tolist(), spread(10, 12, 4).tolist()
    ([12, 14, 17, 19], [10, 11])
    """
    if count < 1 or stop <= first:
        raise ValueError(f"{count} frames of [{first}, {stop}): at least one of at least one")
    n = min(count, stop - first)
    ends = first + np.arange(1, n + 1) * (stop - first) / n
    numbers: NDArray[np.int64] = np.ceil(ends - 1e-9).astype(np.int64) - 1
    return numbers
