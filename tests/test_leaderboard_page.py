"""The leaderboard in a real browser: sorted, filtered, compared, on a phone and in the dark."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from procedural_evals.hub import leaderboard_app
from tests.browser import DESKTOP, PHONE, browser, needs_browser, new_page
from tests.leaderboard_runs import choice_records, submission_of, write_run
from tests.pages import served

pytestmark = [pytest.mark.slow, needs_browser]

GOOD = [True, True, False, True] * 10
BAD = [True, False, False, False] * 10
HOSTILE = "<img src=x onerror='window.attacked=1'><script>window.attacked=1</script>"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    write_run(folder, "lab/good", GOOD)
    write_run(folder, "lab/bad", BAD)
    write_run(folder, "lab/other-data", BAD, revision="another@ffffffffffff")
    write_run(folder, "lab/simulated", [True] * 40, task="flatpack_bench_sample", simulated=True)
    records = [
        {"id": HOSTILE if n == 0 else f"{n:03d}", "cluster": f"v{n}", "category": HOSTILE}
        | {"kind": "choice", "failure": None, "reply": HOSTILE, "letter": "C", "reason": None}
        | {"num_options": 4, "gold": "B", "template": "t@0", "score": 0.0}
        for n in range(8)
    ]
    for number in range(2):
        write_run(
            folder,
            f"lab/hostile-{number}",
            [],
            task="flatpack_bench_blind",
            records=[r | {"score": 100.0 * ((n + number) % 2)} for n, r in enumerate(records)],
            model_args=HOSTILE,
            parser=HOSTILE,
            judges=(HOSTILE,),
            revision=HOSTILE,
            versions={"procedural-evals": HOSTILE, "lmms-eval": HOSTILE},
        )
    many = tmp_path_factory.mktemp("many")
    one = submission_of("lab/model", choice_records(GOOD), "flatpack_bench")
    for number in range(1000):
        made = replace(one, model=f"lab/model-{number:04d}", value=number / 10)
        (many / made.folder).mkdir(parents=True)
        (many / made.folder / "submission.json").write_text(made.to_json())
    pages = {
        "board": leaderboard_app.page(leaderboard_app.Results(lambda: folder)),
        "many": leaderboard_app.page(leaderboard_app.Results(lambda: many)),
        "plain": leaderboard_app.page(leaderboard_app.Results(lambda: None)),
    }
    with served(
        {name: (blocks, leaderboard_app.options()) for name, blocks in pages.items()}
    ) as at:
        yield at


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def desktop(chromium):
    return new_page(chromium)


def visit(tab, address, board="flatpack_bench", name="board"):
    tab.goto("about:blank")
    tab.goto(f"{address}/{name}/#{board}")
    tab.wait_for_selector(".pe .meanings")
    return tab


def models(tab, within=".tables > div:first-of-type"):
    return tab.locator(f"{within} tbody th.model .name").all_inner_texts()


def column(tab, place):
    """The numbers of a column from the top; rows without one have to come last."""
    cells = tab.locator(f".tables > div:first-of-type tbody tr > td:nth-child({place})")
    texts = [text.split("\n")[0] for text in cells.all_inner_texts()]
    given = [text for text in texts if text != "–"]
    assert texts == given + ["–"] * (len(texts) - len(given))
    return [float(text) for text in given]


def test_published_and_submitted_rows_stand_in_one_table(desktop, address):
    visit(desktop, address)
    found = models(desktop)
    assert found[:2] == ["Human", "lab/good"]
    assert {"GPT-5", "Random guess", "lab/bad"} <= set(found)
    good = desktop.locator('tr[data-id*="lab/good"]')
    assert "75.00" in good.inner_text()
    assert good.locator(".whisker").count() == 1
    published = desktop.locator("tr.published").first
    assert published.locator(".whisker").count() == 0
    assert published.locator(".dot.hollow").count() == 1
    assert "published, without an interval" in desktop.locator(".legend").inner_text()


def test_simulated_rows_never_stand_among_real_ones(desktop, address):
    visit(desktop, address)
    assert "lab/simulated" not in models(desktop)
    assert models(desktop, ".simulated") == ["lab/simulated"]
    assert "nothing about real video" in desktop.locator(".simulated").inner_text()


def test_a_column_sorts_both_ways_by_mouse_and_by_keyboard(desktop, address):
    visit(desktop, address)
    header = desktop.locator('[data-sort="accuracy:tloc"]').first
    header.click()
    values = column(desktop, 6)
    assert values == sorted(values, reverse=True)
    assert len(values) > 8
    sorted_by = desktop.locator('th[aria-sort="descending"]').first
    assert sorted_by.inner_text().startswith("Location")
    assert desktop.evaluate("document.activeElement.dataset.sort") == "accuracy:tloc"
    desktop.keyboard.press("Enter")
    assert column(desktop, 6) == sorted(values)
    desktop.locator('[data-sort="model"]').first.click()
    assert models(desktop) == sorted(models(desktop), key=str.lower)


def test_filters_narrow_the_rows_and_say_so_when_nothing_is_left(desktop, address):
    visit(desktop, address)
    desktop.fill("#query", "qwen")
    assert models(desktop) == ["Qwen2.5-VL-72B"]
    assert desktop.locator("p.count").inner_text() == "1 of 12 rows"
    assert desktop.evaluate("document.activeElement.id") == "query"
    desktop.select_option('[name="origin"]', "submitted")
    assert desktop.locator(".tables .empty").first.inner_text().startswith("None of the 12 rows")
    desktop.click("text=Clear the filters")
    desktop.select_option('[name="access"]', "API")
    assert models(desktop) == ["GPT-5", "Gemini 2.5 Pro"]
    desktop.select_option('[name="access"]', "")
    desktop.select_option('[name="task"]', "blind")
    assert sorted(models(desktop)) == ["lab/hostile-0", "lab/hostile-1"]


def test_details_give_every_kind_and_what_the_number_rests_on(desktop, address):
    visit(desktop, address)
    desktop.click('[data-open*="lab/good"]')
    shown = desktop.locator("tr.details").inner_text()
    for text in ("Mating", "questions.jsonl@0123456789ab", "lmms-eval 0.7.3", "2026-11-02"):
        assert text in shown
    assert desktop.locator("tr.details .bar .whisker").count() == 5
    link = desktop.locator("tr.details a", has_text="items.jsonl")
    assert link.get_attribute("href").startswith("https://huggingface.co/datasets/lab/traces/")
    assert desktop.locator('[data-open*="lab/good"]').get_attribute("aria-expanded") == "true"


def test_another_view_shows_the_number_by_another_kind_of_question(desktop, address):
    visit(desktop, address, "procobject_10k")
    first = column(desktop, 6)
    desktop.click("text=Needle")
    assert "IoU, Needle" in desktop.locator(".plotted").first.inner_text()
    assert 33.6 in column(desktop, 6) != first


def test_two_rows_are_compared_with_interval_p_value_and_items(desktop, address):
    visit(desktop, address)
    desktop.check('tr[data-id*="lab/good"] input')
    assert desktop.locator(".choice .primary").is_disabled()
    desktop.check('tr[data-id*="lab/bad"] input')
    desktop.click(".choice .primary")
    dialog = desktop.locator("dialog")
    dialog.locator(".big").wait_for()
    text = dialog.inner_text()
    assert "−50.00" in text
    assert re.search(r"95 % interval −\d+\.\d\d to −\d+\.\d\d", text)
    assert "A is better, and the interval does not hold 0 (p" in text
    assert "item-001" in text
    desktop.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_rows_on_other_data_are_refused_in_words(desktop, address):
    visit(desktop, address)
    desktop.check('tr[data-id*="lab/good"] input')
    desktop.check('tr[data-id*="other-data"] input')
    desktop.click(".choice .primary")
    alert = desktop.locator('dialog [role="alert"]')
    alert.wait_for()
    assert "dataset revision" in alert.inner_text()


def test_no_text_of_a_submission_is_read_as_html(desktop, address):
    visit(desktop, address)
    desktop.click('[data-open*="hostile-0"]')
    assert "<script>window.attacked=1</script>" in desktop.locator("tr.details").inner_text()
    for number in range(2):
        desktop.check(f'tr[data-id*="hostile-{number}"] input')
    desktop.click(".choice .primary")
    desktop.locator("dialog .big").wait_for()
    assert HOSTILE in desktop.locator("dialog").inner_text()
    assert desktop.locator(".pe img, .pe script").count() == 0
    assert desktop.evaluate("window.attacked") is None


def test_tabs_are_walked_by_arrow_keys_and_named_in_the_address(desktop, address):
    visit(desktop, address)
    desktop.focus('[role="tab"][aria-selected="true"]')
    desktop.keyboard.press("ArrowRight")
    assert desktop.locator('[role="tab"][aria-selected="true"]').inner_text() == "ProMQA-Assembly"
    assert desktop.url.endswith("#promqa_assembly")
    assert desktop.evaluate("document.activeElement.id") == "tab-promqa_assembly"


def test_a_board_without_results_says_what_to_do(desktop, address):
    visit(desktop, address, "promqa_cooking", "plain")
    text = desktop.locator(".empty").inner_text()
    assert "No result yet" in text
    assert "upload.py submit" in text


def test_a_thousand_rows_sort_at_once(desktop, address):
    visit(desktop, address, name="many")
    assert len(models(desktop)) == 100
    took = desktop.evaluate(
        """() => { const start = performance.now();
        document.querySelector('[data-sort="accuracy:mate"]').click();
        document.body.offsetHeight; return performance.now() - start; }"""
    )
    assert took < 2000  # a tenth of it on a machine with nothing else to do
    desktop.click("text=Show 200 more of 907 rows")
    assert len(models(desktop)) == 300


@pytest.mark.parametrize("board", ["flatpack_bench", "procobject_10k", "dyad_step"])
def test_a_phone_never_scrolls_the_page_sideways(chromium, address, board):
    tab = visit(new_page(chromium, PHONE), address, board)
    if board == "flatpack_bench":
        first = tab.locator("tbody tr").first.locator("td.number.active").bounding_box()
        assert first["x"] + first["width"] <= PHONE["width"], "the sorted number is in sight"
        tab.click('[data-open*="lab/good"]')
        tab.check('tr[data-id*="lab/good"] input')
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    tab.close()


CONTRAST = """() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll(".pe *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.getClientRects().length || node.disabled) continue;
    const both = [light(rgb(getComputedStyle(node).color)), light(ground(node))];
    const [a, b] = both.sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.className, node.textContent.slice(0, 40)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_all_text_has_contrast(chromium, address, dark):
    tab = visit(new_page(chromium, DESKTOP, dark), address)
    tab.click('[data-open*="lab/good"]')
    tab.check('tr[data-id*="lab/good"] input')
    tab.check('tr[data-id*="lab/bad"] input')
    tab.mouse.move(0, 0)
    tab.wait_for_timeout(300)  # for colours that change slowly
    found = tab.evaluate(CONTRAST)
    assert len(found) > 100
    assert found[0][0] >= 4.5, found[:3]
    body = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (body == "rgb(16, 23, 30)") == dark
    tab.close()
