"""Comparing two runs: against loops written out, what is refused, and what always holds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from procedural_evals.dyad.vocabulary import MODES
from procedural_evals.harness.comparison import compare, corrected
from procedural_evals.harness.conditions import NotComparableError
from procedural_evals.harness.dyad_scores import decoded_steps
from procedural_evals.scores.segmentation import segment_scores

from .comparison_records import KINDS, choice, grounded, judged, modes, steps

DRAWS = 60


def drawn_clusters(records, seed=0, draws=DRAWS):
    """The clusters of each replicate, from the same random numbers, in a loop."""
    names = list(dict.fromkeys(str(record["cluster"]) for record in records))
    picks = np.random.default_rng(seed).integers(0, len(names), size=(draws, len(names)))
    return [[names[pick] for pick in row] for row in picks]


def assert_is_that_of(line, replicates, point):
    low, high = np.percentile(replicates, [2.5, 97.5])
    below, above = np.mean(np.array(replicates) <= 0), np.mean(np.array(replicates) >= 0)
    n = len(replicates)
    assert line.difference == pytest.approx(point, abs=1e-9)
    assert line.difference == pytest.approx(line.b - line.a, abs=1e-9)
    assert (line.low, line.high) == pytest.approx((low, high), abs=1e-9)
    assert line.p_value == pytest.approx(min(1, 2 * (min(below, above) * n + 1) / (n + 1)))


def line_of(found, measure, group="all"):
    (line,) = [x for x in found.lines if (x.measure, x.group) == (measure, group)]
    return line


# -- against loops --------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "measure"), [("choice", "accuracy"), ("judged", "judge")])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_mean_of_items_is_differenced_as_a_loop_would(kind, measure, seed):
    a, b = KINDS[kind](seed=1), KINDS[kind](seed=2, rate=0.7)
    key = "score" if kind == "choice" else "judge_score"
    found = compare(a, b, draws=DRAWS, seed=seed)
    group, field = ("mate", "category") if kind == "choice" else ("type: past", "groups")
    for name, members in (
        ("all", range(len(a))),
        (group, [n for n in range(len(a)) if a[n][field] in ("mate", {"type": "past"})]),
    ):
        chosen = [a[n] for n in members]
        delta = {n: b[n][key] - a[n][key] for n in members}
        replicates = [
            np.mean([delta[n] for c in row for n in members if a[n]["cluster"] == c])
            for row in drawn_clusters(chosen, seed)
        ]
        assert_is_that_of(line_of(found, measure, name), replicates, np.mean(list(delta.values())))


def test_spans_are_differenced_item_by_item():
    a, b = grounded(seed=1), grounded(seed=2)
    found = compare(a, b, draws=DRAWS)

    def iou(record):
        end = record["spans"][0][1]
        return 100 * min(end, 5) / max(end, 5)

    delta = [iou(y) - iou(x) for x, y in zip(a, b, strict=True)]
    replicates = [
        np.mean([delta[n] for c in row for n in range(len(a)) if a[n]["cluster"] == c])
        for row in drawn_clusters(a)
    ]
    assert_is_that_of(line_of(found, "IoU"), replicates, np.mean(delta))
    assert found.headline.measure == "IoU"
    assert {line.measure for line in found.lines} == {"IoU", "IoP", "IoG", "judge"}


def test_macro_f1_is_scored_anew_on_drawn_participants():
    a, b = modes(seed=1), modes(seed=2, rate=0.8)
    found = compare(a, b, draws=DRAWS)

    def score(records):
        gold = [record["gold"] for record in records]
        said = [record["prediction"] or "none" for record in records]
        return 100 * f1_score(gold, said, labels=list(MODES), average="macro", zero_division=0)

    replicates = []
    for row in drawn_clusters(a):
        left, right = (
            [record for c in row for record in side if record["cluster"] == c] for side in (a, b)
        )
        replicates.append(score(right) - score(left))
    assert_is_that_of(line_of(found, "macro-F1"), replicates, score(b) - score(a))
    assert found.headline.measure == "macro-F1"


def test_segments_are_scored_anew_on_drawn_participants():
    a, b = steps(seed=1), steps(seed=2, rate=0.9)
    found = compare(a, b, draws=DRAWS)
    truth = {t.participant: [x or "none" for x in t.labels] for t in decoded_steps(a).tracks}

    def sequence(records, person):
        members = [record for record in records if record["cluster"] == person]
        return ["none" if r["gold"] is None else r["prediction"] for r in members]

    def scores(records, people):
        return segment_scores(
            [sequence(records, person) for person in people],
            [truth[person] for person in people],
            background="none",
        )

    everyone = list(truth)
    rows = drawn_clusters(a)
    for measure, key in (("F1@0.1", "f1@0.1"), ("F1@0.5", "f1@0.5"), ("edit", "edit")):
        replicates = [scores(b, row)[key] - scores(a, row)[key] for row in rows]
        point = scores(b, everyone)[key] - scores(a, everyone)[key]
        assert_is_that_of(line_of(found, measure), replicates, point)
    assert found.headline.measure == "F1@0.1"
    labelled = [record for record in a if record["gold"] is not None]
    assert found.headline.n == len(labelled)
    right = sum(record["prediction"] == record["gold"] for record in labelled)
    assert line_of(found, "MoF").a == pytest.approx(100 * right / len(labelled))


# -- what always holds ----------------------------------------------------------------------------

SEEDS = st.integers(0, 10_000)
KIND = st.sampled_from(sorted(KINDS))


@settings(max_examples=25, deadline=None)
@given(KIND, SEEDS, st.integers(1, 8))
def test_a_run_against_itself_has_no_difference(kind, seed, clusters):
    n = 40 * clusters if kind == "steps" else 30
    records = KINDS[kind](n=n, clusters=clusters, seed=seed)
    found = compare(records, records, draws=20)
    assert found.contrasts == ()
    for line in found.lines:
        assert line.difference == 0
        assert line.a == line.b
        if line.clusters > 1:
            assert (line.low, line.high, line.p_value, line.p_holm) == (0, 0, 1, 1)
        else:
            assert (line.low, line.high, line.p_value) == (None, None, None)
    assert (found.flips.lost, found.flips.gained) == ((), ())


@settings(max_examples=25, deadline=None)
@given(KIND, SEEDS, SEEDS)
def test_turning_the_runs_round_turns_every_sign(kind, first, second):
    a, b = KINDS[kind](seed=first), KINDS[kind](seed=second, rate=0.8)
    there, back = compare(a, b, draws=20), compare(b, a, draws=20)
    for x, y in zip(there.lines, back.lines, strict=True):
        assert (x.measure, x.group, x.n) == (y.measure, y.group, y.n)
        assert (x.a, x.b, x.p_value, x.p_holm) == (y.b, y.a, y.p_value, y.p_holm)
        assert x.difference == pytest.approx(-y.difference, abs=1e-9)
        assert (x.low, x.high) == pytest.approx((-y.high, -y.low), abs=1e-9)
    assert [f.id for f in there.flips.lost] == [f.id for f in back.flips.gained]
    assert there.flips.mcnemar == back.flips.mcnemar


def test_the_interval_covers_the_true_difference():
    """Items of a video share its luck; 95 % intervals over 200 worlds hold the truth in most."""
    rng = np.random.default_rng(0)
    template = choice(n=120, clusters=40)
    covered = 0
    for _ in range(200):
        luck = rng.normal(0, 0.15, 40)
        runs = []
        for rate in (0.4, 0.55):
            chance = np.clip(rate + luck[[int(r["cluster"][1:]) for r in template]], 0.02, 0.98)
            right = rng.random(len(template)) < chance
            runs.append([r | {"score": 100.0 * x} for r, x in zip(template, right, strict=True)])
        line = compare(*runs, draws=200).headline
        covered += line.low <= 15 <= line.high
    assert 0.88 <= covered / 200 <= 0.99


def test_the_order_of_the_records_changes_nothing():
    a, b = choice(seed=1), choice(seed=2)
    assert compare(a[::-1], b).lines == compare(a, b).lines


# -- what is refused ------------------------------------------------------------------------------

REFUSED = [
    (choice, {"revision": "local:questions.jsonl@fedcba"}, "dataset revision"),
    (choice, {"template": "bench/video@fedcba"}, "template"),
    (choice, {"parser": "choices-3"}, "parser"),
    (choice, {"frame_plan": "32 uniform"}, "frame plan"),
    (choice, {"shown": ["visual_prompts"]}, "media shown"),
    (choice, {"view": "C10095_rgb"}, "view"),
    (choice, {"num_options": 5}, "questions"),
    (choice, {"prompt_style": "labels"}, "style of the visual prompts"),
    (judged, {"rubric": "other_rubric"}, "rubric"),
    (judged, {"judges": ["gpt|promqa_ternary@1"]}, "judges"),
    (judged, {"answers": ["another one"]}, "questions"),
    (grounded, {"evidence": [[1.0, 5.0]]}, "questions"),
    (steps, {"decoding": "smoothing=0.5,margin=0.1,dwell=3,pmi=yes"}, "step decoder"),
    (judged, {"context_template": "dyad/response_context@1"}, "template of the context"),
]


@pytest.mark.parametrize(("make", "change", "setting"), REFUSED)
def test_what_makes_a_score_must_be_the_same(make, change, setting):
    a = make(seed=1)
    b = [record | change for record in make(seed=2)]
    with pytest.raises(NotComparableError, match=setting) as refusal:
        compare(a, b)
    assert [contrast.setting for contrast in refusal.value.contrasts] == [setting]
    ((field, value),) = change.items()
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    assert shown in str(refusal.value)
    before = a[0].get(field)
    assert str(before[0] if isinstance(before, list) else before or "none") in str(refusal.value)
    forced = compare(a, b, force=True)
    assert [contrast.setting for contrast in forced.refusals] == [setting]


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"frame_times": [0.0, 0.5]}, "frame times"),
        ({"decoder": "frames-2 av-16"}, "frame decoder"),
        ({"num_samples": 5}, "samples voted over"),
    ],
)
def test_what_belongs_to_the_models_is_a_note(change, setting):
    found = compare(choice(seed=1), [record | change for record in choice(seed=2)])
    assert [contrast.setting for contrast in found.notes] == [setting]
    assert found.refusals == ()


def test_a_models_own_sampling_of_frames_is_a_note():
    own = [
        {key: value for key, value in record.items() if key != "frame_plan"}
        for record in choice(seed=2)
    ]
    found = compare(choice(seed=1), own)
    assert [str(note) for note in found.notes] == ["frame plan: A has 8 uniform, B has none"]


def test_the_encoder_refuses_where_similarities_are_compared():
    values = {"sentence_similarity": 50.0, "bertscore_f1": 80.0}
    a, b = (
        [record | {"encoder": name, "similarity": values} for record in judged(seed=1)]
        for name in ("small", "large")
    )
    assert [c.setting for c in compare(a, b).notes] == ["encoder of similarities"]
    with pytest.raises(NotComparableError, match="A has small, B has large"):
        compare(a, b, similarity=True)
    assert line_of(compare(a, a, similarity=True), "bertscore_f1").a == pytest.approx(80)


def test_a_difference_on_some_items_says_on_how_many():
    b = choice(seed=2)
    b[3] |= {"template": "bench/two@1"}
    b[4] |= {"template": "bench/two@1"}
    b[5] |= {"template": "bench/three@1"}
    with pytest.raises(NotComparableError, match=r"B has bench/two@1 \(2 of 3 items\)"):
        compare(choice(seed=1), b)


# -- which items ----------------------------------------------------------------------------------


def test_items_of_one_run_failed_and_unjudged_items_are_counted_and_left_out():
    a, b = judged(seed=1), judged(seed=2)
    a, b = a[2:], b[:-1]
    a[5] |= {"failure": "no video"}
    b[9] |= {"failure": "no video"}
    b[20] |= {"judge_score": None}
    found = compare(a, b)
    counts = found.counts
    assert (counts.both, counts.only_a, counts.only_b) == (37, 1, 2)
    assert (counts.failed_a, counts.failed_b, counts.compared) == (1, 1, 35)
    assert (counts.unjudged_a, counts.unjudged_b) == (0, 1)
    assert found.headline.n == 34


def test_an_unjudged_item_still_has_its_evidence():
    a, b = grounded(seed=1), grounded(seed=2)
    b[0] |= {"judge_score": None}
    found = compare(a, b)
    assert (line_of(found, "IoU").n, line_of(found, "judge").n) == (40, 39)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([*choice(), choice()[0]], choice(), r"A has 1 ids more than once \(q000\)"),
        (choice(), [], "no item in common: A has 40, such as q000, q001, and B has no items"),
        ([r | {"failure": "no video"} for r in choice()], choice(), r"A failed on 40 \(no video\)"),
        (choice(), [r | {"judge_score": None} for r in judged()], "no measure in common"),
        ([r | {"gold": None} for r in steps()], steps(), "known step"),
    ],
)
def test_what_cannot_be_paired_is_named(a, b, words):
    with pytest.raises(ValueError, match=words):
        compare(a, b, force=True)


def test_different_kinds_share_what_both_have():
    found = compare(grounded(seed=1), judged(seed=2), force=True)
    assert {line.measure for line in found.lines} == {"judge"}
    assert found.refusals[0].setting == "kind of task"


# -- items that changed ---------------------------------------------------------------------------


def test_items_that_flipped_come_with_both_replies():
    a, b = choice(seed=1), choice(seed=2)
    found = compare(a, b).flips
    lost = [x["id"] for x, y in zip(a, b, strict=True) if x["score"] > y["score"]]
    gained = [x["id"] for x, y in zip(a, b, strict=True) if x["score"] < y["score"]]
    assert [flip.id for flip in found.lost] == lost
    assert [flip.id for flip in found.gained] == gained
    assert (found.worse, found.better) == (len(lost), len(gained))
    assert found.both_right + found.both_wrong + found.worse + found.better == 40
    flip = found.lost[0]
    number = int(flip.id[1:])
    assert (flip.answer_a, flip.truth) == (a[number]["gold"], a[number]["gold"])
    assert (flip.answer_b, flip.reply_b) == (b[number]["letter"], f"reply {number}")


def test_graded_items_come_with_the_largest_changes_first():
    found = compare(grounded(seed=1), grounded(seed=2)).flips
    changes = [flip.b - flip.a for flip in found.gained]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] > 0
    assert not found.binary
    assert found.mcnemar is None


# -- families of p-values, imports ----------------------------------------------------------------


def test_headlines_are_one_family_and_the_rest_of_a_task_another():
    one, other = compare(choice(seed=1), choice(seed=2)), compare(modes(seed=1), modes(seed=2))
    found = corrected({"one": one, "other": other})
    raw = sorted([one.headline.p_value, other.headline.p_value])
    holm = sorted([found["one"].headline.p_holm, found["other"].headline.p_holm])
    assert holm == pytest.approx([min(1, 2 * raw[0]), max(min(1, 2 * raw[0]), raw[1])])
    groups = [line for line in found["one"].lines if not line.primary]
    assert [line.p_holm for line in groups] == [x.p_holm for x in one.lines if not x.primary]
    assert min(line.p_holm for line in groups) == pytest.approx(
        min(1, 2 * min(line.p_value for line in groups))
    )


def test_comparing_loads_no_model_and_no_video_library():
    code = (
        "import sys; from procedural_evals.harness import comparison; "
        "from tests.comparison_records import choice, grounded; "
        "comparison.compare(choice(seed=1), choice(seed=2)); "
        "comparison.compare(grounded(seed=1), grounded(seed=2)); "
        "print([m for m in ('torch', 'lmms_eval', 'datasets', 'av', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # comparison_records names DYAD's words, which need neither.
    assert done.stdout.strip() == "[]"
