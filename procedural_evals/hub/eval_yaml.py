"""`eval.yaml` at a dataset repository's root, which makes it a benchmark of the Hub.

Its form is given by the Hub: name, description, evaluation_framework, and tasks, each with an id,
a configuration and a split of the dataset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import yaml

from procedural_evals.hub import task_ids

FILE = "eval.yaml"

#: What makes the numbers. The Hub takes only names of a list of its own (packages/tasks/src/eval.ts
#: of huggingface.js) and checks the file at a push: where it refuses this one, give another.
EVALUATION_FRAMEWORK = "lmms-eval"

#: That list in August 2026, when lmms-eval was not in it.
LISTED_FRAMEWORKS = (
    *("apex-evals", "archipelago", "claw-eval", "exgentic", "harbor", "inspect-ai", "math-arena"),
    *("mdpbench", "mteb", "nemo-evaluator", "olmocr-bench", "open-asr-leaderboard", "parsebench"),
    *("screenspot-pro", "swe-bench", "swe-bench-pro", "video-mme-v2", "wildclawbench", "yc-bench"),
)

FIELDS = ("name", "description", "evaluation_framework", "tasks")
TASK_FIELDS = ("id", "config", "split")


def listed_tasks(name: str, splits: Mapping[str, Collection[str]]) -> list[task_ids.BenchmarkTask]:
    """The tasks whose rows are there: `splits` has the splits of each configuration.

    Tasks of the simulated sample are listed only where there is nothing else: a number on simulated
    rows says nothing about real video, and stands on no leaderboard beside one that does.
    """
    there = [
        task for task in task_ids.of_dataset(name) if task.split in splits.get(task.config, ())
    ]
    return [task for task in there if not task.simulated] or there


def benchmark(
    name: str,
    title: str,
    description: str,
    splits: Mapping[str, Collection[str]],
    framework: str = EVALUATION_FRAMEWORK,
) -> dict[str, Any]:
    """The content of `eval.yaml`.

    >>> found = benchmark("promqa-cooking", "ProMQA", "Questions.", {"default": ["test"]})
    >>> found["tasks"][0]
    {'id': 'promqa_cooking', 'config': 'default', 'split': 'test'}
    """
    return {
        "name": title,
        "description": description,
        "evaluation_framework": framework,
        "tasks": [
            {"id": task.id, "config": task.config, "split": task.split}
            for task in listed_tasks(name, splits)
        ],
    }


def as_text(content: Mapping[str, Any]) -> str:
    """The file's text."""
    text: str = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=100)
    return text


def problems(content: Any, splits: Mapping[str, Collection[str]]) -> list[str]:
    """What is wrong with the content of an `eval.yaml` of a dataset with these splits.

    >>> problems({"name": "a", "description": "b", "evaluation_framework": "inspect-ai",
    ...           "tasks": [{"id": "x", "config": "c", "split": "test"}]}, {"default": ["test"]})
    ["task 'x': no configuration 'c'; there are default"]
    """
    if not isinstance(content, Mapping):
        return ["not a mapping"]
    found = [f"no {field}" for field in FIELDS if not content.get(field)]
    tasks = content.get("tasks") or []
    if not isinstance(tasks, list):
        return [*found, f"tasks: {tasks!r} is not a list"]
    seen: set[str] = set()
    for task in tasks:
        missing = [field for field in TASK_FIELDS if field not in task]
        if missing:
            found.append(f"task {task!r}: no {', '.join(missing)}")
            continue
        if task["id"] in seen:
            found.append(f"task {task['id']!r}: there twice; the Hub has one number a task id")
        seen.add(task["id"])
        if task["config"] not in splits:
            found.append(
                f"task {task['id']!r}: no configuration {task['config']!r}; there are "
                f"{', '.join(splits)}"
            )
        elif task["split"] not in splits[task["config"]]:
            found.append(
                f"task {task['id']!r}: configuration {task['config']!r} has no split "
                f"{task['split']!r}; it has {', '.join(splits[task['config']])}"
            )
    return found
