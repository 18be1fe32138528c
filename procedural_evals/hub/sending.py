"""The steps of a push, each of which may be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_session
from huggingface_hub.errors import HfHubHTTPError

from procedural_evals.hub.plan import LocalFile, Plan, plan, size_text
from procedural_evals.hub.problems import PushError, patiently, status_of
from procedural_evals.hub.remote import MARK, Remote, remote_state

#: Files and bytes that are sent before the next are looked at.
_GROUP_FILES, _GROUP_BYTES = 50, 2_000_000_000


@dataclass(frozen=True)
class Target:
    """A folder and where it goes.

    Attributes:
        folder: its files become the repository's files.
        repo_id: `NAMESPACE/NAME`.
        repo_type: "dataset", "model" or "space".
        space_sdk: of a Space.
        delete: whether files go that the folder does not have.
        private_because: why it may not be public; empty if it may.
        built: whether the folder was made just now.
    """

    folder: Path
    repo_id: str
    repo_type: str
    space_sdk: str | None = None
    delete: bool = True
    private_because: str = ""
    built: bool = False

    def __str__(self) -> str:
        return f"{self.repo_type} {self.repo_id}"


class Progress:
    """How far a push came, in a sentence."""

    def __init__(self) -> None:
        self.created = self.committed = False
        self.sent: list[LocalFile] = []
        self.total = 0

    def __call__(self) -> str:
        if self.committed:
            return "The files are committed; run the same command again for what comes after."
        if not self.created and not self.sent:
            return "Nothing was changed. The same command may be run again."
        parts = ["The repository was made, and is empty and private."] if self.created else []
        if self.total:
            size = size_text(sum(each.size for each in self.sent))
            least = "At least " if len(self.sent) < self.total else ""
            parts.append(f"{least}{len(self.sent)} of {self.total} files ({size}) are sent.")
        parts.append("Nothing of it is visible yet: the same command goes on from there.")
        return " ".join(parts)


def check_card(api: HfApi, target: Target) -> None:
    """Ask the Hub about README.md before anything is sent."""
    card = target.folder / "README.md"
    if not card.is_file():
        raise PushError(f"{target}: {target.folder} has no README.md; build it again")
    body = {"content": card.read_text(encoding="utf-8"), "repoType": target.repo_type}
    url = f"{api.endpoint}/api/validate-yaml"
    answer = patiently(lambda: get_session().post(url, json=body), "validate README.md")
    if answer.status_code == 400:
        wrong = "; ".join(str(each["message"]) for each in answer.json().get("errors", []))
        raise PushError(f"{target}: the Hub refuses the metadata of {card}: {wrong}")
    answer.raise_for_status()


def create(api: HfApi, target: Target) -> Remote:
    """Make a private repository."""
    patiently(
        lambda: api.create_repo(
            target.repo_id,
            repo_type=target.repo_type,
            private=True,
            space_sdk=target.space_sdk,
            exist_ok=True,  # an answer may be lost, and the request be sent again
        ),
        "create the repository",
    )
    made = remote_state(api, target.repo_id, target.repo_type)
    if made is None:
        raise PushError(
            f"{target} exists, but this token does not see it. Ask its owner for access, or "
            "choose another --namespace"
        )
    return made


def _groups(files: Sequence[LocalFile]) -> Iterator[list[LocalFile]]:
    group: list[LocalFile] = []
    for each in files:
        group.append(each)
        if len(group) >= _GROUP_FILES or sum(one.size for one in group) >= _GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group


def send(
    api: HfApi, target: Target, steps: Plan, progress: Progress
) -> list[CommitOperationAdd | CommitOperationDelete]:
    """Send the large files that the Hub does not have, invisibly; what is left to commit."""
    progress.total = len(steps.upload)
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationDelete(path, is_folder=False) for path, _ in steps.delete
    ]
    for group in _groups(steps.upload):
        additions = [_addition(each) for each in group]
        api.preupload_lfs_files(
            target.repo_id, additions=additions, repo_type=target.repo_type, free_memory=False
        )
        operations += additions
        progress.sent += group
    return operations


def _addition(file: LocalFile) -> CommitOperationAdd:
    operation = CommitOperationAdd(file.path, str(file.file))
    if file.sha256 is not None:
        operation.upload_info.sha256 = file.sha256
    return operation


def commit(
    api: HfApi,
    target: Target,
    remote: Remote,
    files: Sequence[LocalFile],
    operations: Sequence[CommitOperationAdd | CommitOperationDelete],
) -> str:
    """Make the new revision visible, if the head is still the one that was looked at."""
    name = target.repo_id.split("/")[-1]
    try:
        made = patiently(
            lambda: api.create_commit(
                target.repo_id,
                operations=operations,
                commit_message=f"{MARK} {version('procedural-evals')}: {name}",
                repo_type=target.repo_type,
                parent_commit=remote.sha,
            ),
            "commit",
        )
    except HfHubHTTPError as error:
        if status_of(error) != 412:
            raise
        # Somebody else's commit, or our own whose answer was lost.
        now = remote_state(api, target.repo_id, target.repo_type)
        if now is None or not plan(files, now.files, delete=target.delete).nothing_to_do:
            raise
        return now.sha
    return str(made.oid)


def publish(api: HfApi, target: Target) -> None:
    """Make the repository public."""
    patiently(
        lambda: api.update_repo_settings(target.repo_id, repo_type=target.repo_type, private=False),
        "publish",
    )
