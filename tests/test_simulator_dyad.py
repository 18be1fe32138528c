"""Simulated DYAD: a helper with a policy, answers that fit, an export that cleans to its truth."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from procedural_evals import folders, video
from procedural_evals.dyad import sensors
from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.layers import MALFORMED, RULES
from procedural_evals.dyad.manifests import write_manifests
from procedural_evals.dyad.media import video_problem
from procedural_evals.dyad.mode_scores import ModePrediction, score_mode
from procedural_evals.dyad.records import Corpus
from procedural_evals.dyad.reference_systems import SYSTEMS
from procedural_evals.dyad.response import response_manifest
from procedural_evals.dyad.splits import development_sessions, mode_folds
from procedural_evals.dyad.steps import step_scores, step_tracks
from procedural_evals.dyad.vocabulary import PHYSICAL, PHYSICAL_TRIGGERS, STEPS, TRIGGERS, VERBAL
from procedural_evals.dyad.windows import mode_manifest
from procedural_evals.simulator import dyad_film
from procedural_evals.simulator.difficulty import EASY, HARD, MEDIUM, Difficulty
from procedural_evals.simulator.dyad_gearbox import AXES, make_gearbox, seen_as, step_for
from procedural_evals.simulator.dyad_helper import ASKED, INEFFECTIVE, NOTICED, PATIENCE
from procedural_evals.simulator.dyad_layout import DEFECTS, VIDEO_CRF, Truth
from procedural_evals.simulator.dyad_sample import (
    FPS,
    SAMPLE_DIFFICULTY,
    SAMPLE_SEED,
    SAMPLE_SESSIONS,
    SAMPLE_SIZE,
    dyad_truth,
    dyad_world,
    make_dyad_sample,
    simulate_dyad,
)
from procedural_evals.simulator.dyad_world import DyadWorld, make_dyad_world
from procedural_evals.simulator.media import write_video

SAMPLE = folders.dataset_scripts() / "dyad" / "sample"
WORLDS = [(seed, level, skill) for seed in range(8) for level in (MEDIUM, HARD)
          for skill in (0.1, 0.5, 0.9)]  # fmt: skip
LARGEST = 1_500_000


@pytest.fixture(scope="module")
def worlds() -> list[DyadWorld]:
    return [make_dyad_world(seed, level, skill=skill) for seed, level, skill in WORLDS]


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load_corpus(SAMPLE)


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Truth]]:
    """A raw export without video, and its truth."""
    out = tmp_path_factory.mktemp("dyad") / "raw"
    return out, written(out, 0, SAMPLE_DIFFICULTY)


def written(out: Path, seed: int, level: Difficulty | str) -> list[Truth]:
    """An export without video below `out`, and its truth."""
    simulate_dyad(out, sessions=10, seed=seed, difficulty=level, size=None, fps=FPS, sensors=None)
    return [truth for _, truth in dyad_truth(10, seed, level, FPS)]


# The world ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0.0, 1.0])
def test_gears_mesh_and_every_stage_is_a_step_of_the_vocabulary(length: float) -> None:
    product = make_gearbox(0, Difficulty(length=length))
    gears = [part for part in product.parts if part.name == "gear"]
    assert sum(part.size[0] / 2 for part in gears) == pytest.approx(AXES["large"] - AXES["small"])
    assert gears[1].id in product.neighbours(gears[0].id)
    assert {step.stage for step in product.steps} == set(STEPS) - {"part_search", "verify_rotation"}
    assert len(product.parts) == 10 + length


def test_every_session_ends_with_the_finished_gearbox(worlds: list[DyadWorld]) -> None:
    for world in worlds:
        assert world.contacts(0.0) == frozenset()
        assert world.contacts(world.duration) == world.product.contacts
        assert set(world.steps_done(world.duration)) == set(world.product.step_by_id)
        assert world.open_mistakes(world.duration) == ()
        assert world.intervals[-1].step == "verify_rotation"
        for one, other in zip(world.intervals, world.intervals[1:], strict=False):
            assert one.start < one.end <= other.start
    found = {interval.step for world in worlds for interval in world.intervals}
    assert found == set(STEPS)


def test_the_crank_turns_both_gears_against_each_other() -> None:
    world = make_dyad_world(0)
    turning = next(p for p in world.session.actions[-1].phases if p.name == "carry")
    moment = turning.start + 0.1 * (turning.end - turning.start)
    later = moment + 0.2

    def turned(title: str) -> float:
        part = world.product.part(step_for(world.product, title).part)
        a, b = (np.array(world.pose(part.id, t).rotation) for t in (moment, later))
        # The sine of half the angle between, about the axis (x).
        return float(b[0] * a[3] - b[3] * a[0] + b[2] * a[1] - b[1] * a[2])

    large, small = turned("large gear"), turned("small gear")
    assert large * small < 0
    assert math.asin(abs(small)) / math.asin(abs(large)) == pytest.approx(0.085 / 0.055, rel=0.05)


def test_the_same_seed_is_the_same_session_and_another_one_is_not() -> None:
    assert make_dyad_world(3) == make_dyad_world(3)
    assert make_dyad_world(3).helps != make_dyad_world(4).helps
    with pytest.raises(ValueError, match=r"skill: 1\.5"):
        make_dyad_world(skill=1.5)


def test_the_less_skilled_need_more_help_and_an_easy_session_little(
    worlds: list[DyadWorld],
) -> None:
    helps = defaultdict(list)
    for world in worlds:
        helps[world.skill].append(len(world.helps))
    means = [np.mean(helps[skill]) for skill in (0.1, 0.5, 0.9)]
    assert means == sorted(means, reverse=True)
    triggers = {h.trigger for s in range(6) for h in make_dyad_world(s, EASY).helps}
    assert triggers <= {*PHYSICAL_TRIGGERS, None}


# The helper ---------------------------------------------------------------------------------------


def test_help_has_the_structure_that_the_paper_reports() -> None:
    helps = [
        help
        for seed in range(90)
        for help in make_dyad_world(seed, SAMPLE_DIFFICULTY, skill=seed % 10 / 10).helps
    ]
    by_trigger = defaultdict(list)
    for help in helps:
        by_trigger[help.trigger].append(help)
    assert set(by_trigger) == {*TRIGGERS, None}
    physical = {t: np.mean([h.mode == PHYSICAL for h in hs]) for t, hs in by_trigger.items()}
    asked = {t: np.mean([h.initiation == ASKED for h in hs]) for t, hs in by_trigger.items()}
    assert min(physical[t] for t in PHYSICAL_TRIGGERS) > 0.85
    for trigger in ("cannot_decide_next_step", "ordering_violation", "wrong_orientation"):
        assert physical[trigger] <= 0.05
    assert asked["out_of_reach"] > 0.8
    assert asked["ordering_violation"] < 0.4
    modes = Counter(help.mode for help in helps)
    assert 1.5 < modes[VERBAL] / modes[PHYSICAL] < 4
    initiations = Counter(help.initiation for help in helps)
    assert 1.5 < initiations[ASKED] / initiations[NOTICED] < 4
    # Assistance events outnumber requests, and the helper stops people for order and orientation.
    assert len(helps) > initiations[ASKED]
    stopped = Counter(help.trigger for help in helps if help.hard_stop)
    common = {trigger for trigger, _ in stopped.most_common(2)}
    assert common == {"ordering_violation", "wrong_orientation"}
    assert not any(help.hard_stop for help in helps if help.mode == PHYSICAL)


def test_words_come_before_hands_and_the_helper_waits(worlds: list[DyadWorld]) -> None:
    waited = followed = 0
    for world in worlds:
        for before, help in zip(world.helps, world.helps[1:], strict=False):
            assert before.end < help.start
            if before.outcome == INEFFECTIVE:
                assert (before.mode, help.mode) == (VERBAL, PHYSICAL)
                assert (help.trigger, help.initiation) == (before.trigger, NOTICED)
                assert help.start - before.end >= PATIENCE[0]
                followed += 1
        for help in world.helps:
            if help.initiation == NOTICED and help.trigger in ("wrong_part", "missed_screw"):
                made = max(
                    a.at
                    for a in world.session.actions
                    if a.mistake == help.trigger and a.at < help.start
                )
                assert help.start - made >= PATIENCE[0]
                waited += 1
    assert waited > 5
    assert followed > 2


def test_whoever_asks_is_answered_soon_and_by_nothing_else(worlds: list[DyadWorld]) -> None:
    for world in worlds:
        answers = [help for help in world.helps if help.reply_to is not None]
        assert sorted(help.reply_to for help in answers) == list(range(len(world.requests)))
        for help in answers:
            request = world.requests[help.reply_to or 0]
            assert help.initiation == ASKED
            assert 0.4 < help.start - request.end < 1.3
            others = [abs(o.start - request.end) for o in world.helps if o is not help]
            assert min(others, default=math.inf) > help.start - request.end


def test_hands_come_in_with_physical_help_and_not_before(worlds: list[DyadWorld]) -> None:
    for world in worlds:
        hands = [(reach.start, round(reach.end, 2)) for reach in world.ego.reaches]
        helps = [(h.start, round(h.end, 2)) for h in world.helps if h.mode == PHYSICAL]
        assert hands == helps
        for reach in world.ego.reaches:
            assert dyad_film.helper_hand(world, reach.start - 0.01) is None
            during = dyad_film.helper_hand(world, 0.5 * (reach.grip + reach.release))
            assert during is not None
            held = world.pose(reach.part, 0.5 * (reach.grip + reach.release)).position
            assert math.dist(during, held) < 0.3


STEP = re.compile(r"(?:put|screw) the ([a-z ]+?) onto the ([a-z ]+?)(?= first|,|\.)")


def test_what_the_helper_says_is_true_at_that_time(worlds: list[DyadWorld]) -> None:
    """Each spoken answer is compared with the state of the world, not with how it was made."""
    checked: Counter[str | None] = Counter()
    for world in worlds:
        product = world.product
        for help in world.helps:
            if help.mode != VERBAL or help.text is None:
                continue
            found = STEP.search(help.text)
            named = step_for(product, found[1]) if found else None
            if named is not None and found is not None:
                assert product.part(named.target).title == found[2]
            wrong = [product.part(a.part).title for a in world.open_mistakes(help.start)]
            if help.trigger == "cannot_decide_next_step":
                assert named in world.next_steps(help.start)
            elif help.trigger is None and named is not None:
                assert named in world.next_steps(help.start)
                said = step_for(product, help.objects[0])
                assert said.id in world.steps_done(help.start)
            elif help.trigger is None:
                assert len(world.steps_done(help.start)) == len(product.steps)
            elif help.trigger == "ordering_violation":
                early = step_for(product, help.objects[0])
                assert help.objects[0] in wrong
                assert named in world.missing_before(early.id, help.start)
            elif help.trigger == "wrong_part":
                assert f"the {wrong[-1]}" in help.text
            elif help.trigger in ("wrong_orientation", "missed_screw", "wrong_screwdriver"):
                assert help.objects[0] in wrong
                assert help.objects[0] in help.text
            elif help.trigger == "cannot_find_part":
                part = product.part(step_for(product, help.objects[0]).part)
                assert seen_as(part.title) in help.text
                x, y, _ = world.pose(part.id, help.start).position
                assert (" left" in help.text) <= (x < 0)
                assert (" right beside" in help.text or "your right" in help.text) <= (x > 0)
                assert ("in front of you" in help.text) <= (y < -0.15)
            checked[help.trigger] += 1
    assert set(checked) >= set(TRIGGERS) - PHYSICAL_TRIGGERS
    assert checked[None] > 10


# The export ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "level"), [(1, "hard"), (2, "easy")])
def test_cleaning_gives_the_truth_at_any_difficulty(seed: int, level: str, tmp_path: Path) -> None:
    assert_cleans_to(tmp_path, written(tmp_path, seed, level))


def test_cleaning_a_raw_export_gives_the_truth(export: tuple[Path, list[Truth]]) -> None:
    assert_cleans_to(*export)


def assert_cleans_to(root: Path, truths: list[Truth]) -> None:
    """Records, labels, windows and answers of the cleaned export are the world's."""
    corpus = load_corpus(root)
    modes, responses = mode_manifest(corpus), response_manifest(corpus)
    for session, track, truth in zip(corpus.sessions, step_tracks(corpus), truths, strict=True):
        assert (session.id, session.participant) == (truth.id, truth.participant)
        assert session.clock_origin == truth.origin
        assert session.frame_times.tolist() == [n / FPS for n in range(truth.frames)]
        assert session.steps == truth.steps
        assert session.requests == truth.requests
        assert session.assistance == truth.assistance
        assert track.labels == tuple(truth.label(round(time)) for time in track.times)
        windows = [
            (e.event_id, e.mode, e.start, e.end, e.first_frame, e.stop_frame)
            for e in modes.examples
            if e.session == session.id
        ]
        assert windows == [
            (w.event_id, w.mode, w.start, w.end, w.first_frame, w.stop_frame) for w in truth.windows
        ]
        pairs = {
            (p.id, p.assistance_id, p.context.question, p.reference)
            for p in responses.pairs
            if p.session == session.id
        }
        assert pairs == {(a.id, a.assistance_id, a.question, a.reference) for a in truth.answers}


def test_the_export_has_every_defect(export: tuple[Path, list[Truth]]) -> None:
    raw, truths = export
    corpus = load_corpus(raw)
    rules = Counter(change.rule for change in corpus.changes)
    assert set(rules) == set(RULES) - {MALFORMED}
    assert rules["duplicate"] == 2
    assert [s.id for s in corpus.sessions if s.clock_origin] == ["s01", "s02"]
    assert len(DEFECTS) == 7
    events = [event for truth in truths for event in truth.assistance]
    assert sum(event.mode is None for event in events) == 1
    assert sum(event.start == event.end for event in events) == 1
    assert sum(event.end is None for event in events) == 2
    assert sum(r.start is None for truth in truths for r in truth.requests) == 1
    assert sum(step.step is None for truth in truths for step in truth.steps) == 1
    reasons = Counter(reason for _, reason in mode_manifest(corpus).left_out)
    assert reasons["no mode label"] == 1
    assert reasons["onset after the last frame"] == 2


def test_the_written_truth_equals_the_written_manifests(
    export: tuple[Path, list[Truth]], tmp_path: Path
) -> None:
    raw, _ = export
    write_manifests(load_corpus(raw), tmp_path)
    truth = raw / "truth"

    def lines(folder: Path, name: str) -> list[dict[str, Any]]:
        text = (folder / f"{name}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    for name in ("steps", "requests", "assistance"):
        assert lines(truth, name) == lines(tmp_path, name)
    keys = ("event_id", "mode", "start", "end", "first_frame", "stop_frame", "participant")
    true, clean = (
        [[row[key] for key in keys] for row in lines(folder, "mode")]
        for folder in (truth, tmp_path)
    )
    assert true == clean
    true, clean = (
        sorted([row["id"], row["assistance_id"], row["reference"]] for row in lines(f, "response"))
        for f in (truth, tmp_path)
    )
    assert true == clean


def test_few_sessions_share_the_defects_and_bad_arguments_are_refused(tmp_path: Path) -> None:
    summary = simulate_dyad(tmp_path / "two", sessions=2, seed=5, size=None, sensors=1.0)
    assert summary.sessions == 2
    corpus = load_corpus(tmp_path / "two")
    for session in corpus.sessions:
        for name, shape in (("hands", (2, 26, 4, 4)), ("gaze", (3,)), ("head_pose", (4, 4))):
            found = sensors.load_sensor(session, name)
            assert found is not None
            assert found["times"][0] == 0
            key = {"hands": "joints", "gaze": "direction", "head_pose": "pose"}[name]
            assert found[key].shape == (len(found["times"]), *shape)
        head = sensors.load_sensor(session, "head_pose")
        assert head is not None
        turn = head["pose"][:, :3, :3]
        assert np.abs(turn @ turn.transpose(0, 2, 1) - np.eye(3)).max() < 0.01
    with pytest.raises(ValueError, match="not empty"):
        simulate_dyad(tmp_path / "two")
    with pytest.raises(ValueError, match="sessions=0"):
        simulate_dyad(tmp_path / "none", sessions=0)
    with pytest.raises(ValueError, match="no preset 'insane'"):
        simulate_dyad(tmp_path / "none", difficulty="insane")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds no simulation"):
        make_dyad_sample(tmp_path / "own")


# The sample ---------------------------------------------------------------------------------------


def test_the_sample_is_small_and_its_videos_run_on_the_sessions_clock(sample: Corpus) -> None:
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= LARGEST
    assert len(sample.sessions) == SAMPLE_SESSIONS
    assert [video_problem(session) for session in sample.sessions] == [None] * SAMPLE_SESSIONS
    assert sample.task.reference_image is not None
    assert (SAMPLE / sample.task.reference_image).is_file()
    assert sensors.load_sensor(sample.sessions[0], "hands", 3.0, 5.0) is not None


def test_the_sample_fills_the_folds_and_both_splits(sample: Corpus) -> None:
    folds = mode_folds(sample)
    assert [tuple(map(len, fold)) for fold in folds] == [(6, 2, 2)] * 5
    tested = [name for fold in folds for name in fold.test]
    assert sorted(tested) == list(sample.participants)
    modes = Counter((e.fold, e.mode) for e in mode_manifest(sample).examples)
    assert len(modes) == 10, "each fold tests both modes"
    assert 1 <= len(development_sessions(sample)) < 5
    splits = Counter(pair.split for pair in response_manifest(sample).pairs)
    assert min(splits.values()) >= 5
    assert {step for track in step_tracks(sample) for _, step in track.labelled()} == set(STEPS)


def test_reference_systems_are_ordered_on_the_sample(sample: Corpus) -> None:
    manifest = mode_manifest(sample)
    scores = {
        name: score_mode(system(sample, manifest), manifest, draws=20).over_seeds["macro_f1"].mean
        for name, system in SYSTEMS.items()
    }
    assert scores["trigger_mapping"] > scores["metadata"] + 0.05
    assert scores["metadata"] > scores["majority"] + 0.05


def test_an_oracle_scores_100_on_the_sample(sample: Corpus) -> None:
    truths = dyad_truth(SAMPLE_SESSIONS, SAMPLE_SEED, SAMPLE_DIFFICULTY, FPS)
    tracks = step_tracks(sample)
    answers = {
        (track.session, time): truth.label(round(time))
        for track, (_, truth) in zip(tracks, truths, strict=True)
        for time, _ in track.labelled()
    }
    scores = step_scores(tracks, answers)
    assert {scores[name] for name in ("f1@0.1", "f1@0.25", "f1@0.5", "edit", "mof")} == {100.0}
    manifest = mode_manifest(sample)
    fold = {example.event_id: example.fold for example in manifest.examples}
    predictions = [
        ModePrediction(w.event_id, fold[w.event_id], 0, w.mode, w.mode, float(w.mode == PHYSICAL))
        for _, truth in truths
        for w in truth.windows
    ]
    assert score_mode(predictions, manifest, draws=20).over_seeds["macro_f1"].mean == 1.0


def test_the_samples_texts_are_made_again_the_same(tmp_path: Path) -> None:
    simulate_dyad(
        tmp_path, SAMPLE_SESSIONS, SAMPLE_SEED, SAMPLE_DIFFICULTY, None, FPS, sensors=None
    )
    made = sorted(
        path.relative_to(tmp_path)
        for path in tmp_path.rglob("*")
        if path.suffix in (".csv", ".json", ".jsonl") and path.name != "simulation.json"
    )
    assert len(made) == 5 * SAMPLE_SESSIONS + 1 + 5
    for path in made:
        assert (tmp_path / path).read_bytes() == (SAMPLE / path).read_bytes(), path


@pytest.mark.slow
def test_a_sessions_video_is_made_again(sample: Corpus, tmp_path: Path) -> None:
    """The shortest session, rendered anew: the same video to the eye."""
    number = min(range(SAMPLE_SESSIONS), key=lambda n: sample.sessions[n].duration)
    world = dyad_world(number, SAMPLE_SESSIONS, SAMPLE_SEED, SAMPLE_DIFFICULTY)
    film = dyad_film.film(world, SAMPLE_SIZE, FPS)
    count = write_video(tmp_path / "ego_rgb.mp4", film, fps=FPS, crf=VIDEO_CRF)
    kept = sample.sessions[number].folder / "ego_rgb.mp4"
    assert count == sample.sessions[number].frame_times.size
    times = list(range(0, count // FPS, 2))
    one, _ = video.sample_frames(tmp_path / "ego_rgb.mp4", times=times)
    other, _ = video.sample_frames(kept, times=times)
    assert np.abs(one.astype(int) - other).mean(axis=(1, 2, 3)).max() < 5


@pytest.mark.slow
def test_another_corpus_can_be_filmed(tmp_path: Path) -> None:
    summary = simulate_dyad(
        tmp_path, sessions=2, seed=7, difficulty="easy", size=(96, 54), fps=1, sensors=None
    )
    assert summary.bytes == sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file())
    corpus = load_corpus(tmp_path)
    assert [video_problem(session) for session in corpus.sessions] == [None, None]
    assert summary.requests == sum(len(session.requests) for session in corpus.sessions)
