"""An audit as text: the table, the differences by group, and in plain words what they say."""

from __future__ import annotations

from collections.abc import Iterator

from procedural_evals.harness.audit import Audit
from procedural_evals.harness.audit_findings import Finding, Letters
from procedural_evals.harness.audit_variants import words_for
from procedural_evals.harness.comparison import FEW_CLUSTERS
from procedural_evals.harness.comparison_text import interval_text, p_text
from procedural_evals.harness.table_row import Table
from procedural_evals.scores.uncertainty import Interval

LEVEL = 0.05
# Variants differ in these on purpose.
_BY_DESIGN = ("kind of task", "dataset revision", "template", "questions", "media shown", "parser")


def audit_lines(found: Audit) -> Iterator[str]:
    """The whole text, a line at a time."""
    yield f"{found.task}: {found.measure} of {found.model}\n  {found.results}"
    yield _indented(_table(found))
    groups = list(dict.fromkeys(line.group for f in found.findings for line in f.lines[1:]))
    if groups:
        yield "  Difference to the full run by group (* p (Holm) < 0.05):"
        yield _indented(_group_table(found, groups))
    few = min(line.clusters for finding in found.findings for line in finding.lines)
    if few < FEW_CLUSTERS:
        yield (
            f"  As few as {few} clusters (videos, recordings, participants) stand behind a row: "
            f"below {FEW_CLUSTERS}, intervals are too narrow and p-values too small."
        )
    for finding in found.findings:
        if finding.task is not None:
            yield from _words(found, finding)
    if found.consistency is not None:
        same = found.consistency
        yield (
            f"  Right in all {same.most} dealings of the options: {same.strict:.2f} % of "
            f"{same.n_questions} questions; in at least one: {same.any:.2f} %."
        )


def _indented(table: Table) -> str:
    return "\n".join(f"  {line}" for line in table.text().split("\n"))


def _table(found: Audit) -> Table:
    titles = ["", "n", found.measure, "95 % interval", "to full", "95 % interval"]
    titles += ["p", "p (Holm)", "remains %"]
    full = ["full", str(found.n), f"{found.score:.2f}", _plain(found.interval)]
    lines = [[*full, "", "", "", "", ""]]
    for finding in found.findings:
        line = finding.whole
        lines.append(
            [
                finding.name,
                str(line.n),
                f"{line.b:.2f}",
                _plain(finding.interval),
                f"{line.difference:+.2f}",
                interval_text(line.low, line.high),
                p_text(line.p_value),
                p_text(line.p_holm),
                _share(finding.remaining),
            ]
        )
    return Table(titles, lines)


def _plain(interval: Interval | None) -> str:
    return "-" if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"


def _share(share: Interval | None) -> str:
    return "-" if share is None else f"{100 * share.mean:.0f} {_ends(share)}"


def _ends(share: Interval) -> str:
    return f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _group_table(found: Audit, groups: list[str]) -> Table:
    lines = []
    for group in groups:
        cells = []
        full = "-"
        for finding in found.findings:
            line = next((line for line in finding.lines if line.group == group), None)
            if line is None:
                cells.append("-")
                continue
            full = f"{line.a:.2f}" if full == "-" else full
            sure = line.p_holm is not None and line.p_holm < LEVEL
            cells.append(f"{line.difference:+.2f}{'*' if sure else ' '}")
        lines.append([group, full, *cells])
    return Table(["", "full", *(finding.name for finding in found.findings)], lines)


def _words(found: Audit, finding: Finding) -> Iterator[str]:
    """What the finding says, and what else differs that is not meant to."""
    sentences = [_difference(finding), *_remaining(found, finding), *_overlap(finding)]
    if finding.letters is not None:
        sentences.append(_letters(finding.letters))
    hidden = f" (without {words_for(finding.hidden)})" if finding.hidden else ""
    yield f"  {finding.name}{hidden}: {' '.join(sentences)}"
    if finding.counts is not None and finding.counts.compared < found.n:
        yield (
            f"    note: compared on {finding.counts.compared} of {found.n} items; on "
            f"{finding.counts.failed_b} this run failed, {finding.counts.only_a} it lacks"
        )
    for contrast in finding.contrasts:
        if contrast.setting not in _BY_DESIGN and "frame" not in contrast.setting:
            yield f"    note: {contrast.text('full', finding.name)}"


def _difference(finding: Finding) -> str:
    line = finding.whole
    if line.p_holm is None:
        return f"{line.difference:+.2f}; one cluster alone says nothing about chance."
    if line.p_holm < LEVEL:
        return f"The score {'falls' if line.difference < 0 else 'rises'} by " + (
            f"{abs(line.difference):.2f}, more than chance explains."
        )
    return f"A difference of {line.difference:+.2f} may be chance (p (Holm) {line.p_holm:.3f})."


def _remaining(found: Audit, finding: Finding) -> Iterator[str]:
    share = finding.remaining
    above = "of what the full run scores above a random letter" if found.floor else "of the score"
    if share is None:
        if finding.overlap is not None:
            yield (
                f"The full run ({finding.whole.a:.2f}) is not clearly above "
                f"{'a random letter' if found.floor else '0'}"
                f"{f' ({found.floor:.2f})' if found.floor else ''}: there is nothing to share out."
            )
        return
    yield f"{100 * share.mean:.0f} % {_ends(share)} {above} remains" + (
        ": so much of it needs no video." if finding.withholds_video else "."
    )


def _overlap(finding: Finding) -> Iterator[str]:
    overlap = finding.overlap
    if overlap is None or not overlap.scored:
        return
    share = f"{overlap.kept} of {overlap.scored} ({100 * overlap.kept / overlap.scored:.0f} %)"
    if overlap.expected is None:
        yield f"{share} of the answers that earn anything earn at least as much here."
    else:
        yield (
            f"{share} of the full run's right answers are right here too; {overlap.expected:.1f} "
            "would be if the two were unrelated."
        )


def _letters(letters: Letters) -> str:
    kappa = f"kappa {letters.kappa.mean:.2f} [{letters.kappa.low:.2f}, {letters.kappa.high:.2f}]"
    if not letters.moved:
        return f"The letter is the same on {letters.same} of {letters.items} ({kappa})."
    text = f"Where the right letter moved, {letters.same} of {letters.items} letters stay ({kappa})"
    if letters.kappa.low > 0:
        return f"{text}: a habit of letters, beyond chance."
    return f"{text}: no habit of letters beyond chance."
