"""Pages of gradio, served from this process for a test's browser."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Page = tuple[Any, Mapping[str, Any]]


@contextmanager
def served(pages: Mapping[str, Page]) -> Iterator[str]:
    """Serve each page, blocks and their options, below `/NAME/`; yields the address before it."""
    import gradio as gr
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()
    for name, (blocks, options) in pages.items():
        gr.mount_gradio_app(app, blocks, f"/{name}", **options)
    sock = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        sock.close()
