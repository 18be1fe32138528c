"""`procedural-evals compare`: two runs of lmms-eval, every task that both have, or named pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from procedural_evals.harness import results
from procedural_evals.harness.comparison import Comparison, compare, corrected
from procedural_evals.harness.comparison_text import comparison_lines
from procedural_evals.harness.conditions import NotComparableError, settings_contrasts
from procedural_evals.harness.masking import without_secrets
from procedural_evals.harness.verdict_records import judged_run


@dataclass(frozen=True)
class Options:
    """How runs are compared; `tasks` as `TASK` or `TASK_A:TASK_B`, none for all that both have."""

    tasks: tuple[str, ...] = ()
    force: bool = False
    judge: str | None = None
    similarity: bool = False


@dataclass(frozen=True)
class RunComparison:
    """The comparisons by task (`TASK`, or `TASK_A:TASK_B`), and what could not be compared why."""

    a: results.Run
    b: results.Run
    tasks: dict[str, Comparison]
    refused: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """All of it, as plain dictionaries, lists, numbers and texts."""
        return {
            "a": {"model": self.a.model, "results": str(self.a.path)},
            "b": {"model": self.b.model, "results": str(self.b.path)},
            "tasks": {name: comparison.as_dict() for name, comparison in self.tasks.items()},
            "refused": self.refused,
        }

    def lines(self, shown_flips: int) -> Iterator[str]:
        """The whole as text."""
        for side, run in (("A", self.a), ("B", self.b)):
            yield f"{side}: {run.model}\n   {run.path}"
        for name, comparison in self.tasks.items():
            yield f"\n{name.replace(':', ' against ')}"
            yield from comparison_lines(comparison, shown_flips)
        for name, reason in self.refused.items():
            yield f"\n{name.replace(':', ' against ')}\n{reason}"
        headlines = sum(c.headline.p_value is not None for c in self.tasks.values())
        if headlines:
            yield (
                f"\np: two-sided, of 2,000 draws of whole clusters. p (Holm): corrected over the "
                f"{headlines} headline(s); every other line over those of its task."
            )


def compare_runs(path_a: Path, path_b: Path, options: Options) -> RunComparison:
    """The runs of two results folders or files, task by task.

    A task whose settings differ in what refuses is in `refused`, unless `force` is set, and so is
    one of several tasks that cannot be compared at all (no item, no measure in common). A single
    one is a ValueError.
    """
    a = judged_run(results.load_run(path_a), options.judge, options.similarity)
    b = judged_run(results.load_run(path_b), options.judge, options.similarity)
    found: dict[str, Comparison] = {}
    refused: dict[str, str] = {}
    pairs = _named(a, b, options.tasks)
    for left, right in pairs:
        name = left if left == right else f"{left}:{right}"
        try:
            comparison = compare(
                a.records[left],
                b.records[right],
                force=options.force,
                similarity=options.similarity,
            )
        except NotComparableError as error:
            ways = "--force to compare all the same"
            if any(contrast.setting == "judges" for contrast in error.contrasts):
                ways += ", or --judge NAME to have both judged by one"
            refused[name] = f"{error}\nSay {ways}."
            continue
        except ValueError as error:
            if len(pairs) == 1:
                raise ValueError(f"{name}: {error}") from None
            refused[name] = f"Not compared: {error}"
            continue
        notes = settings_contrasts(
            settings_of(a, left), settings_of(b, right), comparison.counts.compared
        )
        found[name] = replace(comparison, contrasts=(*comparison.contrasts, *notes))
    return RunComparison(a, b, corrected(found), refused)


def _named(a: results.Run, b: results.Run, tasks: Sequence[str]) -> list[tuple[str, str]]:
    if not tasks:
        shared = [task for task in a.records if task in b.records]
        if not shared:
            raise ValueError(
                f"the runs share no task: A has {', '.join(a.records)}, B has "
                f"{', '.join(b.records)}; name pairs with --tasks TASK_A:TASK_B"
            )
        return [(task, task) for task in shared]
    pairs = []
    for name in tasks:
        left, _, right = name.partition(":")
        pairs.append((left, right or left))
        for side, run, task in (("A", a, left), ("B", b, right or left)):
            if task not in run.records:
                raise ValueError(f"{side} has no task {task}; it has {', '.join(run.records)}")
    return pairs


def settings_of(run: results.Run, task: str) -> dict[str, object]:
    """What a results file says of a task's run beyond its records; model names are not among it."""
    config = run.results.get("config", {})
    task_config = run.results.get("configs", {}).get(task, {})
    found: dict[str, object] = {
        "generation arguments": task_config.get("generation_kwargs"),
        "generation arguments given": without_secrets(config.get("gen_kwargs") or "") or None,
        "seeds": [config.get(f"{name}_seed") for name in ("random", "numpy", "torch")],
        "limit": config.get("limit"),
        "offset": config.get("offset") or None,
        "system instruction": run.results.get("system_instruction"),
    }
    versions = task_config.get("package_versions") or {}
    return found | {f"version of {name}": value for name, value in versions.items()}
