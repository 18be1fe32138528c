"""Prompt templates: text files with `$placeholders`, found by benchmark and name.

A template is `lmms_tasks/<benchmark>/prompts/<name>.txt`. With `PROCEDURAL_EVALS_PROMPTS=DIR`, the
file `DIR/<benchmark>/<name>.txt` goes first, so that somebody with other words can use them; the
template's hash goes into the results, so that two runs with different words are never compared
unawares.
"""

from __future__ import annotations

import hashlib
import os
import string
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
    """The template of that benchmark and name; FileNotFoundError lists what there is."""
    return _load(benchmark, name, os.environ.get(PROMPTS_VARIABLE))


@cache
def _load(benchmark: str, name: str, override: str | None) -> Template:
    own = folders.lmms_tasks() / benchmark / "prompts"
    places = [own / f"{name}.txt"]
    if override:
        if not Path(override).is_dir():
            raise FileNotFoundError(f"${PROMPTS_VARIABLE}={override} is not a folder")
        places.insert(0, Path(override) / benchmark / f"{name}.txt")
    for path in places:
        if path.is_file():
            return Template(f"{benchmark}/{name}", path.read_text(encoding="utf-8"), path)
    known = ", ".join(sorted(path.stem for path in own.glob("*.txt"))) or "none"
    raise FileNotFoundError(f"{benchmark}: no template {name!r}; there are: {known}")
