"""The evaluate module and the summary: means over what is judged, intervals, categories."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

from procedural_evals import folders
from procedural_evals.judge.cache import CACHE_VARIABLE
from procedural_evals.judge.client import JudgeUnreachable
from procedural_evals.scores.uncertainty import bootstrap_mean
from tests.judge_server import JudgeServer, item_number, ternary_reply

FOLDER = folders.metrics() / "llm_judge"


@pytest.fixture(scope="module")
def metric() -> evaluate.EvaluationModule:
    return evaluate.load(str(FOLDER))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def numbered(count: int) -> dict[str, Any]:
    return {
        "predictions": [f"prediction number {n}" for n in range(count)],
        "references": [["the answer", "another"] for _ in range(count)],
        "questions": ["What is next?"] * count,
    }


def test_oracle_gets_100_and_silence_0_with_the_lexical_judge(
    metric: evaluate.EvaluationModule, shared: Path
) -> None:
    examples = json.loads((shared / "data/promqa-assembly/qa_excerpt.json").read_text("utf-8"))
    columns = {
        "judge": "lexical",
        "references": [example["answers"] for example in examples],
        "clusters": [example["sequence_id"] for example in examples],
        "categories": {
            "type": [example["question_type"] for example in examples],
            "source": [example["source"] for example in examples],
        },
    }
    oracle = metric.compute(predictions=[e["answers"][0] for e in examples], **columns)
    assert (oracle["score"], oracle["interval"]) == (100, [100, 100])
    assert (oracle["judged"], oracle["total"], oracle["unjudged"]) == (45, 45, [])
    assert oracle["by_category"]["type"]["next"]["total"] == 19
    assert oracle["by_category"]["source"]["human"]["total"] == 2
    assert oracle["comparable"] is False
    assert metric.compute(predictions=[""] * 45, **columns)["score"] == 0


def test_a_model_judges_with_steps_and_keeps_its_replies(
    metric: evaluate.EvaluationModule, own_cache: Path
) -> None:
    with JudgeServer() as server:
        options = {"model": "fake", "base_url": server.base_url, "prices": (1.0, 1.0)}
        columns = numbered(9) | {"steps": [["attach wheel"], None, []] * 3}
        found = metric.compute(**columns, **options)
        assert found["score"] == pytest.approx(50)
        assert found["grades"] == {"Judge": pytest.approx(1)}
        assert found["comparable"] is True
        (usage,) = found["usage"].values()
        assert usage["requests"] == 10  # a ping and nine items
        assert usage["cost"] == pytest.approx(1100 / 1e6)
        again = metric.compute(**columns, **options)
        (usage,) = again["usage"].values()
        assert usage["requests"] == 0
    assert again["score"] == found["score"]
    prompts = [body["messages"][0]["content"] for body in server.bodies[1:]]
    assert sum("- attach wheel" in prompt for prompt in prompts) == 3
    assert own_cache.is_dir()


def test_unjudged_items_are_left_out_and_named(metric: evaluate.EvaluationModule) -> None:
    def moody(messages: list[dict[str, str]]) -> str:
        number = item_number(messages[0]["content"])
        return "Well..." if number == 2 else ternary_reply(messages)

    with JudgeServer(reply=moody) as server:
        found = metric.compute(
            **numbered(3),
            model="fake",
            base_url=server.base_url,
            ids=["a", "b", "c"],
            categories=["next", "next", "order"],
        )
    assert (found["score"], found["judged"], found["total"]) == (25, 2, 3)
    (missing,) = found["unjudged"]
    assert missing["id"] == "c"
    assert "no [Judge]" in missing["reason"]
    assert found["by_category"]["order"] == {
        "score": None,
        "interval": None,
        "judged": 0,
        "total": 1,
    }


def test_an_outage_is_no_score_of_zero(metric: evaluate.EvaluationModule) -> None:
    with JudgeServer(reply=lambda _: "?") as server:
        found = metric.compute(**numbered(2), model="fake", base_url=server.base_url)
    assert found["score"] is None
    assert found["interval"] is None
    with pytest.raises(JudgeUnreachable, match="start the server"):
        metric.compute(**numbered(3), model="fake", base_url=server.base_url)


def test_several_judges_are_averaged_and_an_item_needs_all_of_them(
    metric: evaluate.EvaluationModule,
) -> None:
    def replies(messages: list[dict[str, str]]) -> str:
        number = item_number(messages[0]["content"])
        return "?" if number == 1 else "[Judge] 2"

    with JudgeServer(reply=replies) as server:
        found = metric.compute(**numbered(4), judges=["fake", "lexical"], base_url=server.base_url)
    assert (found["judged"], found["total"]) == (3, 4)
    assert found["score"] == 50  # 100 by the model, 0 by the words
    assert [row["judged"] for row in found["by_judge"].values()] == [3, 4]
    assert found["comparable"] is False


def test_intervals_draw_whole_recordings(metric: evaluate.EvaluationModule) -> None:
    clusters = [n // 4 for n in range(24)]
    with JudgeServer() as server:
        found = metric.compute(
            **numbered(24), model="fake", base_url=server.base_url, clusters=clusters, draws=300
        )
    values = 50.0 * (np.arange(24) % 3)
    expected = bootstrap_mean(values, clusters, draws=300)
    assert found["interval"] == [expected.low, expected.high]
    assert found["interval"] != list(bootstrap_mean(values, draws=300)[1:])


def test_dimensions_are_reported_in_their_own_unit(metric: evaluate.EvaluationModule) -> None:
    said = "Correctness: 5\nCompleteness: 4\nRelevance: 3\nClarity: 2\nBrevity: 1\nFinal: 3"
    with JudgeServer(reply=lambda _: said) as server:
        found = metric.compute(
            **numbered(2), model="fake", base_url=server.base_url, rubric="dyad_response"
        )
    assert found["score"] == 60
    assert found["grades"]["correctness"] == 5
    assert found["grades"]["brevity"] == 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"questions": ["one"]}, "questions: 1 for 3 predictions"),
        ({"clusters": [1]}, "clusters: 1 labels for 3 items"),
        ({"categories": {"type": [1]}}, "type: 1 labels for 3 items"),
        (
            {"questions": None, "judge": None, "model": "fake"},
            "item 0: rubric promqa_ternary needs its question",
        ),
        ({"judge": None}, "choose one of model="),
        ({"judges": ["fake"]}, "choose one of model="),
        ({"judges": [{"base_url": "http://x"}], "judge": None}, "has no 'model'"),
        ({"base_url": "http://x"}, "base_url: no model is among the judges"),
        ({"references": [["a"], [], ["a"]]}, "item 1: no answers"),
        ({"predictions": ["a", None, "b"]}, "item 1: None is no text"),
    ],
)
def test_bad_input_is_named(
    metric: evaluate.EvaluationModule, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        metric.compute(**(numbered(3) | {"judge": "lexical"} | changes))


def test_the_card_shows_what_really_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders.metrics().parent)
    failures, tried = doctest.testfile(str(FOLDER / "README.md"), module_relative=False)
    assert (failures, tried > 0) == (0, True)
