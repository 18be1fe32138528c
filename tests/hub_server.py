"""A Hub on this machine, for tests: what huggingface_hub and datasets ask for, over real HTTP.

    with hub_server.running(tmp_path / "hub") as hub:
        api = HfApi(endpoint=hub.url, token=hub.token)
        api.create_repo("ORG/x", repo_type="dataset", private=True)
        ...
        hub.repository("dataset", "ORG/x").files()          # paths at main; files("refs/pr/1")
        hub.repository("dataset", "ORG/x").read("README.md")
        list(hub.repository("dataset", "ORG/x").history())  # commits, the newest first

or the fixture `hub` of conftest.py. The fixture also lets huggingface_hub of the test's own process
go online (`make test` sets HF_HUB_OFFLINE) and send large files by LFS: huggingface_hub sends them
by Xet without asking the server, and this server has no Xet. A client in a process of its own gets
`hub.environment(home)`: HF_ENDPOINT, HF_TOKEN, a clean HF_HOME, no HF_HUB_OFFLINE, no Xet.

Accounts (token -> who): `hub.token` belongs to `worker`, who writes to ORG; `hub.reader_token` is a
read-only token of the same user; `hub.stranger_token` belongs to `stranger`, who is in no
organization, sees what is public, and may open pull requests there. Others are refused with 401.

Faults: `hub.fail("POST .*/commit/", status=500, times=3)`, `hub.cut("PUT /storage/", after=1000)`,
`hub.slow("PUT /storage/", bytes_per_second=1e6)`, `hub.delay("GET ", seconds=1)`; the pattern is
searched in "METHOD /path" (paths are quoted: refs%2Fpr%2F1). `hub.mend()` removes what is left.

Counts: `hub.count("PUT /storage/")` requests, `hub.diary.uploads`, `hub.diary.receiving` (bytes of
large files that came in), `hub.diary.whole_uploads()` (SHA-256 -> times).

Known differences from the real Hub: no Xet, no viewer, no gated repositories, .gitignore is not
looked at. To try by hand: `python tests/hub_server.py FOLDER` prints what to export.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

if __name__ == "__main__":  # the parts are `tests.hub`, also when this file is the program
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.hub import api_files, api_repos, api_talk
from tests.hub.accounts import Account
from tests.hub.faults import Diary, Fault
from tests.hub.receiving import CutError, body_chunks
from tests.hub.routing import Answer, Request, Site, answer
from tests.hub.store import RefusedError, Repository, Store

ROUTES = (api_files, api_repos, api_talk)  # importing them registers their routes


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    site: Site
    broken: list[str]  # tracebacks of the server's own errors


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written apart: no 40 ms between them
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        site, address = self.server.site, urlsplit(self.path)
        name = f"{self.command} {address.path}"
        fault = site.diary.fault_for(name)
        chunks = body_chunks(self.rfile, self.headers, fault)
        try:
            reply = self._reply(site, address.path, address.query, chunks, fault)
            for _ in chunks:  # what was not asked for would be read as the next request
                pass
        except CutError:
            site.diary.note_request(name, 0)
            self.close_connection = True
            return
        if fault is not None and fault.delay:
            threading.Event().wait(fault.delay)
        site.diary.note_request(name, reply.status)
        self._send(reply)

    def _reply(
        self, site: Site, path: str, query: str, chunks: Iterator[bytes], fault: Fault | None
    ) -> Answer:
        try:
            if fault is not None and fault.status is not None:
                raise RefusedError(fault.status, fault.message)
            request = Request(
                method=self.command,
                path=path,
                query=parse_qs(query),
                headers={key.casefold(): value for key, value in self.headers.items()},
                chunks=chunks,
                account=self._account(site),
            )
            return answer(site, request)
        except RefusedError as refusal:
            headers = {"X-Error-Message": refusal.message.replace("\n", " ")}
            if refusal.code:
                headers["X-Error-Code"] = refusal.code
            return Answer({"error": refusal.message}, refusal.status, headers)
        except (CutError, ConnectionError):
            raise CutError from None
        except Exception:
            self.server.broken.append(traceback.format_exc())
            return Answer({"error": "the local Hub has an error of its own"}, 500)

    def _account(self, site: Site) -> Account | None:
        given = self.headers.get("Authorization")
        if given is None:
            return None
        account = site.accounts.get(given.removeprefix("Bearer ").strip())
        if account is None:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return account

    def _send(self, reply: Answer) -> None:
        content = b"" if reply.file else json.dumps(reply.value).encode()
        kind = "application/octet-stream" if reply.file else "application/json"
        start, end = 0, reply.file.stat().st_size if reply.file else len(content)
        if "Content-Range" in reply.headers:
            first, _, last = reply.headers["Content-Range"].split()[1].split("/")[0].partition("-")
            start, end = int(first), int(last) + 1
        self.send_response(reply.status)
        headers = {"Content-Type": kind, "Content-Length": str(end - start), **reply.headers}
        for key, value in headers.items():
            self.send_header(key, value.encode("latin-1", "replace").decode("latin-1"))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            if reply.file is None:
                self.wfile.write(content)
                return
            with reply.file.open("rb") as stream:
                stream.seek(start)
                while start < end:
                    piece = stream.read(min(1 << 20, end - start))
                    self.wfile.write(piece)
                    start += len(piece)
        except ConnectionError:
            self.close_connection = True


for _method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler._serve)


class Hub:
    """The running server: see the module's docstring."""

    def __init__(self, folder: Path, org: str = "ORG", port: int = 0) -> None:
        self.token, self.reader_token, self.stranger_token = "hf_worker", "hf_reader", "hf_stranger"
        accounts = {
            self.token: Account("worker", (org,)),
            self.reader_token: Account("worker", (org,), writes=False),
            self.stranger_token: Account("stranger"),
        }
        self.diary = Diary()
        self.store = Store(folder)
        self.site = Site(self.store, accounts, self.diary)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.site = self.site
        self._server.broken = []
        self.url = self.site.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def errors(self) -> list[str]:
        """Tracebacks of errors in the server itself."""
        return self._server.broken

    def serve(self) -> None:
        """Answer requests until `stop`."""
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()

    def repository(self, kind: str, name: str) -> Repository:
        """A stored repository; KeyError if there is none."""
        found = self.store.find(kind, name)
        if found is None:
            raise KeyError(f"no {kind} {name}: there is {self.names(kind)}")
        return found

    def names(self, kind: str) -> list[str]:
        """The ids of all repositories of a kind."""
        return [repository.id for repository in self.store.all(kind)]

    def fail(
        self, where: str, status: int, times: int | None = 1, message: str = "it broke down"
    ) -> None:
        """Refuse requests."""
        self.diary.faults.append(Fault(where, times, status, message))

    def cut(self, where: str, after: int, times: int | None = 1) -> None:
        """Close the connection after so many bytes of the body."""
        self.diary.faults.append(Fault(where, times, cut_after=after))

    def slow(self, where: str, bytes_per_second: float, times: int | None = None) -> None:
        """Read bodies slowly."""
        self.diary.faults.append(Fault(where, times, bytes_per_second=bytes_per_second))

    def delay(self, where: str, seconds: float, times: int | None = None) -> None:
        """Answer late."""
        self.diary.faults.append(Fault(where, times, delay=seconds))

    def mend(self) -> None:
        """No more faults."""
        self.diary.faults.clear()

    def count(self, pattern: str) -> int:
        """How many requests "METHOD /path" matched the pattern."""
        return self.diary.count(pattern)

    def environment(self, home: Path, token: str | None = "") -> dict[str, str]:
        """Variables of a client in a process of its own; `token=None` is nobody."""
        return environment(self.url, self.token if token == "" else token, home)


def environment(url: str, token: str | None, home: Path) -> dict[str, str]:
    """Variables of the own process, but with this Hub, token and folder for caches."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "HUGGING_FACE_", "TRANSFORMERS_OFFLINE"))
    }
    return {
        **kept,
        **({} if token is None else {"HF_TOKEN": token}),
        "HF_ENDPOINT": url,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }


@contextmanager
def running(folder: str | Path, org: str = "ORG", port: int = 0) -> Iterator[Hub]:
    """A Hub that keeps its repositories in a folder; its own errors are the test's errors."""
    hub = Hub(Path(folder), org, port)
    thread = threading.Thread(target=hub.serve, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.stop()
        thread.join(10)
    if hub.errors:
        raise RuntimeError("the local Hub broke down:\n" + "\n".join(hub.errors))


def main() -> None:
    """Serve a folder until interrupted."""
    parser = argparse.ArgumentParser(description="A local Hub to try uploads with.")
    parser.add_argument("folder", help="where repositories are kept")
    parser.add_argument("--org", default="ORG", help="organization that the token may write to")
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    options = parser.parse_args()
    hub = Hub(Path(options.folder), options.org, options.port)
    shown: Mapping[str, str] = {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": hub.token,
        "HF_HUB_DISABLE_XET": "1",
    }
    print("\n".join(f"export {name}={value}" for name, value in shown.items()), flush=True)
    try:
        hub.serve()
    except KeyboardInterrupt:
        print(file=sys.stderr)


if __name__ == "__main__":
    main()
