"""How much of a score needs the video: known shares, unknown variants, and who may be compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from procedural_evals import cli
from procedural_evals.harness.audit import audit
from procedural_evals.harness.audit_chance import MOST_FREQUENT, RANDOM
from procedural_evals.harness.audit_text import audit_lines
from procedural_evals.harness.audit_variants import (
    TaskRun,
    families,
    results_of,
    task_runs,
    words_for,
)
from procedural_evals.harness.records import choice_summary
from procedural_evals.harness.results import load_run

from .comparison_records import LETTERS, choice, grounded, judged, modes, write_run

N = 120


def answered(right, gold=None, shown=("video", "visual_prompts"), template="bench/video@1"):
    """Questions of which exactly these are right; the others name the next letter."""
    records = choice(n=N, clusters=20)
    for number, record in enumerate(records):
        record["gold"] = record["gold"] if gold is None else gold[number]
        wrong = LETTERS[(LETTERS.index(record["gold"]) + 1) % 4]
        record["letter"] = record["gold"] if number in right else wrong
        record["score"] = 100.0 * (number in right)
        record |= {"shown": list(shown), "template": template}
    return records


def task(name, records, model="m"):
    return TaskRun(name, model, f"{name}_results.json", tuple(records))


def audited(*runs, **options):
    (family,) = families(runs, **options)
    return audit(family)


def text_of(found):
    return "\n".join(audit_lines(found))


FULL = task("bench", answered(range(90)))
BLIND = task("bench_blind", answered(range(30, 90), shown=(), template="bench/blind@1"))


# -- known answers --------------------------------------------------------------------------------


def test_the_share_that_remains_without_the_video():
    """75 % right with the video, 50 % without, 25 % by chance: half of what is above remains."""
    (found,), refused = audited(FULL, BLIND)
    assert refused == {}
    assert (found.score, found.floor, found.n) == (75.0, 25.0, N)
    blind = found.findings[0]
    assert (blind.name, blind.hidden) == ("blind", ("video", "visual_prompts"))
    assert blind.withholds_video
    assert blind.whole.difference == pytest.approx(-25)
    assert blind.remaining.mean == pytest.approx(0.5)
    assert 0.3 < blind.remaining.low < 0.5 < blind.remaining.high < 0.7
    assert (blind.overlap.scored, blind.overlap.kept) == (90, 60)
    assert blind.overlap.expected == pytest.approx(90 * 0.5)
    text = text_of(found)
    assert "blind (without the video and the visual prompts): The score falls by 25.00" in text
    ends = f"[{100 * blind.remaining.low:.0f}, {100 * blind.remaining.high:.0f}]"
    assert f"50 % {ends} of what the full run scores above a random letter remains: so much" in text
    assert "60 of 90 (67 %) of the full run's right answers are right here too; 45.0 would" in text


def test_the_computed_rows_are_the_chance_rows_of_the_scores():
    (found,), _ = audited(FULL, BLIND)
    summary = choice_summary(list(FULL.records))
    rows = {finding.name: finding for finding in found.findings if finding.task is None}
    assert rows[RANDOM].whole.b == pytest.approx(summary.random_chance)
    assert rows[MOST_FREQUENT].whole.b == pytest.approx(summary.most_frequent_chance)
    for line in rows[MOST_FREQUENT].lines[1:]:
        assert line.b == pytest.approx(summary.tasks[line.group].most_frequent_chance)
        assert line.a == pytest.approx(summary.tasks[line.group].accuracy)


def test_groups_show_where_the_video_counts():
    """Only `track` (odd numbers) needs the video here."""
    blind = [n for n in range(90) if n % 2 == 0]
    (found,), _ = audited(FULL, task("bench_blind", answered(blind, shown=())))
    by_group = {line.group: line for line in found.findings[0].lines}
    assert by_group["mate"].difference == 0
    assert by_group["track"].difference == pytest.approx(-75)
    (row,) = [x for x in text_of(found).split("\n") if x.split()[:1] == ["track"]]
    assert row.split()[1:3] == ["75.00", "-75.00*"]


def test_letters_that_stay_although_the_right_ones_moved_are_a_habit():
    gold = [LETTERS[n * 5 % 3] for n in range(N)]
    moved = answered(range(90), gold=gold)
    stubborn = [dict(record) for record in moved]
    for record, full in zip(stubborn, FULL.records, strict=True):
        record["letter"] = full["letter"]
        record["score"] = 100.0 * (record["letter"] == record["gold"])
    (found,), _ = audited(
        FULL, task("bench_shuffled", stubborn), task("bench_shuffled_again", moved)
    )
    habit, honest = found.findings[:2]
    assert habit.letters.moved
    changed = sum(a["gold"] != b for a, b in zip(FULL.records, gold, strict=True))
    assert 0 < changed < N
    assert (habit.letters.same, habit.letters.items) == (changed, changed)
    assert habit.letters.kappa.mean == 1.0
    assert "a habit of letters, beyond chance" in text_of(found)
    assert honest.letters.kappa.high < 0
    assert "no habit of letters beyond chance" in text_of(found)
    # Three dealings: the full run and both variants.
    right = [
        [record["score"] == 100 for record in records]
        for records in (FULL.records, stubborn, moved)
    ]
    strict = 100 * sum(map(all, zip(*right, strict=True))) / N
    assert found.consistency.strict == pytest.approx(strict)
    assert f"Right in all 3 dealings of the options: {strict:.2f} % of {N} questions" in (
        text_of(found)
    )


def test_each_order_of_the_options_is_a_variant_of_its_own():
    """A task that asks every question three times; the ids of one question count on."""
    runs = [answered(range(90)), answered(range(60)), answered(range(30, 90))]
    records = [
        record
        | {"id": f"{record['id']}/{9 + order}", "question_id": record["id"]}
        | ({"gold": "ABCD"[-1 - "ABCD".index(record["gold"])], "letter": "A"} if order else {})
        for order, run in enumerate(runs)
        for record in run
    ]
    full = [record | {"id": f"{record['id']}/9"} for record in FULL.records]
    (found,), refused = audited(task("bench", full), task("bench_orders", records))
    assert refused == {}
    variants = [finding for finding in found.findings if finding.task is not None]
    assert [finding.name for finding in variants] == [f"orders order {n}" for n in (1, 2, 3)]
    assert [finding.whole.n for finding in variants] == [N, N, N]
    assert [finding.whole.b for finding in variants] == [75.0, 50.0, 50.0]
    assert [finding.letters.moved for finding in variants] == [False, True, True]
    assert (found.consistency.most, found.consistency.strict) == (3, 100 * 30 / N)


def test_a_run_at_chance_has_nothing_to_share_out():
    (found,), _ = audited(task("bench", answered(range(30))), BLIND)
    assert found.findings[0].remaining is None
    assert "not clearly above a random letter (25.00): there is nothing to share" in text_of(found)


def test_open_answers_are_audited_by_their_judge():
    full = judged(n=N, clusters=20)
    for number, record in enumerate(full):
        record["judge_score"] = 100.0 if number < 80 else 0.0
    text_only = [record | {"template": "bench/text@1", "shown": ["task_graph"]} for record in full]
    for number, record in enumerate(text_only):
        record["judge_score"] = 50.0 if number < 80 else 0.0
    full = [record | {"shown": ["task_graph", "frames"]} for record in full]
    (found,), _ = audited(task("open", full), task("open_text", text_only))
    finding = found.findings[0]
    assert (found.measure, found.floor) == ("judge", 0)
    assert (finding.hidden, finding.withholds_video) == (("frames",), True)
    assert finding.remaining == pytest.approx((0.5, 0.5, 0.5))
    assert (finding.overlap.scored, finding.overlap.kept) == (80, 0)
    assert finding.letters is None
    assert "50 % [50, 50] of the score remains: so much of it needs no video." in text_of(found)


def test_evidence_and_judge_are_audited_apart_where_only_one_is_shared():
    full, blind = grounded(seed=1), judged(seed=2)
    frames = [record | {"template": "bench/frames@1"} for record in grounded(seed=3)]
    found, _ = audited(task("p", full), task("p_blind", blind), task("p_frames", frames))
    assert [(x.measure, [f.name for f in x.findings]) for x in found] == [
        ("judge", ["blind", "frames"]),
        ("IoU", ["frames"]),
    ]


def test_scores_that_are_no_means_of_items_have_differences_alone():
    (found,), _ = audited(task("dyad_mode", modes(seed=1)), task("dyad_mode_blind", modes(seed=2)))
    assert (found.measure, found.interval) == ("macro-F1", None)
    assert found.findings[0].remaining is None
    assert found.findings[0].whole.p_value is not None
    assert "macro-F1 of m" in text_of(found)


def test_p_values_are_corrected_over_all_rows():
    (found,), _ = audited(FULL, BLIND)
    raw = sorted(finding.whole.p_value for finding in found.findings)
    assert min(f.whole.p_holm for f in found.findings) == pytest.approx(min(1, len(raw) * raw[0]))


# -- which tasks belong together ------------------------------------------------------------------


def test_variants_need_no_entry_in_any_list():
    (found,), _ = audited(FULL, task("bench_upside_down", answered(range(90))))
    assert found.findings[0].name == "upside_down"


def test_samples_models_and_benchmarks_are_kept_apart():
    records = answered(range(90))
    runs = [
        task("bench", records),
        task("bench_sample", records),
        task("bench_blind_sample", records),
        task("bench_blind", records, model="another"),
        task("other", judged()),
        task("other_text", judged()),
    ]
    found = families(runs)
    assert [(f.full.task, [v.task for v in f.variants]) for f in found] == [
        ("bench_sample", ["bench_blind_sample"]),
        ("other", ["other_text"]),
    ]
    assert found[0].name_of(runs[2]) == "blind"


def test_another_task_may_be_the_full_one():
    runs = [FULL, BLIND, task("bench_keyframes", answered(range(80)))]
    (family,) = families(runs, full="bench_keyframes")
    assert family.full.task == "bench_keyframes"
    assert [variant.task for variant in family.variants] == ["bench", "bench_blind"]


def test_runs_without_a_variant_are_named():
    with pytest.raises(ValueError, match=r"no task is a variant .*bench of m.*--full TASK"):
        families([FULL])
    with pytest.raises(ValueError, match="no run has the task other; there are bench"):
        families([FULL, BLIND], full="other")


def test_frames_in_the_place_of_a_video_hide_nothing():
    frames = task("bench_frames", answered(range(90), shown=("frames", "visual_prompts")))
    (family,) = families([FULL, frames])
    assert family.hidden_from(frames) == frozenset()


def test_media_in_words():
    assert words_for(["task_graph", "parts_image", "clip"]) == (
        "the video, the picture of the parts and the task graph"
    )


def test_other_judges_are_refused():
    other = [record | {"judges": ["gpt|promqa_ternary@1"]} for record in judged(seed=2)]
    runs = [task("open", judged(seed=1)), task("open_text", other)]
    found, refused = audited(*runs)
    assert found == []
    assert (
        "judges: A has lexical@1|promqa_ternary@1, B has gpt|promqa_ternary@1"
        in (refused["open_text"])
    )
    (family,) = families(runs)
    assert audit(family, force=True)[0][0].findings[0].name == "text"


def test_a_variant_that_failed_leaves_the_others_be():
    failed = [record | {"failure": "no video"} for record in answered(range(90))]
    found, refused = audited(FULL, task("bench_keyframes", failed), BLIND)
    assert [f.name for f in found[0].findings][:1] == ["blind"]
    assert "both: B failed on 120 (no video)" in refused["bench_keyframes"]


def test_items_left_out_are_said():
    part = answered(range(90), shown=())[:100]
    part[0]["failure"] = "no answer"
    (found,), _ = audited(FULL, task("bench_blind", part))
    assert "compared on 99 of 120 items; on 1 this run failed, 20 it lacks" in text_of(found)


def test_notes_call_the_runs_by_their_names():
    seeded = replace(BLIND, settings={"random seed": "2"})
    (found,), _ = audited(replace(FULL, settings={"random seed": "1"}), seeded)
    assert "note: random seed: full has 1, blind has 2" in text_of(found)


# -- the command ----------------------------------------------------------------------------------


def test_the_command_reads_every_run_below_a_folder(tmp_path, capsys):
    """Runs of the parts one after the other, as a researcher may start them."""
    write_run(tmp_path, {"bench": list(FULL.records)}, date="20260101_000000")
    write_run(tmp_path, {"bench_blind": answered(range(5))}, date="20260102_000000")
    write_run(tmp_path, {"bench_blind": list(BLIND.records)}, date="20260103_000000")
    assert len(results_of(tmp_path)) == 3
    out = tmp_path / "audit.json"
    assert cli.main(["audit", str(tmp_path), "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "bench: accuracy of m (size=1)" in shown
    older = tmp_path / "20260102_000000_results.json"
    assert shown.startswith(f"left out, for a later run has it: bench_blind of {older}\n")
    (found,) = json.loads(out.read_text())["audits"]
    assert found["findings"][0]["remaining"][0] == pytest.approx(0.5)
    newest = task_runs(load_run(file) for file in results_of(tmp_path))
    assert {run.task: run.results[-28:-13] for run in newest} == {
        "bench": "20260101_000000",
        "bench_blind": "20260103_000000",
    }


def test_the_command_names_what_it_refused(tmp_path, capsys):
    other = [record | {"judges": ["gpt|promqa_ternary@1"]} for record in judged(seed=2)]
    write_run(tmp_path, {"open": judged(seed=1), "open_text": other})
    assert cli.main(["audit", str(tmp_path)]) == 1
    assert "open_text: not audited: (A: open, B: open_text)" in capsys.readouterr().out
    assert cli.main(["audit", str(tmp_path), "--force"]) == 0


def test_an_empty_folder_is_named(tmp_path, capsys):
    assert cli.main(["audit", str(tmp_path)]) == 2
    assert "did the run finish?" in capsys.readouterr().err
