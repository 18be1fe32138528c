"""Run-length masks: what COCO tools write is read, damage is named, labels sit deep inside."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from procedural_evals.masks import decode_rle, encode_rle, label_point, resize_mask

some_masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=24))


@given(some_masks)
def test_a_mask_survives_encoding(mask):
    assert (decode_rle(encode_rle(mask)) == mask).all()


@given(some_masks)
def test_decoding_agrees_with_coco_tools(mask):
    from pycocotools import mask as coco

    rle = encode_rle(mask)
    assert (decode_rle(rle) == coco.decode({**rle, "counts": rle["counts"].encode()})).all()
    assert decode_rle(rle).flags.c_contiguous


def test_deepest_points_do_not_depend_on_what_surrounds_the_part():
    rng = np.random.default_rng(0)
    for _ in range(40):
        small = rng.random((9, 14)) < 0.7
        large = np.zeros((40, 61), bool)
        top, left = int(rng.integers(0, 31)), int(rng.integers(0, 47))
        large[top : top + 9, left : left + 14] = small
        x, y = label_point(small)
        assert label_point(large) == (left + x, top + y)


@given(some_masks, st.integers(0, 400), st.characters(min_codepoint=32, max_codepoint=126))
def test_a_damaged_encoding_is_refused_or_still_a_mask_of_its_size(mask, position, character):
    rle = encode_rle(mask)
    counts = rle["counts"]
    position %= len(counts)
    rle["counts"] = counts[:position] + character + counts[position + 1 :]
    try:
        decoded = decode_rle(rle)
    except ValueError:
        return
    assert decoded.shape == mask.shape


def test_every_published_mask_fills_its_picture(shared):
    files = sorted((shared / "data/flat-pack-bench/segmentation-masks").rglob("*.json"))
    count = 0
    for file in files:
        for parts in json.loads(file.read_text())["manual"].values():
            for rle in parts.values():
                mask = decode_rle(rle)
                assert list(mask.shape) == rle["size"]
                assert encode_rle(mask)["counts"] == rle["counts"]
                count += 1
    assert count == 2084


@pytest.mark.parametrize(
    "rle",
    [
        {},
        {"size": [2, 2]},
        {"size": 3, "counts": "0"},
        {"counts": "1"},
        {"size": [2, 2], "counts": None},
        {"size": [2, 2], "counts": 4},
        {"size": [-2, -2], "counts": "4"},
        {"size": [2.5, 2], "counts": "4"},
        {"size": [float("inf"), 2], "counts": "4"},
        {"size": [2**40, 2**40], "counts": "4"},
        {"size": [2, 2], "counts": "o" * 40 + "0"},
    ],
)
def test_something_that_is_no_encoding_is_named(rle):
    with pytest.raises(ValueError, match="mask"):
        decode_rle(rle)


def test_cut_counts_are_named_with_both_sizes():
    rle = encode_rle(np.tri(9, dtype=bool))
    rle["counts"] = rle["counts"][:-2]
    with pytest.raises(ValueError, match="9x9 has 81"):
        decode_rle(rle)


@given(some_masks)
def test_the_label_lies_on_its_part(mask):
    point = label_point(mask)
    assert (point is None) == (not mask.any())
    if point is not None:
        assert mask[point[1], point[0]]


def test_the_label_avoids_the_hole_of_a_ring():
    y, x = np.mgrid[:101, :101]
    radius = np.hypot(x - 50, y - 50)
    ring = (radius < 50) & (radius > 20)
    column, row = label_point(ring)
    assert 30 < np.hypot(column - 50, row - 50) < 40


def test_scaling_keeps_where_a_mask_is():
    mask = np.zeros((720, 1280), dtype=bool)
    mask[360:, 640:] = True
    small = resize_mask(mask, (640, 480))
    assert small.shape == (480, 640)
    assert small[240:, 320:].all()
    assert small.sum() == 240 * 320


@given(
    st.lists(st.integers() | st.integers(-4, 4), min_size=2, max_size=2),
    st.text(st.characters(min_codepoint=48, max_codepoint=111), max_size=30),
)
def test_any_size_and_counts_are_a_mask_or_refused(size, counts):
    try:
        mask = decode_rle({"size": size, "counts": counts})
    except ValueError:
        return
    assert list(mask.shape) == size
