"""The page of a metric: its card, a form with the card's examples, and the values computed.

A page may be asked by anybody, so it computes from what is typed into it and nothing else: an
argument that names a file, a folder, a server or an environment variable is not taken, and a judge
or an encoder is the one of the card's example.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from procedural_evals.hub import look
from procedural_evals.hub.metric_card import Example, MetricCard, read_card

#: Arguments that are taken from the page, beside predictions and references.
TAKEN = {
    "background",
    "categories",
    "clusters",
    "contexts",
    "ends",
    "groups",
    "idf",
    "ids",
    "labels",
    "layer",
    "letters",
    "measures",
    "n",
    "names",
    "num_options",
    "options",
    "per_item",
    "positive",
    "question_ids",
    "questions",
    "relation",
    "scores",
    "seed",
    "steps",
    "stop_words",
    "tasks",
    "thresholds",
    "tolerance",
}
#: Arguments whose value is the example's own.
FIXED = ("judge", "model")
SIDES = ("predictions", "references")
#: Characters of one field.
LONGEST = 200_000


class InputError(ValueError):
    """What was typed into the page cannot be computed."""


def page(folder: Path) -> Any:
    """The page of the metric in a folder, as gradio's blocks."""
    import gradio as gr

    card = read_card(folder)
    examples = card.examples
    first = fields(examples[0])
    both = "references" in examples[0].inputs
    title = str(card.header["title"])
    names = [f"Example {number}" for number in range(1, len(examples) + 1)]

    def fill(name: str) -> list[str]:
        return fields(examples[names.index(name)])

    def compute(name: str, *texts: str) -> tuple[str, Any]:
        try:
            found = computed(card, examples[names.index(name)], *texts)
        except (ValueError, TypeError, KeyError, OSError, ImportError) as error:
            words = error.args[0] if isinstance(error, KeyError) else error
            return f'<p class="problem" role="alert">{escape(str(words))}</p>', None
        return table(card, found), found

    with gr.Blocks(title=title, analytics_enabled=False) as blocks:
        gr.HTML(
            f'<header class="pe metric"><h1>{escape(title)}</h1>'
            f"<p>{escape(card.header['description'])}</p></header>",
            padding=False,
            apply_default_css=False,
        )
        with gr.Row(equal_height=False):
            with gr.Column():
                chosen = gr.Radio(names, value=names[0], label="Inputs", visible=len(names) > 1)
                boxes = [
                    gr.Textbox(text, label=label, info=info, lines=lines, max_lines=16)
                    for text, label, info, lines in (
                        (first[0], "Predictions", "a JSON list, one entry an item", 5),
                        (first[1], "References", "a JSON list, equally long", 5),
                        (first[2], "Further arguments", "a JSON object", 3),
                    )
                ]
                boxes[1].visible = both
                button = gr.Button("Compute", variant="primary")
            with gr.Column():
                shown = gr.HTML(
                    '<p class="waiting">The values will stand here.</p>',
                    padding=False,
                    apply_default_css=False,
                    elem_classes="pe metric",
                )
                with gr.Accordion("As JSON", open=False):
                    whole = gr.JSON(show_label=False)
        with gr.Accordion("The card", open=True):
            # The page has the card's title already.
            gr.Markdown(re.sub(r"^# .*\n", "", card.body), elem_classes="card")
        button.click(compute, [chosen, *boxes], [shown, whole], api_name="compute")
        chosen.change(fill, chosen, boxes, api_visibility="private")
    return blocks


def options() -> dict[str, Any]:
    """Arguments of `launch` and `mount_gradio_app` for the page."""
    return {**look.options("metric.css"), "footer_links": ["api"]}


def launch(folder: Path, **arguments: Any) -> Any:
    """Serve the page of the metric in a folder."""
    return page(folder).launch(**{**options(), **arguments})


def fields(example: Example) -> list[str]:
    """The example as the form has it: predictions, references, further arguments, as JSON."""
    further = {
        name: value
        for name, value in example.inputs.items()
        if name not in SIDES and name not in FIXED
    }
    sides = [_lines(example.inputs[side]) if side in example.inputs else "" for side in SIDES]
    return [*sides, json.dumps(further, ensure_ascii=False) if further else ""]


def _lines(entries: list[Any]) -> str:
    """A list as JSON, an entry a line.

    >>> print(_lines(["a", 1]))
    ["a",
     1]
    """
    return "[" + ",\n ".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "]"


def computed(
    card: MetricCard, example: Example, predictions: str, references: str, further: str
) -> dict[str, Any]:
    """The metric's values for what the form holds, as JSON can hold them.

    Raises InputError for a field that is no JSON of its kind, or an argument that is not taken;
    ValueError as the metric does.
    """
    inputs = {"predictions": _json("Predictions", predictions, list)}
    if references.strip():
        inputs["references"] = _json("References", references, list)
    arguments = _json("Further arguments", further or "{}", dict)
    for name in arguments:
        if name not in TAKEN:
            raise InputError(
                f"{name}: not taken on this page; load the metric at home for it. Taken are "
                + ", ".join(sorted(TAKEN))
            )
    fixed = {name: example.inputs[name] for name in FIXED if name in example.inputs}
    found = card.load(example.config).compute(**inputs, **arguments, **fixed)
    plain: dict[str, Any] = json.loads(json.dumps(found, default=_plain))
    return plain


def _json(field: str, text: str, kind: type[list[Any]] | type[dict[str, Any]]) -> Any:
    if len(text) > LONGEST:
        raise InputError(f"{field}: {len(text):,} characters; at most {LONGEST:,} are taken here")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InputError(f"{field}: no JSON: {error}") from None
    if not isinstance(value, kind):
        wanted = "a list, [...]" if kind is list else "an object, {...}"
        raise InputError(f"{field}: {wanted} is needed")
    return value


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own, anything else by its name."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def table(card: MetricCard, found: Mapping[str, Any]) -> str:
    """The numbers as an HTML table: name, what the card says it means, value and interval."""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code>'
        f"<small>{escape(_words(card.meaning(name)))}</small></th>"
        f'<td class="number">{escape(value)}<small>{escape(ends)}</small></td></tr>'
        for name, value, ends in _numbers(found)
    )
    return (
        '<table><thead><tr><th scope="col">Output</th>'
        f'<th scope="col" class="number">Value</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _numbers(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    intervals = found.get("intervals") or {}
    for name, value in found.items():
        if isinstance(value, str | bool | int | float) or value is None:
            ends = intervals.get(name) or ()
            yield name, _text(value), "–".join(map(_text, ends))


def _text(value: Any) -> str:
    """A value as it is read: at most four decimals.

    >>> [_text(value) for value in (0.39583, 75.0, 3, True, None, "B")]
    ['0.3958', '75', '3', 'yes', '–', 'B']
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _words(markdown: str) -> str:
    """A cell of a Markdown table without its marks."""
    return markdown.replace("`", "").replace("\\|", "|").replace("*", "")
