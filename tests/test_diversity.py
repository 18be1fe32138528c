"""Distinct-n counts n-grams over all texts after the stop words are out."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import evaluate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.util import ngrams

from procedural_evals import folders
from procedural_evals.scores.diversity import distinct_n, words

FOLDER = folders.metrics() / "distinct_n"


@pytest.fixture(scope="module")
def metric() -> evaluate.EvaluationModule:
    return evaluate.load(str(FOLDER))


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "the"]), max_size=6), min_size=1),
    st.integers(1, 3),
)
def test_ratio_agrees_with_a_direct_count(texts: list[list[str]], n: int) -> None:
    grams = [gram for text in texts for gram in ngrams([w for w in text if w != "the"], n)]
    joined = [" ".join(text) for text in texts]
    if not grams:
        with pytest.raises(ValueError, match="no"):
            distinct_n(joined, n, ["the"])
        return
    found = distinct_n(joined, n, ["the"])
    assert (found.distinct, found.total) == (len(set(grams)), len(grams))
    assert found.value == len(set(grams)) / len(grams)


def test_words_keep_their_apostrophes_and_lose_their_case() -> None:
    assert words("I’ve put IT on—haven't I? Ｏk 'quoted'") == [
        "i've", "put", "it", "on", "haven't", "i", "ok", "quoted",
    ]  # fmt: skip


def test_no_pair_spans_two_texts() -> None:
    assert distinct_n(["roof cabin", "wheel chassis"], 2).total == 2


@pytest.mark.parametrize(("texts", "n"), [(["a"], 0), ([], 1), (["the"], 1), (["roof"], 2)])
def test_nothing_to_count_is_an_error(texts: list[str], n: int) -> None:
    with pytest.raises(ValueError, match="n"):
        distinct_n(texts, n, ["the"])


def test_the_stop_list_is_clean_and_the_card_states_its_size(
    metric: evaluate.EvaluationModule,
) -> None:
    stop = (FOLDER / "stop_words.txt").read_text("utf-8").split()
    assert len(stop) == len(set(stop))
    assert all([word] == words(word) for word in stop)
    found = metric.compute(predictions=["attach roof"])
    assert found["stop_words"] == len(stop)
    assert f"list of {len(stop)} English" in (FOLDER / "README.md").read_text("utf-8")


def test_real_questions_vary_more_than_one_repeated(
    metric: evaluate.EvaluationModule, shared: Path
) -> None:
    examples = json.loads((shared / "data/promqa-assembly/qa_excerpt.json").read_text("utf-8"))
    found = metric.compute(predictions=[example["question"] for example in examples])
    assert found["texts"] == 45
    assert 0 < found["distinct_1"] < found["distinct_2"] < 1
    repeated = metric.compute(predictions=[examples[0]["question"]] * 45)
    assert repeated["distinct_1"] < found["distinct_1"]


def test_a_missing_text_is_named(metric: evaluate.EvaluationModule) -> None:
    with pytest.raises(ValueError, match="item 1 is None"):
        metric.compute(predictions=["attach roof", None])


def test_the_card_shows_what_really_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(str(FOLDER / "README.md"), module_relative=False)
    assert (failures, tried > 0) == (0, True)
