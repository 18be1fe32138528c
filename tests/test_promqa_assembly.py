"""ProMQA-Assembly as a dataset: the real excerpt, every camera, the Hub's tables, damaged files."""

import json
import shutil
from collections import Counter

import datasets
import fsspec
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from procedural_evals import prompts
from procedural_evals.harness import media_check
from procedural_evals.layouts import assembly101
from procedural_evals.layouts import promqa_assembly as layout
from procedural_evals.task_graph import TaskGraph
from tests.numbered_clips import write_clip

NAME = "promqa-assembly"
SEQUENCE = "nusar-2021_action_both_9064-c02c_9064_user_id_2021-02-22_163357"
COLUMNS = {
    "id", "question", "answers", "question_type", "multimodal", "procedural", "source", "toy",
    "sequence", "view", "clip_start", "clip_end", "video", "parts_image", "task_graph", "steps",
    "precedence", "performed_steps", "problems", "revision",
}  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data/promqa-assembly"


@pytest.fixture(scope="module")
def records(folder):
    return json.loads((folder / "qa_excerpt.json").read_text())


@pytest.fixture(scope="module")
def graphs(folder):
    return json.loads((folder / "graph_excerpt.json").read_text())


@pytest.fixture(scope="module")
def real(folder, cache):
    return load(folder, cache)


def load(folder, cache, *arguments, **options):
    return datasets.load_dataset(
        NAME, *arguments, data_dir=str(folder), cache_dir=cache, split="test", **options
    )


def read(folder):
    """The rows as `load_dataset` gets them, before media are opened; quicker than that."""
    return layout.PromqaAssemblyLayout(folder).rows()


def names(rows, column):
    return rows.features[column].int2str(rows[column])


# -- the real excerpt -----------------------------------------------------------------------------


def test_the_real_questions_with_all_that_is_there(real, records, graphs):
    assert set(real.column_names) == COLUMNS
    assert len(real) == len(set(real["id"])) == 45
    assert len(set(real["toy"])) == 33
    assert len(set(real["sequence"])) == 41
    assert sum(len(answers) for answers in real["answers"]) == 121
    assert Counter(names(real, "question_type")) == {
        "next": 19, "location": 8, "missing": 6, "misadjustment": 5, "past": 5, "order": 1,
        "others (step)": 1,
    }  # fmt: skip
    assert Counter(names(real, "source")) == {"machine": 43, "human": 2}
    assert Counter(real["multimodal"]) == {True: 37, False: 8}
    assert set(real["procedural"]) == {None}
    for row, record in zip(real, records, strict=True):
        assert (row["question"], row["answers"]) == (record["question"], record["answers"])
        assert [row["clip_start"], row["clip_end"]] == list(record["video"].values())
    there = {
        column: sum(value is not None for value in real[column])
        for column in ("task_graph", "parts_image", "performed_steps", "video")
    }
    print(f"of {len(real)} questions: {there}")
    toys_with_graph = {graph["toy_id"] for graph in graphs}
    assert there == {
        "task_graph": sum(record["toy_id"] in toys_with_graph for record in records),
        "parts_image": sum(record["toy_id"] in ("c02c", "b02b") for record in records),
        "performed_steps": 45,
        "video": 0,
    }
    assert there["task_graph"] == 14
    assert there["parts_image"] == 4


def test_what_is_not_there_is_named(real):
    kinds = Counter(problem.partition(":")[0] for row in real["problems"] for problem in row)
    assert kinds == {
        "video missing": 45, "parts image missing": 41, "task graph missing": 31
    }  # fmt: skip
    a16 = next(row for row in real if row["toy"] == "a16")
    assert a16["task_graph"] is a16["steps"] is a16["precedence"] is a16["parts_image"] is None
    assert any("toy a16 is not in graph_excerpt.json" in problem for problem in a16["problems"])
    assert any("no parts/a16-all.png" in problem for problem in a16["problems"])


def test_graph_columns_say_the_same_in_three_ways(real, graphs):
    by_toy = {graph["toy_id"]: graph for graph in graphs}
    for row in real:
        if row["task_graph"] is None:
            continue
        graph = TaskGraph.from_assembly(by_toy[row["toy"]])
        assert row["task_graph"] == graph.to_dot()
        assert [tuple(step.values()) for step in row["steps"]] == list(graph.steps)
        assert [tuple(p.values()) for p in row["precedence"]] == list(graph.precedence)
        assert len(row["steps"]) == len(by_toy[row["toy"]]["nodes"]) - 2


def test_the_parts_picture_is_the_file(real, folder):
    row = real[0]
    assert row["toy"] == "c02c"
    with Image.open(folder / "parts/c02c-all.png") as picture:
        assert row["parts_image"].size == picture.size
        assert row["parts_image"].tobytes() == picture.tobytes()


def test_performed_steps_are_those_begun_before_the_clip_ends(real):
    rows = {row["clip_end"]: row for row in real if row["sequence"] == SEQUENCE}
    early, late = rows[242.4]["performed_steps"], rows[286.1333333333333]["performed_steps"]
    assert [step["label"] for step in early] == [
        "attach body to chassis", "attach cabin to chassis"
    ]  # fmt: skip
    assert early[0] == {
        "label": "attach body to chassis",
        "start": 6272 / 30,
        "end": 6620 / 30,
        "mistake": "mistake",
        "remark": "wrong order",
    }
    assert early[1]["end"] > 242.4  # still going on
    # Two parts come off in the same moment: two steps with the same times.
    assert [step["label"] for step in late[2:4]] == [
        "detach cabin from chassis", "detach body from chassis"
    ]  # fmt: skip
    assert (late[2]["start"], late[2]["end"]) == (late[3]["start"], late[3]["end"])
    assert {step["mistake"] for step in late} == {"mistake", "correction", "correct"}
    assert [step["remark"] for step in late if step["mistake"] == "correct"] == [None]
    for row in real:
        starts = [step["start"] for step in row["performed_steps"]]
        assert starts == sorted(starts)
        assert starts[0] == pytest.approx(row["clip_start"])
        assert starts[-1] < row["clip_end"]


def test_the_excerpt_is_not_measured_by_the_figures_of_the_whole(folder):
    assert not layout.PromqaAssemblyLayout(folder).whole
    report = media_check.check(NAME, str(folder), progress=False)
    assert report.deviations == []
    assert report.present == {
        "annotations": 1,
        "task graph": 8,
        "step annotation": 41,
        "parts image": 2,
    }
    assert report.expected["task graph"] == 33
    assert sum(line.startswith("task graph: the graph of toy ") for line in report.missing) == 25
    assert (report.expected["video"], report.expected["parts image"]) == (41, 33)
    text = "\n".join(report.lines([]))
    assert "git clone https://github.com/kimihiroh/promqa-assembly" in text
    assert "assembly101/SEQUENCE/VIEW.mp4" in text


def test_figures_that_are_not_the_published_ones_are_named(folder):
    rows = layout.PromqaAssemblyLayout(folder).rows()
    found = layout.check_figures(rows)
    assert "questions: 45 here, 391 published" in found
    assert "multimodal procedural: 37 here, 335 published" in found
    assert len(found) == len(layout.PUBLISHED)
    assert layout.figures(rows)["answers a question"] == 2.7
    assert 0 < layout.figures(rows)["step dependency"] < 1


def test_the_data_of_the_paper_give_its_figures(folder):
    rows = layout.PromqaAssemblyLayout(folder).rows()
    if len(rows) != 391:
        pytest.skip(f"{len(rows)} questions here; the paper's figures are of 391")
    assert layout.check_figures(rows) == []


def test_ids_do_not_depend_on_the_order_of_the_file(records, folder, tmp_path, cache, real):
    (tmp_path / "all_v1.json").write_text(json.dumps(records[::-1]))
    turned = load(tmp_path, cache)
    assert turned["id"] == real["id"][::-1]
    assert set(real["id"]) == set(turned["id"])


# -- all real step annotations --------------------------------------------------------------------


@pytest.fixture(scope="module")
def annotations(shared):
    files = sorted((shared / "data/assembly101-mistakes/annots").glob("*.csv"))
    return {file.stem: assembly101.read_mistakes(file) for file in files}


def test_all_step_annotations_are_read(annotations):
    steps = [step for each in annotations.values() for step in each.steps]
    assert len(annotations) == 328
    assert len(steps) == 3964
    assert Counter(step.mistake for step in steps) == {
        "correct": 2927, "mistake": 707, "correction": 330
    }  # fmt: skip
    verbs = Counter(step.label.split()[0] for step in steps)
    assert verbs == {"attach": 3253, "detach": 704, "position": 6, "interior": 1}
    with_mistake = [a for a in annotations.values() if any(s.mistake == "mistake" for s in a.steps)]
    assert len(with_mistake) == 190
    remarks = Counter(step.remark for step in steps)
    assert remarks["shouldn't have happened"] == 376
    assert remarks["worng order"] == 1
    assert remarks[None] == 2927 + 330  # with and without a last field
    assert not any("\r" in f"{step.label}{step.mistake}{step.remark}" for step in steps)


def test_the_unknown_verb_is_kept_and_named(annotations):
    odd = {name: each for name, each in annotations.items() if each.oddities}
    assert list(odd) == ["nusar-2021_action_both_9033-c02a_9033_user_id_2021-02-04_140532"]
    (found,) = odd.values()
    assert found.oddities[0].endswith(".csv, line 6: unknown verb 'interior'")
    assert found.steps[5].label == "interior cabin interior"


CSV_LINE = "30,60,attach,roof,cabin,mistake,wrong order"


@pytest.mark.parametrize(
    ("content", "steps"),
    [
        (f"{CSV_LINE}\n", 1),
        (f"{CSV_LINE}\r\n{CSV_LINE}\r\n", 2),
        (CSV_LINE, 1),
        ("30,60,attach,roof,cabin,correct\n\n", 1),
        ("\ufeff30,30,attach,roof,cabin,correct,\n", 1),
        ("", 0),
    ],
)
def test_forms_of_step_annotations(tmp_path, content, steps):
    file = tmp_path / "s.csv"
    file.write_bytes(content.encode())
    read = assembly101.read_mistakes(file)
    assert len(read.steps) == steps
    assert all(step.label == "attach roof to cabin" for step in read.steps)
    assert all(step.start == 1.0 for step in read.steps)


def test_a_step_that_begins_when_the_clip_ends_has_not_begun(tmp_path):
    file = tmp_path / "s.csv"
    file.write_text("60,90,attach,a,b,correct,\n30,60,attach,c,d,correct,\n")
    read = assembly101.read_mistakes(file)
    assert [step.label for step in read.until(2.0)] == ["attach c to d"]
    assert [step.label for step in read.until(2.001)] == ["attach c to d", "attach a to b"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("30,60,attach,roof,cabin", "5 fields instead of 6 or 7"),
        ("30,60,attach,roof,cabin,correct,,", "8 fields instead of 6 or 7"),
        ("-3,60,attach,roof,cabin,correct,", "start is '-3'"),
        ("30,6.5,attach,roof,cabin,correct,", "end is '6.5'"),
        ("60,30,attach,roof,cabin,correct,", "ends at frame 30, before it starts at 60"),
        ("30,60,attach,roof,cabin,wrong,", "label is 'wrong'"),
        ("30,60,attach,,cabin,correct,", "none may be empty"),
        ("start,end,verb,this,that,label,remark", "start is 'start'"),
    ],
)
def test_a_damaged_step_annotation_is_named(records, tmp_path, line, reason):
    file = tmp_path / "annots" / f"{SEQUENCE}.csv"
    file.parent.mkdir()
    file.write_text(f"{CSV_LINE}\n{line}\n")
    (tmp_path / "all_v1.json").write_text(json.dumps(records[:1]))
    with pytest.raises(ValueError, match="line 2") as error:
        read(tmp_path)
    assert file.name in str(error.value)
    assert reason in str(error.value)


# -- recordings -----------------------------------------------------------------------------------


@pytest.fixture
def root(folder, shared, tmp_path):
    """A data root with the excerpt and its step annotations, without recordings."""
    (tmp_path / NAME).mkdir()
    for path in folder.iterdir():
        (tmp_path / NAME / path.name).symlink_to(path)
    (tmp_path / "assembly101-mistakes").symlink_to(shared / "data/assembly101-mistakes")
    return tmp_path


def put_recording(place, view, sequence=SEQUENCE):
    file = place / sequence / f"{view}.mp4"
    file.parent.mkdir(parents=True, exist_ok=True)
    return write_clip(file, 3, rate=1)


@pytest.mark.parametrize("place", [NAME, f"{NAME}/recordings", f"{NAME}/videos", "assembly101"])
def test_recordings_are_found_where_they_may_lie(root, cache, place):
    file = put_recording(root / place, "C10115_rgb")
    rows = load(root / NAME, cache)
    found = {row["sequence"]: row["video"] for row in rows if row["video"] is not None}
    assert found == {SEQUENCE: {"path": str(file), "bytes": None}}
    assert set(rows["view"]) == {"C10115_rgb"}
    assert not any(problem.startswith("video") for problem in rows[0]["problems"])


def test_other_data_are_found_in_the_data_root_too(root, cache, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    file = put_recording(elsewhere / "assembly101", "C10115_rgb")
    assert load(root / NAME, cache)[0]["video"] is None
    monkeypatch.setenv("PROCEDURAL_EVALS_DATA", str(elsewhere))
    assert load(root / NAME, cache)[0]["video"]["path"] == str(file)


def test_a_recording_that_comes_later_is_seen_although_the_rows_were_cached(root, cache):
    assert load(root / NAME, cache)[0]["video"] is None
    put_recording(root / "assembly101", "C10115_rgb")
    assert load(root / NAME, cache)[0]["video"] is not None


def test_each_of_the_twelve_views_can_be_chosen(root, cache):
    assert len(assembly101.VIEWS) == 12
    for views in assembly101.VIEWS:
        file = put_recording(root / "assembly101", views[0])
        row = load(root / NAME, cache, view=views[0])[0]
        assert row["view"] == views[0]
        assert row["video"]["path"] == str(file)


def test_a_head_camera_goes_by_either_of_its_names(root, cache):
    file = put_recording(root / "assembly101", "HMC_84346135_mono10bit")
    row = load(root / NAME, cache, view="HMC_21176875_mono10bit")[0]
    assert row["view"] == "HMC_84346135_mono10bit"
    assert row["video"]["path"] == str(file)
    other = load(root / NAME, cache, view="HMC_21176623_mono10bit")[0]
    assert (other["view"], other["video"]) == ("HMC_21176623_mono10bit", None)


def test_an_unknown_view_is_refused_with_the_twelve(folder, cache):
    with pytest.raises(ValueError, match="'C10116_rgb' is not one of the twelve") as error:
        load(folder, cache, view="C10116_rgb")
    for views in assembly101.VIEWS:
        assert all(view in str(error.value) for view in views)


def test_damaged_media_are_named_and_null(root, cache):
    recording = root / "assembly101" / SEQUENCE / "C10115_rgb.mp4"
    recording.parent.mkdir(parents=True)
    recording.write_bytes(b"no video")
    parts = root / NAME / "parts"
    picture = (parts / "b02b-all.png").read_bytes()
    parts.unlink()
    parts.mkdir()
    (parts / "c02c-all.png").write_bytes(picture[: len(picture) // 2])
    (parts / "b02b-all.png").write_bytes(b"")
    c02c, b02b = load(root / NAME, cache).select([0, 1])
    assert c02c["video"] is c02c["parts_image"] is b02b["parts_image"] is None
    found = "\n".join(c02c["problems"] + b02b["problems"])
    assert "video damaged: C10115_rgb.mp4" in found
    assert "parts image damaged: c02c-all.png" in found
    assert "parts image empty: parts/b02b-all.png" in found
    report = media_check.check(NAME, str(root / NAME), progress=False)
    damaged = "\n".join(report.damaged)
    assert "C10115_rgb.mp4" in damaged
    assert "c02c-all.png" in damaged
    assert "b02b-all.png" in damaged


def test_the_data_check_knows_the_other_views_and_names_strangers(root):
    put_recording(root / NAME / "recordings", "C10115_rgb")
    put_recording(root / NAME / "recordings", "HMC_84346135_mono10bit")
    put_recording(root / NAME / "recordings", "GoPro")
    report = media_check.check(NAME, str(root / NAME), progress=False)
    assert report.unexpected == [f"recordings/{SEQUENCE}/GoPro.mp4"]
    assert report.present["video"] == report.present["video from another view"] == 1
    assert sum("step annotation" in line for line in report.missing) == 0


def test_a_name_that_leaves_the_folder_is_refused(records, root, cache):
    put_recording(root.parent / "outside", "C10115_rgb", "x")
    changed = {**records[0], "sequence_id": "../../outside/x", "toy_id": "../../../etc/x"}
    (root / NAME / "all_v1.json").write_text(json.dumps([changed]))
    (row,) = load(root / NAME, cache)
    assert row["video"] is row["parts_image"] is row["performed_steps"] is None
    assert sum("leaves the data folder" in problem for problem in row["problems"]) == 3


# -- the two forms of the authors' files ----------------------------------------------------------


def flat(graph):
    """A graph as in the authors' Hub repository: the values of a node beside its id."""
    nodes = [{"id": n["id"], "checked": None, **n["data"]} for n in graph["nodes"]]
    return {"toy_id": graph["toy_id"], "nodes": nodes, "edges": graph["edges"], "graph": b"png"}


def test_the_github_layout_gives_the_same_rows(records, graphs, root, cache, real):
    data = root / NAME / "data"
    (data / "graph").mkdir(parents=True)
    (data / "all_v1.json").write_text(json.dumps({"metadata": {}, "examples": records}))
    (data / "graph/all.json").write_text(json.dumps({"metadata": {}, "examples": graphs}))
    (data / "parts").symlink_to((root / NAME / "parts").resolve())
    for name in ("qa_excerpt.json", "graph_excerpt.json", "parts"):
        (root / NAME / name).unlink()
    rows = load(root / NAME, cache)
    check = [name for name in real.column_names if name not in ("revision", "problems")]
    without_pictures = [name for name in check if name != "parts_image"]
    assert rows.select_columns(without_pictures)[:] == real.select_columns(without_pictures)[:]
    assert rows[0]["parts_image"].size == real[0]["parts_image"].size
    assert "all_v1.json@" in rows[0]["revision"]
    assert "all.json@" in rows[0]["revision"]


def test_the_complete_file_goes_before_the_excerpt(records, root, cache):
    (root / NAME / "all_v1.json").write_text(json.dumps(records[:3]))
    assert len(load(root / NAME, cache)) == 3
    report = media_check.check(NAME, str(root / NAME), progress=False)
    assert "questions: 3 here, 391 published" in report.deviations


VIDEO_FORMS = {
    "struct": lambda start, end: {"video": {"start": start, "end": end}},
    "struct with bytes": lambda start, end: {
        "video": {"bytes": b"mp4", "start": start, "end": end, "path": "a.mp4"}
    },
    "fields": lambda start, end: {"start": start, "end": end},
    "fields beside a video": lambda start, end: {
        "start": start, "end": end, "video": {"bytes": b"mp4", "path": "a.mp4"}
    },
}  # fmt: skip


def write_tables(place, records, graphs, video=VIDEO_FORMS["struct"]):
    """The tables of the Hub: one of questions a toy, with pictures that nobody asked for."""
    for toy in sorted({record["toy_id"] for record in records}):
        rows = []
        for record in records:
            if record["toy_id"] == toy:
                clip = video(**record["video"])
                plain = {key: value for key, value in record.items() if key != "video"}
                rows.append({**plain, **clip, "frames": [{"bytes": b"x" * 5000, "path": "1.jpg"}]})
        (place / toy).mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows), place / toy / "test-00000-of-00001.parquet")
    if graphs is not None:
        (place / "data").mkdir(exist_ok=True)
        table = pa.Table.from_pylist([flat(graph) for graph in graphs])
        parquet.write_table(table, place / "data/test-00000-of-00001.parquet")


@pytest.mark.parametrize("form", VIDEO_FORMS)
def test_the_tables_of_the_hub_give_the_same_rows(records, graphs, tmp_path, cache, real, form):
    write_tables(tmp_path / NAME, records, graphs, VIDEO_FORMS[form])
    rows = load(tmp_path / NAME, cache)
    same = [
        "id", "question", "answers", "question_type", "multimodal", "source", "toy", "sequence",
        "clip_start", "clip_end", "task_graph", "steps", "precedence",
    ]  # fmt: skip
    order = {name: position for position, name in enumerate(rows["id"])}
    in_order = rows.select([order[name] for name in real["id"]])
    assert in_order.select_columns(same)[:] == real.select_columns(same)[:]


def test_only_the_text_of_the_tables_is_read(records, tmp_path):
    write_tables(tmp_path, records[:1], None, VIDEO_FORMS["struct with bytes"])
    (record,) = layout.question_columns(tmp_path / "c02c/test-00000-of-00001.parquet")
    assert record == records[0]


def test_a_table_without_times_is_named(records, tmp_path):
    write_tables(tmp_path, records[:1], None, lambda start, end: {"video": {"bytes": b"mp4"}})
    with pytest.raises(ValueError, match="no 'start'") as error:
        read(tmp_path)
    assert "test-00000-of-00001.parquet, record 1" in str(error.value)


def test_the_questions_of_the_hub_are_fetched_as_text(records, tmp_path):
    place = tmp_path / "hub/datasets" / f"{layout.HUB_QUESTIONS}@0123"
    write_tables(place, records, None)
    files = fsspec.filesystem("dir", path=str(tmp_path / "hub"), fs=fsspec.filesystem("file"))
    target = tmp_path / "cache/all_v1.json"
    layout.fetch_questions(layout.HUB_QUESTIONS, "0123", target, files)
    fetched = json.loads(target.read_text())
    assert len(fetched) == len(records)
    assert all(record in records for record in fetched)
    assert list(target.parent.iterdir()) == [target]
    with pytest.raises(FileNotFoundError, match="@4567 has no"):
        layout.fetch_questions(layout.HUB_QUESTIONS, "4567", target, files)


def test_without_data_the_ways_to_get_it_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PROCEDURAL_EVALS_DATA", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError, match="hf download kimihiroh/promqa-assembly"):
        datasets.load_dataset(NAME, cache_dir=str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"git clone .*assembly101-mistake-detection"):
        media_check.check(NAME)


# -- damaged annotation files ---------------------------------------------------------------------


def changed(**values):
    return lambda record: {**record, **values}


def without(key):
    return lambda record: {name: value for name, value in record.items() if name != key}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (without("toy_id"), "no 'toy_id'"),
        (without("answers"), "no 'answers'"),
        (without("video"), "no 'start'"),
        (changed(video={"start": 1.0}), "no 'end'"),
        (changed(video="a.mp4"), "video is 'a.mp4'"),
        (changed(video={"start": -1.0, "end": 2.0}), "start is -1.0"),
        (changed(video={"start": 1.0, "end": float("nan")}), "end is nan"),
        (changed(video={"start": "1", "end": 2.0}), "start is '1'"),
        (changed(video={"start": 9.5, "end": 2.0}), "ends at 2.0 s, not after its start at 9.5 s"),
        (changed(question=" "), "question is ' '"),
        (changed(answers=[]), "answers is []"),
        (changed(answers="yes"), "answers is 'yes'"),
        (changed(answers=["yes", 3]), "answers is 3"),
        (changed(question_type="others"), "question_type is 'others'"),
        (changed(source="robot"), "source is 'robot'"),
        (changed(multimodal="yes"), "multimodal is 'yes'"),
        (lambda record: [record], "is no object"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(records, tmp_path, damage, reason):
    (tmp_path / "all_v1.json").write_text(json.dumps([records[1], damage(records[0])]))
    with pytest.raises(ValueError, match=r"all_v1\.json, record 2") as error:
        read(tmp_path)
    assert reason in str(error.value)


def test_load_dataset_shows_the_reason_itself(records, tmp_path, cache):
    (tmp_path / "all_v1.json").write_text(json.dumps([changed(question="")(records[0])]))
    with pytest.raises(ValueError, match=r"all_v1\.json, record 1: question is ''"):
        load(tmp_path, cache)


def test_two_records_of_the_same_question_are_named(records, tmp_path):
    again = {**records[0], "answers": ["Something else."]}
    (tmp_path / "all_v1.json").write_text(json.dumps([records[0], records[1], again]))
    with pytest.raises(ValueError, match="records 1 and 3 have the same id"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('[{"toy_id": ', "not JSON"),
        ('{"metadata": {}}', 'neither a list of records nor an object with "examples"'),
        ("7", "neither a list"),
    ],
)
def test_a_file_that_is_no_list_of_records_is_named(tmp_path, content, reason):
    (tmp_path / "all_v1.json").write_text(content)
    with pytest.raises(ValueError, match=reason) as error:
        read(tmp_path)
    assert "all_v1.json" in str(error.value)


def test_a_table_that_is_none_is_named(tmp_path):
    (tmp_path / "c02c").mkdir()
    (tmp_path / "c02c/test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="not a Parquet file") as error:
        read(tmp_path)
    assert "c02c" in str(error.value)


def test_a_folder_without_questions_says_what_was_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"data/all_v1\.json, \*/test-\*\.parquet"):
        read(tmp_path)


def edge(source, target):
    return lambda graph: graph["edges"].append({"source": source, "target": target})


@pytest.mark.parametrize(
    ("damage", "reasons"),
    [
        (edge("4", "3"), ["toy c02c: edge '3' -> '4' is part of the cycle 3 -> 4 -> 3"]),
        (edge("4", "77"), ["toy c02c: edge '4' -> '77' names '77', which is no step"]),
        (lambda graph: graph.pop("edges"), ["toy c02c", "no 'edges'"]),
        (lambda graph: graph.pop("toy_id"), ["no 'toy_id'"]),
        (lambda graph: graph["nodes"][2].pop("id"), ["no 'id'"]),
    ],
)
def test_a_damaged_graph_is_named(records, graphs, tmp_path, damage, reasons):
    graphs = json.loads(json.dumps(graphs))
    damage(next(graph for graph in graphs if graph["toy_id"] == "c02c"))
    (tmp_path / "qa_excerpt.json").write_text(json.dumps(records))
    (tmp_path / "graph_excerpt.json").write_text(json.dumps(graphs))
    with pytest.raises(ValueError, match=r"graph_excerpt\.json, record 3") as error:
        read(tmp_path)
    assert "qa_excerpt" not in str(error.value)
    assert all(reason in str(error.value) for reason in reasons)


def test_two_graphs_of_one_toy_are_named(records, graphs, tmp_path):
    (tmp_path / "qa_excerpt.json").write_text(json.dumps(records))
    (tmp_path / "graph_excerpt.json").write_text(json.dumps([*graphs, graphs[0]]))
    with pytest.raises(ValueError, match="toy a26 has two graphs"):
        read(tmp_path)


def test_without_graphs_and_annotations_the_text_still_loads(folder, tmp_path, cache):
    shutil.copy(folder / "qa_excerpt.json", tmp_path)
    rows = load(tmp_path, cache)
    assert len(rows) == 45
    assert set(rows["task_graph"]) == {None}
    problems = rows[0]["problems"]
    assert "task graph missing: no graph/all.json" in problems
    assert any(p.startswith(f"performed steps missing: no annots/{SEQUENCE}.csv") for p in problems)


# -- prompt templates -----------------------------------------------------------------------------


@pytest.mark.parametrize("template", ["frames", "text", "no_graph", "video"])
def test_a_prompt_holds_the_question_and_the_graph_where_there_is_one(real, template):
    row = next(row for row in real if row["task_graph"])
    filled = prompts.load_template("promqa_assembly", template).fill(
        question=row["question"], task_graph=row["task_graph"]
    )
    assert filled.endswith(f"Question: {row['question']}\nAnswer:")
    assert (row["task_graph"] in filled) == (template != "no_graph")
    assert ("picture of the toy: its parts" in filled) == (template != "text")
    assert "$" not in filled
