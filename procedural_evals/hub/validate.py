"""Checks a built folder before anything is sent: what a reader gets, and what must not be in it.

Every problem names the file, the place in it, the value and the way out.
"""

from __future__ import annotations

from pathlib import Path

from procedural_evals.hub import dataset_card, record
from procedural_evals.hub.checks import (
    Problem,
    card_problems,
    eval_problems,
    file_problems,
    text_problems,
)
from procedural_evals.hub.record import BuiltDataset
from procedural_evals.hub.row_checks import Digests, parquet_problems, reload_problems

_SHOWN = 20


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
    found = [*file_problems(built)]
    if found:
        return found  # nothing else can be said about files that are not those of the build
    found += [*card_problems(built), *eval_problems(built)]
    found += [*parquet_problems(built), *text_problems(built)]
    if not any(problem.file == dataset_card.FILE for problem in found):
        found += reload_problems(built, digests or {})
    return found
