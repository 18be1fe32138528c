"""What the Hub checks of a README.md's metadata, as far as its documentation says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
_SDKS = ("gradio", "docker", "static")
_LICENCES = {
    "apache-2.0",
    "mit",
    "bsd",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc",
    "cc0-1.0",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-3.0",
    "cc-by-nc-4.0",
    "cc-by-nd-4.0",
    "cc-by-nc-nd-4.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
    "cdla-permissive-2.0",
    "gpl-3.0",
    "lgpl-3.0",
    "agpl-3.0",
    "odbl",
    "odc-by",
    "openrail",
    "mpl-2.0",
    "unlicense",
    "other",
    "unknown",
}


def metadata(text: str) -> dict[str, Any]:
    """The YAML between the two lines of dashes, or nothing."""
    found = _FRONT.match(text)
    value = yaml.safe_load(found.group(1)) if found else None
    return value if isinstance(value, dict) else {}


def check(text: str, kind: str) -> tuple[list[str], list[str]]:
    """Errors and warnings of a README.md in a repository of this kind."""
    found = _FRONT.match(text)
    if not found:
        missing = "empty or missing yaml metadata in repo card"
        return ([missing], []) if kind == "space" else ([], [missing])
    try:
        value = yaml.safe_load(found.group(1))
    except yaml.YAMLError as error:
        return [f"invalid YAML: {error}"], []
    if not isinstance(value, dict):
        return [f"the metadata is not a mapping but {type(value).__name__}"], []
    return _errors(value, kind), []


def _errors(value: Mapping[str, Any], kind: str) -> list[str]:
    licences = value.get("license", [])
    errors = [
        f'"license" must be one of the known identifiers, not {name!r}'
        for name in (licences if isinstance(licences, list) else [licences])
        if name not in _LICENCES
    ]
    for name in ("tags", "datasets", "language", "task_categories"):
        listed = value.get(name, [])
        entries = listed if isinstance(listed, list) else [listed]
        errors += [f'"{name}" must hold strings' for one in entries if not isinstance(one, str)]
    if kind == "dataset" and not isinstance(value.get("configs", []), list):
        errors.append('"configs" must be an array')
    if kind == "space":
        if value.get("sdk") not in _SDKS:
            errors.append(f'"sdk" must be one of {", ".join(_SDKS)}, not {value.get("sdk")!r}')
        for name in ("colorFrom", "colorTo"):
            if value.get(name, "red") not in _COLOURS:
                errors.append(f'"{name}" must be one of {", ".join(_COLOURS)}')
        if len(str(value.get("short_description", ""))) > 60:
            errors.append('"short_description" must be at most 60 characters long')
    return errors
