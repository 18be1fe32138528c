"""What was shown belongs to its row alone, and what is no answer is never scored as one."""

import json

import av
import datasets
import numpy as np
import pytest

from procedural_evals import replies, video
from procedural_evals.harness import judging, records
from procedural_evals.harness.protocols import (
    VIDEO_AS_VARIABLE,
    FramePlan,
    MultipleChoice,
    OpenAnswer,
)
from tests.numbered_clips import write_clip

VIDEO = MultipleChoice(
    "flatpack_bench", "video", ("video", "visual_prompts"), categories=("a",) * 9
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    cache = str(tmp_path_factory.mktemp("cache"))
    return datasets.load_dataset("flatpack-bench", "sample", split="test", cache_dir=cache)


def right(row):
    return json.dumps({"answer": row["answer_letter"]})


def test_one_tasks_failure_does_not_reach_another_tasks_record(sample):
    """Two tasks of one run ask the same questions of different videos."""
    row = sample[0]
    broken = {**row, "video": None, "problems": ["video missing: no such.mp4"]}
    VIDEO.messages(row)
    VIDEO.messages(broken)
    assert VIDEO.record(row, right(row))["failure"] is None
    assert "missing" in VIDEO.record(broken, right(row))["failure"]


@pytest.mark.parametrize(
    "reply",
    [
        "[LMMS_EVAL_REQUEST_FAILED after 3 retries] time-out",
        "[LMMS_EVAL_BUDGET_EXCEEDED]",
        "[PROCEDURAL_EVALS_FAILED] out of memory",
        'Error: can only concatenate str (not "NoneType") to str',
        None,
        ["A"],
    ],
)
def test_what_is_no_answer_is_a_failed_item(sample, reply):
    for metric, record in VIDEO.process(sample[0], [reply]).items():
        assert record["failure"], metric
        assert "score" not in record
        assert "letter" not in record


@pytest.mark.parametrize("reply", ["D \ud83d", "\udcff", "A" * 100_000, "", "\x00B"])
def test_any_text_of_a_model_can_be_written_to_the_samples(sample, reply):
    for record in VIDEO.process(sample[0], [reply]).values():
        json.dumps(record, ensure_ascii=False).encode("utf-8")


def test_records_without_an_answer_never_enter_a_score(sample):
    rows = [sample[n] for n in range(4)]
    found = [VIDEO.record(row, right(row)) for row in rows[:2]]
    found += [VIDEO.record(row, "[LMMS_EVAL_REQUEST_FAILED]") for row in rows[2:]]
    assert len(records.answered_records(found)) == 2
    assert records.choice_summary(found).accuracy == 100


def damaged(path):
    """A clip of 60 frames at 10 a second whose packets from the second on do not decode."""
    write_clip(path, 60, rate=10, gop=60, b_frames=0)
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        spans = [(p.pos, p.size) for p in container.demux(video=0) if p.size and p.pos is not None]
    for position, size in spans[10:]:
        data[position + 5 : position + size] = bytes(size - 5)
    path.write_bytes(data)
    return path


def test_frames_of_another_time_are_never_shown_as_the_ones_asked_for(tmp_path):
    path = damaged(tmp_path / "damaged.mp4")
    assert len(video.sample_frames(path, times=[0.0, 0.5], strict=True).times) == 2
    with pytest.raises(video.VideoError, match="damaged"):
        video.sample_frames(path, times=[5.0], strict=True)


def test_a_video_can_be_shown_as_frames_in_its_place(sample, monkeypatch):
    row = sample[0]
    kinds = [part["type"] for part in VIDEO.messages(row)[0]["content"]]
    monkeypatch.setenv(VIDEO_AS_VARIABLE, "frames")
    content = VIDEO.messages(row)[0]["content"]
    frames = video.frame_count(row["video"]["path"])
    count = min(frames, 32)
    assert [p["type"] for p in content] == ["text", *["image"] * count, "text", *kinds[1:]]
    assert content[0]["text"] == f"{count} frames of the video, in order:"
    record = VIDEO.record(row, right(row))
    assert len(record["frame_times"]) == count
    assert record["frame_plan"] == "32 uniform 640x360"
    assert all(not isinstance(visual, str) for visual in VIDEO.visuals(row))
    monkeypatch.setenv(VIDEO_AS_VARIABLE, "film")
    assert "file or frames" in VIDEO.messages(row)[0]["content"][0]["text"]


def test_two_judges_of_one_name_are_refused_before_the_run(monkeypatch):
    monkeypatch.setenv(judging.JUDGE_VARIABLE, "m@http://127.0.0.1:1/v1,m@http://127.0.0.1:2/v1")
    with pytest.raises(ValueError, match="different names"):
        judging.chosen_judges("promqa_ternary")


def test_the_number_and_rule_of_frames_can_be_chosen_and_are_recorded(monkeypatch):
    monkeypatch.setenv("PROCEDURAL_EVALS_FRAMES", "7")
    monkeypatch.setenv("PROCEDURAL_EVALS_SAMPLING", "stride_from_end")
    assert str(FramePlan.from_environment(20, "uniform", (640, 360))) == "7 stride_from_end 640x360"
    monkeypatch.setenv("PROCEDURAL_EVALS_FRAMES", "many")
    with pytest.raises(ValueError, match="many"):
        FramePlan.from_environment(20)


def test_reasoning_is_not_part_of_an_open_answer():
    protocol = OpenAnswer("promqa_assembly", "text", rubric="promqa_ternary", cluster="id")
    row = {"id": "1", "question": "?", "answers": ["a"], "problems": [], "revision": "r"}
    record = protocol.record(row, "<think>attach the roof</think>Detach the wheel.")
    assert record["prediction"] == "Detach the wheel."
    assert replies.visible_text(record["reply"]) == "Detach the wheel."
    assert np.isfinite(len(record["reply"]))
