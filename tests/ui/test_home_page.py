"""Home in a browser: search in the list of studies, the menu of a row, and cards on papers; a view
that is chosen while a study is being opened."""

from __future__ import annotations

import pytest

from judges.engine.engine import Engine
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.page_words import says
from tests.ui.conftest import SUMMARY, address, choose
from tests.waiting import until

pytestmark = pytest.mark.browser
DEMO = "Probe set, embedded judge"
TEXT = """
name: {name}
data: {{source: probe, count: 6}}
contestants: [precise, flawed]
judges: [{{name: leaning, model: simulated, first_bias: 0.5}}]
prompts: [brief-letters]
"""


@pytest.fixture(scope="module")
def studies(app) -> list[str]:
    """Two finished studies with simulated judges in the store of the app."""
    store = Store(app.store)
    names = ["Alpha answers", "Beta answers"]
    for name in names:
        plan = make_plan(parse_study(TEXT.format(name=name)))
        save_plan(plan, store)
        assert Engine().start(plan, store).wait(60)
    store.close()
    return names


def shown_rows(page) -> list[str]:
    return page.locator("#eh-home-studies tbody tr:not([hidden]) th button").all_inner_texts()


def open_menu(page, study: str):
    row = page.locator("#eh-home-studies tr", has=page.get_by_role("button", name=f"Open {study}"))
    row.locator("summary").first.click()
    return page.locator("#eh-home-studies details[open] .list")


def test_search_hides_the_other_rows_and_enter_opens_the_first(visit, studies):
    page = visit()
    page.wait_for_selector("#eh-home-studies tbody tr")
    assert set(studies) < set(shown_rows(page))
    page.keyboard.press("/")
    page.keyboard.type("beta LEANING")
    until(lambda: shown_rows(page) == ["Beta answers"])
    page.keyboard.type("zzz")
    until(lambda: shown_rows(page) == [])
    assert page.locator("#eh-find-none").inner_text()
    for _ in "zzz":
        page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    until(lambda: "study=Beta" in address(page) and "tab=results" in address(page))


def test_a_row_s_menu_renames_duplicates_and_deletes(visit, studies):
    page = visit()
    menu = open_menu(page, "Alpha answers")
    assert menu.locator("button").all_inner_texts() == ["Open", "Rename", "Duplicate", "Delete …"]
    page.keyboard.press("Escape")
    until(lambda: page.locator("#eh-home-studies details[open]").count() == 0)
    open_menu(page, "Alpha answers").get_by_text("Rename").click()
    field = page.locator("#eh-home-studies [data-field]")
    field.fill("Not this")
    field.press("Escape")
    field.wait_for(state="detached")
    assert "Alpha answers" in shown_rows(page)
    open_menu(page, "Alpha answers").get_by_text("Rename").click()
    field.fill("Gamma answers")
    field.press("Enter")
    until(lambda: "Gamma answers" in shown_rows(page))
    open_menu(page, "Gamma answers").get_by_text("Delete").click()
    page.get_by_role("button", name="Cancel").click()
    page.locator("#eh-home-studies [data-cancel]").wait_for(state="detached")
    open_menu(page, "Gamma answers").get_by_text("Delete").click()
    page.locator("#eh-home-studies td.op .eh-link").first.click()
    until(lambda: "Gamma answers" not in shown_rows(page))
    assert "Beta answers" in shown_rows(page)


def test_a_card_on_a_paper_opens_its_study(visit):
    page = visit()
    page.get_by_role("button", name="papers' claims").click()
    page.locator(".eh-claims li").filter(has_text="Table 7").first.locator("button").click()
    until(lambda: "tab=results" in address(page) and "Qwen" in address(page))


def test_home_is_shown_again_after_a_reload(visit):
    page = visit()
    until(lambda: "tab=home" in address(page) and "study=" in address(page))
    page.reload()
    page.wait_for_selector("#eh-home-studies tbody tr")
    page.locator("#eh-loading").wait_for(
        state="hidden", timeout=15_000
    )  # it ends by itself at 20 s


@pytest.mark.parametrize("view", ["Ranking", "Agreement"])
def test_a_view_chosen_while_a_study_opens_stays(visit, studies, view):
    page = visit(f"tab=results&study={DEMO}")
    page.wait_for_selector(SUMMARY)
    page.locator("#eh-study input").click()
    page.get_by_role("option", name="Beta answers").click()
    page.get_by_test_id(f"{view}-radio-label").click()  # before the answer of the server
    until(lambda: "study=Beta" in address(page) and f"view={view}" in address(page))
    page.wait_for_timeout(3_000)  # a late answer would reset the switch
    assert page.get_by_test_id(f"{view}-radio-label").locator("input").is_checked()
    assert f"view={view}" in address(page)
    shown = page.locator("#eh-leaders, #eh-agree-majority").filter(visible=True)
    until(lambda: shown.count() == 1 and shown.first.inner_text().strip())


def test_a_view_chosen_before_the_first_study_is_shown_stays(visit):
    page = visit("tab=results")
    page.get_by_test_id("Ranking-radio-label").click()
    page.wait_for_selector("#eh-leaders table")
    page.wait_for_timeout(2_000)
    assert "view=Ranking" in address(page)
    assert page.get_by_test_id("Ranking-radio-label").locator("input").is_checked()


def test_a_long_list_is_unfolded_and_searched_as_a_whole(visit, studies, app):
    store = Store(app.store)
    for place in range(9):
        save_plan(make_plan(parse_study(TEXT.format(name=f"Gamma {place}"))), store)
    total = len(store.studies())
    store.close()
    page = visit()
    page.wait_for_selector("#eh-home-studies tbody tr")
    assert len(shown_rows(page)) == 8 < total
    page.locator("#eh-find").fill("gamma 0")
    until(lambda: shown_rows(page) == ["Gamma 0"])
    page.locator("#eh-find").fill("")
    until(lambda: len(shown_rows(page)) == 8)
    page.get_by_role("button", name=f"All {total} studies").click()
    until(lambda: len(shown_rows(page)) == total)
    examples = page.locator("#eh-all-examples")
    assert not examples.is_visible()
    page.locator('[data-unfold="#eh-all-examples"]').click()
    until(examples.is_visible)
    examples.get_by_role("button").nth(1).click()
    until(lambda: "tab=study" in address(page))


MAX_WORDS, MAX_HEIGHT = 350, 1_800
"""Visible words and pixels of Home on a new store, 1,440 pixels wide."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_home_is_short(visit, theme):
    page = visit(theme=theme)
    page.locator("#eh-home-examples .eh-thumb").first.wait_for()
    words = page.evaluate("document.querySelector('.gradio-container').innerText.split(/\\s+/)")
    assert len(words) <= MAX_WORDS
    assert page.evaluate("document.documentElement.scrollHeight") <= MAX_HEIGHT


def test_the_five_examples_open_recorded_studies(visit):
    page = visit()
    cards = page.locator(".eh-examples li button")
    cards.first.wait_for()
    assert cards.count() == 5
    cards.nth(4).click()  # four options: all calls are made
    until(
        lambda: (
            "tab=results" in address(page) and "four%20options" in address(page).replace("+", "%20")
        )
    )


def test_files_are_said_to_be_read_and_bad_ones_leave_nothing(visit, app, tmp_path):
    garbage, empty = tmp_path / "garbage.csv", tmp_path / "empty.csv"
    garbage.write_bytes(bytes(range(1, 255)))
    empty.write_text("question,answer,winner\n")
    page = visit()
    page.locator("#eh-home-studies tbody tr").first.wait_for()
    before = shown_rows(page)
    page.evaluate("""() => {
      const status = document.querySelector("#eh-drop-status");
      window.saidWhileReading = [];
      new MutationObserver(() => saidWhileReading.push(status.textContent))
        .observe(status, {childList: true});
    }""")
    for file in (garbage, empty):
        choose(page, file)
        notice = page.locator("#eh-home-notice").filter(has_text=file.name)
        notice.wait_for()
        assert not page.locator("#eh-seen .eh-seen").is_visible()
        assert "even-handed on" not in page.locator(".gradio-container").inner_text()
    said = page.evaluate("saidWhileReading")
    assert said == [f"Reading {garbage.name} …", "", f"Reading {empty.name} …", ""]
    page.reload()
    page.locator("#eh-home-studies tbody tr").first.wait_for()
    assert shown_rows(page) == before


def test_scores_with_human_scores_open_as_scores_and_never_name_another_study(visit, tmp_path):
    table = tmp_path / "rated.csv"
    rows = [
        f"Question {n}?,Answer {n},{m},gpt,{1 + n % 5},{1 + (n + 1) % 5}"
        for n in range(9)
        for m in "ab"
    ]
    table.write_text("\n".join(["question,answer,model,judge,score,human_score", *rows]) + "\n")
    page = visit("tab=home")
    until(lambda: "study=" in address(page))
    choose(page, table)
    seen = page.locator("#eh-seen [aria-pressed=true]")
    seen.wait_for()
    assert seen.inner_text().split("\n")[0] == "Scores"
    assert says(seen.inner_text(), "18 scores", "1 judge", "18 labels")
    page.evaluate("""() => {
      window.addresses = [];
      const write = history.pushState.bind(history), put = history.replaceState.bind(history);
      history.pushState = (...given) => { write(...given); addresses.push(location.search); };
      history.replaceState = (...given) => { put(...given); addresses.push(location.search); };
    }""")
    page.locator("#eh-seen").get_by_role("button", name="Show results").click()
    until(lambda: "study=rated" in address(page) and "tab=results" in address(page))
    page.wait_for_timeout(500)
    results = [one for one in page.evaluate("addresses") if "tab=results" in one]
    assert results and all("study=rated" in one for one in results)


def test_a_later_visitor_waits_for_no_stylesheet_of_gradio_and_sees_the_same(visit, app, browser):
    """The page holds those that the visitor before asked for; where a rule of Gradio and one of
    ours are equally specific, ours wins in either order."""
    look = "getComputedStyle(document.querySelector('.gradio-container')).overflowX"
    before = visit().evaluate(look)
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(app.url)
    page.locator("#eh-home-examples .eh-thumb").first.wait_for()
    assert page.evaluate(look) == before == "clip"
    styles = [url.rpartition("/")[2] for url in asked if ".css" in url]
    assert [name.partition("-")[0].partition("?")[0] for name in styles] == ["index", "theme.css"]
    page.context.close()


def test_gradio_searches_for_no_event_and_waits_for_no_theme(visit):
    """Parts that assets/first.js removes from the configuration or asks for early; the page works
    without them: the events that follow another have shown Home."""
    page = visit()
    targets = page.evaluate("window.gradio_config.dependencies.flatMap(one => one.targets)")
    assert len(targets) > 50 and not {name for _, name in targets} & {"then", "success", "failure"}
    assert page.locator("link[href*='theme.css']").count() == 1  # else Gradio has added its own
    page.wait_for_selector("#eh-home-studies tbody tr")


def test_the_theme_that_a_reader_chose_wins_over_that_of_the_system(visit):
    page = visit()
    page.emulate_media(color_scheme="light")
    page.goto(page.url.partition("?")[0])
    page.locator("#eh-theme").click()
    assert "dark" in page.locator("body").get_attribute("class")
    page.reload()
    page.wait_for_selector("#eh-home-studies tbody tr")
    assert "dark" in page.locator("body").get_attribute("class")
