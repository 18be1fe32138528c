"""The causal decoder never looks ahead, and each of its parts does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from procedural_evals.scores.causal_decoder import CausalDecoder, pmi_debiased

DECODERS = st.builds(
    CausalDecoder,
    smoothing=st.sampled_from([0.1, 0.5, 1.0]),
    margin=st.sampled_from([0.0, 0.3, 1.0]),
    dwell=st.integers(1, 4),
)
NUMBERS = st.floats(-5, 5, width=32)
TABLES = arrays(np.float64, st.tuples(st.integers(1, 15), st.just(3)), elements=NUMBERS)


@settings(max_examples=200, deadline=None)
@given(DECODERS, TABLES, TABLES)
def test_output_depends_on_the_past_only(decoder, past, future):
    alone = decoder.decode(past)
    followed = decoder.decode(np.concatenate((past, future)))
    assert followed.labels[: len(past)].tolist() == alone.labels.tolist()
    assert np.array_equal(followed.scores[: len(past)], alone.scores)


@settings(max_examples=200, deadline=None)
@given(TABLES)
def test_with_every_part_taken_out_each_frame_is_its_own(scores):
    plain = CausalDecoder(smoothing=1, margin=0, dwell=1)
    # A tie keeps the current label, so only frames with one best class are compared.
    best = scores.max(axis=1, keepdims=True) == scores
    single = best.sum(axis=1) == 1
    assert plain.decode(scores).labels[single].tolist() == scores.argmax(axis=1)[single].tolist()


@settings(max_examples=200, deadline=None)
@given(DECODERS, TABLES)
def test_a_label_is_left_only_for_one_that_stayed_ahead_by_the_margin(decoder, scores):
    labels, smoothed = decoder.decode(scores)
    for t in np.flatnonzero(np.diff(labels)) + 1:
        assert t >= decoder.dwell - 1
        rows = smoothed[t - decoder.dwell + 1 : t + 1]
        assert (rows.argmax(axis=1) == labels[t]).all()
        assert (rows[:, labels[t]] > rows[:, labels[t - 1]] + decoder.margin).all()


def test_smoothing_is_the_usual_moving_average():
    scores = np.random.default_rng(0).normal(size=(20, 2))
    expected = scores[0]
    smoothed = CausalDecoder(smoothing=0.3).smooth(scores)
    for t in range(1, 20):
        expected = 0.7 * expected + 0.3 * scores[t]
        assert smoothed[t] == pytest.approx(expected)


def test_a_margin_keeps_the_label_while_two_classes_are_close():
    scores = [[1.0, 0.0], [0.0, 0.2], [0.0, 0.5]]
    assert CausalDecoder(1, margin=0.3, dwell=1).decode(scores).labels.tolist() == [0, 0, 1]


def test_a_dwell_is_not_shared_between_two_competitors():
    scores = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert CausalDecoder(1, 0, dwell=2).decode(scores).labels.tolist() == [0, 0, 0, 0, 1]


def test_debiasing_removes_what_a_caption_gets_anyway():
    evidence = np.random.default_rng(1).normal(size=(6, 4))
    bias = np.array([5.0, 0.0, -3.0, 1.0])
    assert pmi_debiased(evidence + bias, bias) == pytest.approx(evidence)
    assert pmi_debiased(evidence + bias, np.tile(bias, (6, 1))) == pytest.approx(evidence)


def test_no_frames_give_no_labels():
    assert CausalDecoder().decode(np.empty((0, 3))).labels.tolist() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CausalDecoder(smoothing=0), "smoothing: 0"),
        (lambda: CausalDecoder(margin=-1), "margin: -1"),
        (lambda: CausalDecoder(margin=float("nan")), "margin: nan"),
        (lambda: CausalDecoder(dwell=0), "dwell: 0"),
        (lambda: CausalDecoder(dwell=1.5), "dwell: 1.5"),
        (lambda: CausalDecoder().decode([1.0, 2.0]), "frames by classes"),
        (lambda: CausalDecoder().decode([[1.0, float("nan")]]), "frame 0, class 1 is nan"),
        (lambda: pmi_debiased([[1.0, 2.0]], [1.0]), "blank: shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
