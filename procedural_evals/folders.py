"""Where the shell folders of the distribution lie: in a checkout, an editable install, a wheel."""

from __future__ import annotations

import importlib
import os
from pathlib import Path


def _folder(module: str) -> Path:
    file = importlib.import_module(module).__file__
    assert file is not None, f"{module} is a regular package, so it has a file"
    return Path(file).resolve().parent


def dataset_scripts() -> Path:
    """Folder that holds one builder a benchmark.

    >>> dataset_scripts().is_dir()
    True
    """
    return _folder("procedural_evals.dataset_scripts")


def metrics() -> Path:
    """Folder that holds one `evaluate` module a metric."""
    return _folder("procedural_evals.metrics")


def lmms_tasks() -> Path:
    """Folder that holds the lmms-eval tasks and their prompt templates."""
    return _folder("procedural_evals.lmms_tasks")


def model_cards() -> Path:
    """Folder that holds published results and the cards of the reference systems."""
    return _folder("procedural_evals.model_cards")


def cache(name: str) -> Path:
    """A folder for what can be made again: `$PROCEDURAL_EVALS_CACHE/name`, else in ~/.cache."""
    root = os.environ.get("PROCEDURAL_EVALS_CACHE")
    default = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "procedural-evals"
    return (Path(root) if root else default).expanduser() / name
