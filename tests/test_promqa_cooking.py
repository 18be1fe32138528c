"""ProMQA (cooking) as a dataset: all real questions, recordings, damaged files."""

import json
from collections import Counter

import datasets
import pytest

from procedural_evals import prompts, registry
from procedural_evals.harness import media_check
from procedural_evals.layouts import promqa_cooking as layout
from procedural_evals.task_graph import TaskGraph
from tests.numbered_clips import write_clip

NAME = "promqa-cooking"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data/promqa-cooking"


@pytest.fixture(scope="module")
def records(folder):
    return json.loads((folder / "examples.json").read_text())


@pytest.fixture(scope="module")
def graphs(folder):
    return json.loads((folder / "graphs.json").read_text())


@pytest.fixture(scope="module")
def real(folder, cache):
    return load(folder, cache)


def load(folder, cache, **options):
    return datasets.load_dataset(
        NAME, data_dir=str(folder), cache_dir=cache, split="test", **options
    )


def read(folder):
    """The rows as `load_dataset` gets them, before media are opened; quicker than that."""
    return layout.PromqaCookingLayout(folder).rows()


def write(folder, records, graphs):
    (folder / "examples.json").write_text(json.dumps(records))
    (folder / "graphs.json").write_text(json.dumps(graphs))


def test_all_real_questions(real, records):
    assert len(real) == len(set(real["id"])) == 401
    assert real["id"] == [record["question_id"] for record in records]
    types = Counter(real.features["question_type"].int2str(real["question_type"]))
    assert types == {
        "next": 158, "missing": 148, "timing": 25, "order": 20, "measurement": 17,
        "preparation": 14, "temperature": 10, "technique": 9,
    }  # fmt: skip
    assert len(set(real["sequence"])) == 231
    assert len(set(real["toy"])) == 24
    assert Counter(map(len, real["answers"]))[1] == 205
    for column in ("multimodal", "procedural", "source", "parts_image", "video"):
        assert set(real[column]) == {None}
    assert set(real["clip_start"]) == {0.0}
    assert (min(real["clip_end"]), max(real["clip_end"])) == (7.0, 36 * 60 + 16.0)


def test_the_whole_data_gives_the_published_figures(folder):
    rows = layout.PromqaCookingLayout(folder).rows()
    assert layout.figures(rows)["step dependency"] == 0.775
    assert layout.check_figures(rows) == []
    assert layout.check_figures(rows[1:])[0] == "questions: 400 here, 401 published"


def test_columns_are_those_of_the_sibling(real, tmp_path):
    sibling = registry.builder_class("promqa-assembly")(cache_dir=str(tmp_path)).info.features
    assert list(real.features) == list(sibling)
    for name, feature in real.features.items():
        if name != "question_type":
            assert feature == sibling[name]


def test_graph_columns_say_the_same_in_three_ways(real, graphs):
    for row in real:
        graph = TaskGraph.from_cooking(graphs[row["sequence"].partition("_")[0]])
        assert TaskGraph.from_dot(row["task_graph"]).to_dot() == row["task_graph"] == graph.to_dot()
        assert [tuple(step.values()) for step in row["steps"]] == list(graph.steps)
        assert [tuple(p.values()) for p in row["precedence"]] == list(graph.precedence)
        assert row["toy"] == graph.name.removeprefix("recipe ")


def test_performed_steps_say_what_was_wrong(real, records):
    counted = 0
    for row, record in zip(real, records, strict=True):
        steps = [*record["previous_steps"], record["current_step"]]
        steps = [step for step in steps if step["step_id"] != -1]
        assert [step["label"] for step in row["performed_steps"]] == [
            step["description"] for step in steps
        ]
        for step, upstream in zip(row["performed_steps"], steps, strict=True):
            errors = upstream.get("errors", [])
            assert step["mistake"] == ("mistake" if errors else "correct")
            assert all(error["description"] in step["remark"] for error in errors)
            assert (step["remark"] is None) == (not errors)
            assert step["start"] is step["end"] is None
            counted += len(errors)
    assert counted == 1220
    assert real[0]["performed_steps"][0]["remark"] == (
        "Technique Error: spill some cumin powder; "
        "Order Error: Step performed before whisking curd in the bowl"
    )


def test_where_nothing_was_done_yet_there_are_no_performed_steps(real):
    empty = [row["id"] for row in real if row["performed_steps"] == []]
    assert sorted(empty) == ["12_15_-1_next", "4_35_-1_next", "7_50_-1_next"]


@pytest.mark.parametrize(
    "place",
    [
        "promqa-cooking/17_40.mp4",
        "promqa-cooking/recordings/17_40_360p.mp4",
        "captaincook4d/gopro/resolution_360p/17_40_360p.mp4",
        "captaincook4d/gopro/resolution_4k/17_40_4K.mp4",
        "captaincook4d/resolution_4k/17_40_4K.mp4",
        "captaincook4d/17_40_4K.mp4",
    ],
)
def test_recordings_are_found_where_they_may_lie(records, graphs, tmp_path, cache, place):
    (tmp_path / NAME).mkdir()
    write(tmp_path / NAME, records[:2], graphs)
    assert load(tmp_path / NAME, cache)[0]["video"] is None
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    file = write_clip(tmp_path / place, 3, rate=1)
    first, second = load(tmp_path / NAME, cache)
    assert first["video"]["path"] == str(file)
    assert first["problems"] == []
    assert second["video"] is None
    assert second["problems"][0].startswith("video missing: no ")
    report = media_check.check(NAME, str(tmp_path / NAME), progress=False)
    assert report.present == {"annotations": 1, "task graph": 1, "video": 1}
    assert "CaptainCook4D" in "\n".join(report.lines([]))


def test_the_github_layout_gives_the_same_rows(records, graphs, tmp_path, cache, real):
    (tmp_path / "data").mkdir()
    write(tmp_path / "data", records, graphs)
    rows = load(tmp_path, cache)
    same = [name for name in real.column_names if name != "revision"]
    assert rows.select_columns(same)[:] == real.select_columns(same)[:]


def test_without_data_the_ways_to_get_it_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PROCEDURAL_EVALS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"git clone https://github\.com/kimihiroh/promqa "):
        datasets.load_dataset(NAME, cache_dir=str(tmp_path / "cache"))


def test_a_folder_without_a_file_says_which(records, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no examples\.json or data/examples\.json"):
        read(tmp_path)
    (tmp_path / "examples.json").write_text(json.dumps(records))
    with pytest.raises(FileNotFoundError, match=r"no graphs\.json or data/graphs\.json"):
        read(tmp_path)


def step(**values):
    return lambda record: {**record, "current_step": {**record["current_step"], **values}}


def changed(**values):
    return lambda record: {**record, **values}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda r: {k: v for k, v in r.items() if k != "question_id"}, "no 'question_id'"),
        (changed(end_time="7:53"), "end_time is '7:53'; HH:MM:SS is needed"),
        (changed(end_time="-00:07:53"), "end_time is '-00:07:53'"),
        (changed(end_time="00:07:60"), "end_time is '00:07:60'"),
        (changed(end_time="00:00:00"), "end_time is 0 s"),
        (changed(end_time=473), "end_time is 473"),
        (changed(type="past"), "type is 'past'"),
        (changed(recording_id="99_1"), "activity '99', without a graph"),
        (changed(activity_name="Toast"), "activity_name is 'Toast'"),
        (changed(previous_steps=["whisk"]), "holds something that is no object"),
        (changed(current_step=None), "holds something that is no object"),
        (step(step_id=99), "step 99 is not in the recipe"),
        (step(errors=[{"tag": "Order Error"}]), "no 'description'"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(records, graphs, tmp_path, damage, reason):
    write(tmp_path, [records[1], damage(records[0])], graphs)
    with pytest.raises(ValueError, match=r"examples\.json, record 2") as error:
        read(tmp_path)
    assert reason in str(error.value)


def test_load_dataset_shows_the_reason_itself(records, graphs, tmp_path, cache):
    write(tmp_path, [changed(type="past")(records[0])], graphs)
    with pytest.raises(ValueError, match=r"examples\.json, record 1: type is 'past'"):
        load(tmp_path, cache)


def test_two_questions_with_one_id_are_named(records, graphs, tmp_path):
    write(tmp_path, [*records[:2], records[0]], graphs)
    with pytest.raises(ValueError, match="records 1 and 3 have the same id '17_40_5_next'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("edge", "reason"),
    [
        (["2", "2"], "recipe Microwave Egg Sandwich: edge '2' -> '2' is part of the cycle"),
        (["2", "77"], "recipe Microwave Egg Sandwich: edge '2' -> '77' names '77'"),
    ],
)
def test_a_damaged_graph_is_named(records, graphs, tmp_path, edge, reason):
    graphs = json.loads(json.dumps(graphs))
    graphs["1"]["edges"].append(edge)
    write(tmp_path, records, graphs)
    with pytest.raises(ValueError, match=r"graphs\.json, record 1") as error:
        read(tmp_path)
    assert reason in str(error.value)


def test_bad_json_is_named(records, tmp_path):
    write(tmp_path, records, [])
    with pytest.raises(ValueError, match=r"graphs\.json: no object of activity id"):
        read(tmp_path)
    (tmp_path / "graphs.json").write_text("{")
    with pytest.raises(ValueError, match=r"graphs\.json: not JSON"):
        read(tmp_path)


@pytest.mark.parametrize("template", ["frames", "text"])
def test_a_prompt_holds_the_question_and_the_recipe(real, template):
    row = real[0]
    filled = prompts.load_template("promqa_cooking", template).fill(
        question=row["question"], task_graph=row["task_graph"]
    )
    assert row["task_graph"] in filled
    assert filled.endswith(f"Question: {row['question']}\nAnswer:")
    assert ("frames taken from the recording" in filled) == (template == "frames")
