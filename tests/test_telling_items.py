"""Which items a report shows: those that say most, in turn from the reasons and categories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals.reporting.telling import telling_items


def choice(number, right, category="tloc", cluster=None, letter="A"):
    """A multiple-choice record; `letter` None says that nothing could be read."""
    return {
        "id": f"q{number:03d}",
        "kind": "choice",
        "failure": None,
        "cluster": cluster or f"v{number}",
        "category": category,
        "gold": "A" if right else "B",
        "letter": letter,
        "score": 100.0 * (right and letter == "A"),
    }


def step(second, gold, said, session="s01"):
    return {
        "id": f"{session}-{second:03d}",
        "kind": "steps",
        "failure": None,
        "cluster": session,
        "session": session,
        "time": float(second),
        "gold": gold,
        "column": None if said is None else 0,
        "prediction": said,
    }


def test_a_wrong_answer_among_right_ones_comes_before_the_right_ones():
    records = [choice(n, right=n != 7) for n in range(10)]
    first = telling_items(records)[0]
    assert first.record["id"] == "q007"
    assert first.why == "tloc: 0 where the mean is 90"


def test_a_right_answer_among_wrong_ones_is_as_telling():
    records = [choice(n, right=n == 7) for n in range(10)]
    assert telling_items(records, 1)[0].record["id"] == "q007"


def test_a_reply_that_could_not_be_read_says_so():
    records = [choice(n, right=True, letter=None if n == 3 else "A") for n in range(5)]
    found = {item.record["id"]: item.why for item in telling_items(records, 2)}
    assert found["q003"] == "no option could be read from the reply"


def test_every_category_is_heard():
    records = [choice(n, right=n % 3 == 0, category="abcd"[n % 4]) for n in range(80)]
    shown = {item.record["category"] for item in telling_items(records, 8)}
    assert shown == set("abcd")


def test_no_video_takes_all_places():
    one = [choice(n, right=n % 2 == 0, cluster="loud") for n in range(40)]
    others = [choice(100 + n, right=True, cluster=f"quiet{n}") for n in range(20)]
    shown = [item.record["cluster"] for item in telling_items(one + others, 20)]
    assert shown.count("loud") <= 5


def test_one_video_alone_still_fills_the_page():
    records = [choice(n, right=n % 2 == 0, cluster="only") for n in range(40)]
    assert len(telling_items(records, 20)) == 20


def test_of_a_stretch_of_wrong_seconds_the_middle_is_shown():
    records = [step(s, "gears", "gears") for s in range(5)]
    records += [step(s, "gears", "crank") for s in range(5, 12)]
    (wrong,) = [item for item in telling_items(records) if item.kind == "confused"]
    assert wrong.record["id"] == "s01-008"
    assert wrong.why == "gears taken for crank for 7 s"


def test_seconds_without_a_known_step_are_no_items():
    assert telling_items([step(s, None, "crank") for s in range(5)]) == []


@pytest.mark.parametrize(
    ("spans", "judge_says", "why"),
    [
        ([[50.0, 60.0]], "right", "answered (judge 100) without its evidence (IoU 0)"),
        ([[1.0, 2.0]], "wrong", "evidence found (IoU 100), answer wrong (judge 0)"),
    ],
)
def test_answer_and_evidence_that_part_are_shown(monkeypatch, spans, judge_says, why):
    monkeypatch.setenv("PROCEDURAL_EVALS_JUDGE", "lexical")
    record = {
        "id": "1",
        "kind": "grounded",
        "failure": None,
        "rubric": "procobject_four_dimensions",
        "cluster": "v1",
        "groups": {"question_type": "mistakes"},
        "question": "What went wrong with the lid?",
        "answers": ["The lid was put on before the jar was full."],
        "prediction": "The lid was put on before the jar was full."
        if judge_says == "right"
        else "Nothing at all, everything seems fine",
        "spans": spans,
        "evidence": [[1.0, 2.0]],
    }
    assert why in [item.why for item in telling_items([record], 5)]


def test_failed_items_are_never_shown():
    assert telling_items([choice(1, True) | {"failure": "no video"}]) == []


def test_a_negative_number_of_items_is_refused():
    with pytest.raises(ValueError, match="items: -1"):
        telling_items([choice(1, True)], -1)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from("uvw")), max_size=60),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_items_are_distinct_as_many_as_asked_and_do_not_depend_on_the_order(rows, count, random):
    records = [
        choice(n, right, category, cluster) for n, (right, category, cluster) in enumerate(rows)
    ]
    shown = [item.record["id"] for item in telling_items(records, count)]
    assert len(shown) == len(set(shown)) == min(count, len(records))
    shuffled = records[:]
    random.shuffle(shuffled)
    assert [item.record["id"] for item in telling_items(shuffled, count)] == shown
