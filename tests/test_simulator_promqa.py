"""The simulated ProMQA-Assembly: every answer is found again without the worker's log."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from procedural_evals import folders
from procedural_evals.judge.lexical import LexicalJudge
from procedural_evals.judge.rubric import load_rubric
from procedural_evals.layouts import assembly101
from procedural_evals.layouts.promqa_assembly import QUESTION_TYPES, PromqaAssemblyLayout
from procedural_evals.simulator import exploded_view
from procedural_evals.simulator import geometry as geo
from procedural_evals.simulator.difficulty import EASY, Difficulty
from procedural_evals.simulator.exploded_view import parts_image, spread_apart
from procedural_evals.simulator.media import write_video
from procedural_evals.simulator.promqa_layout import (
    Recording,
    annotation_csv,
    graph_record,
    toy_id,
    write_questions,
)
from procedural_evals.simulator.promqa_questions import (
    Moment,
    ToyQuestion,
    ask,
    findings,
    moments,
)
from procedural_evals.simulator.promqa_sample import (
    SAMPLE_DIFFICULTY,
    SAMPLE_SEED,
    SIZE,
    film,
    make_promqa_sample,
    plan,
    simulate_promqa,
)
from procedural_evals.simulator.promqa_toys import TOYS, make_toy, make_toy_world
from procedural_evals.simulator.promqa_truth import REMARKS, Truth
from procedural_evals.simulator.promqa_verify import verify
from procedural_evals.simulator.promqa_words import FORMS, recognise
from procedural_evals.simulator.render import Renderer
from procedural_evals.simulator.world import World
from procedural_evals.task_graph import TaskGraph

SAMPLE = folders.dataset_scripts() / "promqa_assembly" / "sample"
CLUMSY = Difficulty(look_alikes=0.5, occlusion=0.2, length=0.6, mistakes=0.35, hesitation=0.05)
FPS = 2


@dataclass(frozen=True)
class Played:
    """A world, who watched it, and what its annotation file says."""

    world: World
    file: Path

    @cached_property
    def graph(self) -> TaskGraph:
        return TaskGraph.from_assembly(graph_record(self.world.product))

    @cached_property
    def seen(self) -> Truth:
        return Truth.watch(self.world, self.graph)

    @cached_property
    def written(self) -> Truth:
        self.file.write_text(annotation_csv(self.world), encoding="utf-8")
        steps = assembly101.read_mistakes(self.file).steps
        return Truth(self.world.product.kind, self.graph, steps)

    @cached_property
    def moments(self) -> list[Moment]:
        return list(moments(self.world, FPS, random.Random(1)))

    @cached_property
    def questions(self) -> list[ToyQuestion]:
        return [
            ask(moment, form, part, found, n % len(FORMS[form].wordings))
            for moment in self.moments
            for n, (form, part, found) in enumerate(findings(moment))
        ]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    """Four clumsy sessions with each kind of toy."""
    folder = tmp_path_factory.mktemp("annots")
    return [
        Played(make_toy_world(kind, seed, CLUMSY), folder / f"{kind}-{seed}.csv")
        for kind in TOYS
        for seed in range(3, 7)
    ]


# Answers ----------------------------------------------------------------------------------------


def test_every_answer_follows_from_the_graph_and_from_what_can_be_seen(
    played: list[Played],
) -> None:
    forms = Counter[str]()
    for one in played:
        for question in one.questions:
            assert verify(question, one.seen) == question.answers
            forms[question.form] += 1
    assert set(forms) == set(FORMS)
    assert {FORMS[form].question_type for form in forms} == set(QUESTION_TYPES)


def test_every_answer_follows_from_the_written_files(played: list[Played]) -> None:
    for one in played:
        for question in one.questions:
            verify(question, one.written)


def test_what_is_written_is_what_can_be_seen(played: list[Played]) -> None:
    remarks = Counter[str | None]()
    for one in played:
        seen = [(step.label, step.mistake, step.remark) for step in one.seen.steps]
        assert seen == [(step.label, step.mistake, step.remark) for step in one.written.steps]
        remarks.update(remark for _, _, remark in seen)
        for watched, annotated in zip(one.seen.steps, one.written.steps, strict=True):
            assert annotated.start <= watched.start < watched.end <= annotated.end
    assert set(remarks) == {None, *REMARKS.values()}


def test_a_wrong_answer_is_noticed(played: list[Played]) -> None:
    checked = 0
    for one in played[::4]:
        by_form: dict[str, list[ToyQuestion]] = {}
        for question in one.questions:
            by_form.setdefault(question.form, []).append(question)
        for questions in by_form.values():
            for question, other in itertools.pairwise(questions):
                if other.answers == question.answers:
                    continue
                with pytest.raises(ValueError, match="is answered by"):
                    verify(replace(question, answers=other.answers), one.seen)
                checked += 1
    assert checked > 200


def test_a_missing_and_an_added_answer_are_noticed(played: list[Played]) -> None:
    for question in played[0].questions[:200]:
        if len(question.answers) > 1:
            with pytest.raises(ValueError, match="is answered by"):
                verify(replace(question, answers=question.answers[:-1]), played[0].seen)
        with pytest.raises(ValueError, match="is answered by"):
            verify(replace(question, answers=(*question.answers, "No.")), played[0].seen)


def test_a_contradiction_of_graph_and_annotations_is_noticed(played: list[Played]) -> None:
    one = next(p for p in played if any(s.remark == "wrong order" for s in p.written.steps))
    steps = tuple(
        step._replace(mistake="correct", remark=None) if step.remark == "wrong order" else step
        for step in one.written.steps
    )
    with pytest.raises(ValueError, match="by the task graph it is mistake, wrong order"):
        replace(one.written, steps=steps).past(1e6)


def test_what_happens_after_the_clip_changes_no_answer(played: list[Played]) -> None:
    """The session ends with the clip: nothing later is known, and the answers are the same."""
    for one in played:
        session = one.world.session
        for moment in one.moments:
            actions = tuple(a for a in session.actions if a.start < moment.end)
            until = replace(session, actions=actions, duration=moment.end)
            ended = Moment(replace(one.world, session=until), moment.end, moment.holding)
            assert list(findings(ended)) == list(findings(moment))


def test_clips_end_where_the_latest_change_can_be_seen(played: list[Played]) -> None:
    kinds = Counter[str]()
    for one in played:
        actions = one.world.session.actions
        for moment in one.moments:
            frame = round(moment.end * 30)
            assert moment.end == pytest.approx(frame / 30)
            last = (int(moment.end * FPS - 1e-6)) / FPS  # the last picture before the clip's end
            if moment.holding:
                current = one.world.current(moment.end)
                assert current is not None
                assert current.part in one.world.session.moving(last)
                kinds["holding"] += 1
                continue
            latest = moment.latest
            assert latest.at <= moment.end
            begun = [a for a in actions if a.start < moment.end and a.kind in {"attach", "detach"}]
            assert begun[-1] == latest
            if latest.kind == "attach":
                assert latest.at <= last
            after = moment.end - latest.end
            kinds["before" if after < 0 else "after" if after > 1 / 30 else "end"] += 1
    assert min(kinds[k] for k in ("holding", "before", "end", "after")) > 10


@pytest.mark.parametrize("kind", ["toy tanker", "toy tractor", "toy train", "toy chest"])
def test_some_steps_can_come_too_early(kind: str) -> None:
    toy = make_toy(kind, 1)
    targets = {step.part: step.id for step in toy.steps}
    early = [s for s in toy.steps if set(s.requires) - {targets.get(s.target)}]
    assert early, "a step that needs more than its target"


def test_unknown_names_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no kind 'toy boat'; there are toy tanker"):
        make_toy("toy boat")
    with pytest.raises(ValueError, match="no simulated question"):
        recognise("Is it time for tea?", ["cab"])
    with pytest.raises(ValueError, match="each is at least 1"):
        simulate_promqa(tmp_path / "out", products=0)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no simulation"):
        make_promqa_sample(tmp_path)
    assert (tmp_path / "mine.txt").is_file()


def test_the_written_graph_requires_what_the_plan_requires(played: list[Played]) -> None:
    for one in played:
        graph, product = one.graph, one.world.product
        assert {(s.label, s.fastening) for s in graph.steps} == {
            (s.label, s.screw) for s in product.steps
        }
        labels = {step.id: step.label for step in product.steps}
        for step in product.steps:
            missing = {s.label for s in graph.missing_before(step.label, [])}
            assert missing == {labels[id] for id in product.ancestors(step.id)}
        assert graph.reduction().precedence == graph.precedence


# Choice of questions ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planned() -> list[Recording]:
    """The sample's recordings without their pictures."""
    return plan(TOYS, SAMPLE_SEED, SAMPLE_DIFFICULTY, 2, 3, FPS)


def test_types_come_up_equally_often(planned: list[Recording]) -> None:
    questions = [question for one in planned for question in one.questions]
    types = Counter(question.question_type for question in questions)
    assert set(types) == set(QUESTION_TYPES)
    assert max(types.values()) - min(types.values()) <= 1
    assert {question.form for question in questions} == set(FORMS)
    assert 0 < sum(not question.multimodal for question in questions) < len(questions) / 4


def test_yes_is_no_better_a_guess_than_no() -> None:
    asked = [question for one in plan(TOYS, 3, CLUMSY, 2, 8, FPS) for question in one.questions]
    for form in ("next_this", "missing_any", "order_latest", "undo_latest", "undo_this",
                 "place_latest", "screw_latest", "screw_named"):  # fmt: skip
        sides = Counter(q.answers[0].split(",")[0] for q in asked if q.form == form)
        assert set(sides) == {"Yes", "No"}, form
        assert abs(sides["Yes"] - sides["No"]) <= 2, form


def test_only_its_own_answers_answer_a_question(planned: list[Recording]) -> None:
    judge = LexicalJudge(load_rubric("promqa_ternary"))
    questions = [question for one in planned for question in one.questions]
    best = max(judge.rubric.grades)
    for question in questions:
        assert all(judge.grade(answer, question.answers) == best for answer in question.answers)
    others = [
        judge.grade(other.answers[0], question.answers) / best
        for question, other in itertools.permutations(questions, 2)
    ]
    assert np.mean(others) < 0.05


# The embedded sample ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return PromqaAssemblyLayout(SAMPLE).rows()


def test_the_sample_is_complete_and_small(rows: list[dict[str, Any]]) -> None:
    assert sum(file.stat().st_size for file in SAMPLE.rglob("*") if file.is_file()) < 1_600_000
    assert 24 <= len(rows) <= 32
    assert {row["question_type"] for row in rows} == set(QUESTION_TYPES)
    assert len({row["toy"] for row in rows}) == 5
    assert len({row["sequence"] for row in rows}) == 10
    for row in rows:
        assert row["problems"] == []
        assert row["task_graph"]
        assert row["performed_steps"]
        assert row["video"].path.is_file()
        assert row["parts_image"].path.is_file()
        assert row["sequence"].startswith("simulated_")
        assert row["toy"].startswith("sim")
        assert f"-{row['toy']}_" in row["sequence"]
        assert 0 < row["clip_start"] < row["clip_end"]


def test_recordings_last_until_their_last_clip_ends(rows: list[dict[str, Any]]) -> None:
    for path in {row["video"].path for row in rows}:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.width, stream.height) == ("h264", *SIZE)
            seconds = stream.frames / stream.average_rate
        assert 20 < seconds < 80
        assert seconds > max(row["clip_end"] for row in rows if row["video"].path == path)


def test_the_sample_s_answers_follow_from_its_files(rows: list[dict[str, Any]]) -> None:
    records = json.loads((SAMPLE / "all_v1.json").read_text(encoding="utf-8"))
    assert len(records) == len(rows)
    for record in records:
        question, truth = read_question(record)
        assert (question.question_type, question.multimodal) == (
            record["question_type"], record["multimodal"],
        )  # fmt: skip
        verify(question, truth)


def read_question(record: dict[str, Any]) -> tuple[ToyQuestion, Truth]:
    """A written question and what its files tell."""
    kind = next(kind for kind in TOYS if record["toy_id"].startswith(f"sim{kind[4:]}"))
    truth = Truth.read(SAMPLE, record["toy_id"], record["sequence_id"], kind)
    parts = [step.label.removeprefix("attach ").split(" to ")[0] for step in truth.graph.steps]
    form, part, variant = recognise(record["question"], parts)
    end, answers = record["video"]["end"], tuple(record["answers"])
    return ToyQuestion(form, variant, part, end, record["question"], answers), truth


def test_the_sample_s_texts_are_made_again_byte_for_byte(
    planned: list[Recording], tmp_path: Path
) -> None:
    write_questions(planned, tmp_path)
    assert (tmp_path / "all_v1.json").read_bytes() == (SAMPLE / "all_v1.json").read_bytes()
    for one in planned:
        file = SAMPLE / "annots" / f"{one.sequence}.csv"
        assert annotation_csv(one.world).encode() == file.read_bytes()
    graphs = json.loads((SAMPLE / "graph/all.json").read_text(encoding="utf-8"))
    assert graphs == [graph_record(one.world.product) for one in planned[::2]]


@pytest.mark.slow
def test_a_recording_and_a_parts_picture_are_made_again(
    planned: list[Recording], tmp_path: Path
) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra `simulate`")
    one = planned[-1]
    file = SAMPLE / "recordings" / one.sequence / "C10115_rgb.mp4"
    write_video(tmp_path / "again.mp4", film(one.world, SIZE, FPS), fps=FPS)
    for new, old in itertools.zip_longest(frames(tmp_path / "again.mp4"), frames(file)):
        # Other versions of the encoder may round otherwise.
        assert np.abs(new.astype(int) - old.astype(int)).mean() < 0.5
    product = one.world.product
    with Image.open(SAMPLE / "parts" / f"{toy_id(product)}-all.png") as picture:
        old = np.asarray(picture.convert("RGB"), int)
    assert np.abs(np.asarray(parts_image(product).convert("RGB"), int) - old).mean() < 0.5


def frames(path: Path) -> Iterator[np.ndarray]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


@pytest.mark.slow
def test_another_world_can_be_written_and_loaded(tmp_path: Path) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra `simulate`")
    out = tmp_path / "out"
    summary = simulate_promqa(
        out, ["toy chest"], seed=5, difficulty="easy", size=(64, 48), recordings_per_product=1,
        fps=1,
    )  # fmt: skip
    rows = PromqaAssemblyLayout(out).rows()
    assert (summary.toys, summary.recordings, summary.questions) == (1, 1, len(rows))
    assert [row["problems"] for row in rows] == [[]] * len(rows)
    with pytest.raises(ValueError, match="not empty"):
        simulate_promqa(out, ["toy chest"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOYS)
def test_all_parts_lie_in_the_picture(kind: str) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra `simulate`")
    world = make_toy_world(kind, 8, CLUMSY)
    with Renderer(world, (192, 108)) as renderer:
        frame = renderer.frame(0.0, people=False)
    assert min(frame.areas()[part.id] for part in world.product.parts) >= 5
    inside = np.zeros_like(frame.parts, dtype=bool)
    inside[1:-1, 1:-1] = True
    assert (frame.parts[~inside] == -1).all()


# Parts pictures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TOYS)
def test_parts_are_farther_apart_in_the_exploded_view(kind: str) -> None:
    product = make_toy(kind, 2, CLUMSY)
    poses = spread_apart(product)
    for a, b in itertools.combinations([part.id for part in product.parts], 2):
        apart = geo.gaps(product.box(a, poses[a]), product.box(b, poses[b]))
        assert max(apart) >= max(geo.gaps(product.box(a), product.box(b))) - 1e-6
        if (a, b) in product.contacts or (b, a) in product.contacts:
            assert max(apart) > 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOYS)
def test_every_part_can_be_made_out_in_the_parts_picture(kind: str) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra `simulate`")
    picture = parts_image(make_toy(kind, 3, CLUMSY))
    pixels = np.asarray(picture.convert("RGB"))
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    paper = colours[counts.argmax()]
    assert paper.min() > 240, "drawn on white"
    assert 0.05 < (np.abs(pixels.astype(int) - paper).max(axis=2) > 40).mean() < 0.6


@pytest.mark.slow
def test_a_part_that_cannot_be_made_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pybullet", reason="rendering needs the extra `simulate`")
    monkeypatch.setattr(exploded_view, "MIN_PIXELS", 1500)
    with pytest.raises(ValueError, match=r"toy_tanker_0: .*filler cap.* cannot be seen") as error:
        parts_image(make_toy("toy tanker", 0, EASY))
    assert "chassis" not in str(error.value)
