"""Simulated objects that change: the jar, its picture, and questions whose answers can be seen."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals import registry
from procedural_evals.scores import grounding
from procedural_evals.simulator import inset
from procedural_evals.simulator.difficulty import Difficulty
from procedural_evals.simulator.object_states import (
    ACTIONS,
    Jar,
    JarEvent,
    Look,
    State,
    make_jar,
    travels,
)
from procedural_evals.simulator.procobject_layout import (
    make_procobject_sample,
    simulate_procobject,
)
from procedural_evals.simulator.procobject_questions import (
    MULTI_HOP,
    NEEDLE,
    TEMPLATES,
    TYPES,
    Asker,
    Clip,
    ObjectQuestion,
    best_clip,
    choose,
    on_frames,
)
from procedural_evals.simulator.procobject_verify import Watcher, verify
from procedural_evals.simulator.world import KINDS, World, make_world
from procedural_evals.spans import parse_grounded_answer

LEVEL = Difficulty(cuts=0.0, length=0.3, mistakes=0.3, hesitation=0.05)
FPS = 2


# -- the jar --------------------------------------------------------------------------------------


def after(*actions: str) -> State:
    state = State()
    for action in actions:
        state = state.after(action)
    return state


def test_nothing_gets_into_a_closed_jar() -> None:
    assert after("pour", "drop red", "empty") == State()
    assert State().failure("pour") == State().failure("drop red") == "closed"


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (["open"], "open and empty"),
        (["open", "pour", "pour", "close"], "closed and half full of clear water"),
        (["open", "pour", "drop red", "drop yellow"], "open and a quarter full of orange water"),
        (["open", "drop blue"], "open and empty"),
        (["open", "drop blue", "pour"], "open and a quarter full of blue water"),
        (["open", *["pour"] * 9], "open and full of clear water"),
        (["open", "drop blue", "pour", "empty", "pour"], "open and a quarter full of clear water"),
    ],
)
def test_what_a_jar_looks_like_after_some_actions(actions: list[str], words: str) -> None:
    assert after(*actions).look.words == words


@given(st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_an_action_that_fails_changes_nothing_and_the_others_leave_a_sound_jar(
    actions: list[str],
) -> None:
    state = State()
    for action in actions:
        failure, new = state.failure(action), state.after(action)
        assert (failure is None) or new == state
        assert 0 <= new.level <= 4
        assert (new.look.colour is None) == (new.level == 0)
        state = new


def test_an_unknown_action_is_named() -> None:
    with pytest.raises(ValueError, match="'shake' is not one of open, close"):
        State().after("shake")


def test_a_jar_has_its_state_from_an_events_end_on() -> None:
    jar = Jar(State(), (JarEvent("open", 1.0, 2.0), JarEvent("pour", 3.0, 4.0)))
    assert [jar.state(t).level for t in (0.0, 3.0, 3.99, 4.0)] == [0, 0, 0, 1]
    assert [jar.current(t) for t in (0.99, 1.0, 1.99, 2.0, 3.5)] == [None, 0, 0, None, 1]


def test_without_the_opening_later_pours_fail() -> None:
    jar = Jar(State(), (JarEvent("open", 1.0, 2.0), JarEvent("pour", 3.0, 4.0)))
    assert jar.without(0).state(9.0).look == Look(True, 0, None)
    assert jar.without(1).state(9.0).look == Look(False, 0, None)


@pytest.mark.parametrize("seed", range(8))
def test_a_seeded_jar_is_the_same_again_and_its_events_stay_apart(seed: int) -> None:
    jar = make_jar(60.0, random.Random(seed))
    assert jar == make_jar(60.0, random.Random(seed))
    assert jar != make_jar(60.0, random.Random(seed + 100))
    assert len(jar.events) >= 10
    for event, following in itertools.pairwise(jar.events):
        assert event.end - event.start >= 1.39
        assert following.start - event.end >= 1.49
    assert jar.events[0].start >= 1.5
    assert jar.events[-1].end <= 59.0


def test_the_products_evolution_agrees_with_its_contacts() -> None:
    world = make_world("stool", 1, LEVEL)
    seen = travels(world)
    assert [t.joins for t in seen].count(True) >= len(world.product.steps)
    for travel in seen:
        pair = tuple(sorted((travel.part, travel.target), key=lambda id: (len(id), id)))
        before, then = world.contacts(travel.start - 0.01), world.contacts(travel.end)
        assert (pair in then) == travel.joins
        assert (pair in before) != travel.joins


# -- its picture ----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [54, 86])
def test_the_inset_shows_what_there_is_at_every_time(side: int) -> None:
    for seed, k in itertools.product(range(3), range(110)):
        jar, t = make_jar(55.0, random.Random(seed), mistakes=0.3), k / 2
        seen, state, current = inset.read(inset.draw(jar, t, side)), jar.state(t), jar.current(t)
        assert seen.handled == (current is not None)
        if current is None:
            assert (seen.closed, seen.level, seen.colour) == state.look
            assert (seen.pours, seen.tablet) == (False, None)
        else:
            event = jar.events[current]
            assert seen.pours == (event.action == "pour")
            if t - event.start < 0.6 * (event.end - event.start):
                dye = event.action.removeprefix("drop ")
                assert seen.tablet == (dye if dye != event.action else None)


def test_the_inset_leaves_the_rest_of_the_frame_alone() -> None:
    frame = np.full((120, 160, 3), 90, np.uint8)
    found = inset.add(frame, make_jar(20.0, random.Random(0)), 0.0)
    rows, columns = inset.place(120)
    outside = np.ones((120, 160), bool)
    outside[rows, columns] = False
    assert (found[outside] == 90).all()
    assert (found[rows, columns] != 90).any()
    assert (frame == 90).all()


# -- questions ------------------------------------------------------------------------------------


def watched(world: World, jar: Jar, fps: int = FPS) -> Watcher:
    """Somebody who sees the jar's pictures; the product is seen by its poses."""
    blank = np.zeros((150, 60, 3), np.uint8)
    count = world.frame_count(fps)
    return Watcher(world, [inset.add(blank, jar, n / fps) for n in range(count)], fps)


def session(kind: str, seed: int, fps: int = FPS) -> tuple[Clip, list[ObjectQuestion]]:
    world, rng = make_world(kind, seed, LEVEL), random.Random(seed)
    clip = best_clip(world, make_jar(world.duration, rng), fps, rng, 14.0, 30.0)
    return clip, Asker(clip).all()


@pytest.fixture(scope="module")
def sessions() -> list[tuple[Clip, list[ObjectQuestion]]]:
    return [session(kind, 40 + n) for n, kind in enumerate(KINDS)]


@pytest.mark.parametrize("fps", [1, 2, 5])
@pytest.mark.parametrize(("kind", "seed"), [("shelf", 4), ("chair", 102), ("toy chest", 208)])
def test_every_answer_and_all_evidence_is_to_be_seen(kind: str, seed: int, fps: int) -> None:
    clip, questions = session(kind, seed, fps)
    watcher = watched(clip.world, clip.jar, fps)
    assert len(questions) >= 10
    assert [verify(question, clip, watcher) for question in questions] == [None] * len(questions)


def test_all_that_is_asked_is_to_be_seen_in_other_products_too(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    for clip, questions in sessions:
        watcher = watched(clip.world, clip.jar)
        for question in questions:
            assert verify(question, clip, watcher) is None


def test_all_templates_types_and_reasonings_are_asked(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    asked = [question for _, questions in sessions for question in questions]
    assert {question.template for question in asked} == set(TEMPLATES)
    kinds = {(question.question_type, question.reasoning) for question in asked}
    assert {kind for kind, _ in kinds} == set(TYPES.values())
    assert {kind for kind, reasoning in kinds if reasoning == MULTI_HOP} >= {
        "Precondition Grounding",
        "Object State Evolution",
        "Counterfactual Reasoning",
    }
    assert {kind for kind, reasoning in kinds if reasoning == NEEDLE} == set(TYPES.values())


def test_two_mistakes_with_the_jar_are_two_spans() -> None:
    world = make_world("stool", 1, LEVEL)
    actions = [("pour", 4.0), ("open", 7.0), ("close", 10.0), ("drop red", 13.0)]
    jar = Jar(State(), tuple(JarEvent(action, t, t + 1.5) for action, t in actions))
    clip = Clip(world, jar, 3.0, 20.0, FPS)
    (question,) = (q for q in Asker(clip).all() if q.template == "jar_mistakes")
    assert question.answer == (
        "Water is poured while the lid is on, so that nothing gets in. "
        "The red tablet is dropped while the lid is on, so that it stays outside."
    )
    assert question.evidence == ((4.0, 5.5), (13.0, 14.5))
    assert question.reasoning == MULTI_HOP
    assert verify(question, clip, watched(world, jar)) is None


def test_evidence_lies_in_the_clip_on_frames_and_apart(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    for clip, questions in sessions:
        for question in questions:
            ends = [t for span in question.evidence for t in span]
            assert ends == sorted(set(ends))
            assert clip.start <= ends[0]
            assert ends[-1] <= clip.end
            assert all(t * FPS == round(t * FPS) for t in ends)
            assert (question.reasoning == MULTI_HOP) == (len(question.evidence) > 1)


def test_nothing_is_under_way_at_a_clips_ends(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    for clip, _ in sessions:
        assert clip.whole
        assert 14.0 <= clip.end - clip.start <= 30.0
        for edge in (clip.start, clip.end):
            assert clip.jar.current(edge) is None or edge in {e.start for e in clip.jar.events}


def test_a_session_that_is_too_short_for_a_clip_is_named() -> None:
    world = make_world("stool", 1, LEVEL)
    jar = make_jar(world.duration, random.Random(1))
    with pytest.raises(ValueError, match=world.video_id):
        best_clip(world, jar, FPS, random.Random(1), 500.0, 600.0)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_wrong_answer_or_evidence_off_by_a_frame_is_found(
    sessions: list[tuple[Clip, list[ObjectQuestion]]], template: str
) -> None:
    clip, question = next(
        (clip, q) for clip, questions in sessions for q in questions if q.template == template
    )
    watcher = watched(clip.world, clip.jar)
    (start, end), *others = question.evidence
    other = question.answer.replace("No.", "Yes.") if "No." in question.answer else "Yes. Really."
    for wrong, word in (
        (replace(question, answer=other), "answer"),
        (replace(question, evidence=((start, end + 1 / FPS), *others)), "evidence"),
        (replace(question, evidence=((start - 1 / FPS, end), *others)), "evidence"),
        (replace(question, evidence=((0.0, 0.5), *question.evidence)), "evidence"),
    ):
        assert f"{template}: {word} is" in str(verify(wrong, clip, watcher))


def test_another_jar_than_the_one_shown_is_found(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    clip, questions = sessions[0]
    last = len(clip.jar.events) - 1
    first = clip.events[0]
    shown = watched(clip.world, clip.jar.without(first if first < last else 0))
    asked = [q for q in questions if q.template == "jar_evolution"]
    assert all(verify_or_error(question, clip, shown) for question in asked)


def verify_or_error(question: ObjectQuestion, clip: Clip, watcher: Watcher) -> str | None:
    try:
        return verify(question, clip, watcher)
    except IndexError as error:  # an event that is asked about is not there
        return str(error)


@given(
    st.lists(
        st.tuples(st.integers(0, 4000), st.integers(1, 500)).map(
            lambda pair: (pair[0] / 100, (pair[0] + pair[1]) / 100)
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([1, 2, 4, 5, 10, 25]),
)
def test_a_frame_lies_in_the_evidence_exactly_if_its_time_does(
    spans: list[tuple[float, float]], fps: int
) -> None:
    evidence = on_frames(spans, fps)
    frames = {span: [n for n in range(46 * fps) if span[0] <= n / fps < span[1]] for span in spans}
    if evidence is None:
        assert not all(frames.values())
        return
    expected = sorted(set(itertools.chain(*frames.values())))
    assert [n for n in range(46 * fps) if any(a <= n / fps < b for a, b in evidence)] == expected


def test_the_choice_balances_types_and_asks_nothing_twice(
    sessions: list[tuple[Clip, list[ObjectQuestion]]],
) -> None:
    rng, asked = random.Random(0), Counter[str]()
    chosen = [q for _, questions in sessions for q in choose(questions, 5, rng, asked)]
    assert len(chosen) == 5 * len(sessions)
    counts = Counter(question.question_type for question in chosen)
    assert max(counts.values()) - min(counts.values()) <= 3
    for _, questions in sessions:
        texts = [q.question for q in choose(questions, 20, rng, Counter())]
        assert len(texts) == len(set(texts))


# -- the sample -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample_folder() -> Path:
    return Path(registry.builder_class("procobject-10k").sample_folder())


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Any:
    cache = str(tmp_path_factory.mktemp("cache"))
    return datasets.load_dataset("procobject-10k", "sample", cache_dir=cache)


def test_the_sample_holds_every_type_and_both_reasonings(sample: Any) -> None:
    assert set(sample) == {"test"}
    rows = sample["test"]
    kinds = Counter(rows.features["question_type"].int2str(rows["question_type"]))
    assert set(kinds.values()) == {4}
    assert len(kinds) == 5
    assert len(set(rows["reasoning"])) == 2
    assert len(set(rows["video_path"])) == 4
    assert all(row["problems"] == [] for row in rows)
    assert any(row["clip_start"] > 2 for row in rows)


def test_an_oracle_gets_everything_in_the_sample_right(sample: Any) -> None:
    predictions, references = [], []
    for row in sample["test"]:
        spans = [[span["start"], span["end"]] for span in row["evidence"]]
        reply = json.dumps({"answer": row["answers"][0], "evidence": spans})
        answer, parsed = parse_grounded_answer(f"Here it is:\n```json\n{reply}\n```")
        assert answer == row["answers"][0]
        predictions.append(parsed.spans)
        references.append(spans)
        assert spans[0][0] >= 0
        assert spans[-1][1] <= row["clip_end"] - row["clip_start"]
    scores = grounding.grounded_iou(predictions, references)
    assert (scores.iou == 1).all()
    assert grounding.grounded_iou([[]] * len(references), references).mean_iou == 0


def decoded(file: Path) -> list[inset.Picture]:
    with av.open(str(file)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_the_samples_videos_show_the_jars_evidence_to_the_frame(
    sample: Any, sample_folder: Path
) -> None:
    fps = json.loads((sample_folder / "simulation.json").read_text())["fps"]
    for path in set(sample["test"]["video_path"]):
        frames = decoded(sample_folder / "videos" / path)
        rows, columns = inset.place(frames[0].shape[0])
        handled = [inset.read(frame[rows, columns]).handled for frame in frames]
        for row in sample["test"]:
            jar = "in the inset" in row["question"] and "ready" not in row["question"]
            if row["video_path"] != path or not jar:
                continue
            for span in row["evidence"]:
                first, last = (round((row["clip_start"] + t) * fps) for t in span.values())
                assert all(handled[first:last])
                assert not handled[first - 1]
                assert not handled[last]


def test_the_sample_is_small(sample_folder: Path) -> None:
    assert sum(f.stat().st_size for f in sample_folder.rglob("*") if f.is_file()) < 1_000_000


@pytest.mark.slow
def test_the_sample_is_made_anew_the_same(sample_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra 'simulate'")
    make_procobject_sample(tmp_path / "sample", progress=False)
    for name in ("data/testing.json", "simulation.json"):
        assert (tmp_path / "sample" / name).read_text() == (sample_folder / name).read_text()
    files = sorted((sample_folder / "videos").rglob("*.mp4"))
    assert len(files) == 4
    for file in files:
        old, new = decoded(file), decoded(tmp_path / "sample" / file.relative_to(sample_folder))
        assert len(old) == len(new)
        # Another version of the encoder may place its errors elsewhere.
        worst = max(np.abs(a.astype(int) - b).mean() for a, b in zip(old, new, strict=True))
        assert worst < 4


@pytest.mark.slow
def test_a_simulated_benchmark_has_both_splits(tmp_path: Path) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra 'simulate'")
    out = tmp_path / "procobject-10k"
    options: dict[str, Any] = {"test": 1, "train": ["stool"], "size": (96, 72), "fps": 1}
    summary = simulate_procobject(out, difficulty=LEVEL, **options)
    rows = datasets.load_dataset(
        "procobject-10k", data_dir=str(out), cache_dir=str(tmp_path / "cache")
    )
    assert {split: len(rows[split]) for split in rows} == {"train": 5, "test": 5}
    assert not set(rows["train"]["video_path"]) & set(rows["test"]["video_path"])
    assert all(row["problems"] == [] for split in rows.values() for row in split)
    assert (summary.videos, summary.questions) == (2, 10)
    assert sum(summary.by_task.values()) == sum(summary.by_template.values()) == 10


def test_what_cannot_be_simulated_is_named_and_no_other_folder_is_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(ValueError, match="not empty"):
        simulate_procobject(tmp_path)
    with pytest.raises(ValueError, match="holds no simulation"):
        make_procobject_sample(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(ValueError, match="no preset 'brutal'; there are easy"):
        simulate_procobject(tmp_path / "new", difficulty="brutal")
    with pytest.raises(ValueError, match="fps=0"):
        simulate_procobject(tmp_path / "new", fps=0)
    with pytest.raises(ValueError, match=r"test=\[\]"):
        simulate_procobject(tmp_path / "new", test=[])
