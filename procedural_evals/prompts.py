"""Prompt templates: text files with `$placeholders`, found by benchmark and name.

A template is `lmms_tasks/<benchmark>/prompts/<name>.txt`. With `PROCEDURAL_EVALS_PROMPTS=DIR`, the
file `DIR/<benchmark>/<name>.txt` goes first, so that somebody with other words can use them; the
template's hash goes into the results, so that two runs with different words are never compared
unawares. Such a file uses the placeholders that ours uses; DIR holds templates of our names alone,
and rubrics (`NAME.yaml`).
"""

from __future__ import annotations

import hashlib
import os
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from procedural_evals import folders

PROMPTS_VARIABLE = "PROCEDURAL_EVALS_PROMPTS"


@dataclass(frozen=True)
class Template:
    """A template's name, its text, and the file it came from."""

    name: str
    text: str
    path: Path

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the placeholders; ValueError for a `$` that begins none (`$$` is a dollar)."""
        names = set()
        for match in string.Template.pattern.finditer(self.text):
            if match["invalid"] is not None:
                rest = self.text[match.start() :].split("\n", 1)[0]
                raise ValueError(
                    f"{self.path}: {rest[:20]!r} is no placeholder; a dollar sign is written $$"
                )
            names.add(match["named"] or match["braced"])
        return frozenset(filter(None, names))

    @property
    def hash(self) -> str:
        """First 12 hex digits of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    @property
    def id(self) -> str:
        """Name and hash, as recorded in results: `flatpack_bench/video@0123456789ab`."""
        return f"{self.name}@{self.hash}"

    def fill(self, **values: str) -> str:
        """The text with its placeholders filled; ValueError for one that has no value."""
        try:
            return string.Template(self.text).substitute(values).strip()
        except (KeyError, ValueError) as error:
            known = ", ".join(f"${name}" for name in sorted(values))
            raise ValueError(f"{self.path}: placeholder {error}; there are {known}") from None


def load_template(benchmark: str, name: str) -> Template:
    """The template of that benchmark and name.

    Raises FileNotFoundError that lists what there is, and ValueError, which names the file, for
    what a folder of own templates must not hold: unknown names, a template without a placeholder
    that ours has.
    """
    return _load(benchmark, name, os.environ.get(PROMPTS_VARIABLE))


def check_templates(benchmark: str) -> None:
    """Read all templates of a benchmark, somebody's own before ours; errors as `load_template`."""
    for name in _templates(benchmark):
        load_template(benchmark, name)


@cache
def _load(benchmark: str, name: str, override: str | None) -> Template:
    if override:
        _check_names(Path(override))
    path = _templates(benchmark).get(name)
    if path is None:
        known = ", ".join(_templates(benchmark)) or "none"
        raise FileNotFoundError(f"{benchmark}: no template {name!r}; there are: {known}")
    ours = _read(benchmark, path)
    own_path = Path(override, benchmark, path.name) if override else None
    if own_path is None or not own_path.is_file():
        return ours
    own = _read(benchmark, own_path)
    lacking = ours.placeholders - own.placeholders
    if lacking:
        raise ValueError(
            f"{own_path}: without {_dollars(lacking)}, which has to stand where the item's own "
            f"words go; needed are {_dollars(ours.placeholders)}, as in {path}"
        )
    unknown = own.placeholders - ours.placeholders
    if unknown:
        raise ValueError(
            f"{own_path}: {_dollars(unknown)} has no value; there are "
            f"{_dollars(ours.placeholders) or 'no placeholders'}, as in {path}"
        )
    return own


def _read(benchmark: str, path: Path) -> Template:
    try:
        return Template(f"{benchmark}/{path.stem}", path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from None


def _dollars(names: Iterable[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))


def _templates(benchmark: str) -> dict[str, Path]:
    """The package's own templates of a benchmark, by name."""
    files = (folders.lmms_tasks() / benchmark / "prompts").glob("*.txt")
    return {path.stem: path for path in sorted(files)}


def _check_names(folder: Path) -> None:
    """Refuse what nobody would ever read: folders and files under names that are none of ours."""
    if not folder.is_dir():
        raise FileNotFoundError(f"${PROMPTS_VARIABLE}={folder} is not a folder")
    known = [path.parent.name for path in sorted(folders.lmms_tasks().glob("*/prompts"))]
    for path in _visible(folder):
        if path.is_dir() and path.name not in known:
            raise ValueError(
                f"{path}: no benchmark has templates under that name; there are {', '.join(known)}"
            )
        if path.is_file() and path.suffix.lower() == ".txt":
            raise ValueError(
                f"{path}: a template lies in a folder of its benchmark: {', '.join(known)}"
            )
        names = [template.name for template in _templates(path.name).values()]
        for file in _visible(path) if path.is_dir() else ():
            if file.name not in names:
                raise ValueError(
                    f"{file}: {path.name} has no template of that name; there are "
                    f"{', '.join(names)}"
                )


def _visible(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
