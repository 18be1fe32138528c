"""Free text to evidence spans: every kind of reply, and none that breaks the parser."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals import replies
from procedural_evals.spans import PARSER_VERSION, parse_grounded_answer, parse_spans
from procedural_evals.times import find_claims

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "spans.jsonl").read_text("utf-8").splitlines()
]


def _pairs(text: str) -> list[list[float]]:
    return [list(span) for span in parse_spans(text).spans]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['kind']}: {c['text'][:40]!r}")
def test_reply_gives_the_spans_that_a_person_reads_in_it(case: dict[str, Any]) -> None:
    parsed = parse_spans(case["text"])
    assert [list(span) for span in parsed.spans] == case["expected"], case.get("note")
    assert parsed.invalid == case.get("invalid", 0), case.get("note")
    assert (parsed.reason is None) == bool(case["expected"])


@pytest.mark.parametrize(
    "case", [c for c in CASES if "answer" in c], ids=lambda c: f"{c['kind']}: {c['text'][:40]!r}"
)
def test_answer_is_the_reply_without_its_evidence(case: dict[str, Any]) -> None:
    answer, parsed = parse_grounded_answer(case["text"])
    assert answer == case["answer"]
    assert parsed == parse_spans(case["text"])


def test_collected_cases_of_other_parsers_mistakes(shared: Path) -> None:
    lines = (shared / "cases" / "spans.jsonl").read_text("utf-8").splitlines()
    wrong = [c for c in map(json.loads, lines) if _pairs(c["text"]) != c["expected"]]
    assert lines
    assert wrong == []


def test_published_evidence_survives_every_way_to_write_it(shared: Path) -> None:
    """The spans of forty published answers, written in the ways that models write them."""
    items = json.loads((shared / "data/procobject-10k/explorer_excerpt.json").read_text("utf-8"))
    replies_ = [m for item in items for m in item["models"].values()]
    assert len(replies_) == 40
    for reply in replies_:
        spans, answer = reply["evidence"], reply["answer"]
        prose = "; ".join(f"from {a} to {b} seconds" for a, b in spans)
        objects = [{"start": a, "end": b} for a, b in spans]
        for text in (
            json.dumps({"answer": answer, "evidence": spans}),
            f"```json\n{json.dumps({'answer': answer, 'evidence': objects}, indent=2)}\n```",
            f"Answer: {answer}\nEvidence: {prose}",
            f"Answer: {answer}\nEvidence: " + ", ".join(f"{a}-{b}" for a, b in spans),
            f"{answer}\n{json.dumps(spans)}",
        ):
            assert _pairs(text) == spans
            if "```" in text or text.startswith("{"):
                assert parse_grounded_answer(text)[0] == answer


def test_why_there_is_no_span_is_said() -> None:
    reasons = {
        "": "empty reply",
        "<think>5-12": "empty reply",
        "the tea is hot": "no span",
        '{"answer": "yes", "evidence": []}': "evidence is empty",
        "12 - 5": "no valid span: ends before it starts",
        "frames 10-20": "no valid span: frame numbers",
        "[-5, 12]": "no valid span: negative",
        "5 - 5": "no valid span: of zero length",
        "nan to 12": "no valid span: not a time",
        "[LMMS_EVAL_REQUEST_FAILED after 3 retries]": "failed request: after 3 retries",
    }
    assert {text: parse_spans(text).reason for text in reasons} == reasons


def test_failed_request_has_no_answer_either() -> None:
    answer, parsed = parse_grounded_answer("[LMMS_EVAL_REQUEST_FAILED] Answer: tea, 0:05-0:12")
    assert answer == ""
    assert parsed.spans == ()


def test_answer_that_is_no_text_is_written_as_json() -> None:
    assert parse_grounded_answer('{"answer": ["a", 2], "evidence": []}')[0] == '["a", 2]'
    assert parse_grounded_answer('{"answer": null, "evidence": []}')[0] == ""
    assert parse_grounded_answer('{"answer": true, "evidence": []}')[0] == "true"


def test_claims_know_where_they_stand() -> None:
    text = "Stirred [5, 12] and from 20s to 25s."
    assert [text[c.start : c.end] for c in find_claims(text)] == ["[5, 12]", "20s to 25s"]


def test_parser_has_a_version() -> None:
    assert PARSER_VERSION


FRAGMENTS = r"""
5 12 0:05 1:02:03.5 00:05,000 - – — − -- --> to from between and nan inf 5s s frames steps cups %
[ ] ( ) { } , ; : " ' \ {"evidence": "answer": "start": "end": <think> </think> ```json ``` 1e999
Evidence: Answer: -5 .5 </evidence> **
"""
fragments = st.sampled_from([*FRAGMENTS.split(), "\n", " "])


@given(st.one_of(st.text(), st.lists(fragments).map(" ".join), st.lists(fragments).map("".join)))
def test_parser_never_raises_and_its_spans_are_spans(text: str) -> None:
    answer, parsed = parse_grounded_answer(text)
    assert isinstance(answer, str)
    assert parsed == parse_spans(text)
    assert (parsed.reason is None) == bool(parsed.spans)
    assert all(0 <= start < end < math.inf for start, end in parsed.spans)


json_trees = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8) | fragments,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["evidence", "answer", "start", "end", "x"]), inner)
    ),
    max_leaves=12,
)


@given(json_trees)
def test_any_json_is_read_without_raising(tree: Any) -> None:
    assert parse_spans(json.dumps(tree)) == parse_grounded_answer(json.dumps(tree))[1]


spans = st.lists(
    st.tuples(st.integers(0, 9999), st.integers(1, 999)).map(lambda t: (t[0] / 4, (sum(t)) / 4)),
    min_size=1,
    max_size=6,
)


def _clock(seconds: float) -> str:
    return f"{int(seconds // 3600)}:{int(seconds // 60) % 60:02d}:{seconds % 60:05.2f}"


@given(spans, st.sampled_from([" - ", "-", "–", " to ", " --> ", " until "]))
def test_spans_survive_being_written_down(given_spans: list[Any], joint: str) -> None:
    for form in (str, lambda s: f"{s} s", _clock):
        text = "; ".join(f"{form(a)}{joint}{form(b)}" for a, b in given_spans)
        assert parse_spans(text).spans == tuple(given_spans), text
    for value in (given_spans, [{"start": str(a), "end": b} for a, b in given_spans]):
        reply = json.dumps({"answer": "1-2", "evidence": value})
        assert parse_spans(reply).spans == tuple(given_spans)


TEDIOUS = r"""
[ [1, {"a": 5- 5, 5-12, 1:1: 9 1. </ <think> evidence: ( between " \" a- (5-12, {'evidence':[[ </a>
- ** (0:05-0:12)
"""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", [*TEDIOUS.split(), " ", "answer\n", "start at 5 ", "5 - "])
def test_long_replies_take_time_linear_in_their_length(piece: str) -> None:
    """Quadratic work on so many characters would not end within this test's limit."""
    parse_grounded_answer(piece * (60_000 // len(piece)))


def test_deeply_nested_json_and_giant_numbers_are_no_trouble() -> None:
    for depth in (5, 100, 400, 900, 5000):
        nested = "[" * depth + "5, 12" + "]" * depth
        parse_grounded_answer(f'{{"answer": {nested}, "evidence": {nested}}}')
    assert parse_spans(f'{{"evidence": [[5, {"9" * 400}]]}}').invalid == 1
    assert parse_spans(f'{{"evidence": [[5, {"9" * 5000}]]}}').spans == ()


def test_json_stands_where_it_is_said_to_stand() -> None:
    text = 'so [1] and {"a": [2]} or [3'
    assert [text[j.start : j.end] for j in replies.located_json(text)] == ["[1]", '{"a": [2]}']
    assert replies.json_values("[" * 50_000 + "]") == []
    assert replies.json_values(f"[{'9' * 5000}] [7]") == [[7]]
