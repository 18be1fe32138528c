"""Traces: what leaves this machine of a run's items, so that others can check a number.

Fields are chosen by name, so that nothing unknown goes along: no media, no paths. Words and labels
of a dataset stay behind where its terms do not let everybody pass them on; an item's id, the
model's reply, what was read from it and its scores are always there.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from procedural_evals.harness.masking import is_secret, without_secrets
from procedural_evals.harness.records import Record
from procedural_evals.hub.claims import Claim
from procedural_evals.hub.leaks import Scanner
from procedural_evals.hub.licences import Share, terms_for, terms_of
from procedural_evals.hub.numbers import item_scores
from procedural_evals.hub.task_ids import BenchmarkTask

#: Fields of a record that are the model's, the run's or this package's own.
OWN = (
    "id",
    "cluster",
    "category",
    "groups",
    "session",
    "time",
    "fold",
    "reply",
    "failure",
    "letter",
    "column",
    "prediction",
    "reason",
    "spans",
    "invalid_spans",
    "log_likelihoods",
    "blank",
    "num_options",
    "template",
    "context_template",
    "shown",
    "frame_times",
    "kind",
)

#: Fields that hold the dataset's words and labels, and the column whose terms they are under.
FROM_THE_DATASET = {
    "question": "question",
    "answers": "answers",
    "steps": "performed_steps",
    "context": "question",
    "evidence": "evidence",
    "gold": "answers",
}

# What a reply may hold by itself.
_WORDS = ("an absolute path", "a path that leaves the folder")
_MEDIA = re.compile(r"data:(?:image|video|audio)/[\w.+-]+;base64,")


def withheld(claim: Claim, target: BenchmarkTask) -> list[str]:
    """Names of the records' fields that stay behind, by the terms of the dataset."""
    terms = terms_of(target.dataset, simulated=target.simulated)
    present = {name for record in claim.records for name in record}
    return [
        name
        for name, column in FROM_THE_DATASET.items()
        if name in present and terms_for(terms, column).share is not Share.YES
    ]


def item_lines(claim: Claim, target: BenchmarkTask) -> str:
    """The items' records as JSON lines, in the order of their ids."""
    held = set(withheld(claim, target))
    allowed = (*OWN, *(name for name in FROM_THE_DATASET if name not in held))
    scores = item_scores(claim, target)
    lines = []
    for record in sorted(claim.records, key=lambda r: str(r["id"])):
        line = {name: record[name] for name in allowed if name in record}
        if record["id"] in scores:
            line["score"] = scores[record["id"]]
        if judgements := _judgements(claim, record, words=not held & {"question", "answers"}):
            line["judgements"] = judgements
        lines.append(json.dumps(line, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _judgements(claim: Claim, record: Record, words: bool) -> list[dict[str, Any]]:
    """What each judge said; its words may repeat the reference answers."""
    return [
        {
            "judge": each.judge,
            "grades": dict(each.grades),
            "score": each.score,
            "reason": each.reason,
            **({"replies": list(each.replies)} if words else {}),
        }
        for each in claim.verdicts.rows.get(record["id"], ())
    ]


def clean_arguments(arguments: str) -> str:
    """Model arguments without secrets, folders of this machine and addresses of private servers.

    >>> clean_arguments("pretrained=/home/ann/runs/tuned,api_key=abc,batch_size=1")
    'pretrained=tuned,batch_size=1'
    >>> clean_arguments("model_version=m,base_url=http://ann:pw@10.0.0.7:8000/v1")
    'model_version=m,base_url=http://private'
    """
    kept = []
    for part in filter(None, arguments.split(",")):
        name, separator, value = part.partition("=")
        if is_secret(name) and separator:
            continue
        kept.append(f"{name}{separator}{_clean_value(value)}")
    return without_secrets(",".join(kept))


def _clean_value(value: str) -> str:
    if re.match(r"https?://", value):
        address = urlsplit(value)
        return (
            f"{address.scheme}://{'private' if _is_private(address.hostname) else address.hostname}"
        )
    if value.startswith(("/", "~", "./", "../")) or re.match(r"[A-Za-z]:[\\/]", value):
        return re.split(r"[\\/]", value.rstrip("\\/"))[-1]
    return value


def _is_private(host: str | None) -> bool:
    if not host or host == "localhost" or "." not in host:
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host.endswith((".local", ".internal", ".lan"))


def clean(value: Any) -> Any:
    """Arguments of any shape, cleaned as `clean_arguments` does."""
    if isinstance(value, Mapping):
        return {key: clean(each) for key, each in value.items() if not is_secret(str(key))}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return without_secrets(_clean_value(value)) if isinstance(value, str) else value


def leaks(submission: str, items: str, run_folder: Path) -> Iterator[str]:
    """What must not leave this machine: credentials, media, and paths of this machine.

    A path that a model made up is its reply, and stays as it is.
    """
    scanner = Scanner()
    found = scanner.in_text(submission)
    found += [leak for leak in scanner.in_text(items) if leak.what not in _WORDS]
    yield from dict.fromkeys(f"{leak.what}: {leak.value}" for leak in found)
    if f"{run_folder.resolve()}/" in submission + items:
        yield f"a path of this machine: {run_folder.resolve()}"
    if _MEDIA.search(submission + items):
        yield "a picture or video as text"
