"""Makes simulated DYAD corpora: performers of different skill, one helper, one gearbox."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from . import options
from .difficulty import Difficulty
from .dyad_layout import (
    Truth,
    defects_of,
    true_session,
    write_session,
    write_task,
    write_truth,
)
from .dyad_world import DyadWorld, make_dyad_world

FPS = 4
SAMPLE_SESSIONS = 10
SAMPLE_SEED = 4
SAMPLE_SIZE = (224, 126)
SAMPLE_DIFFICULTY = Difficulty(
    look_alikes=1.0, occlusion=0.2, cuts=0.0, camera_motion=0.0, length=0.0, mistakes=0.1,
    hesitation=0.09,
)  # fmt: skip
#: Every so many sessions the camera stops before the helper's last words.
_EARLY_END = 4


@dataclass(frozen=True)
class DyadSummary:
    """What was written: numbers of sessions, requests and interventions (all, by mode), bytes."""

    sessions: int
    requests: int
    assistance: int
    by_mode: dict[str, int]
    bytes: int


def dyad_world(
    number: int, sessions: int, seed: int = 0, difficulty: Difficulty | None = None
) -> DyadWorld:
    """World of one session of a corpus; no other one has to be made for it.

    Skills are spread evenly over the performers, in random order.
    """
    order = list(range(sessions))
    random.Random(f"skills/{seed}").shuffle(order)
    skill = round((order[number] + 0.5) / sessions, 3)
    early = number % _EARLY_END == _EARLY_END - 1
    return make_dyad_world(1000 * seed + number, difficulty, seed, skill, early)


def dyad_truth(
    sessions: int = SAMPLE_SESSIONS,
    seed: int = 0,
    difficulty: Difficulty | str | None = None,
    fps: int = FPS,
) -> list[tuple[DyadWorld, Truth]]:
    """The worlds of a corpus and what is true of them; nothing is written or rendered."""
    level = options.difficulty_of(difficulty)
    found = []
    for n in range(sessions):
        world = dyad_world(n, sessions, seed, level)
        name, person = f"s{n + 1:02d}", f"p{n + 1:02d}"
        found.append((world, true_session(world, name, person, fps, defects_of(n, sessions))))
    return found


def simulate_dyad(
    out_dir: str | Path,
    sessions: int = SAMPLE_SESSIONS,
    seed: int = 0,
    difficulty: Difficulty | str | None = None,
    size: tuple[int, int] | None = (448, 252),
    fps: int = FPS,
    sensors: Callable[[int], float | None] | float | None = 10.0,
    progress: bool = False,
) -> DyadSummary:
    """Write a simulated DYAD: raw session exports with their usual defects, video, and the truth.

    Parameters
    ----------
    out_dir
        A folder that does not exist yet or is empty.
    sessions
        How many, each with a performer of its own; five folds need five at least.
    seed
        Another seed is another gearbox and other people; the same arguments give the same files.
    difficulty
        A `Difficulty` or the name of one of `PRESETS`: `mistakes` and `hesitation` say how often
        help is needed, `length` adds a bearing, `occlusion` is the thickness of the arms.
    size
        Width and height of the pictures, even; None writes no video.
    fps
        Pictures a second.
    sensors
        Rate of hands, gaze and head pose in Hz, or a function from a session's number (0-based) to
        it; None writes none.
    progress
        Show a progress bar.

    Raises
    ------
    ValueError
        If the folder holds something already, or there is no session or frame to write.
    ImportError
        Without pybullet (extra `simulate`), which the reference picture needs as well.
    """
    out, level = options.empty_folder(out_dir), options.difficulty_of(difficulty)
    if sessions < 1 or fps < 1:
        raise ValueError(f"simulate_dyad: sessions={sessions} and fps={fps}; at least 1 is needed")
    out.mkdir(parents=True, exist_ok=True)
    found = dyad_truth(sessions, seed, level, fps)
    write_task(out, found[0][0])
    bar = tqdm(found, desc="sessions", unit="session", disable=not progress)
    for n, (world, truth) in enumerate(bar):
        rate = sensors(n) if callable(sensors) else sensors
        write_session(out, world, truth, defects_of(n, sessions), size, rate)
    truths = [truth for _, truth in found]
    write_truth(out, truths)
    made = {
        "sessions": sessions,
        "seed": seed,
        "difficulty": level,
        "skills": {truth.participant: world.skill for world, truth in found},
        "size": size,
        "fps": fps,
    }
    options.write_note(out, made, made_up="people, words and truth")
    modes = Counter(str(event.mode) for truth in truths for event in truth.assistance)
    return DyadSummary(
        sessions=sessions,
        requests=sum(len(truth.requests) for truth in truths),
        assistance=modes.total(),
        by_mode=dict(sorted(modes.items())),
        bytes=options.folder_bytes(out),
    )


def sample_sensors(number: int) -> float | None:
    """The sample has hands, gaze and head pose, at a low rate, of its first session only."""
    return 2.0 if number == 0 else None


def make_dyad_sample(out_dir: str | Path, progress: bool = True) -> DyadSummary:
    """Make the embedded sample of DYAD; an older one in the folder is replaced.

    A folder that holds anything but a simulation is left alone.
    """
    return simulate_dyad(
        options.cleared_folder(out_dir),
        sessions=SAMPLE_SESSIONS,
        seed=SAMPLE_SEED,
        difficulty=SAMPLE_DIFFICULTY,
        size=SAMPLE_SIZE,
        fps=FPS,
        sensors=sample_sensors,
        progress=progress,
    )
