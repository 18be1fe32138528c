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
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
from datasets.exceptions import DatasetGenerationError

from procedural_evals import registry
from procedural_evals.hub import eval_yaml, record, validate
from procedural_evals.hub.making import Making, RestrictedTextError
from procedural_evals.hub.record import BuildError, BuiltDataset
from procedural_evals.sources import DATA_VARIABLE, local_folder

logger = logging.getLogger(__name__)


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
            this machine and whose text may be passed on. What is left out is said in the log.
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
        making = Making(name, unfinished, embed_media=embed_media, embed_text=embed_text)
        for builder in _builders(name, configs, data_dir):
            _add(making, builder, named=configs is not None)
        if not making.configs:
            raise BuildError(f"{name}: nothing is left to build; the lines above say why")
        built = making.finish(framework)
        validate.require_valid(built.folder, making.digests, folder)
        _put_in_place(unfinished, folder)
    return BuiltDataset(folder, built.record)


def _add(making: Making, builder: datasets.GeneratorBasedBuilder, *, named: bool) -> None:
    """Add a configuration; one that nobody named is left out if its text may not be passed on."""
    try:
        making.add(builder)
    except RestrictedTextError as error:
        if named:
            raise
        logger.warning("left out: %s", error)


def _check_free(folder: Path, overwrite: bool) -> None:
    root = os.environ.get(DATA_VARIABLE)
    if root and folder.parent.resolve() == Path(root).expanduser().resolve():
        raise BuildError(
            f"{folder} is where load_dataset looks for the authors' files, ${DATA_VARIABLE}; "
            "choose another --out"
        )
    there = next(place for place in (folder.parent, *folder.parent.parents) if place.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"--out {folder.parent}: {there} is a file")
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
        # A folder that is meant for other configurations is not the sample's; one that is meant for
        # no other is refused by the builder.
        other = set(configs) - simulated
        for config in dict.fromkeys(configs):
            yield _prepared(name, config, None if other and config in simulated else data_dir)
        return
    if data_dir:
        local_folder(name, data_dir)  # one that is absent is not passed over for the sample
    found = data_dir or registry.load_builder(name, known[0].name).data_folder
    count, read = 0, 0
    for config in _distinct(known):
        if not config.sample and found is None:
            logger.warning("%s %s: not built, no files found", name, config.name)
            continue
        try:
            builder = _prepared(name, config.name, None if config.sample else data_dir)
        except FileNotFoundError as error:
            logger.warning("%s %s: not built, %s", name, config.name, error)
            continue
        count, read = count + 1, read + (not config.sample)
        yield builder
    if data_dir and not read:
        raise FileNotFoundError(
            f"{name}: --data-dir {data_dir} holds the files of no configuration; the lines above "
            "say what was looked for. The sample alone: --config, without --data-dir"
        )
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
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        # "An error occurred": what happened is the cause.
        raise BuildError(f"{name} {config}: {error.__cause__ or error}") from error
    return builder
