"""What is kept of a run, and what is asked again after it was interrupted."""

from __future__ import annotations

import copy
import errno
import json
import os
from pathlib import Path

import pytest
from lmms_eval.api.instance import unwrap_generation_output

from procedural_evals.harness import reply_keys, response_log
from procedural_evals.harness.asking import chunk_size
from procedural_evals.harness.kept_replies import past_cache
from procedural_evals.harness.response_log import Entry, LogWriteError, ResponseLog
from procedural_evals.harness.run_lock import RunningAlreadyError, hold
from procedural_evals.harness.shown import recall

from . import kept
from .kept import Asynchronous, Model, Reporting, Task

KINDS = (Model, Reporting, Asynchronous)


def texts(replies):
    return [unwrap_generation_output(reply) for reply in replies]


def uninterrupted(kind=Model):
    """The replies of a run of which nothing is kept."""
    task = Task(None)
    return texts(kind(task).run(task.requests()))


def shown(task):
    return [recall(task.protocol.key(row)).frame_times for row in task.rows]


def forget_what_was_shown(task):
    """As in a new process."""
    from procedural_evals.harness import shown as notes

    notes._SHOWN.clear()
    notes._LAST.clear()


def lines(output: Path, task: Task):
    folder = output / ".responses" / task.name
    read = [json.loads(x) for f in sorted(folder.glob("*.jsonl")) for x in f.open()]
    return [line for line in read if "reply" in line]


# ---- going on ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_run_goes_on_and_asks_nothing_twice(kind, tmp_path):
    task = Task(tmp_path)
    whole = uninterrupted(kind)
    times = shown(task)
    first = kind(task, stop_after=6)
    with pytest.raises(KeyboardInterrupt):
        first.run(task.requests())
    forget_what_was_shown(task)
    second = kind(task)
    replies = second.run(task.requests())
    assert len(first.asked) == 6
    assert sorted(first.asked + second.asked) == [(number, 0) for number in range(12)]
    assert texts(replies) == whole
    assert shown(task) == times
    third = kind(task)
    assert texts(third.run(task.requests())) == whole
    assert third.asked == []


def test_begun_by_two_processes_it_goes_on_in_one_and_the_reverse(tmp_path):
    task = Task(tmp_path)
    whole = uninterrupted()
    for rank, stop in ((0, 2), (1, 3)):
        with pytest.raises(KeyboardInterrupt):
            Model(task, stop_after=stop).run(task.requests(range(rank, 12, 2)))
    alone = Model(task, stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        alone.run(task.requests())
    ranks = [Model(task) for _ in range(2)]
    replies = [model.run(task.requests(range(r, 12, 2))) for r, model in enumerate(ranks)]
    assert [len(model.asked) for model in ranks] == [1, 2]
    assert texts(replies[0]) == whole[0::2]
    assert texts(replies[1]) == whole[1::2]


def test_failed_items_are_asked_again(tmp_path):
    for kind in KINDS:
        task = Task(tmp_path / kind.__name__)
        first, second = kind(task), kind(task)
        first.failing = {3, 7}
        failed = [text for text, _ in texts(first.run(task.requests())) if "FAILED" in text]
        assert len(failed) == 2
        replies = texts(second.run(task.requests()))
        assert second.asked == [(3, 0), (7, 0)]
        assert not [text for text, _ in replies if "FAILED" in text]


def test_what_could_not_be_shown_is_asked_again_whatever_was_replied(tmp_path):
    task = Task(tmp_path)
    task.rows[4]["problems"] = ["video: missing"]
    task.protocol.__dict__["columns"] = ("video",)
    task.rows = [row | {"video": {"bytes": None, "path": "absent.mp4"}} for row in task.rows]
    Model(task).run(task.requests())
    second = Model(task)
    second.run(task.requests())
    assert second.asked == [(4, 0)]


def test_repeats_are_told_apart(tmp_path):
    task = Task(tmp_path, 3, repeats=4, settings=kept.GREEDY | {"temperature": 0.9})
    with pytest.raises(KeyboardInterrupt):
        Model(task, stop_after=5).run(task.requests())
    second = Model(task)
    replies = texts(second.run(task.requests()))
    assert second.asked == [(1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2), (2, 3)]
    assert [tokens.output_tokens for _, tokens in replies] == [0, 1, 2, 3] * 3


def test_requests_that_only_fill_up_a_process_ask_nothing(tmp_path):
    task = Task(tmp_path)
    requests = task.requests(range(3))
    padding = copy.copy(requests[-1])
    padding.metadata = {**padding.metadata, "__padding_only__": True}
    model = Model(task)
    replies = model.run([*requests, padding, padding])
    assert model.asked == [(0, 0), (1, 0), (2, 0)]
    assert len(replies) == 5


def test_requests_of_other_tasks_go_through_untouched(tmp_path):
    ours, other = Task(tmp_path), Task(tmp_path, name="mme")
    other.config.doc_to_text = len
    model = Model(ours)
    model.task_dict["mme"] = {"test": other.rows}
    mixed = [one for pair in zip(ours.requests(), other.requests(), strict=True) for one in pair]
    for asked in (24, 12):
        model.asked.clear()
        replies = texts(model.run(mixed))
        assert len(model.asked) == asked
        assert replies[0::2] == replies[1::2]
    assert not (tmp_path / ".responses" / "mme").exists()


def test_lmms_evals_own_cache_is_for_other_tasks(tmp_path, logged):
    ours, other = Task(tmp_path), Task(tmp_path, name="mme")
    other.config.doc_to_text = len
    model = Model(ours)
    model.task_dict["mme"] = {"test": other.rows}
    model.generate_until = model.run

    def execute(cache, lm, kind, requests):
        return [f"cached {request.task_name}" for request in requests]

    requests = [*other.requests(range(2)), *ours.requests(range(3)), *other.requests(range(1))]
    replies = past_cache(execute)(None, model, "generate_until", requests)
    assert replies[:2] + replies[5:] == ["cached mme"] * 3
    assert model.asked == [(0, 0), (1, 0), (2, 0)]
    assert len([line for line in logged if "--use_cache does not concern these tasks" in line]) == 1


def test_without_an_output_path_nothing_is_kept_and_that_is_said_once(
    tmp_path, monkeypatch, logged
):
    monkeypatch.chdir(tmp_path)
    task = Task(None)
    model = Model(task)
    model.run(task.requests())
    model.run(task.requests())
    assert len(model.asked) == 24
    assert list(tmp_path.iterdir()) == []
    assert len([line for line in logged if "Without --output_path" in line]) == 1


@pytest.fixture
def logged():
    from loguru import logger

    found: list[str] = []
    handler = logger.add(found.append, format="{message}", level="DEBUG")
    yield found
    logger.remove(handler)


# ---- what a reply depends on ------------------------------------------------------------------


def asked_after(tmp_path, change, **arguments):
    """How many of 12 requests are made after a whole run and this change."""
    task = Task(tmp_path)
    Model(task, pretrained="org/model").run(task.requests())
    task = Task(tmp_path)
    change(task)
    model = Model(task, **{"pretrained": "org/model", **arguments})
    model.run(task.requests())
    return len(model.asked)


def test_where_and_how_fast_a_model_runs_does_not_matter(tmp_path):
    more = {"batch_size": 8, "device": "cuda:1", "num_cpus": 4, "api_key": "sk-1", "timeout": 9}
    assert asked_after(tmp_path, lambda task: None, **more) == 0
    text = "".join(file.read_text() for file in tmp_path.rglob("*.jsonl"))
    assert "sk-1" not in text


@pytest.mark.parametrize(
    "arguments", [{"max_num_frames": 8}, {"pretrained": "org/other"}, {"system_prompt": "Be brief"}]
)
def test_another_model_is_asked_anew(tmp_path, arguments):
    assert asked_after(tmp_path, lambda task: None, **arguments) == 12


def test_a_checkpoint_that_was_written_over_is_asked_anew(tmp_path):
    weights = tmp_path / "checkpoint/model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"1")
    task = Task(tmp_path / "out")
    Model(task, pretrained=str(weights.parent)).run(task.requests())
    same = Model(task, pretrained=str(weights.parent))
    same.run(task.requests())
    weights.write_bytes(b"22")
    other = Model(task, pretrained=str(weights.parent))
    other.run(task.requests())
    assert (len(same.asked), len(other.asked)) == (0, 12)


def test_a_changed_row_is_asked_anew_alone(tmp_path):
    def change(task):
        task.rows[5]["question"] += " Be careful."

    assert asked_after(tmp_path, change) == 1


def test_other_words_settings_and_sources_are_asked_anew(tmp_path, monkeypatch, logged):
    def words(task):
        task.protocol.__dict__["template"] = "video"

    def settings(task):
        task.settings["max_new_tokens"] = 9

    assert asked_after(tmp_path / "settings", settings) == 12
    assert "these have changed: generation (12)" in "".join(logged)
    monkeypatch.setattr(reply_keys, "_source_hash", lambda path: f"edited {path.name}")
    task = Task(tmp_path / "settings")
    model = Model(task, pretrained="org/model")
    model.run(task.requests())
    assert len(model.asked) == 12
    assert "these have changed: code (12)" in "".join(logged)


def test_frames_asked_for_by_the_run_belong_to_the_prompt(tmp_path, monkeypatch):
    task = Task(tmp_path)
    before = reply_keys.prompt_part(task.protocol, task.rows[0], "x")
    monkeypatch.setenv("PROCEDURAL_EVALS_VIDEO_AS", "frames")
    assert reply_keys.prompt_part(task.protocol, task.rows[0], "x") != before


def test_the_seed_matters_to_sampled_replies_only(tmp_path):
    for temperature, expected in ((0, 0), (0.9, 12)):
        settings = kept.GREEDY | {"temperature": temperature}
        output = tmp_path / str(temperature)
        task = Task(output, settings=settings)
        Model(task).run(task.requests())
        other = Task(output, settings=settings, seed=[7, 1, 2, 3])
        model = Model(other)
        model.run(other.requests())
        assert len(model.asked) == expected


def test_comments_and_docstrings_are_no_change_of_the_code(tmp_path):
    source = 'def f(x):\n    """Says x."""\n    return x  # x\n'
    hashes = set()
    for number, text in enumerate(
        (source, source.replace("Says", "Gives"), source.replace("  # x", ""), "def f(x): return x")
    ):
        (tmp_path / f"{number}.py").write_text(text)
        hashes.add(reply_keys._source_hash(tmp_path / f"{number}.py"))
    assert len(hashes) == 1
    (tmp_path / "other.py").write_text(source.replace("return x", "return -x"))
    assert reply_keys._source_hash(tmp_path / "other.py") not in hashes


def test_pictures_count_by_content_and_videos_wherever_they_lie(tmp_path):
    def part(folder, content, kind="path"):
        folder.mkdir(exist_ok=True)
        (folder / "a.png").write_bytes(content)
        path = {"bytes": None, "path": str(folder / "a.png")}
        inside = {"bytes": content, "path": "a.png"}
        return reply_keys.row_part({"id": "q", "picture": path if kind == "path" else [inside]})

    assert part(tmp_path / "a", b"1") == part(tmp_path / "b", b"1")
    assert part(tmp_path / "a", b"1") != part(tmp_path / "a", b"2")
    assert part(tmp_path / "a", b"1", "bytes") != part(tmp_path / "a", b"2", "bytes")


def test_the_sources_that_make_what_is_shown_count_and_parsers_do_not():
    covered = set(reply_keys.code_parts(Model(Task(None))))
    covered |= set(reply_keys.protocol_code(kept.Watched))
    expected = {"lmms_eval", "tests.kept", *reply_keys.SHOWING}
    expected |= {f"procedural_evals.{name}" for name in ("decoding", "harness.protocols")}
    assert expected <= covered
    assert not {f"procedural_evals.{name}" for name in ("choices", "spans", "verdicts")} & covered


def test_whatever_a_protocol_imports_either_shows_or_reads():
    """A new module has to be put on one of the two sides: `SHOWING`, or here."""
    reading = "choices explicit_choices folders prompts replies scores.voting spans"
    reading += " dyad.rows dyad.steps dyad.vocabulary open_qa times"
    sides = {f"procedural_evals.{name}" for name in reading.split()}
    sides |= {*reply_keys.SHOWING, *reply_keys._imported(reply_keys.SHOWING)}
    kinds = protocols_of_ours()
    assert len(kinds) >= 5
    for module in {kind.__module__ for kind in kinds}:
        for name in reply_keys._imports(module):
            assert name in sides or name.startswith("procedural_evals.harness"), (module, name)


def protocols_of_ours():
    from procedural_evals.harness import dyad_protocols, prompted_video, self_consistency
    from procedural_evals.harness.protocols import Protocol

    assert {dyad_protocols, prompted_video, self_consistency}
    found, waiting = set(), [Protocol]
    while waiting:
        kind = waiting.pop()
        found |= {kind} if kind.__module__.startswith("procedural_evals.") else set()
        waiting += kind.__subclasses__()
    return found


def test_fresh_asks_everything_anew_and_is_what_holds_after_that(tmp_path, monkeypatch):
    task = Task(tmp_path)
    Model(task).run(task.requests())
    monkeypatch.setenv("PROCEDURAL_EVALS_FRESH", "1")
    fresh = Model(task, stop_after=5)
    with pytest.raises(KeyboardInterrupt):
        fresh.run(task.requests())
    monkeypatch.delenv("PROCEDURAL_EVALS_FRESH")
    after = Model(task)
    after.run(task.requests())
    assert (len(fresh.asked), len(after.asked)) == (5, 7)


# ---- the file ---------------------------------------------------------------------------------


def entry(number: int, reply: str = "yes") -> Entry:
    return Entry(f"key {number}", "task", f"q{number}", 0, reply, {"output_tokens": 1})


def wanted(count: int) -> dict[str, tuple[str, int]]:
    return {f"key {number}": (f"q{number}", 0) for number in range(count)}


def test_a_torn_last_line_is_left_out_with_a_warning(tmp_path, logged):
    with ResponseLog(tmp_path) as log:
        log.append(map(entry, range(3)))
    (file,) = tmp_path.glob("*.jsonl")
    whole = file.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last + 1, len(whole) - 1):
        file.write_bytes(whole[:end])
        found = response_log.read(tmp_path, wanted(3))
        assert (set(found.replies), found.broken) == ({"key 0", "key 1"}, 1)
    assert "1 torn or damaged lines are left out" in logged[0]
    file.write_bytes(whole[:last] + b"\0" * 100 + b"\n" + whole[last:-1])  # blocks never written
    found = response_log.read(tmp_path, wanted(3))
    assert (len(found.replies), found.broken) == (3, 1)
    with ResponseLog(tmp_path) as log:
        log.append([entry(9)])
    assert set(response_log.read(tmp_path, wanted(10)).replies) == {
        f"key {n}" for n in (0, 1, 2, 9)
    }


@pytest.mark.parametrize("line", ["7", "[]", "null", '{"time": 1}', '{"reply": "x", "time": "2"}'])
def test_a_line_of_something_else_is_counted_not_followed(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    assert response_log.read(tmp_path, wanted(1)).replies == {}


def test_the_later_reply_holds_and_an_older_one_can_be_made_void(tmp_path):
    for reply in ("first", "second"):
        with ResponseLog(tmp_path) as log:
            log.append([entry(0, reply), entry(1, reply)])
    assert response_log.read(tmp_path, wanted(2)).replies["key 0"].reply == "second"
    with ResponseLog(tmp_path) as log:
        log.ask_anew(["key 0"])
        assert set(response_log.read(tmp_path, wanted(2)).replies) == {"key 1"}
        log.append([entry(0, "third")])
    assert response_log.read(tmp_path, wanted(2)).replies["key 0"].reply == "third"


def test_any_text_comes_back_as_it_was(tmp_path):
    text = "line\nline\r\u2028\x00\udc80 \N{GRINNING FACE} 好"
    with ResponseLog(tmp_path) as log:
        log.append([entry(0, text)])
    assert response_log.read(tmp_path, wanted(1)).replies["key 0"].reply == text


def test_a_reply_is_on_the_disk_within_a_second(tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(os, "fsync", lambda file: sizes.append(os.fstat(file).st_size))
    monkeypatch.setattr(response_log, "SYNC_SECONDS", 0.01)
    with ResponseLog(tmp_path) as log:
        for number in range(3):
            log.append([entry(number)])
            log._timer.join(5)
            (file,) = tmp_path.glob("*.jsonl")
            assert sizes[-1] == file.stat().st_size


# ---- a full disk ------------------------------------------------------------------------------


class SmallDisk:
    """Makes writes into one folder fail as on a disk of so many bytes, after what fits."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size, self._write = folder, size, os.write

    def write(self, file: int, data: bytes) -> int:
        used = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        room = self.size - used
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(file, bytes(data)[:room])


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_stops_the_run_and_loses_no_reply(kind, tmp_path, monkeypatch):
    task = Task(tmp_path)
    monkeypatch.setattr(os, "write", SmallDisk(tmp_path, response_log.RESERVE_BYTES + 4000).write)
    first = kind(task)
    with pytest.raises(LogWriteError, match=r"No space left on device.*goes on from there"):
        first.run(task.requests())
    monkeypatch.undo()
    assert 0 < len(first.asked) < 12
    assert len(lines(tmp_path, task)) == len(first.asked)
    second = kind(task)
    replies = second.run(task.requests())
    assert sorted(first.asked + second.asked) == [(number, 0) for number in range(12)]
    assert texts(replies) == uninterrupted()


def test_a_reply_for_which_there_is_no_room_at_all_is_named(tmp_path, monkeypatch):
    log = ResponseLog(tmp_path)
    log.append([entry(0)])

    def full(file, data):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(LogWriteError, match=r"Not kept: task q1\. All earlier"):
        log.append([entry(1)])
    monkeypatch.undo()
    log.close()
    assert set(response_log.read(tmp_path, wanted(2)).replies) == {"key 0"}


def test_a_disk_that_is_full_from_the_start_asks_nothing(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    task = Task(tmp_path)
    model = Model(task)
    with pytest.raises(LogWriteError, match="No space left"):
        model.run(task.requests())
    assert model.asked == []


# ---- beside it --------------------------------------------------------------------------------


def test_the_same_run_cannot_go_on_twice_at_a_time(tmp_path):
    with hold(tmp_path, "settings"):
        with hold(tmp_path, "other settings"):
            pass
        with (
            pytest.raises(RunningAlreadyError, match=f"process {os.getpid()} on"),
            hold(tmp_path, "settings"),
        ):
            pass
    with hold(tmp_path, "settings"):
        pass


def test_one_process_that_fails_ends_all(tmp_path, monkeypatch):
    task = Task(tmp_path)
    model = Model(task)
    monkeypatch.setattr(model, "reply", lambda request: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.run(task.requests())
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as ended:
        model.run(task.requests())
    assert ended.value.code == 1


def test_requests_go_to_a_model_in_chunks_that_suit_it():
    from types import SimpleNamespace

    assert chunk_size(SimpleNamespace()) == 1
    assert chunk_size(SimpleNamespace(batch_size="16")) == 16
    assert chunk_size(SimpleNamespace(batch_size=1, num_concurrent=8)) == 32
