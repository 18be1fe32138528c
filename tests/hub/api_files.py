"""Trees, contents, uploads and commits."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, quote, urlencode

from tests.hub import commits, info
from tests.hub.accounts import require_write, require_write_token
from tests.hub.faults import Upload
from tests.hub.routing import Answer, Request, Site, route
from tests.hub.store import RefusedError, Repository

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@route("GET", r"API/tree/(?P<revision>[^/]+)(?:/(?P<folder>.+))?")
def tree(site: Site, request: Request, kind: str, name: str, revision: str, folder: str) -> Answer:
    """One page of the files and folders below a folder."""
    repository = site.repository(request, kind, name)
    last = info.last_commits(repository, revision) if request.flag("expand") else None
    found = info.entries(repository.tree(revision), folder, request.flag("recursive"), last)
    start = int(request.query.get("cursor", ["0"])[0])
    end = start + (min(50, site.page_size) if last is not None else site.page_size)
    headers = {}
    if end < len(found):
        query = {name: values[0] for name, values in request.query.items()}
        address = f"{site.url}{request.path}?{urlencode({**query, 'cursor': end})}"
        headers["Link"] = f'<{address}>; rel="next"'
    return Answer(found[start:end], headers=headers)


@route("POST", r"API/paths-info/(?P<revision>[^/]+)")
def paths_info(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """The entries of some paths; unknown ones are left out."""
    repository = site.repository(request, kind, name)
    asked = parse_qs(request.body().decode())
    expand = asked.get("expand", ["false"])[0].casefold() in ("1", "true")
    last = info.last_commits(repository, revision) if expand else None
    files = repository.tree(revision)
    answers = []
    for path in asked.get("paths", []):
        if path in files:
            answers.append(info.file(path, files[path], last))
        elif any(other.startswith(f"{path}/") for other in files):
            answers.append(info.directory(files, path))
    return Answer(answers)


@route("GET", r"API/commits/(?P<revision>[^/]+)")
def history(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """Commits, the newest first."""
    commit_list = site.repository(request, kind, name).history(revision)
    return Answer(
        [
            {
                **{key: commit[key] for key in ("id", "title", "message", "date")},
                "authors": [{"user": commit["author"]}],
            }
            for commit in islice(commit_list, 1000)
        ]
    )


@route("POST", r"API/preupload/(?P<revision>[^/]+)")
def preupload(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """Which files are large ones."""
    repository = site.repository(request, kind, name)
    require_write_token(request.account)
    return Answer({"files": commits.upload_modes(repository, revision, request.json()["files"])})


@route("POST", r"API/commit/(?P<revision>[^/]+)")
def commit(site: Site, request: Request, kind: str, name: str, revision: str) -> Answer:
    """Commit, to a branch or as a pull request."""
    repository = site.repository(request, kind, name)
    sha, number = commits.apply(
        repository, revision, request.body(), request.account, request.flag("create_pr")
    )
    page = f"{site.url}/{info.PREFIX[kind]}{name}"
    value = {"success": True, "commitOid": sha, "commitUrl": f"{page}/commit/{sha}"}
    if number is not None:
        value["pullRequestUrl"] = f"{page}/discussions/{number}"
    return Answer(value)


@route(
    "POST",
    r"/(?:(?P<kind>dataset|space)s/)?(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/batch",
)
def batch(site: Site, request: Request, kind: str, name: str) -> Answer:
    """Where to send large files; those that are there already get no address."""
    repository = site.repository(request, kind or "model", name)
    asked = request.json()
    if "ref" in asked and not asked["ref"]["name"].startswith("refs/pr/"):
        require_write(request.account, name.split("/")[0])
    else:
        require_write_token(request.account)  # a pull request is open to everybody
    multipart = site.part_size is not None and "multipart" in asked["transfers"]
    objects = []
    for one in asked["objects"]:
        answer = {"oid": one["oid"], "size": one["size"]}
        if not repository.has_large(one["oid"]):
            answer["actions"] = _actions(site, repository, one["oid"], one["size"], multipart)
        objects.append(answer)
    return Answer({"transfer": "multipart" if multipart else "basic", "objects": objects})


def _actions(
    site: Site, repository: Repository, oid: str, size: int, multipart: bool
) -> dict[str, object]:
    address = site.promise(repository, oid, size)
    page = f"{site.url}/{info.PREFIX[repository.kind]}{repository.id}"
    verify = {"href": f"{page}.git/info/lfs/objects/verify"}
    if not multipart or site.part_size is None or size <= site.part_size:
        return {"upload": {"href": address}, "verify": verify}
    parts = range(1, -(-size // site.part_size) + 1)
    header = {str(part): f"{address}/{part}" for part in parts}
    header["chunk_size"] = str(site.part_size)
    return {"upload": {"href": address, "header": header}, "verify": verify}


@route(
    "POST",
    r"/(?:(?P<kind>dataset|space)s/)?(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/verify",
)
def verify(site: Site, request: Request, kind: str, name: str) -> Answer:
    """Whether a large file has arrived with its size."""
    repository, asked = site.repository(request, kind or "model", name), request.json()
    if not repository.has_large(asked["oid"]):
        raise RefusedError(404, f"{asked['oid']} was not uploaded")
    size = repository.large(asked["oid"]).size
    if size != asked["size"]:
        raise RefusedError(422, f"{asked['oid']} has {size} bytes, not {asked['size']}")
    return Answer({})


@route("PUT", r"/storage/[^/]+/[^/]+/[0-9a-f]{64}/(?P<secret>[0-9a-f]+)(?:/(?P<part>\d+))?")
def receive(site: Site, request: Request, secret: str, part: str) -> Answer:
    """Take a large file, or one part of it; it is there only when all of it came in."""
    if secret not in site.uploads:
        raise RefusedError(403, "this address for an upload is not valid")
    repository, oid, size = site.uploads[secret]
    folder = repository.folder / "uploading"
    folder.mkdir(exist_ok=True)
    partial = folder / (f"{secret}.{int(part):05d}" if part else secret)
    received, digest = 0, sha256()
    try:
        with partial.open("wb") as stream:
            for chunk in request.chunks:
                stream.write(chunk)
                digest.update(chunk)
                received += len(chunk)
                site.diary.note_bytes(len(chunk))
        whole = part != "" or (received == size and digest.hexdigest() == oid)
    except BaseException:
        partial.unlink()
        site.diary.note_upload(Upload(repository.id, oid, size, received, whole=False))
        raise
    if part:
        return Answer({}, headers={"ETag": f'"{digest.hexdigest()}"'})
    site.diary.note_upload(Upload(repository.id, oid, size, received, whole))
    if not whole:
        partial.unlink()
        raise RefusedError(400, f"{received} bytes came in, which are not the {size} of {oid}")
    return _keep(site, secret, partial)


@route("POST", r"/storage/[^/]+/[^/]+/[0-9a-f]{64}/(?P<secret>[0-9a-f]+)")
def complete(site: Site, request: Request, secret: str) -> Answer:
    """Put the parts of a large file together."""
    if secret not in site.uploads:
        raise RefusedError(403, "this address for an upload is not valid")
    repository, oid, size = site.uploads[secret]
    folder, digest, received = repository.folder / "uploading", sha256(), 0
    numbers = [part["partNumber"] for part in request.json()["parts"]]
    partial = folder / secret
    with partial.open("wb") as stream:
        for number in numbers:
            part = folder / f"{secret}.{number:05d}"
            content = part.read_bytes()
            stream.write(content)
            digest.update(content)
            received += len(content)
            part.unlink()
    whole = received == size and digest.hexdigest() == oid
    site.diary.note_upload(Upload(repository.id, oid, size, received, whole))
    if not whole:
        partial.unlink()
        raise RefusedError(
            400, f"the parts are {received} bytes, which are not the {size} of {oid}"
        )
    return _keep(site, secret, partial)


def _keep(site: Site, secret: str, partial: Path) -> Answer:
    repository, oid, _ = site.uploads.pop(secret)
    target = repository.folder / "lfs" / oid
    target.parent.mkdir(exist_ok=True)
    partial.replace(target)
    return Answer({})


@route(
    "GET",
    r"/(?:(?P<kind>dataset|space)s/)?(?P<name>[^/]+/[^/]+)"
    r"/(?:resolve|raw)/(?P<revision>[^/]+)/(?P<path>.+)",
)
def resolve(site: Site, request: Request, kind: str, name: str, revision: str, path: str) -> Answer:
    """The content of a file."""
    repository = site.repository(request, kind or "model", name)
    sha = repository.resolve(revision)
    files = repository.tree(sha)
    headers = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
    if path not in files:
        message = "Entry not found"
        more = {"X-Error-Code": "EntryNotFound", "X-Error-Message": message, **headers}
        return Answer({"error": message}, 404, more)
    blob = files[path]
    headers["ETag"] = f'"{blob.lfs or blob.oid}"'
    headers["Content-Disposition"] = f"inline; filename*=UTF-8''{quote(path.split('/')[-1])}"
    if blob.lfs:
        headers["X-Linked-Size"] = str(blob.size)
        headers["X-Linked-ETag"] = f'"{blob.lfs}"'
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    if not asked or not any(asked.groups()):
        return Answer(headers=headers, file=repository.content(blob))
    first, last = asked.groups()
    start = int(first) if first else max(0, blob.size - int(last))
    end = min(int(last), blob.size - 1) if first and last else blob.size - 1
    if start > end:
        raise RefusedError(416, f"the file has {blob.size} bytes")
    headers["Content-Range"] = f"bytes {start}-{end}/{blob.size}"
    return Answer(status=206, headers=headers, file=repository.content(blob))
