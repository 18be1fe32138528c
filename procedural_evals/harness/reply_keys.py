"""What a reply depends on, as a key: two requests with one key would get the same reply.

A key covers, each as a part of its own with a short hash:

- `model`: the model's class and arguments, but for those that only say where and how fast it runs;
  the files of a local checkpoint (size and time), the commit of one from the Hub, the server.
- `code`: the sources of the task's protocol, of what makes frames and clips (`SHOWING` and all that
  it imports) and of the model's own module, without comments and docstrings, and the version of
  lmms-eval. Parsers and scores are not among them: they read a reply after it was given.
- `item`: the row's content, pictures included; of a video the name and size of the file.
- `prompt`: the filled template and its id, the media columns, the frame plan.
- `generation`: the task's generation arguments, and for sampled replies the seed and the repeat.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from procedural_evals.harness.protocols import VIDEO_AS_FRAMES, Protocol, frames_for_video

#: Modules that make what a model is shown beside a row's words and pictures, which are parts
#: themselves: frames and clips.
SHOWING = (
    "procedural_evals.clips",
    "procedural_evals.frame_cache",
    "procedural_evals.prompted_video",
    "procedural_evals.video",
)
# Fields of protocols that say how a reply is read, not what is shown.
_READING = re.compile(
    r"categories|cluster|decoding|explicit|grounded|groups|metrics|reads_json|rubric"
)
# Arguments of models that say where a model runs, how fast, and for how long it may be tried.
_IMMATERIAL = re.compile(
    r"batch_size|max_batch_size|device|device_map|num_cpus|num_concurrent|max_concurrency|threads"
    r"|timeout|max_retries|retries|retry_backoff_s|work_dir|verbose|verbosity|disable_log_stats"
    r"|(tensor|data)_parallel_size|gpu_memory_utilization|adaptive_\w+|prefix_\w+"
)
# What every model of lmms-eval rests on; its version stands for it.
_BASES = ("abc", "builtins", "lmms_eval.api.model")
_PACKAGE = "procedural_evals"
_SECRET = ("key", "token", "secret", "password")
# Up to this size a file is told by its content, a larger one by its size (and time).
_SMALL_FILE = 4 * 1024 * 1024
_LOGIN = re.compile(r"(?<=//)[^/@\s]+@")


def model_parts(lm: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a model that lmms-eval has made with these arguments; no secrets."""
    material = {
        name: _LOGIN.sub("", value) if isinstance(value, str) else value
        for name, value in sorted(arguments.items())
        if not _IMMATERIAL.fullmatch(name) and not any(name.casefold().endswith(s) for s in _SECRET)
    }
    kind = type(lm)
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "arguments": material,
        "files": {name: found for name, value in material.items() if (found := _files(value))},
        "server": _server(lm),
        **getattr(lm, "reply_identity", {}),
    }


def code_parts(lm: Any) -> dict[str, str]:
    """The hash of each source that makes a model's input or reply, and lmms-eval's version."""
    classes = [each.__module__ for each in type(lm).__mro__ if each.__module__ not in _BASES]
    names = {*SHOWING, *_imported(SHOWING), *classes, *getattr(lm, "reply_modules", ())}
    hashes = {name: _source_hash(_source(name)) for name in sorted(names)}
    return {"lmms_eval": version("lmms_eval"), **hashes}


def protocol_code(kind: type[Protocol]) -> dict[str, str]:
    """The hash of each source of a protocol."""
    names = {each.__module__ for each in kind.__mro__ if each.__module__ not in _BASES}
    return {name: _source_hash(_source(name)) for name in sorted(names)}


def undecoded(rows: Any) -> Any:
    """A split whose rows give {"bytes": ..., "path": ...} for pictures and videos."""
    return rows.with_format("arrow") if hasattr(rows, "with_format") else rows


def row_of(rows: Any, doc_id: int) -> Mapping[str, Any]:
    """One row of an `undecoded` split."""
    row = rows[doc_id]
    return dict(row.to_pylist()[0] if hasattr(row, "to_pylist") else row)


def row_part(row: Mapping[str, Any]) -> str:
    """The hash of a row's content; pictures by their bytes, long videos by their name and size."""
    return short_hash(_plain(row))


def prompt_part(protocol: Protocol, row: Mapping[str, Any], text: str) -> str:
    """The hash of what a protocol makes of a row: the words, the media, the frames."""
    shown = {
        each.name: str(getattr(protocol, each.name))
        for each in fields(protocol)
        if not _READING.fullmatch(each.name)
    }
    in_place_of_video = str(VIDEO_AS_FRAMES) if frames_for_video() else None
    return short_hash([text, protocol.template_of(row).id, shown, in_place_of_video])


def generation_part(settings: Mapping[str, Any], repeat: int, seed: Any) -> str:
    """The hash of the generation arguments; repeat and seed count for sampled replies only.

    >>> greedy = {"temperature": 0, "max_new_tokens": 8}
    >>> generation_part(greedy, 0, 1) == generation_part(greedy, 0, 2)
    True
    >>> sampled = greedy | {"temperature": 0.7}
    >>> generation_part(sampled, 0, 1) == generation_part(sampled, 0, 2)
    False
    """
    return short_hash([settings, repeat, seed if is_sampled(settings) else None])


def is_sampled(settings: Mapping[str, Any]) -> bool:
    """Whether replies are drawn rather than found greedily."""
    temperature = settings.get("temperature")
    return temperature > 0 if temperature is not None else bool(settings.get("do_sample"))


def short_hash(value: Any) -> str:
    """First 16 hex digits of the SHA-256 of a value, equal for equal JSON."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _server(lm: Any) -> str | None:
    """The server that a model asks: an argument, or (as `OPENAI_API_BASE`) from the environment."""
    for name in ("base_url", "api_base"):
        if url := getattr(lm, name, None):
            return _LOGIN.sub("", str(url))
    return None


def _files(value: Any) -> Any:
    """What an argument's file or folder holds; the commit of a checkpoint from the Hub."""
    if not isinstance(value, str) or not value:
        return None
    path = Path(value).expanduser()
    if path.is_file():
        size, changed = _size_and_time(path)
        return _content_hash(path, changed) if size <= _SMALL_FILE else [size, changed]
    if path.is_dir():
        files = (file for file in sorted(path.rglob("*")) if file.is_file())
        return short_hash([(str(file.relative_to(path)), _size_and_time(file)) for file in files])
    return _hub_commit(value)


def _size_and_time(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _hub_commit(name: str) -> str | None:
    """The commit of a repository's configuration in the local cache: the folder it lies in."""
    if name.count("/") != 1:
        return None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(found).parent.name if isinstance(found, str) else None


def _source(module: str) -> Path:
    return Path(str(import_module(module).__file__))


@cache
def _imported(modules: tuple[str, ...]) -> frozenset[str]:
    """The modules of this package that these import, and those import, and so on."""
    found, waiting = set[str](), list(modules)
    while waiting:
        new = _imports(waiting.pop()) - found
        found |= new
        waiting += new
    return frozenset(found)


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of this package that one names in its imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(_source(module).read_bytes())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE):
            names = (str(node.module), *(f"{node.module}.{each.name}" for each in node.names))
            found |= {name for name in names if name != _PACKAGE and _is_module(name)}
    return frozenset(found)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@lru_cache(maxsize=64)
def _source_hash(path: Path) -> str:
    """The hash of a source without its comments, docstrings and layout."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _plain(value: Any) -> Any:
    """A row's value without what differs from machine to machine: the folder of a file."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        if value.keys() == {"bytes", "path"}:
            return _medium(value)
        # What is missing or damaged is said with its path; such an item is never kept.
        return {name: _plain(each) for name, each in value.items() if name != "problems"}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value


def _medium(value: Mapping[str, Any]) -> Any:
    if value["bytes"] is not None:
        return hashlib.sha256(value["bytes"]).hexdigest()
    path = Path(value["path"] or "")
    if not path.is_file():
        return None
    size, changed = _size_and_time(path)
    return _content_hash(path, changed) if size <= _SMALL_FILE else [path.name, size]


@lru_cache(maxsize=4096)
def _content_hash(path: Path, changed: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
