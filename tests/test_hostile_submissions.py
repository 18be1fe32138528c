"""A traces repository is anybody's: whatever its files hold, the other rows stand and compare."""

import json
from dataclasses import asdict

import pytest

from procedural_evals.hub.leaderboard_compare import compare_entries
from procedural_evals.hub.leaderboard_submitted import submitted_entries
from procedural_evals.hub.submission_types import LARGEST_FILE

from .leaderboard_runs import write_run

RIGHT = [True, False] * 8
VALUES = (
    None,
    1,
    -5,
    True,
    "x",
    "<script>alert(1)</script>",
    "[a](javascript:alert(1))",
    "\u202egnitirw",
    "\x1b[2J",
    "a" * 1_000_000,
    [],
    [None],
    [[1]],
    {},
    {"a": None},
    float("nan"),
    float("inf"),
    1e308,
    10**400,
)


@pytest.fixture
def folder(tmp_path):
    write_run(tmp_path, "lab/good", RIGHT)
    write_run(tmp_path, "lab/bad", RIGHT)
    return tmp_path


@pytest.fixture
def place(folder):
    return folder / "flatpack-bench/lab--bad/flatpack_bench"


def shown(folder):
    """The submitted rows; the page's data are plain JSON, which knows no NaN."""
    entries, problems = submitted_entries(folder)
    rows = [asdict(entry) for entry in entries]
    json.dumps([rows, problems], allow_nan=False)
    return {row["model"]: row for row in rows}, problems


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in texts(each))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_a_field_of_any_value_takes_no_other_row_away(folder, place, value):
    file = place / "submission.json"
    given = json.loads(file.read_text())
    for name in given:
        file.write_text(json.dumps(given | {name: value}))
        rows, problems = shown(folder)
        assert "lab/good" in rows, name
        assert ("lab/bad" in rows) != bool(problems), name
        for text in texts(rows.get("lab/bad")):
            assert len(text) <= 20_000, name
            assert not set(text) & set("\u202e\x1b"), name


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not JSON"),
        (b" " * (LARGEST_FILE + 1), "at most"),
        (b"[]", "list instead of an object"),
    ],
)
def test_a_file_that_holds_no_submission_is_named(folder, place, content, problem):
    (place / "submission.json").write_bytes(content)
    rows, problems = shown(folder)
    assert list(rows) == ["lab/good"]
    (line,) = problems
    assert line.startswith("flatpack-bench/lab--bad/flatpack_bench: ")
    assert problem in line


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"1", b"null", b"{}", b"[" * 100_000, b"\xff", b'{"id": 1}']
)
def test_a_line_that_is_no_items_record_is_named(folder, place, line):
    file = place / "items.jsonl"
    file.write_bytes(line + b"\n" + file.read_bytes())
    rows = [f"submitted/lab/{name}/flatpack_bench" for name in ("good", "bad")]
    assert "flatpack_bench/items.jsonl:1: " in compare_entries(folder, *rows, "accuracy")["error"]


def test_an_items_field_of_any_value_gives_a_comparison_or_an_error_in_words(folder, place):
    file = place / "items.jsonl"
    first, *others = file.read_text().splitlines()
    record = json.loads(first)
    rows = [f"submitted/lab/{name}/flatpack_bench" for name in ("good", "bad")]
    for name in record:
        for value in VALUES:
            file.write_text("\n".join([json.dumps(record | {name: value}), *others]))
            found = compare_entries(folder, *rows, "accuracy")
            json.dumps(found, allow_nan=False)
            assert ("error" in found) != ("difference" in found), (name, value)
