"""An audit compares judges with each other and with people; tau-b agrees with scipy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from procedural_evals.judge.audit import HUMAN, Cell, Prediction, audit, judge_audit
from procedural_evals.judge.audit_files import read_human_grades, read_predictions
from procedural_evals.judge.judging import make_judge
from procedural_evals.judge.rubric import JudgeItem
from procedural_evals.scores.rank_correlation import kendall_tau_b
from tests.judge_server import JudgeServer

# ---- Kendall's tau-b --------------------------------------------------------------------------

grades = st.integers(0, 4).map(float)
pairs = st.lists(st.tuples(grades | st.floats(-5, 5), grades), max_size=40)


@settings(max_examples=300, deadline=None)
@given(pairs)
def test_tau_b_agrees_with_scipy(graded: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in graded], [y for _, y in graded]
    expected = kendalltau(a, b, variant="b").statistic if len(graded) > 1 else math.nan
    assert kendall_tau_b(a, b) == pytest.approx(expected, nan_ok=True)


def test_tau_b_by_hand() -> None:
    assert kendall_tau_b([1, 2, 3], [1, 2, 3]) == 1
    assert kendall_tau_b([1, 2, 3], [3, 2, 1]) == -1
    assert math.isnan(kendall_tau_b([1, 1, 1], [1, 2, 3]))


@pytest.mark.parametrize(
    ("a", "b", "complaint"),
    [([1, 2], [1], "one length"), ([[1]], [[1]], "one length"), ([1, math.nan], [1, 2], "finite")],
)
def test_tau_b_refuses_what_cannot_be_ranked(a: object, b: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        kendall_tau_b(a, b)  # type: ignore[arg-type]


# ---- comparing graders ------------------------------------------------------------------------


def prediction(question: int, predictor: str = "", generator: str = "") -> Prediction:
    item = JudgeItem(f"q{question} / {predictor}", "roof", ("roof",), "what?")
    return Prediction(item, f"q{question}", predictor, generator)


# Two predictors answer four questions; two were written by gpt, two by claude.
CROSSED = [
    prediction(n, predictor, "gpt" if n < 2 else "claude")
    for predictor in ("gpt", "claude")
    for n in range(4)
]


def graded(*values: float | None) -> dict[tuple[str, str], float]:
    return {p.key: v for p, v in zip(CROSSED, values, strict=True) if v is not None}


def test_pairs_are_compared_over_what_both_graded() -> None:
    found = audit(
        CROSSED,
        {"j": graded(0, 1, 2, 2, 0, 0, 1, None), HUMAN: graded(0, 1, 2, 1, 0, 2, None, 0)},
        scale=50,
    )
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.items) == ("j", HUMAN, 6)
    assert pair.percent == pytest.approx(100 * 4 / 6)
    a, b = [0, 1, 2, 2, 0, 0], [0, 1, 2, 1, 0, 2]
    assert pair.tau_b == pytest.approx(kendalltau(a, b).statistic)
    assert found.graded == {"j": 7, HUMAN: 7}


def test_matrices_are_means_by_predictor_evaluator_and_generator() -> None:
    found = audit(CROSSED, {"j": graded(0, 1, 2, 2, 0, 0, 1, None)}, scale=50)
    assert found.predictor_by_evaluator == {
        "gpt": {"j": Cell(62.5, 4)},
        "claude": {"j": Cell(pytest.approx(50 / 3), 3)},
    }
    assert found.generator_by_predictor["j"] == {
        "gpt": {"gpt": Cell(25, 2), "claude": Cell(100, 2)},
        "claude": {"gpt": Cell(0, 2), "claude": Cell(50, 1)},
    }


def test_without_predictors_there_are_no_matrices() -> None:
    plain = [prediction(n) for n in range(3)]
    found = audit(plain, {"j": {p.key: 1.0 for p in plain}}, scale=50)
    assert found.predictor_by_evaluator == {}
    assert found.generator_by_predictor == {}


def test_graders_without_a_common_item_or_an_order_have_no_correlation() -> None:
    found = audit(
        CROSSED,
        {"a": graded(1, *[None] * 7), "b": graded(None, *[1] * 7), "c": graded(*[1] * 8)},
        scale=50,
    )
    ab, ac, _ = found.pairs
    assert (ab.items, ab.percent, ab.kappa, ab.tau_b) == (0, None, None, None)
    assert (ac.items, ac.percent, ac.tau_b) == (1, 100, None)
    json.dumps(found.as_dict(), allow_nan=False)


def test_the_tables_show_every_figure() -> None:
    text = "\n".join(
        audit(
            CROSSED,
            {"j|r@1": graded(0, 1, 2, 2, 0, 0, 1, None), HUMAN: graded(0, 1, 2, 1, 0, 2, 1, 0)},
            scale=50,
        ).lines()
    )
    rows = [line.split() for line in text.splitlines()]
    assert ["j", "7/8", "j|r@1"] in rows
    assert ["j", "~", "human", "7", "71.4", "0.58", "0.44"] in rows
    assert "62.5 (4)" in text
    assert "mean score by human: predictor by generator of the questions" in text


def test_a_grade_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"human graded .*q9"):
        audit(CROSSED, {HUMAN: {("q9", "gpt"): 1.0}}, scale=50)


# ---- from files -------------------------------------------------------------------------------


def test_an_audit_from_files(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"q{n}",
            "question": "What is next?",
            "prediction": f"prediction number {n}",
            "answers": [f"prediction number {n}" if n % 2 else "roof"],
            "steps": ["attach wheel"],
            "predictor": name,
        }
        for name in ("x", "y")
        for n in range(9)
    ]
    path = tmp_path / "predictions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    people = tmp_path / "people.csv"
    people.write_text(
        "id,predictor,grade\n" + "".join(f"q{n},x,{(n + 1) % 3}\n" for n in range(9)), "utf-8"
    )
    predictions = read_predictions(path)
    human = read_human_grades(people, [0, 1, 2])
    with JudgeServer() as server:
        judges = [make_judge("fake", base_url=server.base_url), make_judge("lexical")]
        found, judging = judge_audit(predictions, judges, human, progress=False)
    assert found.graded == {judges[0].id: 18, judges[1].id: 18, HUMAN: 9}
    # The server grades by n modulo 3, people by (n + 1) modulo 3: never the same.
    model_and_people = next(p for p in found.pairs if p.first == judges[0].id and p.second == HUMAN)
    assert (model_and_people.items, model_and_people.percent) == (9, 0)
    assert model_and_people.kappa == pytest.approx(-0.5)
    assert found.predictor_by_evaluator["x"][judges[0].id] == Cell(50, 9)
    assert found.predictor_by_evaluator["x"][judges[1].id].mean == pytest.approx(100 * 4 / 9)
    assert not judging.unjudged


def test_unjudged_items_are_left_out() -> None:
    with JudgeServer(reply=lambda _: "no idea") as server:
        judge = make_judge("fake", base_url=server.base_url)
        found, judging = judge_audit(CROSSED, [judge], progress=False)
    assert found.graded == {judge.id: 0}
    assert len(judging.unjudged) == 8


def test_scales_are_not_mixed() -> None:
    judges = [make_judge("lexical"), make_judge("m", "dyad_response")]
    with pytest.raises(ValueError, match="different scales"):
        judge_audit(CROSSED, judges)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("p.jsonl", '{"id": "a", "prediction": "x"}', "row 1: no 'answers'"),
        ("p.jsonl", '{"id": "a", "answers": "x"}', "row 1: answers is 'x'; a list"),
        ("p.jsonl", '{"id": "a", "answers": ["x"], "steps": "y"}', "row 1: steps is 'y'"),
        (
            "p.json",
            '[{"id": "a", "answers": ["x"]}, {"id": "a", "answers": ["x"]}]',
            "row 2: .*twice",
        ),
        ("p.jsonl", "{", "not readable as JSON"),
        ("p.json", "{}", "a list of objects"),
        ("p.txt", "", "'.txt' is not read"),
    ],
)
def test_bad_predictions_are_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=complaint) as error:
        read_predictions(tmp_path / name)
    assert name in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,grade\na,3\n", "row 1: the grade '3' is none of"),
        ("id,grade\na,good\n", "row 1: the grade 'good'"),
        ("id,grade\na,\n", "row 1: no 'grade'"),
        ("id,grade\na,1\na,1\n", "row 2: .* is graded twice"),
    ],
)
def test_bad_human_grades_are_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=complaint):
        read_human_grades(path, [0, 1, 2])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.csv"):
        read_human_grades(tmp_path / "gone.csv", [0, 1])


def test_a_line_separator_within_a_text_ends_no_row(tmp_path: Path) -> None:
    said = "a\u2028b\x85c"
    row = {"id": 1, "prediction": said, "answers": [said]}
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_predictions(path)[0].item.prediction == said
    grades = tmp_path / "grades.csv"
    grades.write_text(f'id,remark,grade\n1,"{said}\nmore",2\n', encoding="utf-8")
    assert read_human_grades(grades, (0, 1, 2)) == {("1", ""): 2.0}
