"""Macro-F1, AUPRC and their participant bootstrap against scikit-learn."""

from __future__ import annotations

import doctest
import warnings

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from procedural_evals import folders
from procedural_evals.scores.classification import (
    average_precision,
    bootstrap_scores,
    classification_scores,
    confusion,
    macro_f1,
    over_seeds,
    paired_scores,
)
from procedural_evals.scores.uncertainty import cluster_counts, percentile_ends

MODES = ["verbal"] * 610 + ["physical"] * 219


def quiet(function, *arguments, **options):
    """The function's value without scikit-learn's warnings about classes that are absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def test_the_majority_rule_gets_the_published_row():
    scores = classification_scores(
        ["verbal"] * 829, MODES, scores=np.zeros(829), positive="physical"
    )
    assert round(scores["macro_f1"], 3) == 0.424
    assert round(scores["auprc"], 3) == 0.264
    assert scores["balanced_accuracy"] == 0.5
    assert scores["f1_physical"] == 0.0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1))
def test_label_scores_agree_with_scikit_learn(pairs):
    predictions, references = zip(*pairs, strict=True)
    ours = classification_scores(predictions, references)
    labels = sorted(set(predictions) | set(references))
    by_label = quiet(metrics.f1_score, references, predictions, labels=labels, average=None)
    assert ours["macro_f1"] == pytest.approx(
        quiet(metrics.f1_score, references, predictions, average="macro")
    )
    assert ours["accuracy"] == pytest.approx(metrics.accuracy_score(references, predictions))
    assert ours["balanced_accuracy"] == pytest.approx(
        quiet(metrics.balanced_accuracy_score, references, predictions)
    )
    assert [ours[f"f1_{label}"] for label in labels] == pytest.approx(by_label)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 4)), min_size=1).filter(
        lambda rows: any(hit and weight for _, hit, weight in rows)
    )
)
def test_average_precision_agrees_with_scikit_learn_ties_and_weights_included(rows):
    scores, hits, weights = zip(*rows, strict=True)
    plain = metrics.average_precision_score(hits, scores)
    weighted = quiet(metrics.average_precision_score, hits, scores, sample_weight=weights)
    assert average_precision(scores, hits) == pytest.approx(plain)
    assert average_precision(scores, hits, weights) == pytest.approx(weighted)


def system(seed, n=200, skill=1.0):
    """Predictions, references, scores and participants of a made-up system."""
    rng = np.random.default_rng(seed)
    physical = np.random.default_rng(99).random(n) < 0.3
    # Rounded, so that there are equal scores.
    scores = np.round(rng.normal(size=n) + skill * physical, 1)
    names = np.array(["verbal", "physical"])
    participants = [f"p{number}" for number in np.random.default_rng(98).integers(0, 12, n)]
    return (
        names[(scores > 0.5).astype(int)].tolist(),
        names[physical.astype(int)].tolist(),
        scores,
        participants,
    )


def sklearn_replicates(predictions, references, scores, participants, draws, seed):
    """Each replicate drawn item by item and scored by scikit-learn."""
    y, p = np.array(references), np.array(predictions)
    names = list(dict.fromkeys(participants))
    items = [np.flatnonzero(np.array(participants) == name) for name in names]
    rows = []
    for drawn in cluster_counts(len(names), draws, seed):
        chosen = np.concatenate([items[c] for c in np.repeat(np.arange(len(names)), drawn)])
        rows.append(
            (
                metrics.f1_score(y[chosen], p[chosen], average="macro"),
                metrics.balanced_accuracy_score(y[chosen], p[chosen]),
                metrics.average_precision_score(y[chosen] == "physical", scores[chosen]),
            )
        )
    return np.array(rows)


def test_the_participant_bootstrap_equals_a_loop_around_scikit_learn():
    predictions, references, scores, participants = system(0)
    loop = sklearn_replicates(predictions, references, scores, participants, draws=40, seed=5)
    ours = bootstrap_scores(
        predictions,
        references,
        participants,
        scores=scores,
        positive="physical",
        draws=40,
        seed=5,
    )
    for column, name in enumerate(("macro_f1", "balanced_accuracy", "auprc")):
        assert ours[name][1:] == pytest.approx(percentile_ends(loop[:, column]))


def test_the_paired_difference_draws_the_same_participants_for_both():
    a, references, a_scores, participants = system(1, skill=2.0)
    b, _, b_scores, _ = system(2, skill=0.0)
    loops = [
        sklearn_replicates(system_p, references, system_s, participants, draws=40, seed=3)
        for system_p, system_s in ((a, a_scores), (b, b_scores))
    ]
    found = paired_scores(
        a,
        b,
        references,
        participants,
        a_scores=a_scores,
        b_scores=b_scores,
        positive="physical",
        draws=40,
        seed=3,
    )
    for column, name in enumerate(("macro_f1", "balanced_accuracy", "auprc")):
        difference = loops[0][:, column] - loops[1][:, column]
        assert found[name][1:3] == pytest.approx(percentile_ends(difference))
    assert found["macro_f1"].mean > 0
    assert found["macro_f1"].p_value < 0.1


def test_drawing_whole_participants_widens_the_interval_of_repeated_events():
    # Each participant answers everything right or everything wrong.
    references = ["verbal", "physical"] * 50
    right = np.repeat(np.arange(10) % 2 == 0, 10)
    predictions = [
        label if ok else ("physical" if label == "verbal" else "verbal")
        for label, ok in zip(references, right, strict=True)
    ]
    participants = np.repeat(np.arange(10), 10).tolist()
    by_event = bootstrap_scores(predictions, references)["macro_f1"]
    by_person = bootstrap_scores(predictions, references, participants)["macro_f1"]
    assert by_person.high - by_person.low > 2 * (by_event.high - by_event.low)


def test_the_same_seed_gives_the_same_interval():
    predictions, references, _, participants = system(0)
    first, again, other = (
        bootstrap_scores(predictions, references, participants, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_no_answer_is_wrong_and_no_vote_for_another_class():
    guessed = classification_scores(["a", "b", "b"], ["a", "a", "b"])
    silent = classification_scores(["a", None, "b"], ["a", "a", "b"])
    assert silent["accuracy"] == guessed["accuracy"]
    assert silent["f1_b"] == 1.0
    assert silent["f1_b"] > guessed["f1_b"]
    assert silent["f1_a"] == pytest.approx(2 / 3)


def test_a_label_that_never_occurs_counts_zero_when_it_is_asked_for():
    assert macro_f1(["a", "b"], ["a", "b"]) == 1.0
    assert macro_f1(["a", "b"], ["a", "b"], labels=["a", "b", "c"]) == pytest.approx(2 / 3)


def test_confusion_tables_are_kept_per_cluster():
    counts, labels = confusion(["a", "b", "a"], ["a", "b", "b"], clusters=["p", "q", "q"])
    assert labels == ("a", "b")
    assert counts.tolist() == [[[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 1, 0]]]


def test_mean_and_sample_deviation_over_seeds():
    values = [0.55, 0.54, 0.56, 0.541]
    found = over_seeds(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.std == pytest.approx(np.std(values, ddof=1))
    assert over_seeds([0.5]).std is None
    assert str(over_seeds([0.5])) == "0.500"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: macro_f1(["a"], ["a", "b"]), "1 predictions for 2 references"),
        (lambda: macro_f1([], []), "no items"),
        (lambda: macro_f1(["a", "x"], ["a", "a"], labels=["a"]), "item 1 is 'x'"),
        (lambda: macro_f1(["a", "b"], ["a", None]), "references: item 1 is None"),
        (lambda: macro_f1(["a", 1], ["a", "b"]), "types int, str"),
        (lambda: macro_f1([["a"]], ["a"], labels=["a"]), r"item 0 is \['a'\]"),
        (lambda: macro_f1(["a"], ["a"], labels=["a", "a"]), "distinct"),
        (lambda: average_precision([0.1, float("nan")], [1, 0]), "item 1 is nan"),
        (lambda: average_precision([0.1], [0]), "no item is positive"),
        (lambda: average_precision([0.1], [1], [-1]), "weights"),
        (lambda: average_precision([0.1, 0.2], [1]), "shape"),
        (lambda: classification_scores(["a"], ["a"], scores=[1.0]), "go together"),
        (
            lambda: classification_scores(["a"], ["a"], scores=[1.0], positive="b"),
            "'b' is none of the labels",
        ),
        (lambda: bootstrap_scores(["a"], ["a"], clusters=["p", "q"]), "2 names for 1 values"),
        (lambda: over_seeds([]), "one finite score a seed"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(str(folders.metrics() / "macro_f1"))


def test_the_evaluate_module_gives_the_librarys_numbers(metric):
    predictions, references, scores, participants = system(4)
    found = metric.compute(
        predictions=predictions,
        references=references,
        scores=scores,
        positive="physical",
        clusters=participants,
        draws=100,
    )
    expected = classification_scores(predictions, references, scores=scores, positive="physical")
    intervals = bootstrap_scores(
        predictions, references, participants, scores=scores, positive="physical", draws=100
    )
    assert found["macro_f1"] == expected["macro_f1"]
    assert found["auprc"] == expected["auprc"]
    assert found["items"] == 200
    assert found["intervals"]["macro_f1"] == list(intervals["macro_f1"][1:])


def test_the_evaluate_module_takes_whole_numbers_and_missing_answers(metric):
    assert metric.compute(predictions=[0, 1], references=[0, 1])["macro_f1"] == 1.0
    found = metric.compute(predictions=["a", None], references=["a", "a"])
    assert found["accuracy"] == 0.5
    assert found["unanswered"] == 1


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (["a", 1], ["a", "b"], "labels of two types"),
        ([1.7], [1], "predictions: item 0 is 1.7"),
        ([True], [1], "predictions: item 0 is True"),
    ],
)
def test_the_evaluate_module_never_turns_one_label_into_another(
    metric, predictions, references, message
):
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references)


def test_the_evaluate_module_takes_a_missing_answer_in_the_first_place(metric):
    assert metric.compute(predictions=[None, "a"], references=["a", "a"])["unanswered"] == 1
    assert metric.compute(predictions=[None, 1], references=[1, 1])["unanswered"] == 1


def test_the_evaluate_module_refuses_a_missing_reference(metric):
    with pytest.raises(ValueError, match="references: item 1 is None"):
        metric.compute(predictions=["a", "b"], references=["a", None])


def test_the_card_shows_what_really_comes_out(monkeypatch):
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(
        str(folders.metrics() / "macro_f1" / "README.md"), module_relative=False
    )
    assert tried > 0
    assert failures == 0
