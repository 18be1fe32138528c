"""Makes simulated benchmarks: a world for each product, filmed, asked about and written out."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from . import options
from .catalogue import KINDS
from .difficulty import Difficulty
from .flatpack_layout import SCRAMBLE_SEED, Film, write_media, write_questions
from .questions import TEMPLATES, Letters, ask_many, frames_to_show
from .render import Renderer
from .world import World, make_world

#: A part counts as visible from this share of the picture on.
MIN_AREA = 0.001

#: The embedded sample: one product of every kind, seeds chosen so that sessions are short.
SAMPLE_SIZE = (360, 270)
SAMPLE_SEED = 0
SAMPLE_DIFFICULTY = Difficulty(
    look_alikes=0.85, occlusion=0.35, cuts=3.0, camera_motion=0.5, length=0.4, mistakes=0.12,
    hesitation=0.05,
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """What was written: numbers of videos, questions (all, by task and by template) and bytes."""

    videos: int
    questions: int
    by_task: dict[str, int]
    by_template: dict[str, int]
    bytes: int


def film_world(
    world: World,
    size: tuple[int, int] = (400, 300),
    questions: int = 12,
    key_frames: int = 6,
    rng: random.Random | None = None,
    letters: Letters | None = None,
    asked: Counter[str] | None = None,
) -> Film:
    """Render a world at one frame a second and ask about it.

    Parameters
    ----------
    world
        The world to film.
    size
        Width and height, even numbers.
    questions
        How many to ask at most.
    key_frames
        How many frames to annotate at most.
    rng, letters, asked
        Chance, the dealer of right letters and the count of templates, to be shared between worlds
        of one benchmark.
    """
    chance = rng or random.Random(f"questions/{world.video_id}")
    smallest = math.ceil(MIN_AREA * size[0] * size[1])
    with Renderer(world, size) as renderer:
        frames = [renderer.frame(float(n)) for n in range(world.frame_count())]
    visible = {
        n: frozenset(id for id, area in frame.areas().items() if area >= smallest)
        for n, frame in enumerate(frames)
    }
    shown = frames_to_show(world, visible, key_frames)
    asked_now = ask_many(world, shown, questions, chance, letters, asked)
    masks = {
        n: {id: frames[n].mask(id) for id in sorted(parts, key=int)} for n, parts in shown.items()
    }
    return Film(world, [frame.rgb for frame in frames], masks, asked_now)


def simulate_flatpack(
    out_dir: str | Path,
    products: int | Sequence[str] = KINDS,
    seed: int = 0,
    difficulty: Difficulty | str | None = None,
    size: tuple[int, int] = (400, 300),
    questions_per_product: int = 12,
    key_frames: int = 6,
    progress: bool = False,
) -> Summary:
    """Write a simulated Flat-Pack Bench: videos, masks, part graphs and verified questions.

    Parameters
    ----------
    out_dir
        A folder that does not exist yet or is empty.
    products
        Kinds of products (`KINDS`), one video each; or a number of videos, kinds in turn.
    seed
        Another seed is another benchmark; the same arguments give the same files.
    difficulty
        A `Difficulty`, or the name of one of `PRESETS`.
    size
        Width and height of the pictures, even; 4:3 fits the camera.
    questions_per_product, key_frames
        How many questions to ask and frames to annotate, at most, for each video.
    progress
        Show a progress bar.

    Raises
    ------
    ValueError
        If the folder holds something already.
    ImportError
        Without pybullet (extra `simulate`).
    """
    out, level = options.empty_folder(out_dir), options.difficulty_of(difficulty)
    kinds = options.kinds_of(products)
    if not kinds:
        raise ValueError(f"simulate_flatpack: products={products!r} names no product")
    if questions_per_product < 1 or key_frames < 2:
        raise ValueError(
            f"simulate_flatpack: questions_per_product={questions_per_product} and "
            f"key_frames={key_frames}; at least 1 and 2 are needed"
        )
    rng = random.Random(f"simulate/{seed}")
    letters, asked = Letters(rng), Counter[str]()
    films = []
    for n, kind in enumerate(tqdm(kinds, desc="worlds", unit="video", disable=not progress)):
        # Worlds of one benchmark have different seeds, those of another benchmark others again.
        world = make_world(kind, 1000 * seed + n, level)
        film = film_world(world, size, questions_per_product, key_frames, rng, letters, asked)
        write_media(film, out)
        films.append(Film(world, (), film.masks, film.questions))
    count = write_questions(films, out)
    made = {
        "products": kinds,
        "seed": seed,
        "difficulty": level,
        "size": list(size),
        "questions_per_product": questions_per_product,
        "key_frames": key_frames,
        "scramble_seed": SCRAMBLE_SEED,
    }
    options.write_note(out, made)
    tasks = Counter(question.task for film in films for question in film.questions)
    templates = Counter(question.template for film in films for question in film.questions)
    return Summary(
        videos=len(films),
        questions=count,
        by_task=dict(sorted(tasks.items())),
        by_template={t: templates[t] for t in TEMPLATES},
        bytes=options.folder_bytes(out),
    )


def make_flatpack_sample(out_dir: str | Path, progress: bool = True) -> Summary:
    """Make the embedded sample of Flat-Pack Bench; an older one in the folder is replaced.

    A folder that holds anything but a simulation is left alone.
    """
    return simulate_flatpack(
        options.cleared_folder(out_dir),
        products=KINDS,
        seed=SAMPLE_SEED,
        difficulty=SAMPLE_DIFFICULTY,
        size=SAMPLE_SIZE,
        questions_per_product=8,
        key_frames=5,
        progress=progress,
    )
