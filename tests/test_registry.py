"""Dataset names: found by `load_dataset`, cheap to import, never in the way of others."""

import json
import subprocess
import sys

import datasets
import pytest

import procedural_evals
from procedural_evals import registry, sources


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, **options
    ).stdout.strip()


def test_importing_the_package_imports_nothing_heavy():
    loaded = python(
        "import sys, procedural_evals; print([m for m in ('datasets', 'torch', 'numpy', 'av',"
        " 'lmms_eval', 'huggingface_hub') if m in sys.modules])"
    )
    assert loaded == "[]"


@pytest.mark.parametrize(
    "order", [("procedural_evals", "datasets"), ("datasets", "procedural_evals")]
)
def test_the_names_work_whichever_is_imported_first(order):
    config = python(
        f"import {order[0]}, {order[1]}, datasets;"
        "print(datasets.get_dataset_config_names('flatpack-bench'))"
    )
    assert "'sample'" in config
    assert "'keyframes'" in config


def test_registering_again_changes_nothing():
    import datasets.load

    before = datasets.load.dataset_module_factory
    procedural_evals.registry.register()
    assert datasets.load.dataset_module_factory is before


def test_a_local_folder_of_that_name_wins(tmp_path, monkeypatch):
    folder = tmp_path / "flatpack-bench"
    folder.mkdir()
    (folder / "data.jsonl").write_text(json.dumps({"mine": 1}) + "\n")
    monkeypatch.chdir(tmp_path)
    rows = datasets.load_dataset("flatpack-bench", split="train", cache_dir=str(tmp_path / "cache"))
    assert rows[0] == {"mine": 1}


def test_other_names_go_to_the_library(tmp_path):
    (tmp_path / "data.csv").write_text("a\n1\n")
    rows = datasets.load_dataset(
        "csv", data_files=str(tmp_path / "data.csv"), split="train", cache_dir=str(tmp_path / "c")
    )
    assert rows[0] == {"a": 1}


def test_an_unknown_benchmark_is_named_with_the_known_ones():
    with pytest.raises(KeyError, match="flatpack-bench"):
        registry.builder_class("flatpack")


BENCHMARKS = sorted(set(registry.benchmarks()) - {"promqa-cooking"})


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_layout_is_known_by_its_files_and_no_other_folder_is(name, tmp_path):
    builder = registry.builder_class(name)
    assert builder.recognises(builder.sample_folder())
    assert not builder.recognises(tmp_path)
    others = (registry.builder_class(other) for other in BENCHMARKS if other != name)
    assert not any(other.recognises(builder.sample_folder()) for other in others)


def test_the_published_files_are_known(shared):
    for name, folder in {
        "flatpack-bench": "flat-pack-bench",
        "procobject-10k": "procobject-10k",
        "promqa-assembly": "promqa-assembly",
        "promqa-cooking": "promqa-cooking",
    }.items():
        assert registry.builder_class(name).recognises(shared / "data" / folder)


@pytest.fixture
def data_root(tmp_path, monkeypatch):
    """The working directory, with two questions in the layout of Flat-Pack Bench."""
    monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
    sample = registry.builder_class("flatpack-bench").sample_folder()
    questions = tmp_path / "root" / "flatpack-bench" / "questions"
    questions.mkdir(parents=True)
    lines = (sample / "questions/questions.jsonl").read_text().splitlines()[:2]
    (questions / "questions.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path / "root")
    return tmp_path / "root"


def load(name, *config, cache, **options):
    return datasets.load_dataset(name, *config, split="test", cache_dir=str(cache), **options)


def test_a_local_folder_in_the_authors_layout_is_read_by_our_builder(data_root, tmp_path):
    cache = tmp_path / "cache"
    assert len(load("flatpack-bench", cache=cache)) == 2
    sample = load("flatpack-bench", "sample", cache=cache)
    assert len(sample) > 2
    assert len(load("flatpack-bench", sample=True, cache=cache)) == len(sample)


def test_what_was_found_is_not_refused_with_the_sample_but_what_was_given_is(
    data_root, tmp_path, monkeypatch
):
    cache = tmp_path / "cache"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(sources.DATA_VARIABLE, str(data_root))
    assert len(load("flatpack-bench", cache=cache)) == 2
    assert len(load("flatpack-bench", "sample", cache=cache)) > 2
    given = {"data_dir": str(data_root / "flatpack-bench"), "cache": cache}
    assert len(load("flatpack-bench", **given)) == 2
    for arguments in ((("sample",), {}), ((), {"sample": True})):
        with pytest.raises(ValueError, match=r"data_dir='.*' was given with the embedded sample"):
            load("flatpack-bench", *arguments[0], **arguments[1], **given)


def test_what_is_found_elsewhere_is_no_other_sample(data_root, tmp_path, monkeypatch):
    builder = registry.builder_class("flatpack-bench")
    ids = {
        builder(config_name=config, found=found, cache_dir=str(tmp_path)).config_id
        for config in ("sample", "default")
        for found in (None, "/a", "/b")
    }
    assert len(ids) == 4
