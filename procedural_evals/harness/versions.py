"""Which packages made a run: their versions stand in its results file, with every task.

lmms-eval writes the state of the working directory's Git repository there and calls it its own
version; what was really installed would be lost.
"""

from __future__ import annotations

import platform
from importlib import metadata

#: What answers and scores depend on. One that is not installed is left out.
PACKAGES = (
    "procedural-evals",
    "lmms-eval",
    "transformers",
    "torch",
    "torchvision",
    "accelerate",
    "datasets",
    "av",
    "numpy",
    "pillow",
    "openai",
)

#: The key in a task's part of the results file (`configs`).
KEY = "package_versions"


def installed() -> dict[str, str]:
    """Versions by package, and Python's.

    >>> sorted(installed())[:2]
    ['accelerate', 'av']
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return dict(sorted(found.items()))
