"""How the local Hub misbehaves, and what it remembers of the requests."""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Fault:
    """What goes wrong with requests whose `METHOD /path` matches `where`.

    `times` requests are spoiled (None: all until it is removed). With `status` the request is
    refused; with `cut_after` the connection is closed after so many bytes of the request's body;
    with `bytes_per_second` the body is read slowly; with `delay` the answer comes late (seconds).
    """

    where: str
    times: int | None = 1
    status: int | None = None
    message: str = "the server broke down"
    cut_after: int | None = None
    bytes_per_second: float | None = None
    delay: float = 0.0


@dataclass(frozen=True)
class Upload:
    """A large file that was sent: `received` bytes of it came in, `whole` says if all did."""

    repository: str
    sha256: str
    size: int
    received: int
    whole: bool


@dataclass
class Diary:
    """Faults to come, and requests and uploads that were."""

    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, int]] = field(default_factory=list)  # "METHOD /path", status
    uploads: list[Upload] = field(default_factory=list)
    receiving: int = 0  # bytes of large files that came in so far, whole or not

    def __post_init__(self) -> None:
        self.lock = threading.Lock()

    def fault_for(self, request: str) -> Fault | None:
        """The first fault that fits, used up by one."""
        with self.lock:
            for fault in self.faults:
                if fault.times != 0 and re.search(fault.where, request):
                    if fault.times is not None:
                        fault.times -= 1
                    return fault
        return None

    def note_request(self, request: str, status: int) -> None:
        """Remember a request and its answer."""
        with self.lock:
            self.requests.append((request, status))

    def note_upload(self, upload: Upload) -> None:
        """Remember what came in of a large file."""
        with self.lock:
            self.uploads.append(upload)

    def note_bytes(self, count: int) -> None:
        """Count bytes of large files."""
        with self.lock:
            self.receiving += count

    def count(self, pattern: str) -> int:
        """How many requests matched, whatever their answer."""
        with self.lock:
            return sum(bool(re.search(pattern, request)) for request, _ in self.requests)

    def whole_uploads(self) -> Counter[str]:
        """SHA-256 -> how often the whole file was sent."""
        with self.lock:
            return Counter(upload.sha256 for upload in self.uploads if upload.whole)
