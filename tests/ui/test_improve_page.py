"""The card "Improve the prompt" in a real browser: from labels to the result, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from judges.planning.plan import make_plan
from studies.spec.study import load_study
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.operations.test_align_answers import LenientJudge, passes, write_study
from tests.judges.small_studies import run_through
from tests.page_words import says
from tests.ui.conftest import address, open_fold
from tests.voted_studies import six_items

pytestmark = [pytest.mark.browser, pytest.mark.extra]
NAME, VOTED = "Helpdesk, pass or fail", "Votes on six pairs"
IN_SIGHT = """() => {
  const card = document.querySelector("#eh-improve-body .eh-improved .eh-claim");
  if (!card?.getClientRects().length) return false;
  const {top, bottom} = card.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


@pytest.fixture
def labelled(app, tmp_path) -> Iterator[str]:
    """A run study of 60 labelled answers whose judge passes everything unless it has rules."""
    with JudgeServer(behaviour=LenientJudge()) as server:
        path = write_study(tmp_path, server.base_url, passes, name=NAME)
        store = Store(app.store)
        run_through(make_plan(load_study(path)), store)
        store.close()
        yield NAME


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_back_from_the_run_of_the_candidates_the_card_is_in_sight(visit, labelled, width, theme):
    page = visit(f"study={quote(labelled)}&tab=results&view=Remedies", width=width, theme=theme)
    open_fold(page, "Improve the prompt")
    card = page.locator("#eh-improve-body")
    assert says(card.inner_text(), "60 answers", "have a label")
    card.get_by_label("Rules, one on each line").fill("A number of q below five is not enough.")
    card.get_by_role("button", name="Try candidates").click()
    start = page.locator("#eh-start")
    start.wait_for(state="visible")
    start.click()
    back = page.get_by_role("button", name="Improve the prompt")
    back.wait_for(state="visible")
    back.click()
    page.wait_for_function(IN_SIGHT)
    claim = page.locator("#eh-improve-body .eh-claim").inner_text()
    assert says(claim, "Adopt pass-fail+", "points")
    heads = page.locator("#eh-improve-body table thead").inner_text()
    assert says(heads, "Length", "Calls", "Tokens") and "Flips" not in heads
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_function("!document.querySelector('#eh-drawing.on')")
    assert page.evaluate(IN_SIGHT), "it stays there when everything is drawn"


def test_a_link_of_a_disputed_label_opens_its_comparison(visit, app):
    store = Store(app.store)
    six_items(VOTED).save(store)
    store.close()
    page = visit(f"study={quote(VOTED)}&tab=results&view=Remedies")
    open_fold(page, "Improve the prompt")
    page.locator("#eh-improve-body summary").filter(has_text="Mistakes").click()
    page.locator("#eh-improve-body .eh-link").filter(has_text="q5").click()
    page.wait_for_selector("#eh-tabs [role=tab][aria-selected=true]:text-is('Inspect')")
    shown = page.get_by_text("question q5").first
    shown.wait_for(state="visible")
    assert "item=q5" in address(page)
    assert not page.get_by_text("question q0").first.is_visible()
