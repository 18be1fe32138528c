"""Discussions and pull requests; settings of Spaces."""

from __future__ import annotations

from tests.hub import discussions
from tests.hub.accounts import require_write, require_write_token
from tests.hub.routing import Answer, Request, Site, route
from tests.hub.store import RefusedError

_PAGE = 10
_ONE = r"API/discussions/(?P<number>\d+)"


@route("GET", "API/discussions")
def listing(site: Site, request: Request, kind: str, name: str) -> Answer:
    """One page of discussions and pull requests."""
    repository, query = site.repository(request, kind, name), request.query
    found = []
    for record in discussions.every(repository):
        what = "pull_request" if record["isPullRequest"] else "discussion"
        status = "open" if record["status"] in ("open", "draft") else "closed"
        if (
            query.get("type", ["all"])[0] in ("all", what)
            and query.get("status", ["all"])[0] in ("all", status)
            and query.get("author", [record["author"]])[0] == record["author"]
        ):
            found.append(discussions.summary(repository, record))
    start = _PAGE * int(query.get("p", ["0"])[0])
    page = found[start : start + _PAGE]
    return Answer({"discussions": page, "count": len(found), "start": start})


@route("POST", "API/discussions")
def create(site: Site, request: Request, kind: str, name: str) -> Answer:
    """A discussion, or a pull request without changes so far."""
    repository, asked = site.repository(request, kind, name), request.json()
    author = require_write_token(request.account).name
    title = asked["title"].strip()
    if not 3 <= len(title) <= 200:
        raise RefusedError(400, "a title has 3 to 200 characters")
    if asked.get("pullRequest"):
        number = discussions.open_pull_request(
            repository,
            title,
            asked["description"],
            author,
            repository.resolve("main"),
            status="draft",
        )
    else:
        number = discussions.open_discussion(repository, title, asked["description"], author)
    return Answer({"num": number, "pullRequest": bool(asked.get("pullRequest"))})


@route("GET", _ONE)
def details(site: Site, request: Request, kind: str, name: str, number: str) -> Answer:
    """One discussion with its events."""
    repository = site.repository(request, kind, name)
    return Answer(discussions.details(repository, discussions.load(repository, int(number))))


@route("POST", f"{_ONE}/comment")
def comment(site: Site, request: Request, kind: str, name: str, number: str) -> Answer:
    """A comment."""
    repository = site.repository(request, kind, name)
    author = require_write_token(request.account).name
    event = discussions.comment(repository, int(number), author, request.json()["comment"])
    return Answer({"newMessage": event})


@route("POST", f"{_ONE}/title")
def rename(site: Site, request: Request, kind: str, name: str, number: str) -> Answer:
    """Another title."""
    repository = site.repository(request, kind, name)
    author = _author_or_owner(site, request, kind, name, int(number))
    event = discussions.rename(repository, int(number), author, request.json()["title"])
    return Answer({"newTitle": event})


@route("POST", f"{_ONE}/status")
def status(site: Site, request: Request, kind: str, name: str, number: str) -> Answer:
    """Close or reopen."""
    repository = site.repository(request, kind, name)
    author = _author_or_owner(site, request, kind, name, int(number))
    asked = request.json()
    if asked.get("comment"):
        discussions.comment(repository, int(number), author, asked["comment"])
    event = discussions.set_status(repository, int(number), author, asked["status"])
    return Answer({"newStatus": event})


@route("POST", f"{_ONE}/merge")
def merge(site: Site, request: Request, kind: str, name: str, number: str) -> Answer:
    """Merge a pull request."""
    repository = site.repository(request, kind, name)
    author = require_write(request.account, name.split("/")[0]).name
    text = (request.json() or {}).get("comment")
    if text:
        discussions.comment(repository, int(number), author, text)
    return Answer({"newStatus": discussions.merge(repository, int(number), author)})


def _author_or_owner(site: Site, request: Request, kind: str, name: str, number: int) -> str:
    account = require_write_token(request.account)
    record = discussions.load(site.repository(request, kind, name), number)
    if record["author"] != account.name:
        require_write(account, name.split("/")[0])
    return account.name


@route("GET", r"/api/spaces/(?P<name>[^/]+/[^/]+)/variables")
def variables(site: Site, request: Request, name: str) -> Answer:
    """The variables of a Space."""
    repository = site.repository(request, "space", name)
    require_write(request.account, name.split("/")[0])
    return Answer(repository.settings.get("variables", {}))


@route("POST", r"/api/spaces/(?P<name>[^/]+/[^/]+)/(?P<what>variables|secrets)")
def set_variable(site: Site, request: Request, name: str, what: str) -> Answer:
    """Set a variable or a secret of a Space; of a secret only the name is told."""
    repository = site.repository(request, "space", name)
    require_write(request.account, name.split("/")[0])
    asked = request.json()
    value = {"value": asked["value"] if what == "variables" else None}
    if asked.get("description"):
        value["description"] = asked["description"]
    with repository.lock:
        values = {**repository.settings.get(what, {}), asked["key"]: value}
        repository.set(**{what: values})
    return Answer(values)
