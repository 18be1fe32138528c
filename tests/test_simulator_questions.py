"""Simulated questions: each has one right answer, found again from the poses alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from procedural_evals.simulator.catalogue import KINDS
from procedural_evals.simulator.difficulty import HARD, MEDIUM
from procedural_evals.simulator.flatpack_layout import option_text, scramble, stem
from procedural_evals.simulator.questions import (
    TASKS,
    TEMPLATES,
    Asker,
    Choice,
    Letters,
    Question,
    ask_many,
    frames_to_show,
)
from procedural_evals.simulator.verify import Truth, verify
from procedural_evals.simulator.world import World, make_world


def all_visible(world: World) -> dict[int, list[str]]:
    return {n: list(world.product.by_id) for n in range(world.frame_count())}


def ids_in(question: Question) -> set[str]:
    """Every part id that the options name."""

    def parts(raw: object) -> set[str]:
        if isinstance(raw, str):
            return {raw} if raw.isdigit() else set()
        assert isinstance(raw, tuple)
        return set().union(*(parts(r) for r in raw))

    return set().union(*(parts(c.raw) for c in question.choices))


@pytest.fixture(scope="module")
def asked() -> list[tuple[World, list[Question], Truth]]:
    """Twelve questions about each kind of product, in two difficulties."""
    rng, found = random.Random(7), []
    letters, count = Letters(rng), Counter[str]()
    for seed, kind in enumerate(KINDS):
        world = make_world(kind, seed, HARD if seed % 2 else MEDIUM)
        shown = frames_to_show(world, all_visible(world), 6)
        questions = ask_many(world, shown, 16, rng, letters, count)
        found.append((world, questions, Truth(world)))
    return found


def test_every_answer_follows_from_the_poses(
    asked: list[tuple[World, list[Question], Truth]],
) -> None:
    templates = Counter()
    for _, questions, truth in asked:
        for question in questions:
            assert verify(question, truth) == question.correct
            templates[question.template] += 1
    assert set(templates) == set(TEMPLATES)
    assert sum(templates.values()) == 16 * len(KINDS)


def test_a_wrong_mark_is_noticed(asked: list[tuple[World, list[Question], Truth]]) -> None:
    for _, questions, truth in asked[:3]:
        for question in questions:
            other = (question.correct + 1) % len(question.choices)
            with pytest.raises(ValueError, match="is marked"):
                verify(replace(question, correct=other), truth)


def test_two_right_options_are_noticed(asked: list[tuple[World, list[Question], Truth]]) -> None:
    plain = 0
    for _, questions, truth in asked[:3]:
        for question in questions:
            right = question.choices[question.correct]
            if right.extra or any(c.extra for c in question.choices):
                continue
            wrong = next(n for n in range(len(question.choices)) if n != question.correct)
            choices = list(question.choices)
            choices[wrong] = Choice(right.raw)
            plain += 1
            with pytest.raises(ValueError, match="no single answer"):
                verify(replace(question, choices=tuple(choices)), truth)
    assert plain > 10


def test_no_right_option_is_noticed(asked: list[tuple[World, list[Question], Truth]]) -> None:
    for _, questions, truth in asked[:3]:
        for question in questions:
            # Of the pairs or parts that are left, another one is then the first or the last.
            relative = question.template.startswith(("1edge", "1part_order_last"))
            if question.choices[question.correct].extra or relative:
                continue
            rest = tuple(c for c in question.choices if not c.extra)
            rest = tuple(c for c in rest if c is not question.choices[question.correct])
            with pytest.raises(ValueError, match="no single answer"):
                verify(replace(question, choices=rest, correct=0), truth)


def test_answers_spread_evenly_over_the_letters() -> None:
    rng = random.Random(1)
    letters, places = Letters(rng), Counter[tuple[str, int, int]]()
    for seed, kind in enumerate(KINDS * 3):
        world = make_world(kind, seed, MEDIUM)
        shown = frames_to_show(world, all_visible(world), 6)
        for question in ask_many(world, shown, 20, rng, letters):
            places[question.task, len(question.choices), question.correct] += 1
    for task in set(TASKS.values()):
        used = [places[task, 4, place] for place in range(4)]
        assert max(used) - min(used) <= 0.15 * sum(used), (task, used)


def test_only_visible_parts_are_named() -> None:
    world = make_world("shelf", 4, MEDIUM)
    rng = random.Random(3)
    frames = frames_to_show(world, all_visible(world), 6)
    visible = {n: rng.sample(list(world.product.by_id), 6) for n in frames}
    questions = ask_many(world, visible, 40, rng)
    assert len(questions) > 12
    for question in questions:
        first, last = set(visible[question.frames[0]]), set(visible[question.frames[-1]])
        assert set(question.query) <= first
        if question.template == "track_single":
            assert question.jumble is not None
            assert ids_in(question) <= {question.jumble[p] for p in last}
        elif question.template == "track_multi":
            assert question.jumble is not None
            for choice in question.choices:
                assert {m[0] for m in choice.raw} <= first
                assert {m[1] for m in choice.raw} <= {question.jumble[p] for p in last}
        else:
            assert ids_in(question) <= first


def test_tracking_mixes_up_parts_that_look_alike(
    asked: list[tuple[World, list[Question], Truth]],
) -> None:
    for world, questions, _ in asked:
        for question in questions:
            if question.task != "tracking":
                assert question.jumble is None
                continue
            assert question.jumble is not None
            assert len(question.frames) == 2
            assert sorted(question.jumble.values()) == sorted(world.product.by_id)
            for group in world.product.groups:
                if len(group) > 1:
                    assert {question.jumble[p] for p in group} == set(group)
                    assert all(question.jumble[p] != p for p in group)


def test_options_differ_and_have_the_sizes_of_the_benchmark(
    asked: list[tuple[World, list[Question], Truth]],
) -> None:
    sizes = Counter()
    for _, questions, _ in asked:
        for question in questions:
            texts = [option_text(question, c) for c in question.choices]
            assert len(set(texts)) == len(texts)
            assert stem(question).endswith("?")
            sizes[len(texts)] += 1
            if question.template == "2parts":
                assert sorted(texts) == ["No", "Yes"]
            elif question.template != "track_single":
                assert len(texts) == 4
    assert set(sizes) <= {2, 3, 4}
    assert sizes[2]
    assert sizes[4]


def test_new_part_ids_keep_the_answer(asked: list[tuple[World, list[Question], Truth]]) -> None:
    for world, questions, truth in asked:
        mapping = scramble(world.product, random.Random(5))
        back = {new: old for old, new in mapping.items()}
        for question in questions:
            assert verify(question.renamed(mapping).renamed(back), truth) == question.correct


def test_a_session_without_look_alikes_has_no_tracking_question() -> None:
    world = make_world("shelf", 1, MEDIUM)
    singles = [g[0] for g in world.product.groups if len(g) == 1]
    visible = dict.fromkeys(frames_to_show(world, all_visible(world), 6), singles)
    assert Asker(world, visible, random.Random(0)).ask("track_single") is None


def test_annotated_frames_are_still_and_differ(
    asked: list[tuple[World, list[Question], Truth]],
) -> None:
    for world, questions, _ in asked:
        shown = frames_to_show(world, all_visible(world), 6)
        assert len(shown) == 6
        assert len({world.contacts(n) for n in shown}) == 6
        assert not any(world.session.moving(float(n)) for n in shown)
        assert {n for q in questions for n in q.frames} <= set(shown)


def test_bad_input_is_named() -> None:
    world = make_world("stool")
    with pytest.raises(ValueError, match="no frame"):
        Asker(world, {}, random.Random(0))
    with pytest.raises(ValueError, match="no template 'size'"):
        Asker(world, {0: ["1"]}, random.Random(0)).ask("size")
