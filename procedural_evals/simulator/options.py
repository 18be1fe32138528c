"""What every writer of a simulated benchmark takes: products, difficulty, a folder to write to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .catalogue import KINDS
from .difficulty import PRESETS, Difficulty

NOTE = "simulation.json"


def kinds_of(products: int | Sequence[str]) -> list[str]:
    """Kinds of products; for a number, that many of them in turn.

    >>> kinds_of(2), kinds_of(["desk"])
    (['side table', 'stool'], ['desk'])
    """
    if isinstance(products, int):
        return [KINDS[n % len(KINDS)] for n in range(products)]
    return list(products)


def difficulty_of(choice: Difficulty | str | None) -> Difficulty:
    """A difficulty, the preset of that name, or the default one."""
    if not isinstance(choice, str):
        return choice or Difficulty()
    if choice not in PRESETS:
        raise ValueError(f"difficulty: no preset {choice!r}; there are {', '.join(PRESETS)}")
    return PRESETS[choice]


def empty_folder(out_dir: str | Path) -> Path:
    """The folder, if it does not exist yet or is empty; ValueError otherwise."""
    out = Path(out_dir)
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty; choose another folder or remove it")
    return out


def cleared_folder(out_dir: str | Path) -> Path:
    """The folder, after an older simulation in it was removed; ValueError for anything else."""
    out = Path(out_dir)
    if (out / NOTE).is_file():
        shutil.rmtree(out)
    elif out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} holds no simulation; choose another folder")
    return out


def write_note(out: Path, options: Mapping[str, Any], made_up: str = "all names and truth") -> None:
    """Say in the folder what is made up, and by which options; a `Difficulty` may be among them."""
    note = {"what": f"Simulated by procedural_evals.simulator; {made_up} are made up.", **options}
    (out / NOTE).write_text(json.dumps(note, indent=1, default=asdict) + "\n", encoding="utf-8")


def folder_bytes(out: Path) -> int:
    """Bytes of all files below the folder."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
