"""Checks of a built folder's rows: what is in them, and what a reader gets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

from procedural_evals.hub import dataset_card, record, reload
from procedural_evals.hub.checks import Problem
from procedural_evals.hub.leaks import Scanner
from procedural_evals.hub.parquet import VIEWER_BYTES
from procedural_evals.hub.record import BuiltDataset

#: Digests of all rows, by configuration and split.
Digests = Mapping[str, Mapping[str, Sequence[str]]]


def parquet_problems(built: BuiltDataset) -> Iterator[Problem]:
    """Row groups that are too large, and tokens and paths in the rows."""
    scanner = Scanner()
    for name in built.files:
        parquet = pq.ParquetFile(built.folder / name)
        row_number = 0
        for group in range(parquet.metadata.num_row_groups):
            stored = parquet.metadata.row_group(group).total_byte_size
            table = parquet.read_row_group(group)
            size = max(stored, table.nbytes)
            if size > VIEWER_BYTES:
                yield Problem(
                    name,
                    f"row group {group}",
                    f"{size:,} bytes, more than the viewer's {VIEWER_BYTES:,}",
                    "Build again; a single row of that size needs its media linked",
                )
            for row in table.to_pylist():
                for column, value in row.items():
                    for place, leak in scanner.in_value(value, column):
                        yield Problem(
                            name,
                            f"row {row_number} (id {row.get('id')!r}), column {place}",
                            f"{leak.what}: {leak.value}",
                            "Mend the file that the row was read from, and build again",
                        )
                row_number += 1


def reload_problems(built: BuiltDataset, digests: Digests) -> Iterator[Problem]:
    """Rows and columns that come out otherwise than they went in."""
    try:
        loaded = reload_clean(built.folder)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or ["no message"]
        yield Problem(
            ".", "load_dataset", f"it does not load with an empty cache ({last[0]})", "Build again"
        )
        return
    if loaded["foreign"]:
        yield Problem(
            ".", "load_dataset", f"loading imported {loaded['foreign'][0]}", "Report this: a bug"
        )
    default = next(n for n, entry in built.record["configs"].items() if entry["default"])
    if loaded["default"] != default:
        yield Problem(
            dataset_card.FILE,
            "YAML, configs",
            f"the default configuration is {loaded['default']!r}, not {default!r}",
            "Build again",
        )
    for config, split, entry in built.each_split():
        found = loaded["configs"][config]
        where = f"{config}, split {split}"
        first = next(iter(entry["files"]))
        schema = pq.read_schema(built.folder / first)
        if found["features"].get(split) != datasets.Features.from_arrow_schema(schema).to_dict():
            yield Problem(first, where, "it loads with other columns", "Build again")
        rows = found["rows"].get(split, [])
        if record.digest_of_rows(rows) == entry["digest"]:
            continue
        wanted = digests.get(config, {}).get(split, [])
        other = [n for n, (a, b) in enumerate(zip(rows, wanted, strict=False)) if a != b]
        which = (
            f"row {other[0]} differs" if other else f"{len(rows)} rows of {entry['rows']} differ"
        )
        yield Problem(first, where, f"it loads with other rows: {which}", "Build again")


def reload_clean(folder: Path) -> dict[str, Any]:
    """What `datasets` makes of the folder in a process of its own: offline, with an empty cache.

    The folder is loaded by its bare name. Returns the default
    configuration's name, and features and row digests by configuration and split; raises
    subprocess.CalledProcessError when it does not load.
    """
    with tempfile.TemporaryDirectory() as temporary:
        # A copy: beside the original, this package's modules could be imported.
        script = shutil.copy(reload.__file__, temporary)
        out = Path(temporary) / "loaded.json"
        # Elsewhere, by links: `datasets` takes brackets in the folder's own path for a pattern.
        here = Path(temporary) / "here"
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                link = here / folder.name / file.relative_to(folder)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file.resolve())
        private = ("HF_", "HUGGING", "PROCEDURAL_EVALS", "PYTEST")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(private)
        } | {"HF_HOME": str(Path(temporary) / "home"), "HF_HUB_OFFLINE": "1"}
        subprocess.run(
            [sys.executable, script, folder.name, str(out)],
            cwd=here,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        loaded: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return loaded
