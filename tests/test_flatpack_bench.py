"""Flat-Pack Bench as a dataset: the real questions, the one real video, and damaged folders."""

import json
import shutil
from collections import Counter

import datasets
import numpy as np
import pytest
from PIL import Image

from procedural_evals import contact_sheet
from procedural_evals.contact_sheet import make_contact_sheet
from procedural_evals.harness import media_check
from procedural_evals.scores import choice_accuracy
from tests.flatpack_media import PLACE, VIDEO_ID, make_media_folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def real(shared, cache):
    folder = str(shared / "data/flat-pack-bench")
    return datasets.load_dataset("flatpack-bench", data_dir=folder, cache_dir=cache, split="test")


@pytest.fixture(scope="module")
def media_folder(shared, tmp_path_factory):
    return make_media_folder(shared, tmp_path_factory.mktemp("media") / "flatpack-bench")


def load(folder, cache, *arguments, **options):
    return datasets.load_dataset(
        "flatpack-bench", *arguments, data_dir=str(folder), cache_dir=cache, split="test", **options
    )


def names(rows, column):
    return rows.features[column].int2str(rows[column])


def test_the_published_counts(real):
    assert len(real) == len(set(real["id"])) == 602
    assert len(set(real["video_id"])) == 50
    assert Counter(names(real, "task")) == {"track": 257, "tord": 155, "tloc": 103, "mate": 87}
    templates = Counter(names(real, "template"))
    assert len(templates) == 13
    assert templates["track_single"] == 140
    assert templates["1edge_order_last"] == 1
    assert Counter(len(options) for options in real["options"]) == {4: 562, 3: 9, 2: 31}


def test_the_published_chance_rows(real):
    random, frequent = {}, {}
    tasks = names(real, "task")
    for task in ("all", "tord", "tloc", "track", "mate"):
        rows = [n for n, each in enumerate(tasks) if task in ("all", each)]
        options, letters = real["options"], real["answer_letter"]
        random[task] = round(choice_accuracy.random_chance([len(options[n]) for n in rows]), 2)
        frequent[task] = round(choice_accuracy.most_frequent([letters[n] for n in rows])[1], 2)
    assert list(random.values()) == [26.41, 25.00, 25.00, 25.49, 33.33]
    assert list(frequent.values()) == [26.74, 27.74, 30.10, 26.46, 36.78]


def test_answer_and_letter_point_at_the_same_option(real):
    for row in real.select_columns(["answer", "answer_letter", "options"]):
        assert "ABCD".index(row["answer_letter"]) == row["answer"] < len(row["options"])


def test_tracking_questions_have_two_frames_and_a_label_map(real):
    for row, task in zip(real, names(real, "task"), strict=True):
        assert len(row["frame_indices"]) == (2 if task == "track" else 1)
        assert bool(row["label_map"]) == (task == "track")
        assert {mask["frame"] for mask in row["masks"]} == set(row["frame_indices"])


def test_without_media_the_rows_load_and_say_what_is_missing(real):
    assert set(real["video"]) == {None}
    row = real[0]
    assert row["visual_prompts"] is None
    assert any(problem.startswith("video missing: no videos/") for problem in row["problems"])
    assert any(problem.startswith("visual prompt missing") for problem in row["problems"])


def test_relabelled_parts_are_relabelled_everywhere(real, shared, cache):
    shuffled = load(shared / "data/flat-pack-bench", cache, "shuffled_seed42")
    assert shuffled["id"] == real["id"]
    for before, after in zip(real, shuffled, strict=True):
        old = {part["id"]: part["name"] for part in before["parts"]}
        new = {part["id"]: part["name"] for part in after["parts"]}
        assert sorted(old.values()) == sorted(new.values())
        mapping = dict(
            zip([p["id"] for p in before["parts"]], [p["id"] for p in after["parts"]], strict=True)
        )
        mapping["7"] = mapping.get("7", "7")  # one video has a part 7 that nobody named
        masks = {(mask["frame"], mapping[mask["part"]]): mask["counts"] for mask in before["masks"]}
        assert masks == {(m["frame"], m["part"]): m["counts"] for m in after["masks"]}
        edges = {
            frozenset(mapping[part] for part in pair.values()) for pair in before["connections"]
        }
        assert edges == {frozenset(pair.values()) for pair in after["connections"]}


def test_another_seed_is_a_name_too_and_a_missing_one_is_named(shared, cache):
    with pytest.raises(Exception, match="seed7") as error:
        load(shared / "data/flat-pack-bench", cache, "shuffled_seed7")
    assert "seeds there are [42]" in f"{error.value} {error.value.__cause__}"


def test_the_real_video_and_its_prompts(media_folder, cache):
    rows = load(media_folder, cache)
    assert len(rows) == 4
    for row in rows:
        assert row["problems"] == []
        assert row["video"]["path"].endswith(f"trimmed-videos/fps-1/{PLACE}/{VIDEO_ID}.mp4")
        assert len(row["visual_prompts"]) == len(row["frame_indices"])
        assert {picture.size for picture in row["visual_prompts"]} == {(640, 480)}


def test_keyframes_are_another_video_of_the_same_questions(media_folder, cache):
    rows = load(media_folder, cache, "keyframes")
    assert all("/keyframe-video/fps-1/" in row["video"]["path"] for row in rows)
    assert rows["id"] == load(media_folder, cache)["id"]


@pytest.mark.parametrize("part", ["labels", "boundaries", "masks"])
def test_each_part_of_a_visual_prompt_can_be_left_out(media_folder, cache, part):
    whole = load(media_folder, cache)[0]["visual_prompts"][0]
    without = load(media_folder, cache, **{f"draw_{part}": False})[0]["visual_prompts"][0]
    difference = np.abs(np.asarray(whole, int) - np.asarray(without, int)).max(axis=2)
    assert 0.001 < (difference > 12).mean() < 0.4


def test_new_media_are_seen_although_the_rows_were_cached(media_folder, tmp_path, cache):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder, folder, symlinks=True)
    video = folder / "videos/trimmed-videos/fps-1" / PLACE / f"{VIDEO_ID}.mp4"
    aside = tmp_path / "aside.mp4"
    video.rename(aside)
    assert load(folder, cache)[0]["video"] is None
    aside.rename(video)
    assert load(folder, cache)[0]["video"] is not None


@pytest.fixture
def damaged_folder(media_folder, tmp_path):
    """Five questions: a good one, a truncated video, a missing one, one that leaves the folder."""
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder, folder, symlinks=True)
    file = folder / "questions/questions.jsonl"
    good = json.loads(file.read_text().splitlines()[0])
    rows = [good]
    for video_id in ("truncated", "absent", "../../../../outside"):
        rows.append(
            {**good, "video_id": video_id, "qid_flat": good["qid_flat"].replace(VIDEO_ID, "x")}
        )
        rows[-1]["qid_flat"] += f"/{len(rows)}"
    video = folder / "videos/trimmed-videos/fps-1" / PLACE / f"{VIDEO_ID}.mp4"
    target = video.parent.parent / "truncated"
    target.mkdir()
    (target / "truncated.mp4").write_bytes(video.read_bytes()[:200_000])
    (tmp_path / "outside.mp4").write_bytes(video.read_bytes())
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_damaged_folder_loads_and_names_each_file(damaged_folder, cache):
    good, truncated, absent, outside = load(damaged_folder, cache)
    assert good["problems"] == []
    assert [row["video"] for row in (truncated, absent, outside)] == [None] * 3
    assert any("damaged: truncated.mp4" in problem for problem in truncated["problems"])
    assert any(problem.startswith("video missing: no videos/") for problem in absent["problems"])
    assert any("leaves the data folder" in problem for problem in outside["problems"])


def test_the_data_check_names_each_file(damaged_folder):
    extra = damaged_folder / "videos/trimmed-videos/fps-1" / PLACE / "holiday.mp4"
    extra.write_bytes(b"?")
    report = media_check.check("flatpack-bench", str(damaged_folder), progress=False)
    text = "\n".join(report.lines([]))
    assert not report.complete
    assert any("truncated.mp4" in line for line in report.damaged)
    assert any("absent.mp4" in line for line in report.missing)
    assert any("outside" in line for line in report.refused)
    assert any("holiday.mp4" in line for line in report.unexpected)
    assert "hf download" not in text.split("Get the files")[0]


def test_the_data_check_is_content_with_a_complete_folder(media_folder):
    report = media_check.check("flatpack-bench", str(media_folder), progress=False)
    assert report.complete
    assert report.unexpected == []
    assert report.present["frame"] == report.expected["frame"] > 0
    assert report.present["annotations"] == report.present["masks"] == 1
    assert report.present["part annotation"] == 1


def test_the_data_check_names_annotations_that_are_missing(media_folder, tmp_path):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder / "questions", folder / "questions")
    missing = media_check.check("flatpack-bench", str(folder), progress=False).missing
    assert any(line.startswith("masks: segmentation-masks/") for line in missing)
    assert any(line.startswith("part annotation: furniture-annotations/") for line in missing)


def test_files_behind_a_link_are_checked_too(media_folder, tmp_path):
    (tmp_path / "data").mkdir()
    for part in media_folder.iterdir():
        (tmp_path / "data" / part.name).symlink_to(part.resolve())
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "holiday.mp4").write_bytes(b"?")
    (tmp_path / "data" / "more").symlink_to(disk)
    report = media_check.check("flatpack-bench", str(tmp_path / "data"), progress=False)
    assert report.unexpected == ["more/holiday.mp4"]


def test_a_contact_sheet_shows_prompts_or_says_why_not(media_folder, tmp_path, cache):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder / "questions", folder / "questions")
    with pytest.raises(ValueError, match=r"none of .* rows has a picture; the first") as why:
        make_contact_sheet(
            "flatpack-bench", tmp_path / "a.png", data_dir=str(folder), cache_dir=cache
        )
    assert "is: visual prompt: no masks of frame" in str(why.value)
    assert "`procedural-evals check-data flatpack-bench`" in str(why.value)
    assert "`--config sample`" in str(why.value)
    options = {"data_dir": str(media_folder), "cache_dir": cache}
    assert make_contact_sheet("flatpack-bench", tmp_path / "a.png", **options) > 0
    with Image.open(tmp_path / "a.png") as page:
        left, right = contact_sheet.TILE[0], contact_sheet.TILE[0] + contact_sheet.GUTTER
        assert page.convert("L").crop((left, 0, right, page.height)).getextrema() == (255, 255)


def with_frame(value):
    return lambda line: json.dumps({**json.loads(line), "frame_idx": value})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda line: line[: len(line) // 2], "line 1"),
        (lambda line: line.replace('"qid_flat"', '"qid_flt"'), "no 'qid_flat'"),
        (lambda line: line.replace('"tracking"', '"juggling"'), "juggling"),
        (lambda line: f"{line}\n{line}", "' is that of line 1 too"),
        (with_frame(10**30), "frame_idx: 1000000"),
        (with_frame([1.5]), "frame_idx: 1.5"),
        (with_frame([float("inf")]), "frame_idx: inf"),
        (with_frame(-1), "frame_idx: -1"),
        (with_frame(None), "frame_idx: None"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(media_folder, tmp_path, cache, damage, message):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder / "questions", folder / "questions", symlinks=True)
    file = folder / "questions/questions.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([damage(lines[0]), *lines[1:]]))
    with pytest.raises(Exception, match=r"questions\.jsonl") as error:
        load(folder, cache)
    assert message in f"{error.value} {error.value.__cause__}"


@pytest.mark.parametrize("damage", [{"size": [2**40, 1]}, {"size": [-2, 2]}, {"counts": 7}])
def test_a_mask_that_fits_no_picture_is_named(media_folder, tmp_path, cache, damage):
    folder = tmp_path / "flatpack-bench"
    shutil.copytree(media_folder, folder, symlinks=False)
    for file in (folder / "segmentation-masks").rglob("*.json"):
        content = json.loads(file.read_text())
        for parts in content["manual"].values():
            for rle in parts.values():
                rle.update(damage)
        file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"questions\.jsonl, line 1: mask of part \w+, frame \d+"):
        load(folder, cache)
