"""A folder in Flat-Pack Bench's layout with the one real video there is, made for tests.

Frame n of that video is frame n of its questions, so the frames come out of it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import av

PLACE = "Misc/satsumas_2/6kyW3P6x6O8"
VIDEO_ID = "6kyW3P6x6O8"


def make_media_folder(shared: Path, folder: Path) -> Path:
    """The four questions of the real video, with it as both variants and their frames."""
    data = shared / "data/flat-pack-bench"
    (folder / "questions").mkdir(parents=True)
    lines = (data / "questions/questions.jsonl").read_text().splitlines()
    rows = [line for line in lines if json.loads(line)["video_id"] == VIDEO_ID]
    (folder / "questions/questions.jsonl").write_text("\n".join(rows) + "\n")
    for name in ("questions/yamls", "segmentation-masks", "furniture-annotations"):
        (folder / name).symlink_to(data / name)
    source = next((data / "media-sample").glob("*.mp4"))
    for variant in ("trimmed-videos", "keyframe-video"):
        target = folder / "videos" / variant / "fps-1" / PLACE
        target.mkdir(parents=True)
        shutil.copy(source, target / f"{VIDEO_ID}.mp4")
    wanted = set()
    for row in map(json.loads, rows):
        frames = row["frame_idx"]
        wanted |= set(frames if isinstance(frames, list) else [frames])
    frames_folder = folder / "rgb-frames" / PLACE
    frames_folder.mkdir(parents=True)
    with av.open(str(source)) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number in wanted:
                frame.to_image().save(frames_folder / f"{number}.jpg", quality=95)
    return folder
