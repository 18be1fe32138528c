"""Submissions on their way: traces into a dataset repository, numbers as a pull request.

The order is fixed: first what the numbers rest on, then the numbers. Everything that is already
there is found and not sent again, so that an interrupted submission is simply repeated.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from huggingface_hub import CommitOperationAdd, EvalResultEntry, HfApi
from huggingface_hub.errors import RepositoryNotFoundError

from procedural_evals.hub.benchmarks import NOTHING_SENT, Benchmark, read_text
from procedural_evals.hub.problems import PushError, patiently, told
from procedural_evals.hub.results_files import edited, existing_entries, has, results_file
from procedural_evals.hub.submit import Prepared
from procedural_evals.hub.trace_repository import commits_of, send_traces

AGAIN = "Run the same command again: what is there already is not sent twice."


@dataclass(frozen=True)
class Sent:
    """Where a submission is now.

    Attributes:
        traces: address of the traces repository.
        private: whether only its owners can read it.
        pull_request: address of the pull request; None when the numbers are on `main` already.
        new_traces, new_pull_request: whether this call made them.
    """

    traces: str
    private: bool
    pull_request: str | None
    new_traces: bool
    new_pull_request: bool


def account(api: HfApi) -> str:
    """The name behind the token."""
    with told(str(api.endpoint), lambda: NOTHING_SENT):
        return str(patiently(api.whoami, "whoami")["name"])


def entry_of(
    one: Prepared, dataset_revision: str, endpoint: str, commit: str = "main"
) -> EvalResultEntry:
    """The leaderboard's entry of a submission, whose traces are in a commit."""
    given = one.submission
    return EvalResultEntry(
        dataset_id=given.dataset,
        task_id=given.task_id,
        value=round(given.value, 4),
        dataset_revision=dataset_revision,
        date=given.date,
        source_url=f"{endpoint}/datasets/{given.traces_repo}/tree/{commit}/{given.folder}",
        source_name="Items and replies",
        notes=one.notes,
    )


def send(
    api: HfApi, prepared: Sequence[Prepared], benchmarks: Mapping[str, Benchmark], public: bool
) -> Sent:
    """Send traces and open the pull request; PushError when the Hub refuses either."""
    model, repository = prepared[0].submission.model, prepared[0].submission.traces_repo
    _check_model(api, model, {results_file(one.submission.benchmark) for one in prepared})
    with told(repository, lambda: f"No pull request was opened. {AGAIN}"):
        private, new_traces = send_traces(api, prepared, public)
        commits = commits_of(api, prepared)
    with told(model, lambda: f"The traces are there, the pull request is not. {AGAIN}"):
        entries: dict[str, list[EvalResultEntry]] = {}
        for one in prepared:
            revision = benchmarks[one.submission.dataset].revision
            entry = entry_of(one, revision, str(api.endpoint), commits[one.submission.folder])
            entries.setdefault(results_file(one.submission.benchmark), []).append(entry)
        description = _description(prepared, private, str(api.endpoint))
        address, new = _open_pull_request(api, model, entries, description)
    return Sent(f"{api.endpoint}/datasets/{repository}", private, address, new_traces, new)


def _check_model(api: HfApi, model: str, files: Iterable[str]) -> None:
    """PushError for a model without a repository, or with results that cannot be edited."""
    with told(model, lambda: NOTHING_SENT):
        try:
            patiently(lambda: api.model_info(model), f"look at {model}")
        except RepositoryNotFoundError:
            raise PushError(
                f"--model {model}: there is no such model on {api.endpoint}, or the token may not "
                "see it; numbers go into the repository of the model itself"
            ) from None
        for path in files:
            _results(api, model, path)


def _open_pull_request(
    api: HfApi, model: str, entries: Mapping[str, Sequence[EvalResultEntry]], description: str
) -> tuple[str | None, bool]:
    """The pull request's address and whether it is new; no address when `main` has it all."""
    existing = {path: _results(api, model, path) for path in entries}
    if all(has(existing[path], ours) for path, ours in entries.items()):
        return None, False
    names = ", ".join(each.task_id for ours in entries.values() for each in ours)
    title = textwrap.shorten(f"Evaluation results: {names}", 190)
    for discussion in api.get_repo_discussions(
        model, discussion_type="pull_request", discussion_status="open"
    ):
        if discussion.title == title:
            place = f"refs/pr/{discussion.num}"
            if all(has(_results(api, model, path, place), entries[path]) for path in entries):
                return str(discussion.url), False
    wanted = {path: edited(existing[path], ours) for path, ours in entries.items()}
    info = api.create_commit(
        model,
        [CommitOperationAdd(path, text.encode()) for path, text in wanted.items()],
        commit_message=title,
        commit_description=description,
        create_pr=True,
    )
    return info.pr_url, True


def _results(api: HfApi, model: str, path: str, revision: str | None = None) -> str:
    """The text of a file of results, "" without one; PushError for a file of something else."""
    text = read_text(api, model, "model", path, revision) or ""
    try:
        existing_entries(text)
    except ValueError as error:
        raise PushError(f"{model}: {path}: {error}") from None
    return text


def _description(prepared: Sequence[Prepared], private: bool, endpoint: str) -> str:
    traces = f"{endpoint}/datasets/{prepared[0].submission.traces_repo}"
    lines = [
        f"- `{one.submission.task_id}` of {one.submission.dataset}: "
        f"{one.submission.value:.2f} ({one.notes})"
        for one in prepared
    ]
    reading = (
        "They are in a private repository, which only its owners can read."
        if private
        else "They can be read by everybody."
    )
    return "\n".join(
        [
            "Numbers made by procedural-evals; every record was read anew from its reply and every "
            "number computed anew from the records before this was sent.",
            "",
            *lines,
            "",
            f"Items and replies: {traces}. {reading}",
        ]
    )
