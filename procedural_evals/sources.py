"""Where a benchmark's files live, what is missing, and how to get it.

In this order: the `data_dir=` that was given; the folder `$PROCEDURAL_EVALS_DATA/<name>/`; a
download of the authors' own repositories from the Hub, whose revision is recorded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

DATA_VARIABLE = "PROCEDURAL_EVALS_DATA"
#: In a folder that `upload.py build` made, and in a download of the repository made of it.
BUILD_RECORD = "build.json"


@dataclass(frozen=True)
class HubRepo:
    """A dataset repository on the Hub that holds (part of) a benchmark's layout.

    `patterns` are the small files that a load needs; the media are fetched by hand (`check-data`
    prints the command), because they are large.
    """

    repo_id: str
    patterns: tuple[str, ...]
    revision: str | None = None


@dataclass(frozen=True)
class Source:
    """A folder in a benchmark's layout, where it came from, and the Hub revision if it has one."""

    folder: Path
    origin: str
    revisions: dict[str, str] = field(default_factory=dict)


class SourceNotFoundError(FileNotFoundError):
    """No folder and no download: the message says what was looked for and the ways out."""


def local_folder(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder given, or the benchmark's folder under $PROCEDURAL_EVALS_DATA, made absolute.

    None when neither is there; SourceNotFoundError when `data_dir` was given and is no folder.
    """
    if data_dir is not None:
        given = Path(data_dir).expanduser().resolve()
        if not given.is_dir():
            raise SourceNotFoundError(f"{name}: data_dir={str(data_dir)!r} is not a folder")
        return given
    root = os.environ.get(DATA_VARIABLE)
    if root:
        folder = Path(root).expanduser().resolve() / name
        return folder if folder.is_dir() else None
    return None


def require_authors_files(name: str, folder: Path) -> None:
    """SourceNotFoundError, with the way out, for a folder that is a built dataset."""
    if (folder / BUILD_RECORD).is_file():
        raise SourceNotFoundError(
            f"{name}: {folder} holds a dataset that `upload.py build` made ({BUILD_RECORD}), where "
            f"the authors' files are looked for. It loads by itself, "
            f'load_dataset("{folder}"), and tasks run on it in a working directory that has it as '
            f"{name}; move it out of ${DATA_VARIABLE}"
        )


def resolve(
    name: str,
    repos: Sequence[HubRepo],
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
) -> Source:
    """The benchmark's folder, downloaded from the Hub when it is not on this machine.

    Args:
        name: the name that `load_dataset` takes.
        repos: the authors' repositories, all of which are laid into one folder.
        data_dir: a folder that was given, which goes first.
        revision: commit or tag of the first repository, instead of its newest.
    """
    folder = local_folder(name, data_dir)
    if folder is not None:
        require_authors_files(name, folder)
        return Source(folder, "data_dir" if data_dir is not None else DATA_VARIABLE)
    return _download(name, repos, revision)


def _download(name: str, repos: Sequence[HubRepo], revision: str | None) -> Source:
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    # What the client's HTTP library raises without an answer is no OSError; its errors have the
    # class under that of the Hub's own.
    no_answer: type[Exception] = HfHubHTTPError.__bases__[0]
    revisions: dict[str, str] = {}
    folder = Path(constants.HF_HOME) / "procedural_evals" / name
    try:
        for number, repo in enumerate(repos):
            wanted = revision if number == 0 and revision else repo.revision
            sha = HfApi().dataset_info(repo.repo_id, revision=wanted).sha
            revisions[repo.repo_id] = str(sha)
        # One folder a set of revisions, so that two of them never mix.
        folder /= "-".join(sha[:12] for sha in revisions.values())
        for repo in repos:
            snapshot_download(
                repo.repo_id,
                repo_type="dataset",
                revision=revisions[repo.repo_id],
                allow_patterns=list(repo.patterns),
                local_dir=folder,
            )
    except (no_answer, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        raise SourceNotFoundError(
            f"{name}: no data_dir was given, {_environment(name)}, and the Hub download of "
            f"{', '.join(repo.repo_id for repo in repos)} failed ({_first_line(error)}).\n"
            f"Get the files with:\n{how_to_get(name, repos)}\n"
            f'or pass data_dir=, or load the embedded sample: load_dataset("{name}", "sample").'
        ) from error
    return Source(folder, "hub", revisions)


def how_to_get(name: str, repos: Sequence[HubRepo], root: str = f"${DATA_VARIABLE}") -> str:
    """The commands that put the benchmark's files, media included, where they are looked for."""
    return "\n".join(
        f"  hf download {repo.repo_id} --repo-type dataset --local-dir {root}/{name}"
        for repo in repos
    )


def _environment(name: str) -> str:
    root = os.environ.get(DATA_VARIABLE)
    return f"${DATA_VARIABLE} ({root}) has no folder {name}" if root else f"${DATA_VARIABLE} unset"


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


def fingerprint(folder: Path) -> str:
    """Digest of the names, sizes and times of all files below the folder.

    A file that is added, removed or changed changes it, so that a cache keyed by it is never stale.
    """
    digest = hashlib.sha256()
    for path in files_below(folder):
        stat = path.stat() if path.exists() else None
        entry = (str(path.relative_to(folder)), stat and (stat.st_size, stat.st_mtime_ns))
        digest.update(repr(entry).encode())
    return digest.hexdigest()


def files_below(folder: Path) -> Iterator[Path]:
    """All files below the folder, in the order of their names, behind linked folders as well.

    Folders whose names begin with a dot are passed over. A folder that was listed already (a link
    to a folder around it, two links to one) is given as a path and not listed again.
    """
    seen: set[str] = set()
    for base, folders, files in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(base))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in tuple(folders):
            target = os.path.realpath(Path(base, name))
            if target in seen:
                folders.remove(name)
                yield Path(base, name)
            seen.add(target)
        yield from (Path(base, file) for file in sorted(files))


def inside(folder: Path, relative: str) -> Path:
    """`folder / relative`, or ValueError when that path leaves the folder.

    Absolute paths and `..` are refused, because the names in annotation files come from elsewhere.
    Links are followed: who put one into the data folder meant it (videos on another disk).

    >>> inside(Path("/data"), "../etc/passwd")
    Traceback (most recent call last):
    ...
    ValueError: '../etc/passwd' leaves the data folder /data
    """
    pure = PurePosixPath(relative)
    if pure.is_absolute() or ".." in pure.parts or "\x00" in relative:
        raise ValueError(f"{relative!r} leaves the data folder {folder}")
    return folder / pure


@dataclass(frozen=True)
class Media:
    """A media file that a row names: where it is, or why there is none (missing, damaged, ...)."""

    path: Path | None
    problem: str | None
    candidates: tuple[str, ...]


def find_media(folder: Path, candidates: Sequence[str]) -> Media:
    """The first of the relative paths that is a file with content, or what is wrong with all.

    >>> find_media(Path("/nowhere"), ["videos/a.mp4"]).problem
    'missing: no videos/a.mp4'
    """
    names = tuple(candidates)
    for name in names:
        try:
            path = inside(folder, name)
        except ValueError as error:
            return Media(None, f"refused: {error}", names)
        if path.is_file():
            if path.stat().st_size == 0:
                return Media(None, f"empty: {name} has no bytes", names)
            return Media(path, None, names)
    return missing(names)


def missing(names: tuple[str, ...]) -> Media:
    """The media file that is at none of these relative paths.

    >>> missing(("a.mp4", "b.mp4")).problem
    'missing: no a.mp4 (nor in 1 other place)'
    """
    others = len(names) - 1
    places = f" (nor in {others} other place{'s' if others > 1 else ''})" if others else ""
    return Media(None, f"missing: no {names[0]}{places}", names)
