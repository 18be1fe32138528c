"""Makes a simulated ProMQA-Assembly: toys, filmed while they are assembled, and asked about."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from .difficulty import Difficulty
from .media import Picture
from .options import cleared_folder, difficulty_of, empty_folder, folder_bytes, write_note
from .promqa_layout import Recording, graph_of, write_questions, write_recording, write_toys
from .promqa_questions import Moment, ToyQuestion, ask, findings, moments
from .promqa_toys import TOYS, make_toy_world
from .promqa_truth import Truth
from .promqa_verify import verify
from .promqa_words import FORMS, Finding, answers
from .render import Renderer
from .world import World

#: Question types in the order of the benchmark's table.
TYPES = tuple(dict.fromkeys(form.question_type for form in FORMS.values()))

#: Width and height of the recordings: the shape of Assembly101's.
SIZE = (384, 216)

SAMPLE_SEED = 16
SAMPLE_DIFFICULTY = Difficulty(
    look_alikes=0.3, occlusion=0.15, cuts=0.0, camera_motion=0.0, length=0.2, mistakes=0.18,
    hesitation=0.05,
)  # fmt: skip


@dataclass(frozen=True)
class ToySummary:
    """What was written: numbers of toys, recordings, questions (all and by type) and bytes."""

    toys: int
    recordings: int
    questions: int
    by_type: dict[str, int]
    bytes: int


@dataclass(frozen=True)
class _Candidate:
    """Something that could be asked."""

    moment: Moment
    form: str
    part: str
    found: Finding

    @property
    def side(self) -> str:
        """The first word of its answers: with a blind guess the sides are equally often right."""
        return f"{self.form} {answers(self.form, self.found, 0)[0].split()[0]}"


class Chooser:
    """Picks questions so that types, forms and sides come up equally often in one benchmark."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._types, self._forms, self._sides = Counter[str](), Counter[str](), Counter[str]()
        self._answers = Counter[str]()

    def pick(self, world: World, count: int, fps: int) -> list[ToyQuestion]:
        """Up to `count` questions about a recording at `fps` frames a second."""
        candidates = list(_candidates(world, fps, self.rng))
        chosen: list[ToyQuestion] = []
        moments_used = Counter[float]()
        while candidates and len(chosen) < count:
            rare = min(self._types[FORMS[c.form].question_type] for c in candidates)
            allowed = [c for c in candidates if self._types[FORMS[c.form].question_type] == rare]
            best = min(allowed, key=lambda c: (*self._rank(c, moments_used), self.rng.random()))
            candidates = [c for c in candidates if (c.form, c.part) != (best.form, best.part)]
            variant = self._forms[best.form] % len(FORMS[best.form].wordings)
            asked = ask(best.moment, best.form, best.part, best.found, variant)
            chosen.append(asked)
            self._types[asked.question_type] += 1
            self._forms[asked.form] += 1
            self._sides[best.side] += 1
            self._answers[best.found.this.part if best.found.this else ""] += 1
            moments_used[best.moment.end] += 1
        return sorted(chosen, key=lambda asked: asked.end)

    def _rank(self, candidate: _Candidate, used: Counter[float]) -> tuple[int, int, int, int]:
        about = candidate.found.this
        return (
            self._sides[candidate.side],
            self._forms[candidate.form],
            self._answers[about.part if about else ""],
            used[candidate.moment.end],
        )


def _candidates(world: World, fps: int, rng: random.Random) -> Iterator[_Candidate]:
    for moment in moments(world, fps, rng):
        for form, part, found in findings(moment):
            yield _Candidate(moment, form, part, found)


def film(world: World, size: tuple[int, int], fps: int) -> list[Picture]:
    """Pictures of a whole session, uint8 [h, w, 3] each, the first at 0 s."""
    with Renderer(world, size) as renderer:
        return [renderer.frame(n / fps).rgb for n in range(world.frame_count(fps))]


def simulate_promqa(
    out_dir: str | Path,
    products: int | Sequence[str] = TOYS,
    seed: int = 0,
    difficulty: Difficulty | str | None = None,
    size: tuple[int, int] = SIZE,
    recordings_per_product: int = 2,
    questions_per_recording: int = 4,
    fps: int = 2,
    crf: int = 31,
    progress: bool = False,
) -> ToySummary:
    """Write a simulated ProMQA-Assembly: graphs, parts pictures, recordings, verified questions.

    Parameters
    ----------
    out_dir
        A folder that does not exist yet or is empty.
    products
        Kinds of toys (`TOYS`), or a number of toys, kinds in turn.
    seed
        Another seed is another benchmark; the same arguments give the same files.
    difficulty
        A `Difficulty`, or the name of a preset. `mistakes` decides how much there is to ask about;
        `cuts` and `camera_motion` have no effect, since Assembly101's cameras stand still.
    size
        Width and height of the recordings, even; Assembly101's are 16:9, and 4:3 fits as well.
    recordings_per_product
        How often each toy is assembled.
    questions_per_recording
        How many to ask at most.
    fps, crf
        Frames a second of the recordings, and x264's quality (lower is better).
    progress
        Show a progress bar.

    Raises
    ------
    ValueError
        If the folder holds something already, or for numbers and names that make no benchmark.
    ImportError
        Without pybullet (extra `simulate`).
    """
    kinds = (
        [TOYS[n % len(TOYS)] for n in range(products)]
        if isinstance(products, int)
        else list(products)
    )
    counts = (len(kinds), recordings_per_product, questions_per_recording, fps)
    if min(counts) < 1:
        raise ValueError(
            f"simulate_promqa: {len(kinds)} toys, {recordings_per_product} recordings, "
            f"{questions_per_recording} questions, {fps} frames a second; each is at least 1"
        )
    out, level = empty_folder(out_dir), difficulty_of(difficulty)
    recordings = plan(kinds, seed, level, recordings_per_product, questions_per_recording, fps)
    for recording in tqdm(recordings, desc="recordings", unit="video", disable=not progress):
        pictures = film(recording.world, size, fps)
        write_recording(replace(recording, pictures=pictures), out, fps, crf)
    toys = [recording.world.product for recording in recordings[::recordings_per_product]]
    write_toys(toys, out)
    count = write_questions(recordings, out)
    options = {
        "products": kinds,
        "seed": seed,
        "size": list(size),
        "recordings_per_product": recordings_per_product,
        "questions_per_recording": questions_per_recording,
        "fps": fps,
        "difficulty": level,
    }
    write_note(out, options)
    types = Counter(asked.question_type for r in recordings for asked in r.questions)
    return ToySummary(
        toys=len(toys),
        recordings=len(recordings),
        questions=count,
        by_type={name: types[name] for name in TYPES},
        bytes=folder_bytes(out),
    )


def plan(
    kinds: Sequence[str], seed: int, level: Difficulty, sessions: int, questions: int, fps: int
) -> list[Recording]:
    """Recordings without pictures, each toy's sessions in a row; all questions are verified."""
    chooser = Chooser(random.Random(f"promqa/{seed}"))
    recordings: list[Recording] = []
    for n, kind in enumerate(kinds):
        # Another toy of the same kind is another product; sessions have seeds of their own.
        product = 100 * seed + list(kinds[:n]).count(kind)
        for k in range(sessions):
            session = 1000 * seed + sessions * n + k
            world = make_toy_world(kind, session, level, product)
            truth = Truth.watch(world, graph_of(world.product))
            asked = chooser.pick(world, questions, fps)
            for one in asked:
                verify(one, truth)
            recordings.append(Recording(world, len(recordings) + 1, asked))
    return recordings


def make_promqa_sample(out_dir: str | Path, progress: bool = True) -> ToySummary:
    """Make the embedded sample of ProMQA-Assembly; an older one in the folder is replaced.

    A folder that holds anything but a simulation is left alone.
    """
    return simulate_promqa(
        cleared_folder(out_dir),
        seed=SAMPLE_SEED,
        difficulty=SAMPLE_DIFFICULTY,
        questions_per_recording=3,
        progress=progress,
    )
