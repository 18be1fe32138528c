"""What can be known of a run before lmms-eval starts, so that a slip is one line at once.

lmms-eval takes seconds to start and says what is wrong below its own traceback. Whatever is not
checked here, or not known for certain, is left to it.
"""

from __future__ import annotations

import difflib
import fnmatch
import glob
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from procedural_evals import prompts
from procedural_evals.harness.judging import require_judge
from procedural_evals.harness.plugin import requested, task_names
from procedural_evals.harness.policies import check_policy
from procedural_evals.harness.task_files import protocol_of, task_file, task_path

#: So alike is a name to one of ours that it is a slip: difflib's ratio, from 0 to 1.
ALIKE = 0.75


def only_replies(arguments: Sequence[str]) -> bool:
    """Whether the run is to keep replies and score nothing."""
    return any(argument in ("--predict_only", "-x") for argument in arguments)


def check(arguments: Sequence[str]) -> None:
    """Refuse lmms-eval arguments with which a run of our tasks cannot come to results.

    Checked are the tasks' names, the policy of `procedural_baseline`, the settings and prompt
    templates of the tasks, and that a judge is chosen where one is needed and can be reached.
    Raises ValueError, FileNotFoundError or JudgeUnreachable.
    """
    names = requested(arguments)
    if not any(_value(arguments, option) for option in ("--include_path", "--config")):
        check_names(names)
    if _value(arguments, "--model") == "procedural_baseline":
        for argument in _value(arguments, "--model_args").split(","):
            if argument.startswith("policy="):
                check_policy(argument.removeprefix("policy="))
    rubrics = set()
    for task in sorted(set(_ours(names))):
        prompts.check_templates(task_path(task).parent.name)
        rubrics.add(getattr(protocol_of(task), "rubric", None))
    for rubric in sorted(filter(None, rubrics)):
        require_judge(rubric)


def check_names(names: set[str]) -> None:
    """ValueError for a task's name that is almost one of ours, and neither ours nor lmms-eval's."""
    for name in sorted(names - task_names()):
        alike = difflib.get_close_matches(name, sorted(task_names()), cutoff=ALIKE)
        if alike and not _pattern(name) and not _of_others(name):
            raise ValueError(
                f"--tasks {name}: there is no such task; did you mean {' or '.join(alike)}?"
            )


def _value(arguments: Sequence[str], option: str) -> str:
    """The word after an option, or after its `=`; empty without it."""
    for position, argument in enumerate(arguments):
        if argument == option and position + 1 < len(arguments):
            return arguments[position + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return ""


def _pattern(name: str) -> bool:
    """Whether lmms-eval takes it for a pattern, a file or a folder."""
    return glob.has_magic(name) or os.sep in name or name.endswith(".yaml")


def _of_others(name: str) -> bool:
    """Whether a task file of lmms-eval begins so, or plugins may have such a task."""
    if os.environ.get("LMMS_EVAL_PLUGINS"):
        return True
    found = importlib.util.find_spec("lmms_eval")
    folders = (found and found.submodule_search_locations) or ()
    return any(
        next(Path(folder, "tasks").rglob(f"{name}*.yaml"), None) is not None for folder in folders
    )


def _ours(names: set[str]) -> Iterator[str]:
    """Our tasks among the names, and those that patterns and groups stand for."""
    for name in names:
        for known in fnmatch.filter(task_names(), name):
            if "group" in task_file(known):
                yield from _ours(set(task_file(known)["task"]))
            else:
                yield known
