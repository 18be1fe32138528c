"""The commands of `procedural-evals`: one module a command, with `HELP`, `configure` and `execute`.

Adding a command is adding a module and its name to `NAMES`. A module imports what it needs inside
`execute`, so that the command line starts fast.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

#: In the order in which `--help` lists them; a module's name has underscores for hyphens.
NAMES = (
    "run",
    "check-data",
    "contact-sheet",
    "report",
    "compare",
    "audit",
    "judge-audit",
    "simulate",
    "demo",
)


def set_variables(variables: Mapping[str, object]) -> None:
    """Settings go through the environment: lmms-eval runs in a process (or several) of its own."""
    for name, value in variables.items():
        if value is not None:
            os.environ[name] = str(value)
