"""ProcObject-10K as a dataset: the published examples, a small release, and damaged ones."""

import json
import shutil
from fractions import Fraction

import av
import datasets
import numpy as np
import pytest

from procedural_evals import prompts
from procedural_evals.harness import media_check
from procedural_evals.layouts import procobject_10k as layout
from procedural_evals.scores import grounding
from procedural_evals.spans import parse_grounded_answer

CORPORA = ("CaptainCook4D", "COIN", "EgoPER", "HoloAssist")
COLUMNS = {
    "id", "video", "video_path", "clip_start", "clip_end", "question", "answers", "question_type",
    "reasoning", "view", "domain", "task", "source", "evidence", "problems", "revision",
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


def load(folder, cache, *arguments, **options):
    return datasets.load_dataset(
        "procobject-10k", *arguments, data_dir=str(folder), cache_dir=cache, **options
    )


def message(error):
    return f"{error.value} {error.value.__cause__}"


def names(rows, column):
    return rows.features[column].int2str(rows[column])


# -- the published examples -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def excerpt(shared, cache):
    return load(shared / "data/procobject-10k", cache, "excerpt")["test"]


def test_the_examples_are_the_published_ones(excerpt, shared):
    published = json.loads((shared / "data/procobject-10k/explorer_excerpt.json").read_text())
    assert excerpt["id"] == [str(item["id"]) for item in published]
    assert set(excerpt.column_names) == COLUMNS | {"published", "published_blind"}
    for row, item in zip(excerpt, published, strict=True):
        assert row["answers"] == [item["answer"]]
        assert (row["clip_start"], row["clip_end"]) == (0.0, item["duration"])
        assert [[span["start"], span["end"]] for span in row["evidence"]] == item["evidence"]
        assert [each["model"] for each in row["published"]] == list(item["models"])
        assert row["published_blind"] == item["blind"]


def test_each_question_type_is_there_twice_and_the_views_follow_the_corpora(excerpt):
    kinds = names(excerpt, "question_type")
    assert sorted(kinds) == sorted(2 * list(layout.QUESTION_TYPES.values()))
    assert set(names(excerpt, "reasoning")) == {"multi-hop", "needle in a haystack"}
    for source, view in zip(excerpt["source"], names(excerpt, "view"), strict=True):
        assert layout.VIEW_OF_SOURCE[source] == view == ("exo" if source == "COIN" else "ego")


def test_the_published_iou_follows_from_the_rows(excerpt):
    scored = [
        (each["evidence"], row["evidence"], each["iou"])
        for row in excerpt
        for each in row["published"]
        if each["iou"] is not None
    ]
    predictions, references, iou = zip(*scored, strict=True)
    assert [round(x, 3) for x in grounding.grounded_iou(predictions, references).iou] == list(iou)
    assert len(iou) == 24


def test_predictions_beyond_the_clip_are_kept(excerpt):
    beyond = [
        (row["id"], each["model"])
        for row in excerpt
        for each in row["published"]
        if max(span["end"] for span in each["evidence"]) > row["clip_end"]
    ]
    assert {("2709", "claude"), ("1031", "qwen4b"), ("2323", "ours")} <= set(beyond)


def test_the_examples_come_without_video_and_say_so(excerpt):
    assert set(excerpt["video"]) == {None}
    assert all(
        row["problems"] == [f"video missing: no static/videos/explorer/{row['id']}.mp4"]
        for row in excerpt
    )


def test_the_published_figures_are_those_of_the_authors_statistics(shared):
    stats = json.loads((shared / "data/procobject-10k/stats.json").read_text())
    ours = layout.PUBLISHED_FIGURES
    assert (ours["train"], ours["test"]) == (stats["n_train"], stats["n_test"])
    assert ours["train"] + ours["test"] == stats["n_qa"]
    assert [ours[name] for name in ("videos", "tasks", "domains")] == [
        stats[name] for name in ("n_videos", "n_tasks", "n_domains")
    ]
    assert (ours["mean duration"], ours["mean spans"]) == (stats["mean_dur"], stats["mean_spans"])
    assert list(map(list, ours["spans"].items())) == stats["spans"]
    assert list(ours["sources"].items()) == [(name, count) for name, _, count in stats["sources"]]
    for kind, hops, needles in stats["reasoning"]:
        name = layout.QUESTION_TYPES[kind]
        assert (ours["multi-hop"][name], ours["needle in a haystack"][name]) == (hops, needles)


def test_the_data_check_reads_a_folder_that_holds_only_the_examples(shared):
    report = media_check.check(
        "procobject-10k", str(shared / "data/procobject-10k"), progress=False
    )
    assert report.expected == {"annotations": 2, "excerpt video": 10}
    assert report.missing[:2] == [
        "annotations: data/training.json",
        "annotations: data/testing.json",
    ]
    assert len(report.missing) == 12
    text = "\n".join(report.lines([]))
    assert "annotations: 0 of 2 there and readable" in text


# -- a release ------------------------------------------------------------------------------------


def write_video(path, seconds, rate=5):
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(rate))
        stream.width, stream.height = 32, 24
        for number in range(round(seconds * rate)):
            picture = np.full((24, 32, 3), number % 256, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())


def question(number, corpus, recording, **changes):
    kinds, reasonings = list(layout.QUESTION_TYPES), list(layout.REASONINGS)
    return {
        "id": number,
        "qa_type": kinds[number % 5],
        "reasoning": reasonings[number % 2],
        "source": corpus,
        "domain": "Cooking & Food",
        "task": f"Task {number % 3}",
        "video_path": f"{corpus}/{recording}.mp4",
        "clip_start": 1.0,
        "clip_end": 5.0,
        "question": f"How does object {number} change?",
        "answer": f"It changes {number} times.",
        "evidence": [[0.0, 1.5], [2, 9.25]],
        **changes,
    }


def write_release(folder, splits):
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split, questions in splits.items():
        (folder / layout.SPLIT_FILES[split]).write_text(json.dumps(questions))


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Eight training and eight test questions over eight recordings of four corpora."""
    folder = tmp_path_factory.mktemp("release") / "procobject-10k"
    splits = {
        split: [
            question(first + n, corpus, f"{split}/recording {n % 4}")
            for n, corpus in enumerate(CORPORA * 2)
        ]
        for split, first in (("train", 0), ("test", 8))
    }
    write_release(folder, splits)
    for each in [*splits["train"], *splits["test"]]:
        write_video(folder / "videos" / each["video_path"], 6)
    return folder


@pytest.fixture
def copy(release, tmp_path):
    return shutil.copytree(release, tmp_path / "procobject-10k")


def edit(folder, split, change):
    """Apply `change` to the list of questions of a split."""
    file = folder / layout.SPLIT_FILES[split]
    questions = json.loads(file.read_text())
    change(questions)
    file.write_text(json.dumps(questions))


def test_both_splits_load_typed_with_their_videos(release, cache):
    loaded = load(release, cache)
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 8, "test": 8}
    for split, rows in loaded.items():
        assert set(rows.column_names) == COLUMNS
        assert isinstance(rows.features["question_type"], datasets.ClassLabel)
        for row in rows:
            assert row["problems"] == []
            assert row["video"]["path"] == str(release / "videos" / row["video_path"])
            assert row["revision"].startswith(f"data_dir:{split}ing.json@")
            assert row["view"] == rows.features["view"].str2int(
                "exo" if row["source"] == "COIN" else "ego"
            )


def test_evidence_beyond_the_clip_is_kept_as_it_is(release, cache):
    row = load(release, cache)["test"][0]
    assert (row["clip_start"], row["clip_end"]) == (1.0, 5.0)
    assert row["evidence"] == [{"start": 0.0, "end": 1.5}, {"start": 2.0, "end": 9.25}]


def test_the_rows_can_be_streamed(release, cache):
    streamed = list(load(release, cache, split="test", streaming=True))
    assert [row["id"] for row in streamed] == [str(n) for n in range(8, 16)]


def test_a_view_in_the_file_goes_before_the_corpus(copy, cache):
    edit(copy, "test", lambda rows: rows[0].update(view="Exocentric"))
    rows = load(copy, cache)["test"]
    assert names(rows, "view")[:2] == ["exo", "exo"]
    assert rows[0]["source"] == "CaptainCook4D"


def test_one_split_alone_is_enough(copy, cache):
    (copy / layout.SPLIT_FILES["train"]).unlink()
    assert set(load(copy, cache)) == {"test"}


def test_a_folder_without_annotations_is_named(tmp_path, cache):
    with pytest.raises(Exception, match=r"data/training\.json or data/testing\.json") as error:
        load(tmp_path, cache)
    assert str(tmp_path) in message(error)
    with pytest.raises(Exception, match=r"explorer_excerpt\.json"):
        load(tmp_path, cache, "excerpt")


def test_a_video_in_both_splits_is_named(copy, cache):
    leaked = "COIN/train/recording 1.mp4"
    edit(copy, "test", lambda rows: rows[3].update(video_path=leaked))
    with pytest.raises(Exception, match="1 video is in the train and in the test split") as error:
        load(copy, cache)
    assert leaked in message(error)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"evidence": [[0, 1], [4.0, 3.5]]}, "[4.0, 3.5] ends before it starts"),
        ({"evidence": [[-0.5, 2]]}, "-0.5 is not a time"),
        ({"evidence": [[0, float("nan")]]}, "nan is not a time"),
        ({"evidence": [[0, float("inf")]]}, "inf is not a time"),
        ({"evidence": [["0:01", "0:05"]]}, "'0:01' is not a number of seconds"),
        ({"evidence": [[1, 2, 3]]}, "[1, 2, 3] is not a [start, end] pair"),
        ({"evidence": [3, 5]}, "3 is not a [start, end] pair"),
        ({"evidence": []}, "covers no time"),
        ({"evidence": [[2, 2]]}, "covers no time"),
        ({"evidence": "1-5"}, "'1-5' is not a list"),
        ({"clip_end": 1.0}, "the clip [1.0, 1.0) has no length"),
        ({"clip_start": None}, "clip_start: None"),
        ({"qa_type": "Forward Prediction"}, "'Forward Prediction' is not one of Precondition"),
        ({"reasoning": "one-hop"}, "'one-hop' is not one of Multi-hop Reasoning"),
        ({"source": "YouTube"}, "'YouTube' is not one of CaptainCook4D"),
        ({"question": " "}, "question: ' ' is no text"),
        ({"answer": None}, "answer: None is no text"),
        ({"id": 8}, "this id is there twice"),
        ({"id": True}, "id: True"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(copy, cache, change, reason):
    edit(copy, "test", lambda rows: rows[2].update(change))
    with pytest.raises(Exception, match=r"testing\.json, entry 2, id") as error:
        load(copy, cache)
    assert repr(change.get("id", 10)) in message(error)
    assert reason in message(error)


def test_a_missing_field_is_named(copy, cache):
    edit(copy, "train", lambda rows: rows[1].pop("evidence"))
    with pytest.raises(Exception, match=r"training\.json, entry 1, id 1: no 'evidence'"):
        load(copy, cache)


@pytest.mark.parametrize("text", ["[{]", "{}", '"questions"', "\ud800"])
def test_a_file_that_holds_no_list_is_named(copy, cache, text):
    file = copy / layout.SPLIT_FILES["test"]
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(Exception, match=r"testing\.json: ") as error:
        load(copy, cache)
    assert "a list of questions" in message(error) or "not JSON" in message(error)


def test_one_span_without_length_among_others_is_a_named_problem(copy, cache):
    edit(copy, "test", lambda rows: rows[0].update(evidence=[[3, 3], [4, 5]]))
    row = load(copy, cache)["test"][0]
    assert row["problems"] == ["evidence without length at 3.0 s"]
    assert len(row["evidence"]) == 2


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("mistake recognition", "mistake recognition"),
        ("Mistake_Recognition", "mistake recognition"),
        ("OBJECT-STATE-EVOLUTION", "object state evolution"),
    ],
)
def test_spelling_makes_no_other_label(copy, cache, label, name):
    edit(copy, "test", lambda rows: rows[0].update(qa_type=label, reasoning="needle in a haystack"))
    rows = load(copy, cache)["test"]
    assert names(rows, "question_type")[0] == name
    assert names(rows, "reasoning")[0] == "needle in a haystack"


# -- recordings -----------------------------------------------------------------------------------


@pytest.fixture
def damaged(copy):
    """The test split with a cut off, a missing, an outside and a too short recording."""
    paths = ["EgoPER/cut.mp4", "EgoPER/absent.mp4", "../../outside.mp4", "EgoPER/short.mp4"]

    def change(rows):
        for row, path in zip(rows, paths, strict=False):
            row["video_path"] = path

    edit(copy, "test", change)
    whole = (copy / "videos/COIN/test/recording 1.mp4").read_bytes()
    (copy.parent / "outside.mp4").write_bytes(whole)
    cut = copy / "videos/EgoPER/cut.mp4"
    cut.write_bytes(whole[: len(whole) // 2])
    write_video(copy / "videos/EgoPER/short.mp4", 0.8)
    return copy


def test_a_damaged_folder_loads_and_names_each_recording(damaged, cache):
    rows = load(damaged, cache)["test"]
    assert [row["video"] for row in rows.select(range(4))] == [None] * 4
    problems = [" ".join(problem) for problem in rows["problems"]]
    assert problems[0].startswith("video damaged: cut.mp4")
    assert problems[1] == "video missing: no videos/EgoPER/absent.mp4"
    assert "leaves the data folder" in problems[2]
    assert problems[3].startswith("video too short: EgoPER/short.mp4 lasts 0.80 s")
    assert set(problems[4:]) == {""}


def test_the_data_check_names_each_recording(damaged):
    (damaged / "videos/COIN/holiday.mp4").write_bytes(b"?")
    report = media_check.check("procobject-10k", str(damaged), progress=False)
    assert any("cut.mp4" in line for line in report.damaged)
    assert any("absent.mp4" in line for line in report.missing)
    assert any("outside.mp4" in line for line in report.refused)
    assert any("holiday.mp4" in line for line in report.unexpected)
    assert (report.present["video"], report.expected["video"]) == (9, 12)


def test_the_data_check_is_content_with_a_complete_folder(release):
    report = media_check.check("procobject-10k", str(release), progress=False)
    assert report.complete
    assert report.unexpected == []
    assert report.present == {"annotations": 2, "video": 8}


# -- the release's figures ------------------------------------------------------------------------


def test_the_figures_of_a_small_release_are_counted(release):
    figures = layout.figures(layout.ProcObjectLayout(release).splits())
    assert (figures["train"], figures["test"], figures["videos"]) == (8, 8, 8)
    assert (figures["tasks"], figures["domains"], figures["mean duration"]) == (3, 1, 4.0)
    assert figures["spans"] == {2: 16}
    assert figures["sources"] == dict.fromkeys(CORPORA, 4)
    assert sum(figures["multi-hop"].values()) == 8


@pytest.fixture(scope="module")
def full_release(tmp_path_factory):
    """Made-up questions in the published numbers: splits, kinds, corpora, videos, spans."""
    published = layout.PUBLISHED_FIGURES
    names_of = {ours: theirs for theirs, ours in layout.QUESTION_TYPES.items()}
    reasonings = {ours: theirs for theirs, ours in layout.REASONINGS.items()}
    kinds = [
        (names_of[kind], reasonings[reasoning])
        for reasoning in reasonings
        for kind, count in published[reasoning].items()
        for _ in range(count)
    ]
    corpora = [name for name, count in published["sources"].items() for _ in range(count)]
    spans = [count for count, items in published["spans"].items() for _ in range(items)]
    rows = []
    for n, ((kind, reasoning), corpus, count) in enumerate(zip(kinds, corpora, spans, strict=True)):
        split_videos = (0, 1600) if n < published["train"] else (1600, published["videos"])
        recording = split_videos[0] + n % (split_videos[1] - split_videos[0])
        rows.append(
            question(
                n, corpus, f"r{recording}", qa_type=kind, reasoning=reasoning, clip_end=73.3,
                domain=f"Domain {n % 9}", task=f"Task {n % 137}",
                video_path=f"videos/r{recording}.mp4",
                evidence=[[10.0 * k, 10.0 * k + 5] for k in range(count)],
            )
        )  # fmt: skip
    folder = tmp_path_factory.mktemp("full") / "procobject-10k"
    train = published["train"]
    write_release(folder, {"train": rows[:train], "test": rows[train:]})
    return folder


def test_a_whole_release_is_compared_with_the_published_figures(full_release, tmp_path, cache):
    splits = layout.ProcObjectLayout(full_release).splits()
    assert layout.is_whole(splits)
    assert layout.check_figures(splits) == []
    changed = shutil.copytree(full_release, tmp_path / "procobject-10k")
    edit(changed, "train", lambda rows: rows[0].update(qa_type="Mistake Recognition"))
    builder = datasets.load_dataset_builder(
        "procobject-10k", data_dir=str(changed), cache_dir=cache
    )
    with pytest.warns(UserWarning, match="published are") as warned:
        builder._split_generators(None)
    assert any("multi-hop" in str(warning.message) for warning in warned)


def test_a_part_of_the_release_is_not_compared(release, cache, recwarn):
    load(release, cache)
    assert not [w for w in recwarn if "published are" in str(w.message)]


# -- prompts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["frames", "video", "blind"])
def test_a_prompt_shows_the_question_and_asks_for_json(name):
    text = prompts.load_template("procobject_10k", name).fill(
        question="Is the lid on?", duration="41.0", frame_times="0.0, 20.5, 41.0"
    )
    assert text.endswith("Question: Is the lid on?")
    assert "41.0 seconds" in text
    assert ("0.0, 20.5, 41.0" in text) == (name == "frames")
    assert ('"evidence": [[start, end]' in text) == (name != "blind")


@pytest.mark.parametrize("name", ["frames", "video"])
def test_a_reply_in_the_form_asked_for_is_read(name):
    text = prompts.load_template("procobject_10k", name).text
    form = next(line for line in text.splitlines() if line.startswith("{"))
    reply = form.replace("your answer", "It is put on.")
    reply = reply.replace("[start, end], [start, end]", "[0, 4.5], [20.0, 41]")
    answer, spans = parse_grounded_answer(reply)
    assert (answer, spans.spans) == ("It is put on.", ((0.0, 4.5), (20.0, 41.0)))


def test_a_blind_reply_has_an_answer_and_no_span():
    text = prompts.load_template("procobject_10k", "blind").text
    form = next(line for line in text.splitlines() if line.startswith("{"))
    assert parse_grounded_answer(form)[0] == "your answer"
    assert parse_grounded_answer(form)[1].spans == ()
