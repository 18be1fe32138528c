"""Parquet files as the Hub's viewer and its storage like them.

The viewer reads whole row groups and gives up above 300 MB: groups here are far smaller, and have a
page index. The storage keeps what it knows already: pages are cut where the content says so
(content-defined chunking), and media are not compressed a second time. A video that many rows share
is stored once a row group, because the media columns are encoded with a dictionary; that is why
`Dataset.to_parquet`, which encodes them plainly, is not used.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

#: Bytes in memory (media included, however often they repeat) and rows of a row group.
ROW_GROUP_BYTES = 64_000_000
ROW_GROUP_ROWS = 1_000
#: What the viewer reads at once at most: no row group may be larger.
VIEWER_BYTES = 300_000_000
#: A file ends after the row group with which it reaches this size.
FILE_BYTES = 500_000_000

_CHUNKS = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}


def is_medium(feature: Any) -> bool:
    """Whether the feature is a picture or a video, or a list of them."""
    if isinstance(feature, datasets.List):
        return is_medium(feature.feature)
    return isinstance(feature, (datasets.Image, datasets.Video))


def media_columns(features: datasets.Features) -> list[str]:
    """The columns that hold pictures or videos."""
    return [name for name, feature in features.items() if is_medium(feature)]


def table_of(rows: list[dict[str, Any]], features: datasets.Features) -> pa.Table:
    """Rows as they are stored (media as bytes and path) as a table of these features."""
    return pa.Table.from_pylist(rows, schema=features.arrow_schema)


def stored_rows(dataset: datasets.Dataset, batch_size: int = 100) -> Iterator[dict[str, Any]]:
    """The rows of a dataset as they are stored: no medium is decoded, labels are numbers."""
    for table in dataset.with_format("arrow").iter(batch_size=batch_size):
        yield from table.to_pylist()


def row_groups(
    rows: Iterable[dict[str, Any]], features: datasets.Features
) -> Iterator[tuple[pa.Table, int]]:
    """The rows in groups within the limits, each with its bytes in memory.

    Raises ValueError for a row that is larger than the viewer can read: its media are too large to
    be embedded.
    """
    names = media_columns(features)
    group: list[dict[str, Any]] = []
    media = 0
    for row in rows:
        size = sum(_media_bytes(row[name]) for name in names)
        if size > VIEWER_BYTES:
            raise ValueError(
                f"row {row.get('id')!r}: its media have {size / 1e6:.0f} MB; more than "
                f"{VIEWER_BYTES / 1e6:.0f} MB in a row cannot be shown by the Hub's viewer. Embed "
                "shorter or smaller files, or link them (leave out --embed-media)"
            )
        if group and (media + size > ROW_GROUP_BYTES or len(group) >= ROW_GROUP_ROWS):
            yield _counted(group, features)
            group, media = [], 0
        group.append(row)
        media += size
    if group:
        yield _counted(group, features)


def _counted(group: list[dict[str, Any]], features: datasets.Features) -> tuple[pa.Table, int]:
    table = table_of(group, features)
    return table, int(table.nbytes)


def _media_bytes(value: Any) -> int:
    if isinstance(value, list):
        return sum(_media_bytes(each) for each in value)
    return len(value["bytes"] or b"") if isinstance(value, Mapping) else 0


class ShardWriter:
    """Writes row groups into `SPLIT-00000-of-0000N.parquet`; the names are known at the end.

    >>> import tempfile
    >>> features = datasets.Features({"a": datasets.Value("int64")})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ShardWriter(Path(folder), "test", features) as writer:
    ...         writer.write(table_of([{"a": 1}], features))
    ...     [file.name for file in writer.files]
    ['test-00000-of-00001.parquet']
    """

    def __init__(self, folder: Path, split: str, features: datasets.Features) -> None:
        """Nothing is written yet; the folder is made."""
        self.folder = folder
        self.split = split
        self.schema = features.arrow_schema
        self.files: list[Path] = []
        self._stream: BinaryIO | None = None
        self._writer: Any = None
        self._options = _options(features)
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        if kind is None:
            total = len(self.files)
            for number, file in enumerate(self.files):
                name = f"{self.split}-{number:05d}-of-{total:05d}.parquet"
                self.files[number] = file.rename(self.folder / name)

    def write(self, table: pa.Table) -> None:
        """One row group."""
        if self._stream is not None and self._stream.tell() >= FILE_BYTES:
            self._close()
        if self._writer is None:
            self._open()
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def _open(self) -> None:
        file = self.folder / f"{self.split}.part{len(self.files):05d}"
        self.files.append(file)
        self._stream = file.open("wb")
        self._writer = pq.ParquetWriter(self._stream, self.schema, **self._options)
        chunks = json.dumps(_CHUNKS)
        self._writer.add_key_value_metadata({"content_defined_chunking": chunks})

    def _close(self) -> None:
        if self._writer is not None and self._stream is not None:
            self._writer.close()
            self._stream.close()
        self._writer = self._stream = None


def _options(features: datasets.Features) -> dict[str, Any]:
    names = set(media_columns(features))
    compression = {
        path: "none" if path.split(".", 1)[0] in names else "snappy"
        for path in _leaves(features.arrow_schema)
    }
    return {
        "compression": compression,
        "use_dictionary": True,
        # Above the default of 1 MB, the writer would give up the dictionary.
        "dictionary_pagesize_limit": 2 * VIEWER_BYTES,
        "use_content_defined_chunking": _CHUNKS,
        "write_page_index": True,
    }


def _leaves(schema: pa.Schema) -> list[str]:
    """The paths of the Parquet columns, as an empty file of the schema has them."""
    sink = io.BytesIO()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.ParquetFile(sink).schema
    return [columns.column(number).path for number in range(len(columns))]
