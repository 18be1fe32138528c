"""Small video files whose frames show their own number, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

BITS = 10
_COLUMNS = 5


def numbered_picture(number: int, width: int = 160, height: int = 96) -> np.ndarray:
    """A grey picture with the number in it as ten black or white blocks; survives compression."""
    picture = np.full((height, width, 3), 110, np.uint8)
    picture[:, : width // 2, 0] = 140  # left and right differ, so that a turn shows
    for bit in range(BITS):
        top, left = _corner(bit, width, height)
        block = picture[top : top + height // 4, left : left + width // 8]
        block[...] = 255 if number >> bit & 1 else 0
    return picture


def shown_number(picture: np.ndarray) -> int:
    """The number that a picture made by `numbered_picture` shows, at any size."""
    height, width = picture.shape[:2]
    number = 0
    for bit in range(BITS):
        top, left = _corner(bit, width, height)
        block = picture[
            top + height // 12 : top + height // 6, left + width // 24 : left + width // 12
        ]
        number |= int(block.mean() > 128) << bit
    return number


def _corner(bit: int, width: int, height: int) -> tuple[int, int]:
    row, column = divmod(bit, _COLUMNS)
    return height // 8 + row * height // 2, width // 32 + column * width // 5


def write_clip(
    path: Path,
    ticks: int | Sequence[int],
    *,
    rate: Fraction | int = 30,
    codec: str = "libx264",
    gop: int = 12,
    options: dict[str, str] | None = None,
    size: tuple[int, int] = (160, 96),
    pixels: str = "yuv420p",
    b_frames: int | None = None,
    format: str | None = None,
    format_options: dict[str, str] | None = None,
    extra_streams: int = 0,
) -> Path:
    """Write a clip. `ticks` is the number of frames, or the time of each in units of 1/rate s.

    Extra streams come after the numbered one, are larger, and show the number 1023.
    """
    times = range(ticks) if isinstance(ticks, int) else ticks
    rate = Fraction(rate)
    with av.open(str(path), "w", format=format, options=format_options or {}) as container:
        stream = container.add_stream(codec, rate=rate, options=dict(options or {}))
        extras = [container.add_stream(codec, rate=rate) for _ in range(extra_streams)]
        for one in (stream, *extras):
            one.pix_fmt = pixels
            one.codec_context.gop_size = gop
            if b_frames is not None:
                one.codec_context.max_b_frames = b_frames
            one.width, one.height = size if one is stream else (size[0] * 2, size[1] * 2)
        for number, time in enumerate(times):
            for one in (stream, *extras):
                shown = number if one is stream else 2**BITS - 1
                frame = av.VideoFrame.from_ndarray(numbered_picture(shown, one.width, one.height))
                frame.pts, frame.time_base = time, 1 / rate
                container.mux(one.encode(frame))
        for one in (stream, *extras):
            container.mux(one.encode(None))
    return path


def turn_mp4(path: Path, quarter_turns_clockwise: int) -> None:
    """Write the display rotation that phones write into an MP4's track header."""
    a, b, c, d = {0: (1, 0, 0, 1), 1: (0, 1, -1, 0), 2: (-1, 0, 0, -1), 3: (0, -1, 1, 0)}[
        quarter_turns_clockwise
    ]
    one = 1 << 16
    matrix = [a * one, b * one, 0, c * one, d * one, 0, 0, 0, 1 << 30]
    data = bytearray(path.read_bytes())
    track = data.index(b"tkhd") + 4
    # Version 0 of the box: 40 bytes of flags, times, id, duration, layer and volume come first.
    assert data[track] == 0, "version 0 of the box"
    for place, value in enumerate(matrix):
        at = track + 40 + 4 * place
        data[at : at + 4] = value.to_bytes(4, "big", signed=True)
    path.write_bytes(data)
