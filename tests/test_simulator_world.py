"""The simulated world: products that fit together, workers who err and correct, exact contacts."""

from __future__ import annotations

import itertools

import pytest

from procedural_evals.simulator import geometry as geo
from procedural_evals.simulator.catalogue import KINDS, make_product
from procedural_evals.simulator.difficulty import EASY, HARD, MEDIUM, Difficulty
from procedural_evals.simulator.products import pair
from procedural_evals.simulator.verify import Truth
from procedural_evals.simulator.world import World, make_world

SEEDS = range(6)


@pytest.fixture(scope="module")
def hard_worlds() -> list[World]:
    return [make_world(kind, seed, HARD) for kind in KINDS for seed in SEEDS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [0.0, 1.0])
def test_parts_touch_or_stay_clearly_apart(kind: str, length: float) -> None:
    for seed in SEEDS:
        product = make_product(kind, seed, Difficulty(length=length))
        for a, b in itertools.combinations(product.by_id, 2):
            boxes = product.box(a), product.box(b)
            assert not geo.colliding(*boxes), (product.part(a).title, product.part(b).title)
            if pair(a, b) not in product.contacts:
                # What is no contact must not look like one: a gap, or an edge at most.
                near, middle, far = sorted(geo.gaps(*boxes))
                assert far > 0.004 or middle > -geo.SHARED, (kind, a, b, near)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_build_the_whole_product(kind: str) -> None:
    product = make_product(kind, 3)
    assert len(product.steps) == len(product.parts) - 1
    assert {s.part for s in product.steps} | {product.base} == set(product.by_id)
    assert len({s.label for s in product.steps}) == len(product.steps)
    assert all(s.id not in product.ancestors(s.id) for s in product.steps), "precedence is a DAG"


def test_every_session_starts_apart_and_ends_finished(hard_worlds: list[World]) -> None:
    for world in hard_worlds:
        assert world.contacts(0.0) == frozenset()
        assert world.contacts(world.duration) == world.product.contacts
        assert set(world.steps_done(world.duration)) == set(world.product.step_by_id)
        assert world.open_mistakes(world.duration) == ()
        assert world.next_steps(world.duration) == ()


def test_contact_events_are_what_the_poses_show(hard_worlds: list[World]) -> None:
    for world in hard_worlds[:: len(SEEDS)][:4]:
        truth = Truth(world)
        for t, joined in zip(truth.times, truth.joined, strict=True):
            if world.contacts(t - 0.3) == world.contacts(t + 0.3):
                assert joined == world.contacts(t), (world.product.kind, t)


def test_contact_spans_and_contacts_tell_the_same(hard_worlds: list[World]) -> None:
    for world in hard_worlds[::5]:
        spans = world.session.contact_spans
        for t in (0.0, world.duration / 3, world.duration / 2, world.duration - 0.01):
            from_spans = {p for p, found in spans.items() if any(b <= t < e for b, e in found)}
            assert from_spans == world.contacts(t)


def test_correct_steps_keep_the_order_and_wrong_order_breaks_it(hard_worlds: list[World]) -> None:
    kinds = set()
    for world in hard_worlds:
        for action in world.session.actions:
            if action.kind != "attach":
                continue
            assert action.step is not None
            missing = world.missing_before(action.step, action.start)
            kinds.add(action.mistake)
            if action.mistake == "wrong_order":
                assert missing
                assert all(step.label in action.detail for step in missing)
            elif action.mistake is None:
                assert action.label == "correct"
                unfastened = {a.step for a in world.open_mistakes(action.start)}
                assert {step.id for step in missing} <= unfastened
    assert {"wrong_order", "wrong_position", "wrong_orientation", "wrong_part"} <= kinds
    assert {"missed_screw", "previous_mistake"} <= kinds


def test_a_misplaced_part_is_not_where_it_belongs(hard_worlds: list[World]) -> None:
    seen = set()
    for world in hard_worlds:
        for action in world.session.actions:
            if action.mistake not in ("wrong_position", "wrong_orientation", "wrong_part"):
                continue
            seen.add(action.mistake)
            assert action.step is not None
            assert action.target is not None
            step = world.product.step_by_id[action.step]
            pose, base = world.pose(action.part, action.at), world.pose(action.target, action.at)
            found = geo.compose(geo.inverse(base), pose)
            slot, target = world.product.part(action.part).slot, world.product.part(step.target)
            wanted = geo.compose(geo.inverse(target.slot), slot)
            turned = 1 - abs(
                sum(a * b for a, b in zip(found.rotation, wanted.rotation, strict=True))
            )
            moved = geo.norm(geo.sub(found.position, wanted.position))
            assert moved > 0.05 or turned > 0.1
            assert action.step not in world.steps_done(action.at)
            if action.mistake == "wrong_part":
                used, right = world.product.part(action.part), world.product.part(step.part)
                assert used.group == right.group
                assert used.model != right.model
    assert len(seen) == 3


def test_every_mistake_is_put_right_once(hard_worlds: list[World]) -> None:
    for world in hard_worlds:
        mistakes = [a.index for a in world.session.actions if a.label == "mistake"]
        undone = [a.undoes for a in world.session.actions if a.label == "correction"]
        assert sorted(undone, key=lambda n: n or 0) == mistakes
        for action in world.session.actions:
            if action.label == "correction":
                assert action.undoes is not None
                mistake = world.session.actions[action.undoes]
                assert mistake.end <= action.start
                assert mistake in world.open_mistakes(action.at - 0.01)
                assert mistake not in world.open_mistakes(action.at)


def test_actions_follow_each_other_and_phases_fill_them(hard_worlds: list[World]) -> None:
    for world in hard_worlds:
        for before, after in itertools.pairwise(world.session.actions):
            assert before.end < after.start
        for action in world.session.actions:
            assert action.start <= action.at <= action.end < world.duration
            edges = [action.start, *(p.end for p in action.phases)]
            assert edges == sorted(edges)
            assert [p.start for p in action.phases] == edges[:-1]
            assert edges[-1] == action.end
            middle = (action.start + action.end) / 2
            assert world.current(middle) is action
            assert action in world.performed(action.end)
            assert (action.hesitation is None) == (action.phases[0].name != "hesitate")


def test_parts_never_jump(hard_worlds: list[World]) -> None:
    """Between two moments a twentieth of a second apart no part gets farther than a hand can."""
    for world in hard_worlds[::6]:
        times = [0.05 * k for k in range(int(world.duration / 0.05))]
        for part in world.product.by_id:
            places = [world.pose(part, t).position for t in times]
            steps = [geo.norm(geo.sub(a, b)) for a, b in itertools.pairwise(places)]
            assert max(steps) < 0.18, (world.product.kind, world.seed, part)


def test_nothing_sinks_into_the_floor(hard_worlds: list[World]) -> None:
    for world in hard_worlds[::4]:
        for t in range(world.frame_count()):
            if world.session.moving(float(t)):
                continue
            for part in world.product.parts:
                pose = world.pose(part.id, float(t))
                assert geo.bounds(part.size, pose).low[2] > -0.002, (part.title, t)


def test_the_same_seed_is_the_same_world() -> None:
    first, second = (make_world("desk", 5, HARD) for _ in range(2))
    assert first.product == second.product
    assert first.session == second.session
    assert first.video_id == second.video_id
    other = make_world("desk", 6, HARD, product_seed=5)
    assert other.product == first.product
    assert other.session.actions != first.session.actions
    assert other.video_id != first.video_id


def test_each_knob_of_difficulty_turns_what_it_says() -> None:
    easy = make_world("chair", 1, EASY)
    assert {a.label for a in easy.session.actions} == {"correct"}
    assert easy.session.cuts == ()
    assert easy.session.passings == ()
    assert {a.hesitation for a in easy.session.actions} == {None}
    assert all(shot.drift == 0 for shot in easy.session.shots)
    hard = make_world("chair", 1, HARD)
    assert len(hard.session.cuts) >= 4
    assert len(hard.session.passings) >= 2
    assert len(hard.product.parts) > len(easy.product.parts)
    for group in hard.product.groups:
        assert len({hard.product.part(p).colour for p in group}) == 1
    for group in easy.product.groups:
        assert len({easy.product.part(p).colour for p in group}) == len(group)


def test_shots_cover_the_session(hard_worlds: list[World]) -> None:
    for world in hard_worlds:
        shots = world.session.shots
        assert shots[0].start == 0
        assert shots[-1].end == world.duration
        assert all(a.end == b.start for a, b in itertools.pairwise(shots))
        assert all(shot.end - shot.start >= 3.9 for shot in shots)


def test_part_ids_say_nothing_about_the_order() -> None:
    """Over many products the first part attached has no favourite number."""
    firsts = []
    for seed in range(60):
        world = make_world("stool", seed, MEDIUM)
        firsts.append(int(world.session.actions[0].part))
    assert len(set(firsts)) >= 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_product("sofa"), "no kind 'sofa'.*side table"),
        (lambda: Difficulty(cuts=-1), "cuts is -1"),
        (lambda: make_world("desk").pose("99", 0.0), "no part '99'"),
        (lambda: make_world("desk").missing_before("s99", 0.0), "no step 's99'"),
    ],
)
def test_bad_input_is_named(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        call()
