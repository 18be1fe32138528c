"""One line of a score table."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One line of a score table; `score`, `low` and `high` in the scale the heading names."""

    label: str
    n: int
    score: float
    low: float
    high: float
    extra: dict[str, float | None] = field(default_factory=dict)
