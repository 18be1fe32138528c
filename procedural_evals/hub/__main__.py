"""`python -m procedural_evals.hub`, for an installed package that has no `upload.py` beside it."""

from __future__ import annotations

import sys

from procedural_evals.hub.cli import main

if __name__ == "__main__":
    sys.exit(main(prog="python -m procedural_evals.hub"))
