"""What a build rests on: terms of every column, Parquet for the viewer, leaks, task ids."""

import json
import shutil
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

from procedural_evals import folders, registry
from procedural_evals.hub import eval_yaml, leaks, making, parquet, record, row_checks, task_ids
from procedural_evals.hub.licences import Share, terms_for, terms_of
from procedural_evals.hub.portable import portable_features
from procedural_evals.layouts.flatpack_bench import FlatPackLayout
from procedural_evals.layouts.promqa_cooking import PromqaCookingLayout
from procedural_evals.published_rows import with_media

BENCHMARKS = list(registry.benchmarks())


# ---- terms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_column_of_every_benchmark_has_terms(name):
    for config in registry.builder_class(name).BUILDER_CONFIGS:
        builder = registry.load_builder(name, config.name)
        terms = terms_of(name, simulated=config.sample)
        for column in portable_features(builder.info.features):
            assert terms_for(terms, column).statement


@pytest.mark.parametrize("name", BENCHMARKS)
def test_no_recording_of_people_is_passed_on(name):
    assert terms_for(terms_of(name, simulated=False), "video").share is Share.NO
    assert terms_for(terms_of(name, simulated=True), "video").share is Share.YES


def test_terms_may_depend_on_the_source_of_a_row():
    terms = terms_of("procobject-10k", simulated=False)
    assert "YouTube" in terms_for(terms, "video", "COIN").statement
    assert "CDLA" in terms_for(terms, "video", "HoloAssist").statement
    assert terms_for(terms, "video", "NewCorpus").subject == "videos of any other source"
    assert terms_for(terms, "question", "COIN").share is Share.NONCOMMERCIAL


def test_a_benchmark_without_terms_is_not_built():
    with pytest.raises(KeyError, match="state them there"):
        terms_of("new-benchmark", simulated=False)


# ---- where a linked video lies ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["procobject-10k", "promqa-assembly"])
def test_a_builder_finds_the_video_where_it_says_that_it_lies(name, tmp_path):
    shutil.copytree(registry.builder_class(name).sample_folder(), tmp_path / name)
    if name == "promqa-assembly":
        (tmp_path / name / "recordings").rename(tmp_path / "assembly101")
    builder = registry.load_builder(name, "default", str(tmp_path / name))
    builder.download_and_prepare(str(tmp_path / "prepared"))
    for row in builder.as_dataset(split="test").with_format("arrow")[:].to_pylist():
        assert row["video"]["path"] == str(tmp_path / builder.video_file(row))


@pytest.mark.parametrize("variant", ["trimmed", "keyframes"])
def test_furniture_videos_are_found_where_the_builder_says(variant, tmp_path):
    folder = tmp_path / "flatpack-bench"
    folder.symlink_to(registry.builder_class("flatpack-bench").sample_folder())
    builder = registry.load_builder("flatpack-bench", "default")
    for row in FlatPackLayout(folder, variant).rows():
        assert row["video"].path == tmp_path / builder.video_file(row)


def test_a_cooking_video_is_found_where_the_builder_says(tmp_path):
    builder = registry.load_builder("promqa-cooking", "default")
    place = tmp_path / builder.video_file({"sequence": "1_7"})
    place.parent.mkdir(parents=True)
    place.write_bytes(b"film")
    (tmp_path / "promqa-cooking").mkdir()
    for file, content in (("examples.json", []), ("graphs.json", {})):
        (tmp_path / "promqa-cooking" / file).write_text(json.dumps(content))
    found = PromqaCookingLayout(tmp_path / "promqa-cooking").find_recording("1_7")
    assert found.path == place


def test_a_linked_path_that_leaves_the_data_folder_is_not_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"film")
    features = datasets.Features(
        {
            "video": datasets.Video(decode=False),
            "video_file": datasets.Value("string"),
            "problems": datasets.List(datasets.Value("string")),
        }
    )
    row = {"video": [None], "video_file": ["../secret.mp4"], "problems": [["video linked: x"]]}
    rows = datasets.Dataset.from_dict(row, features=features)
    assert with_media(rows, tmp_path / "data")[0]["video"] is None


# ---- Parquet ------------------------------------------------------------------------------------


FEATURES = datasets.Features(
    {
        "id": datasets.Value("string"),
        "video": datasets.Video(decode=False),
        "pictures": datasets.List(datasets.Image(decode=False)),
        "video_file": datasets.Value("string"),
        "question": datasets.Value("string"),
    }
)


def row_of(number, film=b"film", **columns):
    return {
        "id": f"row{number}",
        "video": {"bytes": film, "path": "a.mp4"},
        "pictures": [{"bytes": b"png", "path": None}],
        "video_file": "assembly101/s/v.mp4",
        "question": "What next?",
    } | columns


def written(folder, rows):
    """A record of one split with these rows."""
    with parquet.ShardWriter(folder / "data" / "default", "test", FEATURES) as writer:
        for table, _ in parquet.row_groups(rows, FEATURES):
            writer.write(table)
    files = {str(file.relative_to(folder)): record.file_entry(file) for file in writer.files}
    splits = {"test": {"rows": len(rows), "digest": "", "files": files}}
    configs = {"default": {"default": True, "splits": splits}}
    return record.BuiltDataset(folder, {"name": "promqa-assembly", "configs": configs})


def test_row_groups_stay_small_and_have_a_page_index(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 1_000)
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 4)
    built = written(tmp_path, [row_of(n, bytes(300)) for n in range(7)])
    (file,) = built.files
    metadata = pq.ParquetFile(tmp_path / file).metadata
    sizes = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert sizes == [3, 3, 1]
    columns = [metadata.row_group(0).column(n) for n in range(metadata.num_columns)]
    assert all(column.has_offset_index for column in columns)
    media = {c.path_in_schema: c.compression for c in columns if "bytes" in c.path_in_schema}
    assert set(media.values()) == {"UNCOMPRESSED"}
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 10**9)
    again = written(tmp_path / "more", [row_of(n) for n in range(9)])
    metadata = pq.ParquetFile(tmp_path / "more" / next(iter(again.files))).metadata
    assert [metadata.row_group(n).num_rows for n in range(3)] == [4, 4, 1]


def test_a_large_split_is_several_files_that_say_how_many(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "FILE_BYTES", 1)
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 2)
    built = written(tmp_path, [row_of(n) for n in range(5)])
    names = [Path(file).name for file in built.files]
    assert names == [f"test-0000{n}-of-00003.parquet" for n in range(3)]
    assert pq.read_table(tmp_path / "data")["id"].to_pylist() == [f"row{n}" for n in range(5)]


def test_a_split_without_rows_is_left_out(tmp_path, caplog):
    builder = registry.load_builder("promqa-assembly", "sample")
    builder.download_and_prepare()
    rows = builder.as_dataset(split="test")
    builder.as_dataset = lambda: {"test": rows, "validation": rows.select([])}
    made = making.Making("promqa-assembly", tmp_path, embed_media=False, embed_text=False)
    made.add(builder)
    assert list(made.configs["sample"]["splits"]) == ["test"]
    assert "left out: promqa-assembly sample/validation has no rows" in caplog.text
    builder.as_dataset = lambda: {"test": rows.select([])}
    with pytest.raises(record.BuildError, match="no split has rows"):
        made.add(builder)


def test_media_that_the_viewer_cannot_show_are_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "VIEWER_BYTES", 100)
    with pytest.raises(ValueError, match=r"row 'row1': its media.*--embed-media"):
        written(tmp_path, [row_of(0), row_of(1, bytes(200))])


def test_a_row_group_above_the_viewers_limit_is_found(tmp_path, monkeypatch):
    built = written(tmp_path, [row_of(0, bytes(5_000))])
    monkeypatch.setattr(row_checks, "VIEWER_BYTES", 4_000)
    (problem,) = row_checks.parquet_problems(built)
    assert problem.where == "row group 0"
    assert "more than the viewer's 4,000" in problem.value


# ---- leaks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("question", "see /home/ann/videos/a.mp4", "an absolute path"),
        ("question", r"see C:\Users\ann\a.mp4", "an absolute path"),
        ("question", "use hf_abcdefghijklmnopqrst", "a token of the Hub"),
        ("question", "use sk-proj-abcdefghijklmnop1234", "an API key"),
        ("question", "use AIza" + "b" * 35, "an API key of Google"),
        ("question", "use xoxb-123456789012-abcdef", "a token of Slack"),
        ("question", "at https://ann:secret@example.org/a", "a password in an address"),
        ("question", "at ../../etc/passwd", "a path that leaves the folder"),
        ("video_file", "/v.mp4", "an absolute path"),
        ("video_file", "assembly101/../../v.mp4", "a path that leaves the folder"),
        ("video_file", r"..\v.mp4", "a path that leaves the folder"),
        ("video", {"bytes": b"film", "path": "/v.mp4"}, "an absolute path"),
    ],
)
def test_a_path_or_a_token_in_a_row_is_named(tmp_path, column, value, what):
    built = written(tmp_path, [row_of(0), row_of(1, **{column: value})])
    problems = list(row_checks.parquet_problems(built))
    assert what in {problem.value.partition(":")[0] for problem in problems}
    for problem in problems:
        assert problem.file == "data/default/test-00000-of-00001.parquet"
        assert problem.where.startswith(f"row 1 (id 'row1'), column {column}")
        assert "hf_abcdefghij" not in str(problem)


def test_this_users_folders_and_secrets_are_found_even_in_media(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "not-like-any-other-key")
    film = b"\x00" + str(tmp_path).encode() + b"/a.py\x00not-like-any-other-key"
    built = written(tmp_path, [row_of(0, film)])
    whats = {problem.value for problem in row_checks.parquet_problems(built)}
    assert f"a path in the working directory: {tmp_path}/" in whats
    assert "the value of $OPENAI_API_KEY: (not shown)" in whats


@pytest.mark.parametrize(
    "text",
    [
        "attach cabin and/or chassis w/ screw",
        "1/2 cup, 3/4 tsp",
        "https://huggingface.co/data/usr/x",
        "$PROCEDURAL_EVALS_DATA/flatpack-bench/videos/a.mp4",
        r"F:\Od0E;D<J6H8N2O10O1",  # run lengths of a mask
        "wait... what?",
    ],
)
def test_words_are_no_paths(text):
    assert leaks.Scanner().in_text(text) == []


def test_the_real_annotations_hold_no_leak(shared):
    builder = registry.load_builder(
        "flatpack-bench", "default", str(shared / "data" / "flat-pack-bench")
    )
    scanner = leaks.Scanner()
    layout_rows = [
        json.loads(line)
        for line in (Path(builder.data_folder) / "questions" / "questions.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    assert len(layout_rows) == 602
    assert [leak for row in layout_rows for leak in scanner.in_value(row, "row")] == []


# ---- task ids -----------------------------------------------------------------------------------


def task_file(lmms_task):
    """A task's YAML with what it includes."""
    (file,) = folders.lmms_tasks().glob(f"*/{lmms_task}.yaml")
    content, found = {}, file
    while found is not None:
        loaded = yaml.load(found.read_text(encoding="utf-8"), Loader=_Functions)
        content = loaded | content
        found = found.parent / loaded["include"] if "include" in loaded else None
    return content


class _Functions(yaml.SafeLoader):
    """Names functions instead of importing them."""


_Functions.add_constructor("!function", lambda loader, node: node.value)


@pytest.mark.parametrize("task", task_ids.TASKS, ids=lambda task: task.id)
def test_a_task_id_stands_for_a_number_of_that_task_on_those_rows(task):
    content = task_file(task.lmms_task)
    assert content["dataset_path"] == task.dataset
    assert content["dataset_name"] == task.config
    assert content["test_split"] == task.split
    assert "dataset_kwargs" not in content  # the rows of a configuration, and no others
    assert content["process_docs"]  # where videos of a built dataset are made files
    metrics = {metric["metric"]: metric for metric in content["metric_list"]}
    assert metrics[task.metric]["higher_is_better"]


def test_task_ids_are_there_once():
    ids = [task.id for task in task_ids.TASKS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_configuration_has_a_task_or_is_another_name(name):
    configs = {config.name for config in registry.builder_class(name).BUILDER_CONFIGS}
    used = {task.config for task in task_ids.of_dataset(name)}
    assert configs - used <= ({"sample"} if name == "dyad" else set())


def test_simulated_tasks_stand_on_no_leaderboard_beside_real_ones():
    both = eval_yaml.listed_tasks("promqa-assembly", {"default": ["test"], "sample": ["test"]})
    assert not any(task.simulated for task in both)
    alone = eval_yaml.listed_tasks("promqa-assembly", {"sample": ["test"]})
    assert all(task.simulated for task in alone)
    assert len(alone) == len(both) == 4


def test_what_is_wrong_with_a_benchmark_file_is_said():
    content = {
        "name": "x",
        "tasks": [
            {"id": "a", "config": "default", "split": "train"},
            {"id": "a", "config": "default", "split": "test"},
            {"id": "b", "config": "default"},
        ],
    }
    assert eval_yaml.problems(content, {"default": ["test"]}) == [
        "no description",
        "no evaluation_framework",
        "task 'a': configuration 'default' has no split 'train'; it has test",
        "task 'a': there twice; the Hub has one number a task id",
        "task {'id': 'b', 'config': 'default'}: no split",
    ]
    assert eval_yaml.problems([], {}) == ["not a mapping"]
