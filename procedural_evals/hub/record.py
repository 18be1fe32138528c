"""A built dataset: its folder, and `build.json`, the record of what it holds and under which terms.

    {"format": 1, "name": ..., "version": ..., "embed_media": false, "embed_text": false,
     "configs": {CONFIG: {"simulated": ..., "default": ..., "revisions": [...],
                          "linked": {COLUMN: rows}, "embedded": {COLUMN: rows},
                          "splits": {SPLIT: {"rows": n, "bytes": n, "digest": ...,
                                             "files": {PATH: {"bytes": n, "sha256": ...}}}}}},
     "terms": [{"subject", "columns", "share", "licence", "statement", "source", "notice",
                "configs": {CONFIG: {"included": [COLUMN, ...], "linked": [COLUMN, ...]}}}],
     "restricted": [LINE, ...]}

`restricted` names what is in the folder although it may not be passed on, as `terms` say; when
there is such a line, the folder is for whoever built it, and is never made public.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from procedural_evals.hub.licences import Share
from procedural_evals.sources import BUILD_RECORD

FILE = BUILD_RECORD
FORMAT = 1


class BuildError(ValueError):
    """A folder that is no built dataset, or cannot be built or published as it is."""


@dataclass(frozen=True)
class BuiltDataset:
    """A folder that is a complete dataset repository, and its record."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name that `load_dataset` takes."""
        return str(self.record["name"])

    @property
    def restricted(self) -> list[str]:
        """What is in it although it may not be passed on; empty when it may be made public.

        Made from the terms, with what the list on file has besides: one that was emptied by hand
        does not make the folder fit to be published.
        """
        return list(
            dict.fromkeys([*restrictions(self.record["terms"]), *self.record["restricted"]])
        )

    @property
    def splits(self) -> dict[str, list[str]]:
        """The splits of each configuration."""
        return {config: list(entry["splits"]) for config, entry in self.record["configs"].items()}

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Bytes and SHA-256 of every data file, by its path below the folder."""
        return {
            path: file for _, _, split in self.each_split() for path, file in split["files"].items()
        }

    def each_split(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Configuration, split and the split's entry."""
        for config, entry in self.record["configs"].items():
            for split, found in entry["splits"].items():
                yield config, split, found

    def require_public(self) -> None:
        """Raise BuildError, with the reasons, for a folder that may not be made public."""
        if self.restricted:
            raise BuildError(
                f"{self.folder} may not be made public: "
                + "; ".join(self.restricted)
                + ". Build it without --embed-media and --embed-text, or push it privately"
            )


def restrictions(terms: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each configuration that holds what may not be passed on, by a record's terms."""
    return [
        f"{config}: {', '.join(use['included'])} ({each['subject']}: {each['statement']})"
        for each in terms
        if each["share"] == Share.NO.value
        for config, use in each["configs"].items()
        if use["included"]
    ]


def load(folder: str | Path) -> BuiltDataset:
    """The built dataset in a folder; BuildError for a folder without a readable record."""
    file = Path(folder) / FILE
    if not file.is_file():
        raise BuildError(f"{folder}: no {FILE}, so it is no built dataset; make one with build")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["format"] != FORMAT:
            raise BuildError(f"{file}: format {record['format']!r}, not {FORMAT}; build it again")
        built = BuiltDataset(Path(folder), record)
        _require_fields(built)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BuildError):
            raise
        raise BuildError(f"{file}: not a record of a build ({error!r}); build it again") from error
    return built


def _require_fields(built: BuiltDataset) -> None:
    """KeyError, TypeError or AttributeError for a record that lacks what is read from it."""
    _require(built.record, "name", "terms")
    for config in built.record["configs"].values():
        _require(config, "default", "revisions", "linked", "embedded")
    for _, _, split in built.each_split():
        _require(split, "rows", "bytes", "digest")
    for file in built.files.values():
        _require(file, "bytes", "sha256")
    if not all(isinstance(line, str) for line in built.restricted):
        raise TypeError("restricted holds something that is no text")


def _require(entry: Mapping[str, Any], *names: str) -> None:
    if missing := [name for name in names if name not in entry]:
        raise KeyError(", ".join(missing))


def write(built: BuiltDataset) -> None:
    """Write the record into the folder."""
    text = json.dumps(built.record, indent=1, ensure_ascii=False) + "\n"
    (built.folder / FILE).write_text(text, encoding="utf-8")


def file_entry(file: Path) -> dict[str, Any]:
    """Bytes and SHA-256 of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return {"bytes": file.stat().st_size, "sha256": digest.hexdigest()}


def digest_of_rows(digests: Sequence[str]) -> str:
    """One digest of a split from those of its rows, in their order."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
