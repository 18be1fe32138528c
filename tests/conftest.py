"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import hub_server

# A first import (OpenCV, PyAV) on a busy machine takes longer than hypothesis' 200 ms.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

# Tests leave nothing in the user's cache; those of the cache choose a folder and a size.
os.environ["PROCEDURAL_EVALS_FRAME_CACHE"] = "0"

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the snapshots anew instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="write the snapshots anew")


def _shared_folder() -> Path | None:
    """The folder with `data/` and `cases/`: as the environment says, or beside the checkout."""
    chosen = os.environ.get("PROCEDURAL_EVALS_TEST_DATA")
    folder = Path(chosen) if chosen else ROOT.parent / "shared"
    return folder if (folder / "data").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with the real public data and the collected cases; skips where it is absent."""
    folder = _shared_folder()
    if folder is None:
        pytest.skip("no real data: put it in ../shared or set PROCEDURAL_EVALS_TEST_DATA")
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[hub_server.Hub]:
    """A local Hub that the test's own process may reach: see tests/hub_server.py."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with hub_server.running(tmp_path / "hub") as server:
        yield server
