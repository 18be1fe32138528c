"""The local Hub against the real client: what other tests rely on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, HfFileSystem
from huggingface_hub.errors import (
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import _http

from tests import hub_server

CARD = b"---\nlicense: apache-2.0\n---\n# x\n"
LARGE = bytes(range(256)) * 400


@pytest.fixture
def api(hub: hub_server.Hub) -> HfApi:
    """The client of the user who writes to ORG."""
    return HfApi(endpoint=hub.url, token=hub.token)


def _add(**files: bytes) -> list[CommitOperationAdd]:
    return [CommitOperationAdd(name.replace("__", "."), content) for name, content in files.items()]


def _dataset(api: HfApi, **files: bytes) -> str:
    api.create_repo("ORG/x", repo_type="dataset", private=True)
    operations = _add(README__md=CARD, **files)
    return api.create_commit("ORG/x", operations, commit_message="one", repo_type="dataset").oid


def test_a_commit_holds_small_and_large_files(api: HfApi, hub: hub_server.Hub) -> None:
    sha = _dataset(api, data__parquet=LARGE)
    info = api.repo_info("ORG/x", repo_type="dataset", files_metadata=True)
    assert (info.sha, info.private, info.card_data["license"]) == (sha, True, "apache-2.0")
    found = {one.rfilename: one.lfs is not None for one in info.siblings}
    assert found == {".gitattributes": False, "README.md": False, "data.parquet": True}
    assert hub.repository("dataset", "ORG/x").read("data.parquet") == LARGE
    assert hub.diary.receiving == len(LARGE)


def test_what_is_there_is_not_sent_again(api: HfApi, hub: hub_server.Hub) -> None:
    _dataset(api, data__parquet=LARGE)
    operations = _add(README__md=CARD, data__parquet=LARGE, copy__parquet=LARGE)
    api.create_commit("ORG/x", operations, commit_message="two", repo_type="dataset")
    assert hub.count("PUT /storage/") == 1
    assert len(list(hub.repository("dataset", "ORG/x").history())) == 3


def test_parts_of_a_large_file_are_put_together(api: HfApi, hub: hub_server.Hub) -> None:
    hub.site.part_size = 30_000
    _dataset(api, data__parquet=LARGE)
    assert hub.count("PUT /storage/") == 4
    assert hub.repository("dataset", "ORG/x").read("data.parquet") == LARGE


def test_a_commit_that_names_a_file_that_never_came_is_refused(
    api: HfApi, hub: hub_server.Hub
) -> None:
    api.create_repo("ORG/x", repo_type="dataset")
    (operation,) = _add(data__parquet=LARGE)
    operation._upload_mode, operation._is_uploaded = "lfs", True
    with pytest.raises(HfHubHTTPError, match="does not exist"):
        api.create_commit("ORG/x", [operation], commit_message="one", repo_type="dataset")
    assert hub.repository("dataset", "ORG/x").files() == [".gitattributes"]


def test_a_file_is_read_by_a_client_with_a_cache_and_by_ranges(
    api: HfApi, hub: hub_server.Hub, tmp_path: Path
) -> None:
    _dataset(api, data__parquet=LARGE)
    path = api.hf_hub_download("ORG/x", "data.parquet", repo_type="dataset", cache_dir=tmp_path)
    assert Path(path).read_bytes() == LARGE
    files = HfFileSystem(endpoint=hub.url, token=hub.token, skip_instance_cache=True)
    with files.open("datasets/ORG/x/data.parquet", block_size=1000) as stream:
        stream.seek(70_000)
        assert stream.read(10) == LARGE[70_000:70_010]
    assert sorted(Path(name).name for name in files.ls("datasets/ORG/x", detail=False)) == [
        ".gitattributes",
        "README.md",
        "data.parquet",
    ]
    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download("ORG/x", "other", repo_type="dataset", cache_dir=tmp_path)
    with pytest.raises(RevisionNotFoundError):
        api.repo_info("ORG/x", repo_type="dataset", revision="other")


def test_a_private_repository_is_not_there_for_others(api: HfApi, hub: hub_server.Hub) -> None:
    _dataset(api)
    for token in (False, hub.stranger_token):
        with pytest.raises(RepositoryNotFoundError):
            api.repo_info("ORG/x", repo_type="dataset", token=token)
    assert [one.id for one in api.list_datasets(author="ORG")] == ["ORG/x"]
    assert list(api.list_datasets(token=False)) == []
    api.update_repo_settings("ORG/x", repo_type="dataset", private=False)
    assert [one.id for one in api.list_datasets(token=False)] == ["ORG/x"]


@pytest.mark.parametrize(
    ("token", "status"), [("hf_wrong", 401), ("hf_reader", 403), ("hf_stranger", 403)]
)
def test_who_may_not_write_is_refused(
    api: HfApi, hub: hub_server.Hub, token: str, status: int
) -> None:
    _dataset(api)
    api.update_repo_settings("ORG/x", repo_type="dataset", private=False)
    with pytest.raises(HfHubHTTPError) as refused:
        api.create_commit("ORG/x", _add(a__txt=b"a"), commit_message="no", token=token,
                          repo_type="dataset")  # fmt: skip
    assert refused.value.response.status_code == status
    with pytest.raises(HfHubHTTPError) as refused:
        api.create_repo("ORG/y", token=token)
    assert refused.value.response.status_code == status


def test_a_commit_on_an_old_parent_is_refused(api: HfApi, hub: hub_server.Hub) -> None:
    api.create_repo("ORG/x")
    old = hub.repository("model", "ORG/x").resolve("main")
    api.create_commit("ORG/x", _add(a__txt=b"a"), commit_message="one")
    with pytest.raises(HfHubHTTPError, match="412"):
        api.create_commit("ORG/x", _add(a__txt=b"b"), commit_message="two", parent_commit=old)
    operations = [CommitOperationDelete("a.txt"), *_add(b__txt=b"b")]
    api.create_commit("ORG/x", operations, commit_message="two")
    assert hub.repository("model", "ORG/x").files() == [".gitattributes", "b.txt"]


def test_a_pull_request_of_a_stranger_is_merged(api: HfApi, hub: hub_server.Hub) -> None:
    api.create_repo("ORG/model")
    api.create_commit("ORG/model", _add(a__txt=b"a\n"), commit_message="one")
    stranger = HfApi(endpoint=hub.url, token=hub.stranger_token)
    operations = [CommitOperationAdd("a.txt", b"b\n"), CommitOperationAdd("w.bin", LARGE)]
    made = stranger.create_commit(
        "ORG/model", operations, commit_message="Change a", commit_description="Why", create_pr=True
    )
    repository = hub.repository("model", "ORG/model")
    assert (made.pr_num, made.pr_revision) == (1, "refs/pr/1")
    assert repository.read("a.txt") == b"a\n"
    assert repository.read("w.bin", "refs/pr/1") == LARGE
    (found,) = api.get_repo_discussions("ORG/model")
    assert (found.title, found.author, found.status) == ("Change a", "stranger", "open")
    details = api.get_discussion_details("ORG/model", 1)
    assert [event.type for event in details.events] == ["comment", "commit"]
    assert "-a\n+b\n" in str(details.diff)
    api.comment_discussion("ORG/model", 1, "thanks")
    with pytest.raises(HfHubHTTPError, match="403"):
        stranger.merge_pull_request("ORG/model", 1)
    api.merge_pull_request("ORG/model", 1)
    assert repository.read("a.txt") == b"b\n"
    merged = api.get_discussion_details("ORG/model", 1)
    assert (merged.status, merged.merge_commit_oid) == ("merged", repository.resolve("main"))


def test_a_pull_request_that_clashes_is_not_merged(api: HfApi, hub: hub_server.Hub) -> None:
    api.create_repo("ORG/model")
    api.create_commit("ORG/model", _add(a__txt=b"a"), commit_message="theirs", create_pr=True)
    api.create_commit("ORG/model", _add(a__txt=b"b"), commit_message="ours")
    assert api.get_discussion_details("ORG/model", 1).conflicting_files == ["a.txt"]
    with pytest.raises(HfHubHTTPError, match="409"):
        api.merge_pull_request("ORG/model", 1)
    assert api.change_discussion_status("ORG/model", 1, "closed").new_status == "closed"


def test_a_leaderboard_reads_results_of_models(api: HfApi, hub: hub_server.Hub) -> None:
    api.create_repo("ORG/bench", repo_type="dataset")
    for name, value in (("one", 20.5), ("two", 30.0)):
        api.create_repo(f"ORG/{name}")
        text = f"- dataset: {{id: ORG/bench, task_id: all}}\n  value: {value}\n"
        operations = [CommitOperationAdd(".eval_results/bench.yaml", text.encode())]
        api.create_commit(f"ORG/{name}", operations, commit_message="r", create_pr=name == "two")
    rows = api.get_dataset_leaderboard("ORG/bench")
    assert [(row.model_id, row.value, row.pull_request) for row in rows] == [
        ("ORG/two", 30.0, 1),
        ("ORG/one", 20.5, None),
    ]
    assert api.model_info("ORG/one").eval_results[0].value == 20.5


def test_a_card_that_the_hub_would_refuse_is_refused(api: HfApi) -> None:
    api.create_repo("ORG/s", repo_type="space", space_sdk="gradio")
    card = b"---\nsdk: gradio\ncolorFrom: black\n---\n"
    with pytest.raises(ValueError, match="colorFrom"):
        api.create_commit("ORG/s", _add(README__md=card), commit_message="x", repo_type="space")


def test_long_trees_come_in_pages(api: HfApi, hub: hub_server.Hub) -> None:
    hub.site.page_size = 2
    api.create_repo("ORG/x")
    operations = [CommitOperationAdd(f"deep/er/{i}.txt", b"%d" % i) for i in range(5)]
    api.create_commit("ORG/x", operations, commit_message="one")
    found = [one.path for one in api.list_repo_tree("ORG/x", recursive=True)]
    assert len(found) == 8
    assert "deep/er" in found
    (entry,) = api.get_paths_info("ORG/x", ["deep/er/3.txt"], expand=True)
    assert entry.last_commit.title == "one"


def test_a_server_that_fails_three_times_is_asked_again(
    api: HfApi, hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(_http.time, "sleep", waits.append)
    hub.fail("PUT /storage/", status=500, times=3)
    _dataset(api, data__parquet=LARGE)
    assert hub.count("PUT /storage/") == 4
    assert len(waits) == 3
    hub.fail("POST .*/commit/", status=507, message="no space left")
    with pytest.raises(HfHubHTTPError, match="no space left"):
        api.create_commit("ORG/x", _add(a__txt=b"a"), commit_message="two", repo_type="dataset")


def test_an_answer_may_come_late(api: HfApi, hub: hub_server.Hub) -> None:
    hub.delay("GET /api/whoami-v2", seconds=0.2, times=1)
    started = time.monotonic()
    assert api.whoami()["name"] == "worker"
    assert time.monotonic() - started >= 0.2


def test_a_cut_upload_is_counted_and_leaves_nothing(
    api: HfApi, hub: hub_server.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_http.time, "sleep", lambda seconds: None)
    hub.cut("PUT /storage/", after=1000)
    _dataset(api, data__parquet=LARGE)
    first, second = hub.diary.uploads
    assert (first.whole, first.received) == (False, 1000)
    assert (second.whole, second.received) == (True, len(LARGE))


def test_a_stopped_hub_goes_on_from_its_folder(api: HfApi, hub: hub_server.Hub) -> None:
    sha = _dataset(api, data__parquet=LARGE)
    hub.stop()
    with hub_server.running(hub.store.folder) as again:
        info = HfApi(endpoint=again.url, token=again.token).repo_info("ORG/x", repo_type="dataset")
        assert info.sha == sha


@pytest.mark.slow
def test_the_program_serves_and_load_dataset_reads(tmp_path: Path) -> None:
    command = [sys.executable, "tests/hub_server.py", str(tmp_path / "hub")]
    root = Path(hub_server.__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            lines = [server.stdout.readline().split("=", 1)[1].strip() for _ in range(3)]
            api_url, token = lines[:2]
            assert httpx.get(f"{api_url}/api/whoami-v2").status_code == 401
            code = (
                "import datasets\n"
                "datasets.Dataset.from_dict({'a': [1, 2]}).push_to_hub('ORG/x', private=True)\n"
                "print(datasets.load_dataset('ORG/x', split='train')['a'][:])\n"
            )
            variables = hub_server.environment(api_url, token, tmp_path / "home")
            done = subprocess.run(
                [sys.executable, "-c", code],
                env=variables,
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stdout.strip().endswith("[1, 2]")
        finally:
            server.terminate()
