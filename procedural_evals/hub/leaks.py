"""What must not leave this machine: access tokens, paths of its file system, paths that escape."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from huggingface_hub import constants, get_token

from procedural_evals.sources import DATA_VARIABLE

_TOKENS = {
    "a token of the Hub": re.compile(r"\bhf_[A-Za-z0-9]{16,}"),
    "an API key": re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
    "a token of GitHub": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    "a key of AWS": re.compile(r"\bAKIA[A-Z0-9]{16}\b"),
    "an API key of Google": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
    "a token of Slack": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a password in an address": re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"']+:[^\s/@\"']+@"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
# Folders at which absolute paths begin; a slash in the middle of words is none.
_ABSOLUTE = re.compile(
    r"(?<![\w.:/~$}\])-])(?:file://)?/"
    r"(?:home|root|Users|tmp|var|mnt|media|data|opt|srv|work|workspace|usr|etc|private|content"
    r"|scratch|nfs|Volumes|proc|dev|run)/[^\s\"']+"
    # Run lengths of masks look like other Windows paths.
    r"|\b[A-Za-z]:\\(?:Users|Windows|Program|Temp|Documents|home|data|work)[^\s\"']*"
)
_ESCAPING = re.compile(r"(?:^|[\s\"'(=/])\.\.[/\\][^\s\"']*")
_SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")
#: Columns whose values are paths and nothing else.
_PATH_COLUMN = re.compile(r"(?:^|\.)(?:path|video_file|video_path|reference_image|file)$")


_HIDDEN = "(not shown)"


@dataclass(frozen=True)
class Leak:
    """Something that must not be published: what it is, and the text around it."""

    what: str
    value: str


def in_path(path: str) -> Iterator[Leak]:
    """What is wrong with a value that has to be a relative path below the folder.

    >>> [leak.what for leak in in_path("a/../../b")], list(in_path("videos/a.mp4"))
    (['a path that leaves the folder'], [])
    """
    windows = PureWindowsPath(path)
    pure = PurePosixPath(path)
    if pure.is_absolute() or windows.drive or windows.root or path.startswith("~"):
        yield Leak("an absolute path", path[:120])
    if ".." in pure.parts or ".." in windows.parts:
        yield Leak("a path that leaves the folder", path[:120])


class Scanner:
    """Searches for leaks; knows the paths of this machine and the secrets of this environment."""

    def __init__(self) -> None:
        """Reads what there is to protect: folders, and tokens that are set."""
        folders = {
            "the home folder": Path.home(),
            "the working directory": Path.cwd(),
            "the temporary folder": Path(tempfile.gettempdir()),
            "the cache of the Hub": Path(constants.HF_HOME),
        }
        if os.environ.get(DATA_VARIABLE):
            root = Path(os.environ[DATA_VARIABLE]).expanduser().resolve()
            folders[f"${DATA_VARIABLE}"] = root
        # The root of the file system is no path of anybody's.
        self._folders = {f"{path}/": name for name, path in folders.items() if path.parts[1:]}
        secrets = {"the token of the Hub": get_token() or ""}
        secrets |= {f"the value of ${name}": os.environ.get(name, "") for name in _SECRETS}
        self._secrets = {text: name for name, text in secrets.items() if len(text) >= 8}
        self._clean: set[str] = set()

    def in_text(self, text: str) -> list[Leak]:
        """Tokens, absolute paths and escaping paths in a text.

        >>> [leak.what for leak in Scanner().in_text("see /mnt/ann/a.mp4, ../b, w/ screw, and/or")]
        ['an absolute path', 'a path that leaves the folder']
        """
        if text in self._clean:
            return []
        found = [
            Leak(what, f"{match[0][:6]}...")
            for what, pattern in _TOKENS.items()
            for match in pattern.finditer(text)
        ]
        found += [Leak(name, _HIDDEN) for secret, name in self._secrets.items() if secret in text]
        found += [
            Leak(f"a path in {name}", _around(text, folder))
            for folder, name in self._folders.items()
            if folder in text
        ]
        found += [Leak("an absolute path", m[0][:120]) for m in _ABSOLUTE.finditer(text)]
        found += [
            Leak("a path that leaves the folder", m[0].strip()[:120])
            for m in _ESCAPING.finditer(text)
        ]
        if not found and len(self._clean) < 100_000:
            self._clean.add(text)
        return found

    def in_bytes(self, content: bytes) -> list[Leak]:
        """Paths of this machine and secrets of this environment in a picture or a video."""
        paths = [
            Leak(f"a path in {name}", folder)
            for folder, name in self._folders.items()
            if folder.encode() in content
        ]
        secrets = [
            Leak(name, _HIDDEN)
            for secret, name in self._secrets.items()
            if secret.encode() in content
        ]
        return paths + secrets

    def in_value(self, value: Any, column: str) -> Iterator[tuple[str, Leak]]:
        """All leaks in a value of a stored row, each with the column it is in (`video.path`)."""
        if isinstance(value, str):
            if _PATH_COLUMN.search(column):
                yield from ((column, leak) for leak in in_path(value))
            yield from ((column, leak) for leak in self.in_text(value))
        elif isinstance(value, bytes):
            yield from ((column, leak) for leak in self.in_bytes(value))
        elif isinstance(value, Mapping):
            for name, each in value.items():
                yield from self.in_value(each, f"{column}.{name}")
        elif isinstance(value, list):
            for each in value:
                yield from self.in_value(each, column)


def _around(text: str, literal: str) -> str:
    start = text.index(literal)
    return text[start : start + 120].split("\n")[0]
