"""Where lmms-eval writes results: found unwritable before a run, and no file of another run's.

lmms-eval names the files of a run by the second at which it began. Two runs of one second would
write into one file of samples, one behind the other; here the later one takes the next second that
is free. What a full disk has cut short is taken back, so that no torn file counts as a result.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from loguru import logger

#: A file to which a run adds the path of each results file that it has written.
WRITTEN_VARIABLE = "PROCEDURAL_EVALS_WRITTEN"

_STAMP = "%Y%m%d_%H%M%S"
_RESULTS = "_results.json"


def check_writable(folder: Path) -> None:
    """Make the folder, and a file in it; OSError that names the folder when that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise type(error)(
            error.errno, f"no results can be written into {folder} ({error.strerror})"
        ) from error


def claimed(folder: Path, stamp: str) -> str:
    """The stamp, or the next second whose results file is not there; makes that file, empty."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            (folder / f"{stamp}{_RESULTS}").touch(exist_ok=False)
        except FileExistsError:
            later = datetime.strptime(stamp, _STAMP) + timedelta(seconds=1)
            stamp = later.strftime(_STAMP)
        else:
            return stamp


def guard_tracker() -> None:
    """Wrap lmms-eval's EvaluationTracker, once."""
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    if hasattr(EvaluationTracker, "_knows_procedural_evals"):
        return
    EvaluationTracker._knows_procedural_evals = True
    EvaluationTracker.__init__ = _checked(EvaluationTracker.__init__)
    EvaluationTracker.save_results_aggregated = _claiming(EvaluationTracker.save_results_aggregated)
    EvaluationTracker.save_results_samples = _complete(EvaluationTracker.save_results_samples)


def _checked(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def begin(self: Any, output_path: str | None = None, *given: Any, **named: Any) -> None:
        if output_path and int(os.environ.get("RANK", 0)) == 0:
            check_writable(Path(output_path))
        original(self, output_path, *given, **named)

    return begin


def _folder(tracker: Any) -> Path:
    return Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)


def _claiming(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def save(self: Any, results: dict[str, Any], samples: Any, datetime_str: str) -> None:
        if not self.output_path:
            original(self, results, samples, datetime_str)
            return
        try:
            stamp = claimed(_folder(self), datetime_str.replace(":", "-"))
        except (OSError, ValueError) as error:
            logger.error(f"{_folder(self)}: {error}; results are not written")
            return
        self.date_id = stamp
        original(self, results, samples, stamp)
        file = _folder(self) / f"{stamp}{_RESULTS}"
        if not _is_json(file):
            _take_back(file)
        elif written := os.environ.get(WRITTEN_VARIABLE):
            with Path(written).open("a", encoding="utf-8") as lines:
                lines.write(f"{file}\n")

    return save


def _complete(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def save(self: Any, task_name: str, samples: Sequence[Any]) -> None:
        original(self, task_name, samples)
        if not self.output_path or not hasattr(self, "date_id"):
            return
        results = _folder(self) / f"{self.date_id}{_RESULTS}"
        file = _folder(self) / f"{self.date_id}_samples_{task_name}.jsonl"
        lines = file.read_bytes().count(b"\n") if file.is_file() else 0
        if results.is_file() and lines != len(samples):
            logger.error(f"{file}: {lines} of {len(samples)} samples could be written")
            _take_back(results)

    return save


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def _take_back(file: Path) -> None:
    file.unlink(missing_ok=True)
    logger.error(
        f"{file} could not be written whole and is taken back. The replies are kept: make room, "
        "and the same command makes the results from them"
    )
