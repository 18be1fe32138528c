"""Benchmarks of procedural video understanding for the Hugging Face ecosystem.

Importing the package makes its datasets loadable by name: `load_dataset("flatpack-bench")`.
"""

from pathlib import Path as _Path

from procedural_evals.registry import register as _register

__version__ = "0.1.0"

# `dataset_scripts/` and the other shells lie inside an installed package, but beside this one in a
# checkout. There a working directory of the checkout imports it whatever is installed.
_checkout = _Path(__file__).resolve().parent.parent
if (_checkout / "pyproject.toml").is_file() and str(_checkout) not in __path__:
    __path__.append(str(_checkout))

_register()
