"""The dataset repository that holds what submitted numbers rest on."""

from __future__ import annotations

from collections.abc import Sequence

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import RepositoryNotFoundError

from procedural_evals.hub.benchmarks import read_text
from procedural_evals.hub.plan import OF_THE_HUB
from procedural_evals.hub.problems import PushError, patiently
from procedural_evals.hub.submission import SUBMISSION_FILE
from procedural_evals.hub.submit import Prepared

#: What a submitter's repository is called by default.
NAME = "procedural-evals-traces"

_CARD = """\
---
pretty_name: Traces of procedural-evals
license: other
tags: [evaluation-traces]
viewer: false
---

# Traces

What submitted numbers of procedural-evals rest on. Each has a folder,
`<benchmark>/<org>--<model>/<task id>/`:

- `submission.json`: the number with its interval, and everything that it depends on;
- `items.jsonl`: one record an item: the model's reply, what was read from it, its score.

Words of a dataset stand here only where its licence lets everybody pass them on; ids join the rest.

`procedural_evals.hub.submission.submissions(folder)` reads a local copy.
"""


def send_traces(api: HfApi, prepared: Sequence[Prepared], public: bool) -> tuple[bool, bool]:
    """Bring the repository up to date; whether it is private, and whether anything was sent.

    It is made where it is absent. PushError when it is public and `public` is not said, or the
    other way round: what others may read is never decided by accident.
    """
    repository = prepared[0].submission.traces_repo
    private = _visibility(api, repository, public)
    files = {
        f"{one.submission.folder}/{SUBMISSION_FILE}": one.submission.to_json() for one in prepared
    }
    files |= {one.submission.traces: one.items for one in prepared}
    if read_text(api, repository, "dataset", "README.md") is None:
        files["README.md"] = _CARD
    changed = {
        path: text
        for path, text in files.items()
        if read_text(api, repository, "dataset", path) != text
    }
    if changed:
        names = ", ".join(one.submission.task_id for one in prepared)
        api.create_commit(
            repository,
            [CommitOperationAdd(path, text.encode()) for path, text in changed.items()],
            commit_message=f"Traces of {prepared[0].submission.model}: {names}"[:200],
            repo_type="dataset",
        )
    return private, bool(changed)


def commits_of(api: HfApi, prepared: Sequence[Prepared]) -> dict[str, str]:
    """The commit that last changed each submission, by its folder: it stays what it is."""
    repository = prepared[0].submission.traces_repo
    files = {}
    for one in prepared:
        for path in (f"{one.submission.folder}/{SUBMISSION_FILE}", one.submission.traces):
            files[path] = one.submission.folder
    found: dict[str, tuple[str, str]] = {}
    infos = patiently(
        lambda: api.get_paths_info(repository, list(files), repo_type="dataset", expand=True),
        f"look at {repository}",
    )
    for info in infos:
        folder = files[info.path]
        if info.last_commit is None:
            raise PushError(f"{repository}: {info.path} has no commit")
        changed = (str(info.last_commit.date), str(info.last_commit.oid))
        found[folder] = max(found.get(folder, changed), changed)
    return {folder: oid for folder, (_, oid) in found.items()}


def _visibility(api: HfApi, repository: str, public: bool) -> bool:
    """Whether the repository is private, after it was made or found as asked for."""
    try:
        info = patiently(lambda: api.dataset_info(repository), f"look at {repository}")
        private = bool(info.private)
    except RepositoryNotFoundError:
        api.create_repo(repository, repo_type="dataset", private=not public)
        return not public
    _refuse_foreign(repository, [each.rfilename for each in info.siblings or ()])
    if private and public:
        raise PushError(
            f"--traces {repository} is private: make it public on its settings page first, or "
            "leave out --public"
        )
    if not private and not public:
        raise PushError(
            f"--traces {repository} is public: --public says that everybody may read the traces"
        )
    return private


def _refuse_foreign(repository: str, files: Sequence[str]) -> None:
    """PushError for a repository that something else has filled, a dataset for example."""
    foreign = [path for path in files if path not in (*OF_THE_HUB, "README.md")]
    if foreign and not any(path.endswith(f"/{SUBMISSION_FILE}") for path in foreign):
        raise PushError(
            f"--traces {repository} holds {foreign[0]} and no submission: it is no repository of "
            "traces; name another, which is made where it is absent"
        )
