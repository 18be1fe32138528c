"""Video files of the kinds that break readers, each one small, and what has to come of them.

`python -m tests.torture_clips` prints the table: file, what happened.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av

from tests.numbered_clips import shown_number, turn_mp4, write_clip

SECOND = 30
"""Frames a second where nothing else is said; a clip has 90 of them."""


@dataclass(frozen=True)
class Torture:
    """A kind of file.

    Attributes:
        file: its name, whose suffix chooses the container.
        make: writes it.
        shown: the numbers that the frames on screen at 0, 1 and 2 seconds show; None where the
            file has to be refused.
        refusal: what its refusal says beside the file's name.
        found_before: whether `check-data` refuses it; damage far inside shows only when read.
    """

    file: str
    make: Callable[[Path], object]
    shown: tuple[int, ...] | None = (0, 30, 60)
    refusal: str = ""
    found_before: bool = True


def _cut(path: Path, **options: object) -> None:
    write_clip(path, 90, **options)  # type: ignore[arg-type]
    path.write_bytes(path.read_bytes()[:-2000])


def _zeroed(path: Path, first: int, last: int, **options: object) -> None:
    """Overwrite the data of the packets from `first` up to `last`; the index keeps them."""
    write_clip(path, 90, b_frames=0, **options)  # type: ignore[arg-type]
    with av.open(str(path)) as container:
        places = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    data = bytearray(path.read_bytes())
    for position, size in places[first:last]:
        data[position : position + size] = bytes(size)
    path.write_bytes(data)


def _turned(path: Path) -> None:
    write_clip(path, 90)
    turn_mp4(path, 1)


def _late(path: Path) -> None:
    write_clip(path, range(300, 390))


def _variable(path: Path) -> None:
    """Ten frames in the first second, thirty in the next, five in the last: times in 1/30 s."""
    ticks = [*range(0, 30, 3), *range(30, 60), *range(60, 90, 6)]
    write_clip(path, ticks)


def _words(path: Path) -> None:
    path.write_text("<html>404 Not Found</html>")


_VP9 = {"codec": "libvpx-vp9", "options": {"deadline": "realtime"}}
_AV1 = {"codec": "libsvtav1", "options": {"preset": "12"}}

TORTURES: dict[str, Torture] = {
    "zero bytes": Torture("empty.mp4", Path.touch, None, "empty"),
    "an error page": Torture("page.mp4", _words, None, "does not open as a video"),
    "truncated, index lost": Torture("cut.mp4", _cut, None, "truncated"),
    "truncated, index first": Torture(
        "cut-faststart.mp4",
        lambda path: _cut(path, format_options={"movflags": "faststart"}),
        None,
        "truncated",
    ),
    "truncated Matroska": Torture("cut.mkv", _cut, None, "truncated"),
    "no frame count (WebM)": Torture("clip.webm", lambda path: write_clip(path, 90, **_VP9)),
    "no frame count (Matroska)": Torture("clip.mkv", lambda path: write_clip(path, 90)),
    "fewer frames decode than the header says": Torture(
        "promise.mp4", lambda path: _zeroed(path, 70, 90), (0, 30, 60)
    ),
    "most frames do not decode": Torture(
        "ruin.mp4",
        lambda path: _zeroed(path, 5, 90, gop=10),
        None,
        "no frame decodes from",
        found_before=False,
    ),
    "no frame decodes": Torture("grey.mp4", lambda path: _zeroed(path, 0, 90), None, "no frame"),
    "no timestamps, B-frames": Torture("bare.h264", lambda path: write_clip(path, 90, b_frames=2)),
    "guessed timestamps, B-frames": Torture(
        "clip.avi", lambda path: write_clip(path, 90, codec="libx264", b_frames=2)
    ),
    "starts at ten seconds": Torture("late.mp4", _late),
    "starts at ten seconds (TS)": Torture("late.ts", _late),
    "broken frames inside": Torture(
        # 32 to 34 do not decode; at 1 s nothing is lost, at 2 s a group has begun anew.
        "broken.mp4",
        lambda path: _zeroed(path, 32, 35, gop=10),
    ),
    "turned by 90 degrees": Torture("phone.mp4", _turned),
    "AV1": Torture("av1.mp4", lambda path: write_clip(path, 90, **_AV1)),
    "two video streams": Torture("two.mp4", lambda path: write_clip(path, 90, extra_streams=1)),
    "variable frame rate": Torture("variable.mp4", _variable, (0, 10, 40)),
    "variable frame rate (Matroska)": Torture("variable.mkv", _variable, (0, 10, 40)),
    "30000/1001 frames a second": Torture(
        # Frame 30 starts at 1.001 s: a millisecond, the clock of Matroska, still means it.
        "ntsc.mp4",
        lambda path: write_clip(path, 90, rate=Fraction(30000, 1001)),
        (0, 30, 59),
    ),
    "one frame": Torture("one.mp4", lambda path: write_clip(path, 1), (0,)),
    "fewer frames than asked for": Torture("five.mp4", lambda path: write_clip(path, 5), (0,)),
    "odd size": Torture(
        "odd.mp4", lambda path: write_clip(path, 90, size=(161, 97), pixels="yuv444p")
    ),
    "cover picture only": Torture("sound.mp4", lambda path: _sound(path), None, "no video stream"),
}


def _sound(path: Path) -> None:
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 2048), np.float32), "fltp", "mono")
        frame.sample_rate = 48000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def upright(picture, kind: str):
    """The picture as `numbered_picture` made it."""
    import numpy as np

    return np.rot90(picture, 1) if kind == "turned by 90 degrees" else picture


def outcome(kind: str, path: Path) -> str:
    """What happens when the file is read: the numbers that its frames show, or the refusal."""
    from procedural_evals import video

    torture = TORTURES[kind]
    count = len(torture.shown or (0, 1, 2))
    try:
        shown = video.sample_frames(path, times=range(count), strict=True)
    except (video.VideoError, OSError) as error:
        return f"refused: {error}"
    numbers = [shown_number(upright(frame, kind)) for frame in shown.frames]
    return "frames " + ", ".join(map(str, numbers))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, torture in TORTURES.items():
            path = Path(folder) / torture.file
            torture.make(path)
            print(f"{kind:42}{torture.file:20}{outcome(kind, path).replace(folder + '/', '')}")


if __name__ == "__main__":
    main()
