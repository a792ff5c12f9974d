"""The view Paper and the win rates in a real browser: switches, clicks, an upload, a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.page_words import says
from tests.ui.conftest import address, open_fold, open_view

pytestmark = [pytest.mark.browser, pytest.mark.long]
GRADE, CREATION = "Rotated options", "Against a baseline"


def grade_reply(planned, rng) -> str:
    option = 1 if planned.ask.judge == "first" else 1 + planned.ask.shown.index("rank-1")
    return f"Selection: Option {option}\nExplanation: the most helpful."


def creation_reply(planned, rng) -> str:
    label = "A>B" if planned.ask.shown[0] == "base" else "B>>A"
    return f"Final Verdict is: [[{label}]]"


@pytest.fixture(scope="module")
def filled(app, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two small studies in the store of the running page."""
    folder = tmp_path_factory.mktemp("items")
    store = Store(app.store)
    options = [
        {"id": f"q{n}", "instruction": f"Question {n}?",
         "responses": {f"rank-{k}": f"answer {k} to {n}" for k in (1, 2, 3)}}
        for n in range(6)
    ]  # fmt: skip
    texts = [
        {"id": f"t{n}", "instruction": f"Write text {n}.", "category": "ab"[n % 2],
         "responses": {name: f"{name} {n} " * (n + 1) for name in ("base", "x", "y", "z")},
         "criteria": {"subjective": "tone"}}
        for n in range(6)
    ]  # fmt: skip
    answered(store, {
        "name": GRADE, "preset": "grade-score", "prompts": ["grade-simple", "grade-debias"],
        "data": {"source": str(write_items(folder / "options.jsonl", options))},
        "judges": [endpoint("steady"), endpoint("first")],
    }, grade_reply)  # fmt: skip
    answered(store, {
        "name": CREATION, "preset": "creation-mmbench", "prompts": ["creation-subjective"],
        "data": {"source": str(write_items(folder / "texts.jsonl", texts))}, "baseline": "base",
        "judge_sees": "context", "judges": [endpoint("gpt")],
    }, creation_reply)  # fmt: skip
    yield
    store.close()


def overflow(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_a_switch_redraws_the_heatmap_and_a_cell_opens_its_replies(visit, filled):
    page = visit(f"study={GRADE}&tab=results&view=Paper")
    page.wait_for_selector("#eh-heatmap td button")
    assert "chance at N = 3: 0.58" in page.locator("#eh-heatmap").inner_text()
    assert page.locator("#eh-grades-printed td.flag").count() == 15
    page.locator("[data-control] label", has_text="Above chance").click()
    # always first: (0 − .58)/(1 − .58)
    page.wait_for_function("document.querySelector('#eh-heatmap').innerText.includes('−1.38')")
    page.wait_for_function("location.search.includes('score=Above')")
    assert not page.locator("#eh-board").is_visible()  # another protocol's panel
    page.locator("#eh-heatmap td button:visible", has_text="−1.38").first.click()
    page.wait_for_function("location.search.includes('tab=inspect')")
    page.wait_for_function("document.querySelectorAll('.eh-menu.on').length >= 2")
    chosen = page.locator(".eh-menu.on select").evaluate_all("all => all.map(one => one.value)")
    assert {"first", "grade-simple"} <= set(chosen)


def test_an_uploaded_table_is_drawn_beside_the_study(visit, filled, tmp_path):
    scores = tmp_path / "scores.csv"
    page = visit(f"study={CREATION}&tab=results&view=Paper")
    page.wait_for_selector("#eh-creation .eh-stack")
    assert "x" in page.locator("#eh-creation .eh-link").first.inner_text()
    scores.write_text("model,benchmark\nx,B\n", encoding="utf-8")
    with page.expect_file_chooser() as chosen:
        page.locator("#eh-scores").click()
    chosen.value.set_files(scores)
    page.get_by_text("missing: score").wait_for()
    scores.write_text("model,benchmark,score\nx,MMMU,61\ny,MMMU,48\nz,MMMU,52\n", encoding="utf-8")
    with page.expect_file_chooser() as chosen:
        page.locator("#eh-scores").click()
    chosen.value.set_files(scores)
    page.wait_for_selector("#eh-scatter .main-svg")
    assert says(page.locator("#eh-redundancy").inner_text(), "3 of 3", "table")
    assert "scores" not in address(page)


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_protocol_and_win_rates_fit_a_phone(visit, filled, theme):
    page = visit(f"study={CREATION}&tab=results&view=Paper", width=390, theme=theme)
    page.wait_for_selector("#eh-creation .eh-stack")
    assert overflow(page) <= 0
    open_view(page, "Ranking")
    open_fold(page, "Win rates by category")
    page.wait_for_selector("#eh-rates .eh-grid")
    assert overflow(page) <= 0
    open_view(page, "Nudges")
    page.wait_for_selector("#eh-length .main-svg")
    assert overflow(page) <= 0
    assert re.search(r"wins \d+\s*%", page.locator(".eh-finding h1:visible").first.inner_text())
