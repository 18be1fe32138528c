"""The client against a real local server: retries, waits, keys; and the cache of replies."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import time
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from procedural_evals.judge.cache import CACHE_VARIABLE, ReplyCache, default_folder, reply_key
from procedural_evals.judge.client import (
    Endpoint,
    JudgeUnreachable,
    Reply,
    RequestError,
    Usage,
    read_completion,
    retry_after,
)
from tests.judge_server import JudgeServer

KEY_VARIABLE = "PROCEDURAL_EVALS_TEST_KEY"


def endpoint(server: JudgeServer, **options: Any) -> Endpoint:
    settings: dict[str, Any] = {"first_wait": 0.01, "timeout": 10, "key_variable": KEY_VARIABLE}
    return Endpoint("fake-judge", server.base_url, **(settings | options))


def message(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"prediction number {number}"}]


def ask(where: Endpoint, numbers: Sequence[int]) -> tuple[list[Reply | BaseException], Usage]:
    async def run() -> tuple[list[Reply | BaseException], Usage]:
        async with where.connect() as connection:
            asked = (connection.complete(message(n)) for n in numbers)
            return await asyncio.gather(*asked, return_exceptions=True), connection.usage

    return asyncio.run(run())


def ping(where: Endpoint) -> None:
    async def run() -> None:
        async with where.connect() as connection:
            await connection.ping()

    asyncio.run(run())


# ---- requests ---------------------------------------------------------------------------------


def test_replies_come_back_with_tokens_and_cost() -> None:
    with JudgeServer() as server:
        replies, usage = ask(endpoint(server, prices=(2.0, 8.0)), range(3))
    assert [r.text[-1] for r in replies if isinstance(r, Reply)] == ["0", "1", "2"]
    assert (usage.requests, usage.replies) == (3, 3)
    assert (usage.prompt_tokens, usage.completion_tokens) == (300, 30)
    assert usage.cost == pytest.approx((300 * 2 + 30 * 8) / 1e6)


def test_arguments_are_sent_and_can_be_left_out() -> None:
    with JudgeServer() as server:
        ask(endpoint(server, arguments={"max_tokens": None, "seed": 7}), [1])
    (body,) = server.bodies
    assert body == {
        "model": "fake-judge",
        "messages": message(1),
        "temperature": 0.0,
        "seed": 7,
    }


@pytest.mark.parametrize("concurrency", [1, 5])
def test_no_more_requests_at_once_than_allowed(concurrency: int) -> None:
    with JudgeServer(delay=0.02) as server:
        ask(endpoint(server, concurrency=concurrency), range(20))
    assert server.max_open == concurrency


@pytest.mark.parametrize("fault", ["429", "500", "broken", "hang"])
def test_passing_faults_are_tried_again(fault: str) -> None:
    seconds = 0.2 if fault == "hang" else 10
    with JudgeServer(faults={fault: 0.4}, seed=1) as server:
        patient = endpoint(server, retries=20, timeout=seconds, longest_wait=0.05)
        replies, usage = ask(patient, range(12))
    assert all(isinstance(reply, Reply) for reply in replies)
    assert server.spoiled[fault] > 0
    assert usage.requests == 12 + server.spoiled[fault]
    assert set(server.verdicts.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", "HTTP 429: slow down (after 3 tries)"),
        ("500", "HTTP 500: the server broke down (after 3 tries)"),
        ("broken", "the answer is no chat completion"),
        ("hang", "no answer within 0.2 s (after 3 tries)"),
    ],
)
def test_a_fault_that_stays_is_reported_with_its_reason(fault: str, reason: str) -> None:
    with JudgeServer(faults={fault: 1.0}) as server:
        (failure,), usage = ask(endpoint(server, retries=2, timeout=0.2), [1])
    assert isinstance(failure, RequestError)
    assert reason in str(failure)
    assert usage.requests == 3


def test_empty_and_cut_off_replies_are_replies() -> None:
    with JudgeServer(faults={"empty": 1.0}) as server:
        assert ask(endpoint(server), [1])[0] == [Reply("", False, 100, 10)]
    with JudgeServer(faults={"cut": 1.0}) as server:
        (reply,), _ = ask(endpoint(server), [1])
    assert isinstance(reply, Reply)
    assert reply.cut_off


@pytest.mark.parametrize(
    ("message", "more", "reply"),
    [
        ({"content": None}, {}, Reply("")),
        ({"content": [{"type": "thinking"}, {"type": "text", "text": "2"}]}, {}, Reply("2")),
        ({"content": "2"}, {"usage": None}, Reply("2")),
        ({"content": "2"}, {"usage": {"prompt_tokens": "many"}}, Reply("2")),
        ({"content": {"grade": 2}}, {}, None),
        ("2", {}, None),
    ],
)
def test_what_servers_call_a_completion(message: Any, more: dict[str, Any], reply: Reply) -> None:
    assert read_completion(json.dumps({"choices": [{"message": message}], **more})) == reply


@pytest.mark.parametrize("body", ["", "null", "[]", "{}", '{"choices": []}', "<html>", "[[[["])
def test_what_is_no_completion(body: str) -> None:
    assert read_completion(body) is None


def test_a_request_that_is_wrong_is_not_sent_again() -> None:
    with JudgeServer(models=("other",)) as server:
        (failure,), usage = ask(endpoint(server), [1])
    assert isinstance(failure, RequestError)
    assert failure.status == 404
    assert usage.requests == 1


@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_waited_for(as_date: bool) -> None:
    def header() -> str:  # dates have whole seconds: two ahead is at least one
        return formatdate(time.time() + 2, usegmt=True) if as_date else "1"

    with JudgeServer(faults={"429": 1.0}, retry_after=header) as server:
        start = time.perf_counter()
        (failure,), _ = ask(endpoint(server, retries=1), [1])
        waited = time.perf_counter() - start
    assert isinstance(failure, RequestError)
    assert waited >= 1


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    with JudgeServer(faults={"429": 1.0}, retry_after="3600") as server:
        (failure,), _ = ask(endpoint(server), [1])
    assert isinstance(failure, RequestError)
    assert "asks to wait 3600 s, more than the 120 s allowed" in str(failure)
    assert server.requests == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("1.5", 1.5),
        ("-3", 0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=100) == seconds


def test_waits_grow_and_are_jittered() -> None:
    async def waits() -> list[list[float]]:
        where = Endpoint("m", "http://127.0.0.1:9/v1", first_wait=1, longest_wait=20)
        async with where.connect() as connection:
            return [[connection._wait(n, None) for _ in range(50)] for n in range(7)]

    for n, drawn in enumerate(asyncio.run(waits())):
        most = min(2**n, 20)
        assert all(most / 2 <= wait <= most for wait in drawn)
        assert len(set(drawn)) > 1


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"base_url": "localhost"},
        {"base_url": "http://me:secret@host/v1"},
        {"concurrency": 0},
        {"timeout": 0},
        {"retries": -1},
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))}"):
        Endpoint(**({"model": "m"} | options))


# ---- reaching the judge -----------------------------------------------------------------------


def test_a_judge_that_answers_is_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "secret-123")
    with JudgeServer(key="secret-123", models=("fake-judge",)) as server:
        ping(endpoint(server))
    assert server.requests == 0


def test_nobody_there_is_reported_with_the_address() -> None:
    with JudgeServer() as server:
        gone = endpoint(server)
    with pytest.raises(JudgeUnreachable, match="start the server, or give its address") as error:
        ping(gone)
    assert server.base_url in str(error.value)


def test_a_refused_key_is_reported_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with JudgeServer(key="right") as server:
        with pytest.raises(JudgeUnreachable, match=f"{KEY_VARIABLE} is not set"):
            ping(endpoint(server))
        monkeypatch.setenv(KEY_VARIABLE, "wrong-and-secret")
        with pytest.raises(JudgeUnreachable, match=f"{KEY_VARIABLE} holds a key") as error:
            ping(endpoint(server))
    assert "HTTP 401" in str(error.value)
    for shown in (str(error.value), repr(endpoint(server)), caplog.text):
        assert "wrong-and-secret" not in shown


def test_a_key_with_strange_characters_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "“quoted”")
    with JudgeServer() as server, pytest.raises(JudgeUnreachable, match="no key has"):
        ping(endpoint(server))


def test_an_unknown_model_is_reported_with_those_offered() -> None:
    with (
        JudgeServer(models=("small", "large")) as server,
        pytest.raises(JudgeUnreachable, match="the server offers small, large"),
    ):
        ping(endpoint(server))


def test_a_wrong_path_is_reported() -> None:
    with JudgeServer() as server:
        wrong = Endpoint("m", server.base_url + "/more", key_variable=KEY_VARIABLE)
        with pytest.raises(JudgeUnreachable, match="HTTP 404: no such path"):
            ping(wrong)


# ---- the cache --------------------------------------------------------------------------------


def test_a_kept_reply_comes_back_after_closing(tmp_path: Path) -> None:
    reply = Reply("[Judge] 2 – “ok” \ud800", True, 5, 6)
    with ReplyCache(tmp_path / "new") as cache:
        assert cache.get("k") is None
        assert cache.add("k", "m", reply) == reply
    with ReplyCache(tmp_path / "new") as cache:
        assert cache.get("k") == reply
        assert len(cache) == 1


def test_the_first_reply_counts_unless_asked_again(tmp_path: Path) -> None:
    with ReplyCache(tmp_path) as here, ReplyCache(tmp_path) as there:
        here.add("k", "m", Reply("first"))
        assert there.add("k", "m", Reply("second")).text == "first"
        assert there.add("k", "m", Reply("third"), again=True).text == "third"
        assert here.get("k") == Reply("third")


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "unused"):
        pass
    assert not (tmp_path / "unused").exists()


def test_a_file_that_is_no_cache_is_named(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(ValueError, match="choose another cache folder"):
        cache.get("k")


def test_the_folder_is_the_users_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "/chosen")
    assert default_folder() == Path("/chosen")
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert default_folder() == Path("/xdg/procedural-evals")


def test_the_key_covers_everything_that_a_reply_depends_on() -> None:
    base: list[Any] = ["http://a:1/v1", "model", "rubric@1:abc", message(1), {"temperature": 0.0}]
    others: list[Any] = ["http://a:2/v1", "other", "rubric@2:abc", message(2), {"temperature": 1.0}]
    keys = {reply_key(*base)}
    for n, other in enumerate(others):
        keys.add(reply_key(*[*base[:n], other, *base[n + 1 :]]))
    assert len(keys) == 6
    assert reply_key("http://A:1/v1/", *base[1:]) in keys


def _write(folder: Path, who: str, n: int) -> None:
    with ReplyCache(folder) as cache:
        for i in range(n):
            cache.add(f"shared-{i}", "m", Reply(who))
            cache.add(f"{who}-{i}", "m", Reply(who))


def test_two_processes_write_one_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_write, args=(tmp_path, who, 100)) for who in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with ReplyCache(tmp_path) as cache:
        assert len(cache) == 300
        assert {cache.get(f"a-{i}") for i in range(100)} == {Reply("a")}
