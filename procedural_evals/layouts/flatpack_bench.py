"""The file layout of Flat-Pack Bench (arXiv 2605.21625), read into rows.

    questions/questions.jsonl                    one question a line
    questions/yamls/NNN.yaml                     its source form; tracking ones have a jumble_map
    segmentation-masks/C/F/V/V.json              "manual" -> frame -> part -> COCO run lengths
    furniture-annotations/part-annotations/C/F.json   part names, which parts connect
    scrambled-questions/jsonl/questions_shuffled_part_ids_seedS.jsonl
    scrambled-questions/yaml/seedS/NNN.yaml      with metadata.part_id_mapping
    scrambled-segmentation-masks/seedS/C/F/V/V.json
    videos/VARIANT/[SAMPLING/]C/F/V/V.mp4        VARIANT is trimmed-videos or keyframe-video
    rgb-frames/C/F/V/N.jpg                       frame N, from which a visual prompt is drawn

C is the furniture's category, F its name, V the video. Part ids are strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from procedural_evals import sources
from procedural_evals.layouts import promqa
from procedural_evals.option_orders import LETTERS, option_orders, reordered

TASKS = {
    "tracking": "track",
    "temporal_ord": "tord",
    "temporal_loc": "tloc",
    "mating": "mate",
}
TEMPLATES = (
    "track_single",
    "track_multi",
    "many_part_order",
    "edge_order",
    "latest_change",
    "find_edges",
    "2parts",
    "1part",
    "next_change",
    "1part_order",
    "1part_order_last",
    "1edge_order",
    "1edge_order_last",
)
VARIANTS = {
    "trimmed": ("trimmed-videos", "trimmed-video"),
    "keyframes": ("keyframe-video", "keyframe-videos"),
}
SAMPLINGS = ("fps-1", "")

HUB_REPOS = (
    sources.HubRepo(
        "justachetan/flat-pack-bench",
        ("questions/**", "segmentation-masks/**", "furniture-annotations/part-annotations/**"),
    ),
    sources.HubRepo(
        "justachetan/flat-pack-bench-misc",
        ("scrambled-questions/**", "scrambled-segmentation-masks/**"),
    ),
)

# libyaml's loader is ten times faster than the pure one, and part of most PyYAML wheels.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FlatPackLayout:
    """One folder in the authors' layout, for one video variant and one labelling of the parts.

    With `orders` above 1 each question comes several times, its options in another order each time
    (`option_orders`); the last part of the id counts them, as in the authors' ids.

    Args:
        folder: the folder that holds `questions/` and the others.
        variant: "trimmed" (the video without title cards) or "keyframes" (annotated frames only).
        shuffle_seed: the authors' re-labelling of the parts, or None for the first labelling.
        orders: the most orders in which a question's options are put, the published one first.
    """

    def __init__(
        self,
        folder: Path,
        variant: str = "trimmed",
        shuffle_seed: int | None = None,
        orders: int = 1,
    ) -> None:
        """Check the arguments; nothing is read yet."""
        if variant not in VARIANTS:
            raise ValueError(f"variant: {variant!r} is not one of {', '.join(VARIANTS)}")
        if type(orders) is not int or orders < 1:
            raise ValueError(f"orders: {orders!r}; a whole number of at least 1 is needed")
        self.folder = folder
        self.variant = variant
        self.shuffle_seed = shuffle_seed
        self.orders = orders
        self._masks = lru_cache(maxsize=8)(self._read_masks)
        self._parts = lru_cache(maxsize=None)(self._read_parts)
        self._video = lru_cache(maxsize=None)(self._find_video)

    @property
    def questions_file(self) -> Path:
        """The JSON lines with one question each, for this labelling."""
        if self.shuffle_seed is None:
            return self.folder / "questions" / "questions.jsonl"
        name = f"questions_shuffled_part_ids_seed{self.shuffle_seed}.jsonl"
        return self.folder / "scrambled-questions" / "jsonl" / name

    def shuffle_seeds(self) -> list[int]:
        """The seeds whose re-labelled questions are in this folder."""
        files = (self.folder / "scrambled-questions" / "jsonl").glob("*_seed*.jsonl")
        seeds = (file.stem.rpartition("seed")[2] for file in files)
        return sorted(int(seed) for seed in seeds if seed.isdecimal())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict a question and order, in the file's order; media as `sources.Media`.

        Raises FileNotFoundError when there are no questions, ValueError for a line that cannot be
        read; both name the file. Masks and media that are missing are named in `problems`.
        """
        file = self.questions_file
        if not file.is_file():
            seeds = self.shuffle_seeds()
            hint = f"; seeds there are {seeds}" if self.shuffle_seed is not None else ""
            raise FileNotFoundError(
                f"Flat-Pack Bench: no {file.relative_to(self.folder)} in {self.folder}{hint}"
            )
        seen: dict[str, int] = {}
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = self._row(json.loads(line))
                    if row["id"] in seen:
                        raise ValueError(f"id {row['id']!r} is that of line {seen[row['id']]} too")
                except promqa.RECORD_ERRORS as error:
                    reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                    raise ValueError(f"{file}, line {number}: {reason}") from error
                seen[row["id"]] = number
                yield from _in_orders(row, self.orders)

    def _row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        question = record["question"]
        options = [question["options"][str(i)]["text"] for i in range(question["num_options"])]
        answer = int(question["correct_option"]["idx"])
        if not 0 <= answer < len(options):
            raise ValueError(f"the correct option {answer} is not one of {len(options)}")
        task = TASKS.get(record["question_category"])
        if task is None or record["template_type"] not in TEMPLATES:
            raise ValueError(
                f"unknown task {record['question_category']!r} or template "
                f"{record['template_type']!r}"
            )
        category, furniture = record["vid_category"], record["furniture_name"]
        video_id = record["video_id"]
        place = f"{category}/{furniture}/{video_id}"
        frames = record["frame_idx"]
        frames = [_frame(n) for n in (frames if isinstance(frames, list) else [frames])]
        source = self._source_form(record["qid_flat"])
        problems: list[str] = []
        masks = [mask for frame in frames for mask in self._frame_masks(place, frame, problems)]
        parts, connections = self._parts(f"{category}/{furniture}")
        relabelled = (source.get("metadata") or {}).get("part_id_mapping") or {}
        label_map = _pairs(source.get("jumble_map"))
        if task == "track" and not label_map:
            problems.append("visual prompt: no jumble_map for the second picture")
        return {
            "id": record["qid_flat"],
            "qid": record["qid"],
            "task": task,
            "template": record["template_type"],
            "question": question["raw_qstr"],
            "options": options,
            "answer": answer,
            "answer_letter": LETTERS[answer],
            "option_order": list(range(len(options))),
            "furniture": f"{category}/{furniture}",
            "video_id": video_id,
            "video_variant": self.variant,
            "frame_indices": frames,
            "parts": [
                {"id": relabelled.get(part, part), "name": name} for part, name in parts.items()
            ],
            "connections": [
                {"a": relabelled.get(a, a), "b": relabelled.get(b, b)} for a, b in connections
            ],
            "masks": masks,
            "label_map": [{"part": part, "label": label} for part, label in label_map],
            "video": self._video(place),
            "frames": [self.find_frame(place, frame) for frame in frames],
            "problems": problems,
        }

    def _source_form(self, qid_flat: str) -> dict[str, Any]:
        """The question's YAML: its number is the last but one part of the id."""
        number = qid_flat.split("/")[-2]
        relative = (
            f"questions/yamls/{number}.yaml"
            if self.shuffle_seed is None
            else f"scrambled-questions/yaml/seed{self.shuffle_seed}/{number}.yaml"
        )
        file = sources.inside(self.folder, relative)
        if not file.is_file():
            return {}
        with file.open(encoding="utf-8") as stream:
            loaded = yaml.load(stream, Loader=_Loader)  # _Loader is safe
        return loaded if isinstance(loaded, dict) else {}

    def find(self, relative: str) -> sources.Media:
        """A file of the folder."""
        return sources.find_media(self.folder, [relative])

    def mask_path(self, place: str) -> str:
        """Where the masks of a video lie, for this labelling."""
        video_id = place.rsplit("/", 1)[-1]
        top = (
            "segmentation-masks"
            if self.shuffle_seed is None
            else f"scrambled-segmentation-masks/seed{self.shuffle_seed}"
        )
        return f"{top}/{place}/{video_id}.json"

    def _read_masks(self, place: str) -> dict[str, Any]:
        media = self.find(self.mask_path(place))
        if media.path is None:
            return {}
        with media.path.open(encoding="utf-8") as stream:
            manual: dict[str, Any] = json.load(stream)["manual"]
        return manual

    def _frame_masks(self, place: str, frame: int, problems: list[str]) -> list[dict[str, Any]]:
        parts = self._masks(place).get(str(frame))
        if parts is None:
            problems.append(f"visual prompt: no masks of frame {frame} in {self.mask_path(place)}")
            return []
        return [_mask(place, frame, part, rle) for part, rle in parts.items()]

    def _read_parts(self, furniture: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Part names by id, and the pairs of parts that touch in the finished product."""
        media = self.find(parts_path(furniture))
        if media.path is None:
            return {}, []
        with media.path.open(encoding="utf-8") as stream:
            record = json.load(stream)
        pairs = {
            (min(a, b, key=_number), max(a, b, key=_number))
            for a, others in record["annotated_part_graph"].items()
            for b in others
        }
        return record["annotated_semantics"], sorted(pairs, key=lambda p: tuple(map(_number, p)))

    def _find_video(self, place: str) -> sources.Media:
        return sources.find_media(self.folder, video_paths(place, self.variant))

    def find_frame(self, place: str, frame: int) -> sources.Media:
        """The picture of one frame, from which its visual prompt is drawn."""
        return sources.find_media(
            self.folder, [f"rgb-frames/{place}/{frame}.{ext}" for ext in ("jpg", "png")]
        )


def video_paths(place: str, variant: str) -> list[str]:
    """Where a video may lie below the folder, the authors' own layout first.

    >>> video_paths("Bench/a/b", "trimmed")[0]
    'videos/trimmed-videos/fps-1/Bench/a/b/b.mp4'
    """
    video_id = place.rsplit("/", 1)[-1]
    return [
        "/".join(part for part in ("videos", folder, sampling, place) if part) + f"/{video_id}.mp4"
        for sampling in SAMPLINGS
        for folder in VARIANTS[variant]
    ]


def parts_path(furniture: str) -> str:
    """Where names and connections of a product's parts lie."""
    return f"furniture-annotations/part-annotations/{furniture}.json"


def media_files(folder: Path) -> Iterator[tuple[str, sources.Media]]:
    """Questions, and each video, frame and annotation that they need, once, with its kind."""
    layout = FlatPackLayout(folder)
    yield "annotations", layout.find(str(layout.questions_file.relative_to(folder)))
    seen: set[tuple[str, ...]] = set()
    for variant in VARIANTS:
        for row in FlatPackLayout(folder, variant).rows():
            wanted = [(f"{variant} video", row["video"])]
            wanted += [("frame", media) for media in row["frames"]]
            place = f"{row['furniture']}/{row['video_id']}"
            wanted += [
                ("masks", layout.find(layout.mask_path(place))),
                ("part annotation", layout.find(parts_path(row["furniture"]))),
            ]
            for kind, media in wanted:
                if media.candidates not in seen:
                    seen.add(media.candidates)
                    yield kind, media


def _in_orders(row: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """The row as it is, then with its options in other orders, each under an id of its own."""
    yield row
    stem, _, first = row["id"].rpartition("/")
    orders = option_orders(row["options"], count, row["id"])
    for number, order in enumerate(orders[1:], 1):
        yield row | {
            "id": f"{stem}/{int(first) + number if first.isdecimal() else f'{first}+{number}'}",
            "options": reordered(row["options"], order),
            "answer": order.index(row["answer"]),
            "answer_letter": LETTERS[order.index(row["answer"])],
            "option_order": list(order),
            "problems": list(row["problems"]),
        }


def _frame(value: Any) -> int:
    """A frame's number, written as a number or as its digits."""
    number = int(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        raise ValueError(f"frame_idx: {value!r:.60} is not the number of a frame")
    return number


def _mask(place: str, frame: int, part: str, rle: Mapping[str, Any]) -> dict[str, Any]:
    """A mask as a row has it; whether its counts are sound shows when it is drawn."""
    size, counts = rle["size"], rle["counts"]
    if not isinstance(counts, str):
        raise ValueError(f"mask of part {part}, frame {frame} of {place}: counts are no text")
    if (
        not isinstance(size, list)
        or len(size) != 2
        or not all(type(length) is int and 0 <= length < 2**31 for length in size)
    ):
        raise ValueError(
            f"mask of part {part}, frame {frame} of {place}: size is {size!r:.60}, not [h, w]"
        )
    return {"frame": frame, "part": part, "size": size, "counts": counts}


def _pairs(mapping: Any) -> list[tuple[str, str]]:
    """A mapping of part ids, written as one dict or as a list of dicts, as pairs."""
    dicts = mapping if isinstance(mapping, list) else [mapping or {}]
    return [(str(a), str(b)) for each in dicts for a, b in each.items()]


def _number(part: str) -> tuple[int, str]:
    return (int(part), part) if part.isdecimal() else (10**9, part)
