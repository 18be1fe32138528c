"""Figures of a report as SVG: no script, no fonts of their own, light and dark by the reader.

Each figure styles itself, so that it is the same inside a page and as a file beside Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1c2430}
.soft{fill:#5b6675}.axis{stroke:#c9d0d9}.chance{stroke:#a4561f;stroke-dasharray:3 3}
.run{stroke:#1f5fbf;fill:#1f5fbf}.published{stroke:#5b6675;fill:#fff}
.value{font-variant-numeric:tabular-nums}.truth{fill:#2f7d4f}.said{fill:#1f5fbf}.track{fill:#e8ecf1}
@media(prefers-color-scheme:dark){text{fill:#e6eaf0}.soft{fill:#9aa7b8}.axis{stroke:#3a4452}
.chance{stroke:#e0955c}.run{stroke:#7db0ff;fill:#7db0ff}.published{stroke:#9aa7b8;fill:#12161c}
.truth{fill:#6cc794}.said{fill:#7db0ff}.track{fill:#252c36}}
"""

_WIDTH, _LEFT, _RIGHT, _ROW = 760, 230, 110, 24
_LONGEST = 34
# Okabe and Ito's colours, which people with any colour vision tell apart.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a6fac",
)  # fmt: skip
_NO_LABEL = "#9aa3ad"


@dataclass(frozen=True)
class Whisker:
    """One line of the figure, in [0, 100]; without ends where no interval is known."""

    label: str
    score: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: str = "run"
    """"run" or "published"."""


def _svg(width: int, height: int, title: str, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(title)}">'
        f"<style>{_STYLE}</style><title>{escape(title)}</title>{''.join(body)}</svg>"
    )


def _short(text: str) -> str:
    """A label that fits its column.

    >>> _short("reasoning: needle in a haystack and more")
    'reasoning: needle in a haystack a…'
    """
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def whiskers(
    lines: Sequence[Whisker], heading: str, chance: Mapping[str, float] | None = None
) -> str:
    """Scores as dots with their 95 % intervals on an axis from 0 to 100; chance as dashed lines."""
    height = _ROW * len(lines) + 58
    bottom = height - 38

    def x(score: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(score, 0.0), 100.0) / 100

    body = [
        f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="8" y2="{bottom}"/>'
        f'<text class="soft" x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>'
        for tick in (0, 25, 50, 75, 100)
    ]
    for name, score in (chance or {}).items():
        body.append(
            f'<line class="chance" x1="{x(score):.1f}" x2="{x(score):.1f}" y1="8" y2="{bottom}">'
            f"<title>{escape(name)}: {score:.2f}</title></line>"
        )
    for number, line in enumerate(lines):
        y = 8 + _ROW * number + _ROW // 2
        known = line.low is not None and line.high is not None
        body.append(
            f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(_short(line.label))}'
            f"<title>{escape(line.label)}</title></text>"
        )
        if known:
            body.append(
                f'<line class="{line.kind}" stroke-width="2" stroke-linecap="round" '
                f'x1="{x(line.low or 0):.1f}" x2="{x(line.high or 0):.1f}" y1="{y}" y2="{y}"/>'
            )
        body.append(
            f'<circle class="{line.kind}" stroke-width="2" r="4.5" cx="{x(line.score):.1f}" '
            f'cy="{y}"/><text class="value" x="{_WIDTH - _RIGHT + 14}" y="{y + 4}">'
            f'{line.score:.1f} <tspan class="soft">{escape(line.note)}</tspan></text>'
        )
    caption = "; ".join(
        [heading, *(f"{name} {v:.1f} (dashed)" for name, v in (chance or {}).items())]
    )
    body.append(f'<text class="soft" x="{_LEFT}" y="{height - 4}">{escape(caption)}</text>')
    return _svg(_WIDTH, height, f"{heading} with 95 % intervals", body)


def evidence(
    truth: Sequence[Sequence[float]], said: Sequence[Sequence[float]], duration: float
) -> str:
    """True and given evidence spans, in seconds, one above the other."""
    ends = [end for _, end in (*truth, *said)]
    whole = max([duration, *ends, 1e-3])
    left, width = 70, 560
    body = []
    for row, (name, spans, css) in enumerate((("true", truth, "truth"), ("given", said, "said"))):
        y = 4 + 22 * row
        body.append(
            f'<text class="soft" x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>'
            f'<rect class="track" x="{left}" y="{y}" width="{width}" height="15" rx="3"/>'
        )
        for start, end in spans:
            begin = left + width * max(start, 0) / whole
            body.append(
                f'<rect class="{css}" x="{begin:.1f}" y="{y}" rx="3" height="15" '
                f'width="{max(2.0, width * (end - max(start, 0)) / whole):.1f}">'
                f"<title>{start:.1f} to {end:.1f} s</title></rect>"
            )
    body.append(
        f'<text class="soft" x="{left}" y="62">0 s</text>'
        f'<text class="soft" x="{left + width}" y="62" text-anchor="end">{whole:.1f} s</text>'
    )
    return _svg(left + width + 20, 66, "evidence spans, true and given", body)


def ribbons(
    tracks: Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]], labels: Sequence[str]
) -> str:
    """For each session the true steps over the given ones, a second a cell, with a legend."""
    left, width, row = 70, 660, 40
    columns = 2
    legend = -(-len(labels) // columns) * 20
    height = row * len(tracks) + legend + 14
    colour = dict(zip(labels, COLOURS, strict=False))
    longest = max((len(truth) for truth, _ in tracks.values()), default=1)
    body = []
    for number, (session, pair) in enumerate(tracks.items()):
        y = 4 + row * number
        body.append(f'<text x="{left - 8}" y="{y + 19}" text-anchor="end">{escape(session)}</text>')
        for line, track in enumerate(pair):
            body += _ribbon(track, left, y + 15 * line, width / longest, colour)
    for number, label in enumerate(labels):
        x = left + number % columns * (width // columns)
        y = row * len(tracks) + 10 + number // columns * 20
        body.append(
            f'<rect x="{x}" y="{y}" width="14" height="14" rx="3" fill="{colour[label]}"/>'
            f'<text class="soft" x="{x + 20}" y="{y + 12}">{escape(label)}</text>'
        )
    return _svg(left + width + 20, height, "steps by second: true above, given below", body)


def _ribbon(
    track: Sequence[str | None], left: float, y: float, cell: float, colour: Mapping[str, str]
) -> list[str]:
    """Runs of equal labels as one rectangle each."""
    body = []
    start = 0
    for position in range(1, len(track) + 1):
        if position == len(track) or track[position] != track[start]:
            label = track[start]
            if label is not None:
                body.append(
                    f'<rect x="{left + cell * start:.1f}" y="{y}" height="13" '
                    f'width="{cell * (position - start):.2f}" '
                    f'fill="{colour.get(label, _NO_LABEL)}"><title>{escape(label)}, '
                    f"{start} to {position} s</title></rect>"
                )
            start = position
    return body
