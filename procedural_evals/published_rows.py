"""Rows of a published dataset, whose videos are inside the rows or only named, made to be read.

A dataset that `upload.py build` made holds a video as bytes, or (where it may not be passed on) as
its place below the folder of all benchmarks' media. `with_media` gives the rows the form that our
own builders give them: the path of a file on this machine, or null and the reason.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from procedural_evals import folders, sources

if TYPE_CHECKING:
    import datasets

#: The column that says where a video lies, below $PROCEDURAL_EVALS_DATA.
VIDEO_FILE = "video_file"
#: How the problem of a row begins whose video may not be passed on.
LINKED = "video linked"


def with_media(
    rows: datasets.Dataset, root: str | os.PathLike[str] | None = None
) -> datasets.Dataset:
    """The rows with `video` as the path of a file on this machine.

    Bytes are written to the cache, once for all rows that share them. A linked video is taken from
    `root` (default: $PROCEDURAL_EVALS_DATA); the row of one that is not there keeps its problem.
    Rows of our own builders, which have no column `video_file`, are returned as they are.

    >>> from datasets import Dataset
    >>> rows = Dataset.from_dict({"id": ["a"]})
    >>> with_media(rows) is rows
    True
    """
    import datasets

    if VIDEO_FILE not in rows.column_names:
        return rows
    root = root if root is not None else os.environ.get(sources.DATA_VARIABLE)
    folder = Path(root).expanduser().resolve() if root else None
    videos: list[dict[str, Any] | None] = []
    problems: list[list[str]] = []
    media = rows.select_columns(["video", VIDEO_FILE, "problems"])
    for row in media.cast_column("video", datasets.Video(decode=False)):
        path, left = _found(row, folder)
        videos.append(None if path is None else {"bytes": None, "path": path})
        problems.append(left)
    names, features = rows.column_names, rows.features
    # Columns are exchanged, not mapped: no picture of a row is decoded and encoded again.
    rows = rows.remove_columns(["video", "problems"])
    rows = rows.add_column("video", videos, feature=datasets.Video(decode=False))
    rows = rows.add_column("problems", problems, feature=features["problems"])
    return rows.select_columns(names)


def _found(row: dict[str, Any], folder: Path | None) -> tuple[str | None, list[str]]:
    """The video of a row on this machine, and the problems that are left."""
    video, problems = row["video"], list(row["problems"])
    if video is not None and video["bytes"] is not None:
        return str(_kept(video["bytes"], video["path"])), problems
    if folder is None or not any(problem.startswith(LINKED) for problem in problems):
        return None, problems
    media = sources.find_media(folder, [row[VIDEO_FILE]])
    if media.path is None:
        return None, problems
    return str(media.path), [each for each in problems if not each.startswith(LINKED)]


def _kept(content: bytes, name: str | None) -> Path:
    """The file with these bytes in the cache; written there if it is not."""
    suffix = Path(name).suffix if name else ".mp4"
    path = folders.cache("videos") / f"{hashlib.sha256(content).hexdigest()}{suffix}"
    if not path.is_file() or path.stat().st_size != len(content):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        unfinished.write_bytes(content)
        unfinished.replace(path)
    return path
