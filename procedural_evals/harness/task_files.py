"""What a task file says: how its replies are read, and how its numbers are made from records.

lmms-eval reads these files itself when it runs a task; here they serve to make a run's records and
numbers once more, without lmms-eval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from procedural_evals import folders
from procedural_evals.harness.protocols import Protocol
from procedural_evals.harness.records import Record

Aggregation = Callable[[Sequence[Record]], float]

_TASKS = "procedural_evals.lmms_tasks"


class _Reader(yaml.SafeLoader):
    """YAML in which `!function a.b` stays the text "a.b"."""


def _text(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    return str(node.value)


_Reader.add_constructor("!function", _text)


def task_path(task: str) -> Path:
    """The file of a task; KeyError when there is none."""
    for file in sorted(folders.lmms_tasks().glob(f"*/{task}.yaml")):
        return file
    raise KeyError(f"{task!r} is no task of this package")


@cache
def task_file(task: str) -> dict[str, Any]:
    """The contents of a task's file with those that it includes.

    >>> task_file("flatpack_bench_sample")["process_results"]
    'utils.video_process'
    """
    return _read(task_path(task))


def _read(file: Path) -> dict[str, Any]:
    own: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), _Reader)  # safe: see above
    included = own.pop("include", None)
    return {**(_read(file.parent / included) if included else {}), **own}


def protocol_of(task: str) -> Protocol:
    """The protocol that makes records of the task's replies."""
    module, name = str(task_file(task)["process_results"]).rsplit(".", 1)
    process = getattr(import_module(f"{_TASKS}.{task_path(task).parent.name}.{module}"), name)
    protocol: Protocol = process.__self__
    return protocol


def aggregations(task: str) -> dict[str, Aggregation]:
    """The functions that make the task's numbers from its items' records, by metric.

    >>> list(aggregations("flatpack_bench_sample"))[:2]
    ['accuracy', 'accuracy_low']
    """
    found = {}
    for entry in task_file(task)["metric_list"]:
        module, name = str(entry["aggregation"]).rsplit(".", 1)
        found[str(entry["metric"])] = getattr(import_module(module), name)
    return found
