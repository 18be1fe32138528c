"""Writes simulated assemblies the way the authors of Flat-Pack Bench lay out theirs.

    questions/questions.jsonl                                     options as they are shown
    questions/yamls/NNN.yaml                                      source form, base options only
    segmentation-masks/<category>/<furniture>/<video>/<video>.json
    furniture-annotations/part-annotations/<category>/<furniture>.json, index.json
    scrambled-questions/jsonl/questions_shuffled_part_ids_seed<S>.jsonl
    scrambled-questions/yaml/seed<S>/NNN.yaml                     with metadata.part_id_mapping
    scrambled-segmentation-masks/seed<S>/...

Media (none of the authors' are public), where their evaluation code looks for them:

    videos/trimmed-videos/fps-1/<category>/<furniture>/<video>/<video>.mp4   frame n is frame_idx n
    videos/keyframe-video/fps-1/<category>/<furniture>/<video>/<video>.mp4   annotated frames only
    rgb-frames/<category>/<furniture>/<video>/<frame_idx>.jpg                frames of questions
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from pycocotools import mask as coco

from .media import Picture, write_jpeg, write_video
from .products import Product
from .questions import Choice, Letters, Question, Raw
from .world import World

SCRAMBLE_SEED = 42
_LETTERS = "ABCDEFGH"
Masks = Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True)
class Film:
    """A filmed world, ready to be written.

    Attributes
    ----------
    pictures
        One a second, uint8 [h, w, 3] each.
    masks
        For each annotated frame the masks of the parts that can be made out in it.
    questions
        Their frames are annotated ones, their parts are in those frames' masks.
    """

    world: World
    pictures: Sequence[Picture]
    masks: Mapping[int, Masks]
    questions: Sequence[Question]

    @property
    def place(self) -> Path:
        """`<category>/<furniture>`."""
        return Path(self.world.product.category) / self.world.product.name

    @property
    def video_id(self) -> str:
        """Name of the video."""
        return self.world.video_id


# Texts ------------------------------------------------------------------------------------------

_STEMS = {
    "track_single": "Which part of Image B is the same object as Part {0} of Image A?",
    "track_multi": "Which option matches the parts of Image A with those of Image B correctly?",
    "many_part_order": "In which order, from first to last, do the labelled parts come into direct "
    "contact with Part {0} in the course of the video?",
    "edge_order": "Every option is a sequence of connections between two parts. Which sequence is "
    "in the order in which the video shows them being made?",
    "latest_change": "Which labelled part was the last one to be attached before the state that "
    "the image shows?",
    "next_change": "Which labelled part will be the next one to be attached after the state that "
    "the image shows?",
    "1part_order": "Starting from the state that the image shows, which labelled part is the next "
    "one to come into direct contact with Part {0}?",
    "1part_order_last": "Of the options, which part is the last one in the video to come into "
    "direct contact with Part {0}?",
    "1edge_order": "Which pair of labelled parts is the first one in the video to be joined?",
    "1edge_order_last": "Which pair of labelled parts is the last one in the video to be joined?",
    "find_edges": "Which of the labelled parts touch each other directly in the finished product?",
    "1part": "Which of the options is in direct contact with Part {0} in the finished product?",
    "2parts": "Are Part {0} and Part {1} in direct contact in the finished product?",
}


def stem(question: Question) -> str:
    """What the question asks, without its options."""
    return _STEMS[question.template].format(*question.query)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}"


def option_text(question: Question, choice: Choice) -> str:
    """An option in words.

    >>> pairs = (Choice(("1", "2")), Choice(("1", "3")), Choice((("1", "2"), ("1", "3")), "both"))
    >>> question = Question("find_edges", (0,), (), pairs, 2)
    >>> [option_text(question, choice) for choice in pairs]
    ['Part 1 and Part 2', 'Part 1 and Part 3', 'Options A and B are both correct']
    """
    raw = choice.raw
    if choice.extra == "none":
        return "None of the other options is correct"
    if choice.extra == "both":
        count = "both" if len(raw) == 2 else "all"
        if question.template == "find_edges":
            raws = [c.raw for c in question.choices]
            letters = sorted(_LETTERS[raws.index(r)] for r in raw)
            return f"Options {_listed(letters)} are {count} correct"
        return f"{_listed([f'Part {r}' for r in raw])} are {count} correct"
    if question.template == "track_multi":
        return ", ".join(f"Part {m[0]} in Image A is Part {m[1]} in Image B" for m in raw)
    if question.template == "edge_order":
        return ", ".join(f"Part {edge[0]} and Part {edge[1]}" for edge in raw)
    if question.template in ("1edge_order", "1edge_order_last", "find_edges"):
        return _listed([f"Part {r}" for r in raw])
    if question.template == "many_part_order":
        return ", ".join(f"Part {r}" for r in raw)
    return str(raw) if question.template == "2parts" else f"Part {raw}"


# Records ----------------------------------------------------------------------------------------


def _plain(raw: Raw) -> Any:
    """Tuples as lists, for JSON and YAML."""
    return raw if isinstance(raw, str) else [_plain(r) for r in raw]


def _frame_idx(question: Question) -> int | list[int]:
    return list(question.frames) if question.task == "tracking" else question.frames[0]


def jsonl_record(question: Question, film: Film, number: int) -> dict[str, Any]:
    """One line of questions.jsonl, with the authors' keys in their order."""
    options = {}
    for n, choice in enumerate(question.choices):
        text = option_text(question, choice)
        options[str(n)] = {
            "raw": _plain(choice.raw),
            "label": _LETTERS[n],
            "text": text,
            "full_text": f"{_LETTERS[n]}. {text}",
        }
    right = options[str(question.correct)]
    lines = "\n".join(option["full_text"] for option in options.values())
    product = film.world.product
    flat = (
        f"{question.task}/{question.template}/0/{product.category}/{film.video_id}/{number:03d}/0"
    )
    asked = stem(question)
    record: dict[str, Any] = {
        "template_type": question.template,
        "question_category": question.task,
        "vid_category": product.category,
        "furniture_name": product.name,
        "video_id": film.video_id,
        "frame_idx": _frame_idx(question),
        "template_idx": 0,
        "qid_flat": flat,
        "question": {
            "raw_qstr": asked,
            "qstr": f"{asked}\nOptions:\n{lines}\n",
            "options": options,
            "correct_option": {
                "raw": right["raw"],
                "label": right["label"],
                "text": right["text"],
                "idx": question.correct,
                "full_text": right["full_text"],
            },
            "num_options": len(options),
        },
    }
    first = question.frames[0]
    if question.task == "tracking":
        record["prompt_img_0_fn"] = f"prompt_{first:03d}_q{number:03d}.jpg"
        last = question.frames[1]
        record["jumbled_prompt_img_1_fn"] = f"jumbled_prompt_{last:03d}_q{number:03d}.jpg"
    else:
        record["prompt_img_fn"] = f"prompt_{first:03d}_q{number:03d}.jpg"
    record["qid"] = hashlib.sha256(flat.encode()).hexdigest()
    return record


def yaml_record(question: Question, film: Film, rng: random.Random) -> dict[str, Any]:
    """The source form: base options in another order, joint answers as lists of them."""
    base = [c for c in question.choices if not c.extra]
    rng.shuffle(base)
    right = question.choices[question.correct]
    raws = [c.raw for c in base]
    correct: dict[str, Any]
    if right.extra == "none":
        correct = {"raw": "", "idx": []}
    elif right.extra == "both":
        correct = {"raw": _plain(right.raw), "idx": [raws.index(r) for r in right.raw]}
    else:
        correct = {"raw": _plain(right.raw), "idx": raws.index(right.raw)}
    product = film.world.product
    record: dict[str, Any] = {
        "category": product.category,
        "name": product.name,
        "video_id": film.video_id,
        "frame_idx": _frame_idx(question),
        "question_category": question.task,
        "template_type": question.template,
    }
    if len(question.query) == 1:
        record["question_params"] = {"query_part": question.query[0]}
    elif question.query:
        first, second = question.query
        record["question_params"] = {"query_part1": first, "query_part2": second}
    record["options"] = [{"raw": _plain(raw)} for raw in raws]
    record["correct_option"] = correct
    if question.jumble is not None:
        record["jumble_map"] = dict(question.jumble)
    return record


def annotation(product: Product) -> dict[str, Any]:
    """Part names, part graph and look-alikes of a product."""
    return {
        "furniture_id": f"{product.category}/{product.name}",
        "annotated_semantics": {p.id: p.name for p in product.parts},
        "annotated_part_graph": {p.id: list(product.neighbours(p.id)) for p in product.parts},
        "annotated_similar_parts": {p.id: list(product.look_alikes(p.id)) for p in product.parts},
    }


def mask_record(masks: Mapping[int, Masks], ids: Mapping[str, str] | None = None) -> dict[str, Any]:
    """`manual -> frame -> part -> {size, counts}`, masks as COCO compressed run lengths."""
    frames: dict[str, dict[str, Any]] = {}
    for n, parts in sorted(masks.items()):
        named = {(ids[p] if ids else p): mask for p, mask in parts.items()}
        frames[str(n)] = {p: _encoded(named[p]) for p in sorted(named, key=int)}
    return {"manual": frames}


def _encoded(mask: NDArray[np.bool_]) -> dict[str, Any]:
    code = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": [int(n) for n in code["size"]], "counts": code["counts"].decode("ascii")}


# Files ------------------------------------------------------------------------------------------


def _write_json(path: Path, value: Any, indent: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding="utf-8")


def _write_yaml(path: Path, value: Any, flow: bool | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(value, sort_keys=False, default_flow_style=flow, width=100)
    path.write_text(text, encoding="utf-8")


def write_media(film: Film, out: Path, crf: int = 31, quality: int = 76) -> None:
    """Both video variants, and a still for every frame that a question names."""
    name = film.place / film.video_id / f"{film.video_id}.mp4"
    write_video(out / "videos/trimmed-videos/fps-1" / name, film.pictures, crf=crf)
    keys = [film.pictures[n] for n in sorted(film.masks)]
    write_video(out / "videos/keyframe-video/fps-1" / name, keys, crf=crf)
    for n in sorted({n for question in film.questions for n in question.frames}):
        still = out / "rgb-frames" / film.place / film.video_id / f"{n}.jpg"
        write_jpeg(still, film.pictures[n], quality)


def write_questions(films: Sequence[Film], out: Path, seed: int = SCRAMBLE_SEED) -> int:
    """All text files of the layout, for all films together; returns the number of questions.

    Questions are numbered through from 1, in the order of the films. The scrambled set has the
    same questions after each video's parts got new ids by one permutation, with options shuffled
    again.
    """
    rng = random.Random(f"flatpack/{seed}")
    letters = Letters(rng)
    lines: list[str] = []
    scrambled: list[str] = []
    index: dict[str, Any] = {}
    for film in films:
        product = film.world.product
        mapping = scramble(product, rng)
        record = annotation(product)
        parts = out / "furniture-annotations/part-annotations"
        _write_json(parts / f"{film.place}.json", record)
        groups = [list(group) for group in product.groups]
        index[record["furniture_id"]] = {
            **record, "similar_part_groups": groups, "furniture_type": product.kind.title(),
        }  # fmt: skip
        where = film.place / film.video_id / f"{film.video_id}.json"
        _write_json(out / "segmentation-masks" / where, mask_record(film.masks))
        again = out / f"scrambled-segmentation-masks/seed{seed}" / where
        _write_json(again, mask_record(film.masks, mapping))
        for question in film.questions:
            number = len(lines) + 1
            lines.append(json.dumps(jsonl_record(question, film, number), ensure_ascii=False))
            source = yaml_record(question, film, rng)
            _write_yaml(out / f"questions/yamls/{number:03d}.yaml", source, None)
            other = letters.shuffle(question.renamed(mapping))
            scrambled.append(json.dumps(jsonl_record(other, film, number), ensure_ascii=False))
            source = {
                **yaml_record(other, film, rng), "metadata": {"part_id_mapping": dict(mapping)},
            }  # fmt: skip
            path = out / f"scrambled-questions/yaml/seed{seed}/{number:03d}.yaml"
            _write_yaml(path, dict(sorted(source.items())), None)
    _write_json(out / "furniture-annotations/part-annotations/index.json", index, indent=1)
    again = out / f"scrambled-questions/jsonl/questions_shuffled_part_ids_seed{seed}.jsonl"
    for path, rows in ((out / "questions/questions.jsonl", lines), (again, scrambled)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return len(lines)


def scramble(product: Product, rng: random.Random) -> dict[str, str]:
    """A random permutation of a product's part ids."""
    ids = [p.id for p in product.parts]
    new = list(ids)
    rng.shuffle(new)
    return dict(zip(ids, new, strict=True))
