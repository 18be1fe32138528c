"""The same files are the same data, whether they lay here or came from the Hub."""

import pytest

from procedural_evals.harness.conditions import contrasts
from procedural_evals.harness.pairing import pair
from procedural_evals.hub.benchmarks import Benchmark, misfits
from procedural_evals.hub.submit import Prepared
from procedural_evals.revisions import content_of, revision_of
from procedural_evals.sources import Source

from .comparison_records import choice
from .leaderboard_runs import choice_records, submission_of

COMMITS = {"authors/bench": "4f1c2ba", "authors/bench-misc": "77aa01c"}


@pytest.fixture
def text(tmp_path):
    """The revision of a folder with these questions, downloaded or not."""

    def made(questions, origin="data_dir", commits=None):
        folder = tmp_path / origin
        folder.mkdir(exist_ok=True)
        (folder / "questions.jsonl").write_text(questions)
        return revision_of(Source(folder, origin, commits or {}), [folder / "questions.jsonl"])

    return made


def test_a_download_and_a_copy_of_its_files_are_the_same_data(text):
    here, downloaded = text("Why?"), text("Why?", "hub", COMMITS)
    assert downloaded.startswith("authors/bench@4f1c2ba, authors/bench-misc@77aa01c, hub:")
    assert content_of(here) == content_of(downloaded)
    assert content_of(here) != content_of(text("How?", "hub", COMMITS))


def misfit(run, built):
    given = submission_of("acme/one", choice_records([True]), "flatpack_bench", revision=run)
    config = {"revisions": [built], "splits": {"test": {"rows": 1}}}
    there = Benchmark(given.dataset, "c0ffee", ("flatpack_bench",), {"default": config})
    reasons = misfits([Prepared(given, "", ())], {given.dataset: there})
    return "".join(map(str, reasons))


def test_a_run_on_a_copy_fits_a_benchmark_that_was_built_from_a_download(text):
    run = content_of(text("Why?"))
    assert misfit(run, text("Why?", "hub", COMMITS)) == ""
    assert "was run on questions.jsonl@" in misfit(run, text("How?", "hub", COMMITS))


@pytest.mark.parametrize(
    ("run", "built", "way_out"),
    [
        ("questions.jsonl@6bba29beee6a", "authors/bench@4f1c2ba", "build lab/flatpack-bench again"),
        ("authors/bench@4f1c2ba", "hub:questions.jsonl@6bba29beee6a", "run flatpack_bench again"),
    ],
)
def test_a_commit_alone_says_nothing_about_the_files_and_the_way_out_is_named(run, built, way_out):
    assert way_out in misfit(run, built)


def test_runs_on_a_download_and_on_a_copy_are_compared(text):
    def of(revision):
        return [{**record, "revision": revision} for record in choice(8)]

    here = of(text("Why?"))
    assert contrasts(pair(here, of(text("Why?", "hub", COMMITS)))) == ()
    (other,) = contrasts(pair(here, of(text("How?", "hub", COMMITS))))
    assert (other.setting, other.refuses) == ("dataset revision", True)
