"""Repositories of the local Hub, as files on disk.

A repository is a folder `models|datasets|spaces/NAMESPACE/NAME` with

    repo.json        visibility, SDK of a Space, dates, secrets' names, variables
    refs.json        {"refs/heads/main": commit, "refs/pr/1": commit, "refs/tags/v1": commit}
    commits/SHA.json parents, title, message, author, date, tree: path -> {oid, size, lfs}
    blobs/OID        contents of small files, by git's SHA-1
    lfs/SHA256       contents of large files
    discussions/N.json

so that a stopped server goes on from its folder. A commit is written once and never changed.
"""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from hashlib import sha1
from pathlib import Path
from typing import Any

from huggingface_hub.utils.sha import git_hash

MAIN = "refs/heads/main"
KINDS = ("model", "dataset", "space")

_LFS_EVERYWHERE = (
    "*.7z *.arrow *.bin *.gz *.h5 *.npy *.npz *.parquet *.pt *.safetensors *.tar *.zip"
)
_LFS_OF_DATASETS = "*.flac *.mp3 *.wav *.gif *.png *.jpg *.jpeg *.webp *.mkv *.mp4 *.webm *.avi"


@dataclass(frozen=True)
class Blob:
    """One file of a commit: git's object id, the size in bytes, SHA-256 if it is a large file."""

    oid: str
    size: int
    lfs: str | None = None


class RefusedError(Exception):
    """The answer to a request that the Hub does not grant."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def now() -> str:
    """The time in the Hub's format."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def write_json(path: Path, value: object) -> None:
    """Write in one step: a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    partial.write_text(json.dumps(value))
    partial.replace(path)


def pointer(sha256: str, size: int) -> bytes:
    """What git holds in place of a large file."""
    return (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
    )


class Repository:
    """One repository; `kind` is model, dataset or space."""

    def __init__(self, folder: Path, kind: str, name: str) -> None:
        self.folder, self.kind, self.id = folder, kind, name
        self.lock = threading.RLock()

    @property
    def settings(self) -> dict[str, Any]:
        """`private`, `created`, `sdk` and so on."""
        return dict(json.loads((self.folder / "repo.json").read_text()))

    def set(self, **changes: object) -> None:
        """Change settings."""
        with self.lock:
            write_json(self.folder / "repo.json", {**self.settings, **changes})

    @property
    def private(self) -> bool:
        """Whether only members of the namespace see it."""
        return bool(self.settings["private"])

    @property
    def refs(self) -> dict[str, str]:
        """Full names of branches, tags and pull requests, with their commits."""
        return dict(json.loads((self.folder / "refs.json").read_text()))

    def set_ref(self, ref: str, commit: str | None) -> None:
        """Point a reference at a commit, or remove it."""
        with self.lock:
            refs = self.refs
            refs.pop(ref, None)
            write_json(self.folder / "refs.json", refs if commit is None else {**refs, ref: commit})

    def ref_of(self, revision: str) -> str | None:
        """The full name of a branch, tag or pull request."""
        refs = self.refs
        tried = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
        return next((name for name in tried if name in refs), None)

    def resolve(self, revision: str) -> str:
        """The commit that a name or a commit id stands for."""
        ref = self.ref_of(revision)
        if ref is not None:
            return self.refs[ref]
        if len(revision) == 40 and (self.folder / "commits" / f"{revision}.json").is_file():
            return revision
        raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def commit(self, revision: str = "main") -> dict[str, Any]:
        """A commit's record, with its `id`."""
        sha = self.resolve(revision)
        return {"id": sha, **json.loads((self.folder / "commits" / f"{sha}.json").read_text())}

    def tree(self, revision: str = "main") -> dict[str, Blob]:
        """Path -> file at a revision, in the order of the paths."""
        stored = self.commit(revision)["tree"]
        return {path: Blob(**stored[path]) for path in sorted(stored)}

    def files(self, revision: str = "main") -> list[str]:
        """The paths at a revision."""
        return list(self.tree(revision))

    def read(self, path: str, revision: str = "main") -> bytes:
        """The content of a file at a revision."""
        return self.content(self.tree(revision)[path]).read_bytes()

    def content(self, blob: Blob) -> Path:
        """Where the bytes of a file are."""
        return self.folder / ("lfs" if blob.lfs else "blobs") / (blob.lfs or blob.oid)

    def has_large(self, sha256: str) -> bool:
        """Whether a large file was uploaded, committed or not."""
        return (self.folder / "lfs" / sha256).is_file()

    def add_small(self, content: bytes) -> Blob:
        """Keep the content of a small file."""
        blob = Blob(git_hash(content), len(content))
        path = self.content(blob)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return blob

    def large(self, sha256: str) -> Blob:
        """The entry of an uploaded large file."""
        path = self.folder / "lfs" / sha256
        if not path.is_file():
            raise RefusedError(400, f"LFS pointer pointed to a file that does not exist: {sha256}")
        size = path.stat().st_size
        return Blob(git_hash(pointer(sha256, size)), size, sha256)

    def add_commit(
        self,
        tree: Mapping[str, Blob],
        parents: Iterable[str],
        title: str,
        message: str = "",
        author: str = "hub",
    ) -> str:
        """Write a commit and return its id; no reference is moved."""
        record = {
            "tree": {path: asdict(blob) for path, blob in sorted(tree.items())},
            "parents": list(parents),
            "title": title,
            "message": message,
            "author": author,
            "date": now(),
        }
        sha = sha1(json.dumps(record, sort_keys=True).encode() + uuid.uuid4().bytes).hexdigest()
        write_json(self.folder / "commits" / f"{sha}.json", record)
        return sha

    def history(self, revision: str = "main") -> Iterator[dict[str, Any]]:
        """Commits from the newest to the first, along first parents."""
        commit: dict[str, Any] | None = self.commit(revision)
        while commit is not None:
            yield commit
            commit = self.commit(commit["parents"][0]) if commit["parents"] else None


class Store:
    """All repositories below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self._open: dict[tuple[str, str], Repository] = {}

    def find(self, kind: str, name: str) -> Repository | None:
        """The repository, or None."""
        with self.lock:
            folder = self.folder / f"{kind}s" / name
            if not (folder / "refs.json").is_file():
                return None
            return self._open.setdefault((kind, name), Repository(folder, kind, name))

    def all(self, kind: str) -> list[Repository]:
        """Every repository of a kind, the newest first."""
        top = self.folder / f"{kind}s"
        names = [path.parent.relative_to(top).as_posix() for path in top.glob("*/*/refs.json")]
        found = [self.find(kind, name) for name in names]
        return sorted(
            (repository for repository in found if repository is not None),
            key=lambda repository: str(repository.settings["created"]),
            reverse=True,
        )

    def create(self, kind: str, name: str, author: str, **settings: object) -> Repository:
        """A new repository with its first commit, which holds `.gitattributes` as on the Hub.

        That of a Space holds a README.md as well, which names the SDK.
        """
        with self.lock:
            folder = self.folder / f"{kind}s" / name
            write_json(folder / "repo.json", {"created": now(), "author": author, **settings})
            repository = Repository(folder, kind, name)
            large = _LFS_EVERYWHERE + (f" {_LFS_OF_DATASETS}" if kind == "dataset" else "")
            rules = "".join(
                f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in large.split()
            )
            tree = {".gitattributes": repository.add_small(rules.encode())}
            if kind == "space":
                card = f"---\ntitle: {name.split('/')[1]}\nsdk: {settings['sdk']}\n---\n"
                tree["README.md"] = repository.add_small(card.encode())
            first = repository.add_commit(tree, [], "initial commit", author=author)
            write_json(folder / "refs.json", {MAIN: first})
            self._open[kind, name] = repository
            return repository

    def delete(self, repository: Repository) -> None:
        """Remove a repository for good."""
        with self.lock:
            self._open.pop((repository.kind, repository.id), None)
            doomed = repository.folder.with_name(f".{uuid.uuid4().hex}")
            repository.folder.replace(doomed)
            shutil.rmtree(doomed)
