"""A real browser for tests of pages: the system's own Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: `make browser` installs Debian's"
)

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@contextmanager
def browser() -> Iterator[Any]:
    """A running Chromium; only one at a time in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
            ],
        )
        try:
            yield running
        finally:
            running.close()


def new_page(
    running: Any, viewport: dict[str, int] = DESKTOP, dark: bool = False, **options: Any
) -> Any:
    """A page of that size in pixels, that asks for light or dark colours."""
    return running.new_page(viewport=viewport, color_scheme="dark" if dark else "light", **options)


@contextmanager
def page(viewport: dict[str, int] = DESKTOP, dark: bool = False, **options: Any) -> Iterator[Any]:
    """A page in a browser of its own."""
    with browser() as running:
        yield new_page(running, viewport, dark, **options)
