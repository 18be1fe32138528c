"""Checks of a built folder's own files: are they those of the build, and does the card fit them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import yaml
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard

from procedural_evals.hub import dataset_card, eval_yaml, record
from procedural_evals.hub.leaks import Scanner
from procedural_evals.hub.record import BuiltDataset

#: What may lie in the folder beside the files of the record; `.cache` is huggingface_hub's own and
#: is never sent.
_OTHER_FILES = (dataset_card.FILE, eval_yaml.FILE, record.FILE, ".gitattributes")
_NOT_SENT = ".cache/huggingface/*"
#: Metadata without which a card is not found, or not used, on the Hub.
_NEEDED = ("license", "language", "pretty_name", "task_categories", "size_categories", "configs")


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


def file_problems(built: BuiltDataset) -> Iterator[Problem]:
    """Files that are missing, changed, linked, or not the build's."""
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


def card_problems(built: BuiltDataset) -> Iterator[Problem]:
    """What of the card's YAML is missing, or does not fit the files."""
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


def eval_problems(built: BuiltDataset) -> Iterator[Problem]:
    """What of `eval.yaml` does not fit the configurations and splits."""
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


def text_problems(built: BuiltDataset) -> Iterator[Problem]:
    """Tokens and paths in the files that are text."""
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
