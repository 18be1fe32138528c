"""What the commands say of themselves."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from procedural_evals import __version__, cli

ROOT = Path(__file__).resolve().parent.parent


def _shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    printed = capsys.readouterr()
    return ended.value.code, printed.out + printed.err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _shown(capsys, "--version") == (0, f"{__version__}\n")


def test_a_difficulty_is_one_of_those_that_help_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--difficulty {easy,medium,hard}" in _shown(capsys, "simulate", "--help")[1]
    status, said = _shown(capsys, "simulate", "dyad", "--out", "x", "--difficulty", "impossible")
    assert status == 2
    assert "invalid choice: 'impossible'" in said


def test_options_of_a_run_say_what_they_take(capsys: pytest.CaptureFixture[str]) -> None:
    said = _shown(capsys, "run", "--help")[1]
    assert "--frames N" in said
    assert "--sampling RULE" in said


def test_a_benchmark_without_its_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(SystemExit, match=r"pip install '\.\[bench\]'"):
        runpy.run_path(str(ROOT / "benchmarks" / "visual_prompt.py"))
