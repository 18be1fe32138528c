"""Writes configurations into a folder, and then the card, `eval.yaml` and the record of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
from tqdm import tqdm

from procedural_evals import __version__
from procedural_evals.hub import eval_yaml, licences, record
from procedural_evals.hub.dataset_card import write_card
from procedural_evals.hub.licences import Share, Terms
from procedural_evals.hub.parquet import ShardWriter, media_columns, row_groups
from procedural_evals.hub.portable import PortableRows, portable_features
from procedural_evals.hub.record import BuildError, BuiltDataset
from procedural_evals.hub.reload import digest_of

logger = logging.getLogger(__name__)

DATA = "data"

#: Columns under some terms in one configuration: "included" and "linked".
Use = dict[str, list[str]]


class RestrictedTextError(BuildError):
    """A configuration whose text may not be passed on."""


class Making:
    """The folder while it is made.

    Attributes:
        configs: the record's entries of the configurations that were added.
        digests: digests of their rows, by configuration and split.
    """

    def __init__(self, name: str, folder: Path, *, embed_media: bool, embed_text: bool) -> None:
        """Nothing is written yet."""
        self.name = name
        self.folder = folder
        self.embed_media = embed_media
        self.embed_text = embed_text
        self.configs: dict[str, Any] = {}
        self.infos: dict[str, datasets.DatasetInfo] = {}
        self.digests: dict[str, dict[str, list[str]]] = {}
        self._terms: dict[Terms, dict[str, Use]] = {}

    def add(self, builder: Any) -> None:
        """Write all splits of a configuration.

        RestrictedTextError for text that may not be passed on, unless `embed_text` was given.
        """
        config = builder.config.name
        simulated = bool(builder.config.sample)
        features = portable_features(builder.info.features)
        terms = licences.terms_of(self.name, simulated=simulated)
        self._check_text(config, features, terms)
        rows = PortableRows(builder, builder.info.features, terms, embed_media=self.embed_media)
        revisions: dict[str, None] = {}
        splits: dict[str, Any] = {}
        self.digests[config] = {}
        for split, dataset in builder.as_dataset().items():
            if not len(dataset):  # `load_dataset` fails for a split without rows
                logger.warning("left out: %s %s/%s has no rows", self.name, config, split)
                continue
            digests: list[str] = []
            size = 0
            label = f"{self.name} {config}/{split}"
            watched = _watched(rows(dataset), digests, revisions)
            with (
                tqdm(total=len(dataset), desc=label, unit="row") as bar,
                ShardWriter(self.folder / DATA / config, split, features) as writer,
            ):
                for table, count in row_groups(watched, features):
                    writer.write(table)
                    size += count
                    bar.update(table.num_rows)
            self.digests[config][split] = digests
            splits[split] = {
                "rows": len(digests),
                "bytes": size,
                "digest": record.digest_of_rows(digests),
                "files": {
                    file.relative_to(self.folder).as_posix(): record.file_entry(file)
                    for file in writer.files
                },
            }
        if not splits:
            raise BuildError(f"{self.name} {config}: no split has rows")
        self.configs[config] = {
            "simulated": simulated,
            "default": False,
            "revisions": list(revisions),
            "linked": rows.counts(rows.linked),
            "embedded": rows.counts(rows.embedded),
            "splits": splits,
        }
        self.infos[config] = _info(features, splits)
        for each, use in _uses(features, terms, rows).items():
            self._terms.setdefault(each, {})[config] = use

    def finish(self, framework: str) -> BuiltDataset:
        """Write the card, `eval.yaml` and the record."""
        default = "default" if "default" in self.configs else next(iter(self.configs))
        self.configs[default]["default"] = True
        terms = [each.as_record() | {"configs": uses} for each, uses in self._terms.items()]
        built = BuiltDataset(
            self.folder,
            {
                "format": record.FORMAT,
                "name": self.name,
                "version": __version__,
                "embed_media": self.embed_media,
                "embed_text": self.embed_text,
                "configs": self.configs,
                "terms": terms,
                "restricted": record.restrictions(terms),
            },
        )
        record.write(built)
        title, summary = write_card(built, self.infos)
        content = eval_yaml.benchmark(self.name, title, summary, built.splits, framework)
        if content["tasks"]:
            text = eval_yaml.as_text(content)
            (self.folder / eval_yaml.FILE).write_text(text, encoding="utf-8")
        return built

    def _check_text(self, config: str, features: datasets.Features, terms: Sequence[Terms]) -> None:
        if self.embed_text:
            return
        reasons = [
            f"{', '.join(columns)}: {each.subject} ({each.statement})"
            for each, columns in _text_columns(features, terms).items()
            if each.share is Share.NO
        ]
        if reasons:
            raise RestrictedTextError(
                f"{self.name} {config}: text that may not be passed on: {'; '.join(reasons)}. "
                "Build the sample alone (--config), or a copy of your own, which is never made "
                "public (--embed-text)"
            )


def _text_columns(features: datasets.Features, terms: Sequence[Terms]) -> dict[Terms, list[str]]:
    """The columns that are no media, by their terms."""
    media = set(media_columns(features))
    found: dict[Terms, list[str]] = {}
    for column in features:
        if column not in media:
            found.setdefault(licences.terms_for(terms, column), []).append(column)
    return found


def _uses(
    features: datasets.Features, terms: Sequence[Terms], rows: PortableRows
) -> dict[Terms, Use]:
    """The columns that are included and linked under each of the terms."""
    text = _text_columns(features, terms)
    return {
        each: {
            "included": [*text.get(each, []), *rows.columns(rows.embedded, each)],
            "linked": rows.columns(rows.linked, each),
        }
        for each in terms
    }


def _watched(
    rows: Iterable[dict[str, Any]], digests: list[str], revisions: dict[str, None]
) -> Iterator[dict[str, Any]]:
    """The rows, whose digests and revisions are noted as they pass."""
    for row in rows:
        digests.append(digest_of(row))
        revisions[row["revision"]] = None
        yield row


def _info(features: datasets.Features, splits: dict[str, Any]) -> datasets.DatasetInfo:
    sizes = [file["bytes"] for split in splits.values() for file in split["files"].values()]
    return datasets.DatasetInfo(
        features=features,
        splits=datasets.SplitDict(
            {
                name: datasets.SplitInfo(name, split["bytes"], split["rows"])
                for name, split in splits.items()
            }
        ),
        download_size=sum(sizes),
        dataset_size=sum(split["bytes"] for split in splits.values()),
    )
