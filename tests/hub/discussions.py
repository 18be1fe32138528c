"""Discussions and pull requests: a file each, with the events in their order."""

from __future__ import annotations

import difflib
import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.hub.store import MAIN, Blob, RefusedError, Repository, now, write_json


def ref(number: int) -> str:
    """The reference of a pull request."""
    return f"refs/pr/{number}"


def _path(repository: Repository, number: int) -> Path:
    return repository.folder / "discussions" / f"{number}.json"


def load(repository: Repository, number: int) -> dict[str, Any]:
    """One discussion's record."""
    path = _path(repository, number)
    if not path.is_file():
        raise RefusedError(404, f"Discussion {number} not found")
    return dict(json.loads(path.read_text()))


def every(repository: Repository) -> list[dict[str, Any]]:
    """All discussions, the newest first."""
    numbers = (int(path.stem) for path in (repository.folder / "discussions").glob("[0-9]*.json"))
    return [load(repository, number) for number in sorted(numbers, reverse=True)]


def author_of(repository: Repository, revision: str) -> str | None:
    """Who opened the pull request that a revision names."""
    number = revision.removeprefix("refs/pr/")
    if number == revision or not number.isdigit():
        return None
    return str(load(repository, int(number))["author"])


def _event(kind: str, author: str, **data: object) -> dict[str, Any]:
    return {
        "id": uuid.uuid4().hex[:24],
        "type": kind,
        "createdAt": now(),
        "author": {"name": author, "type": "user"},
        "data": data,
    }


def _comment(author: str, text: str) -> dict[str, Any]:
    latest = {"raw": text, "html": text, "updatedAt": now(), "author": {"name": author}}
    return _event("comment", author, edited=False, hidden=False, latest=latest, history=[])


def open_discussion(
    repository: Repository, title: str, description: str, author: str, **more: object
) -> int:
    """A new discussion; its number."""
    with repository.lock:
        number = 1 + max((one["num"] for one in every(repository)), default=0)
        record = {
            "num": number,
            "title": title,
            "status": "open",
            "author": author,
            "createdAt": now(),
            "isPullRequest": False,
            "events": [_comment(author, description)] if description else [],
            **more,
        }
        write_json(_path(repository, number), record)
        return number


def open_pull_request(
    repository: Repository,
    title: str,
    description: str,
    author: str,
    base: str,
    status: str = "open",
) -> int:
    """A new pull request that starts from the commit `base`; its number."""
    number = open_discussion(
        repository, title, description, author, isPullRequest=True, base=base, status=status
    )
    repository.set_ref(ref(number), base)
    return number


def _save(repository: Repository, record: Mapping[str, Any]) -> None:
    write_json(_path(repository, record["num"]), record)


def note_commit(repository: Repository, name: str, sha: str, title: str, author: str) -> None:
    """Add a commit to the events, if the reference is a pull request's."""
    if name.startswith("refs/pr/"):
        record = load(repository, int(name.removeprefix("refs/pr/")))
        record["events"].append(_event("commit", author, subject=title, oid=sha))
        _save(repository, record)


def comment(repository: Repository, number: int, author: str, text: str) -> dict[str, Any]:
    """Add a comment; the event."""
    with repository.lock:
        record = load(repository, number)
        record["events"].append(_comment(author, text))
        _save(repository, record)
        return dict(record["events"][-1])


def rename(repository: Repository, number: int, author: str, title: str) -> dict[str, Any]:
    """Give another title; the event."""
    with repository.lock:
        record = load(repository, number)
        event = _event("title-change", author, **{"from": record["title"], "to": title})
        record["events"].append(event)
        _save(repository, {**record, "title": title})
        return event


def set_status(repository: Repository, number: int, author: str, status: str) -> dict[str, Any]:
    """Close or reopen; the event."""
    with repository.lock:
        record = load(repository, number)
        if record["status"] == "merged":
            raise RefusedError(409, f"Pull request {number} is merged")
        event = _event("status-change", author, status=status)
        record["events"].append(event)
        _save(repository, {**record, "status": status})
        return event


def _changed(
    old: Mapping[str, Blob], new: Mapping[str, Blob]
) -> dict[str, tuple[Blob | None, Blob | None]]:
    return {
        path: (old.get(path), new.get(path))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    }


def conflicts(repository: Repository, record: Mapping[str, Any]) -> list[str]:
    """Paths that both the pull request and main changed since the one left the other."""
    changes = _changed(repository.tree(record["base"]), repository.tree(ref(record["num"])))
    main = repository.tree()
    return [path for path, pair in changes.items() if main.get(path) not in pair]


def merge(repository: Repository, number: int, author: str) -> dict[str, Any]:
    """Bring a pull request's changes into main as one commit; the event."""
    with repository.lock:
        record = load(repository, number)
        if not record["isPullRequest"] or record["status"] not in ("open", "draft"):
            raise RefusedError(409, f"{number} is no open pull request: it is {record['status']}")
        clashing = conflicts(repository, record)
        if clashing:
            raise RefusedError(409, f"Merge conflicts in {', '.join(clashing)}")
        tree = repository.tree()
        changes = _changed(repository.tree(record["base"]), repository.tree(ref(number)))
        for path, (_, new) in changes.items():
            tree.pop(path, None)
            if new is not None:
                tree[path] = new
        parents = [repository.resolve("main"), repository.resolve(ref(number))]
        title = f"{record['title']} (#{number})"
        sha = repository.add_commit(tree, parents, title, author=author)
        repository.set_ref(MAIN, sha)
        event = _event("status-change", author, status="merged")
        record["events"].append(event)
        _save(repository, {**record, "status": "merged", "mergeCommitId": sha})
        return event


def _text(repository: Repository, blob: Blob | None) -> list[str]:
    if blob is None:
        return []
    if blob.lfs:
        return [f"oid sha256:{blob.lfs}\n"]
    return repository.content(blob).read_text(errors="replace").splitlines(keepends=True)


def diff(repository: Repository, record: Mapping[str, Any]) -> str:
    """What a pull request changes, as a unified diff."""
    changes = _changed(repository.tree(record["base"]), repository.tree(ref(record["num"])))
    lines: list[str] = []
    for path, (old, new) in changes.items():
        lines += difflib.unified_diff(
            _text(repository, old), _text(repository, new), f"a/{path}", f"b/{path}"
        )
    return "".join(lines)


def summary(repository: Repository, record: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a list of discussions."""
    return {
        **{name: record[name] for name in ("num", "title", "status", "createdAt")},
        "isPullRequest": record["isPullRequest"],
        "author": {"name": record["author"], "type": "user"},
        "repo": {"name": repository.id, "type": repository.kind},
    }


def details(repository: Repository, record: Mapping[str, Any]) -> dict[str, Any]:
    """One discussion with its events and, of a pull request, its changes."""
    answer = {**summary(repository, record), "events": record["events"]}
    if record["isPullRequest"]:
        open_now = record["status"] in ("open", "draft")
        answer["changes"] = {"base": MAIN, "mergeCommitId": record.get("mergeCommitId")}
        answer["filesWithConflicts"] = conflicts(repository, record) if open_now else []
        answer["diff"] = diff(repository, record)
    return answer
