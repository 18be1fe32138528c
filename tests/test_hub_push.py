"""Pushing a folder: one commit, nothing sent twice, nothing half-published."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, constants

from procedural_evals.hub import problems
from procedural_evals.hub.problems import PushError
from procedural_evals.hub.push import Pushed, push
from procedural_evals.hub.sending import Target
from procedural_evals.hub.tokens import open_session
from tests import hub_server

CARD = "---\nlicense: apache-2.0\n---\n# x\n"


def _bytes(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small data set: a card and two Parquet files."""
    built = tmp_path / "built"
    (built / "data").mkdir(parents=True)
    (built / "README.md").write_text(CARD)
    (built / "data" / "a.parquet").write_bytes(_bytes(1, 50_000))
    (built / "data" / "b.parquet").write_bytes(_bytes(2, 70_000))
    return built


@pytest.fixture
def api(hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch) -> HfApi:
    """The client of the user who writes to ORG; nobody waits before asking again."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return HfApi(endpoint=hub.url, token=hub.token)


def _push(api: HfApi, folder: Path, said: list[str] | None = None, **options: bool) -> Pushed:
    reason = "its media may not be passed on" if options.pop("closed", False) else ""
    target = Target(folder, "ORG/x", "dataset", private_because=reason)
    return push(api, target, say=[].append if said is None else said.append, **options)


def _titles(hub: hub_server.Hub) -> list[str]:
    return [commit["title"] for commit in hub.repository("dataset", "ORG/x").history()]


def test_a_new_repository_is_private_and_filled_by_one_commit(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    done = _push(api, folder)
    repository = hub.repository("dataset", "ORG/x")
    assert repository.private
    assert repository.files() == [".gitattributes", "README.md", "data/a.parquet", "data/b.parquet"]
    assert repository.read("data/b.parquet") == _bytes(2, 70_000)
    assert repository.resolve("main") == done.commit
    assert _titles(hub)[1:] == ["initial commit"]
    assert hub.diary.receiving == 120_000


def test_what_is_there_is_skipped_and_what_is_gone_is_deleted_in_one_commit(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    _push(api, folder)
    again = _push(api, folder)
    assert (again.commit, again.plan.upload, len(again.plan.skip)) == (None, (), 3)
    (folder / "data" / "b.parquet").rename(folder / "data" / "c.parquet")
    (folder / "data" / "a.parquet").write_bytes(_bytes(3, 50_000))  # as long as before
    done = _push(api, folder)
    assert [each.path for each in done.plan.upload] == ["data/a.parquet", "data/c.parquet"]
    assert done.plan.delete == (("data/b.parquet", 70_000),)
    repository = hub.repository("dataset", "ORG/x")
    assert repository.files()[2:] == ["data/a.parquet", "data/c.parquet"]
    assert repository.read("data/a.parquet") == _bytes(3, 50_000)
    assert hub.diary.receiving == 120_000 + 50_000  # c has b's content
    assert len(_titles(hub)) == 3


def test_a_dry_run_says_the_plan_and_touches_nothing(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    said: list[str] = []
    _push(api, folder, said, dry_run=True, public=True)
    assert hub.names("dataset") == []
    assert said[0] == (
        "dataset ORG/x: new, public; 3 to upload (120.0 kB), 0 unchanged, 0 to delete"
    )
    assert "  upload    50.0 kB  data/a.parquet" in said
    assert said[-1] == "  dry run: nothing was changed on the Hub"
    _push(api, folder)
    before = hub.repository("dataset", "ORG/x").resolve("main")
    (folder / "data" / "a.parquet").unlink()
    said.clear()
    _push(api, folder, said, dry_run=True)
    assert "  delete    50.0 kB  data/a.parquet" in said
    assert hub.repository("dataset", "ORG/x").resolve("main") == before


def test_files_are_named_when_that_is_asked_for(api: HfApi, folder: Path) -> None:
    said: list[str] = []
    _push(api, folder, said)
    assert len(said) == 1
    _push(api, folder, said, verbose=True)
    assert said[1:] == [
        "dataset ORG/x: private; 0 to upload (0 B), 3 unchanged, 0 to delete",
        "  skip         32 B  README.md",
        "  skip      50.0 kB  data/a.parquet",
        "  skip      70.0 kB  data/b.parquet",
    ]


def test_public_comes_after_the_files(api: HfApi, hub: hub_server.Hub, folder: Path) -> None:
    hub.fail("PUT .*/settings", status=500, times=1)
    assert _push(api, folder, public=True).public
    assert not hub.repository("dataset", "ORG/x").private
    commit = next(n for n, (name, _) in enumerate(hub.diary.requests) if "/commit/" in name)
    published = next(n for n, (name, _) in enumerate(hub.diary.requests) if "/settings" in name)
    assert published > commit


def test_what_is_up_to_date_may_become_public(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    _push(api, folder)
    said: list[str] = []
    done = _push(api, folder, said, public=True)
    (line,) = said
    assert line.startswith("dataset ORG/x: private, becomes public; 0 to upload")
    assert done.commit is None
    assert not hub.repository("dataset", "ORG/x").private
    assert _push(api, folder, said).public  # and stays so


def test_media_that_may_not_be_passed_on_stay_private(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    with pytest.raises(PushError, match="may not be public: its media may not"):
        _push(api, folder, public=True, closed=True)
    assert hub.names("dataset") == []
    _push(api, folder, closed=True)
    api.update_repo_settings("ORG/x", repo_type="dataset", private=False)
    (folder / "data" / "a.parquet").unlink()
    with pytest.raises(PushError, match=r"is public on the Hub.*Nothing was changed"):
        _push(api, folder, closed=True)
    assert len(_titles(hub)) == 2


def test_a_repository_of_somebody_else_is_not_overwritten(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    api.create_repo("ORG/x", repo_type="dataset")
    operation = CommitOperationAdd("theirs.csv", b"a,b\n")
    api.create_commit("ORG/x", [operation], commit_message="theirs", repo_type="dataset")
    with pytest.raises(PushError, match=r"not pushed by this program: it holds 'theirs.csv'"):
        _push(api, folder)
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes", "theirs.csv"]
    _push(api, folder, adopt=True)
    assert "theirs.csv" not in hub.repository("dataset", "ORG/x").files()


def test_a_card_leaves_the_files_beside_it_alone(
    api: HfApi, hub: hub_server.Hub, folder: Path, tmp_path: Path
) -> None:
    api.create_repo("ORG/model")
    operations = [CommitOperationAdd("w.bin", _bytes(1, 10)), CommitOperationAdd("README.md", b"x")]
    api.create_commit("ORG/model", operations, commit_message="theirs")
    card = tmp_path / "card"
    card.mkdir()
    (card / "README.md").write_text(CARD)
    target = Target(card, "ORG/model", "model", delete=False)
    with pytest.raises(PushError, match=r"it holds 'README.md' and 1 more.*--adopt$"):
        push(api, target)
    push(api, target, adopt=True)
    repository = hub.repository("model", "ORG/model")
    assert repository.files() == [".gitattributes", "README.md", "w.bin"]
    assert repository.read("README.md").decode() == CARD


def test_an_empty_repository_is_filled(api: HfApi, hub: hub_server.Hub, folder: Path) -> None:
    api.create_repo("ORG/x", repo_type="dataset", private=True)
    _push(api, folder)
    assert len(hub.repository("dataset", "ORG/x").files()) == 4


def test_a_space_of_another_kind_is_not_overwritten(api: HfApi, folder: Path) -> None:
    api.create_repo("ORG/x", repo_type="space", space_sdk="docker")
    (folder / "README.md").write_text("---\nsdk: gradio\n---\n")
    with pytest.raises(PushError, match="a Space of the kind 'docker', not 'gradio'"):
        push(api, Target(folder, "ORG/x", "space", "gradio"), adopt=True)


def test_a_space_that_was_made_but_not_filled_is_filled_later(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    (folder / "README.md").write_text("---\nsdk: gradio\ntitle: ours\n---\n")
    hub.fail("POST .*/commit/", status=507, times=1)
    target = Target(folder, "ORG/x", "space", "gradio")
    with pytest.raises(PushError, match="no room"):
        push(api, target)
    assert "README.md" in hub.repository("space", "ORG/x").files()  # the Hub's own
    push(api, target)
    assert b"title: ours" in hub.repository("space", "ORG/x").read("README.md")


def test_a_card_that_the_hub_refuses_stops_before_anything_is_sent(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    (folder / "README.md").write_text("---\nlicense: my own\n---\n")
    with pytest.raises(PushError, match=r"refuses the metadata of .*README.md.*my own"):
        _push(api, folder)
    assert hub.names("dataset") == []


@pytest.mark.parametrize(
    "where", ["GET /api/datasets/", "POST /api/repos/create", "PUT /storage/", "POST .*/commit/"]
)
def test_a_server_that_answers_500_three_times_is_asked_again(
    api: HfApi, hub: hub_server.Hub, folder: Path, where: str
) -> None:
    hub.fail(where, status=500, times=3)
    _push(api, folder)
    assert len(hub.repository("dataset", "ORG/x").files()) == 4
    assert len(_titles(hub)) == 2


def test_a_server_that_does_not_recover_leaves_nothing_visible(
    api: HfApi, hub: hub_server.Hub, folder: Path
) -> None:
    hub.fail("POST .*/commit/", status=500, times=None)
    with pytest.raises(PushError) as failed:
        _push(api, folder)
    assert str(failed.value).splitlines() == [
        "dataset ORG/x: the Hub cannot be reached, or does not recover (HTTP 500: it broke down)",
        "The repository was made, and is empty and private. 3 of 3 files (120.0 kB) are sent. "
        "Nothing of it is visible yet: the same command goes on from there.",
    ]
    assert hub.count("POST .*/commit/") == 1 + len(problems.WAITS)
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes"]
    hub.mend()
    _push(api, folder)
    assert hub.diary.receiving == 120_000


@pytest.mark.parametrize("status", [507, 413])
def test_a_full_disk_is_told_at_once(
    api: HfApi, hub: hub_server.Hub, folder: Path, status: int
) -> None:
    hub.fail("PUT /storage/", status=status, times=None, message="disk quota exceeded")
    with pytest.raises(PushError, match=f"no room for it .*HTTP {status}: disk quota exceeded"):
        _push(api, folder)
    assert hub.count("PUT /storage/") == 2  # each file once
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes"]


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    api: HfApi, hub: hub_server.Hub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, whole = [], HfApi.create_commit

    def lose(self: HfApi, *arguments: object, **options: object) -> object:
        info = whole(self, *arguments, **options)
        made.append(info)
        for operation in options["operations"]:
            operation._is_committed = False
        if len(made) == 1:
            raise ConnectionResetError("the answer was lost")
        return info

    monkeypatch.setattr(HfApi, "create_commit", lose)
    done = _push(api, folder)
    assert done.commit == hub.repository("dataset", "ORG/x").resolve("main")
    assert len(_titles(hub)) == 2


def test_a_push_of_somebody_else_in_between_is_not_overwritten(
    api: HfApi, hub: hub_server.Hub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _push(api, folder)
    (folder / "data" / "a.parquet").unlink()
    send = HfApi.preupload_lfs_files

    def meanwhile(self: HfApi, *arguments: object, **options: object) -> None:
        monkeypatch.setattr(HfApi, "preupload_lfs_files", send)
        operation = CommitOperationAdd("note.txt", b"theirs")
        self.create_commit("ORG/x", [operation], commit_message="theirs", repo_type="dataset")
        send(self, *arguments, **options)

    (folder / "more.txt").write_text("more")
    monkeypatch.setattr(HfApi, "preupload_lfs_files", meanwhile)
    with pytest.raises(PushError, match="somebody else has pushed to it in the meantime"):
        _push(api, folder)
    assert _titles(hub)[0] == "theirs"


def test_a_cut_connection_is_tried_again(api: HfApi, hub: hub_server.Hub, folder: Path) -> None:
    hub.cut("PUT /storage/", after=20_000, times=2)
    _push(api, folder)
    assert sorted(hub.diary.whole_uploads().values()) == [1, 1]
    assert hub.diary.receiving == 120_000 + 2 * 20_000


def test_a_link_out_of_the_folder_is_not_published(api: HfApi, folder: Path) -> None:
    (folder / "secret").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match="a link out of the folder"):
        _push(api, folder)


class TestTokens:
    """What is checked before anything is sent."""

    def test_no_token(self, hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("procedural_evals.hub.tokens.get_token", lambda: None)
        with pytest.raises(PushError, match=r"no token for http.*hf auth login"):
            open_session("ORG", HfApi(endpoint=hub.url))

    @pytest.mark.parametrize(
        ("token", "namespace", "said"),
        [
            ("hf_wrong", "ORG", r"does not know this token \(HTTP 401\).*hf auth login"),
            ("hf_reader", "ORG", r"may only read.*role `write`"),
            ("hf_stranger", "ORG", r"no member of 'ORG': --namespace is one of stranger"),
        ],
    )
    def test_a_token_that_will_not_do(
        self, hub: hub_server.Hub, token: str, namespace: str, said: str
    ) -> None:
        with pytest.raises(PushError, match=said):
            open_session(namespace, HfApi(endpoint=hub.url, token=token))

    def test_a_client_that_is_offline_is_not_asked_again(
        self, api: HfApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        monkeypatch.setattr(time, "sleep", pytest.fail)
        with pytest.raises(PushError, match=r"Unset HF_HUB_OFFLINE\nNothing was changed"):
            open_session("ORG", api)

    def test_a_hub_that_is_not_there(self, api: HfApi, hub: hub_server.Hub) -> None:
        hub.stop()
        with pytest.raises(PushError, match="the Hub cannot be reached"):
            open_session("ORG", api)

    def test_a_token_that_will_do(self, api: HfApi, hub: hub_server.Hub) -> None:
        hub.fail("GET /api/whoami-v2", status=503, times=2)
        assert open_session("ORG", api).name == "worker"


_CLIENT = """
import sys
from pathlib import Path
from procedural_evals.hub.push import push
from procedural_evals.hub.sending import Target
from procedural_evals.hub.tokens import open_session
push(open_session("ORG").api, Target(Path(sys.argv[1]), "ORG/x", "dataset"))
"""


@pytest.mark.slow
def test_ctrl_c_waits_for_what_is_under_way_and_a_second_one_does_not(
    hub: hub_server.Hub, tmp_path: Path
) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "README.md").write_text(CARD)
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_bytes(_bytes(ord(name[0]), 20_000_000))
    hub.slow("PUT /storage/", bytes_per_second=2_000_000)
    command = [sys.executable, "-c", _CLIENT, str(folder)]
    with subprocess.Popen(
        command, env=hub.environment(tmp_path / "home"), stderr=subprocess.PIPE, text=True
    ) as client:
        assert client.stderr is not None
        while not hub.diary.receiving:
            time.sleep(0.02)
        client.send_signal(signal.SIGINT)
        while "Ctrl-C again" not in client.stderr.readline():
            pass
        client.send_signal(signal.SIGINT)
        assert "Nothing of it is visible yet" in client.stderr.read()
    assert client.returncode == 130
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes"]


@pytest.mark.slow
def test_a_killed_upload_goes_on_where_it_was(hub: hub_server.Hub, tmp_path: Path) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "README.md").write_text(CARD)
    # A killed client's sockets hold megabytes that still come in: three files are larger.
    megabytes = (0.3, 0.6, 20, 22, 24)
    sizes = {f"{number}.parquet": int(size * 1e6) for number, size in enumerate(megabytes)}
    for number, (name, size) in enumerate(sizes.items()):
        (folder / name).write_bytes(_bytes(number, size))
    hub.slow("PUT /storage/", bytes_per_second=8_000_000)
    command = [sys.executable, "-c", _CLIENT, str(folder)]
    variables = hub.environment(tmp_path / "home")
    with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as client:
        deadline = time.monotonic() + 60
        while len(hub.diary.whole_uploads()) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        client.kill()
    while len(hub.diary.uploads) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)  # what is in the sockets' buffers still comes in
    done_before = hub.diary.whole_uploads()
    assert 2 <= len(done_before) < 5
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes"]
    hub.mend()
    subprocess.run(command, env=variables, check=True, capture_output=True)
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes", *sizes, "README.md"]
    assert set(hub.diary.whole_uploads().values()) == {1}
    broken_off = [upload for upload in hub.diary.uploads if not upload.whole]
    assert len(broken_off) == 5 - len(done_before)
    assert hub.diary.receiving == sum(sizes.values()) + sum(each.received for each in broken_off)
    assert not list((hub.store.folder / "datasets/ORG/x/uploading").iterdir())
