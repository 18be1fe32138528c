"""Where files are looked for, what is refused, and what the messages say."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from procedural_evals import builders, sources
from tests.numbered_clips import write_clip

REPOS = (sources.HubRepo("authors/benchmark", ("questions/**",)),)


def test_a_given_folder_goes_first(tmp_path, monkeypatch):
    (tmp_path / "root" / "bench").mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path / "root"))
    found = sources.resolve("bench", REPOS, data_dir=tmp_path / "mine")
    assert (found.folder, found.origin) == (tmp_path / "mine", "data_dir")


def test_then_the_environment(tmp_path, monkeypatch):
    (tmp_path / "bench").mkdir()
    monkeypatch.setenv(sources.DATA_VARIABLE, str(tmp_path))
    assert sources.resolve("bench", REPOS).folder == tmp_path / "bench"


def test_a_relative_folder_becomes_absolute(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert sources.local_folder("bench", "mine") == tmp_path / "mine"


def test_a_given_folder_that_is_none_is_named():
    with pytest.raises(FileNotFoundError, match="'/no/such/folder' is not a folder"):
        sources.local_folder("bench", "/no/such/folder")


def test_without_files_or_network_the_ways_out_are_named(monkeypatch, tmp_path):
    monkeypatch.delenv(sources.DATA_VARIABLE, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(FileNotFoundError) as error:
        sources.resolve("bench", REPOS)
    message = str(error.value)
    assert "unset" in message
    assert "hf download authors/benchmark --repo-type dataset" in message
    assert 'load_dataset("bench", "sample")' in message


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../../x", "videos/..", "a\x00b", "//server/share"]
)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="leaves the data folder"):
        sources.inside(tmp_path, name)
    media = sources.find_media(tmp_path, [name])
    assert media.path is None
    assert media.problem.startswith("refused")


@given(st.text(max_size=30))
def test_no_name_ever_leads_outside(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    try:
        path = sources.inside(folder, name)
    except ValueError:
        return
    assert os.path.commonpath([folder, os.path.normpath(path)]) == str(folder)


def test_a_link_to_another_disk_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "a.mp4").write_bytes(b"video")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "videos").symlink_to(tmp_path / "disk")
    assert sources.find_media(tmp_path / "data", ["videos/a.mp4"]).problem is None


def test_the_first_place_with_a_file_is_taken_and_an_empty_file_is_named(tmp_path):
    (tmp_path / "b.mp4").write_bytes(b"video")
    assert sources.find_media(tmp_path, ["a.mp4", "b.mp4"]).path == tmp_path / "b.mp4"
    (tmp_path / "a.mp4").write_bytes(b"")
    assert sources.find_media(tmp_path, ["a.mp4", "b.mp4"]).problem == "empty: a.mp4 has no bytes"
    assert sources.find_media(tmp_path, ["c.mp4", "d.mp4"]).problem == (
        "missing: no c.mp4 (nor in 1 other place)"
    )
    assert sources.find_media(tmp_path, ["c.mp4", "d.mp4", "e.mp4"]).problem == (
        "missing: no c.mp4 (nor in 2 other places)"
    )


def test_the_fingerprint_sees_files_that_come_go_and_change(tmp_path):
    seen = {sources.fingerprint(tmp_path)}
    (tmp_path / "a").write_text("1")
    seen.add(sources.fingerprint(tmp_path))
    (tmp_path / "a").write_text("12")
    seen.add(sources.fingerprint(tmp_path))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_text("1")
    seen.add(sources.fingerprint(tmp_path))
    assert len(seen) == 4
    assert sources.fingerprint(tmp_path) in seen


def test_the_fingerprint_sees_what_changes_behind_a_linked_folder(tmp_path):
    disk, data = tmp_path / "disk", tmp_path / "data"
    (disk / "deep").mkdir(parents=True)
    data.mkdir()
    (data / "videos").symlink_to(disk)
    seen = {sources.fingerprint(data)}
    (disk / "deep" / "a.mp4").write_bytes(b"1")
    seen.add(sources.fingerprint(data))
    (disk / "deep" / "a.mp4").write_bytes(b"12")
    seen.add(sources.fingerprint(data))
    assert len(seen) == 3


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("1")
    (tmp_path / "a" / "b" / "back").symlink_to(tmp_path)
    (tmp_path / "c").symlink_to(tmp_path / "a" / "b")
    before = sources.fingerprint(tmp_path)
    assert before == sources.fingerprint(tmp_path)
    (tmp_path / "a" / "b" / "file").write_text("12")
    assert before != sources.fingerprint(tmp_path)
    names = [str(path.relative_to(tmp_path)) for path in sources.files_below(tmp_path)]
    assert sum(name.endswith("file") for name in names) == 1


def test_a_repaired_file_is_sound_at_once(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"no picture")
    assert "not a readable picture" in builders.picture_problem(picture)
    Image.new("RGB", (4, 4)).save(picture)
    assert builders.picture_problem(picture) is None
    film = tmp_path / "a.mp4"
    film.write_bytes(b"no film")
    assert "damaged: a.mp4" in builders.video_problem(film)
    write_clip(film, 5)
    assert builders.video_problem(film) is None


def test_a_file_that_did_not_change_is_read_once(tmp_path):
    read = []
    length = builders.per_version(lambda path: read.append(path) or len(path.read_bytes()))
    (tmp_path / "a").write_bytes(b"1")
    assert [length(tmp_path / "a"), length(tmp_path / "a")] == [1, 1]
    assert len(read) == 1
    (tmp_path / "a").write_bytes(b"12")
    assert length(tmp_path / "a") == 2
