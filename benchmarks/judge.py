"""Throughput of judging: many requests at once against one at a time, on a local server.

    python benchmarks/judge.py

The server answers every request 200 ms after it came, in a process of its own. The ideal for n
items at concurrency c is ceil(n / c) rounds of 0.2 s. One-at-a-time judging is the same code with
concurrency 1 over a part of the items, and its time is scaled up to all of them.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.judging import judge_items, make_judge
from procedural_evals.judge.rubric import JudgeItem

SERVER = Path(__file__).resolve().parent.parent / "tests" / "judge_server.py"
ITEMS = 391  # the questions of ProMQA-Assembly
LIMIT = 1.2


@contextmanager
def serving(delay: float) -> Iterator[str]:
    """The address of a judge server in a process of its own."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), "--delay", str(delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def items(first: int, count: int) -> list[JudgeItem]:
    """Items that all read differently, so that none is answered by another's reply."""
    return [
        JudgeItem(
            id=f"q{n}",
            prediction=f"prediction number {n}: attach the roof to the cabin with a screw",
            answers=("Attach the roof.", "Attach the roof to the cabin."),
            question="What is the next step now?",
            steps=("attach interior to chassis", "attach cabin to interior"),
        )
        for n in range(first, first + count)
    ]


def seconds(base_url: str, concurrency: int, first: int, count: int) -> float:
    """Wall time of judging these items, every reply kept in a new cache."""
    judge = make_judge("bench", base_url=base_url, concurrency=concurrency)
    with tempfile.TemporaryDirectory() as folder, ReplyCache(folder) as cache:
        start = time.perf_counter()
        judging = judge_items(items(first, count), [judge], cache, progress=False, ping=False)
        elapsed = time.perf_counter() - start
    for n, row in enumerate(judging.rows, start=first):
        assert row[0].grade == n % 3, row[0]
    return elapsed


def main() -> int:
    """Print the table; 1 when the best run is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--delay", type=float, default=0.2, help="the server's seconds a request")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--alone", type=int, default=40, help="items that are judged one at a time")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    ideal = math.ceil(ITEMS / options.concurrency) * options.delay
    with serving(options.delay) as base_url:
        seconds(base_url, options.concurrency, 0, options.concurrency)  # imports, first connections
        runs = [
            seconds(base_url, options.concurrency, 1000 * run, ITEMS)
            for run in range(1, options.runs + 1)
        ]
        part = seconds(base_url, 1, 0, options.alone)
    alone = part * ITEMS / options.alone
    print(f"{ITEMS} items, {options.delay * 1000:.0f} ms an answer, every reply kept in the cache")
    print(f"{'':34}{'seconds':>9}{'of ideal':>10}")
    print(f"{f'ideal, concurrency {options.concurrency}':34}{ideal:9.2f}{1:10.2f}")
    for run, measured in enumerate(runs, start=1):
        print(f"{f'measured, run {run}':34}{measured:9.2f}{measured / ideal:10.2f}")
    label = f"one at a time (from {options.alone} items)"
    print(f"{label:34}{alone:9.2f}{alone / ideal:10.2f}")
    best = min(runs)
    print(
        f"best run: {best / ideal:.2f} of ideal (limit {LIMIT}), {alone / best:.1f} times as fast"
    )
    return 0 if best <= LIMIT * ideal else 1


if __name__ == "__main__":
    raise SystemExit(main())
