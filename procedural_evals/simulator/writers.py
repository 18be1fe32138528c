"""Which benchmarks the simulated world can be written out as, and by what."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = "procedural_evals.simulator"


class Writer(NamedTuple):
    """The functions that write one benchmark: the embedded sample, and any other world."""

    module: str
    sample: str
    simulate: str
    amount: str  # the argument that says how many products, toys or sessions are simulated


WRITERS = {
    "flatpack-bench": Writer("sample", "make_flatpack_sample", "simulate_flatpack", "products"),
    "procobject-10k": Writer(
        "procobject_layout", "make_procobject_sample", "simulate_procobject", "test"
    ),
    "dyad": Writer("dyad_sample", "make_dyad_sample", "simulate_dyad", "sessions"),
    "promqa-assembly": Writer("promqa_sample", "make_promqa_sample", "simulate_promqa", "products"),
}


def _function(name: str, which: str) -> Callable[..., Any]:
    if name not in WRITERS:
        raise ValueError(f"{name!r} is not simulated; there are {', '.join(WRITERS)}")
    writer = WRITERS[name]
    module = importlib.import_module(f"{_PACKAGE}.{writer.module}")
    function: Callable[..., Any] = getattr(module, getattr(writer, which))
    return function


def make_sample(name: str, out_dir: Path) -> Any:
    """Make the embedded sample of a benchmark anew, in place of what is in the folder."""
    return _function(name, "sample")(out_dir, progress=True)


def simulate(name: str, out_dir: Path, amount: int, seed: int, difficulty: str) -> Any:
    """Write a simulated world as a benchmark: `amount` products, toys or sessions."""
    function = _function(name, "simulate")
    options = {WRITERS[name].amount: amount, "seed": seed, "difficulty": difficulty}
    return function(out_dir, **options)
