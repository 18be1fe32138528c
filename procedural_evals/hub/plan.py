"""What a push would do: files to send, files that are there already, files to remove.

A file is there already when its content is: large files are compared by SHA-256, small ones by the
hash that git gives them. A file is read only if the repository has one of its name and size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils.sha import git_hash, sha_fileobj
from tqdm import tqdm

#: Bytes that are compared without a progress bar.
_SHOWN = 50_000_000
#: Made by the Hub itself, and says which files are large ones: a push leaves it alone.
OF_THE_HUB = frozenset({".gitattributes"})


@dataclass(frozen=True)
class LocalFile:
    """A file to be pushed; `sha256` is known if the plan had to compute it."""

    path: str
    file: Path
    size: int
    sha256: bytes | None = None


@dataclass(frozen=True)
class Plan:
    """The differences between a folder and a repository's head.

    Attributes:
        upload: files that the repository lacks, or has with another content.
        skip: files whose content is there already.
        delete: path and size of files that the folder no longer has.
    """

    upload: tuple[LocalFile, ...]
    skip: tuple[LocalFile, ...]
    delete: tuple[tuple[str, int], ...]

    @property
    def nothing_to_do(self) -> bool:
        """Whether the repository holds exactly this folder."""
        return not self.upload and not self.delete

    @property
    def upload_bytes(self) -> int:
        """Size of the files to send, in bytes."""
        return sum(each.size for each in self.upload)

    def lines(self) -> Iterator[str]:
        """One line a file."""
        for word, files in (
            ("upload", [(each.path, each.size) for each in self.upload]),
            ("skip", [(each.path, each.size) for each in self.skip]),
            ("delete", list(self.delete)),
        ):
            for path, size in files:
                yield f"  {word:<7}{size_text(size):>10}  {path}"

    def sums(self) -> str:
        """How many files go, stay and are removed, and the bytes to send.

        >>> Plan((), (), (("gone.txt", 5),)).sums()
        '0 to upload (0 B), 0 unchanged, 1 to delete'
        """
        return (
            f"{len(self.upload)} to upload ({size_text(self.upload_bytes)}), "
            f"{len(self.skip)} unchanged, {len(self.delete)} to delete"
        )


def size_text(size: int) -> str:
    """Bytes in words.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def local_files(folder: Path) -> list[LocalFile]:
    """Every file below the folder, in the order of the paths.

    What would be published by mistake is refused with a ValueError: a link out of the folder, and
    a folder without any file. Caches of Python and of the Hub's client are left out.
    """
    found = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if {"__pycache__", ".cache", ".git"} & set(parts) or file.is_dir():
            continue
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{file} is a link out of the folder {folder}: it is not pushed")
        found.append(LocalFile("/".join(parts), file, file.stat().st_size))
    if not found:
        raise ValueError(f"{folder} holds no file to push")
    return found


def plan(files: Iterable[LocalFile], remote: Iterable[RepoFile], *, delete: bool) -> Plan:
    """Compare a folder's files with a repository's.

    Args:
        files: what the repository shall hold.
        remote: the files at its head; none for a new repository.
        delete: whether files that are not among `files` go.
    """
    there = {each.path: each for each in remote}
    ours = list(files)
    candidates = [each for each in ours if _may_be_same(each, there.get(each.path))]
    total = sum(each.size for each in candidates)
    known: dict[str, LocalFile | None] = {}
    with tqdm(
        total=total, unit="B", unit_scale=True, desc="compare", disable=total < _SHOWN
    ) as bar:
        for each in candidates:
            known[each.path] = _compared(each, there[each.path])
            bar.update(each.size)
    skip = [each for each in ours if each.path in known and known[each.path] is None]
    skipped = {each.path for each in skip}
    upload = [known.get(each.path) or each for each in ours if each.path not in skipped]
    gone = there.keys() - {each.path for each in ours} - OF_THE_HUB if delete else set()
    return Plan(
        tuple(upload), tuple(skip), tuple((path, int(there[path].size)) for path in sorted(gone))
    )


def _may_be_same(file: LocalFile, remote: RepoFile | None) -> bool:
    return remote is not None and int(remote.size) == file.size


def _compared(file: LocalFile, remote: RepoFile) -> LocalFile | None:
    """None if the content is the same, else the file with its hash."""
    if remote.lfs is None:
        same = git_hash(file.file.read_bytes()) == remote.blob_id
        return None if same else file
    with file.file.open("rb") as stream:
        digest = sha_fileobj(stream)
    if digest.hex() == remote.lfs.sha256:
        return None
    return LocalFile(file.path, file.file, file.size, digest)
