"""What a repository of the Hub holds now, and whether this program has filled it."""

from __future__ import annotations

from dataclasses import dataclass

from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile

from procedural_evals.hub.plan import OF_THE_HUB
from procedural_evals.hub.problems import PushError, patiently

#: How the titles of this program's commits begin.
MARK = "procedural-evals"


@dataclass(frozen=True)
class Remote:
    """A repository at its head.

    Attributes:
        sha: the head's commit.
        private: whether only members of the namespace see it.
        files: every file, `.gitattributes` too.
        sdk: of a Space that has one.
        ours: whether a commit of this program is in its history.
        fresh: whether nobody has committed to it; the Hub itself may have put a README.md there.
    """

    sha: str
    private: bool
    files: tuple[RepoFile, ...]
    sdk: str | None
    ours: bool
    fresh: bool

    @property
    def content(self) -> list[str]:
        """The paths that the Hub itself did not put there."""
        return [each.path for each in self.files if each.path not in OF_THE_HUB]


def remote_state(api: HfApi, repo_id: str, repo_type: str) -> Remote | None:
    """The repository's state; None if there is none, or none that the token may see."""

    def ask() -> Remote | None:
        try:
            info = api.repo_info(repo_id, repo_type=repo_type)
        except RepositoryNotFoundError:
            return None
        if getattr(info, "disabled", False):
            raise PushError(f"{repo_type} {repo_id} is disabled by the Hub")
        sha = str(info.sha)
        tree = api.list_repo_tree(repo_id, recursive=True, revision=sha, repo_type=repo_type)
        commits = api.list_repo_commits(repo_id, repo_type=repo_type, revision=sha)
        return Remote(
            sha=sha,
            private=bool(info.private),
            files=tuple(each for each in tree if isinstance(each, RepoFile)),
            sdk=getattr(info, "sdk", None),
            ours=any(each.title.startswith(f"{MARK} ") for each in commits),
            fresh=[each.title for each in commits] == ["initial commit"],
        )

    return patiently(ask, f"look at {repo_id}")
