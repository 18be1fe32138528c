"""The embedded sample: complete, small, in the authors' form, right, and made again the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml
from PIL import Image
from pycocotools import mask as coco

from procedural_evals import folders
from procedural_evals.simulator.difficulty import Difficulty
from procedural_evals.simulator.flatpack_layout import Film, mask_record, write_questions
from procedural_evals.simulator.media import write_video
from procedural_evals.simulator.questions import (
    TASKS,
    TEMPLATES,
    Choice,
    Letters,
    Question,
    Raw,
    ask_many,
)
from procedural_evals.simulator.sample import (
    MIN_AREA,
    film_world,
    make_flatpack_sample,
    simulate_flatpack,
)
from procedural_evals.simulator.verify import Truth, verify
from procedural_evals.simulator.world import World, make_world

SAMPLE = folders.dataset_scripts() / "flatpack_bench" / "sample"
SCRAMBLED = "questions_shuffled_part_ids_seed42.jsonl"
Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Sample:
    """The committed files, and the worlds they were made from."""

    folder: Path

    @cached_property
    def note(self) -> Row:
        found: Row = json.loads((self.folder / "simulation.json").read_text(encoding="utf-8"))
        return found

    @cached_property
    def worlds(self) -> list[World]:
        level = Difficulty(**self.note["difficulty"])
        first = 1000 * self.note["seed"]
        return [make_world(kind, first + n, level) for n, kind in enumerate(self.note["products"])]

    @cached_property
    def truths(self) -> dict[str, Truth]:
        return {world.video_id: Truth(world) for world in self.worlds}

    @cached_property
    def rows(self) -> list[Row]:
        return read_rows(self.folder / "questions/questions.jsonl")

    @cached_property
    def scrambled(self) -> list[Row]:
        return read_rows(self.folder / "scrambled-questions/jsonl" / SCRAMBLED)

    def source(self, row: Row, folder: str = "questions/yamls") -> Row:
        number = row["qid_flat"].split("/")[-2]
        text = (self.folder / folder / f"{number}.yaml").read_text(encoding="utf-8")
        found: Row = yaml.safe_load(text)
        return found

    def masks(self, world: World, folder: str = "segmentation-masks") -> dict[str, Row]:
        where = f"{world.product.category}/{world.product.name}/{world.video_id}"
        path = self.folder / folder / where / f"{world.video_id}.json"
        found: dict[str, Row] = json.loads(path.read_text(encoding="utf-8"))["manual"]
        return found

    def video(self, variant: str, world: World) -> Path:
        where = f"{world.product.category}/{world.product.name}/{world.video_id}"
        return self.folder / "videos" / variant / "fps-1" / where / f"{world.video_id}.mp4"


@pytest.fixture(scope="module")
def sample() -> Sample:
    return Sample(SAMPLE)


def decoded(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def tupled(raw: Any) -> Raw:
    return raw if isinstance(raw, str) else tuple(tupled(r) for r in raw)


def question_of(row: Row, source: Row) -> Question:
    """A written question, read back."""
    frames = row["frame_idx"] if isinstance(row["frame_idx"], list) else [row["frame_idx"]]
    params = source.get("question_params", {})
    query = tuple(params[key] for key in sorted(params))
    choices = []
    for option in row["question"]["options"].values():
        raw = tupled(option["raw"])
        extra = "none" if raw == "none" else ""
        if "correct" in option["text"] and not extra:
            extra = "both"
        choices.append(Choice(raw, extra))
    correct = row["question"]["correct_option"]["idx"]
    return Question(
        row["template_type"], tuple(frames), query, tuple(choices), correct,
        source.get("jumble_map"),
    )  # fmt: skip


def test_sample_is_large_enough_and_small_enough(sample: Sample) -> None:
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_000_000
    assert len({(r["vid_category"], r["furniture_name"]) for r in sample.rows}) >= 8
    assert len(sample.rows) >= 60
    assert {r["question_category"] for r in sample.rows} == set(TASKS.values())
    assert {r["template_type"] for r in sample.rows} == set(TEMPLATES)
    assert len({r["qid"] for r in sample.rows}) == len(sample.rows)
    assert {r["question"]["num_options"] for r in sample.rows} == {2, 3, 4}


def test_rows_have_the_authors_keys_and_types(sample: Sample, shared: Path) -> None:
    real = read_rows(shared / "data/flat-pack-bench/questions/questions.jsonl")
    upstream = {"media_dir", "video"}  # where the authors' files came from

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(v) for key, v in value.items() if key not in ("options", "raw")}
        return type(value).__name__

    for task in set(TASKS.values()):
        theirs = next(r for r in real if r["question_category"] == task)
        theirs = {key: value for key, value in theirs.items() if key not in upstream}
        for row in (r for r in sample.rows if r["question_category"] == task):
            assert shape(row) == shape(theirs)
            assert list(row) == list(theirs)
            options = row["question"]["options"]
            assert list(options) == [str(n) for n in range(row["question"]["num_options"])]
            assert list(options["0"]) == list(theirs["question"]["options"]["0"])


def test_sources_have_the_authors_keys_and_types(sample: Sample, shared: Path) -> None:
    theirs: dict[str, set[str]] = {}
    for path in sorted((shared / "data/flat-pack-bench/questions/yamls").glob("*.yaml"))[::7]:
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
        theirs.setdefault(record["template_type"], set()).update(record)
    for row in sample.rows:
        source = sample.source(row)
        assert set(source) == theirs.get(row["template_type"], set(source))
        assert isinstance(source["options"][0]["raw"], str | list)


def test_text_and_source_agree(sample: Sample) -> None:
    for rows, folder in (
        (sample.rows, "questions/yamls"),
        (sample.scrambled, "scrambled-questions/yaml/seed42"),
    ):
        for row in rows:
            source, asked = sample.source(row, folder), row["question"]
            right = asked["correct_option"]
            option = asked["options"][str(right["idx"])]
            assert {key: right[key] for key in option} == option
            assert asked["qstr"].count(option["full_text"]) >= 1
            assert source["frame_idx"] == row["frame_idx"]
            assert source["template_type"] == row["template_type"]
            base = [o["raw"] for o in source["options"]]
            shown = [o["raw"] for o in asked["options"].values()]
            assert all(raw in shown for raw in base)
            index = source["correct_option"]["idx"]
            if right["raw"] == "none":
                assert index == []
            elif isinstance(index, list):
                assert [base[n] for n in index] == right["raw"]
            else:
                assert base[index] == right["raw"]


def test_every_written_answer_is_right(sample: Sample) -> None:
    for row in sample.rows:
        question = question_of(row, sample.source(row))
        assert verify(question, sample.truths[row["video_id"]]) == question.correct


def test_every_scrambled_answer_is_right(sample: Sample) -> None:
    mappings: dict[str, Row] = {}
    for row, plain in zip(sample.scrambled, sample.rows, strict=True):
        assert row["qid"] == plain["qid"]
        source = sample.source(row, "scrambled-questions/yaml/seed42")
        mapping = source["metadata"]["part_id_mapping"]
        assert mappings.setdefault(row["video_id"], mapping) == mapping
        back = {new: old for old, new in mapping.items()}
        question = question_of(row, source).renamed(back)
        assert verify(question, sample.truths[row["video_id"]]) == question.correct
    assert all(set(m) == set(m.values()) for m in mappings.values())


def test_named_parts_can_be_seen(sample: Sample) -> None:
    by_id = {world.video_id: world for world in sample.worlds}
    for row in sample.rows:
        world = by_id[row["video_id"]]
        question = question_of(row, sample.source(row))
        masks = sample.masks(world)
        first = masks[str(question.frames[0])]
        last = masks[str(question.frames[-1])]
        shown = set(last) if question.jumble is None else {question.jumble[p] for p in last}
        assert set(question.query) <= set(first)
        for choice in question.choices:
            if choice.extra or question.template == "2parts":
                continue
            if question.template == "track_multi":
                assert {m[0] for m in choice.raw} <= set(first)
                assert {m[1] for m in choice.raw} <= shown
            else:
                flat = np.array(choice.raw).ravel().tolist()
                assert set(flat) <= shown


def test_masks_are_whole_and_large_enough(sample: Sample) -> None:
    width, height = sample.note["size"]
    for world in sample.worlds:
        for parts in sample.masks(world).values():
            for code in parts.values():
                assert code["size"] == [height, width]
                area = coco.area({**code, "counts": code["counts"].encode()})
                assert area >= MIN_AREA * width * height


def test_scrambled_masks_are_the_masks_under_new_ids(sample: Sample) -> None:
    mapping = {
        row["video_id"]: sample.source(row, "scrambled-questions/yaml/seed42")["metadata"]
        for row in sample.scrambled
    }
    for world in sample.worlds:
        new = mapping[world.video_id]["part_id_mapping"]
        plain, again = (
            sample.masks(world),
            sample.masks(world, "scrambled-segmentation-masks/seed42"),
        )
        assert {n: {new[p]: m for p, m in parts.items()} for n, parts in plain.items()} == again


def test_letters_are_balanced(sample: Sample) -> None:
    for rows in (sample.rows, sample.scrambled):
        places = Counter(
            r["question"]["correct_option"]["label"]
            for r in rows
            if r["question"]["num_options"] == 4
        )
        assert max(places.values()) - min(places.values()) <= 4


def test_videos_and_stills_show_the_annotated_frames(sample: Sample) -> None:
    for world in sample.worlds:
        whole = decoded(sample.video("trimmed-videos", world))
        keys = decoded(sample.video("keyframe-video", world))
        frames = sorted(int(n) for n in sample.masks(world))
        assert len(whole) == world.frame_count()
        assert len(keys) == len(frames)
        for n, key in zip(frames, keys, strict=True):
            assert np.abs(whole[n].astype(int) - key).mean() < 6
            others = [np.abs(whole[m].astype(int) - key).mean() for m in frames if m != n]
            assert np.abs(whole[n].astype(int) - key).mean() < min(others)
        place = f"rgb-frames/{world.product.category}/{world.product.name}/{world.video_id}"
        stills = {int(path.stem): path for path in (SAMPLE / place).glob("*.jpg")}
        named = {
            n
            for row in sample.rows
            if row["video_id"] == world.video_id
            for n in np.ravel(row["frame_idx"]).tolist()
        }
        assert set(stills) == named
        for n, path in stills.items():
            still = np.asarray(Image.open(path)).astype(int)
            assert np.abs(whole[n].astype(int) - still).mean() < 6


def test_annotations_name_parts_and_connections(sample: Sample) -> None:
    folder = SAMPLE / "furniture-annotations/part-annotations"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    for world in sample.worlds:
        product = world.product
        record = json.loads((folder / product.category / f"{product.name}.json").read_text())
        assert index[record["furniture_id"]].items() >= record.items()
        graph = record["annotated_part_graph"]
        assert {(a, b) for a, near in graph.items() for b in near} == {
            edge for a, b in product.contacts for edge in ((a, b), (b, a))
        }
        assert all(a in graph[b] for a, near in graph.items() for b in near)


def test_text_files_are_made_again_byte_for_byte(sample: Sample, tmp_path: Path) -> None:
    """From the worlds and the committed masks alone: no rendering."""
    rng = random.Random(f"simulate/{sample.note['seed']}")
    letters, asked, films = Letters(rng), Counter[str](), []
    for world in sample.worlds:
        masks = {
            int(n): {
                p: coco.decode({**code, "counts": code["counts"].encode()}).astype(bool)
                for p, code in parts.items()
            }
            for n, parts in sample.masks(world).items()
        }
        count = sample.note["questions_per_product"]
        questions = ask_many(world, masks, count, rng, letters, asked)
        films.append(Film(world, (), masks, questions))
    write_questions(films, tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    text = {".json", ".jsonl", ".yaml"}
    kept = sorted(
        path.relative_to(SAMPLE)
        for path in SAMPLE.rglob("*")
        if path.suffix in text and path.name != "simulation.json"
    )
    assert made == kept
    for path in made:
        assert (tmp_path / path).read_bytes() == (SAMPLE / path).read_bytes(), path


@pytest.mark.slow
def test_pictures_are_made_again(sample: Sample) -> None:
    """One product, rendered anew: the same masks to the byte, the same video to the eye."""
    world = min(sample.worlds, key=lambda w: w.duration)
    size = tuple(sample.note["size"])
    film = film_world(world, (size[0], size[1]), 1, sample.note["key_frames"])
    assert mask_record(film.masks)["manual"] == sample.masks(world)
    whole = decoded(sample.video("trimmed-videos", world))
    assert len(film.pictures) == len(whole)
    for picture, frame in zip(film.pictures, whole, strict=True):
        assert np.abs(picture.astype(int) - frame).mean() < 5


@pytest.mark.slow
def test_an_arbitrary_world_can_be_written(tmp_path: Path) -> None:
    out = tmp_path / "world"
    summary = simulate_flatpack(
        out, products=["shelf"], seed=3, difficulty="easy", size=(160, 120),
        questions_per_product=6, key_frames=4,
    )  # fmt: skip
    assert summary.videos == 1
    assert summary.questions == 6
    assert summary.bytes == sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    made = Sample(out)
    for row in made.rows:
        question = question_of(row, made.source(row))
        assert verify(question, made.truths[row["video_id"]]) == question.correct
    with pytest.raises(ValueError, match="not empty"):
        simulate_flatpack(out)


def test_foreign_folders_and_bad_arguments_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds no simulation"):
        make_flatpack_sample(tmp_path)
    with pytest.raises(ValueError, match="not empty"):
        simulate_flatpack(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    new = tmp_path / "new"
    with pytest.raises(ValueError, match="no preset 'insane'"):
        simulate_flatpack(new, difficulty="insane")
    with pytest.raises(ValueError, match="names no product"):
        simulate_flatpack(new, products=[])
    with pytest.raises(ValueError, match="key_frames=1"):
        simulate_flatpack(new, key_frames=1)


@pytest.mark.parametrize("size", [(90, 120), (66, 88), (48, 64)])
def test_video_bytes_depend_on_the_pictures_alone(tmp_path: Path, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 255, (6, size[0] // 2, size[1] // 2, 3), dtype=np.uint8)
    pictures = list(blocks.repeat(2, axis=1).repeat(2, axis=2))
    found = set()
    for n in range(4):
        path = tmp_path / f"{n}.mp4"
        assert write_video(path, pictures) == 6
        found.add(path.read_bytes())
    assert len(found) == 1
    assert len(decoded(path)) == 6


def test_odd_or_missing_pictures_are_refused(tmp_path: Path) -> None:
    odd = [np.zeros((15, 16, 3), np.uint8)]
    with pytest.raises(ValueError, match="16x15 is odd"):
        write_video(tmp_path / "odd.mp4", odd)
    with pytest.raises(ValueError, match="no pictures"):
        write_video(tmp_path / "none.mp4", [])
    mixed = [np.zeros((16, 16, 3), np.uint8), np.zeros((16, 32, 3), np.uint8)]
    with pytest.raises(ValueError, match="picture 1 is 32x16"):
        write_video(tmp_path / "mixed.mp4", mixed)
