"""Files of results in a model's repository, `.eval_results/<benchmark>.yaml`, as they are edited.

What others wrote stays as it is, comments and all: an entry of ours takes the place of the one of
the same task, or stands at the end.
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

FOLDER = ".eval_results"


def results_file(benchmark_name: str) -> str:
    """Where a model's repository keeps its numbers on a benchmark.

    >>> results_file("dyad")
    '.eval_results/dyad.yaml'
    """
    return f"{FOLDER}/{benchmark_name}.yaml"


def as_yaml(entries: Iterable[EvalResultEntry]) -> str:
    """Entries as the text of a results file."""
    return _text(eval_result_entries_to_yaml(list(entries)))


def existing_entries(text: str) -> list[Any]:
    """The entries of a results file, whatever they are; ValueError for a file of something else.

    >>> existing_entries("# nothing yet")
    []
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"it is not readable as YAML: {error}") from None
    if content is None:
        return []
    if not isinstance(content, list):
        raise ValueError("it holds no list of results; nothing is written over it")
    return content


def has(text: str, entries: Sequence[EvalResultEntry]) -> bool:
    """Whether a file has these entries already.

    The dataset's commit may be another: it moves with every change of the dataset's card.
    """
    there = [_without_commit(each) for each in existing_entries(text)]
    return all(_without_commit(each) in there for each in eval_result_entries_to_yaml([*entries]))


def edited(text: str, entries: Sequence[EvalResultEntry]) -> str:
    """The file with these entries. Only one in an unusual style of YAML is written anew."""
    existing = existing_entries(text)
    ours = {_key(each): each for each in eval_result_entries_to_yaml(list(entries))}
    replaced = [ours.pop(_key(each), None) for each in existing]
    wanted = [new or old for new, old in zip(replaced, existing, strict=True)] + [*ours.values()]
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    places = root.value if root is not None else []
    changed = text
    for place, entry in reversed([*zip(places, replaced, strict=True)]):  # the last first
        if entry is not None:
            column = " " * place.start_mark.column
            block = textwrap.indent(_text(entry), column).strip()
            changed = changed[: place.start_mark.index] + block + changed[_end(place, text) :]
    if ours:
        column = " " * (root.start_mark.column if root is not None else 0)
        start = f"{changed.rstrip()}\n" if changed.strip() else ""
        changed = start + textwrap.indent(_text([*ours.values()]), column)
    try:
        kept = yaml.safe_load(changed) == wanted
    except yaml.YAMLError:
        kept = False
    return changed if kept else _text(wanted)


def _end(node: yaml.Node, text: str) -> int:
    """Where a value ends; PyYAML counts what stands before the next one to a block."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, text)
    return len(text[: int(node.end_mark.index)].rstrip())


def _key(entry: Any) -> tuple[str, str] | None:
    dataset = entry.get("dataset") if isinstance(entry, dict) else None
    if not isinstance(dataset, dict):
        return None
    name, task_id = dataset.get("id"), dataset.get("task_id")
    return (name, task_id) if isinstance(name, str) and isinstance(task_id, str) else None


def _without_commit(entry: Any) -> Any:
    entry = copy.deepcopy(entry)
    if isinstance(entry, dict) and isinstance(entry.get("dataset"), dict):
        entry["dataset"].pop("revision", None)
    return entry


def _text(content: Any) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return text
