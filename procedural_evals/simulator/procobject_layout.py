"""Writes simulated sessions the way the authors of ProcObject-10K lay out theirs.

    data/testing.json, data/training.json     questions with clips and evidence
    videos/Simulated/<video>.mp4              frame n shows the session at n / fps seconds

Each video shows a session from its start until two seconds after the one clip that is asked about:
a product is assembled and, in an inset, a jar is filled, dyed, closed and emptied. Evidence is in
seconds from the clip's start. `view` is given, because no corpus of the authors has these videos.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import inset, options
from .catalogue import KINDS
from .difficulty import Difficulty
from .inset import Picture
from .media import write_video
from .object_states import make_jar
from .procobject_questions import TYPES, Asker, Clip, ObjectQuestion, best_clip, choose
from .procobject_verify import Watcher, verify
from .render import Renderer
from .sample import Summary
from .world import World, make_world

CORPUS = "Simulated"
DOMAIN = "Assembly & Technology"
FPS = 2
#: Seconds that a clip lasts at least and at most.
SHORTEST, LONGEST = 14.0, 30.0
_AFTER = 2.0  # seconds that are filmed after the clip, so that a clip's end is not the file's

SAMPLE_KINDS = ("side table", "shelf", "chair", "stool")
SAMPLE_SEED = 4
SAMPLE_SIZE = (320, 240)
SAMPLE_DIFFICULTY = Difficulty(
    look_alikes=0.5, occlusion=0.2, cuts=0.0, camera_motion=0.0, length=0.2, mistakes=0.2,
    hesitation=0.05,
)  # fmt: skip


@dataclass(frozen=True)
class ObjectFilm:
    """A filmed session: its pictures, the clip that is asked about, and the questions.

    Frame n, uint8 [h, w, 3], shows the session at n / clip.fps seconds.
    """

    pictures: Sequence[Picture]
    clip: Clip
    questions: Sequence[ObjectQuestion]

    @property
    def video_path(self) -> str:
        """Where the video lies below `videos/`."""
        return f"{CORPUS}/{self.clip.world.video_id}.mp4"


def film_objects(
    world: World,
    size: tuple[int, int] = (400, 300),
    fps: int = FPS,
    questions: int = 5,
    rng: random.Random | None = None,
    asked: Counter[str] | None = None,
) -> ObjectFilm:
    """Pick a clip of a session, ask about it and render it with a jar; every answer is checked.

    Parameters
    ----------
    world
        The session.
    size
        Width and height, even numbers.
    fps
        Frames a second; evidence is exact to the frame.
    questions
        How many to ask at most.
    rng, asked
        Chance and the count of what was asked, to be shared between the sessions of one benchmark.

    Raises
    ------
    RuntimeError
        If what the pictures show does not give the answer or the evidence of a question.
    """
    chance = rng or random.Random(f"objects/{world.video_id}")
    jar = make_jar(world.duration, chance)
    clip = best_clip(world, jar, fps, chance, SHORTEST, LONGEST)
    counts = Counter[str]() if asked is None else asked
    chosen = choose(Asker(clip).all(), questions, chance, counts)
    frames = min(world.frame_count(fps), round((clip.end + _AFTER) * fps))
    with Renderer(world, size) as renderer:
        times = [n / fps for n in range(frames)]
        pictures = [inset.add(renderer.frame(t).rgb, jar, t) for t in times]
    watcher = Watcher(world, pictures, fps)
    for question in chosen:
        fault = verify(question, clip, watcher)
        if fault:
            raise RuntimeError(f"{world.video_id}: {fault}")
    return ObjectFilm(pictures, clip, chosen)


def record(film: ObjectFilm, question: ObjectQuestion, number: int) -> dict[str, Any]:
    """One entry of a split's file, with the authors' keys and `view`."""
    clip = film.clip
    return {
        "id": number,
        "qa_type": question.question_type,
        "reasoning": question.reasoning,
        "source": CORPUS,
        "view": "Exocentric",
        "domain": DOMAIN,
        "task": f"Assemble {clip.world.product.kind.title()}",
        "video_path": film.video_path,
        "clip_start": clip.start,
        "clip_end": clip.end,
        "question": question.question,
        "answer": question.answer,
        "evidence": [[a - clip.start, b - clip.start] for a, b in question.evidence],
    }


def simulate_procobject(
    out_dir: str | Path,
    test: int | Sequence[str] = KINDS,
    train: int | Sequence[str] = (),
    seed: int = 0,
    difficulty: Difficulty | str | None = None,
    size: tuple[int, int] = (400, 300),
    fps: int = FPS,
    questions_per_clip: int = 5,
    progress: bool = False,
) -> Summary:
    """Write a simulated ProcObject-10K: videos, clips, and questions with exact evidence.

    Parameters
    ----------
    out_dir
        A folder that does not exist yet or is empty.
    test, train
        Kinds of products (`KINDS`), one video each, for either split; or a number of videos, kinds
        in turn. No session is in both.
    seed
        Another seed is another benchmark; the same arguments give the same files.
    difficulty
        A `Difficulty`, or the name of one of `PRESETS`.
    size
        Width and height of the pictures, even; 4:3 fits the camera.
    fps
        Frames a second.
    questions_per_clip
        How many to ask at most.
    progress
        Show a progress bar.

    Raises
    ------
    ValueError
        If the folder holds something already, or there is nothing to write.
    ImportError
        Without pybullet (extra `simulate`).
    """
    out, level = options.empty_folder(out_dir), options.difficulty_of(difficulty)
    kinds = {"training": options.kinds_of(train), "testing": options.kinds_of(test)}
    sessions = [(split, kind) for split, names in kinds.items() for kind in names]
    if not sessions or fps < 1 or questions_per_clip < 1:
        raise ValueError(
            f"simulate_procobject: test={test!r}, train={train!r}, fps={fps!r} and "
            f"questions_per_clip={questions_per_clip!r}; at least one of each is needed"
        )
    rng = random.Random(f"objects/{seed}")
    asked = Counter[str]()
    rows: dict[str, list[dict[str, Any]]] = {split: [] for split, names in kinds.items() if names}
    templates = Counter[str]()
    bar = tqdm(sessions, desc="sessions", unit="video", disable=not progress)
    for n, (split, kind) in enumerate(bar):
        world = make_world(kind, 1000 * seed + n, level)
        film = film_objects(world, size, fps, questions_per_clip, rng, asked)
        write_video(out / "videos" / film.video_path, film.pictures, fps=fps)
        for question in film.questions:
            number = sum(map(len, rows.values())) + 1
            rows[split].append(record(film, question, number))
            templates[question.template] += 1
    for split, records in rows.items():
        _write_json(out / f"data/{split}.json", records)
    made = {
        "products": kinds,
        "seed": seed,
        "size": list(size),
        "fps": fps,
        "questions_per_clip": questions_per_clip,
        "difficulty": level,
    }
    options.write_note(out, made)
    types = Counter(TYPES[template] for template in templates.elements())
    return Summary(
        videos=len(sessions),
        questions=templates.total(),
        by_task={name: types[name] for name in dict.fromkeys(TYPES.values())},
        by_template={template: templates[template] for template in TYPES},
        bytes=options.folder_bytes(out),
    )


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def make_procobject_sample(out_dir: str | Path, progress: bool = True) -> Summary:
    """Make the embedded sample of ProcObject-10K; an older one in the folder is replaced.

    A folder that holds anything but a simulation is left alone.
    """
    return simulate_procobject(
        options.cleared_folder(out_dir),
        test=SAMPLE_KINDS,
        seed=SAMPLE_SEED,
        difficulty=SAMPLE_DIFFICULTY,
        size=SAMPLE_SIZE,
        questions_per_clip=5,
        progress=progress,
    )
