"""What the reference systems score on the embedded samples, computed here and now."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from procedural_evals.environment import variable
from procedural_evals.harness.policies import policies_for
from procedural_evals.harness.records import Record
from procedural_evals.harness.similarity import ENCODER_VARIABLE, NONE
from procedural_evals.harness.task_files import aggregations, protocol_of, task_file
from procedural_evals.hub.claims import dataset_rows, shipped_prompts
from procedural_evals.scores.uncertainty import Interval

#: The seed that `procedural_baseline` has by default.
SEED = 0


@dataclass(frozen=True)
class Number:
    """A system's score on a task, in [0, scale]; `n` items."""

    dataset: str
    config: str
    split: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    scale: float = 100.0


@cache
def policy_number(task: str, policy: str) -> Number:
    """The task's main number when every row is answered by a policy of the baseline model."""
    rows, problem = dataset_rows(task)
    if rows is None:
        raise FileNotFoundError(f"{task}: {problem}")
    protocol = protocol_of(task)
    reply = _answering(task, policy, rows)
    with shipped_prompts(), variable(ENCODER_VARIABLE, NONE):
        records = [protocol.record({**row, "problems": []}, reply(row)) for row in rows.values()]
        known = aggregations(task)
        metric = next(iter(known))
        names = (metric, f"{metric}_low", f"{metric}_high")
        value, low, high = (known[name](records) for name in names)
    file = task_file(task)
    n = sum(_is_scored(record) for record in records)
    return Number(
        file["dataset_path"], file["dataset_name"], file["test_split"], metric, value, low, high, n
    )


def _answering(
    task: str, policy: str, rows: Mapping[str, Mapping[str, Any]]
) -> Callable[[Mapping[str, Any]], str]:
    policies, split = policies_for(task), list(rows.values())
    if policy == "oracle":
        return policies.oracle
    if policy == "random":
        return lambda row: policies.random(row, random.Random(f"{SEED}:{row['id']}"), split)
    if policy == "most_frequent":
        frequent = policies.most_frequent(split)
        return lambda row: frequent
    raise ValueError(f"policy {policy!r}: oracle, random or most_frequent is needed")


def _is_scored(record: Record) -> bool:
    """Seconds without an annotated step go through DYAD's decoder and are not scored."""
    return record["kind"] != "steps" or record["gold"] is not None


@cache
def dyad_numbers(system: str) -> tuple[Number, ...]:
    """Macro-F1 and AUPRC, in [0, 1], of a reference system of the mode task on the sample."""
    from procedural_evals import folders
    from procedural_evals.dyad.clean import load_corpus
    from procedural_evals.dyad.mode_scores import score_mode
    from procedural_evals.dyad.reference_systems import SYSTEMS
    from procedural_evals.dyad.windows import mode_manifest

    corpus = load_corpus(folders.dataset_scripts() / "dyad" / "sample")
    manifest = mode_manifest(corpus)
    scores = score_mode(SYSTEMS[system](corpus, manifest), manifest)
    (found,) = scores.by_seed.values()

    def number(metric: str, interval: Interval) -> Number:
        return Number("dyad", "mode_sample", "test", metric, *interval, scores.events, 1.0)

    return number("macro_f1", found["macro_f1"]), number("auprc", found["auprc"])
