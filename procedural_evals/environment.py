"""Variables of the environment, through which a run's settings reach every process of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def variable(name: str, value: str | None) -> Iterator[None]:
    """A variable has this value within the block, or with None is not there; then as before.

    >>> with variable("PROCEDURAL_EVALS_JUDGE", "lexical"):
    ...     os.environ["PROCEDURAL_EVALS_JUDGE"]
    'lexical'
    """
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
