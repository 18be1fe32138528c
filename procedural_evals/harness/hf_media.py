"""Chat messages in the form that a processor of transformers takes: pictures, frames, their times.

Frames are read by `procedural_evals.video`, never by the processor, so that the same ones are
shown whatever the model, and it is known which.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from procedural_evals import frame_cache, video

# Processors compute a frame's time as index / fps. Where a constant rate misses the real times by
# more than this many seconds, the indices are milliseconds instead of frame numbers.
_RATE_TOLERANCE = 0.005
_TICKS = 1000
_GREY = 128


@dataclass(frozen=True)
class FramePlan:
    """How the frames of a video are chosen and handed over.

    Attributes:
        max_num_frames: at most so many, spread evenly over the clip, first and last included.
        fps: so many a second of the clip, up to `max_num_frames`; None: `max_num_frames`.
        max_pixels: larger frames and pictures are scaled down to about so many pixels.
        multiple: the last frame is repeated until the count is a multiple of this: the number of
            frames that the model joins in one patch.
        as_images: hand over single pictures, for models that know no video.
    """

    max_num_frames: int = 32
    fps: float | None = None
    max_pixels: int | None = None
    multiple: int = 1
    as_images: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that mean no frame."""
        for name in ("max_num_frames", "fps", "max_pixels", "multiple"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}={value}: a positive number is needed")

    def count(self, duration: float) -> int:
        """Number of frames that are shown of a clip of so many seconds.

        >>> FramePlan(32, fps=2.0).count(4.2)
        9
        >>> FramePlan(32, fps=2.0).count(600)
        32
        """
        if self.fps is None:
            return self.max_num_frames
        return min(self.max_num_frames, max(1, math.ceil(duration * self.fps - 1e-6)))

    def size(self, width: int, height: int) -> tuple[int, int] | None:
        """(width, height) to which pictures are scaled down; None where they are small enough.

        >>> FramePlan(max_pixels=640 * 360).size(1920, 1080)
        (640, 360)
        """
        if self.max_pixels is None or width * height <= self.max_pixels:
            return None
        scale = math.sqrt(self.max_pixels / (width * height))
        return max(1, round(width * scale)), max(1, round(height * scale))


class Clip(NamedTuple):
    """Frames of a video with what a processor wants to know about them."""

    frames: np.ndarray
    """uint8 RGB [n, height, width, 3], `n` a multiple of the plan's."""
    metadata: dict[str, Any]
    """fps, total_num_frames, frames_indices, ...; index / fps is the time in the clip."""
    times: tuple[float, ...]
    """Seconds from the start of the file, one for each distinct frame."""


@dataclass
class Prompt:
    """A conversation with places for its media, and the media in the order of the places."""

    conversation: list[dict[str, Any]]
    images: list[Image.Image] = field(default_factory=list)
    videos: list[np.ndarray] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    frame_times: list[float] = field(default_factory=list)
    """Seconds from the start of the file, of the frames of all videos."""

    @property
    def text(self) -> str:
        """The text parts, joined."""
        parts = (part for message in self.conversation for part in message["content"])
        return "\n".join(part["text"] for part in parts if part["type"] == "text")

    def greyed(self) -> Prompt:
        """The same conversation with nothing but grey in its pictures and frames."""
        return Prompt(
            self.conversation,
            [Image.new("RGB", image.size, (_GREY,) * 3) for image in self.images],
            [np.full_like(frames, _GREY) for frames in self.videos],
            self.metadata,
        )


def prompt_of(messages: Sequence[Mapping[str, Any]], plan: FramePlan) -> Prompt:
    """Read the media of chat messages in lmms-eval's form.

    Text, images (PIL, array or path) and videos may come in any order. A video is a path, or
    {"path": ..., "start": seconds, "end": seconds}; lmms-eval's own start_time and end_time mean
    the same. Raises ValueError for anything else, and what `video.sample_frames` raises.
    """
    prompt = Prompt([])
    for message in messages:
        content: list[dict[str, Any]] = []
        parts: Any = message["content"]
        if isinstance(parts, str):
            parts = [{"type": "text", "text": parts}]
        for part in parts:
            if part["type"] == "text":
                content.append({"type": "text", "text": part["text"]})
            elif part["type"] == "image":
                prompt.images.append(_picture(part["url"], plan))
                content.append({"type": "image"})
            elif part["type"] == "video":
                clip = _clip(part["url"], part.get("start_time"), part.get("end_time"), plan)
                prompt.frame_times += clip.times
                if plan.as_images:
                    distinct = clip.frames[: len(clip.times)]
                    prompt.images += [Image.fromarray(frame) for frame in distinct]
                    content += [{"type": "image"} for _ in distinct]
                else:
                    prompt.videos.append(clip.frames)
                    prompt.metadata.append(clip.metadata)
                    content.append({"type": "video"})
            else:
                raise ValueError(f"a message holds {part['type']}; text, image and video are read")
        prompt.conversation.append({"role": message["role"], "content": content})
    return prompt


def _picture(source: Any, plan: FramePlan) -> Image.Image:
    if isinstance(source, Mapping):
        source = io.BytesIO(source["bytes"]) if source.get("bytes") else source["path"]
    if isinstance(source, np.ndarray):
        source = Image.fromarray(source)
    if not isinstance(source, Image.Image):
        with Image.open(source) as file:
            source = file.convert("RGB")
    picture: Image.Image = source.convert("RGB")
    size = plan.size(*picture.size)
    return picture if size is None else picture.resize(size, Image.Resampling.BICUBIC)


def _clip(source: Any, start: float | None, end: float | None, plan: FramePlan) -> Clip:
    if isinstance(source, Mapping):
        start = source.get("start") if start is None else start
        end = source.get("end") if end is None else end
        source = source["path"]
    if not isinstance(source, str | Path):
        raise ValueError(f"a video is a path or a mapping with one, got {type(source).__name__}")
    path = Path(source)
    changed = path.stat().st_mtime_ns if path.exists() else 0
    return read_clip(str(path), start, end, plan, changed)


# Questions about one video tend to follow one another.
@lru_cache(maxsize=2)
def read_clip(
    path: str, start: float | None, end: float | None, plan: FramePlan, changed: int = 0
) -> Clip:
    """Frames of `[start, end)` of a file by a plan; `changed` makes a changed file another one.

    The metadata's times count from `start`, as in a file that holds only the clip; `times` count
    from the start of the file. The answer is kept in `frame_cache`.
    """

    def read() -> tuple[np.ndarray, frame_cache.Notes]:
        clip = _decoded_clip(path, start, end, plan)
        return clip.frames, {"metadata": clip.metadata, "times": clip.times}

    asked = {"call": "read_clip", "start": start, "end": end, "plan": asdict(plan)}
    frames, notes = frame_cache.kept(path, asked, read)
    return Clip(frames, dict(notes["metadata"]), tuple(notes["times"]))


def _decoded_clip(path: str, start: float | None, end: float | None, plan: FramePlan) -> Clip:
    info = video.probe(path)
    begin = start or 0.0
    length = min(info.duration, info.duration if end is None else end) - begin
    size = plan.size(info.width, info.height)
    frames, times = video.sample_frames(
        path, count=plan.count(length), start=start, end=end, size=size, strict=True
    )
    shown = np.clip(times - begin, 0, None)
    fps, indices, total = _rate(shown, length, video.frame_times(path))
    missing = -len(frames) % plan.multiple
    if missing:
        frames = np.concatenate([frames, np.repeat(frames[-1:], missing, axis=0)])
        indices += indices[-1:] * missing
    height, width = frames.shape[1:3]
    metadata = {
        "fps": fps,
        "total_num_frames": total,
        "frames_indices": indices,
        "duration": length,
        "width": width,
        "height": height,
        "video_backend": "pyav",
    }
    return Clip(frames, metadata, tuple(round(float(time), 3) for time in times))


def _rate(shown: np.ndarray, length: float, all_times: np.ndarray) -> tuple[float, list[int], int]:
    """fps, indices and total with index / fps == time: frame numbers, or milliseconds.

    >>> _rate(np.array([0.0, 1.0]), 2.0, np.arange(50) / 25)
    (25.0, [0, 25], 50)
    >>> _rate(np.array([0.0, 0.31]), 0.9, np.array([0.0, 0.31, 0.35]))
    (1000.0, [0, 310], 900)
    """
    if len(all_times) > 1:
        fps = float((len(all_times) - 1) / (all_times[-1] - all_times[0]))
        indices = np.round(shown * fps)
        if np.abs(indices / fps - shown).max() <= _RATE_TOLERANCE:
            total = max(round(length * fps), int(indices[-1]) + 1)
            return fps, indices.astype(int).tolist(), total
    indices = np.round(shown * _TICKS).astype(int)
    return float(_TICKS), indices.tolist(), max(round(length * _TICKS), int(indices[-1]) + 1)
