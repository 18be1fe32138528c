"""Writes videos and stills so that the same pictures give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

Picture = NDArray[np.uint8]


def write_video(
    path: Path, pictures: Iterable[Picture], fps: Fraction | int = 1, crf: int = 31
) -> int:
    """H.264 in MP4, frame n at n / fps seconds; returns the number of frames.

    One encoder thread and no time stamps in the header: the file is the same on every run of the
    same library versions.

    Parameters
    ----------
    path
        The file; folders above it are made.
    pictures
        uint8 [h, w, 3], all of one even size.
    fps
        Frames a second.
    crf
        x264's quality, lower is better (0 to 51).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        stream = container.add_stream("libx264", rate=Fraction(fps))
        stream.pix_fmt = "yuv420p"
        stream.options = {
            "crf": str(crf),
            "preset": "veryslow",
            "threads": "1",
            "flags": "+bitexact",
            # x264's macroblock tree gives other bytes on every run of some picture sizes.
            "x264-params": "mbtree=0",
        }
        for picture in pictures:
            height, width = picture.shape[:2]
            if count == 0:
                if width % 2 or height % 2:
                    raise ValueError(f"{path}: {width}x{height} is odd, H.264 needs even sizes")
                stream.width, stream.height = width, height
            elif (width, height) != (stream.width, stream.height):
                raise ValueError(f"{path}: picture {count} is {width}x{height}, not like the first")
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            for packet in stream.encode(frame):
                container.mux(packet)
            count += 1
        if not count:
            raise ValueError(f"{path}: no pictures to write")
        for packet in stream.encode():
            container.mux(packet)
    return count


def write_jpeg(path: Path, picture: Picture, quality: int = 76) -> None:
    """A JPEG without metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path, "JPEG", quality=quality, optimize=True, subsampling=2)
