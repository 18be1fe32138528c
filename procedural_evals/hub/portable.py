"""Rows that stand on their own: media embedded or linked, no path of this machine in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from procedural_evals.builders import BenchmarkBuilder
from procedural_evals.harness.protocols import PROBLEM_WORDS
from procedural_evals.hub.licences import Share, Terms, terms_for
from procedural_evals.hub.parquet import media_columns, stored_rows
from procedural_evals.published_rows import LINKED, VIDEO_FILE
from procedural_evals.sources import DATA_VARIABLE


def portable_features(features: datasets.Features) -> datasets.Features:
    """The columns of a published row: those of the builder, and `video_file` after `video`."""
    columns: dict[str, Any] = {}
    for name, feature in features.items():
        columns[name] = feature
        if name == "video":
            columns[VIDEO_FILE] = datasets.Value("string")
    return datasets.Features(columns)


class PortableRows:
    """Makes the rows of one configuration portable.

    Attributes:
        linked: how many rows lack a medium because it may not be passed on, by terms and column.
        embedded: how many rows hold a medium, by terms and column.
    """

    def __init__(
        self,
        builder: BenchmarkBuilder,
        features: datasets.Features,
        terms: Sequence[Terms],
        *,
        embed_media: bool,
    ) -> None:
        """`features` are the builder's; media under terms that forbid it need `embed_media`."""
        self.features = features
        self.linked: Counter[tuple[Terms, str]] = Counter()
        self.embedded: Counter[tuple[Terms, str]] = Counter()
        self._media = media_columns(features)
        self._video_file: Callable[[Mapping[str, Any]], str] = builder.video_file
        self._terms = terms
        self._embed_media = embed_media
        folders = (builder.data_folder, str(builder.sample_folder()))
        self._roots = [folder for folder in folders if folder]

    def __call__(self, dataset: datasets.Dataset) -> Iterator[dict[str, Any]]:
        """The portable rows of a split."""
        source = self.features.get("source")
        for row in stored_rows(dataset):
            yield self._portable(row, _label(source, row.get("source")))

    @staticmethod
    def counts(counted: Counter[tuple[Terms, str]]) -> dict[str, int]:
        """Rows by column, whatever the terms."""
        found: Counter[str] = Counter()
        for (_, column), rows in counted.items():
            found[column] += rows
        return dict(found)

    @staticmethod
    def columns(counted: Counter[tuple[Terms, str]], terms: Terms) -> list[str]:
        """The columns that were counted under these terms."""
        return [column for each, column in counted if each == terms]

    def _portable(self, row: Mapping[str, Any], source: str | None) -> dict[str, Any]:
        problems = [self._without_roots(problem) for problem in row["problems"]]
        changed: dict[str, Any] = {}
        for name in self._media:
            terms = terms_for(self._terms, name, source)
            if terms.share is Share.NO and not self._embed_media:
                changed[name] = None
                word = PROBLEM_WORDS[name]
                problems = [each for each in problems if not each.startswith(word)]
                problems.append(self._link(name, row))
                self.linked[terms, name] += 1
            else:
                changed[name] = _embedded(row[name])
                if changed[name] is not None:
                    self.embedded[terms, name] += 1
        found: dict[str, Any] = {}
        for name, value in {**row, **changed, "problems": problems}.items():
            found[name] = value
            if name == "video":
                found[VIDEO_FILE] = self._video_file(row)
        return found

    def _link(self, column: str, row: Mapping[str, Any]) -> str:
        place = f"${DATA_VARIABLE}/{self._video_file(row)}"
        if column == "video":
            return f"{LINKED}: it may not be passed on; it belongs at {place}"
        return f"{PROBLEM_WORDS[column]} linked: it may not be passed on (see the dataset's card)"

    def _without_roots(self, problem: str) -> str:
        for root in self._roots:
            problem = problem.replace(f"{root}/", "")
        return re.sub(r"(leaves the data folder) .*", r"\1", problem)  # `sources.inside`


def _label(feature: Any, value: Any) -> str | None:
    if isinstance(feature, datasets.ClassLabel) and value is not None:
        return str(feature.int2str(value))
    return value if isinstance(value, str) else None


def _embedded(value: Any) -> Any:
    """A stored medium (or a list of them) with its bytes, and its file's name as the path."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_embedded(each) for each in value]
    content, path = value["bytes"], value["path"]
    if content is None:
        content = Path(path).read_bytes()
    return {"bytes": content, "path": Path(path).name if path else None}
