"""A comparison as text: what differs on top, the table, the items that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from procedural_evals.harness.comparison import FEW_CLUSTERS, Comparison
from procedural_evals.harness.flips import Flip
from procedural_evals.harness.paired_line import Line
from procedural_evals.harness.table_row import Table

_REPLY = 200


def comparison_lines(comparison: Comparison, shown_flips: int) -> Iterator[str]:
    """The whole text, a line at a time; `shown_flips` items of each direction."""
    for contrast in comparison.refusals:
        yield f"  ! differs, compared all the same: {contrast}"
    for contrast in comparison.notes:
        yield f"  note: {contrast}"
    yield f"  {_counts(comparison)}"
    yield table(comparison.lines)
    few = min(line.clusters for line in comparison.lines)
    if few < FEW_CLUSTERS:
        yield (
            f"  + of fewer than {FEW_CLUSTERS} videos, recordings or participants: such an "
            "interval is too narrow, such a p-value too small"
        )
    yield from _flips(comparison, shown_flips)


def _counts(comparison: Comparison) -> str:
    counts = comparison.counts
    text = f"{counts.both} items in both, {counts.only_a} only in A, {counts.only_b} only in B; "
    text += f"{counts.compared} compared"
    for what, a, b in (
        ("failed", counts.failed_a, counts.failed_b),
        ("unjudged", counts.unjudged_a, counts.unjudged_b),
    ):
        if a or b:
            text += f"; {what}: {a} in A, {b} in B"
    return text


def table(lines: Sequence[Line]) -> str:
    """The lines of a comparison, columns aligned."""
    titles = ["", "n", "clusters", "A", "B", "B - A", "95 % interval", "p", "p (Holm)"]
    text = Table(titles, [_cells(line) for line in lines]).text()
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _cells(line: Line) -> list[str]:
    label = line.measure if line.group == "all" else f"  {line.group}"
    if line.group != "all" and line.measure not in ("accuracy", "judge"):
        label = f"  {line.measure}, {line.group}"
    few = "+" if line.clusters < FEW_CLUSTERS else ""
    return [
        label,
        str(line.n),
        f"{line.clusters}{few}",
        f"{line.a:.2f}",
        f"{line.b:.2f}",
        f"{line.difference:+.2f}",
        interval_text(line.low, line.high),
        p_text(line.p_value),
        p_text(line.p_holm),
    ]


def interval_text(low: float | None, high: float | None) -> str:
    """`[-1.25, 3.00]`, or `-` where nothing could be drawn."""
    return "-" if low is None or high is None else f"[{low:+.2f}, {high:+.2f}]"


def p_text(value: float | None) -> str:
    """Three decimals; `-` where nothing could be drawn."""
    if value is None:
        return "-"
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def _flips(comparison: Comparison, shown: int) -> Iterator[str]:
    found = comparison.flips
    if found.binary:
        yield (
            f"  {found.measure}: right in both {found.both_right}, wrong in both "
            f"{found.both_wrong}, right -> wrong {found.worse}, wrong -> right {found.better}; "
            f"McNemar's exact p {p_text(found.mcnemar)} (items taken as independent)"
        )
    else:
        yield (
            f"  {found.measure}: {found.better} items better in B, {found.worse} worse, "
            f"{found.same} the same"
        )
    words = ("right -> wrong", "wrong -> right") if found.binary else ("worse", "better")
    for word, items in zip(words, (found.lost, found.gained), strict=True):
        for item in items[:shown]:
            yield from _flip(word, item, found.binary)
        if shown and len(items) > shown:
            yield f"  ... and {len(items) - shown} more {word}"


def _flip(word: str, item: Flip, binary: bool) -> Iterator[str]:
    change = "" if binary else f" {item.a:.1f} -> {item.b:.1f}"
    yield f"  {word}{change}: {item.id}"
    for side, answer, reply in (
        ("A", item.answer_a, item.reply_a),
        ("B", item.answer_b, item.reply_b),
    ):
        # A letter alone does not say how it was read; a text was read as it stands.
        said = f"{answer} <- {reply}" if binary else answer
        yield f"    {side}: {_short(said)}"
    yield f"    true: {_short(item.truth)}"


def _short(said: str) -> str:
    text = " ".join(said.split())
    return text if len(text) <= _REPLY else f"{text[: _REPLY - 3]}..."
