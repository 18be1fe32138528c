"""Submissions on their way: traces into a dataset repository, numbers as a pull request.

The order is fixed: first what the numbers rest on, then the numbers. Everything that is already
there is found and not sent again, so that an interrupted submission is simply repeated.
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from huggingface_hub import (
    CommitOperationAdd,
    EvalResultEntry,
    HfApi,
    eval_result_entries_to_yaml,
)
from huggingface_hub.errors import RepositoryNotFoundError

from procedural_evals.hub.benchmarks import NOTHING_SENT, Benchmark, read_text
from procedural_evals.hub.problems import PushError, patiently, told
from procedural_evals.hub.submit import Prepared
from procedural_evals.hub.trace_repository import commits_of, send_traces

RESULTS_FOLDER = ".eval_results"
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


def as_yaml(content: Sequence[EvalResultEntry]) -> str:
    """Entries as the text of a results file."""
    return _text(eval_result_entries_to_yaml(list(content)))


def _text(content: Sequence[Any]) -> str:
    text: str = yaml.safe_dump(list(content), sort_keys=False, allow_unicode=True, width=100)
    return text


def results_file(benchmark_name: str) -> str:
    """Where a model's repository keeps its numbers on a benchmark.

    >>> results_file("dyad")
    '.eval_results/dyad.yaml'
    """
    return f"{RESULTS_FOLDER}/{benchmark_name}.yaml"


def merged(existing: Sequence[Any], entries: Sequence[EvalResultEntry]) -> list[Any]:
    """The existing entries with ours: in place of those of the same task ids, else at the end."""
    ours = {_key(each): each for each in eval_result_entries_to_yaml(list(entries))}
    kept = [ours.pop(_key(each), each) for each in existing]
    return [*kept, *ours.values()]


def _key(entry: Any) -> tuple[Any, Any]:
    dataset = entry.get("dataset") if isinstance(entry, dict) else None
    return (
        (dataset.get("id"), dataset.get("task_id")) if isinstance(dataset, dict) else (None, entry)
    )


def send(
    api: HfApi, prepared: Sequence[Prepared], benchmarks: Mapping[str, Benchmark], public: bool
) -> Sent:
    """Send traces and open the pull request; PushError when the Hub refuses either."""
    model, repository = prepared[0].submission.model, prepared[0].submission.traces_repo
    _check_model(api, model)
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


def _check_model(api: HfApi, model: str) -> None:
    with told(model, lambda: NOTHING_SENT):
        try:
            patiently(lambda: api.model_info(model), f"look at {model}")
        except RepositoryNotFoundError:
            raise PushError(
                f"--model {model}: there is no such model on {api.endpoint}, or the token may not "
                "see it; numbers go into the repository of the model itself"
            ) from None


def _open_pull_request(
    api: HfApi, model: str, entries: Mapping[str, Sequence[EvalResultEntry]], description: str
) -> tuple[str | None, bool]:
    """The pull request's address and whether it is new; no address when `main` has it all."""
    existing = {path: _entries(api, model, path, None) for path in entries}
    if all(_has(existing[path], ours) for path, ours in entries.items()):
        return None, False
    names = ", ".join(each.task_id for ours in entries.values() for each in ours)
    title = textwrap.shorten(f"Evaluation results: {names}", 190)
    for discussion in api.get_repo_discussions(
        model, discussion_type="pull_request", discussion_status="open"
    ):
        if discussion.title == title:
            place = f"refs/pr/{discussion.num}"
            if all(_has(_entries(api, model, path, place), entries[path]) for path in entries):
                return str(discussion.url), False
    wanted = {path: merged(existing[path], ours) for path, ours in entries.items()}
    info = api.create_commit(
        model,
        [CommitOperationAdd(path, _text(content).encode()) for path, content in wanted.items()],
        commit_message=title,
        commit_description=description,
        create_pr=True,
    )
    return info.pr_url, True


def _has(existing: Sequence[Any], entries: Sequence[EvalResultEntry]) -> bool:
    """Whether these entries are there already.

    The dataset's commit may be another: it moves with every change of the dataset's card.
    """
    there = [_without_commit(each) for each in existing]
    return all(_without_commit(each) in there for each in eval_result_entries_to_yaml([*entries]))


def _without_commit(entry: Any) -> Any:
    entry = copy.deepcopy(entry)
    if isinstance(entry, dict) and isinstance(entry.get("dataset"), dict):
        entry["dataset"].pop("revision", None)
    return entry


def _entries(api: HfApi, model: str, path: str, revision: str | None) -> list[Any]:
    """The entries of a results file; PushError for a file that holds something else."""
    text = read_text(api, model, "model", path, revision)
    if text is None:
        return []
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PushError(f"{model}: {path} is not readable as YAML: {error}") from None
    if not isinstance(content, list):
        raise PushError(f"{model}: {path} holds no list of results; nothing is written over it")
    return content


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
