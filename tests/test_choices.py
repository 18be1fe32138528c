"""Free text to an offered letter: collected replies, kinds of replies, and what always holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from procedural_evals.choices import PARSER_VERSION, ParsedChoice, parse_choice

CASES = Path(__file__).parent / "cases" / "choices.jsonl"
PARTS = ["Part 2", "Part 0", "Part 5", "Part 7"]
JOINT = [
    "Part 2",
    "Part 1",
    "Both Part 2 and Part 1 are correct",
    "None of the options are correct",
]


def read_cases(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def by_kind():
    kinds: dict[str, list[dict]] = {}
    for case in read_cases(CASES):
        kinds.setdefault(case["kind"], []).append(case)
    return kinds


def misread(cases):
    """The cases whose outcome is another, with what came out."""
    wrong = []
    for case in cases:
        found = parse_choice(case["response"], case["letters"], case["options"])
        if found.letter != case["expected"] or case.get("reason", found.reason) != found.reason:
            wrong.append((case["response"], case["expected"], found))
    return wrong


@pytest.mark.parametrize("kind", by_kind())
def test_our_cases_of_kind(kind):
    assert misread(by_kind()[kind]) == []


def test_there_are_cases_on_both_sides():
    cases = read_cases(CASES)
    assert len(cases) >= 120
    assert sum(case["expected"] is None for case in cases) >= 100
    seen = [(case["response"], case["letters"], case["options"]) for case in cases]
    assert [case for number, case in enumerate(seen) if case in seen[:number]] == []


def test_the_collected_cases(shared):
    cases = read_cases(shared / "cases" / "multiple_choice.jsonl")
    assert len(cases) >= 20
    assert misread(cases) == []


# Ways to answer with letter {l} and option text {t}, after the options {o} were shown.
WAYS = [
    "{l}", "({l})", "**{l}. {t}**", "The answer is {l}. {t}", "{t}", "{t}.", "The answer is {t}.",
    "{o}\n\nAnswer: {l}", "{o}\n\n{l}", "{o}\n\nThe answer is {t}.", '{{"answer": "{t}"}}',
    "\\boxed{{{l}}}", "<answer>{t}</answer>", "{t}\n\nBecause the video shows it.", "{l}\n{t}",
    "<think>{o} A it is</think>{l}", "So, {t}.", "正确答案是{l}。{t}", "{t} ({l})",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_option_of_the_real_questions_can_be_chosen(shared, way):
    file = shared / "data/flat-pack-bench/questions/questions.jsonl"
    for question in (row["question"] for row in read_cases(file)[::6]):
        options = [option["text"] for option in question["options"].values()]
        letters = [option["label"] for option in question["options"].values()]
        shown = "\n".join(option["full_text"] for option in question["options"].values())
        for letter, text in zip(letters, options, strict=True):
            reply = way.format(l=letter, t=text, o=shown)
            assert parse_choice(reply, letters, options) == ParsedChoice(letter, None), reply


FRAGMENTS = st.sampled_from([
    "A", "B", "c", "I", "E", "(", ")", ".", ",", "\n", " ", "not ", "the answer is ", "Answer: ",
    " is wrong", " is correct", "\\boxed{", "}", '{"answer": ', '"', "<think>", "</think>", "**",
    "Part 2", "Part 7", " and ", " or ", "答案是", "Ответ: В", "В", "Ｂ", "\ue000", "~~", "```json",
    "A. x\nB. y\n", "option ", "Image A ", "so ", "[", "]", "\ud800", "İ", "\u0301", "none of ",
])  # fmt: skip
REPLIES = st.one_of(st.text(), st.lists(FRAGMENTS, max_size=25).map("".join))
OFFERS = st.sampled_from(
    [("ABCD", None), ("AB", ["No", "Yes"]), ("ABCD", PARTS), ("abcd", JOINT), ("A", None),
     ("ABCDEFGHI", None), ("ABC", ["", "B", "→"]), ("AB", ["same", "same"])]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(REPLIES, OFFERS)
@example("[" + "1" * 5000 + "]", ("ABCD", None))
@example("{" * 3000, ("ABCD", PARTS))
def test_any_text_gives_an_offered_letter_or_a_reason(reply, offer):
    letters, options = offer
    found = parse_choice(reply, letters, options)
    assert (found.letter is None) != (found.reason is None)
    assert found.letter is None or found.letter in letters
    assert found.reason != ""
    assert parse_choice(reply, letters, options) == found


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="FGHJKMQ.!? \n", max_size=60), st.sampled_from("ABCD"))
def test_a_final_box_decides_whatever_came_before(before, letter):
    assert parse_choice(f"{before}\n\\boxed{{{letter}}}", "ABCD").letter == letter


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from("ABCD"))
def test_reasoning_never_decides(thought, letter):
    thought = thought.replace("<", "").replace("◁", "")
    reply = f"<think>{thought} The answer is A.</think>{letter}"
    assert parse_choice(reply, "ABCD").letter == letter


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "piece",
    ["A ", "A, B, ", "A\nB\n", "A. x\nB. y\n", "the answer is ", "not A or B, ", "(", "<a ", "~~",
     '{"answer": ', "\\boxed{", "В ", " ", "\n", "A is not ", "Part 2 and Part 9, ", "so ",
     "答案是"],
)  # fmt: skip
def test_long_monotonous_replies_come_to_an_end(piece):
    found = parse_choice(piece * (6_000 // len(piece)), "ABCD", PARTS)
    assert (found.letter is None) != (found.reason is None)


@pytest.mark.parametrize(
    ("letters", "options", "words"),
    [
        ("", None, "none given"),
        ("AA", None, "'AA' offers a letter twice"),
        ("Aa", None, "'Aa' offers a letter twice"),
        (["AB", "C"], None, "'AB' is not a single letter"),
        (["1", "2"], None, "'1' is not a single letter"),
        (["", "B"], None, "'' is not a single letter"),
        ("Б", None, "'Б' is not a single letter"),
        ("AB", ["one"], "1 texts for 2 letters"),
        ("AB", ["one", None], "None is not a text"),
    ],
)
def test_what_cannot_be_a_question_is_refused(letters, options, words):
    with pytest.raises(ValueError, match=words):
        parse_choice("A", letters, options)


def test_equal_options_are_named_by_letter_only():
    assert parse_choice("same", "AB", ["same", "same"]).letter is None
    assert parse_choice("B", "AB", ["same", "same"]).letter == "B"


def test_a_failed_request_is_never_an_answer():
    for mark in ("[LMMS_EVAL_REQUEST_FAILED", "[PROCEDURAL_EVALS_FAILED"):
        found = parse_choice(f"{mark}: timeout] The answer is B", "ABCD")
        assert found == ParsedChoice(None, "request failed")


def test_the_version_is_recorded_as_text():
    assert isinstance(PARSER_VERSION, str)
    assert PARSER_VERSION
