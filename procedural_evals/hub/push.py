"""Push a built folder to a repository of the Hub: all of it in one commit, or nothing.

Large files are sent first and are invisible; the commit that names them makes the new revision
visible at once, on the parent that the plan was made for. Interrupted, the same command goes on:
the Hub says which contents it has, and they are not sent again. `HfApi.upload_folder` is not used
because it commits batch after batch, so that a reader could load half a data set.

A new repository is private until its files are committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from huggingface_hub import HfApi

from procedural_evals.hub.interrupts import two_steps
from procedural_evals.hub.plan import Plan, local_files, plan
from procedural_evals.hub.problems import PushError, told
from procedural_evals.hub.remote import Remote, remote_state
from procedural_evals.hub.sending import Progress, Target, check_card, commit, create, publish, send


@dataclass(frozen=True)
class Pushed:
    """What a push did; without a commit there was nothing to do, or it was a dry run."""

    target: Target
    plan: Plan
    commit: str | None
    public: bool
    seconds: float

    def url(self, api: HfApi) -> str:
        """The page of the new revision."""
        prefix = {"dataset": "datasets/", "space": "spaces/"}.get(self.target.repo_type, "")
        return f"{api.endpoint}/{prefix}{self.target.repo_id}/tree/{self.commit}"


def push(
    api: HfApi,
    target: Target,
    *,
    public: bool = False,
    dry_run: bool = False,
    adopt: bool = False,
    verbose: bool = False,
    say: Callable[[str], None] = print,
) -> Pushed:
    """Bring a repository to the state of a folder.

    Args:
        api: a client whose token may write to the namespace (`tokens.open_session`).
        target: what goes where.
        public: make the repository public when its files are committed; a repository that is
            public already stays so.
        dry_run: say the plan, file by file, and change nothing on the Hub.
        adopt: take over a repository that something else than this program has filled.
        verbose: say the plan file by file in any case.
        say: takes lines for the user.

    Raises PushError when the push is refused or does not come to its end, with what was done and
    what to do; ValueError for a folder that cannot be pushed.
    """
    started, progress = time.monotonic(), Progress()
    files = local_files(target.folder)
    with told(str(target), progress):
        remote = remote_state(api, target.repo_id, target.repo_type)
        _refuse(target, remote, public, adopt)
        steps = plan(files, remote.files if remote else (), delete=target.delete)
        visible = public or (remote is not None and not remote.private)
        say(f"{target}: {_headline(remote, public)}; {steps.sums()}")
        for line in steps.lines() if dry_run or verbose else ():
            say(line)
        check_card(api, target)
        if dry_run:
            built = f"; built {target.folder} (on this machine)" if target.built else ""
            say(f"  dry run: nothing was changed on the Hub{built}")
            return Pushed(target, steps, None, visible, time.monotonic() - started)
        if remote is None:
            remote = create(api, target)
            progress.created = True
        sha = None
        if not steps.nothing_to_do:
            with two_steps(progress):
                operations = send(api, target, steps, progress)
            sha = commit(api, target, remote, files, operations)
            progress.committed = True
        if public and remote.private:
            publish(api, target)
    return Pushed(target, steps, sha, visible, time.monotonic() - started)


def _headline(remote: Remote | None, public: bool) -> str:
    if remote is None:
        return f"new, {'public' if public else 'private'}"
    if remote.private:
        return "private, becomes public" if public else "private"
    return "public already" if public else "public already, and stays so"


def _refuse(target: Target, remote: Remote | None, public: bool, adopt: bool) -> None:
    if public and target.private_because:
        raise PushError(f"{target} may not be public: {target.private_because}")
    if remote is None:
        return
    if not remote.private and target.private_because:
        raise PushError(
            f"{target} is public on the Hub, and what was built may not be: "
            f"{target.private_because}. Nothing was changed"
        )
    if target.space_sdk and remote.sdk not in (None, target.space_sdk):
        raise PushError(
            f"{target} is a Space of the kind {remote.sdk!r}, not {target.space_sdk!r}. Choose "
            "another --namespace, or delete or rename that Space"
        )
    if remote.content and not (remote.ours or remote.fresh or adopt):
        more = f" and {len(remote.content) - 1} more" if len(remote.content) > 1 else ""
        raise PushError(
            f"{target} exists and was not pushed by this program: it holds "
            f"{remote.content[0]!r}{more}. Choose another --namespace, or take it over with "
            f"--adopt{', which removes other files' if target.delete else ''}"
        )
