"""`python -m procedural_evals.harness.launch ...`: lmms-eval's own command, which starts sooner.

lmms-eval imports `evaluate`, which imports transformers' pipelines, and torchvision with them, for
evaluators that no run uses. Here `evaluate` is imported while transformers cannot be found, which
it is made for; everything that is imported later finds transformers as always.
"""

from __future__ import annotations

import sys


def import_evaluate_alone() -> None:
    """Import `evaluate` without transformers, unless either is there already."""
    if "evaluate" in sys.modules or "transformers" in sys.modules:
        return
    # None is how the import system is told that a module does not exist.
    sys.modules["transformers"] = None  # type: ignore[assignment]
    try:
        import evaluate  # noqa: F401
    finally:
        del sys.modules["transformers"]


def main() -> None:
    """Run lmms-eval with the command line's arguments."""
    import_evaluate_alone()
    from lmms_eval.cli.dispatch import main as lmms_eval_main

    lmms_eval_main()


if __name__ == "__main__":
    main()
