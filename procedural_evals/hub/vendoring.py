"""The part of this package that a Space needs, copied into it as plain source.

A Space installs its requirements from PyPI; the benchmarks' own dependencies (lmms-eval, torch,
video) have no place there. So the modules that its entry files import, and those that these
import, are copied below the Space's folder, each unchanged but for the packages' `__init__`, whose
side effects (data sets known by name) a Space does without.
"""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import procedural_evals

PACKAGE = "procedural_evals"
INIT = '"""A part of procedural-evals, copied: this Space runs on its own."""\n'
VERSION = '\n__version__ = "{}"\n'

#: Files that modules read, beside them.
DATA = {
    "judge/rubric.py": "judge/rubrics/**/*",
    "hub/look.py": "hub/apps/page.css",
    "hub/metric_app.py": "hub/apps/metric.css",
    "hub/leaderboard_app.py": "hub/apps/leaderboard*.*",
}


def source_folder() -> Path:
    """The installed package's folder."""
    return Path(procedural_evals.__file__).resolve().parent


def imported_names(source: str) -> Iterator[str]:
    r"""Every module that Python source names in an import, also inside functions.

    `from a import b` gives both `a` and `a.b`, since `b` may be a module. Imports under
    `if TYPE_CHECKING` are never executed and left out.

    >>> sorted(imported_names("import json\nfrom a.b import c"))
    ['a.b', 'a.b.c', 'json']
    """
    skipped: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if node in skipped:
            skipped.update(ast.iter_child_nodes(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            skipped.update(node.body)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file_of(name: str, source: Path) -> Path | None:
    """The file of a module of the package; None for a name that is no module, or a package."""
    file = source.joinpath(*name.split(".")[1:]).with_suffix(".py")
    return file if name.startswith(f"{PACKAGE}.") and file.is_file() else None


def closure(entries: Iterable[Path]) -> list[Path]:
    """The files of the package that the entry files need, directly or through each other, sorted.

    Packages' `__init__` files are not followed.
    """
    source = source_folder()
    waiting, found = list(entries), set[Path]()
    while waiting:
        for name in imported_names(waiting.pop().read_text(encoding="utf-8")):
            file = _file_of(name, source)
            if file is not None and file not in found:
                found.add(file)
                waiting.append(file)
    return sorted(found)


def third_party(files: Iterable[Path]) -> set[str]:
    """Top-level modules that the files import from neither this package nor the standard library.

    Imports inside functions count too.
    """
    names = {
        name.partition(".")[0]
        for file in files
        for name in imported_names(file.read_text(encoding="utf-8"))
    }
    return names - sys.stdlib_module_names - {PACKAGE}


def vendor(
    entries: Iterable[Path], out: Path, also: Mapping[str, Path] | None = None
) -> list[Path]:
    """Copy what the entries need to `out/procedural_evals`; the files written, sorted.

    `also` are further files, by their place in the package.
    """
    source, target = source_folder(), out / PACKAGE
    files = {file.relative_to(source).as_posix(): file for file in closure(entries)}
    for module, pattern in DATA.items():
        if module in files:
            found = (file for file in source.glob(pattern) if file.is_file())
            files |= {file.relative_to(source).as_posix(): file for file in found}
    files |= also or {}
    written = set()
    for place, file in files.items():
        copy = target / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        written.add(copy)
    for folder in {parent for copy in written for parent in copy.parents}:
        holds_code = any(copy.parent == folder and copy.suffix == ".py" for copy in written)
        if folder == target or folder.parent == target or (holds_code and target in folder.parents):
            version = VERSION.format(procedural_evals.__version__) if folder == target else ""
            (folder / "__init__.py").write_text(INIT + version, encoding="utf-8")
            written.add(folder / "__init__.py")
    return sorted(written)
