"""`procedural-evals run` around lmms-eval: where results go, signals, refusals."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from procedural_evals.harness import outputs, results, runner

STAMP = "20261130_235959"


def test_an_output_folder_that_cannot_be_written_stops_the_run_before_it_starts(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "_watched", lambda *given: pytest.fail("lmms-eval was started"))
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OSError, match=r"no results can be written into .*file/below"):
        runner.run(["--tasks", "t", "--output_path", str(file / "below")])


def test_a_run_ends_all_its_processes_when_it_is_ended(tmp_path):
    """One child ends at the signal, a grandchild would not."""
    ready = tmp_path / "ready"
    grandchild = "import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(600)"
    program = (
        "import pathlib, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {grandchild!r}])\n"
        f"path = pathlib.Path({str(ready)!r})\n"
        "path.with_suffix('.new').write_text(str(child.pid))\n"
        "path.with_suffix('.new').rename(path)\n"
        "time.sleep(600)\n"
    )

    def end() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end).start()
    before = signal.getsignal(signal.SIGTERM)
    status, stopped = runner._watched([sys.executable, "-c", program], dict(os.environ))
    assert stopped == signal.SIGTERM
    assert status == -signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    for _ in range(500):
        if not psutil.pid_exists(int(ready.read_text())):
            break
        time.sleep(0.01)
    else:
        found = psutil.Process(int(ready.read_text()))
        assert found.status() == psutil.STATUS_ZOMBIE, "the grandchild still runs"


def test_an_interrupted_run_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "_watched", lambda *given: (-2, signal.SIGINT))
    assert runner.run(["--tasks", "t", "--output_path", str(tmp_path)]) == 130
    assert ".responses; the same command goes on from there" in capsys.readouterr().err


def test_without_the_scores_a_run_says_how_to_get_them(tmp_path, monkeypatch, capsys):
    replies = ["A", "B", "[LMMS_EVAL_REQUEST_FAILED after 3 retries] x"]

    def predicted(count):
        def write(arguments, variables):
            file = tmp_path / f"{STAMP}{results.RESULTS}"
            config = {"resolved_cli_args": {"predict_only": True}}
            file.write_text(json.dumps({"configs": {"t": {}}, "config": config}))
            lines = [json.dumps({"filtered_resps": [reply]}) for reply in replies[:count]]
            results.samples_file(file, "t").write_text("\n".join(lines) + "\n")
            Path(variables[outputs.WRITTEN_VARIABLE]).write_text(f"{file}\n")
            return 0, None

        return write

    for count, status, words in ((2, 0, "2 replies, 0 failed"), (3, 1, "3 replies, 1 failed")):
        monkeypatch.setattr(runner, "_watched", predicted(count))
        arguments = ["--tasks", "t", "--output_path", str(tmp_path), "--predict_only"]
        assert runner.run(arguments) == status
        said = capsys.readouterr().out
        assert words in said
        assert "same command without --predict_only scores them" in said


def test_results_that_another_run_writes_meanwhile_are_not_taken_for_ours(tmp_path, monkeypatch):
    def other(arguments, variables):
        (tmp_path / f"{STAMP}{results.RESULTS}").write_text("{}")
        return 0, None

    monkeypatch.setattr(runner, "_watched", other)
    assert runner.run(["--tasks", "t", "--output_path", str(tmp_path)]) == 2


# ---- lmms-eval's own writing ------------------------------------------------------------------


@pytest.fixture
def tracker(tmp_path):
    """Makes trackers of runs that began in the same second."""
    outputs.guard_tracker()
    from lmms_eval.loggers import EvaluationTracker

    def make():
        made = EvaluationTracker(output_path=str(tmp_path))
        made.general_config_tracker.model_name_sanitized = "model"
        return made

    return make


def sample(number: int) -> dict:
    return {
        "doc_id": number,
        "arguments": ["prompt"],
        "resps": [["A"]],
        "filtered_resps": ["A"],
        "target": "A",
        "doc": {},
        "doc_hash": "x",
    }


def save(tracker, number: int, count: int = 2) -> None:
    samples = {"t": [sample(number) for _ in range(count)]}
    tracker.save_results_aggregated({"number": number, "configs": {}}, samples, STAMP)
    tracker.save_results_samples("t", samples["t"])


def test_runs_of_one_second_write_files_of_their_own(tracker, tmp_path, monkeypatch):
    written = tmp_path / "written"
    monkeypatch.setenv(outputs.WRITTEN_VARIABLE, str(written))
    for number in range(3):
        save(tracker(), number)
    files = sorted((tmp_path / "model").glob(f"*{results.RESULTS}"))
    assert [json.loads(file.read_text())["number"] for file in files] == [0, 1, 2]
    assert [file.name[:15] for file in files] == [STAMP, "20261201_000000", "20261201_000001"]
    for number, file in enumerate(files):
        lines = results.samples_file(file, "t").read_text().splitlines()
        assert [json.loads(line)["doc_id"] for line in lines] == [number, number]
    assert written.read_text().splitlines() == list(map(str, files))


def test_results_that_a_full_disk_cuts_short_are_taken_back(tracker, tmp_path, monkeypatch):
    def full(*given, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", full)
        save(tracker(), 0)
    assert not list((tmp_path / "model").glob(f"*{results.RESULTS}"))
    made = tracker()
    made.save_results_aggregated({"configs": {}}, {"t": []}, STAMP)
    monkeypatch.setattr("builtins.open", full)
    made.save_results_samples("t", [sample(0)])
    monkeypatch.undo()
    assert not list((tmp_path / "model").glob(f"*{results.RESULTS}"))


def test_lmms_eval_itself_stops_at_a_folder_that_cannot_be_written(tracker, tmp_path):
    from lmms_eval.loggers import EvaluationTracker

    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="no results can be written into"):
        EvaluationTracker(output_path=str(tmp_path / "file"))


def test_many_runs_can_claim_names_at_once(tmp_path):
    claimed: list[str] = []
    claim = SimpleNamespace(go=threading.Event())

    def run() -> None:
        claim.go.wait()
        claimed.append(outputs.claimed(tmp_path, STAMP))

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    claim.go.set()
    for thread in threads:
        thread.join()
    assert len(set(claimed)) == 16
