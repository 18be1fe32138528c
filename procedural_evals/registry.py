"""Dataset names: makes `datasets.load_dataset("flatpack-bench")` find our builders.

The `datasets` library no longer runs scripts, so the one function that turns a name into a builder
module is wrapped. Importing this package must stay cheap, so the wrapping waits until somebody
imports `datasets`. A local folder of the same name wins, as it does for every other name, unless it
has the benchmark's own layout, which no other builder can read: then it is where our builder reads.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_SCRIPTS = "procedural_evals.dataset_scripts"
# Camera of the recordings, for benchmarks that were filmed by several at once.
VIEW_VARIABLE = "PROCEDURAL_EVALS_VIEW"
_HOOKED = ("datasets.load", "datasets.inspect")


def benchmarks() -> dict[str, str]:
    """Builder module of each dataset name; a folder in `dataset_scripts/` is a benchmark.

    >>> benchmarks()["flatpack-bench"]
    'procedural_evals.dataset_scripts.flatpack_bench.flatpack_bench'
    """
    from procedural_evals import folders

    names = (
        folder.name
        for folder in sorted(folders.dataset_scripts().iterdir())
        if (folder / f"{folder.name}.py").is_file()
    )
    return {name.replace("_", "-"): f"{_SCRIPTS}.{name}.{name}" for name in names}


def builder_class(name: str) -> Any:
    """The builder of a dataset name; KeyError with the known names for another."""
    known = benchmarks()
    if name not in known:
        raise KeyError(f"{name!r} is not a benchmark of this package: {', '.join(known)}")
    module = importlib.import_module(known[name])
    return module.BUILDER


def load_builder(name: str, config: str | None = None, data_dir: str | None = None) -> Any:
    """Our builder of a dataset name, with the files that `load_dataset` would read.

    A folder of that name in the working directory is passed over unless it has the benchmark's
    layout. KeyError for an unknown name, ValueError for an unknown configuration.
    """
    cls = builder_class(name)
    here = Path(name).resolve()
    arguments = _module_arguments(
        name, benchmarks()[name], data_dir, here if cls.recognises(here) else None, None
    )
    return cls(config_name=config, hash=arguments["hash"], **arguments["builder_kwargs"])


def register() -> None:
    """Make the names known to `datasets`, now or when it is imported. Safe to repeat."""
    for module in _HOOKED:
        if module in sys.modules:
            _wrap(sys.modules[module])
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


def _wrap(module: ModuleType) -> None:
    original = getattr(module, "dataset_module_factory", None)
    if original is not None and not hasattr(original, "_knows_procedural_evals"):
        module.dataset_module_factory = _factory(original)  # type: ignore[attr-defined]


def _factory(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dataset_module_factory(path: str, *args: Any, **kwargs: Any) -> Any:
        known = benchmarks()
        if path not in known:
            return original(path, *args, **kwargs)
        local = Path(path).resolve() if os.path.isdir(path) else None  # noqa: PTH112  (its own test)
        if local is not None and not builder_class(path).recognises(local):
            return original(path, *args, **kwargs)
        from datasets.load import DatasetModule

        revision = args[0] if args else kwargs.get("revision")
        return DatasetModule(
            known[path],
            **_module_arguments(path, known[path], kwargs.get("data_dir"), local, revision),
        )

    dataset_module_factory._knows_procedural_evals = True  # type: ignore[attr-defined]
    return dataset_module_factory


def _module_arguments(
    name: str, module: str, data_dir: str | None, local: Path | None, revision: str | None
) -> dict[str, Any]:
    """Hash and arguments of the builder. The hash is the cache key: it covers code and files."""
    from procedural_evals import sources

    folder = sources.local_folder(name, data_dir)
    if data_dir is None and local is not None:
        folder = local
    arguments: dict[str, Any] = {"dataset_name": name}
    if folder is not None:
        # Always absolute, so that the cache does not depend on the current directory.
        arguments["found" if data_dir is None else "data_dir"] = str(folder)
    if revision is not None:
        arguments["revision"] = str(revision)
    digest = hashlib.sha256(_code(module).encode())
    builder = builder_class(name)
    sample = builder.sample_folder()
    if os.environ.get(VIEW_VARIABLE) and hasattr(builder.BUILDER_CONFIG_CLASS, "view"):
        arguments["view"] = os.environ[VIEW_VARIABLE]
    for place in (folder, sample, *builder.beside(folder or sample)):
        if place is not None and place.is_dir():
            digest.update(sources.fingerprint(place).encode())
    return {"hash": digest.hexdigest(), "builder_kwargs": arguments}


def _code(module: str) -> str:
    """Digest of all code that a row goes through: this package's modules and the builder."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    files = [*package.glob("*.py"), *package.glob("layouts/*.py"), *package.glob("dyad/*.py")]
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.origin:
        files.append(Path(spec.origin))
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class _AfterImport(importlib.abc.MetaPathFinder):
    """Wraps the factory right after the modules that hold it have been imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _HOOKED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _WrappingLoader(spec.loader)
        return spec


class _WrappingLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _wrap(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)
