"""Spaces as complete folders: the leaderboard, and one page a metric."""

from __future__ import annotations

import shutil
from importlib.metadata import distribution, version
from pathlib import Path
from string import Template

import procedural_evals
from procedural_evals import folders
from procedural_evals.hub import look
from procedural_evals.hub.vendoring import PACKAGE, vendor

#: Name of the leaderboard's folder and repository.
LEADERBOARD = "procedural-video-leaderboard"
RESULTS_FOLDER = "results"

_TEMPLATES = look.APPS / "leaderboard"


def metric_names() -> list[str]:
    """The metrics that have a page.

    >>> "grounded_iou" in metric_names()
    True
    """
    return sorted(file.parent.name for file in folders.metrics().glob("*/app.py"))


def build_metric_space(name: str, out: Path) -> Path:
    """Write the Space of a metric into a folder, and return it; `evaluate.load` takes it as well.

    An earlier build there is replaced. Raises KeyError for an unknown metric, FileExistsError for
    a folder that holds anything else.
    """
    if name not in metric_names():
        raise KeyError(f"no metric {name!r}; there is {', '.join(metric_names())}")
    source = folders.metrics() / name
    _start(out)
    beside = {}
    for file in sorted(source.iterdir()):
        if file.is_file() and file.suffix != ".pyc":
            shutil.copyfile(file, out / file.name)
            if file.suffix == ".txt" and file.name != "requirements.txt":
                beside[f"metrics/{name}/{file.name}"] = file
    vendor([source / "app.py", source / f"{name}.py"], out, beside)
    return _licensed(out)


def build_leaderboard(out: Path, results: str | None = None) -> Path:
    """Write the leaderboard's Space into a folder, and return it.

    `results` is a folder of submissions, which is copied, or a traces repository, ORG/NAME, which
    the Space reads. An earlier build there is replaced. Raises FileNotFoundError for results that
    are neither, FileExistsError for a folder that holds anything else.
    """
    from procedural_evals.hub.leaderboard_app import source_of

    source_of(results)
    _start(out)
    local = Path(results).expanduser() if results else None
    if local is not None and local.is_dir():
        for pattern in ("submission.json", "items.jsonl"):
            for file in sorted(local.glob(f"*/*/*/{pattern}")):
                copy = out / RESULTS_FOLDER / file.relative_to(local)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        results = RESULTS_FOLDER
    values = {
        "results": results or "",
        "gradio": version("gradio"),
        "version": procedural_evals.__version__,
    }
    for file in sorted(_TEMPLATES.iterdir()):
        if file.is_file():
            text = Template(file.read_text(encoding="utf-8")).safe_substitute(values)
            (out / file.name).write_text(text, encoding="utf-8")
    cards = {f"model_cards/{file.name}": file for file in folders.model_cards().glob("*.yaml")}
    vendor([_TEMPLATES / "app.py"], out, cards)
    return _licensed(out)


def _start(out: Path) -> None:
    """An empty folder, where there is none or an earlier Space of ours."""
    if out.is_file():
        raise FileExistsError(f"{out}: a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        if not (out / PACKAGE / "hub" / "look.py").is_file():
            raise FileExistsError(f"{out}: holds something that is no built Space; name another")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)


def _licensed(out: Path) -> Path:
    """The Space, with the licence of what was copied."""
    files = distribution("procedural-evals").files or []
    licence = next(Path(str(file.locate())) for file in files if file.name == "LICENSE")
    shutil.copyfile(licence, out / "LICENSE")
    return out
