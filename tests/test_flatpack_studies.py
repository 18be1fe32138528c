"""Flat-Pack Bench's studies: votes over samples, orders of the options, prompts in the video."""

import json
import math
from itertools import product
from pathlib import Path

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from procedural_evals import contact_sheet, prompted_video, video
from procedural_evals.harness import choice_aggregate, records, shown, summaries
from procedural_evals.harness.plugin import task_names
from procedural_evals.harness.policies import policies_for
from procedural_evals.option_orders import LETTERS, option_orders, reordered, speaks_of_others
from procedural_evals.scores.choice_accuracy import shuffle_agreement
from procedural_evals.scores.choice_orders import order_scores
from procedural_evals.scores.voting import majority_vote

from . import lmms
from .judge_server import JudgeServer
from .test_prompt_snapshots import task_config

STUDIES = sorted(task_config("flatpack_bench_studies_sample")["task"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def sample(cache):
    return datasets.load_dataset("flatpack-bench", "sample", split="test", cache_dir=cache)


@pytest.fixture(scope="module")
def ordered(cache):
    return datasets.load_dataset(
        "flatpack-bench", "sample", split="test", orders=5, cache_dir=cache
    ).remove_columns("visual_prompts")


# ---- orders of the options ----

texts = st.sampled_from(["Part 1", "Part 2", "Part 3", "Part 4", "Part 5"])
joint = st.sampled_from(
    ["None of the options are correct", "Both Option A and Option C are correct"]
)


@given(st.lists(texts, min_size=1, max_size=5, unique=True), st.lists(joint, max_size=1), st.text())
def test_orders_are_different_start_with_the_given_one_and_keep_the_last_words(first, last, seed):
    options = first + last
    orders = option_orders(options, 5, seed)
    assert orders[0] == tuple(range(len(options)))
    assert len(set(orders)) == len(orders) == min(5, math.factorial(len(first)))
    for order in orders:
        assert sorted(order) == list(range(len(options)))
        assert all(order[n] == n for n, text in enumerate(options) if speaks_of_others(text))
    assert orders == option_orders(options, 5, seed)


@given(st.permutations([0, 1, 2]))
def test_an_option_that_names_letters_goes_on_naming_the_same_options(drawn):
    options = ["Part 1", "Part 2", "Part 3", "Both Option C and Option A are correct"]
    found = reordered(options, (*drawn, 3))
    named = [found["ABC".index(letter)] for letter in (found[3][12], found[3][25])]
    assert named == ["Part 3", "Part 1"]


def test_a_question_keeps_its_answer_in_every_order(sample, ordered):
    published = {row["id"]: row for row in sample.remove_columns("visual_prompts")}
    assert len(set(ordered["id"])) == len(ordered) > 4 * len(published)
    for row in ordered:
        stem, _, number = row["id"].rpartition("/")
        first = published[f"{stem}/0"]
        assert (number == "0") == (row["option_order"] == sorted(row["option_order"]))
        assert row["qid"] == first["qid"]
        assert row["option_order"][row["answer"]] == first["answer"]
        assert LETTERS[row["answer"]] == row["answer_letter"]
        moved = [first["options"][place] for place in row["option_order"]]
        assert all(
            speaks_of_others(a) or a == b for a, b in zip(row["options"], moved, strict=True)
        )
    assert len({row["answer_letter"] for row in ordered}) == 4


def test_no_order_at_all_is_refused(tmp_path):
    with pytest.raises(Exception, match="orders: 0") as error:
        datasets.load_dataset(
            "flatpack-bench", "sample", split="test", orders=0, cache_dir=str(tmp_path)
        )
    assert "at least 1" in f"{error.value} {error.value.__cause__}"


def test_the_real_questions_come_in_five_orders_where_there_are_so_many(shared, cache):
    folder = str(shared / "data/flat-pack-bench")
    rows = datasets.load_dataset(
        "flatpack-bench", data_dir=folder, cache_dir=cache, split="test", orders=5
    )
    assert len(set(rows["qid"])) == 602
    assert len(set(rows["id"])) == len(rows) == 568 * 5 + 34 * 2
    assert set(rows["video"]) == {None}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=20))
def test_scores_over_orders_are_the_metrics_with_intervals(answers):
    questions, right = zip(*answers, strict=True)
    agreement = vars(shuffle_agreement(questions, right))
    found = order_scores(questions, right, draws=50)
    for rule, score in found.items():
        assert score.interval.mean == pytest.approx(agreement[rule])
        assert score.interval.low <= score.interval.mean <= score.interval.high
        assert score.n == agreement["n_questions"]


@pytest.mark.parametrize(("orders", "options"), [(1, 4), (2, 2), (3, 4), (5, 3)])
def test_the_chance_of_a_rule_is_what_all_ways_of_guessing_give(orders, options):
    found = order_scores(["q"] * orders, [0] * orders, num_options=[options] * orders, draws=5)
    hits = [sum(way) for way in product([1] + [0] * (options - 1), repeat=orders)]
    passed = {
        "strict": [h == orders for h in hits],
        "majority": [2 * h > orders for h in hits],
        "any": [h > 0 for h in hits],
    }
    for rule, ways in passed.items():
        assert found[rule].random_chance == pytest.approx(100 * np.mean(ways))


def test_the_table_of_orders_says_strict_majority_and_any(ordered):
    process = task_config("flatpack_bench_orders_sample")["process_results"]
    given = []
    for row in ordered:
        first = row["option_order"] == sorted(row["option_order"])
        letter = row["answer_letter"] if first else "no letter"
        given.append(process(row, [json.dumps({"answer": letter})])["accuracy"])
    rows = {row.label: row for row in summaries.rows(given)}
    assert rows["any"].score == 100
    assert rows["strict"].score == rows["majority"].score == 0
    assert rows["strict"].n == rows["any: mate"].n + rows["any: track"].n + 39 == 72
    assert choice_aggregate.strict(given) == 0
    assert choice_aggregate.any_order(given) == 100
    assert rows["all"].n == len(ordered)


# ---- votes ----


@given(st.lists(st.sampled_from("ABC") | st.none(), min_size=1, max_size=9))
def test_a_vote_counts_every_sample_and_ties_go_to_the_earliest(letters):
    vote = majority_vote(letters)
    named = [letter for letter in letters if letter]
    assert sum(vote.counts.values()) == len(named)
    assert vote.samples == len(letters)
    if not named:
        assert vote.winner is None
        return
    most = max(map(named.count, named))
    assert vote.winner == next(letter for letter in named if named.count(letter) == most)
    assert vote.agreement == pytest.approx(100 * most / len(letters))


def voted(row, *replies):
    process = task_config("flatpack_bench_self_consistency_sample")["process_results"]
    return process(row, [list(replies)])


def answer(letter):
    return f'First I look at part A of the table.\n{{"answer": "{letter}"}}'


def test_the_commonest_answer_counts_and_all_samples_are_kept(sample):
    row = next(row for row in sample if row["answer_letter"] == "B")
    whole = voted(row, answer("A"), answer("B"), "I cannot say.", answer("B"), answer("C"))
    record = whole["accuracy"]
    assert (record["letter"], record["score"]) == ("B", 100)
    assert record["votes"] == {"B": 2, "A": 1, "C": 1}
    assert (record["num_samples"], record["agreement"]) == (5, 40)
    assert [each["letter"] for each in record["samples"]] == ["A", "B", None, "B", "C"]
    assert record["reply"] == answer("B")
    assert "samples" not in whole["vote_agreement"]
    assert choice_aggregate.single_sample_accuracy(list(whole.values())[8:9]) == 40
    table = {line.label: line for line in summaries.rows([record])}
    assert table["all"].score == 100
    assert table["all"].extra["agreement %"] == 40
    assert table["one sample"].score == 40


def test_samples_without_a_letter_make_an_item_that_was_not_read(sample):
    record = voted(sample[0], "Hm.", "The parts move")["accuracy"]
    assert (record["letter"], record["score"], record["votes"]) == (None, 0, {})
    assert record["reason"]


@pytest.mark.parametrize(
    "replies", [[answer("A"), "[LMMS_EVAL_REQUEST_FAILED after 3 retries] time-out"], [None], []]
)
def test_a_failed_sample_makes_a_failed_item(sample, replies):
    for record in voted(sample[0], *replies).values():
        assert record["failure"]
        assert "letter" not in record
    if len(replies) == 2:
        assert record["failure"].startswith("sample 2 of 2: after 3 retries")


@pytest.mark.parametrize("task", ["cot", "self_consistency"])
def test_a_chain_of_thought_that_breaks_off_is_no_answer(sample, task):
    process = task_config(f"flatpack_bench_{task}_sample")["process_results"]
    cut = "Step 1: the seat is placed. Option A says that part 2 is attached to"
    record = process(sample[0], [cut])["accuracy"]
    assert (record["letter"], record["reason"]) == (None, "no explicit answer")
    assert record["parser"].endswith(" explicit")
    whole = f'{cut}\nThe answer is A. No, it is this one:\n{{"answer": "C"}}'
    assert process(sample[0], [whole])["accuracy"]["letter"] == "C"


# ---- prompts inside the video ----

PLAN = prompted_video.Plan("concat", 12, "uniform", (640, 480))


def difference(a, b):
    return np.abs(np.asarray(a, int) - np.asarray(b, int)).mean()


def test_a_concat_shows_the_prompts_first_and_then_the_film(sample, tmp_path):
    row = next(row for row in sample if len(row["frame_indices"]) == 2)
    path, prompts = row["video"]["path"], row["visual_prompts"]
    file = prompted_video.prompted_video(Path(path), prompts, PLAN, tmp_path)
    frames, _ = video.sample_frames(file, count=99)
    assert len(frames) == 12
    assert difference(frames[0], prompts[0]) < 4
    assert difference(frames[1], prompts[1]) < 4
    film, _ = video.sample_frames(path, count=10, size=(640, 480))
    assert max(map(difference, frames[2:], film)) < 4
    info = video.probe(file)
    assert info.fps == pytest.approx(10 / video.probe(path).duration, rel=1e-3)
    made = file.stat().st_mtime_ns
    again = prompted_video.prompted_video(Path(path), prompts, PLAN, tmp_path)
    assert (again, again.stat().st_mtime_ns) == (file, made)
    other = prompted_video.prompted_video(Path(path), prompts[::-1], PLAN, tmp_path)
    assert other != file


def test_a_collage_shows_the_prompts_on_the_left_of_every_frame(sample):
    row = next(row for row in sample if len(row["frame_indices"]) == 2)
    plan = prompted_video.Plan("collage", 4, "uniform", (640, 480))
    frames, times = prompted_video.pictures(row["video"]["path"], row["visual_prompts"], plan)
    film = video.sample_frames(row["video"]["path"], times=times, size=(640, 480)).frames
    assert len(frames) == len(times) == 4
    for page, shot in zip(frames, film, strict=True):
        assert page.shape == (500, 1960, 3)
        assert (page[10:490, 10:650] == np.asarray(row["visual_prompts"][0])).all()
        assert (page[10:490, 660:1300] == np.asarray(row["visual_prompts"][1])).all()
        assert (page[10:490, 1310:1950] == shot).all()
        assert not page[:, 650:660].any()


def test_a_plan_without_room_for_the_film_is_refused(sample):
    row = next(row for row in sample if len(row["frame_indices"]) == 2)
    plan = prompted_video.Plan("concat", 2, "uniform", (640, 480))
    with pytest.raises(ValueError, match="no room"):
        prompted_video.pictures(row["video"]["path"], row["visual_prompts"], plan)


@pytest.mark.parametrize(("taken", "fails"), [(None, False), (32, False), (8, True)])
def test_a_model_that_left_out_a_prompt_has_not_answered(
    sample, taken, fails, tmp_path, monkeypatch
):
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path))
    row = next(row for row in sample if len(row["frame_indices"]) == 2)
    config = task_config("flatpack_bench_concat_sample")
    (film, _) = config["doc_to_messages"](row)[0]["content"]
    times = video.frame_times(film["url"])
    if taken:
        kept = np.linspace(0, len(times) - 1, taken).round().astype(int)
        shown.note_frames(row["id"], times[kept].tolist())
    record = config["process_results"](row, [answer("A")])["accuracy"]
    assert bool(record["failure"]) == fails
    if fails:
        assert "--frames 8" in record["failure"]
    assert record["frame_plan"] == "concat 32 uniform 640x480"


def test_prompts_inside_the_video_can_be_shown_as_frames(sample, monkeypatch):
    monkeypatch.setenv("PROCEDURAL_EVALS_VIDEO_AS", "frames")
    row = sample[0]
    content = task_config("flatpack_bench_concat_sample")["doc_to_messages"](row)[0]["content"]
    pictures = [part["url"] for part in content if part["type"] == "image"]
    assert all(isinstance(picture, Image.Image) for picture in pictures)
    assert difference(pictures[0], row["visual_prompts"][0]) == 0
    assert len(pictures) == 32


def test_no_word_of_a_long_caption_is_lost_on_a_contact_sheet():
    font = ImageFont.load_default(size=13)
    question = "Which of these parts is attached to the frame first, " * 5
    lines = contact_sheet.wrapped(f"{'long-id/' * 30}\n{question}", font)
    room = contact_sheet.TILE[0] - 2 * contact_sheet.MARGIN
    assert max(font.getlength(line) for line in lines) <= room
    assert "".join("".join(lines).split()) == "".join(("long-id/" * 30 + question).split())
    assert len(lines) > 5


# ---- whole runs ----


def test_every_study_is_there_for_real_and_simulated_questions():
    assert {name.removesuffix("_sample") for name in STUDIES} <= task_names()
    assert sorted(task_config("flatpack_bench_studies")["task"]) == [
        name.removesuffix("_sample") for name in STUDIES
    ]


@pytest.mark.parametrize("name", STUDIES)
def test_the_oracle_is_right_in_every_study(sample, ordered, name):
    process = task_config(name)["process_results"]
    rows = ordered if "orders" in name else sample.remove_columns("visual_prompts")
    for row in rows.select(range(0, len(rows), 9)):
        assert process(row, [policies_for(name).oracle(row)])["accuracy"]["score"] == 100


@pytest.mark.slow
def test_studies_run_in_lmms_eval(tmp_path):
    media = {"PROCEDURAL_EVALS_CACHE": str(tmp_path / "media")}
    run = lmms.run(
        tmp_path / "out",
        "flatpack_bench_studies_sample",
        *lmms.baseline("random"),
        *("--limit", 30),
        **media,
    )
    assert sorted(run.records) == STUDIES
    for task, found in run.records.items():
        assert len(found) == 30
        numbers = run.results["results"][task]
        assert numbers["accuracy,none"] == pytest.approx(np.mean([r["score"] for r in found]))
    voted = run.records["flatpack_bench_self_consistency_sample"]
    numbers = run.results["results"]["flatpack_bench_self_consistency_sample"]
    assert numbers["single_sample_accuracy,none"] == pytest.approx(
        np.mean([100 * r["votes"].get(r["gold"], 0) / 5 for r in voted])
    )
    assert numbers["vote_agreement,none"] < 90
    numbers = run.results["results"]["flatpack_bench_orders_sample"]
    assert numbers["strict,none"] <= numbers["majority,none"] <= numbers["any,none"]


@pytest.mark.slow
def test_the_samples_of_a_checkpoint_differ(tmp_path):
    from .tiny_vlm import tiny_vlm

    checkpoint = tiny_vlm("qwen2_5_vl", tmp_path / "checkpoint")
    run = lmms.run(
        tmp_path / "out",
        "flatpack_bench_self_consistency_sample",
        *("--model", "procedural_hf"),
        *("--model_args", f"pretrained={checkpoint},max_num_frames=4"),
        *("--gen_kwargs", "max_new_tokens=8", "--limit", 2),
    )
    for record in run.records["flatpack_bench_self_consistency_sample"]:
        said = [sample["reply"] for sample in record["samples"]]
        assert len(said) == record["num_samples"] == 5
        assert len(set(said)) > 1
    config = run.results["configs"]["flatpack_bench_self_consistency_sample"]
    assert config["generation_kwargs"]["temperature"] == 0.7
    assert config["repeats"] == 5


@pytest.mark.slow
def test_a_server_is_asked_as_often_as_there_are_samples(tmp_path):
    letters = iter("ABBCB" * 2)

    def reply(messages):
        return f'Part 3 comes last.\n{{"answer": "{next(letters)}"}}'

    with JudgeServer(reply=reply) as server:
        run = lmms.run(
            tmp_path,
            "flatpack_bench_self_consistency_sample",
            *("--model", "async_openai", "--limit", 1, "--video-as", "frames", "--frames", 2),
            *("--model_args", f"model_version=m,base_url={server.base_url},api_key=k,num_cpus=1"),
        )
    (record,) = run.records["flatpack_bench_self_consistency_sample"]
    assert record["votes"] == {"B": 3, "A": 1, "C": 1}
    assert record["letter"] == "B"
    assert len(server.bodies) == 5
    assert {(body["temperature"], body["max_tokens"]) for body in server.bodies} == {(0.7, 2048)}
    assert records.score_of(record) in (0, 100)
