"""Benchmarks as they stand on the Hub, and whether a submission fits them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import HfApi
from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError

from procedural_evals.hub import eval_yaml, record
from procedural_evals.hub.problems import PushError, patiently, told
from procedural_evals.hub.refusals import Refusal
from procedural_evals.hub.submission import Submission
from procedural_evals.hub.submit import Prepared
from procedural_evals.hub.task_ids import task
from procedural_evals.revisions import content_of, is_commit

NOTHING_SENT = "Nothing was sent."


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
        names = (eval_yaml.FILE, record.FILE)
        texts = {name: read_text(api, repository, "dataset", name, revision) for name in names}
    for name, text in texts.items():
        if text is None:
            raise PushError(
                f"--dataset {repository} has no {name}, so it is no benchmark of this package; "
                "`upload.py build` writes it and `upload.py push` sends it"
            )
    try:
        tasks = yaml.safe_load(texts[eval_yaml.FILE] or "")["tasks"]
        configs = json.loads(texts[record.FILE] or "")["configs"]
        return Benchmark(repository, revision, tuple(str(each["id"]) for each in tasks), configs)
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        raise PushError(
            f"--dataset {repository}: {' or '.join(names)} is not as `upload.py build` writes it: "
            f"{type(error).__name__}: {error}"
        ) from None


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
        revisions = [content_of(str(each)) for each in config.get("revisions", [])]
        if given.revision not in revisions:
            yield Refusal("dataset revision", _other_data(given, where, revisions))
        if split["rows"] != given.items:
            yield Refusal(
                "partial run", f"{given.task_id} has {given.items} items; {where} {split['rows']}"
            )


def _other_data(given: Submission, where: str, revisions: Sequence[str]) -> str:
    built = "; ".join(revisions) or "unknown files"
    text = f"{given.task_id} was run on {given.revision}; {where} was built from {built}"
    if is_commit(given.revision) != all(map(is_commit, revisions)):
        older = f"run {given.task_id}" if is_commit(given.revision) else f"build {where.split()[0]}"
        text += (
            ". One is a commit and the other a digest of the files, which an older version of this "
            f"package did not write for a download: {older} again with this one"
        )
    return text


def read_text(
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
    except UnicodeDecodeError as error:
        raise PushError(f"{repository}: {path} is no text in UTF-8: {error}") from None
