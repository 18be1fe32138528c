"""Every measure of a kind of record, of two runs on the same items.

Scores that are means of items are differenced item by item. DYAD's steps and modes, whose scores
are not, are in `paired_dyad`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from procedural_evals.harness.paired_line import ALL, Floats, Line, Measured, line_of, numbers
from procedural_evals.harness.pairing import Pairs
from procedural_evals.harness.records import Record, score_of
from procedural_evals.scores.grounding import grounded_iou
from procedural_evals.scores.uncertainty import DRAWS, paired_differences


def measured(pairs: Pairs, draws: int = DRAWS, seed: int = 0) -> Measured:
    """All measures of the pairs' kind.

    Records of different kinds are compared by the measures that both have. ValueError where there
    is none, or nothing that both could be scored on.
    """
    kinds = {record["kind"] for record in (*pairs.a, *pairs.b)}
    if kinds == {"steps"} or kinds == {"mode"}:
        # What decodes videos comes with it; other records need none of that.
        from procedural_evals.harness import paired_dyad

        measure = paired_dyad.step_measures if kinds == {"steps"} else paired_dyad.mode_measures
        return measure(pairs, draws, seed)
    return _means(pairs, draws, seed)


def item_values(records: Sequence[Record]) -> dict[str, Floats]:
    """Each measure of each record, float64 [n], NaN where a record has none; headline first."""
    found: dict[str, Floats] = {}
    if all(record["kind"] == "choice" for record in records):
        found["accuracy"] = np.array([score_of(record) for record in records])
    if all(record["kind"] == "grounded" for record in records):
        spans = grounded_iou([r["spans"] for r in records], [r["evidence"] for r in records])
        found |= {"IoU": 100 * spans.iou, "IoP": 100 * spans.iop, "IoG": 100 * spans.iog}
    if all("rubric" in record for record in records):
        found["judge"] = numbers([record.get("judge_score") for record in records])
        found |= _parts(records, "grades", "grade ", least=2)
        found |= _parts(records, "similarity", "", least=1)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def _parts(records: Sequence[Record], field: str, prefix: str, least: int) -> dict[str, Floats]:
    """The numbers that the records hold in a mapping, where it has at least that many."""
    names = dict.fromkeys(name for record in records for name in record.get(field) or ())
    if len(names) < least:
        return {}
    return {
        f"{prefix}{name}": numbers([(record.get(field) or {}).get(name) for record in records])
        for name in names
    }


def groups_of(records: Sequence[Record]) -> dict[str, list[int]]:
    """Numbers of the records in each group: a question's category, or its groupings' values.

    A group that holds all of them is left out.
    """
    found: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        labels = [f"{name}: {value}" for name, value in record.get("groups", {}).items()]
        for label in [record["category"]] if "category" in record else labels:
            found.setdefault(str(label), []).append(number)
    return {
        label: members for label, members in sorted(found.items()) if len(members) < len(records)
    }


def _means(pairs: Pairs, draws: int, seed: int) -> Measured:
    left, right = item_values(pairs.a), item_values(pairs.b)
    names = [name for name in left if name in right]
    if not names:
        raise ValueError(
            f"A has {_names(left)} and B has {_names(right)}: no measure in common. Answers that "
            "no judge has judged can be judged now: --judge NAME"
        )
    lines = [
        line
        for group, members in {ALL: list(range(len(pairs.a))), **groups_of(pairs.a)}.items()
        for line in _group_lines(pairs, group, members, left, right, names, draws, seed)
    ]
    lines.sort(key=lambda line: names.index(line.measure))
    first = names[0]
    if not any(line.primary for line in lines):
        raise ValueError(f"{first}: no item has a score on both sides")
    answers_a, answers_b = (list(map(_answer, side)) for side in (pairs.a, pairs.b))
    return Measured(lines, first, left[first], right[first], answers_a, answers_b)


def _names(values: dict[str, Floats]) -> str:
    return ", ".join(values) or "no score"


def _group_lines(
    pairs: Pairs,
    group: str,
    members: list[int],
    left: dict[str, Floats],
    right: dict[str, Floats],
    names: list[str],
    draws: int,
    seed: int,
) -> list[Line]:
    """A line for each measure; those that the same items have are drawn together."""
    by_items: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        if group == ALL or not name.startswith("grade "):
            there = ~np.isnan(left[name][members]) & ~np.isnan(right[name][members])
            scored = tuple(n for n, kept in zip(members, there.tolist(), strict=True) if kept)
            by_items.setdefault(scored, []).append(name)
    lines = []
    for scored, measures in by_items.items():
        if not scored:
            continue
        rows = list(scored)
        a = np.stack([left[name][rows] for name in measures], axis=1)
        b = np.stack([right[name][rows] for name in measures], axis=1)
        clusters = [str(pairs.a[n]["cluster"]) for n in rows]
        for n, found in enumerate(paired_differences(b, a, clusters, draws, seed)):
            means = float(a[:, n].mean()), float(b[:, n].mean())
            headline = group == ALL and measures[n] == names[0]
            lines.append(line_of(measures[n], group, *means, found, clusters, headline))
    return lines


def _answer(record: Record) -> str:
    """What the record's run answered: a letter, a label or a text."""
    if record["kind"] == "choice":
        return record["letter"] or f"no letter ({record['reason']})"
    answer = str(record["prediction"])
    return answer if "spans" not in record else f"{answer} {record['spans']}"
