"""The reference policies reply by the row alone: not by order, batch, process or other tasks."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest

from procedural_evals import replies
from procedural_evals.harness.policies import Policies, policies_for, register_policies

LETTERS = "ABCD"
# Correct letters of twelve questions of task 0 and eight of task 1: B leads in 0 and over all,
# D leads in 1.
CORRECT = "BBBBBAACCDDA" + "DDDDACBB"
EVERY = range(len(CORRECT))


def rows(count: int = len(CORRECT)) -> list[dict]:
    return [
        {
            "id": f"q{number}",
            "task": int(number >= 12),
            "options": ["one", "two"] if number == 5 else ["one", "two", "three", "four"],
            "answer": LETTERS.index(letter),
        }
        for number, letter in enumerate(CORRECT[:count])
    ]


@pytest.fixture(scope="module")
def baseline():
    from procedural_evals.harness.baseline import ProceduralBaseline

    def make(data=None, task="flatpack_bench", **arguments):
        model = ProceduralBaseline(**arguments)
        model.task_dict[task] = {"test": rows() if data is None else data}
        return model

    return make


def request(doc_id: int, task: str = "flatpack_bench", kind: str = "chat") -> SimpleNamespace:
    settings = {"max_new_tokens": 8}
    head = ("prompt", None, settings) if kind == "chat" else ("prompt", settings, None)
    return SimpleNamespace(args=(*head, doc_id, task, "test"))


def replied(model, order=EVERY, **options) -> dict[int, str]:
    texts = model.generate_until([request(doc_id, **options) for doc_id in order])
    return dict(zip(order, texts, strict=True))


def letters(texts: dict[int, str]) -> str:
    return "".join(json.loads(texts[number])["answer"] for number in sorted(texts))


@pytest.mark.parametrize("kind", ["chat", "simple"])
def test_the_oracle_gives_the_right_letter(baseline, kind: str) -> None:
    assert letters(replied(baseline(policy="oracle"), kind=kind)) == CORRECT


def test_random_depends_on_seed_and_row_alone(baseline) -> None:
    whole = replied(baseline(policy="random", seed=3))
    backwards = replied(baseline(policy="random", seed=3), order=range(19, -1, -1))
    second_rank = replied(baseline(policy="random", seed=3), order=range(1, 20, 2))
    assert backwards == whole
    assert second_rank == {number: whole[number] for number in range(1, 20, 2)}
    assert replied(baseline(policy="random", seed=4)) != whole


def test_random_draws_every_offered_letter_and_no_other(baseline) -> None:
    data = [{"id": str(n), "options": ["x"] * (3 if n % 2 else 2), "answer": 0} for n in range(600)]
    texts = replied(baseline(data, policy="random"), order=range(600))
    drawn = {
        parity: Counter(letters({n: texts[n] for n in range(parity, 600, 2)})) for parity in (0, 1)
    }
    assert set(drawn[0]) == {"A", "B"}
    assert set(drawn[1]) == {"A", "B", "C"}
    assert all(abs(count - 150) < 40 for count in drawn[0].values())
    assert all(abs(count - 100) < 35 for count in drawn[1].values())


def test_most_frequent_is_counted_over_the_whole_split(baseline) -> None:
    one = replied(baseline(policy="most_frequent"), order=[13])
    assert letters(one) == "B"
    by_task = replied(baseline(policy="most_frequent", scope="task"))
    assert letters(by_task) == "B" * 12 + "D" * 8


def test_equally_frequent_letters_give_the_first_of_the_alphabet(baseline) -> None:
    data = [{"id": n, "options": ["x"] * 4, "answer": answer} for n, answer in enumerate((3, 1))]
    assert letters(replied(baseline(data, policy="most_frequent"), order=[0, 1])) == "BB"


def test_real_questions_give_the_published_chance_rows(baseline, shared: Path) -> None:
    """26.74 for the commonest letter of all; 27.74, 30.10, 26.46 and 36.78 by kind of question."""
    lines = (shared / "data/flat-pack-bench/questions/questions.jsonl").read_text().splitlines()
    data = [
        {
            "id": row["qid_flat"],
            "task": row["question_category"],
            "options": list(row["question"]["options"]),
            "answer": row["question"]["correct_option"]["idx"],
        }
        for row in map(json.loads, lines)
    ]
    everything = range(len(data))
    correct = "".join(LETTERS[row["answer"]] for row in data)

    def right(chosen: str, kind: str | None = None) -> float:
        pairs = [
            (got, want)
            for got, want, row in zip(chosen, correct, data, strict=True)
            if kind in (None, row["task"])
        ]
        return round(100 * sum(got == want for got, want in pairs) / len(pairs), 2)

    assert (
        right(letters(replied(baseline(data, policy="most_frequent"), order=everything))) == 26.74
    )
    by_task = letters(
        replied(baseline(data, policy="most_frequent", scope="task"), order=everything)
    )
    found = {kind: right(by_task, kind) for kind in {row["task"] for row in data}}
    assert sorted(found.values()) == [26.46, 27.74, 30.10, 36.78]


def test_replies_come_from_a_file(baseline, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    lines = [
        {"id": "q0", "response": "It is C."},
        {"id": "q1", "response": "A"},
        {"id": "q1", "task": "flatpack_bench", "response": "for this task only"},
        {"id": "q0", "task": "flatpack_bench_blind", "response": "for another task"},
    ]
    file.write_text("\n\n".join(json.dumps(line) for line in lines))
    texts = replied(baseline(policy="file", path=str(file)), order=[0, 1, 2])
    assert texts[0] == "It is C."
    assert texts[1] == "for this task only"
    assert replies.failed_request(texts[2]) == f"LookupError: {file} has no response for id q2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "q0"}', r"line 1: .* is needed"),
        ("q0: A", r"line 1: .* is needed"),
        ("[1]", r"line 1: .* is needed"),
        ('{"id": "q0", "response": 3}', "line 1: response is no text: 3"),
        ('{"id": 1, "response": "A"}\n{"id": "1", "response": "B"}', "line 2: id 1 is there twice"),
    ],
)
def test_a_wrong_file_of_replies_is_refused(
    baseline, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        baseline(policy="file", path=str(file))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policy": "best"}, ValueError, "policy=best: one of random, most_frequent"),
        ({"policy": "most_frequent", "scope": "row"}, ValueError, "scope=row"),
        ({"policy": "file"}, ValueError, "go together"),
        ({"policy": "oracle", "path": "x"}, ValueError, "go together"),
        ({"policy": "file", "path": "absent.jsonl"}, FileNotFoundError, r"absent\.jsonl"),
        ({"policies": "oracle"}, TypeError, "policies"),
    ],
)
def test_wrong_arguments_are_named(baseline, arguments: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        baseline(**arguments)


def test_a_bad_row_fails_alone(baseline) -> None:
    data = rows()
    del data[4]["answer"]
    texts = replied(baseline(data, policy="oracle"))
    assert replies.failed_request(texts[4]) == "KeyError: 'answer'"
    assert [number for number, text in texts.items() if replies.failed_request(text)] == [4]


def test_a_task_without_policies_stops_the_run(baseline) -> None:
    model = baseline(task="someone_elses", policy="oracle")
    with pytest.raises(ValueError, match=r"task 'someone_elses'; there are some for .*flatpack"):
        model.generate_until([request(0, task="someone_elses")])


def test_a_benchmark_registers_its_own_policies(baseline, monkeypatch) -> None:
    monkeypatch.setattr("procedural_evals.harness.policies._REGISTERED", {})
    words = Policies(
        oracle=lambda row: row["truth"],
        random=lambda row, generator, rows: generator.choice(["yes", "no"]),
        most_frequent=lambda rows: Counter(row["truth"] for row in rows).most_common(1)[0][0],
    )
    register_policies("ours", words)
    register_policies("ours_special", Policies(str, lambda row, generator: "", str))
    assert policies_for("ours_special_sample") is not words
    data = [{"id": n, "truth": truth} for n, truth in enumerate(["yes", "no", "no"])]
    for policy, expected in (("oracle", ["yes", "no", "no"]), ("most_frequent", ["no"] * 3)):
        model = baseline(data, task="ours_sample", policy=policy)
        assert list(replied(model, order=[0, 1, 2], task="ours_sample").values()) == expected
    generator = random.Random("0:2")
    model = baseline(data, task="ours_sample", policy="random")
    assert replied(model, order=[2], task="ours_sample")[2] == generator.choice(["yes", "no"])


def test_pictures_are_not_decoded(baseline) -> None:
    features = {
        "id": datasets.Value("string"),
        "task": datasets.Value("int64"),
        "options": datasets.List(datasets.Value("string")),
        "answer": datasets.Value("int32"),
        "visual_prompts": datasets.List(datasets.Image()),
    }
    broken = {"bytes": b"not a picture", "path": None}
    data = datasets.Dataset.from_list(
        [{**row, "visual_prompts": [broken]} for row in rows()],
        features=datasets.Features(features),
    )
    with pytest.raises(OSError, match="cannot identify image"):
        data[0]
    assert letters(replied(baseline(data, policy="oracle"))) == CORRECT
    assert letters(replied(baseline(data, policy="most_frequent"))) == "B" * 20


def test_what_the_baseline_does_not_do_is_said(baseline) -> None:
    with pytest.raises(NotImplementedError, match="generate_until"):
        baseline().loglikelihood([])
    with pytest.raises(NotImplementedError, match="generate_until"):
        baseline().generate_until_multi_round([])


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line_of_replies(tmp_path: Path, separator: str) -> None:
    from procedural_evals.harness.baseline import read_replies

    said = f"a{separator}b"
    lines = [json.dumps({"id": n, "response": said}, ensure_ascii=False) for n in "12"]
    path = tmp_path / "replies.jsonl"
    path.write_bytes("\r\n".join(lines).encode())
    assert read_replies(path) == {(None, "1"): said, (None, "2"): said}
