"""Repositories, trees and leaderboards in the JSON that huggingface_hub reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha1
from typing import Any

import yaml

from tests.hub import cards, discussions
from tests.hub.store import Blob, RefusedError, Repository, pointer

PREFIX = {"model": "", "dataset": "datasets/", "space": "spaces/"}


def large(blob: Blob) -> dict[str, Any] | None:
    """What is said of a large file beside its git object."""
    if blob.lfs is None:
        return None
    return {
        "oid": blob.lfs,
        "sha256": blob.lfs,
        "size": blob.size,
        "pointerSize": len(pointer(blob.lfs, blob.size)),
    }


def entries(
    tree: Mapping[str, Blob],
    folder: str,
    recursive: bool,
    last: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Files and folders below a folder ("" is the top); `last` names each path's last commit."""
    start = f"{folder}/" if folder else ""
    inside = {path: blob for path, blob in tree.items() if path.startswith(start)}
    if not inside and folder:
        raise RefusedError(404, f"{folder} does not exist", "EntryNotFound")
    found: dict[str, dict[str, Any]] = {}
    for path, blob in inside.items():
        parts = path.removeprefix(start).split("/")
        for depth in range(1, len(parts)):
            parent = start + "/".join(parts[:depth])
            if (recursive or depth == 1) and parent not in found:
                found[parent] = directory(tree, parent)
        if recursive or len(parts) == 1:
            found[path] = file(path, blob, last)
    return [found[path] for path in sorted(found)]


def file(
    path: str, blob: Blob, last: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """A file's entry of a tree."""
    entry: dict[str, Any] = {"type": "file", "path": path, "oid": blob.oid, "size": blob.size}
    if blob.lfs:
        entry["lfs"] = large(blob)
    if last is not None:
        entry["lastCommit"] = {name: last[path][name] for name in ("id", "title", "date")}
    return entry


def directory(tree: Mapping[str, Blob], path: str) -> dict[str, Any]:
    """A folder's entry of a tree."""
    below = [f"{name} {blob.oid}" for name, blob in tree.items() if name.startswith(f"{path}/")]
    return {
        "type": "directory",
        "path": path,
        "oid": sha1("\n".join(below).encode()).hexdigest(),
        "size": 0,
    }


def last_commits(repository: Repository, revision: str) -> dict[str, dict[str, Any]]:
    """For each path of a revision, the commit that last changed it."""
    wanted = repository.tree(revision)
    found: dict[str, dict[str, Any]] = {}
    for commit in repository.history(revision):
        parent = repository.tree(commit["parents"][0]) if commit["parents"] else {}
        for path, blob in wanted.items():
            if path not in found and parent.get(path) != blob:
                found[path] = commit
    return found


def card(repository: Repository, revision: str = "main") -> dict[str, Any]:
    """The metadata of the repository's README.md."""
    if "README.md" not in repository.tree(revision):
        return {}
    return cards.metadata(repository.read("README.md", revision).decode())


def _tags(data: Mapping[str, Any]) -> list[str]:
    tags = [str(tag) for tag in data.get("tags") or []]
    for name in ("license", "datasets", "language", "task_categories"):
        listed = data.get(name) or []
        one = name if name in ("license", "task_categories", "language") else "dataset"
        tags += [f"{one}:{value}" for value in (listed if isinstance(listed, list) else [listed])]
    return tags


def repository_info(
    repository: Repository, revision: str = "main", blobs: bool = False
) -> dict[str, Any]:
    """Everything that is known of a repository at a revision."""
    commit, settings = repository.commit(revision), repository.settings
    data = card(repository, revision)
    siblings = []
    for path, blob in repository.tree(revision).items():
        more = {"size": blob.size, "blobId": blob.oid, "lfs": large(blob)} if blobs else {}
        siblings.append({"rfilename": path, **more})
    info = {
        "_id": sha1(f"{repository.kind}/{repository.id}".encode()).hexdigest()[:24],
        "id": repository.id,
        "author": repository.id.split("/")[0],
        "sha": commit["id"],
        "lastModified": commit["date"],
        "createdAt": settings["created"],
        "private": settings["private"],
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": _tags(data),
        "cardData": data or None,
        "siblings": siblings,
        "usedStorage": sum(blob.size for blob in repository.tree(revision).values()),
    }
    if repository.kind == "model":
        info["modelId"] = repository.id
        info["evalResults"] = [
            {"filename": path, **({"error": error} if error else {"data": entry})}
            for path, entry, error in eval_results(repository, revision)
        ]
    if repository.kind == "space":
        info["sdk"] = data.get("sdk", settings.get("sdk"))
    return info


def eval_results(
    repository: Repository, revision: str = "main"
) -> Iterable[tuple[str, Any, str | None]]:
    """Path, entry and fault (or None) of every result below `.eval_results/`."""
    for path in repository.files(revision):
        if path.startswith(".eval_results/") and path.endswith((".yaml", ".yml")):
            try:
                value = yaml.safe_load(repository.read(path, revision))
            except yaml.YAMLError as error:
                yield path, None, f"invalid YAML: {error}"
                continue
            if not isinstance(value, list):
                yield path, value, "the file is not a list of results"
                continue
            for entry in value:
                yield path, entry, _fault_of_result(entry)


def _fault_of_result(entry: object) -> str | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("dataset"), dict):
        return "a result needs dataset.id and dataset.task_id"
    missing = [
        name for name in ("id", "task_id") if not isinstance(entry["dataset"].get(name), str)
    ]
    if missing:
        return f"dataset.{missing[0]} is missing"
    value = entry.get("value")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"value must be a number, not {value!r}"
    return None


def leaderboard(dataset: str, models: Iterable[Repository]) -> list[dict[str, Any]]:
    """Results for a dataset, merged and in open pull requests, the greatest value first."""
    rows = []
    for model in models:
        merged = _sound(model, "main")
        rows += [_row(model, path, entry, None) for path, entry in merged]
        for record in discussions.every(model):
            if record["isPullRequest"] and record["status"] in ("open", "draft"):
                rows += [
                    _row(model, path, entry, record["num"])
                    for path, entry in _sound(model, discussions.ref(record["num"]))
                    if (path, entry) not in merged
                ]
    rows = [row for row in rows if row.pop("dataset") == dataset]
    rows.sort(key=lambda row: -float(row["value"]))
    return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]


def _sound(model: Repository, revision: str) -> list[tuple[str, dict[str, Any]]]:
    found = eval_results(model, revision)
    return [(path, entry) for path, entry, fault in found if fault is None]


def _row(
    model: Repository, path: str, entry: Mapping[str, Any], pull_request: int | None
) -> dict[str, Any]:
    return {
        "dataset": entry["dataset"]["id"],
        "modelId": model.id,
        "value": entry["value"],
        "filename": path,
        "verified": False,
        "source": entry.get("source"),
        "notes": entry.get("notes"),
        "author": {"type": "org", "name": model.id.split("/")[0]},
        "pullRequest": pull_request,
    }
