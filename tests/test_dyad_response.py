"""Requests and their spoken answers, and a context that ends before both begin."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.records import Assistance, Request, Session, StepInterval, Task
from procedural_evals.dyad.response import (
    ContextStep,
    PastIntervention,
    ResponseContext,
    Turn,
    closest_assistance,
    response_context,
    response_manifest,
)
from tests.dyad_export import write_export

TASK = Task(False, ("first", "then"), ("gear", "crank"), ("gears swapped",), "reference.png")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyad")
    write_export(root, sessions=20)
    return load_corpus(root)


def helped(start, end=None, mode="verbal", trigger="wrong_part", utterance="use the other one"):
    return Assistance(
        f"a{start}",
        "s",
        start,
        start + 1 if end is None else end,
        mode,
        "performer_requested",
        True,
        trigger,
        ("gear",),
        utterance,
        "effective",
    )


def asked(start, end, words="which one?"):
    return Request(f"r{start}", "s", start, end, words, 0.9)


def session_of(assistance=(), requests=(), steps=()):
    return Session(
        "s", "p", 0.0, Path(), np.empty(0), tuple(steps), tuple(requests), tuple(assistance)
    )


@pytest.mark.parametrize(
    ("onsets", "match"),
    [
        ([14.9], None),
        ([15.0], 15.0),
        ([35.0], 35.0),
        ([35.001], None),
        ([17.0, 24.0], 17.0),
        ([10.0, 34.0], 34.0),
        # At equal distance an answer follows its question.
        ([18.0, 22.0], 22.0),
    ],
)
def test_a_request_is_matched_from_5_s_before_to_15_s_after_its_end(onsets, match):
    session = session_of([helped(onset) for onset in onsets])
    found = closest_assistance(session, asked(16.0, 20.0))
    assert (found and found.start) == match


@given(st.lists(st.integers(0, 60_000), max_size=8), st.integers(0, 60_000))
def test_no_other_allowed_intervention_is_closer(onsets, end):
    session = session_of([helped(onset / 1000) for onset in sorted(onsets)])
    found = closest_assistance(session, asked(0.0, end / 1000))
    delays = [onset - end for onset in onsets if -5000 <= onset - end <= 15_000]
    if found is None:
        assert not delays
    else:
        assert abs(round(found.start * 1000) - end) == min(abs(delay) for delay in delays)


def test_a_request_whose_closest_help_is_physical_has_no_target():
    request = asked(10.0, 12.0)
    physical = helped(13.0, mode="physical", utterance=None)
    # The spoken help that came later does not stand in for it.
    session = session_of([physical, helped(16.0)], [request])
    corpus_like = dataclasses.replace(session, id="s")
    assert closest_assistance(corpus_like, request) is physical


def test_the_manifest_holds_spoken_answers_only_and_says_why_others_are_left_out(corpus):
    manifest = response_manifest(corpus)
    answers = {e.id: e for s in corpus.sessions for e in s.assistance}
    for pair in manifest.pairs:
        answer = answers[pair.assistance_id]
        assert answer.mode == "verbal"
        assert pair.reference == answer.utterance
        assert -5 <= answer.start - pair.end <= 15
    requests = [r.id for s in corpus.sessions for r in s.requests]
    named = [pair.id for pair in manifest.pairs] + [name for name, _ in manifest.left_out]
    assert sorted(named) == sorted(requests)
    assert set(manifest.reasons()) == {
        "no end or no words",
        "closest intervention is not spoken",
    }
    sides = {(pair.participant, pair.split) for pair in manifest.pairs}
    assert len({name for name, _ in sides}) == len(sides)
    assert {split for _, split in sides} == {"development", "test"}


def busy_session():
    """Twelve earlier exchanges, six pieces of physical help, and a question at 200 s."""
    assistance, requests = [], []
    for i in range(12):
        requests.append(asked(10.0 * i, 10.0 * i + 1, f"question {i}"))
        assistance.append(helped(10.0 * i + 2, utterance=f"answer {i}"))
    for i in range(12):
        assistance.append(helped(130.0 + 3 * i, mode="physical", utterance=None))
    question, answer = asked(200.0, 202.0, "and now?"), helped(203.0, utterance="the crank")
    later = helped(210.0, utterance="from the future", mode="physical")
    steps = [
        StepInterval("e1", "s", 0.0, 90.0, "first_holder", ("holder",), None),
        StepInterval("e2", "s", 90.0, 230.0, "attach_crank", ("crank",), None),
        StepInterval("e3", "s", 230.0, 240.0, "verify_rotation", None, None),
    ]
    return (
        session_of([*assistance, answer, later], [*requests, question], steps),
        question,
        answer,
    )


def test_the_context_holds_what_section_four_c_lists():
    session, question, answer = busy_session()
    context = response_context(TASK, session, question, answer)
    assert context.procedure == TASK.procedure
    assert context.parts == TASK.parts
    assert context.common_errors == TASK.common_errors
    assert context.reference_image == "reference.png"
    assert context.question == "and now?"
    assert context.steps == (
        ContextStep("first_holder", "completed", ("holder",)),
        ContextStep("attach_crank", "in progress", ("crank",)),
    )
    expected = [
        turn
        for i in range(7, 12)
        for turn in (Turn("performer", f"question {i}"), Turn("helper", f"answer {i}"))
    ]
    assert list(context.dialogue) == expected
    assert context.interventions == (PastIntervention("wrong_part", ("gear",)),) * 10
    assert context.sections()["steps"].splitlines() == [
        "first holder (completed; objects: holder)",
        "attach crank (in progress; objects: crank)",
    ]


def test_the_context_is_an_allow_list():
    names = {
        field.name
        for kind in (ResponseContext, ContextStep, Turn, PastIntervention)
        for field in dataclasses.fields(kind)
    }
    withheld = {
        "mode",
        "initiation",
        "hard_stop",
        "outcome",
        "utterance",
        "participant",
        "session",
        "id",
        "event_id",
        "folder",
        "video",
    }
    assert not names & withheld


def test_nothing_of_the_answer_or_of_what_follows_reaches_a_prompt():
    """Change everything that must be withheld: the text of the context stays the same."""
    session, question, answer = busy_session()
    before = response_context(TASK, session, question, answer)
    secret = dataclasses.replace(
        answer,
        trigger="missed_screw",
        initiation="helper_initiated",
        outcome="unnecessary",
        utterance="SECRET",
        objects=("SECRET",),
        hard_stop=False,
        mode="physical",
    )
    changed = dataclasses.replace(
        session,
        participant="SECRET",
        folder=Path("SECRET"),
        assistance=tuple(
            secret
            if event is answer
            else dataclasses.replace(event, utterance="SECRET")
            if event.start > 203
            else event
            for event in session.assistance
        ),
    )
    after = response_context(TASK, changed, question, secret)
    assert after == before
    assert "SECRET" not in json.dumps(after.sections())
    assert "the crank" not in json.dumps(before.sections())
    assert "from the future" not in json.dumps(before.sections())


def test_an_answer_that_begins_before_the_question_ends_the_context_earlier():
    early = helped(95.0, utterance="already said")
    overlapping = helped(96.0, utterance="meanwhile")
    question = asked(97.0, 99.0)
    session = session_of([early, overlapping], [question])
    context = response_context(TASK, session, question, early)
    assert context.dialogue == ()


def test_something_still_being_said_when_the_question_begins_is_not_known():
    long = helped(90.0, end=101.0, utterance="long talk")
    answer = helped(103.0)
    session = session_of([long, answer], [asked(100.0, 102.0)])
    assert response_context(TASK, session, session.requests[0], answer).dialogue == ()


def test_every_context_of_the_corpus_is_over_before_its_question(corpus):
    spoken = {}
    for session in corpus.sessions:
        for event in session.assistance:
            if event.utterance and event.start is not None:
                spoken[event.utterance] = event.end or event.start
        for request in session.requests:
            if request.utterance:
                spoken[request.utterance] = request.end
    for pair in response_manifest(corpus).pairs:
        assert all(spoken[turn.text] <= pair.start for turn in pair.context.dialogue)
        assert pair.reference not in json.dumps(pair.context.sections())
        assert pair.participant not in json.dumps(pair.context.sections())


def test_a_question_without_words_is_refused():
    session = session_of([helped(3.0)], [asked(1.0, 2.0, None)])
    with pytest.raises(ValueError, match=r"r1\.0: a question"):
        response_context(TASK, session, session.requests[0], session.assistance[0])
