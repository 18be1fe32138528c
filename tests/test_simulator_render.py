"""Pictures of the simulated world: exact masks, the same every time, hidden by what is in front."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from procedural_evals.simulator import filming
from procedural_evals.simulator import geometry as geo
from procedural_evals.simulator.difficulty import EASY, HARD, Difficulty
from procedural_evals.simulator.render import Renderer
from procedural_evals.simulator.world import World, make_world

SIZE = (160, 120)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world("side table", 2, HARD)


@pytest.fixture(scope="module")
def renderer(world: World) -> Iterator[Renderer]:
    with Renderer(world, SIZE) as opened:
        yield opened


def pixel(world: World, point: geo.Vec, t: float) -> tuple[int, int]:
    """Row and column where a pinhole camera sees a point; written out independently."""
    eye, look_at = filming.view(world.session, t)
    ahead = np.subtract(look_at, eye)
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, (0, 0, 1))
    right /= np.linalg.norm(right)
    down = np.cross(ahead, right)
    offset = np.subtract(point, eye)
    depth = offset @ ahead
    focal = SIZE[1] / 2 / math.tan(math.radians(filming.FIELD_OF_VIEW) / 2)
    column = SIZE[0] / 2 + focal * (offset @ right) / depth
    row = SIZE[1] / 2 + focal * (offset @ down) / depth
    return math.floor(row), math.floor(column)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stool", "shelf", "toy truck"])
def test_masks_lie_where_the_parts_are(kind: str) -> None:
    """The middle of each part's upper side, seen through an independent camera, is its own."""
    world = make_world(kind, 2, HARD)
    with Renderer(world, SIZE) as renderer:
        for t in (0.0, 1.0):  # all parts lie flat and apart, nothing is in front of them
            frame = renderer.frame(t, people=False)
            seen = 0
            for part in world.product.parts:
                pose = world.pose(part.id, t)
                height = geo.bounds(part.size, pose).size[2] / 2
                top = geo.add(pose.position, (0.0, 0.0, height))
                row, column = pixel(world, top, t)
                if 0 <= row < SIZE[1] and 0 <= column < SIZE[0]:
                    seen += 1
                    assert frame.mask(part.id)[row, column], (part.title, t)
            assert seen >= len(world.product.parts) - 1


@pytest.mark.slow
def test_masks_and_areas_agree(renderer: Renderer) -> None:
    frame = renderer.frame(3.0)
    areas = frame.areas()
    assert areas == {p: int(frame.mask(p).sum()) for p in frame.ids if frame.mask(p).any()}
    assert sum(areas.values()) == (frame.parts >= 0).sum()
    assert frame.rgb.shape == (SIZE[1], SIZE[0], 3)
    assert frame.rgb.std() > 15, "a picture, not a plane"


@pytest.mark.slow
def test_the_same_moment_is_the_same_picture(world: World, renderer: Renderer) -> None:
    first = renderer.frame(9.0)
    renderer.frame(20.0)
    again = renderer.frame(9.0)
    with Renderer(world, SIZE) as other:
        elsewhere = other.frame(9.0)
    for frame in (again, elsewhere):
        assert np.array_equal(frame.rgb, first.rgb)
        assert np.array_equal(frame.parts, first.parts)


@pytest.mark.slow
def test_arms_hide_and_never_show_more(world: World, renderer: Renderer) -> None:
    hidden = 0
    for t in range(0, world.frame_count(), 3):
        without = renderer.frame(float(t), people=False).areas()
        with_arms = renderer.frame(float(t)).areas()
        assert all(area <= without[part] for part, area in with_arms.items())
        hidden += sum(without.values()) - sum(with_arms.values())
    assert hidden > 0


@pytest.mark.slow
def test_more_occlusion_hides_more() -> None:
    def hidden(occlusion: float) -> float:
        world = make_world("stool", 5, Difficulty(occlusion=occlusion, mistakes=0, hesitation=0))
        lost = total = 0
        with Renderer(world, (80, 60), supersample=1) as renderer:
            for t in range(0, world.frame_count(), 2):
                without = sum(renderer.frame(float(t), people=False).areas().values())
                lost += without - sum(renderer.frame(float(t)).areas().values())
                total += without
        return lost / total

    assert hidden(1.0) > 1.5 * hidden(0.0)


@pytest.mark.slow
def test_a_cut_changes_the_whole_picture(world: World, renderer: Renderer) -> None:
    cut = world.session.cuts[0]
    before, after = renderer.frame(cut - 0.05).rgb, renderer.frame(cut + 0.05).rgb
    earlier = renderer.frame(cut - 0.15).rgb

    def change(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.abs(a.astype(int) - b).mean())

    assert change(before, after) > 4 * change(earlier, before)


@pytest.mark.slow
def test_all_parts_show_before_the_assembly() -> None:
    for kind in ("chair", "desk", "toy truck"):
        world = make_world(kind, 8, EASY)
        with Renderer(world, SIZE) as renderer:
            areas = renderer.frame(0.0, people=False).areas()
        assert set(areas) == set(world.product.by_id), kind
        assert min(areas.values()) >= 10


def test_without_pybullet_the_way_out_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(ImportError, match=r"procedural-evals\[simulate\]"):
        Renderer(world)


@pytest.mark.slow
def test_a_closed_renderer_says_so(world: World) -> None:
    renderer = Renderer(world, SIZE)
    renderer.close()
    renderer.close()
    with pytest.raises(ValueError, match="closed"):
        renderer.frame(0.0)
    with pytest.raises(ValueError, match="too small"):
        Renderer(world, (8, 8))
