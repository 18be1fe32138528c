"""Loads a built dataset as somebody else would, and writes down what came out.

    python reload.py FOLDER OUT.json

`validate` runs a copy of this file in a process of its own, with an empty cache, offline and
without this package: what is written down is what `datasets` alone makes of the folder.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def digest_of(row: Mapping[str, Any]) -> str:
    """Digest of a row as it is stored; of media, their bytes count by their hash.

    >>> digest_of({"a": 1}) == digest_of({"a": 1.0})
    False
    """
    text = json.dumps(row, default=_bytes_digest, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _bytes_digest(value: Any) -> str:
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    raise TypeError(f"{type(value).__name__} is no value of a stored row")


def _loaded(folder: str) -> dict[str, Any]:
    import datasets

    found = {}
    for config in datasets.get_dataset_config_names(folder):
        splits = datasets.load_dataset(folder, config)
        found[config] = {
            "features": {name: rows.features.to_dict() for name, rows in splits.items()},
            "rows": {
                name: [
                    digest_of(row)
                    for table in rows.with_format("arrow").iter(batch_size=100)
                    for row in table.to_pylist()
                ]
                for name, rows in splits.items()
            },
        }
    default = datasets.get_dataset_default_config_name(folder)
    return {"default": default, "configs": found, "foreign": _foreign()}


def _foreign() -> list[str]:
    """Modules of this package that are loaded: none may be needed."""
    return sorted(name for name in sys.modules if name.split(".")[0] == "procedural_evals")


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(_loaded(sys.argv[1])), encoding="utf-8")
