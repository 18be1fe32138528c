"""A metric's card as data: its title, its outputs, and the inputs of its doctested examples."""

from __future__ import annotations

import ast
import doctest
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml


class CardError(ValueError):
    """A metric's folder whose card is missing, or has no example to compute."""


@dataclass(frozen=True)
class Example:
    """One call of `compute` in the card: its keyword arguments, and the metric's configuration."""

    inputs: dict[str, Any]
    config: str | None


@dataclass(frozen=True)
class MetricCard:
    """The card of the metric in a folder, whose name is the metric's; see `read_card`.

    Attributes:
        folder: where the card and the module lie.
        header: the YAML header, for a Space.
        body: the Markdown below it.
    """

    folder: Path
    header: dict[str, Any]
    body: str

    @property
    def name(self) -> str:
        """Name of the metric: of the module beside the card."""
        return _module(self.folder).stem

    @cached_property
    def outputs(self) -> dict[str, str]:
        """What each output means, by its name: the rows of the table below "Outputs"."""
        _, _, section = self.body.partition("### Outputs")
        found: dict[str, str] = {}
        for line in section.partition("\n#")[0].splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) > 1:
                for name in re.findall(r"`([^`]+)`", cells[0]):
                    found[name] = cells[1]
        return found

    @cached_property
    def examples(self) -> list[Example]:
        """The calls of `compute` in the card's examples, in their order.

        Raises CardError when there is none.
        """
        found = list(_examples(self))
        if not found:
            raise CardError(f"{self.folder}: the card has no example that calls compute")
        return found

    def load(self, config: str | None = None) -> Any:
        """The metric's `evaluate` module, from the file beside the card."""
        import evaluate

        return evaluate.load(str(_module(self.folder)), config)

    def meaning(self, output: str) -> str:
        """What an output means; "" where the card does not say.

        A row for `f1@T` says it for `f1@0.5`, one for `f1_LABEL` for the F1 of every label.
        """
        for name, text in self.outputs.items():
            pattern = re.sub(r"T$|LABEL$", ".+", re.escape(name).replace(r"\@", "@"))
            if re.fullmatch(pattern, output):
                return text
        return ""


def _module(folder: Path) -> Path:
    """The metric's module: the one Python file beside the card that is not its page."""
    files = [file for file in sorted(folder.glob("*.py")) if file.name != "app.py"]
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise CardError(f"{folder}: one module beside app.py is needed, found {names}")
    return files[0]


def read_card(folder: Path) -> MetricCard:
    """The card `README.md` in a metric's folder; CardError when it has no header."""
    file = folder / "README.md"
    if not file.is_file():
        raise CardError(f"{folder}: no README.md")
    _, header, body = file.read_text(encoding="utf-8").split("---\n", 2)
    return MetricCard(folder, yaml.safe_load(header), body.strip())


def _stand_in(_: str, config: str | None = None) -> Any:
    """What `evaluate.load` gives in a card's examples: it only knows its configuration."""
    return SimpleNamespace(config=config)


def _examples(card: MetricCard) -> Iterator[Example]:
    """Statements before a call are executed, so that their names can stand in its arguments.

    The metric itself is neither loaded nor computed here.
    """
    names: dict[str, Any] = {"evaluate": SimpleNamespace(load=_stand_in)}
    for example in doctest.DocTestParser().get_examples(card.body):
        for statement in ast.parse(example.source).body:
            call = _compute_call(statement)
            if call is not None:
                yield _example(call, names, card)
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                if ast.unparse(statement) != "import evaluate":
                    _execute(statement, names)
            elif isinstance(statement, ast.Assign):
                _execute(statement, names)


def _execute(statement: ast.stmt, names: dict[str, Any]) -> None:
    exec(compile(ast.Module([statement], []), "<card>", "exec"), names)


def _compute_call(statement: ast.stmt) -> ast.Call | None:
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "compute"
        ):
            return node
    return None


def _example(call: ast.Call, names: dict[str, Any], card: MetricCard) -> Example:
    assert isinstance(call.func, ast.Attribute)
    module = eval(compile(ast.Expression(call.func.value), "<card>", "eval"), names)
    inputs = {
        str(keyword.arg): eval(compile(ast.Expression(keyword.value), "<card>", "eval"), names)
        for keyword in call.keywords
    }
    # As JSON has them: tuples become lists, and a folder its name.
    return Example(json.loads(json.dumps(inputs, default=str)), module.config)
