"""The leaderboard's page: one element, drawn in the browser from `leaderboard_data`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from procedural_evals.hub import look
from procedural_evals.hub.leaderboard import leaderboard_data
from procedural_evals.hub.leaderboard_compare import compare_entries

TITLE = "Procedural video understanding: leaderboard"
#: Where a Space finds the submissions: a folder, or a traces repository ORG/NAME on the Hub.
RESULTS_VARIABLE = "PROCEDURAL_EVALS_RESULTS"
#: Seconds after which a Space looks for new submissions.
FRESH = 600.0

_SCRIPTS = ("leaderboard.js", "leaderboard_filters.js", "leaderboard_compare.js")

Source = Callable[[], Path | None]


def source_of(results: str | None) -> Source:
    """How the submissions are got: a folder as it is, a repository by a download.

    A name that is no folder and has the form ORG/NAME is a repository. Raises FileNotFoundError
    for any other.
    """
    if not results:
        return lambda: None
    folder = Path(results).expanduser()
    if folder.is_dir():
        return lambda: folder
    if results.count("/") != 1 or results.startswith((".", "/", "~")):
        raise FileNotFoundError(f"{results}: no such folder, and no repository ORG/NAME")
    return lambda: _downloaded(results)


def read_now(results: str | None) -> Path | None:
    """The submissions' folder, as `source_of` gets it, before a page is shown or pushed.

    Raises FileNotFoundError for results that are neither a folder nor a name, ValueError for a
    repository that cannot be read.
    """
    source = source_of(results)
    try:
        return source()
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"--results {results} could not be read: {reason}") from error


def _downloaded(repository: str) -> Path | None:
    """The newest state of the repository; None while nothing was submitted to it.

    Raises FileNotFoundError for one that is not there or may not be read, OSError for a Hub that
    does not answer and of which no copy is kept.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        folder = Path(
            snapshot_download(
                repository,
                repo_type="dataset",
                allow_patterns=["*/*/*/submission.json", "*/*/*/items.jsonl"],
            )
        )
    except RepositoryNotFoundError as error:
        raise FileNotFoundError(
            "the Hub has no such dataset repository, or none that this token may read"
        ) from error
    return folder if folder.is_dir() else None


class Results:
    """The boards and their folder, read when they are asked for and kept for a while."""

    def __init__(self, source: Source, fresh: float = FRESH) -> None:
        """`fresh`: seconds for which what was read is kept."""
        self._source, self._fresh = source, fresh
        self._lock = Lock()
        self._read_at = -float("inf")
        self._folder: Path | None = None
        self._data: dict[str, Any] = {}

    def _refresh(self) -> None:
        with self._lock:
            if time.monotonic() - self._read_at < self._fresh:
                return
            problem = None
            try:
                self._folder = self._source()
            except (OSError, ValueError) as error:  # the Hub is away: the last copy still serves
                problem = f"The submissions could not be fetched: {error}"
            data = leaderboard_data(self._folder)
            data["problems"] += [problem] if problem else []
            # Named tuples become lists, as they will be in the browser.
            self._data = json.loads(json.dumps(data))
            self._read_at = time.monotonic()

    def boards(self) -> dict[str, Any]:
        """All boards, for the page."""
        self._refresh()
        return self._data

    def compare(self, a: str, b: str, metric: str) -> dict[str, Any]:
        """Two rows, by their ids, for the page."""
        self._refresh()
        if self._folder is None:
            return {"error": "No submissions are at hand."}
        return compare_entries(self._folder, a, b, metric)


def page(results: Results) -> Any:
    """The page as gradio's blocks."""
    import gradio as gr

    # The browser sends one value with a call, whether it has anything to say or not.
    def boards(_: object) -> dict[str, Any]:
        return results.boards()

    def compare(asked: dict[str, Any]) -> dict[str, Any]:
        return results.compare(*(str(asked[name]) for name in ("a", "b", "metric")))

    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as blocks:
        gr.HTML(
            html_template='<div class="pe board"></div>',
            js_on_load="\n".join(
                (look.APPS / name).read_text(encoding="utf-8") for name in _SCRIPTS
            ),
            apply_default_css=False,
            server_functions=[boards, compare],
            elem_id="leaderboard",
        )
    return blocks


def options() -> dict[str, Any]:
    """Arguments of `launch` and `mount_gradio_app` for the page."""
    return {**look.options("leaderboard.css"), "footer_links": []}


def launch(results: str | None = None, **arguments: Any) -> Any:
    """Serve the page; results that the environment names go before the folder or repository."""
    source = source_of(os.environ.get(RESULTS_VARIABLE) or results)
    blocks = page(Results(source))
    return blocks.launch(**{**options(), **arguments})
