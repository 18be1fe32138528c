"""Submissions on their way: traces into a dataset repository, numbers as a pull request.

The order is fixed: first what the numbers rest on, then the numbers. Everything that is already
there is found and not sent again, so that an interrupted submission is simply repeated.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import (
    CommitOperationAdd,
    EvalResultEntry,
    HfApi,
    eval_result_entries_to_yaml,
)
from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError

from procedural_evals.hub import eval_yaml, record
from procedural_evals.hub.problems import PushError, patiently, told
from procedural_evals.hub.refusals import Refusal
from procedural_evals.hub.rereading import digest_of
from procedural_evals.hub.submission import SUBMISSION_FILE
from procedural_evals.hub.submit import Prepared
from procedural_evals.hub.task_ids import task

RESULTS_FOLDER = ".eval_results"
TRACES_NAME = "procedural-evals-traces"

NOTHING_SENT = "Nothing was sent."
AGAIN = "Run the same command again: what is there already is not sent twice."

_TRACES_CARD = """\
---
pretty_name: Traces of procedural-evals
license: other
tags: [evaluation-traces]
viewer: false
---

# Traces

What numbers on the leaderboards of procedural-evals rest on.

`<benchmark>/<org>--<model>/<task id>/`
holds `submission.json`, the number with its interval and everything that it depends on, and
`items.jsonl`, one record an item: the model's reply, what was read from it, its score. Words of a
dataset stand here only where its licence lets everybody pass them on; ids join the rest.

`procedural_evals.hub.submission.submissions(folder)` reads a local copy.
"""


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


@dataclass(frozen=True)
class Benchmark:
    """A dataset repository as it is now.

    Attributes:
        repository: ORG/NAME.
        revision: its commit.
        task_ids: what its `eval.yaml` lists.
        configs: the configurations of its record of the build, with revisions and splits.
    """

    repository: str
    revision: str
    task_ids: tuple[str, ...]
    configs: Mapping[str, Any]


def account(api: HfApi) -> str:
    """The name behind the token."""
    with told(str(api.endpoint), lambda: NOTHING_SENT):
        return str(patiently(api.whoami, "whoami")["name"])


def benchmark(api: HfApi, repository: str) -> Benchmark:
    """The benchmark in a dataset repository; PushError when it is none."""
    with told(repository, lambda: NOTHING_SENT):
        try:
            info = patiently(lambda: api.dataset_info(repository), f"look at {repository}")
        except RepositoryNotFoundError:
            raise PushError(
                f"--dataset {repository}: there is no such dataset on {api.endpoint}, or the token "
                "may not see it"
            ) from None
        revision = str(info.sha)
        texts = {
            name: _read(api, repository, "dataset", name, revision)
            for name in (eval_yaml.FILE, record.FILE)
        }
    for name, text in texts.items():
        if text is None:
            raise PushError(
                f"--dataset {repository} has no {name}, so it is no benchmark of this package; "
                "`upload.py build` writes it and `upload.py push` sends it"
            )
    tasks = yaml.safe_load(texts[eval_yaml.FILE] or "").get("tasks") or []
    ids = tuple(str(task.get("id")) for task in tasks)
    return Benchmark(repository, revision, ids, json.loads(texts[record.FILE] or "")["configs"])


def misfits(prepared: Sequence[Prepared], benchmarks: Mapping[str, Benchmark]) -> Iterator[Refusal]:
    """Reasons why submissions do not fit the benchmarks as they stand on the Hub."""
    for one in prepared:
        given, found = one.submission, benchmarks[one.submission.dataset]
        target = task(given.task_id)
        where = f"{found.repository} at {found.revision[:12]}"
        if given.task_id not in found.task_ids:
            listed = ", ".join(found.task_ids) or "none"
            yield Refusal("leaderboard", f"{where} has no task {given.task_id}; it has {listed}")
        config = found.configs.get(target.config, {})
        split = config.get("splits", {}).get(target.split)
        if split is None:
            yield Refusal("dataset", f"{where} has no {target.config}/{target.split}")
            continue
        revisions = [digest_of(str(each)) for each in config.get("revisions", [])]
        if given.revision not in revisions:
            yield Refusal(
                "dataset revision",
                f"{given.task_id} was run on {given.revision}; {where} was built from "
                f"{', '.join(revisions) or 'unknown files'}",
            )
        if split["rows"] != given.items:
            yield Refusal(
                "partial run", f"{given.task_id} has {given.items} items; {where} {split['rows']}"
            )


def entry_of(one: Prepared, dataset_revision: str, endpoint: str) -> EvalResultEntry:
    """The leaderboard's entry of a submission."""
    given = one.submission
    return EvalResultEntry(
        dataset_id=given.dataset,
        task_id=given.task_id,
        value=round(given.value, 4),
        dataset_revision=dataset_revision,
        date=given.date,
        source_url=f"{endpoint}/datasets/{given.traces_repo}/tree/main/{given.folder}",
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
        private, new_traces = _send_traces(api, prepared, public)
    with told(model, lambda: f"The traces are there, the pull request is not. {AGAIN}"):
        address, new = _open_pull_request(api, model, prepared, benchmarks, private)
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


def _send_traces(api: HfApi, prepared: Sequence[Prepared], public: bool) -> tuple[bool, bool]:
    """Whether the repository is private, and whether anything had to be sent."""
    repository = prepared[0].submission.traces_repo
    try:
        private = bool(api.dataset_info(repository).private)
    except RepositoryNotFoundError:
        api.create_repo(repository, repo_type="dataset", private=not public)
        private = not public
    if private == public:
        raise PushError(
            f"--traces {repository} is {'private' if private else 'public'}: "
            + (
                "make it public on its settings page first, or leave out --public"
                if private
                else "--public says that the traces may be read by everybody"
            )
        )
    files = {
        f"{one.submission.folder}/{name}": text
        for one in prepared
        for name, text in (
            (SUBMISSION_FILE, one.submission.to_json()),
            (one.submission.traces.rsplit("/", 1)[1], one.items),
        )
    }
    if _read(api, repository, "dataset", "README.md") is None:
        files["README.md"] = _TRACES_CARD
    changed = {
        path: text
        for path, text in files.items()
        if _read(api, repository, "dataset", path) != text
    }
    if changed:
        api.create_commit(
            repository,
            [CommitOperationAdd(path, text.encode()) for path, text in changed.items()],
            commit_message=f"Traces of {prepared[0].submission.model}: {_tasks(prepared)}",
            repo_type="dataset",
        )
    return private, bool(changed)


def _open_pull_request(
    api: HfApi,
    model: str,
    prepared: Sequence[Prepared],
    benchmarks: Mapping[str, Benchmark],
    private: bool,
) -> tuple[str | None, bool]:
    """The pull request's address and whether it is new; no address when `main` has it all."""
    entries: dict[str, list[EvalResultEntry]] = {}
    for one in prepared:
        revision = benchmarks[one.submission.dataset].revision
        entry = entry_of(one, revision, api.endpoint)
        entries.setdefault(results_file(one.submission.benchmark), []).append(entry)
    existing = {path: _entries(api, model, path, None) for path in entries}
    wanted = {path: merged(existing[path], ours) for path, ours in entries.items()}
    if wanted == existing:
        return None, False
    title = f"Evaluation results: {_tasks(prepared)}"
    for discussion in api.get_repo_discussions(
        model, discussion_type="pull_request", discussion_status="open"
    ):
        if discussion.title != title:
            continue
        there = {path: _entries(api, model, path, f"refs/pr/{discussion.num}") for path in entries}
        if all(merged(there[path], ours) == there[path] for path, ours in entries.items()):
            return discussion.url, False
    info = api.create_commit(
        model,
        [CommitOperationAdd(path, _text(content).encode()) for path, content in wanted.items()],
        commit_message=title,
        commit_description=_description(prepared, private, api.endpoint),
        create_pr=True,
    )
    return info.pr_url, True


def _entries(api: HfApi, model: str, path: str, revision: str | None) -> list[Any]:
    """The entries of a results file; PushError for a file that holds something else."""
    text = _read(api, model, "model", path, revision)
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


def _tasks(prepared: Sequence[Prepared]) -> str:
    return ", ".join(one.submission.task_id for one in prepared)


def _read(
    api: HfApi, repository: str, kind: str, path: str, revision: str | None = None
) -> str | None:
    """A file's text, as it is on the Hub now; None when it is not there."""

    def download() -> str:
        with tempfile.TemporaryDirectory() as folder:  # nothing of it belongs into the cache
            file = api.hf_hub_download(
                repository, path, repo_type=kind, revision=revision, local_dir=folder
            )
            return Path(file).read_bytes().decode()

    try:
        return patiently(download, f"read {repository}/{path}")
    except EntryNotFoundError:
        return None
