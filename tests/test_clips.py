"""Clips hold what is on screen in their range, and nothing from after its end."""

import av
import numpy as np
import pytest

from procedural_evals import clips, video


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Ten seconds at 10 frames a second; the two halves' grey levels are a frame's two digits."""
    path = tmp_path_factory.mktemp("clips") / "recording.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.options = {"crf": "1"}
        for number in range(100):
            frame = np.full((48, 64, 3), 20 + 22 * (number // 10), dtype=np.uint8)
            frame[:, 32:] = 20 + 22 * (number % 10)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


def numbers(path):
    frames = [frame for _, frame in video.iter_frames(path)]
    halves = [(frame[:, 4:28].mean(), frame[:, 36:60].mean()) for frame in frames]
    return [10 * round((tens - 20) / 22) + round((ones - 20) / 22) for tens, ones in halves]


@pytest.mark.parametrize(
    ("start", "end", "fps", "expected"),
    [
        (0, 2, 2, [0, 5, 10, 15]),
        (3, 4, 5, [30, 32, 34, 36, 38]),
        (9, 10, 1, [90]),
        (2.05, 3.05, 2, [20, 25]),
    ],
)
def test_a_clip_holds_the_frames_of_its_range(recording, tmp_path, start, end, fps, expected):
    clip = clips.cut_clip(recording, start, end, tmp_path, fps=fps)
    assert numbers(clip) == expected
    assert all(number < end * 10 for number in numbers(clip))


def test_the_same_cut_is_made_once_and_another_one_anew(recording, tmp_path):
    clip = clips.cut_clip(recording, 0, 2, tmp_path)
    made = clip.stat().st_mtime_ns
    assert clips.cut_clip(recording, 0, 2, tmp_path) == clip
    assert clip.stat().st_mtime_ns == made
    assert clips.cut_clip(recording, 0, 3, tmp_path) != clip
    assert sorted(tmp_path.iterdir()) == sorted(tmp_path.glob("*.mp4"))


def test_a_clip_can_be_made_smaller(recording, tmp_path):
    clip = clips.cut_clip(recording, 0, 1, tmp_path, size=(32, 24))
    info = video.probe(clip)
    assert (info.width, info.height) == (32, 24)


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 2), (-1, 2), (20, 30)])
def test_an_empty_range_is_named_and_leaves_no_file(recording, tmp_path, start, end):
    with pytest.raises(ValueError, match=r"recording\.mp4"):
        clips.cut_clip(recording, start, end, tmp_path)
    assert not list(tmp_path.iterdir())
