"""The body of a request, piece by piece, as long or as slow as a fault lets it be."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.message import Message
from io import BufferedIOBase

from tests.hub.faults import Fault

_PIECE = 64 * 1024


class CutError(Exception):
    """The connection is gone, by a fault or by the client."""


def body_chunks(stream: BufferedIOBase, headers: Message, fault: Fault | None) -> Iterator[bytes]:
    """Pieces of the body, whether its length is announced or it comes in chunks."""
    received = 0
    for piece in _pieces(stream, headers):
        if fault is not None and fault.cut_after is not None:
            room = fault.cut_after - received
            if len(piece) >= room:
                yield piece[:room]
                raise CutError
        if fault is not None and fault.bytes_per_second is not None:
            time.sleep(len(piece) / fault.bytes_per_second)
        received += len(piece)
        yield piece


def _pieces(stream: BufferedIOBase, headers: Message) -> Iterator[bytes]:
    if headers.get("Transfer-Encoding", "").casefold() == "chunked":
        while size := int(stream.readline().split(b";")[0], 16):
            yield from _exactly(stream, size)
            stream.readline()
        stream.readline()
    else:
        yield from _exactly(stream, int(headers.get("Content-Length", "0")))


def _exactly(stream: BufferedIOBase, size: int) -> Iterator[bytes]:
    while size:
        piece = stream.read(min(_PIECE, size))
        if not piece:
            raise CutError
        size -= len(piece)
        yield piece
