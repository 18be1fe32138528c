"""The cluster bootstrap against loops written out, and what its intervals always satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural_evals.scores.uncertainty import (
    bootstrap_mean,
    cluster_counts,
    paired_difference,
    partition,
    percentile_ends,
)

VALUES = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


@st.composite
def clustered(draw):
    values = draw(VALUES)
    names = st.sampled_from(["v1", "v2", "v3", "v4"])
    return values, draw(st.lists(names, min_size=len(values), max_size=len(values)))


def drawn_items(clusters, draws, seed):
    """The items of each replicate, cluster by cluster, as a loop over the same random numbers."""
    names = list(dict.fromkeys(clusters))
    rng = np.random.default_rng(seed)
    for picks in rng.integers(0, len(names), size=(draws, len(names))):
        yield [
            item
            for pick in picks
            for item, cluster in enumerate(clusters)
            if cluster == names[pick]
        ]


@settings(max_examples=60, deadline=None)
@given(clustered(), st.integers(0, 5), st.sampled_from([0.5, 0.9, 0.95]))
def test_the_interval_is_that_of_a_loop_that_draws_whole_clusters(data, seed, level):
    values, clusters = data
    means = [np.mean([values[i] for i in items]) for items in drawn_items(clusters, 40, seed)]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    interval = bootstrap_mean(values, clusters, draws=40, seed=seed, level=level)
    assert interval.mean == pytest.approx(np.mean(values))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(clustered(), st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_paired_difference_is_that_of_a_loop(data, random, seed):
    a, clusters = data
    b = [random.uniform(-100, 100) for _ in a]
    means = [np.mean([a[i] - b[i] for i in items]) for items in drawn_items(clusters, 40, seed)]
    found = paired_difference(a, b, clusters, draws=40, seed=seed)
    low, high = np.percentile(means, [2.5, 97.5])
    assert found.mean == pytest.approx(np.mean(a) - np.mean(b), abs=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    back = paired_difference(b, a, clusters, draws=40, seed=seed)
    assert (back.mean, back.low, back.high) == pytest.approx((-found.mean, -high, -low), abs=1e-9)
    assert back.p_value == found.p_value


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 5))
def test_without_clusters_each_item_is_its_own(values, seed):
    alone = bootstrap_mean(values, draws=30, seed=seed)
    assert bootstrap_mean(values, list(range(len(values))), draws=30, seed=seed) == alone


@settings(max_examples=100, deadline=None)
@given(clustered())
def test_an_interval_is_ordered_and_within_the_values(data):
    values, clusters = data
    interval = bootstrap_mean(values, clusters, draws=30)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_a_seed_repeats_an_interval_and_another_seed_does_not():
    values = np.random.default_rng(0).random(50)
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_one_cluster_has_no_spread():
    assert bootstrap_mean([0, 1, 1, 0], ["v"] * 4) == (0.5, 0.5, 0.5)


def test_the_interval_has_the_width_that_theory_gives():
    values = np.random.default_rng(0).normal(size=400)
    interval = bootstrap_mean(values, draws=4000)
    standard_error = values.std() / np.sqrt(values.size)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * standard_error, rel=0.08)


def test_items_that_repeat_within_a_cluster_add_no_certainty():
    one_each = np.random.default_rng(0).integers(0, 2, 40).astype(float)
    clusters = [f"video {i}" for i in range(40)]
    once = bootstrap_mean(one_each, clusters, seed=3)
    tenfold = bootstrap_mean(np.repeat(one_each, 10), np.repeat(clusters, 10).tolist(), seed=3)
    assert tenfold == pytest.approx(once)


@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_each_replicate_draws_as_many_clusters_as_there_are(k, draws, seed):
    counts = cluster_counts(k, draws, seed)
    assert counts.shape == (draws, k)
    assert (counts.sum(axis=1) == k).all()
    assert (counts >= 0).all()


def test_clusters_are_drawn_evenly():
    shares = cluster_counts(10, draws=20_000).mean(axis=0)
    assert shares == pytest.approx(np.ones(10), abs=0.03)


def test_partition_numbers_clusters_in_order_of_appearance():
    labels, k = partition(["b", "a", "b", "c"], 4)
    assert (labels.tolist(), k) == ([0, 1, 0, 2], 3)
    labels, k = partition(None, 3)
    assert (labels.tolist(), k) == ([0, 1, 2], 3)


def test_the_p_value_tells_a_difference_from_none():
    rng = np.random.default_rng(0)
    a, noise = rng.random(200), rng.normal(size=200)
    assert paired_difference(a, a - 0.5 + 0.1 * noise).p_value < 0.01
    assert paired_difference(a, a + 0.1 * (noise - noise.mean())).p_value > 0.5
    assert paired_difference(a, a).p_value == 1.0


def test_the_p_value_is_rarely_small_where_there_is_no_difference():
    rng = np.random.default_rng(1)
    p_values = [
        paired_difference(rng.normal(size=60), rng.normal(size=60), draws=300, seed=i).p_value
        for i in range(300)
    ]
    assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.10
    assert min(p_values) > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bootstrap_mean([]), "at least one"),
        (lambda: bootstrap_mean([[1.0]]), r"shape \(1, 1\)"),
        (lambda: bootstrap_mean([0.0, float("nan")]), "item 1 is nan"),
        (lambda: bootstrap_mean([0.0, None]), "item 1 is nan"),
        (lambda: bootstrap_mean([float("inf")]), "item 0 is inf"),
        (lambda: bootstrap_mean([1.0], ["a", "b"]), "2 names for 1 values"),
        (lambda: bootstrap_mean([1.0], draws=0), "draws: 0"),
        (lambda: bootstrap_mean([1.0], level=1.0), "level: 1.0"),
        (lambda: bootstrap_mean([1.0], level=95), "level: 95"),
        (lambda: paired_difference([1.0], [1.0, 2.0]), "a has 1 values and b 2"),
        (lambda: cluster_counts(0), "no clusters"),
        (lambda: percentile_ends([1.0], 0.0), "level: 0.0"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
