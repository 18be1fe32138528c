"""Checks a built folder before anything is sent: what a reader gets, and what must not be in it.

Every problem names the file, the place in it, the value and the way out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import yaml
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard

from procedural_evals.hub import dataset_card, eval_yaml, record, reload
from procedural_evals.hub.leaks import Scanner
from procedural_evals.hub.parquet import VIEWER_BYTES
from procedural_evals.hub.record import BuiltDataset

#: What may lie in the folder beside the files of the record; `.cache` is huggingface_hub's own and
#: is never sent.
_OTHER_FILES = (dataset_card.FILE, eval_yaml.FILE, record.FILE, ".gitattributes")
_NOT_SENT = ".cache/huggingface/*"
#: Metadata without which a card is not found, or not used, on the Hub.
_NEEDED = ("license", "language", "pretty_name", "task_categories", "size_categories", "configs")
_SHOWN = 20

Digests = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: in which file, where in it, which value, and what to do."""

    file: str
    where: str
    value: str
    way_out: str

    def __str__(self) -> str:
        place = f"{self.file}, {self.where}" if self.where else self.file
        return f"{place}: {self.value}. {self.way_out}"


class InvalidFolderError(ValueError):
    """A folder that is not fit to be published; the message has a line a problem."""


def require_valid(
    folder: str | Path, digests: Digests | None = None, called: str | Path | None = None
) -> BuiltDataset:
    """The built dataset in the folder; InvalidFolderError, with all problems, when it has some.

    `called` is the name that the message gives the folder.
    """
    found = problems(folder, digests)
    if found:
        lines = [f"  {problem}" for problem in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(f"  and {len(found) - _SHOWN} more")
        raise InvalidFolderError(f"{called or folder} cannot be published:\n" + "\n".join(lines))
    return record.load(folder)


def problems(folder: str | Path, digests: Digests | None = None) -> list[Problem]:
    """Everything that is wrong with a built folder; BuildError for one that has no record.

    Args:
        folder: the folder that `build` made.
        digests: those of all rows by configuration and split, where the caller has them: a row that
            comes out otherwise is then named.
    """
    built = record.load(folder)
    found = [*_file_problems(built)]
    if found:
        return found  # nothing else can be said about files that are not those of the build
    found += [*_card_problems(built), *_eval_problems(built)]
    found += [*_parquet_problems(built), *_text_leaks(built)]
    if not any(problem.file == dataset_card.FILE for problem in found):
        found += _reload_problems(built, digests or {})
    return found


# ---- the files ----------------------------------------------------------------------------------


def _file_problems(built: BuiltDataset) -> Iterator[Problem]:
    there = {}
    for path in sorted(built.folder.rglob("*")):
        name = path.relative_to(built.folder).as_posix()
        if path.is_symlink():
            yield Problem(name, "", f"a link to {path.readlink()}", "Put no links here")
        elif path.is_file() and not fnmatch(name, _NOT_SENT):
            there[name] = path
    for name, entry in built.files.items():
        if name not in there:
            yield Problem(name, "", "the file is missing", "Build the folder again")
        elif record.file_entry(there[name]) != entry:
            yield Problem(
                name,
                "",
                f"not the bytes of {record.FILE}",
                "It was changed: build the folder again",
            )
    for name in (dataset_card.FILE, *([eval_yaml.FILE] if _has_tasks(built) else [])):
        if name not in there:
            yield Problem(name, "", "the file is missing", "Build the folder again")
    for name in there.keys() - built.files.keys() - set(_OTHER_FILES):
        yield Problem(name, "", "no file of the build", "Move it away: all here is published")


def _has_tasks(built: BuiltDataset) -> bool:
    return bool(eval_yaml.listed_tasks(built.name, built.splits))


# ---- the card -----------------------------------------------------------------------------------


def _card_problems(built: BuiltDataset) -> Iterator[Problem]:
    file = dataset_card.FILE
    try:
        data = DatasetCard.load(built.folder / file).data
        configs = MetadataConfigs.from_dataset_card_data(data)
        infos = datasets.info.DatasetInfosDict.from_dataset_card_data(data)
    except (ValueError, TypeError, KeyError, yaml.YAMLError) as error:
        yield Problem(file, "YAML", f"it cannot be read ({error})", "Mend it, or build again")
        return
    for key in _NEEDED:
        if not data.get(key):
            yield Problem(file, f"YAML, {key}", "there is none", "Add it, or build again")
    for where, names in (("configs", configs), ("dataset_info", infos)):
        if set(names) != set(built.splits):
            yield Problem(
                file,
                f"YAML, {where}",
                f"configurations {sorted(names)}; the folder has {sorted(built.splits)}",
                "Build again",
            )
            return
    for config, splits in built.splits.items():
        where = f"YAML, {config}"
        patterns = {each["split"]: each["path"] for each in configs[config]["data_files"]}
        for split in splits:
            files = built.record["configs"][config]["splits"][split]["files"]
            pattern = patterns.get(split, "")
            matched = sorted(p.relative_to(built.folder).as_posix() for p in _glob(built, pattern))
            if matched != sorted(files):
                yield Problem(
                    file,
                    f"{where}, data_files",
                    f"{pattern!r} matches {matched}; split {split} is in {sorted(files)}",
                    "Build again",
                )
        yield from _info_problems(built, config, infos[config])


def _glob(built: BuiltDataset, pattern: Any) -> list[Path]:
    return list(built.folder.glob(pattern)) if isinstance(pattern, str) and pattern else []


def _info_problems(
    built: BuiltDataset, config: str, info: datasets.DatasetInfo
) -> Iterator[Problem]:
    file, where = dataset_card.FILE, f"YAML, dataset_info of {config}"
    for split, entry in built.record["configs"][config]["splits"].items():
        stated = (info.splits or {}).get(split)
        if stated is None or stated.num_examples != entry["rows"]:
            rows = "none" if stated is None else stated.num_examples
            yield Problem(
                file,
                where,
                f"{rows} rows in {split}, where there are {entry['rows']}",
                "Build again",
            )
        for name in entry["files"]:
            stored = datasets.Features.from_arrow_schema(pq.read_schema(built.folder / name))
            if stored != info.features:
                other = [
                    column
                    for column in {**stored, **(info.features or {})}
                    if stored.get(column) != (info.features or {}).get(column)
                ]
                yield Problem(
                    file, where, f"columns {other} differ from those of {name}", "Build again"
                )


def _eval_problems(built: BuiltDataset) -> Iterator[Problem]:
    file = built.folder / eval_yaml.FILE
    if not file.is_file():
        return
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        yield Problem(eval_yaml.FILE, "", f"it cannot be read ({error})", "Mend it, or build again")
        return
    for problem in eval_yaml.problems(content, built.splits):
        yield Problem(eval_yaml.FILE, "", problem, "Mend it, or build again")


# ---- the rows -----------------------------------------------------------------------------------


def _parquet_problems(built: BuiltDataset) -> Iterator[Problem]:
    scanner = Scanner()
    for name in built.files:
        parquet = pq.ParquetFile(built.folder / name)
        if not parquet.metadata.num_rows:
            continue
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


def _text_leaks(built: BuiltDataset) -> Iterator[Problem]:
    scanner = Scanner()
    for name in _OTHER_FILES:
        file = built.folder / name
        if not file.is_file():
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for leak in scanner.in_text(line):
                yield Problem(
                    name, f"line {number}", f"{leak.what}: {leak.value}", "Take it out of the file"
                )


# ---- what a reader gets -------------------------------------------------------------------------


def _reload_problems(built: BuiltDataset, digests: Digests) -> Iterator[Problem]:
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

    The folder is loaded by its bare name from the one it stands in. Returns the default
    configuration's name, and features and row digests by configuration and split; raises
    subprocess.CalledProcessError when it does not load.
    """
    with tempfile.TemporaryDirectory() as temporary:
        # A copy: beside the original, this package's modules could be imported.
        script = shutil.copy(reload.__file__, temporary)
        out = Path(temporary) / "loaded.json"
        private = ("HF_", "HUGGING", "PROCEDURAL_EVALS", "PYTEST")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(private)
        } | {"HF_HOME": str(Path(temporary) / "home"), "HF_HUB_OFFLINE": "1"}
        subprocess.run(
            [sys.executable, script, folder.name, str(out)],
            cwd=folder.resolve().parent,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        loaded: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return loaded
