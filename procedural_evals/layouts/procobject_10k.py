"""The file layout of ProcObject-10K (arXiv 2512.03479), read into rows.

    data/training.json, data/testing.json   lists of questions
    videos/CORPUS/FILE                      the corpora's own recordings, uncut
    explorer_excerpt.json                   ten published examples with four models' answers

A question has id, qa_type, reasoning, source, domain, task, video_path ("CORPUS/FILE"), clip_start
and clip_end (seconds of the recording), question, answer and evidence: [start, end] pairs in
seconds from the clip's start. `view` is optional: it follows from the corpus. An example has a
`duration` instead of a clip and no recording; `models` holds the published answers, evidence and,
for some, IoU.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from procedural_evals import sources
from procedural_evals.layouts.promqa import RECORD_ERRORS

QUESTION_TYPES = {
    "Precondition Grounding": "precondition grounding",
    "Object State Evolution": "object state evolution",
    "Counterfactual Reasoning": "counterfactual reasoning",
    "Mistake Recognition": "mistake recognition",
    "Readiness Assessment": "readiness assessment",
}
REASONINGS = {
    "Multi-hop Reasoning": "multi-hop",
    "Needle-in-a-Haystack": "needle in a haystack",
}
VIEWS = {"Egocentric": "ego", "Exocentric": "exo"}
VIEW_OF_SOURCE = {
    "CaptainCook4D": "ego",
    "COIN": "exo",
    "EgoPER": "ego",
    "HoloAssist": "ego",
}

HUB_REPOS = (sources.HubRepo("BrightGuo/ProcObject-10K", ("data/*.json",)),)

SPLIT_FILES = {"train": "data/training.json", "test": "data/testing.json"}
EXCERPT_FILE = "explorer_excerpt.json"

#: The authors' statistics of the released annotations, as `figures` counts them.
PUBLISHED_FIGURES: Mapping[str, Any] = {
    "train": 9472,
    "test": 1050,
    "videos": 1799,
    "tasks": 137,
    "domains": 9,
    "mean duration": 72.3,
    "mean spans": 1.74,
    "spans": {1: 4990, 2: 3819, 3: 1253, 4: 373, 5: 87},
    "sources": {"HoloAssist": 5322, "COIN": 1815, "EgoPER": 1696, "CaptainCook4D": 1689},
    "multi-hop": {
        "precondition grounding": 1297,
        "object state evolution": 2143,
        "counterfactual reasoning": 2152,
        "mistake recognition": 276,
        "readiness assessment": 556,
    },
    "needle in a haystack": {
        "precondition grounding": 937,
        "object state evolution": 379,
        "counterfactual reasoning": 524,
        "mistake recognition": 1067,
        "readiness assessment": 1191,
    },
}

Row = dict[str, Any]


class ProcObjectLayout:
    """One folder in the authors' layout, or the published examples in it.

    Args:
        folder: the folder that holds `data/` and `videos/`, or `explorer_excerpt.json`.
        excerpt: read the published examples instead of the release.
    """

    def __init__(self, folder: Path, excerpt: bool = False) -> None:
        """Nothing is read yet."""
        self.folder = folder
        self.excerpt = excerpt

    def files(self) -> dict[str, Path]:
        """The annotation file of each split that is there; FileNotFoundError for none."""
        wanted = {"test": EXCERPT_FILE} if self.excerpt else SPLIT_FILES
        found = {split: self.folder / name for split, name in wanted.items()}
        found = {split: file for split, file in found.items() if file.is_file()}
        if not found:
            hint = (
                "; save the list in static/data/explorer.js of the authors' project page under "
                "that name"
                if self.excerpt
                else ""
            )
            raise FileNotFoundError(
                f"ProcObject-10K: no {' or '.join(wanted.values())} in {self.folder}{hint}"
            )
        return found

    def splits(self) -> dict[str, list[Row]]:
        """The rows of each split, in the file's order; media as `sources.Media`.

        Raises ValueError, which names the file and the question, for what cannot be read, and for
        a video that is in both splits.
        """
        rows = {split: self._read(file) for split, file in self.files().items()}
        check_disjoint(rows.get("train", ()), rows.get("test", ()))
        return rows

    def _read(self, file: Path) -> list[Row]:
        try:
            records = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{file}: not JSON in UTF-8: {error}") from error
        if not isinstance(records, list):
            raise ValueError(f"{file}: a list of questions is needed, not {type(records).__name__}")
        rows: dict[str, Row] = {}
        for number, record in enumerate(records):
            name = record.get("id") if isinstance(record, dict) else None
            try:
                row = self._row(record)
                if row["id"] in rows:
                    raise ValueError("this id is there twice")
            except RECORD_ERRORS as error:
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise ValueError(f"{file}, entry {number}, id {name!r}: {reason}") from error
            rows[row["id"]] = row
        return list(rows.values())

    def _row(self, record: Mapping[str, Any]) -> Row:
        name = _id(record["id"])
        if self.excerpt:
            start, end = 0.0, _seconds("duration", record["duration"])
            video_path = record.get("video") or f"static/videos/explorer/{name}.mp4"
            place = video_path
        else:
            start = _seconds("clip_start", record["clip_start"])
            end = _seconds("clip_end", record["clip_end"])
            video_path = _text(record, "video_path")
            place = f"videos/{video_path}"
        if start >= end:
            raise ValueError(f"the clip [{start}, {end}) has no length")
        evidence = _spans("evidence", record["evidence"])
        if not any(span["start"] < span["end"] for span in evidence):
            raise ValueError(f"evidence: {record['evidence']} covers no time")
        row = {
            "id": name,
            "video": sources.find_media(self.folder, [place]),
            "video_path": video_path,
            "clip_start": start,
            "clip_end": end,
            "question": _text(record, "question"),
            "answers": [_text(record, "answer")],
            "question_type": _label(record, "qa_type", QUESTION_TYPES),
            "reasoning": _label(record, "reasoning", REASONINGS),
            "view": _view(record),
            "domain": _text(record, "domain"),
            "task": _text(record, "task"),
            "source": _text(record, "source"),
            "evidence": evidence,
            "problems": [
                f"evidence without length at {span['start']} s"
                for span in evidence
                if span["start"] == span["end"]
            ],
        }
        if self.excerpt:
            row["published"] = [
                {
                    "model": model,
                    "answer": _text(said, "answer"),
                    "evidence": _spans(f"evidence of {model}", said["evidence"]),
                    "iou": _iou(model, said.get("iou")),
                }
                for model, said in record["models"].items()
            ]
            row["published_blind"] = record.get("blind")
        return row


def media_files(folder: Path) -> Iterator[tuple[str, sources.Media]]:
    """The annotation file of each split, and each recording that a question or example names, once.

    Raises FileNotFoundError when there are neither questions nor examples.
    """
    for name in SPLIT_FILES.values():
        yield "annotations", sources.find_media(folder, [name])
    layouts = [ProcObjectLayout(folder)]
    if (folder / EXCERPT_FILE).is_file():
        examples = ProcObjectLayout(folder, excerpt=True)
        has_release = any((folder / name).is_file() for name in SPLIT_FILES.values())
        layouts = [*layouts, examples] if has_release else [examples]
    seen: set[tuple[str, ...]] = set()
    for layout in layouts:
        for rows in layout.splits().values():
            for media in (row["video"] for row in rows):
                if media.candidates not in seen:
                    seen.add(media.candidates)
                    yield "excerpt video" if layout.excerpt else "video", media


def check_disjoint(train: Sequence[Row], test: Sequence[Row]) -> None:
    """ValueError that names the recordings which are in both splits, if there are any.

    >>> check_disjoint([{"video_path": "COIN/a.mp4"}], [{"video_path": "COIN/a.mp4"}])
    Traceback (most recent call last):
    ...
    ValueError: 1 video is in the train and in the test split: COIN/a.mp4
    """
    shared = sorted({row["video_path"] for row in train} & {row["video_path"] for row in test})
    if shared:
        count = "1 video is" if len(shared) == 1 else f"{len(shared)} videos are"
        more = f" and {len(shared) - 5} more" if len(shared) > 5 else ""
        raise ValueError(
            f"{count} in the train and in the test split: {', '.join(shared[:5])}{more}"
        )


def figures(splits: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """What the authors publish about the dataset, counted in these rows.

    Videos, tasks and domains are distinct ones; durations are those of the questions' clips, in
    seconds, so that a clip counts as often as it is asked about; five spans mean five or more.
    """
    rows = [row for split in splits.values() for row in split]
    spans = [len(row["evidence"]) for row in rows]
    kinds = Counter((row["reasoning"], row["question_type"]) for row in rows)
    durations = [row["clip_end"] - row["clip_start"] for row in rows]
    return {
        **{split: len(splits.get(split, ())) for split in SPLIT_FILES},
        "videos": len({row["video_path"] for row in rows}),
        "tasks": len({row["task"] for row in rows}),
        "domains": len({row["domain"] for row in rows}),
        "mean duration": round(math.fsum(durations) / len(rows), 1) if rows else 0.0,
        "mean spans": round(sum(spans) / len(rows), 2) if rows else 0.0,
        "spans": dict(Counter(min(count, 5) for count in spans)),
        "sources": dict(Counter(row["source"] for row in rows)),
        **{
            reasoning: {kind: kinds[reasoning, kind] for kind in QUESTION_TYPES.values()}
            for reasoning in REASONINGS.values()
        },
    }


def check_figures(
    splits: Mapping[str, Sequence[Row]], published: Mapping[str, Any] = PUBLISHED_FIGURES
) -> list[str]:
    """Where these rows differ from the published statistics; empty for the release itself."""
    counted = figures(splits)
    return [
        f"{name}: {counted[name]}, published are {value}"
        for name, value in published.items()
        if counted[name] != value
    ]


def is_whole(splits: Mapping[str, Sequence[Row]]) -> bool:
    """Whether this is the release rather than a part of it: most of both splits is there."""
    return all(2 * len(splits.get(split, ())) > PUBLISHED_FIGURES[split] for split in SPLIT_FILES)


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, str)) or value == "":
        raise ValueError(f"id: {value!r} is neither a number nor a text")
    return str(value)


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key}: {value!r} is no text")
    return value


def _label(record: Mapping[str, Any], key: str, names: Mapping[str, str]) -> str:
    """Our name for a published label; capitals, hyphens and spaces make no other label."""
    value = _text(record, key)
    for published, name in names.items():
        if _plain(value) in (_plain(published), _plain(name)):
            return name
    raise ValueError(f"{key}: {value!r} is not one of {', '.join(names)}")


def _plain(label: str) -> str:
    return "".join(c for c in label.casefold() if c.isalnum())


def _view(record: Mapping[str, Any]) -> str:
    if record.get("view") is not None:
        return _label(record, "view", VIEWS)
    for source, view in VIEW_OF_SOURCE.items():
        if _plain(_text(record, "source")) == _plain(source):
            return view
    raise ValueError(
        f"source: {record['source']!r} is not one of {', '.join(VIEW_OF_SOURCE)}, "
        "so a field 'view' is needed"
    )


def _seconds(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{what}: {value!r} is not a number of seconds")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{what}: {value!r} is not a time in a clip")
    return float(value)


def _iou(model: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"iou of {model}: {value!r} is not a number from 0 to 1")
    return float(value)


def _spans(what: str, pairs: Any) -> list[dict[str, float]]:
    """Spans in seconds as they are: not merged, and not cut at the clip's end."""
    if not isinstance(pairs, list):
        raise ValueError(f"{what}: {pairs!r} is not a list of [start, end] pairs")
    spans = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{what}: {pair!r} is not a [start, end] pair")
        start, end = (_seconds(f"{what} {pair}", value) for value in pair)
        if start > end:
            raise ValueError(f"{what}: {pair} ends before it starts")
        spans.append({"start": start, "end": end})
    return spans
