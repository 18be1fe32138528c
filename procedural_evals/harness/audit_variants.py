"""Which tasks of which runs are variants of one another: the full task, and what it is cut down to.

A variant's name begins with the name of its full task (`flatpack_bench`, `flatpack_bench_blind`),
its rows pair with the full task's by id, and both were run by the same model with the same
arguments. Nothing else is known of them: other benchmarks and other variants need no entry here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from procedural_evals.harness import results
from procedural_evals.harness.records import Record
from procedural_evals.harness.run_comparison import settings_of

_SAMPLE = "_sample"
#: Media that are the video, or taken from it.
VIDEO = frozenset({"video", "clip", "frames"})
_WORDS = {
    "video": "the video",
    "clip": "the video",
    "frames": "the frames",
    "visual_prompts": "the visual prompts",
    "parts_image": "the picture of the parts",
    "task_graph": "the task graph",
}


@dataclass(frozen=True)
class TaskRun:
    """One task of one run.

    Attributes:
        task, model, results: its name, the model with its arguments, the results file.
        records: of its items.
        settings: what else the results file says of how it was run.
        part: which of its records these are, where it asks a question several times.
    """

    task: str
    model: str
    results: str
    records: tuple[Record, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    part: str = ""

    @property
    def label(self) -> str:
        """The task's name, and which part of it this is."""
        return f"{self.task} {self.part}".strip()

    @property
    def shown(self) -> frozenset[str] | None:
        """The media that a model was given; None where the records do not say so."""
        if not all("shown" in record for record in self.records):
            return None
        return frozenset(name for record in self.records for name in record["shown"])


@dataclass(frozen=True)
class Family:
    """A full task and its variants, all of one model."""

    full: TaskRun
    variants: tuple[TaskRun, ...]

    def name_of(self, variant: TaskRun) -> str:
        """The variant's name without that of its full task."""
        own = _plain(variant.task).removeprefix(_plain(self.full.task)).strip("_") or variant.task
        return f"{own} {variant.part}".strip()

    def hidden_from(self, variant: TaskRun) -> frozenset[str]:
        """The media that the full task shows and the variant does not.

        Frames in the place of a video file (or the other way round) hide nothing.
        """
        full, cut = self.full.shown, variant.shown
        if full is None or cut is None:
            return frozenset()
        return full - cut - (VIDEO if cut & VIDEO else frozenset())


def words_for(media: Iterable[str]) -> str:
    """The media in words: `the video and the visual prompts`.

    >>> words_for({"visual_prompts", "video"})
    'the video and the visual prompts'
    """
    names = list(dict.fromkeys(_WORDS.get(name, name) for name in sorted(media, key=_order)))
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "nothing"


def _order(name: str) -> tuple[int, str]:
    return (list(_WORDS).index(name) if name in _WORDS else len(_WORDS), name)


def task_runs(runs: Iterable[results.Run]) -> list[TaskRun]:
    """Every task of the runs; where a model ran a task several times, the last run given counts."""
    found: dict[tuple[str, str], TaskRun] = {}
    for run in runs:
        for task, records in run.records.items():
            settings = {
                name: value
                for name, value in settings_of(run, task).items()
                # A task's own arguments differ by design: words only need fewer of them.
                if name != "generation arguments"
            }
            found[run.model, task] = TaskRun(
                task, run.model, str(run.path), tuple(records), settings
            )
    return list(found.values())


def superseded(runs: Iterable[results.Run], taken: Sequence[TaskRun]) -> list[str]:
    """What `task_runs` left out because a later run has it, in words."""
    used = {(run.task, run.results) for run in taken}
    return [
        f"{task} of {run.path}"
        for run in runs
        for task in run.records
        if (task, str(run.path)) not in used
    ]


def results_of(path: Path) -> list[Path]:
    """A results file itself; all results files below a folder, the oldest first."""
    if not path.is_dir():
        return [path]
    files = sorted(results.results_files(path), key=lambda file: file.name)
    if not files:
        raise FileNotFoundError(f"{path}: no *{results.RESULTS} below it; did the run finish?")
    return files


def families(runs: Sequence[TaskRun], full: str | None = None) -> list[Family]:
    """The full tasks with their variants; `full` names the task that all others are variants of.

    Raises ValueError where no task has a variant, or none is called `full`.
    """
    if full is not None and full not in {run.task for run in runs}:
        there = ", ".join(dict.fromkeys(run.task for run in runs))
        raise ValueError(f"no run has the task {full}; there are {there}")
    found: list[Family] = []
    for model in dict.fromkeys(run.model for run in runs):
        for group in _by_full([run for run in runs if run.model == model], full):
            variants = tuple(
                part
                for run in runs
                if run in group[1:]
                for part in _orders(run)
                if _pairs(group[0], part)
            )
            if variants:
                found.append(Family(group[0], variants))
    if not found:
        names = ", ".join(f"{run.task} of {run.model}" for run in runs)
        raise ValueError(
            f"no task is a variant of another one ({names}): run, with one model and the same "
            "arguments, a task and its variants, such as flatpack_bench and flatpack_bench_blind; "
            "or name the full one with --full TASK"
        )
    return found


def _plain(task: str) -> str:
    return task.removesuffix(_SAMPLE)


def _by_full(runs: Sequence[TaskRun], full: str | None) -> list[list[TaskRun]]:
    """Each full task, followed by the tasks that may be its variants."""
    if full is not None:
        first = [run for run in runs if run.task == full]
        return [[*first, *(run for run in runs if run.task != full)]] if first else []
    groups: list[list[TaskRun]] = []
    for run in sorted(runs, key=lambda run: len(run.task)):
        sample = run.task.endswith(_SAMPLE)
        for group in groups:
            root = group[0].task
            if root.endswith(_SAMPLE) == sample and run.task.startswith(f"{_plain(root)}_"):
                group.append(run)
                break
        else:
            groups.append([run])
    return sorted(groups, key=lambda group: runs.index(group[0]))


def _orders(run: TaskRun) -> list[TaskRun]:
    """The run itself, or, where it asks a question in several orders of its options, each order.

    The orders of a question take the id of its first one, which is the published order.
    """
    asked: dict[str, list[Record]] = {}
    for record in run.records:
        asked.setdefault(str(record.get("question_id", record["id"])), []).append(record)
    most = max(map(len, asked.values()), default=0)
    if most < 2:
        return [run]
    # Ids count the orders in their last part: 9 comes before 10.
    each = [sorted(same, key=lambda r: (len(r["id"]), r["id"])) for same in asked.values()]
    return [
        replace(
            run,
            part=f"order {number + 1}",
            records=tuple(
                same[number] | {"id": same[0]["id"]} for same in each if number < len(same)
            ),
        )
        for number in range(most)
    ]


def _pairs(full: TaskRun, variant: TaskRun) -> bool:
    return bool({r["id"] for r in full.records} & {r["id"] for r in variant.records})
