"""The statistics behind comparisons, against loops and the formulas of other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from procedural_evals.scores.agreement import cohen_kappa
from procedural_evals.scores.pairs import kappa_interval, mcnemar
from procedural_evals.scores.segmentation import paired_segment_differences, segment_counts
from procedural_evals.scores.uncertainty import (
    holm,
    paired_difference,
    paired_differences,
    share_of,
)

NUMBERS = st.floats(0, 100)


@st.composite
def clustered(draw, values=NUMBERS):
    n = draw(st.integers(1, 25))
    rows = st.lists(values, min_size=n, max_size=n)
    return draw(rows), draw(rows), draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))


def drawn_items(clusters, draws, seed):
    names = list(dict.fromkeys(clusters))
    for picks in np.random.default_rng(seed).integers(0, len(names), size=(draws, len(names))):
        yield [n for pick in picks for n, name in enumerate(clusters) if name == names[pick]]


@settings(max_examples=50, deadline=None)
@given(clustered(), st.integers(0, 5))
def test_measures_drawn_together_are_as_each_alone(data, seed):
    a, b, clusters = data
    left, right = np.stack([a, b], axis=1), np.stack([b, b], axis=1)
    found = paired_differences(left, right, clusters, draws=30, seed=seed)
    assert found == [
        paired_difference(left[:, n], right[:, n], clusters, draws=30, seed=seed) for n in (0, 1)
    ]


@settings(max_examples=50, deadline=None)
@given(clustered(), st.integers(0, 5))
def test_a_share_is_that_of_a_loop(data, seed):
    part, rest, clusters = data
    whole = [1.0 + x for x in rest]
    rows = list(drawn_items(clusters, 40, seed))
    shares = [np.mean([part[n] for n in row]) / np.mean([whole[n] for n in row]) for row in rows]
    found = share_of(part, whole, clusters, draws=40, seed=seed)
    low, high = np.percentile(shares, [2.5, 97.5], method="closest_observation")
    assert found == pytest.approx((np.mean(part) / np.mean(whole), low, high), abs=1e-9)


def test_nothing_is_shared_out_that_may_not_be_there():
    assert share_of([1.0, 1.0], [-1.0, 0.5]) is None
    noise = np.random.default_rng(0).normal(0, 1, 50)
    assert share_of(noise, noise - noise.mean() + 0.01) is None
    assert share_of([0.0] * 50, noise + 3) == (0, 0, 0)


def test_a_share_of_little_is_open_to_the_top():
    whole = np.random.default_rng(11).normal(0.36, 1, 40)
    found = share_of(np.full(40, 1.0), whole, draws=4000)
    assert found is not None
    assert np.isfinite(found.low)
    assert found.high > 10 * found.low


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_its_definition(p_values):
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    expected = [0.0] * len(p_values)
    for rank, n in enumerate(order):
        steps = [(len(order) - k) * p_values[order[k]] for k in range(rank + 1)]
        expected[n] = min(1.0, max(steps))
    assert holm(p_values) == pytest.approx(expected)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_exact_binomial_test(lost, gained):
    expected = binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert mcnemar(lost, gained) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


def test_mcnemar_of_many_items_is_no_overflow():
    assert mcnemar(20_000, 20_000) == 1.0
    assert 0 <= mcnemar(9_000, 11_000) < 1e-40


@settings(max_examples=50, deadline=None)
@given(clustered(values=st.sampled_from("xyz")), st.integers(0, 5))
def test_the_interval_of_kappa_is_that_of_a_loop(data, seed):
    first, second, clusters = data
    rows = drawn_items(clusters, 30, seed)
    kappas = [cohen_kappa([first[n] for n in row], [second[n] for n in row]) for row in rows]
    found = kappa_interval(first, second, clusters, draws=30, seed=seed)
    low, high = np.percentile(kappas, [2.5, 97.5])
    assert found == pytest.approx((cohen_kappa(first, second), low, high), abs=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: holm([0.5, 1.5]), "p_values"),
        (lambda: holm([float("nan")]), "p_values"),
        (lambda: mcnemar(-1, 2), "-1 lost"),
        (lambda: share_of([1.0], [1.0, 2.0]), "1 values and whole 2"),
        (lambda: paired_differences([[1.0]], [[1.0, 2.0]]), r"\(1, 1\), b \(1, 2\)"),
        (lambda: paired_differences([[1.0, np.nan]], [[1.0, 2.0]]), "measure 1: item 0 is nan"),
        (
            lambda: paired_segment_differences(
                segment_counts([["a"]], [["a"]]), segment_counts([["a"] * 2], [["a"] * 2])
            ),
            "count the same ones",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
