"""`python -m procedural_evals.harness.launch ...`: lmms-eval's own command, which starts sooner.

lmms-eval imports `evaluate`, which imports transformers' pipelines, torchvision and scipy.stats
for evaluators that no run uses. Here `evaluate` is imported while transformers and scipy cannot be
found, which it is made for; everything that is imported later finds them as always.
"""

from __future__ import annotations

import sys

_OPTIONAL = ("transformers", "scipy")


def import_evaluate_alone() -> None:
    """Import `evaluate` without what it does not need, unless any of it is there already."""
    if any(name in sys.modules for name in ("evaluate", *_OPTIONAL)):
        return
    for name in _OPTIONAL:
        # None is how the import system is told that a module does not exist.
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import evaluate  # noqa: F401
    finally:
        for name in _OPTIONAL:
            del sys.modules[name]


def main() -> None:
    """Run lmms-eval with the command line's arguments."""
    import_evaluate_alone()
    from lmms_eval.cli.dispatch import main as lmms_eval_main

    lmms_eval_main()


if __name__ == "__main__":
    main()
