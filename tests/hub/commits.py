"""Commits to a branch or as a pull request: one request, one commit, all of it or nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any

from tests.hub import cards, discussions
from tests.hub.accounts import Account, require_write, require_write_token
from tests.hub.store import Blob, RefusedError, Repository

_SMALL = 10 * 1024 * 1024  # the Hub takes larger files as large files only


def upload_modes(
    repository: Repository, revision: str, files: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """How each file is to be sent, and what is there now."""
    tree = repository.tree(revision)
    rules = _large_patterns(repository, tree)
    answers = []
    for file in files:
        path, sample = file["path"], base64.b64decode(file["sample"])
        large = file["size"] > _SMALL or b"\0" in sample
        large = large or any(fnmatch(PurePosixPath(path).name, rule) for rule in rules)
        answer = {
            "path": path,
            "uploadMode": "lfs" if large else "regular",
            "shouldIgnore": False,
        }
        if path in tree:
            answer["oid"] = tree[path].lfs or tree[path].oid
        answers.append(answer)
    return answers


def _large_patterns(repository: Repository, tree: Mapping[str, Blob]) -> list[str]:
    blob = tree.get(".gitattributes")
    lines = repository.content(blob).read_text().splitlines() if blob else []
    return [line.split()[0] for line in lines if "filter=lfs" in line.split()]


def apply(
    repository: Repository,
    revision: str,
    body: bytes,
    account: Account | None,
    pull_request: bool,
) -> tuple[str, int | None]:
    """Commit what the lines of the body say; the commit's id and the pull request's number."""
    lines = [json.loads(line) for line in body.splitlines() if line.strip()]
    if not lines or lines[0]["key"] != "header":
        raise RefusedError(400, "the first line of a commit must be its header")
    header = lines[0]["value"]
    author = _author(repository, revision, account, pull_request)
    with repository.lock:
        head = repository.resolve(revision)
        parent = header.get("parentCommit", head)
        if parent != head and not pull_request:
            raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
        tree = repository.tree(parent)
        for line in lines[1:]:
            _apply_line(repository, tree, line["key"], line["value"])
        _check_card(repository, tree)
        sha = repository.add_commit(
            tree, [parent], header["summary"], header.get("description", ""), author.name
        )
        if pull_request:
            number = discussions.open_pull_request(
                repository, header["summary"], header.get("description", ""), author.name, parent
            )
            ref = discussions.ref(number)
        else:
            ref, number = repository.ref_of(revision) or "", None
            if not ref:
                raise RefusedError(400, f"{revision} is no branch")
        repository.set_ref(ref, sha)
        discussions.note_commit(repository, ref, sha, header["summary"], author.name)
        return sha, number


def _author(
    repository: Repository, revision: str, account: Account | None, pull_request: bool
) -> Account:
    if pull_request:
        return require_write_token(account)
    opened_by = discussions.author_of(repository, revision)
    if opened_by is not None and account is not None and account.name == opened_by:
        return require_write_token(account)
    return require_write(account, repository.id.split("/")[0])


def _apply_line(
    repository: Repository, tree: dict[str, Blob], key: str, value: Mapping[str, Any]
) -> None:
    path = value["path"]
    if key == "file":
        content = base64.b64decode(value["content"])
        if len(content) > _SMALL:
            raise RefusedError(400, f"{path} is too large for a small file ({len(content)} bytes)")
        tree[path] = repository.add_small(content)
    elif key == "lfsFile":
        tree[path] = repository.large(value["oid"])
    elif key == "deletedFile":
        if path not in tree:
            raise RefusedError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        del tree[path]
    elif key == "deletedFolder":
        inside = [name for name in tree if name.startswith(path.rstrip("/") + "/")]
        if not inside:
            raise RefusedError(
                404, f"A folder with this name doesn't exist: {path}", "EntryNotFound"
            )
        for name in inside:
            del tree[name]
    else:
        raise RefusedError(400, f"unknown operation {key!r}")


def _check_card(repository: Repository, tree: Mapping[str, Blob]) -> None:
    blob = tree.get("README.md")
    if blob is not None:
        errors, _ = cards.check(repository.content(blob).read_text(), repository.kind)
        if errors:
            raise RefusedError(400, "invalid metadata in README.md: " + "; ".join(errors))
