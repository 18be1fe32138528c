"""A raw DYAD export with every listed defect comes out as the truth it was written from."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procedural_evals.dyad import vocabulary
from procedural_evals.dyad.cells import microseconds
from procedural_evals.dyad.clean import load_corpus
from procedural_evals.dyad.manifests import (
    PUBLISHED_COUNTS,
    benchmark_counts,
    count_differences,
    write_manifests,
)
from procedural_evals.dyad.records import counts
from tests.dyad_export import write_export


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("dyad")
    return root, write_export(root)


@pytest.fixture
def small(tmp_path):
    """A fresh export of three sessions that a test may damage."""
    write_export(tmp_path, sessions=3)
    return tmp_path


def edit(root, session, layer, change):
    """Let a function change the rows of a layer (header included)."""
    path = root / "sessions" / session / layer
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    change(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def test_the_cleaned_records_are_the_truth(export):
    root, truth = export
    corpus = load_corpus(root)
    assert [session.id for session in corpus.sessions] == sorted(truth)
    for session in corpus.sessions:
        true = truth[session.id]
        assert list(session.steps) == true.steps
        assert list(session.requests) == true.requests
        assert list(session.assistance) == true.assistance
        assert session.participant == true.participant
        assert session.clock_origin == true.origin
        assert session.frame_times[[0, 1, -1]].tolist() == [0.0, 0.2, 399.8]


def test_ids_and_records_do_not_depend_on_how_the_rows_are_written(export, tmp_path):
    root, _ = export
    write_export(tmp_path, row_seed=7)
    one, other = load_corpus(root), load_corpus(tmp_path)
    for a, b in zip(one.sessions, other.sessions, strict=True):
        assert (a.steps, a.requests, a.assistance) == (b.steps, b.requests, b.assistance)
    events = [e.id for s in one.sessions for e in (*s.steps, *s.requests, *s.assistance)]
    assert len(set(events)) == len(events)


def test_every_change_is_reported_with_its_place_and_rule(export):
    root, truth = export
    corpus = load_corpus(root)
    rules = Counter(change.rule for change in corpus.changes)
    assert set(rules) == {
        "column",
        "null",
        "white space",
        "spelling",
        "vocabulary",
        "clock",
        "duplicate",
    }
    assert rules["duplicate"] == 2
    assert rules["column"] == 1
    outside = [change for change in corpus.changes if change.rule == "vocabulary"]
    assert [(c.file, c.field, c.before, c.after) for c in outside] == [
        ("sessions/s03/assistance.csv", "trigger", "needs a coffee", None)
    ]
    # A change names the row as it stands in the file.
    spelled = next(change for change in corpus.changes if change.rule == "spelling")
    with (root / spelled.file).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[spelled.row - 1][spelled.field] == spelled.before
    # Every time of the two absolute-style sessions was moved, and none of the others.
    moved = Counter(c.file.split("/")[1] for c in corpus.changes if c.rule == "clock")
    assert set(moved) == {"s01", "s02"}
    times = sum(
        (event.start is not None) + (event.end is not None)
        for event in (*truth["s01"].steps, *truth["s01"].requests, *truth["s01"].assistance)
    )
    assert moved["s01"] == times + 1  # and the frames, as one change


def test_cleaning_what_is_clean_changes_nothing_but_spelling_of_clocks(export, tmp_path):
    root, _ = export
    corpus = load_corpus(root)
    write_manifests(corpus, tmp_path / "out")
    lines = (tmp_path / "out" / "assistance.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [
        event.id for session in corpus.sessions for event in session.assistance
    ]
    changes = (tmp_path / "out" / "changes.jsonl").read_text().splitlines()
    assert len(changes) == len(corpus.changes)


def test_nulls_stay_null_and_their_rows_stay(export):
    root, _ = export
    session = load_corpus(root).session("s03")
    nowhere = session.assistance[-1]
    assert (nowhere.start, nowhere.end, nowhere.mode) == (None, None, "verbal")
    unlabelled = next(event for event in session.assistance if event.start == 200.25)
    assert dataclasses.astuple(unlabelled)[3:] == (None,) * 8


def test_the_richest_of_several_copies_stays(small):
    def repeat(rows):
        first = rows[1]
        rows += [[*first[:2], *[""] * 7], list(first), [first[0], "", *first[2:]]]

    before = load_corpus(small).session("s02").assistance
    edit(small, "s02", "assistance.csv", repeat)
    corpus = load_corpus(small)
    assert corpus.session("s02").assistance == before
    assert sum(c.rule == "duplicate" and "/s02/" in c.file for c in corpus.changes) == 3


def test_two_events_at_one_onset_both_stay_and_get_different_ids(small):
    def second(rows):
        start = rows[1][0]
        rows += [[start, "", "verbal", "", "", "", "", "another", ""]]

    edit(small, "s02", "assistance.csv", second)
    ids = [event.id for event in load_corpus(small).session("s02").assistance]
    assert sum(name.endswith("-2") for name in ids) == 1
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("column", "text", "reason"),
    [
        (0, "around noon", "no clock time"),
        (0, "-3", "no clock time"),
        (0, "2:99", "no clock time"),
        (1, "10:00:00.1", "before the start"),
        (1, "0:05:00", "not within the hour"),
        (2, "telepathic", "none of verbal, physical"),
        (3, "both", "none of performer_requested"),
        (4, "perhaps", "neither true nor false"),
        (8, "fine", "none of effective"),
    ],
)
def test_what_no_rule_repairs_is_a_problem_with_its_place(small, column, text, reason):
    def damage(rows):
        rows[3][column] = text

    events = len(load_corpus(small).session("s02").assistance)
    edit(small, "s02", "assistance.csv", damage)
    with pytest.raises(ValueError, match=f"s02/assistance.csv row 3 .*{reason}"):
        load_corpus(small)
    lenient = load_corpus(small, strict=False)
    assert len(lenient.session("s02").assistance) == events - 1
    left_out = [change for change in lenient.changes if change.rule.startswith("malformed")]
    assert [(c.row, c.before) for c in left_out] == [(3, text)]


def test_a_row_with_too_many_cells_is_a_problem(small):
    edit(small, "s02", "requests.csv", lambda rows: rows[1].append("surplus"))
    with pytest.raises(ValueError, match=r"requests.csv row 1: 'surplus': more cells"):
        load_corpus(small)


def test_all_problems_are_listed_at_once(small):
    def damage(rows):
        for row in rows[1:4]:
            row[2] = "telepathic"

    edit(small, "s02", "assistance.csv", damage)
    with pytest.raises(ValueError, match="3 problems") as caught:
        load_corpus(small)
    assert str(caught.value).count("telepathic") == 3


def test_an_absolute_clock_needs_to_know_when_the_recording_began(small):
    about = small / "sessions" / "s01" / "session.json"
    about.write_text(json.dumps({"participant": "p01", "recording_start": None}))
    # The frames show when it began.
    assert load_corpus(small).session("s01").clock_origin == 50_526.25
    (small / "sessions" / "s01" / "ego_rgb_times.csv").unlink()
    with pytest.raises(ValueError, match="fill in recording_start"):
        load_corpus(small)


def test_annotations_and_frames_may_have_clocks_of_their_own(small):
    """Absolute-style annotations beside relative frames, joined by recording_start."""
    path = small / "sessions" / "s01" / "ego_rgb_times.csv"
    lines = path.read_text().splitlines()
    relative = [f"{n},{n / 5:.3f}" for n in range(len(lines) - 1)]
    before = load_corpus(small).session("s01")
    path.write_text("\n".join([lines[0], *relative]) + "\n")
    after = load_corpus(small).session("s01")
    assert after.assistance == before.assistance
    assert after.frame_times.tolist() == before.frame_times.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(5), "frame 4 is missing"),
        (lambda rows: rows.append(rows[4]), "stands twice"),
        (lambda rows: rows[3].__setitem__(1, "0.0"), "later than the frame before"),
        (lambda rows: rows[3].__setitem__(1, "soon"), "later than the frame before"),
        (lambda rows: rows[-1].__setitem__(1, "9999"), "within the hour"),
    ],
)
def test_frame_times_are_checked(small, change, message):
    edit(small, "s02", "ego_rgb_times.csv", lambda rows: None)
    edit(small, "s03", "ego_rgb_times.csv", change)
    with pytest.raises(ValueError, match=message):
        load_corpus(small)
    assert load_corpus(small, strict=False).session("s03").frame_times.size == 0


def test_missing_and_broken_files_are_named(small, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere is no folder"):
        load_corpus(tmp_path / "nowhere")
    (small / "sessions" / "s02" / "steps.csv").write_text("start,end,step,objects\n")
    with pytest.raises(ValueError, match=r"steps.csv: column 'tool' is needed"):
        load_corpus(small)
    (small / "sessions" / "s02" / "steps.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"steps\.csv is missing"):
        load_corpus(small)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("task.json", "[]", "an object is needed"),
        ("task.json", "{", "is not JSON"),
        ("task.json", "{}", "no 'recorded'"),
        ("sessions/s01/session.json", '{"participant": null, "recording_start": null}', "name"),
        ("sessions/s01/session.json", '{"participant": "p", "recording_start": "ten"}', "H:MM:SS"),
        ("splits.json", '{"mode_groups": [["p01"], ["p02"]]}', "each participant once"),
        ("splits.json", '{"development_sessions": ["s99"]}', "no session"),
    ],
)
def test_descriptions_are_checked(small, file, text, message):
    (small / file).write_text(text)
    with pytest.raises(ValueError, match=message):
        load_corpus(small)


def test_a_reference_image_outside_the_data_folder_is_refused(small):
    about = json.loads((small / "task.json").read_text())
    (small / "task.json").write_text(json.dumps({**about, "reference_image": "../secret.png"}))
    with pytest.raises(ValueError, match="leaves the data folder"):
        load_corpus(small)


def test_counts_are_compared_with_the_published_ones_for_the_recorded_corpus_only(export, tmp_path):
    root, truth = export
    corpus = load_corpus(root)
    found = counts(corpus)
    assert found["assistance"] == sum(len(true.assistance) for true in truth.values())
    assert found["mode labels"] == found["assistance"] - 1
    assert found["verbal"] + found["physical"] == found["mode labels"]
    assert count_differences(corpus) == []
    recorded = dataclasses.replace(corpus, task=dataclasses.replace(corpus.task, recorded=True))
    differences = count_differences(recorded)
    assert "sessions: 10, published 20" in differences
    assert set(PUBLISHED_COUNTS) <= set(benchmark_counts(corpus))


def test_the_published_counts_agree_with_each_other():
    published = PUBLISHED_COUNTS
    assert published["verbal"] + published["physical"] == published["mode labels"] == 850
    assert published["mode examples verbal"] + published["mode examples physical"] == 829
    for word, total in (("trigger ", "triggers"), ("step ", "step labels")):
        labels = vocabulary.TRIGGERS if word == "trigger " else vocabulary.STEPS
        assert sum(published[word + label] for label in labels) == published[total]


VOCABULARIES = [
    vocabulary.STEPS,
    vocabulary.TRIGGERS,
    vocabulary.MODES,
    vocabulary.INITIATIONS,
    vocabulary.OUTCOMES,
]
LABELS = [(label, words) for words in VOCABULARIES for label in words]


@given(st.sampled_from(LABELS), st.sampled_from(" -_"), st.booleans(), st.text(" \t", max_size=2))
def test_case_and_separators_do_not_matter(pair, separator, upper, space):
    label, words = pair
    text = space + label.replace("_", separator) + space
    assert vocabulary.spelled(text.upper() if upper else text.title(), words) == label


@given(st.sampled_from(LABELS), st.data())
def test_one_typing_mistake_never_makes_another_label(pair, data):
    label, words = pair
    place = data.draw(st.integers(0, len(label) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    kind = data.draw(st.sampled_from(["drop", "replace", "insert"]))
    middle = {"drop": "", "replace": letter, "insert": letter + label[place]}[kind]
    assert vocabulary.spelled(label[:place] + middle + label[place + 1 :], words) in (label, None)


def test_an_effective_typo_is_not_taken_for_its_opposite():
    assert vocabulary.spelled("inefective", vocabulary.OUTCOMES) == "ineffective"
    assert vocabulary.spelled("efective", vocabulary.OUTCOMES) == "effective"
    # One letter from either: undecided.
    assert vocabulary.spelled("neffective", vocabulary.OUTCOMES) is None


@given(st.integers(0, 99 * 3_600_000_000))
def test_clock_texts_are_read_to_the_microsecond(value):
    seconds, micro = divmod(value, 1_000_000)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micro:06d}"
    assert microseconds(text) == value
    assert microseconds(f"{seconds}.{micro:06d}") == value
