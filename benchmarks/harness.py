"""What a run costs outside the model: at start-up, and for each item beside decoding.

    python benchmarks/harness.py

Start-up is a whole run of one item: of `procedural-evals run`, of `python -m lmms_eval` with our
tasks, and of lmms-eval's default, which reads all of its own task files first. An item's cost is
the difference between a run of many (the embedded sample's questions, each many times over) and a
run of one. Both are CPU seconds of the process (user and system), which other work on the machine
disturbs less than wall time; runs take turns, and medians are printed. The shares are wall time of
one run of each task, by part.

The model replies at once (procedural_baseline), after the messages of every item have been made,
as any other model has them made.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from procedural_evals import folders

STARTUP_TASK = "flatpack_bench_blind_sample"
# No frames are decoded for these: words only, or words and a graph.
ITEM_TASKS = {
    "flatpack_bench_blind": ("flatpack-bench", "questions/questions.jsonl"),
    "procobject_10k_blind": ("procobject-10k", "data/testing.json"),
    "promqa_assembly_text": ("promqa-assembly", "all_v1.json"),
}
MANY = 1000
LIMIT_MS = 5.0
WAYS = ("procedural-evals run", "python -m lmms_eval", "lmms-eval's default")


def child(way: str, arguments: list[str]) -> None:
    """A run in this process; its parts' wall times go to the file named in the environment."""
    from procedural_evals.harness import launch

    parts: dict[str, float] = defaultdict(float)
    if way == WAYS[0]:
        launch.import_evaluate_alone()
    import lmms_eval.evaluator as evaluator
    from lmms_eval.api.task import ConfigurableTask, Task
    from lmms_eval.evaluator_utils import TaskOutput
    from lmms_eval.loggers import EvaluationTracker
    from lmms_eval.tasks import TaskManager

    from procedural_evals.harness import plugin
    from procedural_evals.harness.baseline import ProceduralBaseline

    parts["imports"] = time.time() - psutil.Process().create_time()
    if way == WAYS[2]:
        plugin.requested = lambda arguments: set()

    def timed(owner: Any, name: str, part: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def measured(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                parts[part] += time.perf_counter() - began

        setattr(owner, name, measured)

    generate = ProceduralBaseline.generate_until

    def with_messages(self: ProceduralBaseline, requests: Any) -> Any:
        for request in requests:
            began = time.perf_counter()
            place = request.args[-2:], request.args[-3]
            (task, split), number = place
            request.args[1](self.task_dict[task][split][number])
            parts["messages"] += time.perf_counter() - began
        return generate(self, requests)

    ProceduralBaseline.generate_until = with_messages  # type: ignore[method-assign]
    timed(TaskManager, "__init__", "task files")
    timed(ConfigurableTask, "download", "dataset")
    timed(Task, "build_all_requests", "requests")
    timed(ConfigurableTask, "process_results", "scoring (threads)")
    timed(TaskOutput, "calculate_aggregate_metric", "aggregation")
    for name in ("save_results_aggregated", "save_results_samples"):
        timed(EvaluationTracker, name, "writing")
    sys.argv = ["lmms_eval", *arguments]
    from lmms_eval.cli.dispatch import main as run

    try:
        run()
    finally:
        assert evaluator is not None
        parts["total"] = time.time() - psutil.Process().create_time()
        Path(os.environ["HARNESS_PARTS"]).write_text(json.dumps(parts))


def measured(
    way: str, task: str, limit: int | None, folder: Path
) -> tuple[float, dict[str, float]]:
    """CPU seconds of a run, and the wall seconds of its parts."""
    file = folder / "parts.json"
    command = [sys.executable, __file__, "--child", way, "--tasks", task]
    command += ["--model", "procedural_baseline", "--model_args", "policy=oracle"]
    command += ["--output_path", str(folder / "results"), "--log_samples"]
    if limit is not None:
        command += ["--limit", str(limit)]
    variables = os.environ | {
        "HARNESS_PARTS": str(file),
        "PROCEDURAL_EVALS_JUDGE": "none",
        "PROCEDURAL_EVALS_ENCODER": "none",
        "PROCEDURAL_EVALS_RESPONSES": "0",
        "HF_HUB_OFFLINE": "1",
    }
    file.unlink(missing_ok=True)
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        words = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if not file.is_file() or not list((folder / "results").rglob("*_results.json")):
        raise RuntimeError(f"{task}: the run failed\n{words.decode(errors='replace')[-3000:]}")
    return usage.ru_utime + usage.ru_stime, json.loads(file.read_text())


def repeated(name: str, file: str, root: Path) -> int:
    """Copy a sample below a data root, its questions repeated; how many there are then."""
    folder = root / name
    shutil.copytree(folders.dataset_scripts() / name.replace("-", "_") / "sample", folder)
    path = folder / file
    lines = path.suffix == ".jsonl"
    text = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    many = [again(rows[number % len(rows)], number) for number in range(MANY)]
    written = "\n".join(map(json.dumps, many)) if lines else json.dumps(many)
    path.write_text(written, encoding="utf-8")
    return len(many)


def again(row: dict[str, Any], number: int) -> dict[str, Any]:
    """The same question as another item."""
    if "qid_flat" in row:
        return row | {"qid_flat": f"{row['qid_flat']}/{number}", "qid": f"{number:064x}"}
    if "id" in row:
        return row | {"id": number}
    return row | {"question": f"{row['question']} ({number})"}


def shares(parts: dict[str, float]) -> str:
    """The parts of a run in per cent of its wall time; "other" is what no part covers."""
    total = parts["total"]
    # Scoring runs in several threads at once: its sum may be more than its wall time.
    covered = sum(value for name, value in parts.items() if name != "total")
    named = {**parts, "other": max(0.0, total - covered)}
    return ", ".join(
        f"{name} {100 * value / total:.0f} %"
        for name, value in sorted(named.items(), key=lambda pair: -pair[1])
        if name != "total" and value / total >= 0.005
    )


def main() -> int:
    """Print both tables; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured(WAYS[1], STARTUP_TASK, 1, folder)  # the samples are prepared, files are read once
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(options.repeats):
            for way in WAYS:
                seconds, parts = measured(way, STARTUP_TASK, 1, folder)
                times[way].append(seconds)
                print(f"  {way}: {seconds:.2f} s CPU; {shares(parts)}", flush=True)
        medians = {way: statistics.median(values) for way, values in times.items()}
        default = medians[WAYS[2]]
        print(f"{'start-up':24}{'CPU s':>8}{'of default':>12}")
        for way, seconds in medians.items():
            print(f"{way:24}{seconds:8.2f}{seconds / default:12.2f}")
        met &= medians[WAYS[0]] <= default / 2
        print(f"{'an item':24}{'CPU ms':>8}")
        os.environ["PROCEDURAL_EVALS_DATA"] = str(folder / "data")
        for task, (dataset, file) in ITEM_TASKS.items():
            count = repeated(dataset, file, folder / "data")
            one, whole, parts = [], [], {}
            measured(WAYS[0], task, 1, folder)  # the dataset is prepared
            for _ in range(options.repeats):
                one.append(measured(WAYS[0], task, 1, folder)[0])
                seconds, parts = measured(WAYS[0], task, None, folder)
                whole.append(seconds)
            cost = 1000 * (statistics.median(whole) - statistics.median(one)) / (count - 1)
            met &= cost < LIMIT_MS
            print(f"{task:24}{cost:8.2f}  {shares(parts)}", flush=True)
    goal = f"start-up at most half of the default, an item under {LIMIT_MS:g} ms"
    print(f"{goal}: {'yes' if met else 'no'}")
    return 0 if met else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
