"""Builds a folder that is a complete dataset repository for the Hub.

    OUT/NAME/README.md                             the card, with configurations and features
    OUT/NAME/eval.yaml                             the leaderboard's tasks
    OUT/NAME/build.json                            the record, see `record`
    OUT/NAME/data/CONFIG/SPLIT-00000-of-0000N.parquet

The rows are those of our builders. A folder appears under its name when it is complete and valid,
and not before.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
from tqdm import tqdm

from procedural_evals import __version__, registry
from procedural_evals.hub import eval_yaml, licences, record, validate
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


def build(
    name: str,
    out: str | Path,
    *,
    configs: Sequence[str] | None = None,
    data_dir: str | None = None,
    embed_media: bool = False,
    embed_text: bool = False,
    overwrite: bool = False,
    framework: str = eval_yaml.EVALUATION_FRAMEWORK,
) -> BuiltDataset:
    """Build `OUT/NAME`, validate it, and return it with its record.

    Args:
        name: a dataset name of this package.
        out: the folder that the built folder stands in; it is made where it is missing.
        configs: names of configurations; by default the sample, and all whose files are found on
            this machine.
        data_dir: folder in the authors' layout, instead of the one that `load_dataset` finds.
        embed_media: embed media that may not be passed on, for a copy of one's own.
        embed_text: keep text that may not be passed on, for a copy of one's own.
        overwrite: replace a folder that an earlier build made.
        framework: the evaluation framework named in `eval.yaml`.

    Raises KeyError for an unknown name, FileExistsError where `OUT/NAME` is there already,
    FileNotFoundError where a named configuration's files are not, BuildError for what may not be
    passed on, and validate.InvalidFolderError when the result is not fit to be published.
    """
    registry.builder_class(name)
    folder = Path(out) / name
    _check_free(folder, overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside its final place, so that the last step is a rename.
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder.parent) as temporary:
        unfinished = Path(temporary) / name
        unfinished.mkdir()
        making = _Making(name, unfinished, embed_media=embed_media, embed_text=embed_text)
        for builder in _builders(name, configs, data_dir):
            making.add(builder)
        built = making.finish(framework)
        validate.require_valid(built.folder, making.digests, folder)
        _put_in_place(unfinished, folder)
    return BuiltDataset(folder, built.record)


def _check_free(folder: Path, overwrite: bool) -> None:
    if not folder.exists():
        return
    if not overwrite:
        raise FileExistsError(f"{folder} is there already; --overwrite replaces it")
    if not (folder / record.FILE).is_file():
        raise FileExistsError(
            f"{folder} has no {record.FILE}: no build made it, so none replaces it; move it away "
            "or choose another --out"
        )


def _put_in_place(unfinished: Path, folder: Path) -> None:
    if folder.exists():
        folder.rename(unfinished.parent / "replaced")  # goes with the temporary folder
    unfinished.rename(folder)


# ---- which configurations -----------------------------------------------------------------------


def _builders(
    name: str, configs: Sequence[str] | None, data_dir: str | None
) -> Iterator[datasets.GeneratorBasedBuilder]:
    """A prepared builder of each configuration.

    Without names these are the samples, and the others where a folder in the benchmark's layout is
    found; one whose files are not in it is left out with a note.
    """
    known = registry.builder_class(name).BUILDER_CONFIGS
    simulated = {config.name for config in known if config.sample}
    if configs is not None:
        for config in dict.fromkeys(configs):
            yield _prepared(name, config, None if config in simulated else data_dir)
        return
    found = data_dir or registry.load_builder(name, known[0].name).data_folder
    count = 0
    for config in _distinct(known):
        if not config.sample and found is None:
            logger.warning("%s %s: not built, no files found", name, config.name)
            continue
        try:
            builder = _prepared(name, config.name, None if config.sample else data_dir)
        except FileNotFoundError as error:
            logger.warning("%s %s: not built, %s", name, config.name, error)
            continue
        count += 1
        yield builder
    if not count:
        hint = registry.builder_class(name).MEDIA_HINT
        raise FileNotFoundError(f"{name}: there is no sample, and no files were found.\n{hint}")


def _distinct(configs: Iterable[Any]) -> Iterator[Any]:
    """The configurations without those that are another name for an earlier one."""
    seen = []
    for config in configs:
        content = {key: value for key, value in asdict(config).items() if key != "name"}
        if content not in seen:
            seen.append(content)
            yield config


def _prepared(name: str, config: str, data_dir: str | None) -> datasets.GeneratorBasedBuilder:
    builder = registry.load_builder(name, config, data_dir)
    builder.download_and_prepare()
    return builder


# ---- what goes into the folder ------------------------------------------------------------------


class _Making:
    """The folder while it is made."""

    def __init__(self, name: str, folder: Path, *, embed_media: bool, embed_text: bool) -> None:
        self.name = name
        self.folder = folder
        self.embed_media = embed_media
        self.embed_text = embed_text
        self.configs: dict[str, Any] = {}
        self.infos: dict[str, datasets.DatasetInfo] = {}
        self.digests: dict[str, dict[str, list[str]]] = {}
        self._terms: dict[Terms, dict[str, Use]] = {}

    def add(self, builder: Any) -> None:
        """Write all splits of a configuration."""
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
        built = BuiltDataset(
            self.folder,
            {
                "format": record.FORMAT,
                "name": self.name,
                "version": __version__,
                "embed_media": self.embed_media,
                "embed_text": self.embed_text,
                "configs": self.configs,
                "terms": [
                    each.as_record() | {"configs": uses} for each, uses in self._terms.items()
                ],
                "restricted": [
                    f"{config}: {', '.join(use['included'])} ({each.subject}: {each.statement})"
                    for each, uses in self._terms.items()
                    for config, use in uses.items()
                    if each.share is Share.NO and use["included"]
                ],
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
            raise BuildError(
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
