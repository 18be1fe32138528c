"""What the rows of a run were read from, in words, and whether two such words mean the same.

    data_dir:questions.jsonl@6bba29beee6a
    ORG/NAME@COMMIT, hub:questions.jsonl@6bba29beee6a

The files that make the rows are named by their content, and a download from the Hub by its commits
besides: a copy of the same files on another machine is then known as the same data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from procedural_evals.sources import Source


def revision_of(source: Source, files: Iterable[Path]) -> str:
    """The Hub commits of a source that has some, and a digest of each file (12 hex digits)."""
    commits = [f"{repo}@{commit}" for repo, commit in source.revisions.items()]
    digests = [
        f"{source.origin}:{file.name}@{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
        for file in files
    ]
    return ", ".join([*commits, *digests])


def content_of(revision: str) -> str:
    """The digests of the files, wherever they lay; only commits where no digest is there.

    >>> content_of("data_dir:questions.jsonl@6bba29beee6a")
    'questions.jsonl@6bba29beee6a'
    >>> content_of("ann/bench@4f1c, hub:all_v1.json@5e6edb45e1ae, hub:all.json@44f1203e676c")
    'all_v1.json@5e6edb45e1ae, all.json@44f1203e676c'
    >>> content_of("ann/bench@4f1c")
    'ann/bench@4f1c'
    """
    parts = [part.split(":", 1)[-1] for part in revision.split(", ")]
    return ", ".join([part for part in parts if not is_commit(part)] or parts)


def is_commit(part: str) -> bool:
    """Whether a part of a revision names a commit of a repository, and not a file's digest.

    >>> is_commit("ann/bench@4f1c"), is_commit("all.json@44f1203e676c")
    (True, False)
    """
    return "/" in part.partition("@")[0]
