"""Accuracy, chance levels and the agreement over shuffles; and the evaluate module over them."""

from __future__ import annotations

import doctest
import json

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural_evals import choices, folders
from procedural_evals.scores import choice_accuracy
from procedural_evals.scores.uncertainty import bootstrap_mean

LETTERS = "ABCD"


@pytest.fixture(scope="module")
def questions(shared):
    file = shared / "data/flat-pack-bench/questions/questions.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {
        "gold": [row["question"]["correct_option"]["label"] for row in rows],
        "num_options": [row["question"]["num_options"] for row in rows],
        "tasks": [row["question_category"] for row in rows],
        "clusters": [row["video_id"] for row in rows],
    }


# The two chance rows that the benchmark's paper prints, and the number of questions a column.
CHANCE_ROWS = {
    "all": (602, 26.41, 26.74, "A"),
    "temporal_ord": (155, 25.00, 27.74, "C"),
    "temporal_loc": (103, 25.00, 30.10, "A"),
    "tracking": (257, 25.49, 26.46, "A"),
    "mating": (87, 33.33, 36.78, "D"),
}


@pytest.mark.parametrize("name", CHANCE_ROWS)
def test_the_chance_rows_of_flat_pack_bench_are_the_published_ones(questions, name):
    wrong = [0] * len(questions["gold"])
    scores = choice_accuracy.summarise(correct=wrong, parsed=wrong, draws=10, **questions)
    row = scores if name == "all" else scores.tasks[name]
    n, random, frequent, letter = CHANCE_ROWS[name]
    assert row.n == n
    assert f"{row.random_chance:.2f}" == f"{random:.2f}"
    assert f"{row.most_frequent_chance:.2f}" == f"{frequent:.2f}"
    assert row.most_frequent_letter == letter
    assert set(scores.tasks) == set(CHANCE_ROWS) - {"all"}
    assert scores.n_clusters == 50


def test_always_answering_the_commonest_letter_scores_its_chance_level(questions):
    right = [letter == "A" for letter in questions["gold"]]
    scores = choice_accuracy.summarise(right, [1] * len(right), draws=10, **questions)
    assert scores.accuracy == pytest.approx(scores.most_frequent_chance)
    tracking = scores.tasks["tracking"]
    assert tracking.accuracy == pytest.approx(tracking.most_frequent_chance)


def test_the_interval_draws_whole_videos_and_is_wider_than_one_over_questions(questions):
    rng = np.random.default_rng(1)
    videos = sorted(set(questions["clusters"]))
    skill = dict(zip(videos, rng.random(len(videos)), strict=True))
    right = [bool(rng.random() < skill[video]) for video in questions["clusters"]]
    read = [1] * len(right)
    by_video = choice_accuracy.summarise(right, read, clusters=questions["clusters"], seed=3)
    alone = choice_accuracy.summarise(right, read, seed=3)
    assert by_video.accuracy == alone.accuracy == pytest.approx(100 * np.mean(right))
    assert by_video.high - by_video.low > 1.5 * (alone.high - alone.low)
    expected = bootstrap_mean(100.0 * np.array(right), questions["clusters"], seed=3)
    assert (by_video.low, by_video.high) == (expected.low, expected.high)


ITEM = st.tuples(
    st.booleans(), st.booleans(), st.sampled_from("tuv"), st.integers(2, 6), st.sampled_from("ABCD")
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=40))
def test_rows_are_the_written_out_averages(items):
    read = [parsed for parsed, _, _, _, _ in items]
    right = [parsed and flag for parsed, flag, _, _, _ in items]
    tasks = [task for _, _, task, _, _ in items]
    options = [count for _, _, _, count, _ in items]
    gold = [letter for _, _, _, _, letter in items]
    scores = choice_accuracy.summarise(right, read, tasks, options, gold, draws=20)
    for name, row in [(None, scores), *scores.tasks.items()]:
        members = [i for i, task in enumerate(tasks) if name in (None, task)]
        assert row.n == len(members)
        assert row.n_correct == sum(right[i] for i in members)
        assert row.accuracy == pytest.approx(100 * row.n_correct / row.n)
        assert row.parse_failures == sum(not read[i] for i in members)
        assert row.parse_failure_rate == pytest.approx(100 * row.parse_failures / row.n)
        assert row.random_chance == pytest.approx(sum(100 / options[i] for i in members) / row.n)
        best = max(sum(gold[i] == letter for i in members) for letter in "ABCD")
        assert row.most_frequent_chance == pytest.approx(100 * best / row.n)
        assert 0 <= row.low <= row.high <= 100
    assert sum(row.n for row in scores.tasks.values()) == scores.n


def test_equally_common_letters_name_the_first_and_change_no_number():
    assert choice_accuracy.most_frequent(["C", "B", "B", "C"]) == ("B", 50.0)
    assert choice_accuracy.most_frequent(["B", "C", "C", "B"]) == ("B", 50.0)


def test_without_options_and_gold_there_is_no_chance_level():
    scores = choice_accuracy.summarise([1], [1])
    assert scores.random_chance is None
    assert scores.most_frequent_chance is None
    assert scores.tasks == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"correct": [], "parsed": []}, "at least one"),
        ({"correct": [1, 0], "parsed": [1]}, "1 flags for 2 questions"),
        ({"correct": [0.5], "parsed": [1]}, "item 0 is 0.5"),
        ({"correct": [float("nan")], "parsed": [1]}, "item 0 is nan"),
        ({"correct": [None], "parsed": [1]}, "item 0 is None"),
        ({"correct": [0, 1], "parsed": [1, 0]}, "item 1 is correct, but was not parsed"),
        ({"correct": [1], "parsed": [1], "tasks": ["a", "b"]}, "tasks: 2 values for 1"),
        ({"correct": [1], "parsed": [1], "clusters": ["a", "b"]}, "clusters: 2 values for 1"),
        ({"correct": [1], "parsed": [1], "num_options": [0]}, "num_options: item 0 is 0"),
        ({"correct": [1], "parsed": [1], "num_options": [2.5]}, "num_options: item 0 is 2.5"),
        ({"correct": [1], "parsed": [1], "draws": 0}, "draws: 0"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        choice_accuracy.summarise(**arguments)


def test_shuffles_agree_strictly_by_majority_or_once():
    ids = ["a"] * 4 + ["b"] * 4 + ["c"] * 4 + ["d"] * 4
    right = [*[1, 1, 1, 1], *[1, 1, 1, 0], *[1, 1, 0, 0], *[0, 0, 0, 0]]
    agreement = choice_accuracy.shuffle_agreement(ids, right)
    assert (agreement.strict, agreement.majority, agreement.any) == (25.0, 50.0, 75.0)
    assert (agreement.n_questions, agreement.fewest, agreement.most) == (4, 4, 4)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1), st.randoms())
def test_agreement_is_ordered_and_blind_to_the_order_of_answers(answers, random):
    agreement = choice_accuracy.shuffle_agreement(*zip(*answers, strict=True))
    assert 0 <= agreement.strict <= agreement.majority <= agreement.any <= 100
    random.shuffle(answers)
    assert choice_accuracy.shuffle_agreement(*zip(*answers, strict=True)) == agreement


def test_agreement_refuses_lengths_that_differ():
    with pytest.raises(ValueError, match="question_ids: 1 values for 2"):
        choice_accuracy.shuffle_agreement(["a"], [1, 0])


# ---- the evaluate module ----


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(str(folders.metrics() / "multiple_choice_accuracy"), keep_in_memory=True)


def test_the_card_and_the_module_run_as_they_are_printed(metric, monkeypatch):
    monkeypatch.chdir(folders.metrics().parent)
    card = folders.metrics() / "multiple_choice_accuracy" / "README.md"
    assert doctest.testfile(str(card), module_relative=False) == (0, 9)
    examples = doctest.DocTestParser().get_doctest(
        metric.inputs_description, {}, "inputs", None, None
    )
    assert doctest.DocTestRunner().run(examples) == (0, 4)


def test_the_module_gives_the_published_chance_rows(metric, questions):
    found = metric.compute(
        predictions=[""] * 602,
        references=questions["gold"],
        num_options=questions["num_options"],
        tasks=questions["tasks"],
        clusters=questions["clusters"],
        draws=10,
    )
    for name, (n, random, frequent, letter) in CHANCE_ROWS.items():
        suffix = "" if name == "all" else f"/{name}"
        assert found[f"n{suffix}"] == n
        assert f"{found[f'random_chance{suffix}']:.2f}" == f"{random:.2f}"
        assert f"{found[f'most_frequent_chance{suffix}']:.2f}" == f"{frequent:.2f}"
        assert found[f"most_frequent_letter{suffix}"] == letter
    assert (found["accuracy"], found["parse_failure_rate"]) == (0.0, 100.0)


def test_the_module_says_what_the_library_says(metric):
    rng = np.random.default_rng(0)
    gold = rng.choice(list(LETTERS), 60).tolist()
    replies = [rng.choice([g, f"({g})", "A or B", "The answer is D"]) for g in gold]
    tasks, videos = rng.choice(["t", "u"], 60).tolist(), rng.choice(["v", "w", "x"], 60).tolist()
    found = metric.compute(
        predictions=replies, references=gold, letters=LETTERS, tasks=tasks, clusters=videos, seed=7
    )
    read = [choices.parse_choice(reply, LETTERS).letter for reply in replies]
    right = [letter == g for letter, g in zip(read, gold, strict=True)]
    scores = choice_accuracy.summarise(
        right, [r is not None for r in read], tasks, [4] * 60, gold, videos, seed=7
    )
    assert found["accuracy"] == scores.accuracy
    assert (found["accuracy_low"], found["accuracy_high"]) == (scores.low, scores.high)
    assert found["parse_failures"] == scores.parse_failures > 0
    assert found["accuracy/t"] == scores.tasks["t"].accuracy
    assert found["parser_version"] == choices.PARSER_VERSION


@pytest.mark.parametrize(
    "offer",
    [
        {"letters": "ABCD"},
        {"letters": ["A", "B", "C", "D"]},
        {"letters": ["ABCD", "ABCD"]},
        {"num_options": 4},
        {"num_options": [4, 4]},
        {"options": [["w", "x", "y", "z"]] * 2},
        {"num_options": 4, "letters": "ABCD", "options": [["w", "x", "y", "z"]] * 2},
    ],
)
def test_what_was_offered_can_be_said_in_several_ways(metric, offer):
    found = metric.compute(predictions=["D", "E"], references=["D", "D"], **offer)
    assert (found["accuracy"], found["parse_failures"], found["random_chance"]) == (50.0, 1, 25.0)


def test_results_can_be_added_in_batches(metric):
    metric.add_batch(predictions=["A", "B"], references=["A", "A"])
    metric.add(prediction="C", reference="C")
    assert metric.compute(num_options=3)["accuracy"] == pytest.approx(200 / 3)


def test_failed_requests_are_counted_and_are_no_answers(metric):
    found = metric.compute(
        predictions=["[LMMS_EVAL_REQUEST_FAILED] B", "?", "B"], references=["B"] * 3, num_options=4
    )
    assert (found["request_failures"], found["parse_failures"], found["n_correct"]) == (1, 2, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "letters, num_options and options are all missing"),
        ({"num_options": 4, "predictions": ["A", None]}, "predictions: item 1 is None"),
        ({"num_options": 2, "references": ["A", "C"]}, "references: item 1 is 'C', not one of"),
        ({"num_options": 2, "references": ["A", "AB"]}, "references: item 1 is 'AB', not one of"),
        ({"num_options": 4, "references": ["A", None]}, "references: item 1 is None"),
        ({"num_options": [4]}, "num_options: 1 values for 2 questions"),
        ({"num_options": 0}, "num_options: 0 options in a question"),
        ({"num_options": [2, 2.5]}, "num_options: 2.5 options in a question"),
        ({"letters": ["AB", "ABC", "AB"]}, "letters: 3 values for 2 questions"),
        ({"letters": "AA"}, "offers a letter twice"),
        (
            {"letters": "AB", "options": [["x", "y"], ["x"]]},
            "options: item 1 has 1 options where letters says 2",
        ),
        ({"num_options": 2, "tasks": ["t"]}, "tasks: 1 values for 2"),
        ({"num_options": 2, "question_ids": ["q"]}, "question_ids: 1 values for 2"),
    ],
)
def test_the_module_names_bad_input(metric, arguments, words):
    given = {"predictions": ["A", "B"], "references": ["A", "B"], **arguments}
    with pytest.raises(ValueError, match=words):
        metric.compute(**given)
