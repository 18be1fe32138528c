"""Benchmarks of procedural video understanding for the Hugging Face ecosystem.

Importing the package makes its datasets loadable by name: `load_dataset("flatpack-bench")`.
"""

from procedural_evals.registry import register as _register

__version__ = "0.1.0"

_register()
