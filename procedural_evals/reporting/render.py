"""A page laid out: as one HTML file, and as Markdown with its pictures beside it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from procedural_evals.harness import report
from procedural_evals.harness.table_row import Table, number
from procedural_evals.printable import printable
from procedural_evals.reporting.media import Picture
from procedural_evals.reporting.page import Item, Page

FILES, HTML, MARKDOWN = "report_files", "report.html", "report.md"
_NO_NAME = re.compile(r"[^\w.-]")
_PICTURE = re.compile(rf"\]\({FILES}/([\w.-]+\.(?:svg|jpg))\)")


def write(page: Page, folder: Path) -> list[Path]:
    """Write report.html, report.md and the latter's pictures; the two files.

    Pictures of an earlier report in the folder are replaced, other files stay. Raises OSError for
    a folder that cannot be written.
    """
    files = folder / FILES
    files.mkdir(parents=True, exist_ok=True)
    for old in _named_in(folder / MARKDOWN):
        (files / old).unlink(missing_ok=True)
    written = []
    for name, text in ((HTML, as_html(page)), (MARKDOWN, as_markdown(page, folder))):
        file = folder / name
        file.write_text(printable(text), encoding="utf-8")
        written.append(file)
    return written


def _named_in(report: Path) -> set[str]:
    """The pictures that an earlier report shows."""
    if not report.is_file():
        return set()
    return set(_PICTURE.findall(report.read_text(encoding="utf-8", errors="replace")))


def _environment(**functions: Any) -> Environment:
    environment = Environment(
        loader=PackageLoader("procedural_evals.reporting"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
    )
    environment.globals |= functions
    environment.filters |= {"plain": plain, "quoted": quoted, "code": code}
    return environment


def as_html(page: Page) -> str:
    """The page as one HTML file: pictures, figures and style inside, no script."""
    environment = _environment(figure=_html_figure, table=_html_table, source=_data)
    style = (Path(__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html").render(page=page, style=Markup(style))


def as_markdown(page: Page, folder: Path) -> str:
    """The page as Markdown; figures and pictures are written into `folder/report_files`."""

    def figure(svg: str, task: str, name: str) -> str:
        if not svg:
            return ""
        file = f"{FILES}/{re.sub(_NO_NAME, '_', task)}-{name}.svg"
        (folder / file).write_text(printable(svg), encoding="utf-8")
        return f"![{name} of {plain(task)}]({file})\n"

    def source(picture: Picture, task: str, item: Item) -> str:
        file = f"{FILES}/{hashlib.sha256(picture.jpeg).hexdigest()[:16]}.jpg"
        (folder / file).write_bytes(picture.jpeg)
        return file

    environment = _environment(figure=figure, table=markdown_table, source=source)
    text = environment.get_template("report.md").render(page=page, overview=_overview(page))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _overview(page: Page) -> Table:
    lines = []
    for section in page.sections:
        row = section.headline
        interval = f"[{row.low:.2f}, {row.high:.2f}]" if row else ""
        score = number(row.score if row else None)
        lines.append([section.task, section.heading, score, interval, str(row.n if row else 0)])
    return Table(["task", "score", "", "95 % interval", "n"], lines)


def _html_figure(svg: str) -> Markup:
    return Markup(f'<div class="figure">{svg}</div>') if svg else Markup("")


def _html_table(table: Table | None) -> Markup:
    if table is None:
        return Markup("")
    head = "".join(f"<th>{html.escape(title)}</th>" for title in table.titles)
    body = []
    ours = False
    for line in table.lines:
        # The line of intervals under this run's has no name of its own.
        ours = line[0].startswith(report.OURS) or (ours and not line[0])
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in line)
        body.append(f"<tr{' class=run' if ours else ''}>{cells}</tr>")
    return Markup(
        f'<div class="table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _data(picture: Picture) -> Markup:
    return Markup("data:image/jpeg;base64," + base64.b64encode(picture.jpeg).decode())


def markdown_table(table: Table | None) -> str:
    r"""A pipe table, the first column to the left and the others to the right.

    >>> print(markdown_table(Table(["", "n"], [["a|b", "3"]])))
    |  | n |
    |:--|--:|
    | a\|b | 3 |
    """
    if table is None:
        return ""
    rows = [table.titles, *table.lines]
    lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in rows]
    lines.insert(1, "|:--" + "|--:" * (len(table.titles) - 1) + "|")
    return "\n".join(lines)


def plain(text: str) -> str:
    r"""A text that Markdown shows as it is, on one line.

    >>> print(plain("a *b* <c>"))
    a \*b\* &lt;c&gt;
    """
    escaped = re.sub(r"([\\`*_\[\]|#])", r"\\\1", " ".join(str(text).split()))
    return escaped.replace("<", "&lt;").replace(">", "&gt;")


def quoted(text: str) -> str:
    """A text as a code block, whatever marks it holds."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def code(text: str) -> str:
    """A text as code within a line.

    >>> code("a`b")
    '`` a`b ``'
    """
    line = " ".join(str(text).split())
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
