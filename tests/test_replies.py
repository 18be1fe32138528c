"""What is visible of a reply, the JSON in it, and the marks of failed requests."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from procedural_evals.replies import FAILURE_MARKS, failed_request, json_values, visible_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict | list))
PROSE = st.text(alphabet=st.characters(exclude_characters="[]{}"), max_size=20)


@pytest.mark.parametrize(
    ("reply", "visible"),
    [
        ("B", "B"),
        ("  B\n", "B"),
        ("<think>A?</think>B", "B"),
        ("<THINK>A?</THINK>\n\nB", "B"),
        ("<thinking>A?</thinking>B", "B"),
        ("<reasoning>A?</reasoning>B", "B"),
        ("<think>A?</think>B<think>C?</think>", "B"),
        ("<think>A? <think>C?</think> D?</think>B", "B"),
        ("A?</think>B", "B"),
        ("<think>A", ""),
        ("B <think>no, A", "B"),
        ("<think></think>", ""),
        ("◁think▷A?◁/think▷B", "B"),
        ("◁think▷A?", ""),
        ("<|channel|>analysis<|message|>A?<|end|><|channel|>final<|message|>B", "B"),
        ("<|channel|>analysis<|message|>A?", ""),
        ("Ｂ．（１）", "B.(1)"),
        ("I think <b>B</b>", "I think <b>B</b>"),
        ("", ""),
    ],
)
def test_only_what_was_meant_is_visible(reply, visible):
    assert visible_text(reply) == visible


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text_has_a_visible_part_that_stays_the_same(reply):
    visible = visible_text(reply)
    assert visible == visible.strip()
    assert visible_text(f"<think>{'A' * 5}</think>{visible}") == visible_text(visible)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(PROSE, JSON), max_size=3), PROSE)
def test_json_is_found_between_words(pieces, end):
    text = "".join(f"{prose} {json.dumps(value)} " for prose, value in pieces) + end
    assert json_values(text) == [value for _, value in pieces]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("nothing", []),
        ('{"answer": "B"', []),
        ('[{"a": 1}', [{"a": 1}]),
        ("see [1] and [2, 3]", [[1], [2, 3]]),
        ('```json\n{"a": [1]}\n```', [{"a": [1]}]),
        ('{"a": "}"}', [{"a": "}"}]),
        ("{'a': 1}", []),
    ],
)
def test_broken_json_is_passed_over(text, values):
    assert json_values(text) == values


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{" * 100_000, '["' * 50_000, "[1," * 30_000, '{"a":' * 20_000,
     "[" + "1" * 5000 + "]", "<think>" * 20_000, "</think" * 20_000, "<" * 100_000],
)  # fmt: skip
def test_degenerate_replies_come_to_an_end(text):
    assert isinstance(visible_text(text), str)
    assert json_values(text) == []


@pytest.mark.parametrize("mark", FAILURE_MARKS)
def test_a_failed_request_says_why(mark):
    assert failed_request(f"{mark}] timeout") == "timeout"
    assert failed_request(f" \n{mark}: no video") == "no video"
    assert failed_request(mark) == "no reason given"
    assert failed_request(f"The log says {mark}]") is None
    assert failed_request("B") is None
    assert failed_request("") is None
