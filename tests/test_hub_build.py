"""`upload.py build`: a folder that is a whole dataset repository, checked before it appears."""

import hashlib
import json
import runpy
import shutil
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard, HfApi
from huggingface_hub.errors import HfHubHTTPError

import procedural_evals  # noqa: F401  (its names are used)
from procedural_evals import folders, registry, sources
from procedural_evals.harness import media_check
from procedural_evals.harness.judging import JUDGE_VARIABLE
from procedural_evals.hub import build, cli, making, record, validate
from procedural_evals.hub.claims import dataset_rows
from procedural_evals.hub.record import BuildError
from procedural_evals.hub.reload import digest_of
from procedural_evals.published_rows import with_media

NAME = "promqa-assembly"


def sample_of(name):
    return registry.builder_class(name).sample_folder()


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sample, built by the command, in a folder of its own."""
    out = tmp_path_factory.mktemp("built")
    assert cli.main(["build", NAME, "--config", "sample", "--out", str(out)]) == 0
    return record.load(out / NAME)


@pytest.fixture
def copy(built, tmp_path):
    """A copy of the built folder, to be spoilt."""
    shutil.copytree(built.folder, tmp_path / NAME)
    return record.load(tmp_path / NAME)


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)


def stored(rows):
    return rows.with_format("arrow")[:].to_pylist()


def test_the_folder_has_the_rows_of_the_builder_and_their_media(built, tmp_path):
    ours = datasets.load_dataset(NAME, "sample", split="test")
    rows = datasets.load_dataset(str(built.folder), "sample", split="test", cache_dir=str(tmp_path))
    assert rows.column_names == [
        column
        for name in ours.column_names
        for column in [name, *["video_file"] * (name == "video")]
    ]
    for row, original in zip(stored(rows), stored(ours), strict=True):
        for column in ("video", "parts_image"):
            content = row.pop(column)
            file = Path(original.pop(column)["path"])
            assert content == {"bytes": file.read_bytes(), "path": file.name}
        place = row.pop("video_file")
        assert place == f"assembly101/{row['sequence']}/{row['view']}.mp4"
        assert row == original


def test_a_video_that_many_rows_share_is_stored_once(built):
    (file,) = built.files
    table = pq.read_table(built.folder / file)
    videos = [video["bytes"] for video in table["video"].to_pylist()]
    pictures = {each["bytes"] for each in table["parts_image"].to_pylist()}
    assert len(videos) > len(set(videos))
    once = sum(map(len, set(videos))) + sum(map(len, pictures))
    assert built.files[file]["bytes"] < once + 100_000


def test_it_loads_by_its_bare_name_from_the_folder_it_stands_in(built, tmp_path, monkeypatch):
    monkeypatch.chdir(built.folder.parent)
    rows = datasets.load_dataset(NAME, split="test", cache_dir=str(tmp_path))
    assert "video_file" in rows.column_names
    assert rows[0]["video"]["bytes"] is not None


def test_a_built_folder_does_not_stop_its_own_builder(built, monkeypatch):
    monkeypatch.chdir(built.folder.parent)
    assert registry.load_builder(NAME, "sample").config.sample


def test_a_built_folder_among_the_authors_files_is_told_from_them(built, monkeypatch):
    monkeypatch.setenv(sources.DATA_VARIABLE, str(built.folder.parent))
    with pytest.raises(sources.SourceNotFoundError) as error:
        datasets.load_dataset(NAME, split="test")
    assert "holds a dataset that `upload.py build` made (build.json)" in str(error.value)
    assert f'load_dataset("{built.folder}")' in str(error.value)
    assert len(datasets.load_dataset(NAME, "sample", split="test")) == 30
    with pytest.raises(sources.SourceNotFoundError, match=r"build\.json"):
        media_check.check(NAME)


def test_a_run_on_a_built_folder_is_checked_against_it(built, monkeypatch):
    monkeypatch.chdir(built.folder.parent)
    rows, problem = dataset_rows("promqa_assembly_text_sample", ("C10095_rgb",))
    assert (rows is not None and len(rows), problem) == (30, "")


def test_a_task_reads_the_videos_of_a_built_dataset(built, tmp_path, monkeypatch):
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(JUDGE_VARIABLE, "lexical")
    monkeypatch.chdir(built.folder.parent)
    rows = datasets.load_dataset(NAME, split="test", cache_dir=str(tmp_path))
    utils = runpy.run_path(str(folders.lmms_tasks() / "promqa_assembly" / "utils.py"))
    read = utils["require_judge"](rows)
    assert read.features == rows.features
    for row, embedded in zip(stored(read), stored(rows), strict=True):
        video = row.pop("video")
        assert video["bytes"] is None
        assert Path(video["path"]).read_bytes() == embedded.pop("video")["bytes"]
        assert row == embedded
    videos = {each["path"] for each in read["video"]}
    assert {str(file) for file in (tmp_path / "cache" / "videos").iterdir()} == videos
    (message,) = utils["frames_messages"](read[0])
    assert sum(each["type"] == "image" for each in message["content"]) == 21  # and the parts


@pytest.mark.parametrize("name", registry.benchmarks())
def test_no_built_folder_is_taken_for_an_upstream_layout(name, tmp_path):
    for config in registry.builder_class(name).BUILDER_CONFIGS:
        (tmp_path / "data" / config.name).mkdir(parents=True)
        (tmp_path / "data" / config.name / "test-00000-of-00001.parquet").touch()
    for file in ("README.md", "eval.yaml", "build.json"):
        (tmp_path / file).touch()
    assert not registry.builder_class(name).recognises(tmp_path)


def test_the_card_is_what_the_hub_reads(built):
    card = DatasetCard.load(built.folder / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data["configs"] == [
        {
            "config_name": "sample",
            "data_files": [{"split": "test", "path": "data/sample/test-*.parquet"}],
            "default": True,
        }
    ]
    assert card.data["dataset_info"]["splits"][0]["num_examples"] == 30
    assert "**Not real video.**" in card.text
    assert "@misc{hasegawa2025promqaassembly" in card.text


def test_the_benchmark_lists_tasks_whose_rows_are_there(built):
    content = yaml.safe_load((built.folder / "eval.yaml").read_text(encoding="utf-8"))
    assert content["evaluation_framework"] == "lmms-eval"
    assert content["tasks"][0] == {
        "id": "promqa_assembly_sample",
        "config": "sample",
        "split": "test",
    }
    assert {task["config"] for task in content["tasks"]} == {"sample"}


def test_a_sample_may_be_made_public(built):
    assert built.restricted == []
    built.require_public()


# ---- media and text that may not be passed on ---------------------------------------------------


def test_media_that_may_not_be_passed_on_are_linked(tmp_path, no_data):
    root = tmp_path / "data"
    root.mkdir()
    (root / "flatpack-bench").symlink_to(sample_of("flatpack-bench"))
    made = build.build(
        "flatpack-bench",
        tmp_path,
        configs=["default"],
        data_dir=str(root / "flatpack-bench"),
    )
    rows = datasets.load_dataset(str(made.folder), split="test", cache_dir=str(tmp_path / "cache"))
    assert set(map(str, rows["visual_prompts"])) == {"None"}
    assert set(map(str, rows["video"])) == {"None"}
    assert made.restricted == []
    assert made.record["configs"]["default"]["linked"] == {"video": 72, "visual_prompts": 72}
    assert rows[0]["problems"] == [
        f"video linked: it may not be passed on; it belongs at "
        f"$PROCEDURAL_EVALS_DATA/{rows[0]['video_file']}",
        "visual prompt linked: it may not be passed on (see the dataset's card)",
    ]
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "Copyright (c) 2026 Aditya Chetan" in card
    assert "hf download justachetan/flat-pack-bench" in card
    assert str(tmp_path) not in card

    found = with_media(rows, root)
    assert found.features == rows.features
    assert [row["video"]["path"] for row in found] == [
        str(root / file) for file in rows["video_file"]
    ]
    assert found[0]["problems"] == rows[0]["problems"][1:]
    assert with_media(rows, tmp_path / "elsewhere")[0]["problems"] == rows[0]["problems"]


def test_a_copy_of_ones_own_says_so_and_is_never_public(tmp_path, no_data):
    made = build.build(
        NAME,
        tmp_path,
        configs=["default"],
        data_dir=str(sample_of(NAME)),
        embed_media=True,
        embed_text=True,
    )
    assert [line.partition(" (")[0] for line in made.restricted] == [
        "default: question, answers",
        "default: video",
    ]
    assert made.record["embed_media"]
    emptied = record.BuiltDataset(made.folder, {**made.record, "restricted": []})
    assert emptied.restricted == made.restricted
    with pytest.raises(BuildError, match=r"may not be made public.*--embed-media"):
        made.require_public()
    assert "**Not for the public.**" in (made.folder / "README.md").read_text(encoding="utf-8")
    licences = DatasetCard.load(made.folder / "README.md").data.license
    assert licences == ["cc-by-nc-4.0", "other"]


def test_text_that_may_not_be_passed_on_is_refused(tmp_path, no_data):
    with pytest.raises(BuildError, match=r"question, answers.*OpenAI's terms.*--embed-text"):
        build.build(NAME, tmp_path, configs=["default"], data_dir=str(sample_of(NAME)))
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_named_and_may_not_be_passed_on_is_left_out(
    tmp_path, no_data, caplog, monkeypatch
):
    # Of the configurations that are built when none is named, this one: the samples may go out.
    monkeypatch.setattr(build, "_distinct", lambda known: [c for c in known if c.name == "mode"])
    shutil.copytree(sample_of("dyad"), tmp_path / "dyad")
    with pytest.raises(BuildError, match="nothing is left"):
        build.build("dyad", tmp_path / "out", data_dir=str(tmp_path / "dyad"))
    assert "left out: dyad mode: text that may not be passed on" in caplog.text


def test_a_path_in_the_annotations_that_leaves_the_folder_is_named(tmp_path, no_data):
    folder = tmp_path / "procobject"
    shutil.copytree(sample_of("procobject-10k"), folder)
    file = folder / "data" / "testing.json"
    content = file.read_text(encoding="utf-8")
    first = json.loads(content)[0]["video_path"]
    file.write_text(content.replace(first, "../../secret.mp4"), encoding="utf-8")
    with pytest.raises(validate.InvalidFolderError) as error:
        build.build("procobject-10k", tmp_path / "out", configs=["default"], data_dir=str(folder))
    (line, *_) = [line for line in str(error.value).splitlines() if "video_file" in line]
    assert "data/default/test-00000-of-00001.parquet, row 0 (id '" in line
    assert "a path that leaves the folder: procobject-10k/videos/../../secret.mp4" in line
    assert str(tmp_path / "procobject") not in str(error.value)
    assert list((tmp_path / "out").iterdir()) == []


# ---- half folders, and folders that are there already -------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_an_interrupted_build_leaves_nothing(tmp_path, monkeypatch, error):
    def interrupted(self, framework):
        raise error

    monkeypatch.setattr(making.Making, "finish", interrupted)
    with pytest.raises((KeyboardInterrupt, OSError)):
        build.build(NAME, tmp_path / "out", configs=["sample"])
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_is_there_is_not_overwritten_by_itself(copy):
    out = copy.folder.parent
    with pytest.raises(FileExistsError, match="--overwrite"):
        build.build(NAME, out, configs=["sample"])
    (copy.folder / "build.json").unlink()
    with pytest.raises(FileExistsError, match="no build made it"):
        build.build(NAME, out, configs=["sample"], overwrite=True)


def test_nothing_is_built_where_the_authors_files_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path))
    with pytest.raises(BuildError, match=r"authors' files.*--out"):
        build.build(NAME, tmp_path / "." / "", configs=["sample"])


def test_a_build_is_replaced_whole(copy, monkeypatch):
    monkeypatch.setattr(validate, "require_valid", lambda *arguments: None)
    (copy.folder / "old").touch()
    build.build(NAME, copy.folder.parent, configs=["sample"], overwrite=True)
    assert not (copy.folder / "old").exists()
    assert [path.name for path in copy.folder.parent.iterdir()] == [NAME]


def test_two_builds_of_the_same_rows_are_the_same_files(built, tmp_path, monkeypatch):
    monkeypatch.setattr(validate, "require_valid", lambda *arguments: None)
    again = build.build(NAME, tmp_path, configs=["sample"])
    assert again.record == built.record
    for file in ("README.md", "eval.yaml"):
        assert (again.folder / file).read_bytes() == (built.folder / file).read_bytes()


def test_unknown_names_and_missing_files_are_told(tmp_path, no_data, capsys):
    assert cli.main(["build", "flatpack", "--out", str(tmp_path)]) == 2
    assert "flatpack-bench" in capsys.readouterr().err
    assert cli.main(["build", NAME, "--config", "samples", "--out", str(tmp_path)]) == 2
    assert "samples" in capsys.readouterr().err
    sample = ["build", NAME, "--config", "sample", "--out", str(tmp_path)]
    assert cli.main([*sample, "--data-dir", str(sample_of(NAME))]) == 2
    assert "leave out data_dir" in capsys.readouterr().err
    assert cli.main(["build", "promqa-cooking", "--out", str(tmp_path)]) == 2
    assert "git clone https://github.com/kimihiroh/promqa" in capsys.readouterr().err
    assert cli.main(["build", NAME, "--out", str(tmp_path), "--data-dir", "no/such"]) == 2
    assert "data_dir='no/such' is not a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_the_files_of_any_configuration_is_not_passed_over_for_the_sample(
    tmp_path, no_data, capsys, monkeypatch
):
    monkeypatch.setattr(making.Making, "add", lambda *_, **__: None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "out").mkdir()
    given = ["--out", str(tmp_path / "out"), "--data-dir", str(tmp_path / "mine")]
    assert cli.main(["build", NAME, *given]) == 2
    assert "holds the files of no configuration" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path, capsys):
    (tmp_path / "notes").touch()
    assert cli.main(["build", NAME, "--out", str(tmp_path / "notes" / "built")]) == 2
    assert f"{tmp_path / 'notes'} is a file" in capsys.readouterr().err


def test_rows_that_are_not_on_this_machine_are_told_in_a_line(tmp_path, no_data, monkeypatch):
    def cut(*args, **kwargs):
        raise HfHubHTTPError.__bases__[0]("Name or service not known")

    monkeypatch.setattr(HfApi, "dataset_info", cut)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sources.SourceNotFoundError, match="Name or service not known"):
        sources.resolve(NAME, registry.builder_class(NAME).HUB_REPOS)
    assert dataset_rows("flatpack_bench") == (
        None,
        "rows of flatpack-bench not found: set $PROCEDURAL_EVALS_DATA as for the run; "
        "`procedural-evals check-data flatpack-bench` says what is missing",
    )


def test_rows_that_cannot_be_made_are_told_with_their_cause(tmp_path, no_data, monkeypatch, capsys):
    def broken(self, rows, revision):
        raise ValueError("parts/c02c-all.png: no picture")
        yield

    monkeypatch.setattr(registry.builder_class(NAME), "_generate_examples", broken)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    assert cli.main(["build", NAME, "--config", "sample", "--out", str(tmp_path / "out")]) == 2
    assert "promqa-assembly sample: parts/c02c-all.png: no picture" in capsys.readouterr().err


# ---- what is found in a folder that was tampered with -------------------------------------------


def shown(folder):
    return [str(problem) for problem in validate.problems(folder)]


def test_changed_missing_linked_and_foreign_files_are_found(copy):
    (file,) = copy.files
    content = (copy.folder / file).read_bytes()
    (copy.folder / file).write_bytes(content + b"x")
    (copy.folder / ".env").write_text("SECRET=1")
    (copy.folder / "passwords").symlink_to("/etc/passwd")
    (copy.folder / "README.md").unlink()
    found = "\n".join(shown(copy.folder))
    assert f"{file}: not the bytes of build.json. It was changed: build the folder again" in found
    assert ".env: no file of the build. Move it away: all here is published" in found
    assert "passwords: a link to /etc/passwd" in found
    assert "README.md: the file is missing" in found


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("num_examples: 30", "num_examples: 31", "31 rows in test, where there are 30"),
        ("path: data/sample/test-*", "path: data/test-*", "'data/test-*.parquet' matches []"),
        ("license: apache-2.0\n", "", "YAML, license: there is none"),
        ("  - name: toy\n", "  - name: toys\n", "columns ['toy', 'toys'] differ"),
        ("pretty_name:", "pretty_name: [", "YAML: it cannot be read"),
    ],
)
def test_a_card_that_does_not_fit_its_files_is_found(copy, old, new, problem):
    file = copy.folder / "README.md"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    (found,) = shown(copy.folder)
    assert found.startswith("README.md, YAML")
    assert problem in found


def test_a_folder_is_checked_wherever_it_stands(built, tmp_path):
    odd = tmp_path / "büilt [1] *"
    shutil.copytree(built.folder, odd / "first")
    (odd / NAME).symlink_to("first", target_is_directory=True)
    assert validate.problems(odd / NAME) == []


def test_rows_that_load_otherwise_are_named(copy):
    (file,) = copy.files
    parquet = pq.ParquetFile(copy.folder / file)
    rows = parquet.read().to_pylist()
    right = {"sample": {"test": [digest_of(row) for row in rows]}}
    rows[7]["question"] += "!"
    table = (
        pq.read_table(copy.folder / file)
        .schema.empty_table()
        .from_pylist(rows, schema=parquet.schema_arrow)
    )
    pq.write_table(table, copy.folder / file)
    content = json.loads((copy.folder / "build.json").read_text(encoding="utf-8"))
    content["configs"]["sample"]["splits"]["test"]["files"][file] = {
        "bytes": (copy.folder / file).stat().st_size,
        "sha256": hashlib.sha256((copy.folder / file).read_bytes()).hexdigest(),
    }
    (copy.folder / "build.json").write_text(json.dumps(content), encoding="utf-8")
    (found,) = validate.problems(copy.folder, right)
    assert str(found) == (
        f"{file}, sample, split test: it loads with other rows: row 7 differs. Build again"
    )


_RECORD = '{"format": 1, "name": "a", "terms": [], "restricted": [], "configs": '


@pytest.mark.parametrize(
    "content",
    [
        "{",
        '{"format": 2, "name": "a"}',
        "[]",
        _RECORD + "[]}",
        _RECORD + '{"a": {}}}',
        _RECORD + '{"a": {"splits": {"test": {"files": {"data/x.parquet": 1}}}}}}',
    ],
)
def test_a_folder_without_a_readable_record_is_refused(tmp_path, content):
    with pytest.raises(BuildError, match=r"no build\.json"):
        validate.problems(tmp_path)
    (tmp_path / "build.json").write_text(content)
    with pytest.raises(BuildError, match="build it again"):
        validate.problems(tmp_path)
