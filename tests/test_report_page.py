"""The page of a run: whole, safe to open, and good to look at on any screen."""

import re
from xml.etree import ElementTree

import pytest

from procedural_evals.harness import summaries
from procedural_evals.harness.judging import JUDGE_VARIABLE
from procedural_evals.harness.open_scores import grade_scale
from procedural_evals.harness.report import report
from procedural_evals.harness.table_row import Row, Table
from procedural_evals.judge.rubric import load_rubric
from procedural_evals.reporting import figures, render
from procedural_evals.reporting.page import Item, Option, Page, Section, Shortfall
from tests import comparison_records as made
from tests.browser import DESKTOP, PHONE, needs_browser, page
from tests.lmms import baseline, procedural_evals, run

HOSTILE = "<script>document.title='owned'</script>"


def hostile_page():
    """A page in which every text that a model, a judge or a file could write is hostile."""
    item = Item(
        id=HOSTILE,
        why=HOSTILE,
        tone="bad",
        facts={"video": HOSTILE},
        question=HOSTILE,
        options=(Option("A", HOSTILE, right=True, said=False),),
        answers=(HOSTILE,),
        reply=f"```\n{HOSTILE}",
        judge_words=((HOSTILE, HOSTILE),),
        prompt=HOSTILE,
        problem=HOSTILE,
    )
    row = Row("all", 3, 50.0, 0.0, 100.0, {"random": 25.0})
    section = Section(
        task="t",
        heading=HOSTILE,
        headline=row,
        counts=HOSTILE,
        figure=figures.whiskers([figures.Whisker(HOSTILE, 50.0, 0.0, 100.0)], HOSTILE),
        table=Table(["", HOSTILE], [["all", HOSTILE]]),
        notes=(HOSTILE,),
        shortfalls={"failed": Shortfall(1, (HOSTILE,))},
        items=(item,),
        settings=((HOSTILE, HOSTILE),),
    )
    return Page(HOSTILE, HOSTILE, "", "f_results.json", ((HOSTILE, HOSTILE),), (section,))


def test_no_text_of_a_run_becomes_markup(tmp_path):
    html = render.as_html(hostile_page())
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 10
    (tmp_path / render.FILES).mkdir()
    markdown = render.as_markdown(hostile_page(), tmp_path)
    outside = re.sub(r"(?ms)^(`{3,})$.*?^\1$", "", markdown)
    outside = re.sub(r"`[^`\n]*`", "", outside)
    assert "<script" not in outside


def test_a_code_block_ends_where_the_reply_ends():
    assert render.quoted("a ```` b").splitlines() == ["`````", "a ```` b", "`````"]


@pytest.mark.parametrize(
    "svg",
    [
        figures.whiskers([figures.Whisker("a & b", 140.0, -3.0, 120.0)], "x", {"<r>": 25.0}),
        figures.whiskers([figures.Whisker("published", 33.0, kind="published")], "x"),
        figures.evidence([[0, 1.5]], [[1.0, 300.0], [-2.0, 1.0]], 10.0),
        figures.evidence([], [], 0.0),
        figures.ribbons({"s&1": (["gear", None, "gear"], [None, "odd", "gear"])}, ["gear"]),
    ],
)
def test_figures_are_well_formed_and_stay_on_their_canvas(svg):
    root = ElementTree.fromstring(svg)
    width = float(root.get("width"))
    for shape in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(shape.get(name, 0)) <= width, (shape.tag, name)
        assert float(shape.get("width", 0)) >= 0


def test_a_published_row_without_an_interval_has_no_whisker():
    svg = figures.whiskers([figures.Whisker("GPT-5", 37.7, kind="published")], "accuracy")
    assert 'class="published" stroke-width="2" r=' in svg
    assert "stroke-linecap" not in svg


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page of a real run on the samples, and what the command printed."""
    folder = tmp_path_factory.mktemp("report")
    tasks = "flatpack_bench_sample,procobject_10k_sample,dyad_mode_sample"
    offline = ("--judge", "lexical", "--encoder", "none")
    run(folder / "results", tasks, *offline, *baseline("random", seed=1))
    done = procedural_evals("report", folder / "results", "--out", folder / "page", "--items", 6)
    assert done.returncode == 0, done.stderr
    return folder / "page", done.stdout


@pytest.mark.slow
def test_the_page_of_a_run_shows_its_items_with_their_pictures(written):
    folder, printed = written
    assert [line.rsplit("/", 1)[1] for line in printed.split()] == ["report.html", "report.md"]
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert html.count("<article") == 3 * 6
    assert html.count("data:image/jpeg;base64,") > 3 * 6
    assert "No pictures" not in html
    assert "visual prompt A" in html
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", html), "the file needs nothing beside it"


@pytest.mark.slow
def test_every_picture_that_the_markdown_names_is_there_and_none_else(written):
    folder, _ = written
    text = (folder / "report.md").read_text(encoding="utf-8")
    named = set(re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text))
    found = {str(file.relative_to(folder)) for file in (folder / render.FILES).iterdir()}
    assert named == found
    assert len(found) > 30


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(("screen", "dark"), [(DESKTOP, False), (PHONE, True)])
def test_the_page_fits_the_screen_and_takes_its_colours(written, screen, dark):
    folder, _ = written
    with page(screen, dark) as browser:
        browser.goto((folder / "report.html").as_uri())
        assert browser.evaluate("document.documentElement.scrollWidth") <= screen["width"]
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 150) == dark
        broken = "[...document.images].filter(i => !i.naturalWidth).length"
        assert browser.evaluate(broken) == 0


# ---- what is said of judged answers -----------------------------------------------------------


@pytest.fixture
def lexical(monkeypatch, tmp_path):
    monkeypatch.setenv(JUDGE_VARIABLE, "lexical")
    monkeypatch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path / "cache"))


def test_the_encoder_is_named_only_where_there_are_similarities(lexical):
    encoded = {"encoder": "packaged"}
    judged = [record | encoded for record in made.judged(n=4)]
    grounded = [record | encoded for record in made.grounded(n=4)]
    assert "similarities" not in summaries.counts(judged)
    assert "; similarities by packaged" in summaries.counts(grounded)


def test_mean_grades_say_what_the_grades_are(lexical, tmp_path):
    file = made.write_run(tmp_path / "run", {"open": made.judged(n=4)}, judgements=False)
    assert "mean grades (0 to 2) by lexical@1|promqa_ternary@1: " in report(file)


def test_the_grades_of_other_words_than_ours_are_unknown():
    rubric = load_rubric("procobject_four_dimensions")
    assert grade_scale(f"gpt|{rubric.id}|2", rubric.name) == "0 to 5"
    other = f"gpt|{rubric.name}@1:000000000000|2"
    assert grade_scale(other, rubric.name) == "of a rubric that is not here"
