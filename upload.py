"""Build and push data sets, metrics and cards; submit results: `python upload.py --help`."""

from __future__ import annotations

import sys

from procedural_evals.hub.cli import main

if __name__ == "__main__":
    sys.exit(main())
