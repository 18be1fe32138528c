"""The commands of `upload.py`: one module a command, with `HELP`, `configure` and `execute`.

As in `procedural_evals.commands`: adding a command is adding a module and its name to `NAMES`, and
a module imports what it needs inside `execute`.
"""

from __future__ import annotations

#: In the order in which `--help` lists them; a module's name has underscores for hyphens.
NAMES: tuple[str, ...] = (
    "build",
    "push",
    "submit",
    "cards",
    "leaderboard",
)
