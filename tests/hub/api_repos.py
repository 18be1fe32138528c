"""Who am I; make, list, describe, publish and remove repositories; branches and tags."""

from __future__ import annotations

from typing import Any

from tests.hub import cards, info
from tests.hub.accounts import require_account, require_write
from tests.hub.routing import Answer, Request, Site, route
from tests.hub.store import RefusedError


@route("GET", "/api/whoami-v2")
def whoami(site: Site, request: Request) -> Answer:
    """The account of the token."""
    account = require_account(request.account)
    role = "write" if account.writes else "read"
    return Answer(
        {
            "type": "user",
            "id": account.name,
            "name": account.name,
            "fullname": account.name,
            "orgs": [
                {"type": "org", "name": name, "roleInOrg": role} for name in account.organizations
            ],
            "auth": {
                "type": "access_token",
                "accessToken": {"displayName": "a token of the local Hub", "role": role},
            },
        }
    )


@route("POST", "/api/repos/create")
def create(site: Site, request: Request) -> Answer:
    """A new repository, private if the client says so."""
    asked = request.json()
    namespace = asked.get("organization") or require_account(request.account).name
    account = require_write(request.account, namespace)
    kind, name = asked.get("type") or "model", f"{namespace}/{asked['name']}"
    url = f"{site.url}/{info.PREFIX[kind]}{name}"
    with site.store.lock:
        if site.store.find(kind, name) is not None:
            message = f"You already created this {kind} repo"
            return Answer({"error": message, "url": url}, 409, {"X-Error-Message": message})
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        more = {name: asked[name] for name in ("sdk", "hardware", "variables") if name in asked}
        site.store.create(kind, name, account.name, private=private, **more)
    return Answer({"url": url, "name": name, "id": name})


@route("DELETE", "/api/repos/delete")
def delete(site: Site, request: Request) -> Answer:
    """Remove a repository."""
    asked = request.json()
    namespace = asked.get("organization") or require_account(request.account).name
    name = f"{namespace}/{asked['name']}"
    repository = site.repository(request, asked.get("type") or "model", name)
    require_write(request.account, namespace)
    site.store.delete(repository)
    return Answer({})


@route("POST", "/api/validate-yaml")
def validate(site: Site, request: Request) -> Answer:
    """What is wrong with a README.md."""
    asked = request.json()
    errors, warnings = cards.check(asked["content"], asked["repoType"])
    value = {
        "errors": [{"message": message} for message in errors],
        "warnings": [{"message": message} for message in warnings],
    }
    return Answer(value, 400 if errors else 200)


@route("GET", r"/api/(?P<kind>model|dataset|space)s")
def listing(site: Site, request: Request, kind: str) -> Answer:
    """Repositories that the account may see, by author, words and tags."""
    account, query = request.account, request.query
    words = [word.casefold() for word in query.get("search", [])]
    found: list[dict[str, Any]] = []
    for repository in site.store.all(kind):
        namespace = repository.id.split("/")[0]
        if repository.private and (account is None or not account.belongs_to(namespace)):
            continue
        entry = info.repository_info(repository)
        if namespace not in query.get("author", [namespace]):
            continue
        if not all(word in repository.id.casefold() for word in words):
            continue
        if all(tag in entry["tags"] for tag in query.get("filter", [])):
            found.append(entry)
    return Answer(found[: int(query.get("limit", [str(len(found))])[0])])


@route("GET", r"API(?:/revision/(?P<revision>[^/]+))?")
def describe(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """A repository at a revision."""
    repository = site.repository(request, kind, name)
    return Answer(info.repository_info(repository, revision or "main", blobs=request.flag("blobs")))


@route("PUT", "API/settings")
def settings(site: Site, request: Request, kind: str, name: str) -> Answer:
    """Publish or hide a repository."""
    repository = site.repository(request, kind, name)
    require_write(request.account, name.split("/")[0])
    asked = request.json()
    if "visibility" in asked or "private" in asked:
        repository.set(private=asked.get("visibility") == "private" or asked.get("private", False))
    return Answer({})


@route("GET", r"API/auth-check(?P<write>/write)?")
def auth_check(site: Site, request: Request, kind: str, name: str, write: str) -> Answer:
    """Whether the account may read (or write)."""
    site.repository(request, kind, name)
    if write:
        require_write(request.account, name.split("/")[0])
    return Answer({})


@route("GET", "API/refs")
def refs(site: Site, request: Request, kind: str, name: str) -> Answer:
    """Branches, tags and pull requests."""
    stored = site.repository(request, kind, name).refs

    def below(prefix: str) -> list[dict[str, str]]:
        return [
            {"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": commit}
            for ref, commit in stored.items()
            if ref.startswith(prefix)
        ]

    return Answer(
        {
            "branches": below("refs/heads/"),
            "tags": below("refs/tags/"),
            "pullRequests": below("refs/pr/"),
            "converts": [],
        }
    )


@route("POST", r"API/branch/(?P<branch>[^/]+)")
def add_branch(site: Site, request: Request, kind: str, name: str, branch: str) -> Answer:
    """A branch from a revision."""
    start = request.json().get("startingPoint", "main")
    return _add_ref(site, request, kind, name, f"refs/heads/{branch}", start)


@route("POST", r"API/tag/(?P<revision>[^/]+)")
def add_tag(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """A tag at a revision."""
    tag = request.json()["tag"]
    return _add_ref(site, request, kind, name, f"refs/tags/{tag}", revision)


def _add_ref(site: Site, request: Request, kind: str, name: str, ref: str, revision: str) -> Answer:
    repository = site.repository(request, kind, name)
    require_write(request.account, name.split("/")[0])
    with repository.lock:
        if ref in repository.refs:
            raise RefusedError(409, f"Reference already exists: {ref}")
        repository.set_ref(ref, repository.resolve(revision))
    return Answer({})


@route("DELETE", r"API/(?P<what>branch|tag)/(?P<ref>[^/]+)")
def delete_ref(site: Site, request: Request, kind: str, name: str, what: str, ref: str) -> Answer:
    """Remove a branch or a tag."""
    repository = site.repository(request, kind, name)
    require_write(request.account, name.split("/")[0])
    full = f"refs/{'heads' if what == 'branch' else 'tags'}/{ref}"
    if full not in repository.refs:
        raise RefusedError(404, f"no such {what}: {ref}", "RevisionNotFound")
    repository.set_ref(full, None)
    return Answer({})


@route("GET", r"/api/datasets/(?P<name>[^/]+/[^/]+)/leaderboard")
def leaderboard(site: Site, request: Request, name: str) -> Answer:
    """Results of the models that the account may see, for a dataset."""
    site.repository(request, "dataset", name)
    account = request.account
    models = [
        model
        for model in site.store.all("model")
        if not model.private or (account is not None and account.belongs_to(model.id.split("/")[0]))
    ]
    return Answer(info.leaderboard(name, models))
