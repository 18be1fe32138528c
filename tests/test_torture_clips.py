"""Files of the kinds that break readers are read right or refused by name, before and in a run."""

import json

import pytest

from procedural_evals import video
from procedural_evals.harness import media_check
from tests import lmms
from tests.numbered_clips import shown_number
from tests.tiny_vlm import cached_tiny_vlm
from tests.torture_clips import TORTURES, outcome, upright

REFUSED = {kind for kind, torture in TORTURES.items() if torture.shown is None}
FOUND_BEFORE = {kind for kind in REFUSED if TORTURES[kind].found_before}
CORPUS = "COIN"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A data root whose ProcObject-10K release has a question about each of the files."""
    root = tmp_path_factory.mktemp("root")
    release = root / "procobject-10k"
    videos = release / "videos" / CORPUS
    videos.mkdir(parents=True)
    questions = []
    for number, torture in enumerate(TORTURES.values()):
        torture.make(videos / torture.file)
        questions.append(
            {
                "id": number,
                "qa_type": "Mistake Recognition",
                "reasoning": "Multi-hop Reasoning",
                "source": CORPUS,
                "domain": "Reading",
                "task": "Read a file",
                "video_path": f"{CORPUS}/{torture.file}",
                "clip_start": 0.0,
                "clip_end": 3.0,
                "question": "Which number is shown?",
                "answer": "One.",
                "evidence": [[0.0, 1.0]],
            }
        )
    (release / "data").mkdir()
    (release / "data/testing.json").write_text(json.dumps(questions))
    return root


def files_of(kinds):
    return {TORTURES[kind].file for kind in kinds}


@pytest.mark.parametrize("kind", TORTURES)
def test_a_file_is_read_to_the_frame_or_refused_by_name(root, kind):
    torture = TORTURES[kind]
    path = root / "procobject-10k/videos" / CORPUS / torture.file
    happened = outcome(kind, path)
    if torture.shown is None:
        assert happened.startswith("refused: ")
        assert torture.file in happened
        assert torture.refusal in happened
    else:
        assert happened == "frames " + ", ".join(map(str, torture.shown))


@pytest.mark.parametrize("kind", sorted(set(TORTURES) - REFUSED))
def test_more_frames_than_there_are_and_a_range_beyond_the_end(root, kind):
    path = root / "procobject-10k/videos" / CORPUS / TORTURES[kind].file
    frames = video.frame_count(path)
    everything = video.sample_frames(path, count=1000)
    shown = [shown_number(upright(frame, kind)) for frame in everything.frames]
    assert shown == sorted(set(shown)), "each frame once, in order"
    assert len(shown) <= frames
    end = video.probe(path).duration
    assert video.sample_frames(path, count=1000, start=0, end=end + 100).times.tolist() == (
        everything.times.tolist()
    )
    with pytest.raises(ValueError, match=rf"{TORTURES[kind].file} lasts from 0 to"):
        video.sample_frames(path, count=1, start=end + 1, end=end + 2)


def test_the_data_check_names_every_file_that_cannot_be_used(root):
    report = media_check.check("procobject-10k", str(root / "procobject-10k"), progress=False)
    damaged = {line.split(": ")[1].rsplit("/", 1)[1] for line in report.damaged}
    assert damaged == files_of(FOUND_BEFORE)
    assert report.missing == ["annotations: data/training.json"]
    assert not report.unexpected
    printed = "\n".join(report.lines(()))
    for kind in FOUND_BEFORE:
        assert TORTURES[kind].file in printed
        assert TORTURES[kind].refusal in printed


@pytest.mark.slow
def test_a_run_answers_what_can_be_read_and_names_the_rest(root, tmp_path, tmp_path_factory):
    model = cached_tiny_vlm(tmp_path_factory.mktemp("tiny"))("qwen2_5_vl")
    run = lmms.run(
        tmp_path / "results",
        "procobject_10k",
        *("--judge", "lexical", "--frames", "4"),
        *("--model", "procedural_hf"),
        *("--model_args", f"pretrained={model},max_new_tokens=4,max_pixels=3136"),
        status=1,
        PROCEDURAL_EVALS_DATA=str(root),
    )
    records = run.records["procobject_10k"]
    names = list(TORTURES)
    failures = {names[int(r["id"])]: r["failure"] for r in records if r["failure"] is not None}
    assert len(records) == len(TORTURES)
    # The frames of its last second are promised, asked for, and not to be had.
    short = "fewer frames decode than the header says"
    assert set(failures) == REFUSED | {short}
    for kind, failure in failures.items():
        assert TORTURES[kind].file in failure
        assert (TORTURES[kind].refusal or "no frame decodes from") in failure
    assert all(r["frame_times"] for r in records if r["failure"] is None)
