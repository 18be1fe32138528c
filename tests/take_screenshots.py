"""Pictures of the pages for the README: `python -m tests.take_screenshots RESULTS`.

RESULTS is a folder of submissions. Writes docs/screenshots/*.png.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PIL import Image

from procedural_evals import folders
from procedural_evals.hub import leaderboard_app, metric_app
from tests.browser import browser, new_page
from tests.pages import served

OUT = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
LARGEST = 200_000


def take(tab: Any, name: str) -> None:
    """Write the window as it is, in 256 colours."""
    tab.evaluate("document.fonts.ready")
    tab.mouse.move(0, 0)
    tab.wait_for_timeout(500)
    file = OUT / f"{name}.png"
    tab.screenshot(path=file)
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    assert size < LARGEST, f"{file}: {size} bytes"
    print(f"{file.name}: {size:,} bytes")


def main(results: str) -> None:
    """Take all of them."""
    OUT.mkdir(parents=True, exist_ok=True)
    source = leaderboard_app.source_of(results)
    board = leaderboard_app.page(leaderboard_app.Results(source)), leaderboard_app.options()
    metric = metric_app.page(folders.metrics() / "grounded_iou"), metric_app.options()
    with served({"board": board, "metric": metric}) as at, browser() as running:

        def visit(width: int, height: int, key: str, dark: bool = False, scale: int = 1) -> Any:
            size = {"width": width, "height": height}
            tab = new_page(running, size, dark, device_scale_factor=scale)
            tab.goto(f"{at}/board/#{key}")
            tab.wait_for_selector(".pe .meanings")
            return tab

        tab = visit(1280, 1080, "flatpack_bench")
        take(tab, "leaderboard")
        tab = visit(1280, 900, "procobject_10k", dark=True)
        take(tab, "leaderboard-dark")
        tab = visit(390, 844, "flatpack_bench", scale=2)
        tab.evaluate("document.querySelector('#board').scrollIntoView()")
        take(tab, "leaderboard-phone")
        tab = visit(1280, 800, "flatpack_bench")
        for box in tab.locator('tr[data-id*="guessing-"] input').all():
            box.check()
        tab.click(".choice .primary")
        tab.locator("dialog .big").wait_for()
        take(tab, "comparison")
        tab = new_page(running, {"width": 1280, "height": 760})
        tab.goto(f"{at}/metric/")
        tab.click("button:has-text('Compute')")
        tab.wait_for_selector(".pe.metric table")
        take(tab, "metric")


if __name__ == "__main__":
    main(sys.argv[1])
