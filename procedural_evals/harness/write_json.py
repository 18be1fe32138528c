"""Results as a JSON file that every reader of JSON takes: no NaN, no infinity."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    """Write plain dictionaries, lists, numbers and texts; numbers that are not finite as null."""
    text = json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False)
    # Half of a surrogate pair has no bytes, but an escape, which is JSON's own.
    path.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
