"""Segmental scores against the usual definitions written out frame by frame."""

from __future__ import annotations

import doctest

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from procedural_evals import folders
from procedural_evals.scores.localization import (
    Detection,
    Segment,
    detections,
    frame_map,
    segments,
    temporal_map,
)
from procedural_evals.scores.segmentation import segment_counts, segment_intervals, segment_scores


def written_out_segments(labels, background=()):
    """Label, start and end of each run, found by walking over the frames."""
    runs = []
    for frame, label in enumerate(labels):
        if runs and runs[-1][0] == label and runs[-1][2] == frame:
            runs[-1][2] = frame + 1
        else:
            runs.append([label, frame, frame + 1])
    return [run for run in runs if run[0] not in background]


def written_out_distance(a, b):
    """Levenshtein distance by the table of all prefixes."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        previous, row = row, [i]
        for j, right in enumerate(b, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (left != right)))
    return row[-1]


def written_out_scores(predictions, references, thresholds, background=()):
    """The usual definitions: greedy F1 per threshold, edit, MoF, with the holes as documented."""
    edits, correct, frames = [], 0, 0
    tp = dict.fromkeys(thresholds, 0)
    fp, fn = dict.fromkeys(thresholds, 0), dict.fromkeys(thresholds, 0)
    for predicted, true in zip(predictions, references, strict=True):
        correct += sum(p == t for p, t in zip(predicted, true, strict=True))
        frames += len(true)
        found = written_out_segments(predicted, background)
        wanted = written_out_segments(true, background)
        longer = max(len(found), len(wanted))
        distance = written_out_distance([s[0] for s in found], [s[0] for s in wanted])
        edits.append(100 * (1 - distance / longer) if longer else 100)
        for threshold in thresholds:
            used = [False] * len(wanted)
            for label, start, end in found:
                best, partner = 0.0, None
                for k, (other, first, last) in enumerate(wanted):
                    if other == label:
                        shared = min(end, last) - max(start, first)
                        iou = shared / (max(end, last) - min(start, first))
                        if iou > best:
                            best, partner = iou, k
                if partner is not None and best >= threshold and not used[partner]:
                    used[partner] = True
                    tp[threshold] += 1
                else:
                    fp[threshold] += 1
            fn[threshold] += used.count(False)
    scores = {}
    for threshold in thresholds:
        total = 2 * tp[threshold] + fp[threshold] + fn[threshold]
        scores[f"f1@{threshold:g}"] = 100 * 2 * tp[threshold] / total if total else 100
    scores["edit"] = sum(edits) / len(edits)
    scores["mof"] = 100 * correct / frames if frames else 100
    return scores


@st.composite
def corpora(draw):
    """Pairs of label sequences of equal length, some of them empty, with long and short runs."""
    label = st.sampled_from("abc-")
    run = st.tuples(label, st.integers(1, 6))
    predictions, references = [], []
    for _ in range(draw(st.integers(1, 4))):
        sides = [[c for c, n in draw(st.lists(run, max_size=8)) for _ in range(n)] for _ in "pr"]
        length = min(len(side) for side in sides)
        predictions.append(sides[0][:length])
        references.append(sides[1][:length])
    return predictions, references


THRESHOLDS = (0.1, 0.25, 0.5, 1.0)


@settings(max_examples=800, deadline=None)
@given(corpora(), st.sampled_from([None, "-", ("-", "a")]))
def test_scores_agree_with_the_definitions_written_out(corpus, background):
    predictions, references = corpus
    expected = written_out_scores(predictions, references, THRESHOLDS, tuple(background or ()))
    found = segment_scores(predictions, references, THRESHOLDS, background)
    assert found == pytest.approx(expected)


def smooth_sequence(rng, frames, labels):
    cuts = np.sort(rng.integers(0, frames + 1, rng.integers(0, 8)))
    return np.repeat(
        rng.integers(0, labels, cuts.size + 1), np.diff(cuts, prepend=0, append=frames)
    )


def test_scores_agree_on_thousands_of_random_sequences_of_numbers():
    rng = np.random.default_rng(7)
    for _ in range(600):
        lengths = rng.integers(0, 40, 5)
        predictions = [smooth_sequence(rng, n, 4) for n in lengths]
        references = [smooth_sequence(rng, n, 4) for n in lengths]
        background = [None, 0, (0, 3)][rng.integers(3)]
        dropped = () if background is None else np.atleast_1d(background).tolist()
        expected = written_out_scores(predictions, references, THRESHOLDS, dropped)
        found = segment_scores(predictions, references, THRESHOLDS, background)
        assert found == pytest.approx(expected)


@settings(max_examples=200, deadline=None)
@given(corpora())
def test_a_perfect_prediction_scores_100(corpus):
    _, references = corpus
    assert set(segment_scores(references, references).values()) == {100.0}


def test_strings_and_numbers_are_scored_alike():
    words = [["search", "search", "gear"], ["gear"]]
    others = [["search", "gear", "gear"], ["search"]]
    numbers = {"search": 3, "gear": 1}
    as_numbers = [[[numbers[w] for w in sequence] for sequence in side] for side in (words, others)]
    assert segment_scores(words, others) == segment_scores(*as_numbers)
    assert segment_scores(words, others) == segment_scores(
        [np.array(w) for w in words], [np.array(o, object) for o in others]
    )


def test_each_true_segment_is_found_once():
    # Two predicted pieces of one true segment: one hit, one false alarm.
    scores = segment_scores([list("aabaaa")], [list("aaaaaa")], (0.1,))
    assert scores["f1@0.1"] == pytest.approx(100 * 2 * 1 / (3 + 1))


def test_a_threshold_is_reached_by_an_equal_overlap():
    predicted, true = [list("abbbbbbbbb")], [list("aaaaaaaaaa")]
    assert segment_scores(predicted, true, (0.1,))["f1@0.1"] > 0
    assert segment_scores(predicted, true, (0.11,))["f1@0.11"] == 0


def test_segments_of_different_sequences_never_meet():
    scores = segment_scores([list("aa"), list("bb")], [list("bb"), list("aa")])
    assert set(scores.values()) == {0.0}
    # A label that goes on in the next sequence is two segments.
    assert len(segment_counts([list("aa"), list("aa")], [list("aa"), list("aa")]).predicted) == 2
    assert segment_counts([list("aa")] * 2, [list("aa")] * 2).reference.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("predicted", "true", "f1", "edit", "mof"),
    [
        ("", "", 100, 100, 100),
        ("---", "---", 100, 100, 100),
        ("---", "aab", 0, 0, 0),
        ("aab", "---", 0, 0, 0),
        ("-a-", "---", 0, 0, 100 * 2 / 3),
    ],
)
def test_empty_and_background_only_sides_are_defined(predicted, true, f1, edit, mof):
    scores = segment_scores([list(predicted)], [list(true)], (0.5,), background="-")
    assert scores == pytest.approx({"f1@0.5": f1, "edit": edit, "mof": mof})


def test_background_does_not_join_its_neighbours():
    assert segments(list("a-a"), "-") == [Segment("a", 0, 1), Segment("a", 2, 3)]
    assert segment_scores([list("a-a")], [list("aaa")], (0.5,), "-")["edit"] == 50


def test_background_frames_count_for_frame_accuracy_only():
    scores = segment_scores([list("a--b")], [list("a--c")], (0.5,), background="-")
    assert scores["mof"] == 75
    assert scores["f1@0.5"] == 50


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([list("ab")], [list("abc")], {}, "sequence 0: 2 predicted frames for 3"),
        ([list("a"), list("a")], [list("a"), list("ab")], {}, "sequence 1: 1 predicted frames"),
        ([list("a")], [], {}, "1 predicted sequences for 0"),
        ([], [], {}, "no sequences"),
        (["ab"], [list("ab")], {}, "is one label"),
        ([[1.5]], [[1]], {}, "float64"),
        ([["a", 1]], [["a", "b"]], {}, "predictions: sequence 0: frame 1 is 1"),
        ([["a", None]], [["a", "b"]], {}, "frame 1 is None"),
        ([[1, None]], [[1, 1]], {}, "frame 1 is None"),
        ([[1]], [["a"]], {}, "two types"),
        ([[[1], [2]]], [[1, 2]], {}, "one label a frame"),
        ([[[1], [2, 3]]], [[1, 2]], {}, "one label a frame"),
        ([[1]], [[1]], {"background": "-"}, "background: '-' can never occur"),
        ([[1]], [[1]], {"thresholds": (0,)}, "thresholds: 0"),
        ([[1]], [[1]], {"thresholds": (10,)}, "thresholds: 10"),
    ],
)
def test_bad_input_is_named(predictions, references, options, message):
    with pytest.raises(ValueError, match=message):
        segment_scores(predictions, references, **options)


def test_intervals_are_those_of_scoring_the_drawn_sequences():
    rng = np.random.default_rng(0)
    predictions = [smooth_sequence(rng, 60, 3) for _ in range(12)]
    references = [smooth_sequence(rng, 60, 3) for _ in range(12)]
    counts = segment_counts(predictions, references)
    drawn = rng.integers(0, 3, (5, 12))
    weighted = counts.weighted(drawn)
    for row, times in enumerate(drawn):
        chosen = np.repeat(np.arange(12), times)
        expected = segment_scores([predictions[i] for i in chosen], [references[i] for i in chosen])
        assert {name: values[row] for name, values in weighted.items()} == pytest.approx(expected)
    people = [f"p{i // 3}" for i in range(12)]
    found = segment_intervals(predictions, references, clusters=people, draws=200, seed=1)
    assert found["mof"].mean == segment_scores(predictions, references)["mof"]
    assert found["mof"].low < found["mof"].mean < found["mof"].high


def test_frame_map_agrees_with_scikit_learn_and_leaves_absent_classes_out():
    rng = np.random.default_rng(3)
    names = ["a", "b", "c", "never"]
    references = [rng.choice(["a", "b", "c", "-"], 30).tolist() for _ in range(4)]
    scores = [rng.normal(size=(30, 4)).round(1) for _ in references]
    found = frame_map(scores, references, names)
    labels, table = np.concatenate(references), np.concatenate(scores)
    expected = {
        name: 100 * average_precision_score(labels == name, table[:, column])
        for column, name in enumerate(names[:3])
    }
    assert found.by_class == pytest.approx(expected)
    assert found.mean == pytest.approx(np.mean(list(expected.values())))


def test_frame_map_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"sequence 0: shape \(1, 1\); 1 frames by 2 classes"):
        frame_map([[[1.0]]], [["a"]], ["a", "b"])
    with pytest.raises(ValueError, match="frame 1 is not finite"):
        frame_map([[[1.0], [float("nan")]]], [["a", "a"]], ["a"])
    with pytest.raises(ValueError, match="no frame has one of the labels"):
        frame_map([[[1.0]]], [[1]], ["a"])


def written_out_temporal_map(detected, references, threshold):
    """Greedy by score over the corpus, precision made falling, area by recall steps."""
    areas = []
    for label in {s.label for truth in references for s in truth}:
        claims = sorted(
            ((d.score, i, d) for i, ds in enumerate(detected) for d in ds if d.label == label),
            key=lambda claim: -claim[0],
        )
        total = sum(s.label == label for truth in references for s in truth)
        used, hits, precisions = set(), 0, []
        for rank, (_, i, claim) in enumerate(claims, 1):
            options = []
            for k, s in enumerate(references[i]):
                if s.label == label and (i, k) not in used:
                    shared = min(claim.end, s.end) - max(claim.start, s.start)
                    union = max(claim.end, s.end) - min(claim.start, s.start)
                    if shared > 0 and shared / union >= threshold:
                        options.append((-shared / union, k))
            if options:
                used.add((i, min(options)[1]))
                hits += 1
                precisions.append((hits / rank, True))
            else:
                precisions.append((hits / rank, False))
        areas.append(
            sum(
                max(p for p, _ in precisions[rank:])
                for rank, (_, hit) in enumerate(precisions)
                if hit
            )
            / total
        )
    return 100 * sum(areas) / len(areas)


def test_temporal_map_agrees_with_the_definition_written_out():
    rng = np.random.default_rng(11)
    for _ in range(200):
        truths = [smooth_sequence(rng, 30, 3) for _ in range(3)]
        guesses = [smooth_sequence(rng, 30, 3) for _ in range(3)]
        references = [segments(t) for t in truths]
        found = [detections(g, rng.random((30, 3)), [0, 1, 2]) for g in guesses]
        ours = temporal_map(found, references, (0.1, 0.5))
        for threshold in (0.1, 0.5):
            expected = written_out_temporal_map(found, references, threshold)
            assert ours[f"map@{threshold}"] == pytest.approx(expected)


def test_temporal_map_of_empty_sides():
    claim, truth = Detection("a", 0, 1, 0.5), Segment("a", 0, 1)
    assert temporal_map([[]], [[]], (0.5,)) == {"map@0.5": 100}
    assert temporal_map([[claim]], [[]], (0.5,)) == {"map@0.5": 0}
    assert temporal_map([[]], [[truth]], (0.5,)) == {"map@0.5": 0}
    with pytest.raises(ValueError, match="sequence 0: segment from 3 to 3"):
        temporal_map([[]], [[Segment("a", 3, 3)]])
    with pytest.raises(ValueError, match="no column of scores"):
        detections(["a"], [[1.0]], ["b"])


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(str(folders.metrics() / "step_segmentation"))


def test_the_evaluate_module_gives_the_librarys_numbers(metric):
    predictions, references = [list("aab-"), list("bb")], [list("abb-"), list("ab")]
    found = metric.compute(
        predictions=predictions, references=references, thresholds=(0.5,), background="-"
    )
    expected = segment_scores(predictions, references, (0.5,), "-")
    assert {name: found[name] for name in expected} == expected
    assert (found["sequences"], found["frames"]) == (2, 6)
    numbers = metric.compute(predictions=[[1, 2]], references=[[1, 2]])
    assert numbers["f1@0.1"] == 100


def test_the_evaluate_module_scores_classes_when_it_is_given_their_scores(metric):
    found = metric.compute(
        predictions=[list("ab")],
        references=[list("ab")],
        scores=[[[0.9, 0.1], [0.2, 0.8]]],
        names=["a", "b"],
        clusters=["p1"],
        draws=10,
    )
    assert found["frame_map"] == 100
    assert found["map@0.5"] == 100
    assert found["intervals"]["mof"] == [100.0, 100.0]


def test_the_evaluate_module_refuses_unequal_lengths(metric):
    with pytest.raises(ValueError, match="sequence 0: 1 predicted frames for 2"):
        metric.compute(predictions=[["a"]], references=[["a", "b"]])


def test_the_evaluate_module_takes_empty_sequences_and_refuses_cut_numbers(metric):
    assert metric.compute(predictions=[[], [1]], references=[[], [1]])["edit"] == 100
    with pytest.raises(ValueError, match=r"predictions: item 0 is 1.5"):
        metric.compute(predictions=[[1.5, 2]], references=[[1, 2]])
    with pytest.raises(ValueError, match="labels of two types"):
        metric.compute(predictions=[["a", 1]], references=[["a", "b"]])


def test_the_card_shows_what_really_comes_out(monkeypatch):
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(
        str(folders.metrics() / "step_segmentation" / "README.md"), module_relative=False
    )
    assert tried > 0
    assert failures == 0
