"""Reading 8, 32 or 120 frames of a video: ours against lmms-eval, decord, OpenCV, torchcodec.

    python benchmarks/frames.py [--quick] [--only TEXT] [--seconds 6] [--folder CLIPS]

The clips are made first: 360p and 720p, a keyframe every 12 or every 250 frames, 2 and 20 minutes
of a moving texture (h264 with B-frames, 30 a second), whose frames show their own number. All
readers are asked for the same evenly spread frames as RGB arrays; the numbers in what comes back
are checked, and so are the pixels against ours ("!": it reads other frames, and is not counted).
Every reading begins with a closed file, and what ours remembers of it is forgotten. Readers take
turns; a ratio is the median over the rounds of a reader's time through ours in the same round, by
the clock and, beside it, by the processors' time. A reader that took six times as long is not asked
again (marked "*"); lmms-eval's decodes the whole of a file, so that of a long one it is asked once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np

from procedural_evals import timelines, video

RATE, BITS, UNIT = 30, 10, 900
SIZES = {"360p": (640, 360), "720p": (1280, 720)}
GOPS = (12, 250)
MINUTES = (2, 20)
COUNTS = (8, 32, 120)
HOPELESS = 6
MOST_ROUNDS = 15
Reader = Callable[[Path, np.ndarray], np.ndarray]


class Spent(NamedTuple):
    """Seconds of one reading, by the clock and of all processors."""

    clock: float
    cpu: float


# ---- clips ------------------------------------------------------------------------------------


def picture(texture: np.ndarray, number: int, width: int, height: int) -> np.ndarray:
    """A window moving over the texture, with the number as a row of black and white blocks."""
    left, top = 3 * number % (texture.shape[1] - width), number % (texture.shape[0] - height)
    shown = texture[top : top + height, left : left + width].copy()
    side = height // 12
    for bit in range(BITS):
        shown[:side, bit * side : (bit + 1) * side] = 255 if number >> bit & 1 else 0
    return shown


def number_in(shown: np.ndarray) -> int:
    """The number that a picture shows."""
    side = shown.shape[0] // 12
    middle = slice(side // 4, 3 * side // 4)
    blocks = [shown[middle, bit * side :][:, middle] for bit in range(BITS)]
    return sum(int(block.mean() > 128) << bit for bit, block in enumerate(blocks))


def make_unit(path: Path, size: tuple[int, int], gop: int) -> Path:
    """Half a minute of video."""
    width, height = size
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (height // 8, width // 8, 3), dtype=np.uint8)
    frame = av.VideoFrame.from_ndarray(coarse).reformat(
        2 * width, 2 * height, interpolation="BICUBIC"
    )
    texture = frame.to_ndarray(format="rgb24")
    options = {"preset": "veryfast", "crf": "23", "sc_threshold": "0"}
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.gop_size = gop
        stream.thread_type = "FRAME"  # else every picture is cut into slices, as in few real files
        for number in range(UNIT):
            frame = av.VideoFrame.from_ndarray(picture(texture, number, width, height))
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def repeat(unit: Path, times: int, path: Path) -> Path:
    """The same half minute so many times, its packets copied."""
    with av.open(str(unit)) as source, av.open(str(path), "w") as target:
        taken = source.streams.video[0]
        stream = target.add_stream_from_template(taken)
        packets = [packet for packet in source.demux(taken) if packet.size]
        length = int(UNIT / RATE / taken.time_base)
        data = [(bytes(packet), packet.pts, packet.dts, packet.is_keyframe) for packet in packets]
        for copy in range(times):
            for content, pts, dts, key in data:
                packet = av.Packet(content)
                packet.stream, packet.time_base, packet.is_keyframe = stream, taken.time_base, key
                packet.pts, packet.dts = pts + copy * length, dts + copy * length
                target.mux(packet)
    return path


def clips(folder: Path, quick: bool, only: str) -> Iterator[tuple[str, Path, int]]:
    """Name, file and number of frames of each clip; files that are there are kept."""
    for name, size in list(SIZES.items())[: 1 if quick else None]:
        for gop in GOPS:
            lengths = [n for n in MINUTES if only in f"{name} GOP {gop} {n} min"]
            lengths = [n for n in lengths if n == MINUTES[0] or not quick]
            if not lengths:
                continue
            unit = folder / f"{name}-{gop}-unit.mp4"
            if not unit.exists():
                make_unit(unit.with_suffix(".part.mp4"), size, gop).rename(unit)
            for minutes in lengths:
                path = folder / f"{name}-{gop}-{minutes}.mp4"
                copies = minutes * 60 * RATE // UNIT
                if not path.exists():
                    repeat(unit, copies, path.with_suffix(".part.mp4")).rename(path)
                yield f"{name} GOP {gop} {minutes} min", path, copies * UNIT


# ---- readers ----------------------------------------------------------------------------------


def ours(path: Path, indices: np.ndarray) -> np.ndarray:
    """`video.sample_frames`, with nothing remembered of the file."""
    timelines.forget()
    return video.sample_frames(path, times=indices / RATE).frames


def lmms_eval(path: Path, indices: np.ndarray) -> np.ndarray:
    """`read_video` of lmms-eval, which picks the same indices by itself."""
    return importlib.import_module("lmms_eval.models.model_utils.load_video").read_video(
        str(path), num_frm=len(indices)
    )


def decord(path: Path, indices: np.ndarray) -> np.ndarray:
    """Decord's `get_batch`."""
    module = importlib.import_module("decord")
    reader = module.VideoReader(str(path), ctx=module.cpu(0))
    return reader.get_batch(indices.tolist()).asnumpy()


def opencv(path: Path, indices: np.ndarray) -> np.ndarray:
    """OpenCV, a jump for each frame."""
    cv2 = importlib.import_module("cv2")
    capture = cv2.VideoCapture(str(path))
    frames = []
    for index in indices.tolist():
        capture.set(cv2.CAP_PROP_POS_FRAMES, index)
        frames.append(cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2RGB))
    capture.release()
    return np.stack(frames)


def opencv_on(path: Path, indices: np.ndarray) -> np.ndarray:
    """OpenCV, reading on from frame to frame."""
    cv2 = importlib.import_module("cv2")
    capture = cv2.VideoCapture(str(path))
    wanted, frames = set(indices.tolist()), []
    for number in range(int(indices[-1]) + 1):
        capture.grab()
        if number in wanted:
            frames.append(cv2.cvtColor(capture.retrieve()[1], cv2.COLOR_BGR2RGB))
    capture.release()
    return np.stack(frames)


def torchcodec(**options: object) -> Reader:
    """Torchcodec's `get_frames_at`."""

    def read(path: Path, indices: np.ndarray) -> np.ndarray:
        module = importlib.import_module("torchcodec.decoders")
        decoder = module.VideoDecoder(str(path), dimension_order="NHWC", **options)
        return decoder.get_frames_at(indices.tolist()).data.numpy()

    return read


PEERS: dict[str, tuple[str, Reader]] = {
    "lmms-eval": ("lmms_eval.models.model_utils.load_video", lmms_eval),
    "decord": ("decord", decord),
    "OpenCV": ("cv2", opencv),
    "OpenCV on": ("cv2", opencv_on),
    "codec": ("torchcodec.decoders", torchcodec()),
    "codec ~": ("torchcodec.decoders", torchcodec(seek_mode="approximate")),
    "codec ~0": ("torchcodec.decoders", torchcodec(seek_mode="approximate", num_ffmpeg_threads=0)),
}
LEGEND = """\
Numbers: times our time; more than 1: ours is faster. OpenCV: a jump a frame; OpenCV on: reading on.
codec: torchcodec as it comes; ~: seek_mode=approximate; 0: num_ffmpeg_threads=0.
*: asked once, being too slow. !: reads other frames than asked for, so it is not counted."""


def present() -> dict[str, Reader]:
    """The peers that are installed; says which are not."""
    found = {}
    for name, (module, reader) in PEERS.items():
        try:
            importlib.import_module(module)
            found[name] = reader
        except Exception as error:  # torchcodec raises RuntimeError where FFmpeg is missing
            print(f"NOT MEASURED: {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    return found


# ---- measuring --------------------------------------------------------------------------------


def spent(reader: Reader, path: Path, indices: np.ndarray) -> tuple[Spent, np.ndarray]:
    """Time of one reading, and the frames."""
    clock, cpu = time.perf_counter(), time.process_time()
    frames = reader(path, indices)
    return Spent(time.perf_counter() - clock, time.process_time() - cpu), frames


def differs(frames: np.ndarray, expected: np.ndarray, indices: np.ndarray) -> bool:
    """Whether other frames came than were asked for, by their numbers and by ours."""
    if frames.shape != expected.shape:
        return True
    numbers = [number_in(frame) for frame in frames]
    apart = np.abs(frames[::7, ::4, ::4].astype(int) - expected[::7, ::4, ::4]).mean()
    return numbers != (indices % UNIT).tolist() or apart > 3


def cell(
    path: Path, indices: np.ndarray, peers: dict[str, Reader], seconds: float
) -> tuple[list[Spent], dict[str, list[Spent]], set[str]]:
    """Rounds of readings: ours, the peers', and who read other frames.

    The first round is for all, the next ones take about so many seconds.
    """
    own: list[Spent] = []
    others: dict[str, list[Spent]] = {name: [] for name in peers}
    wrong: set[str] = set()
    begin = 0.0
    while not own or (time.perf_counter() - begin < seconds and len(own) < MOST_ROUNDS):
        taken, expected = spent(ours, path, indices)
        own.append(taken)
        if len(own) == 1 and differs(expected, expected, indices):
            raise SystemExit(f"{path}: ours read other frames than were asked for")
        for name, reader in peers.items():
            if others[name] and others[name][0].clock > HOPELESS * own[0].clock:
                continue
            taken, frames = spent(reader, path, indices)
            others[name].append(taken)
            if len(own) == 1 and differs(frames, expected, indices):
                wrong.add(name)
            del frames
        begin = begin or time.perf_counter()
    return own, others, wrong


def ratio(own: list[Spent], other: list[Spent], part: str) -> float:
    """Median over the rounds of the other's time through ours in the same round."""
    pairs = zip(own, other, strict=False)
    return statistics.median(getattr(b, part) / getattr(a, part) for a, b in pairs)


def main() -> None:
    """Make the clips, measure every cell, print the table and how many cells meet the goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="360p and 2 minutes only")
    parser.add_argument("--only", default="", help='such clips only, as "720p GOP 12 2 min"')
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="of measuring a cell, at least a round"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the clips are kept; else a temporary one"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, options.quick, options.only, options.seconds)


class Line(NamedTuple):
    """Ratios of a cell."""

    count: int
    lmms: float | None
    best: float
    by_cpu: float


def measure(folder: Path, quick: bool, only: str, seconds: float) -> None:
    """Print the table, a line a cell, and its summary."""
    peers = present()
    print(
        f"{os.cpu_count()} processors, {os.getloadavg()[0]:.1f} threads want one before it begins"
    )
    head = "".join(f"{name:>11}" for name in peers)
    print(f"{'clip':<22}{'frames':>6}{'ours':>10}{head}{'best':>8}{'by CPU':>8}{'rounds':>7}")
    lines = []
    for name, path, total in clips(folder, quick, only):
        slow: list[Spent] = []
        for count in COUNTS:
            asked = dict(peers)
            if total > MINUTES[0] * 60 * RATE:
                asked.pop("OpenCV on", None)
                if slow:  # it decodes the whole file, however many frames are wanted of it
                    asked.pop("lmms-eval", None)
            own, others, wrong = cell(path, lmms_indices(count, total), asked, seconds)
            slow = others.setdefault("lmms-eval", slow)
            middle = 1000 * statistics.median(taken.clock for taken in own)
            print(f"{name:<22}{count:>6}{middle:>7.0f} ms", end="")
            lines.append(print_ratios(count, own, others, wrong, list(peers)))
    print(LEGEND)
    for words, ratios in (
        ("the clock", [line.best for line in lines]),
        ("the processors' time", [line.by_cpu for line in lines]),
    ):
        print(
            f"At least as fast as the best peer by {words}: {sum(r >= 1 for r in ratios)} of"
            f" {len(ratios)} cells; the least ratio is {min(ratios):.2f}"
        )
    few = [line.lmms for line in lines if line.count == COUNTS[0] and line.lmms is not None]
    if few:
        print(
            f"Three times lmms-eval's reader at {COUNTS[0]} frames: {sum(r >= 3 for r in few)} of"
            f" {len(few)} clips; the least ratio is {min(few):.2f}"
        )


def print_ratios(
    count: int, own: list[Spent], others: dict[str, list[Spent]], wrong: set[str], peers: list[str]
) -> Line:
    """The rest of a line: each peer's ratio, and the best one's."""
    clock = {name: ratio(own, taken, "clock") for name, taken in others.items() if taken}
    right = [name for name in clock if name not in wrong]
    by_cpu = min(ratio(own, others[name], "cpu") for name in right)
    for name in peers:
        once = "*" if name in clock and len(others[name]) < len(own) else ""
        mark = "!" if name in wrong else once
        print(f"{f'{clock[name]:.2f}{mark or chr(32)}' if name in clock else '- ':>11}", end="")
    best = min(clock[name] for name in right)
    print(f"{best:>8.2f}{by_cpu:>8.2f}{len(own):>7}", flush=True)
    return Line(count, clock.get("lmms-eval"), best, by_cpu)


def lmms_indices(count: int, total: int) -> np.ndarray:
    """The evenly spread indices that lmms-eval takes."""
    return np.linspace(0, total - 1, count, dtype=int)


if __name__ == "__main__":
    main()
