"""A small raw DYAD export with videos whose frames show their own numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests import dyad_export
from tests.dyad_export import FPS, Truth
from tests.numbered_clips import write_clip

SECONDS = 100


def write_filmed_export(root: Path, people: int = 5, **options: object) -> dict[str, Truth]:
    """Sessions of 100 seconds, one for each participant; their truth by session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dyad_export, "DURATION", SECONDS)
        truth = dyad_export.write_export(root, sessions=people, **options)  # type: ignore[arg-type]
    Image.new("RGB", (64, 48), (90, 120, 90)).save(root / "reference.png")
    film = write_clip(root / "film.mp4", SECONDS * FPS, rate=FPS)
    for session in truth:
        shutil.copy(film, root / "sessions" / session / "ego_rgb.mp4")
    film.unlink()
    return truth
