"""Dataset names: found by `load_dataset`, cheap to import, never in the way of others."""

import json
import subprocess
import sys

import datasets
import pytest

import procedural_evals
from procedural_evals import registry


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
