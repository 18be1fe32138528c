"""`upload.py` from build to load_dataset, against a Hub on this machine."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest
from huggingface_hub import constants

from procedural_evals import registry
from procedural_evals.hub import cli, record, validate
from tests import hub_server

ROOT = Path(__file__).resolve().parent.parent
NAME = "promqa-assembly"

_LOAD = """
import sys
from datasets import load_dataset
load_dataset(sys.argv[1], split="test").save_to_disk(sys.argv[2])
assert not any(name.startswith("procedural_evals") for name in sys.modules)
"""


def _run(
    variables: Mapping[str, str], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=dict(variables), capture_output=True, text=True, check=False
    )


def _plain(rows: datasets.Dataset) -> list[dict[str, Any]]:
    """Rows whose media are the hashes of their bytes, wherever these are."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"bytes", "path"}:
            content = value["bytes"] or Path(value["path"]).read_bytes()
            return hashlib.sha256(content).hexdigest()
        return value

    table = rows.with_format("arrow")[:].to_pylist()
    return [{name: plain(value) for name, value in row.items()} for row in table]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The folder of a data set without configurations, whose text may not be passed on."""
    folder = tmp_path / "built" / NAME
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("---\nlicense: other\n---\n")
    content = {"format": record.FORMAT, "name": NAME, "configs": {}, "terms": []}
    record.write(record.BuiltDataset(folder, {**content, "restricted": ["questions: no licence"]}))
    return folder


@pytest.fixture
def own_hub(hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch) -> hub_server.Hub:
    """The Hub that commands in the test's own process find, with the token of a member of ORG."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    return hub


@pytest.mark.slow
def test_what_was_pushed_is_what_load_dataset_gives(hub: hub_server.Hub, tmp_path: Path) -> None:
    variables = hub.environment(tmp_path / "home")
    variables.pop("PROCEDURAL_EVALS_DATA", None)  # the sample alone
    pushed = _run(
        variables, tmp_path, str(ROOT / "upload.py"), "push", "datasets", NAME,
        "--namespace", "ORG", "--build-dir", str(tmp_path / "built"),
    )  # fmt: skip
    assert pushed.returncode == 0, pushed.stderr
    assert f"dataset ORG/{NAME}: new, private" in pushed.stdout
    assert f"private, {hub.url}/datasets/ORG/{NAME}/tree/" in pushed.stdout
    repository = hub.repository("dataset", f"ORG/{NAME}")
    assert repository.private
    assert {"README.md", "build.json", "eval.yaml"} < set(repository.files())

    clean = hub.environment(tmp_path / "clean")
    loaded = _run(clean, tmp_path, "-c", _LOAD, f"ORG/{NAME}", str(tmp_path / "loaded"))
    assert loaded.returncode == 0, loaded.stderr
    theirs = datasets.load_from_disk(str(tmp_path / "loaded"))
    builder = registry.load_builder(NAME, "sample")
    builder.download_and_prepare()
    ours = builder.as_dataset("test")
    shared = [name for name in ours.column_names if name != "video"]  # see `upload.py build`
    assert set(shared) < set(theirs.column_names)
    assert theirs.select_columns(shared).features == ours.select_columns(shared).features
    assert _plain(theirs.select_columns(shared)) == _plain(ours.select_columns(shared))


class TestDatasets:
    """`push datasets` with a folder that was built before."""

    def test_text_that_may_not_be_passed_on_is_never_public(
        self,
        own_hub: hub_server.Hub,
        built: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(validate, "require_valid", record.load)  # has tests of its own
        arguments = ["push", "datasets", NAME, "--namespace", "ORG", "--build-dir"]
        assert cli.main([*arguments, str(built.parent), "--public"]) == 2
        assert "may not be public: questions: no licence" in capsys.readouterr().err
        assert own_hub.names("dataset") == []
        assert cli.main([*arguments, str(built.parent)]) == 0
        assert own_hub.repository("dataset", f"ORG/{NAME}").private

    def test_a_changed_folder_is_not_pushed(
        self, own_hub: hub_server.Hub, built: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (built / "notes.txt").write_text("mine")
        arguments = ["push", "datasets", NAME, "--namespace", "ORG", "--build-dir"]
        assert cli.main([*arguments, str(built.parent)]) == 2
        assert "notes.txt: no file of the build" in capsys.readouterr().err
        assert own_hub.names("dataset") == []


def test_without_a_token_nothing_is_built(
    own_hub: hub_server.Hub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("procedural_evals.hub.tokens.get_token", lambda: None)
    arguments = ["push", "datasets", NAME, "--namespace", "ORG", "--build-dir", str(tmp_path)]
    assert cli.main(arguments) == 2
    assert "upload.py push: there is no token" in capsys.readouterr().err
    assert not list(tmp_path.glob("promqa*"))


def test_a_dry_run_says_what_it_has_built_here(
    own_hub: hub_server.Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["push", "metrics", "distinct_n", "--namespace", "ORG", "--build-dir"]
    assert cli.main([*arguments, str(tmp_path), "--dry-run"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    folder = tmp_path / "metrics" / "distinct_n"
    assert last == (f"  dry run: nothing was changed on the Hub; built {folder} (on this machine)")
    assert folder.is_dir()
    assert own_hub.names("space") == []


def test_a_push_has_one_line_a_repository_and_ends_with_what_was_pushed(
    own_hub: hub_server.Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["push", "metrics", "distinct_n", "macro_f1", "--namespace", "ORG", "--build-dir"]
    assert cli.main([*arguments, str(tmp_path)]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "pushed space ORG/distinct_n, space ORG/macro_f1; 0 of 2 needed no commit"
    assert cli.main([*arguments, str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("space ORG/distinct_n: private; 0 to upload (0 B), ")
    assert lines[2] == "already up to date; 2 of 2 needed no commit"


def test_the_commands_of_an_installed_package() -> None:
    shown = _run({}, ROOT, "-m", "procedural_evals.hub", "--help")
    assert shown.returncode == 0
    for name in ("build", "push", "submit"):
        assert f"    {name} " in shown.stdout


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["datasets", "dyad", "--namespace", "ORG"], ["dyad"]),
        (["datasets", "--namespace", "ORG", "dyad"], ["dyad"]),
        (["datasets", "dyad", "--namespace", "ORG", "--dry-run", "dyad", "x"], ["dyad", "x"]),
        (["--namespace", "ORG", "datasets"], []),
    ],
)
def test_names_stand_before_and_after_the_options_and_count_once(
    own_hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch, words: list[str], names: list[str]
) -> None:
    from procedural_evals.hub import targets

    found: list[list[str]] = []
    monkeypatch.setattr(targets, "datasets", lambda given, *_, **__: found.append(given) or [])
    assert cli.main(["push", *words]) == 0
    assert found == [names]


def test_an_unknown_option_is_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["push", "datasets", "--namespace", "ORG", "--privat", "dyad"])
    assert "unrecognized arguments: --privat dyad" in capsys.readouterr().err


def test_a_folder_of_another_dataset_is_not_pushed_under_a_wrong_name(
    own_hub: hub_server.Hub,
    built: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validate, "require_valid", record.load)
    folder = built.rename(built.with_name("dyad"))
    arguments = [
        "push",
        "datasets",
        "dyad",
        "--namespace",
        "ORG",
        "--build-dir",
        str(folder.parent),
    ]
    assert cli.main(arguments) == 2
    assert "dyad was built from promqa-assembly" in capsys.readouterr().err
    assert own_hub.names("dataset") == []


def test_what_comes_after_a_failure_is_named(
    own_hub: hub_server.Hub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from procedural_evals.hub import targets
    from procedural_evals.hub.sending import Target

    made = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text("---\nlicense: mit\n---\n")
        made.append(Target(tmp_path / name, f"ORG/{name}", "model"))
    monkeypatch.setattr(targets, "cards", lambda *_: made)
    own_hub.fail("POST .*ORG/two/commit/", status=507, times=None)
    assert cli.main(["push", "cards", "--namespace", "ORG"]) == 2
    printed = capsys.readouterr()
    assert "model ORG/one: pushed" in printed.out
    assert "model ORG/two: the Hub has no room for it" in printed.err
    assert "Not looked at: model ORG/three" in printed.err
    assert sorted(own_hub.names("model")) == ["ORG/one", "ORG/two"]


@pytest.mark.slow
def test_a_pushed_metric_is_a_space_that_evaluate_loads(
    own_hub: hub_server.Hub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import evaluate
    from evaluate.utils.file_utils import DownloadConfig

    arguments = ["push", "metrics", "grounded_iou", "--namespace", "ORG", "--public"]
    assert cli.main([*arguments, "--build-dir", str(tmp_path)]) == 0
    assert "space ORG/grounded_iou: new, public" in capsys.readouterr().out
    assert own_hub.repository("space", "ORG/grounded_iou").settings["sdk"] == "gradio"
    address = f"{own_hub.url}/spaces/{{path}}/resolve/{{revision}}/{{name}}"
    monkeypatch.setattr(evaluate.config, "HUB_EVALUATE_URL", address)
    metric = evaluate.load(
        "ORG/grounded_iou", download_config=DownloadConfig(cache_dir=tmp_path / "cache")
    )
    computed = metric.compute(
        predictions=[[{"start": 0.0, "end": 2.0}]], references=[[{"start": 0.0, "end": 4.0}]]
    )
    assert computed["iou"] == 0.5
    assert own_hub.count("GET /spaces/ORG/grounded_iou/resolve/") > 0


@pytest.mark.slow
def test_the_leaderboard_is_a_space(own_hub: hub_server.Hub, tmp_path: Path) -> None:
    arguments = ["push", "leaderboard", "--namespace", "ORG", "--build-dir", str(tmp_path)]
    assert cli.main(arguments) == 0
    (name,) = own_hub.names("space")
    assert {"README.md", "app.py"} < set(own_hub.repository("space", name).files())
    assert cli.main(["push", "leaderboard", "some", *arguments[2:]]) == 2
