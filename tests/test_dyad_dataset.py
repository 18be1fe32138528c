"""DYAD as a dataset: three tables of a raw export, their splits, what is withheld and missing."""

from __future__ import annotations

import json
import shutil
import warnings

import datasets
import numpy as np
import pytest

from procedural_evals.dyad.vocabulary import INITIATIONS, MODES, OUTCOMES, STEPS, TRIGGERS
from procedural_evals.harness import media_check
from tests.dyad_export import FPS
from tests.dyad_filmed import SECONDS, write_filmed_export

COMMON = {
    "id", "session", "participant", "video", "clip_start", "clip_end", "problems", "revision",
}  # fmt: skip
COLUMNS = {
    "steps": COMMON | {"time", "label", "frames"},
    "mode": COMMON | {"start", "end", "mode", "fold", "first_frame", "stop_frame"},
    "response": COMMON
    | {
        "start", "end", "assistance_id", "question", "answers", "procedure", "parts",
        "common_errors", "steps", "dialogue", "interventions", "reference_image", "parts_image",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    """Data folder and truth of five sessions; s01 and s02 have absolute-style clocks."""
    root = tmp_path_factory.mktemp("filmed") / "dyad"
    return root, write_filmed_export(root)


@pytest.fixture
def copied(filmed, tmp_path):
    """The same folder, to be damaged."""
    return shutil.copytree(filmed[0], tmp_path / "dyad")


def load(folder, cache, *arguments, **options):
    return datasets.load_dataset(
        "dyad", *arguments, data_dir=str(folder), cache_dir=cache, **options
    )


@pytest.fixture(scope="module")
def tables(filmed, cache):
    return {name: load(filmed[0], cache, name) for name in COLUMNS}


def every_row(table):
    return [row for split in table.values() for row in split]


def message(error):
    return f"{error.value} {error.value.__cause__}"


# -- what is in the tables ------------------------------------------------------------------------


def test_the_tables_have_the_documented_splits_and_columns(tables):
    assert {name: set(table) for name, table in tables.items()} == {
        "steps": {"validation", "test"},
        "mode": {"test"},
        "response": {"validation", "test"},
    }
    for name, table in tables.items():
        for split in table.values():
            assert set(split.column_names) == COLUMNS[name]
            assert split.num_rows > 0
    assert tables["steps"]["test"].features["label"].names == list(STEPS)
    assert tables["mode"]["test"].features["mode"].names == list(MODES)


def test_an_intervention_comes_without_anything_that_was_annotated_of_it(tables):
    rows = tables["mode"]["test"].remove_columns(["mode", "video", "revision"])
    text = json.dumps([dict(row) for row in rows])
    for label in (*TRIGGERS, *OUTCOMES, *INITIATIONS, *STEPS, *MODES, "answer at", "question at"):
        assert label not in text


def test_every_second_has_the_step_that_was_going_on(filmed, tables):
    _, truth = filmed
    rows = every_row(tables["steps"])
    names = tables["steps"]["test"].features["label"]
    assert len(rows) == len(truth) * SECONDS
    for row in rows:
        going_on = [
            step.step
            for step in truth[row["session"]].steps
            if step.step is not None and step.start <= row["time"] < step.end
        ]
        label = None if row["label"] is None else names.int2str(row["label"])
        assert label == (going_on[-1] if going_on else None)


def test_a_second_is_shown_by_the_four_frames_up_to_it(tables):
    for row in every_row(tables["steps"]):
        times = np.array(row["frames"]) / FPS
        assert len(times) == 4
        assert times.tolist() == [max(0.0, row["time"] - back) for back in (3, 2, 1, 0)]
        assert (row["clip_start"], row["clip_end"]) == (times[0], row["time"])


def test_a_window_ends_half_a_second_before_its_intervention(filmed, tables):
    _, truth = filmed
    rows = every_row(tables["mode"])
    names = tables["mode"]["test"].features["mode"]
    onsets = {e.id: (e.start, e.mode) for t in truth.values() for e in t.assistance}
    for row in rows:
        onset, mode = onsets[row["id"]]
        assert names.int2str(row["mode"]) == mode
        assert row["clip_end"] == row["end"] == pytest.approx(onset - 0.5)
        assert row["start"] == pytest.approx(onset - 3.5)
        times = np.arange(row["first_frame"], row["stop_frame"]) / FPS
        assert len(times) == 15
        assert ((times >= row["start"]) & (times < row["end"])).all()
    eligible = [
        id for id, (onset, mode) in onsets.items()
        if mode is not None and onset is not None and 3.5 <= onset <= SECONDS - 1 / FPS
    ]  # fmt: skip
    assert sorted(row["id"] for row in rows) == sorted(eligible)


def test_a_question_comes_with_what_the_helper_said(filmed, tables):
    _, truth = filmed
    said = {e.id: e.utterance for t in truth.values() for e in t.assistance}
    asked = {r.id: r.utterance for t in truth.values() for r in t.requests}
    rows = every_row(tables["response"])
    assert {row["question"] for row in rows} == {asked[row["id"]] for row in rows}
    assert all(row["answers"] == [said[row["assistance_id"]]] for row in rows)
    assert all(row["parts_image"].size == (64, 48) for row in rows)


def test_no_participant_crosses_a_split(tables):
    for name in ("steps", "response"):
        people = [set(tables[name][split]["participant"]) for split in ("validation", "test")]
        assert not people[0] & people[1]
    tested = {}
    for row in tables["mode"]["test"]:
        tested.setdefault(row["participant"], set()).add(row["fold"])
    assert all(len(folds) == 1 for folds in tested.values())
    assert {fold for folds in tested.values() for fold in folds} == set(range(5))


def test_ids_are_unique(tables):
    for table in tables.values():
        ids = [row["id"] for row in every_row(table)]
        assert len(set(ids)) == len(ids)


def test_the_revision_is_that_of_the_annotations_wherever_they_lie(copied, tables, cache):
    before = {name: table["test"][0]["revision"] for name, table in tables.items()}
    assert len(set(before.values())) == 1
    assert load(copied, cache, "mode")["test"][0]["revision"] == before["mode"]
    (copied / "splits.json").write_text('{"development_sessions": ["s03"]}')
    changed = load(copied, cache, "steps")
    assert changed["test"][0]["revision"] != before["steps"]
    assert set(changed["validation"]["session"]) == {"s03"}


# -- what is wrong with a folder ------------------------------------------------------------------


def test_a_video_that_cannot_be_shown_leaves_the_row_and_says_why(copied, filmed, cache):
    sessions = copied / "sessions"
    (sessions / "s01/ego_rgb.mp4").unlink()
    (sessions / "s02/ego_rgb.mp4").write_bytes(b"no video")
    times = sessions / "s03/ego_rgb_times.csv"
    times.write_text("".join(times.read_text().splitlines(keepends=True)[:-1]))
    for name in ("steps", "mode"):
        rows = every_row(load(copied, cache, name))
        said = {row["session"]: " ".join(row["problems"]) for row in rows}
        assert "video missing: no sessions/s01/ego_rgb.mp4" in said["s01"]
        assert "video damaged: ego_rgb.mp4" in said["s02"]
        assert "500 frames for 499 times" in said["s03"]
        assert said["s04"] == ""
        shown = {row["session"]: row["video"] for row in rows}
        assert shown["s01"] is shown["s02"] is shown["s03"] is None
        assert shown["s04"] is not None


def test_a_session_without_frame_times_shows_no_frames(copied, cache):
    (copied / "sessions/s04/ego_rgb_times.csv").unlink()
    rows = [row for row in every_row(load(copied, cache, "steps")) if row["session"] == "s04"]
    assert rows
    assert all(row["frames"] == [] and row["video"] is None for row in rows)
    assert "nothing ties the video to time" in rows[0]["problems"][0]
    assert "s04" not in every_column(load(copied, cache, "mode"), "session")


def every_column(table, name):
    return {row[name] for row in every_row(table)}


def test_a_missing_reference_picture_is_named_and_none_is_no_problem(copied, cache):
    (copied / "reference.png").unlink()
    row = load(copied, cache, "response")["test"][0]
    assert row["parts_image"] is None
    assert row["problems"] == ["parts image missing: no reference.png"]
    about = json.loads((copied / "task.json").read_text())
    (copied / "task.json").write_text(json.dumps({**about, "reference_image": None}))
    row = load(copied, cache, "response")["test"][0]
    assert (row["parts_image"], row["problems"]) == (None, [])


def test_what_no_rule_repairs_stops_the_load_unless_it_may_be_left_out(copied, cache):
    file = copied / "sessions/s05/steps.csv"
    file.write_text(file.read_text() + "1:00,1:05,tea break,,\n")
    with pytest.raises(Exception, match=r"generat|problems") as error:
        load(copied, cache, "steps")
    assert "sessions/s05/steps.csv" in message(error)
    assert "tea break" in message(error)
    assert load(copied, cache, "steps", strict=False)["test"].num_rows > 0


def test_without_a_folder_the_ways_out_are_named(monkeypatch, tmp_path, cache):
    monkeypatch.delenv("PROCEDURAL_EVALS_DATA", raising=False)
    with pytest.raises(FileNotFoundError) as error:
        datasets.load_dataset("dyad", "mode", cache_dir=cache)
    for words in ("not public yet", "$PROCEDURAL_EVALS_DATA/dyad", '"mode_sample"'):
        assert words in str(error.value)


def test_a_table_has_to_be_chosen(filmed, cache):
    with pytest.raises(ValueError, match="one of steps, mode, response"):
        load(filmed[0], cache)
    with pytest.raises(ValueError, match="one of steps, mode, response"):
        load(filmed[0], cache, "steps", table="triggers")


def test_a_recorded_corpus_is_compared_with_the_published_counts(copied, cache):
    about = json.loads((copied / "task.json").read_text())
    (copied / "task.json").write_text(json.dumps({**about, "recorded": True}))
    with pytest.warns(UserWarning, match=r"mode examples: [0-9]+, published 829"):
        load(copied, cache, "mode")


def test_a_simulated_corpus_has_no_published_counts(filmed, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        load(filmed[0], str(tmp_path), "mode")


def test_the_data_check_looks_for_every_video_and_the_picture(copied):
    (copied / "sessions/s05/ego_rgb.mp4").unlink()
    report = media_check.check("dyad", str(copied), progress=False)
    assert report.expected == {"video": 5, "parts image": 1}
    assert report.present == {"video": 4, "parts image": 1}
    assert report.missing == ["video: sessions/s05/ego_rgb.mp4"]
    assert report.unexpected == []
    assert "not public yet" in "\n".join(report.lines([]))
