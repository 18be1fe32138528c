"""Which number of a run stands for which task of a benchmark's leaderboard on the Hub.

A leaderboard has one number a task id, so a run of lmms-eval that gives several (the IoU of the
evidence and a judge's score) has several ids. `eval.yaml` of a built dataset lists these ids, and
a submission names them: both read this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchmarkTask:
    """One number of one leaderboard.

    Attributes:
        id: the task id, in `eval.yaml` and in a model's `.eval_results/*.yaml`.
        dataset: the name that `load_dataset` takes.
        lmms_task: the task of lmms-eval whose results hold the number.
        metric: name of the number there, without lmms-eval's filter ("accuracy").
        config: the configuration of the dataset that the task's rows are from.
        split: their split.
        simulated: whether the rows are the embedded sample's; then the number says nothing about
            real video.
        low: the worst value that the number can take.
        high: the best one; on every task more is better.
    """

    id: str
    dataset: str
    lmms_task: str
    metric: str
    config: str
    split: str = "test"
    simulated: bool = False
    low: float = 0.0
    high: float = 100.0

    @property
    def results_key(self) -> str:
        """The number's key in the results file of lmms-eval, whose filter has no name here.

        >>> task("flatpack_bench").results_key
        'accuracy,none'
        """
        return f"{self.metric},none"


def _tasks(
    dataset: str,
    lmms_task: str,
    metrics: tuple[str, ...],
    config: str = "default",
    sample: str | None = "sample",
    split: str = "test",
) -> list[BenchmarkTask]:
    """The ids of a task and of its sample: the first metric has the task's name as its id."""
    found = []
    for number, metric in enumerate(metrics):
        more = f"_{metric}" if number else ""
        found.append(BenchmarkTask(f"{lmms_task}{more}", dataset, lmms_task, metric, config, split))
        if sample is not None:
            name = f"{lmms_task}_sample"
            found.append(
                BenchmarkTask(f"{name}{more}", dataset, name, metric, sample, split, simulated=True)
            )
    return found


TASKS: tuple[BenchmarkTask, ...] = (
    *_tasks("flatpack-bench", "flatpack_bench", ("accuracy",)),
    # The samples of these two are the sample's rows with another option, not a configuration.
    *_tasks("flatpack-bench", "flatpack_bench_keyframes", ("accuracy",), "keyframes", None),
    *_tasks("flatpack-bench", "flatpack_bench_shuffled", ("accuracy",), "shuffled_seed42", None),
    *_tasks("flatpack-bench", "flatpack_bench_image_only", ("accuracy",)),
    *_tasks("flatpack-bench", "flatpack_bench_blind", ("accuracy",)),
    *_tasks("promqa-assembly", "promqa_assembly", ("judge",)),
    *_tasks("promqa-assembly", "promqa_assembly_no_graph", ("judge",)),
    *_tasks("promqa-assembly", "promqa_assembly_video", ("judge",)),
    *_tasks("promqa-assembly", "promqa_assembly_text", ("judge",)),
    *_tasks("promqa-cooking", "promqa_cooking", ("judge",), sample=None),
    *_tasks("promqa-cooking", "promqa_cooking_text", ("judge",), sample=None),
    *_tasks("procobject-10k", "procobject_10k", ("iou", "judge")),
    *_tasks("procobject-10k", "procobject_10k_video", ("iou", "judge")),
    *_tasks("procobject-10k", "procobject_10k_blind", ("judge",)),
    *_tasks("procobject-10k", "procobject_10k_excerpt", ("iou", "judge"), "excerpt", None),
    *_tasks("dyad", "dyad_step", ("f1_10", "edit", "mof"), "steps", "steps_sample"),
    *_tasks(
        "dyad", "dyad_step_likelihood", ("f1_10", "edit", "mof", "map_10"), "steps", "steps_sample"
    ),
    *_tasks("dyad", "dyad_mode", ("macro_f1", "auprc"), "mode", "mode_sample"),
    *_tasks("dyad", "dyad_response", ("judge",), "response", "response_sample"),
)


def task(task_id: str) -> BenchmarkTask:
    """The task of an id; KeyError with the known ids for another."""
    for each in TASKS:
        if each.id == task_id:
            return each
    raise KeyError(f"{task_id!r} is no task id; known are {', '.join(each.id for each in TASKS)}")


def of_dataset(dataset: str) -> list[BenchmarkTask]:
    """All tasks of a dataset, the main one first.

    >>> [task.id for task in of_dataset("promqa-cooking")]
    ['promqa_cooking', 'promqa_cooking_text']
    """
    return [each for each in TASKS if each.dataset == dataset]


def of_lmms_task(lmms_task: str) -> list[BenchmarkTask]:
    """The numbers that a task of lmms-eval gives; empty for one that is on no leaderboard.

    >>> [(task.id, task.metric) for task in of_lmms_task("procobject_10k")]
    [('procobject_10k', 'iou'), ('procobject_10k_judge', 'judge')]
    """
    return [each for each in TASKS if each.lmms_task == lmms_task]
