"""The wheel, in an environment without the checkout, finds its tasks, metrics, builders, sample."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from .conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            str(folder),
            str(source),
        ],
        check=True,
    )
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory):
    """A Python with the wheel and this environment's dependencies, but not its checkout."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
    )
    # Paths in a .pth file are added without reading the .pth files there: no editable checkout.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(site),
            wheel,
        ],
        check=True,
    )
    return python


def in_clean(python, tmp_path, *arguments):
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PROCEDURAL"))}
    variables |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [python, *arguments],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_shells_and_no_rubbish(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "procedural_evals/py.typed",
        "procedural_evals/dataset_scripts/flatpack_bench/flatpack_bench.py",
        "procedural_evals/dataset_scripts/flatpack_bench/sample/questions/questions.jsonl",
        "procedural_evals/lmms_tasks/flatpack_bench/_base",
        "procedural_evals/metrics/multiple_choice_accuracy/multiple_choice_accuracy.py",
    ):
        assert wanted in names
    assert not [name for name in names if name.endswith(".pyc") or name.startswith("tests/")]


def test_it_loads_its_sample(clean_python, tmp_path):
    out = in_clean(
        clean_python,
        tmp_path,
        "-c",
        "import procedural_evals, datasets;"
        "print(procedural_evals.__file__);"
        "print(len(datasets.load_dataset('flatpack-bench', 'sample', split='test')))",
    )
    assert str(ROOT) not in out
    assert int(out.split()[-1]) >= 60


def test_a_checkout_works_where_the_package_is_installed(clean_python, tmp_path):
    """The working directory comes first: the checkout's own shells are beside its package."""
    for name in ("procedural_evals", "dataset_scripts", "lmms_tasks", "model_cards", "metrics"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "sample")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    out = in_clean(
        clean_python,
        tmp_path,
        "-c",
        "import procedural_evals; from procedural_evals import folders, registry;"
        "print(procedural_evals.__file__); registry.builder_class('flatpack-bench');"
        "[print(f()) for f in (folders.dataset_scripts, folders.lmms_tasks, folders.model_cards)]",
    )
    assert [line for line in out.splitlines() if not line.startswith(str(tmp_path))] == []


def test_it_loads_its_metrics(clean_python, tmp_path):
    out = in_clean(
        clean_python,
        tmp_path,
        "-c",
        "import evaluate; from procedural_evals import folders;"
        "files = sorted(p for p in folders.metrics().glob('*/*.py') if p.stem == p.parent.name);"
        "[evaluate.load(str(file.parent)) for file in files]; print([f.stem for f in files])",
    )
    assert "multiple_choice_accuracy" in out


def test_lmms_eval_finds_its_tasks_and_models(clean_python, tmp_path):
    out = in_clean(
        clean_python,
        tmp_path,
        "-m",
        "lmms_eval",
        "--model",
        "procedural_baseline",
        "--model_args",
        "policy=oracle",
        "--tasks",
        "flatpack_bench_blind_sample",
        "--limit",
        "2",
        "--output_path",
        "out",
    )
    assert list(tmp_path.glob("out/**/*_results.json")), out
