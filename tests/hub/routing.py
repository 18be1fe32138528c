"""Requests, answers and the table of routes of the local Hub."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.hub.accounts import Account, require_read
from tests.hub.faults import Diary
from tests.hub.store import RefusedError, Repository, Store

if TYPE_CHECKING:
    from re import Pattern


@dataclass
class Request:
    """One request; `path` is still quoted, so that a revision with a slash is one segment."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    account: Account | None

    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.chunks)

    def json(self) -> Any:
        """The body, parsed; nothing is an empty mapping."""
        return json.loads(self.body() or b"{}")

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is set."""
        return self.query.get(name, ["0"])[0].casefold() in ("1", "true")


@dataclass
class Answer:
    """One answer: JSON, or the bytes of a file."""

    value: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    file: Path | None = None


@dataclass
class Site:
    """What the routes work on; `uploads` maps the secret of an upload's address to its promise."""

    store: Store
    accounts: Mapping[str, Account]
    diary: Diary
    url: str = ""
    part_size: int | None = None
    page_size: int = 1000
    uploads: dict[str, tuple[Repository, str, int]] = field(default_factory=dict)

    def repository(self, request: Request, kind: str, name: str) -> Repository:
        """A repository that the asking account may see."""
        return require_read(request.account, self.store.find(kind, name))

    def promise(self, repository: Repository, sha256: str, size: int) -> str:
        """An address to which one large file may be sent without a token."""
        secret = secrets.token_hex(16)
        self.uploads[secret] = (repository, sha256, size)
        return f"{self.url}/storage/{repository.id}/{sha256}/{secret}"


Route = Callable[..., Answer]
_ROUTES: list[tuple[str, Pattern[str], Route]] = []
_API = r"/api/(?P<kind>model|dataset|space)s/(?P<name>[^/]+/[^/]+)"


def route(method: str, pattern: str) -> Callable[[Route], Route]:
    """Register a function; `API` in the pattern stands for a repository below /api."""

    def register(function: Route) -> Route:
        _ROUTES.append((method, re.compile(pattern.replace("API", _API)), function))
        return function

    return register


def answer(site: Site, request: Request) -> Answer:
    """Call the function of the first route that fits."""
    method = "GET" if request.method == "HEAD" else request.method
    for wanted, pattern, function in _ROUTES:
        found = pattern.fullmatch(request.path)
        if found and wanted == method:
            groups = {name: unquote(text) for name, text in found.groupdict("").items()}
            return function(site, request, **groups)
    raise RefusedError(404, f"the local Hub has no {request.method} {request.path}")
