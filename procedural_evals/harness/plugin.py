"""What lmms-eval loads through its entry point: our models, and the folder of our tasks."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

from procedural_evals import folders
from procedural_evals.harness import versions

_NAME = re.compile(r"^(?:task|group):\s*([\w.-]+)\s*$", re.MULTILINE)


def register() -> list[Any]:
    """Payload of the `lmms_eval.models` entry point: the manifests of our models.

    It also makes lmms-eval's TaskManager index our tasks, so that `--tasks NAME` needs no
    `--include_path`, alone, under torchrun and under accelerate; that every model's replies to
    them are kept; and that results are written where and as they should be.
    """
    from lmms_eval.models.registry_v2 import ModelManifest

    from procedural_evals.harness.outputs import guard_tracker

    _index_our_tasks()
    _fail_at_once()
    _keep_replies()
    guard_tracker()
    _record_versions()
    return [
        ModelManifest(
            "procedural_baseline",
            chat_class_path="procedural_evals.harness.baseline.ProceduralBaseline",
        ),
        ModelManifest(
            "procedural_hf", chat_class_path="procedural_evals.harness.hf_model.ProceduralHF"
        ),
    ]


@lru_cache(maxsize=1)
def task_names() -> frozenset[str]:
    """Names of all tasks and groups in `lmms_tasks/`."""
    files = folders.lmms_tasks().rglob("*.yaml")
    return frozenset(
        name for file in files for name in _NAME.findall(file.read_text(encoding="utf-8"))
    )


def requested(arguments: Sequence[str]) -> set[str]:
    """The names after `--tasks` on a command line; empty when it has none."""
    for position, argument in enumerate(arguments):
        if argument == "--tasks" and position + 1 < len(arguments):
            return set(arguments[position + 1].split(","))
        if argument.startswith("--tasks="):
            return set(argument.removeprefix("--tasks=").split(","))
    return set()


def _index_our_tasks() -> None:
    from lmms_eval.tasks import TaskManager

    original = TaskManager.initialize_tasks
    if hasattr(original, "_knows_procedural_evals"):
        return

    @wraps(original)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        given = [include_path] if isinstance(include_path, str | Path) else list(include_path or [])
        names = requested(sys.argv)
        if names and names <= task_names():
            # Reading lmms-eval's own 1,900 task files takes seconds; none of them is asked for.
            include_defaults = False
            _leave_out_other_tasks()
        paths = [*map(str, given), str(folders.lmms_tasks())]
        return original(self, include_path=paths, include_defaults=include_defaults)

    initialize_tasks._knows_procedural_evals = True  # type: ignore[attr-defined]
    TaskManager.initialize_tasks = initialize_tasks


def _leave_out_other_tasks() -> None:
    """Spare a run of our tasks nltk and scikit-learn.

    To see whether a metric is one of theirs, lmms-eval tries to import the modules of two other
    tasks, for each metric again. None is how the import system is told that there is no such.
    """
    for name in ("amber_g", "coco_cap_chair"):
        sys.modules.setdefault(f"lmms_eval.tasks.{name}.utils", None)  # type: ignore[arg-type]


def _fail_at_once() -> None:
    """Missing or damaged files and an unreachable judge stop a run with their own message.

    lmms-eval tries five times, whatever went wrong, and then raises an error that hides why; that
    is meant for the network.
    """
    import tenacity
    from lmms_eval.api.task import ConfigurableTask

    from procedural_evals.judge.client import JudgeUnreachable

    final = (FileNotFoundError, ValueError, JudgeUnreachable)
    retrying = getattr(ConfigurableTask.download, "retry", None)
    if isinstance(retrying, tenacity.BaseRetrying):
        retrying.retry = tenacity.retry_if_exception(lambda error: not isinstance(error, final))


def _record_versions() -> None:
    """The results file says for each of our tasks which versions of which packages made it."""
    from lmms_eval.api.task import ConfigurableTask

    original = ConfigurableTask.dump_config
    if hasattr(original, "_knows_procedural_evals"):
        return

    @wraps(original)
    def dump_config(self: Any) -> dict[str, Any]:
        config: dict[str, Any] = original(self)
        if config.get("task") in task_names():
            config[versions.KEY] = versions.installed()
        return config

    dump_config._knows_procedural_evals = True  # type: ignore[attr-defined]
    ConfigurableTask.dump_config = dump_config


def _keep_replies() -> None:
    """Wrap the making of models, whichever a run asks for (see `kept_replies`)."""
    from lmms_eval.api.model import lmms
    from lmms_eval.caching.response_cache import ResponseCache

    original = lmms.create_from_arg_string.__func__
    if hasattr(original, "_knows_procedural_evals"):
        return

    @wraps(original)
    def create(cls: Any, arg_string: str, additional_config: dict[str, Any] | None = None) -> Any:
        from lmms_eval.utils import simple_parse_args_string

        from procedural_evals.harness.kept_replies import keep_replies

        lm = original(cls, arg_string, additional_config)
        more = {name: value for name, value in (additional_config or {}).items() if value}
        keep_replies(lm, simple_parse_args_string(arg_string) | more)
        return lm

    create._knows_procedural_evals = True  # type: ignore[attr-defined]
    lmms.create_from_arg_string = classmethod(create)
    through_cache = ResponseCache.execute

    @wraps(through_cache)
    def execute(cache: Any, lm: Any, kind: str, requests: list[Any]) -> list[Any]:
        from procedural_evals.harness.kept_replies import past_cache

        return past_cache(through_cache)(cache, lm, kind, requests)

    ResponseCache.execute = execute
