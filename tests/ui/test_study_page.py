"""The Study tab in a real browser: nothing typed is lost, no key leaves its place, files open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Route

from studies.files.shards import AskOutcome, write_shard
from studies.store.store import Store
from tests.judge_server import JudgeServer, say
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.ui.conftest import address, choose, show_file, show_settings
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

CANARY = "sk-canary-8f2c"


def file_of(page) -> str:
    show_file(page)
    return page.locator("#eh-yaml .cm-content").inner_text()


def field(page, name: str):
    return page.locator(f'[data-field="{name}"]')


def test_a_burst_of_changes_is_in_the_file_and_in_the_form(visit):
    page = visit("tab=study")
    show_settings(page)
    page.locator("#f-repeats + button").click()
    page.locator("#f-repeats + button").click()
    field(page, "labels").nth(1).check()
    page.locator("#f-data-count + button").click()
    page.get_by_role("button", name="Add a second judge", exact=True).click()
    until(lambda: "count: 13" in file_of(page) and "gpt-4o-mini" in file_of(page))
    text = file_of(page)
    for line in ("repeats: 3", "labels: crossed"):
        assert line in text, text
    assert page.locator("#f-repeats").input_value() == "3"
    assert field(page, "labels").nth(1).is_checked()
    # 13 items x 2 orders x 3 repeats x 2 judges
    until(lambda: "78 comparisons × 2 orders" in page.locator("#eh-plan").text_content())
    assert "gpt-4o-mini has no key" in page.locator("#eh-plan").inner_text()
    assert not page.locator("#eh-run").is_visible()
    assert page.locator("#eh-study input").input_value().startswith("My study")


def test_what_is_written_by_hand_stays_and_a_preset_marks_what_differs_from_it(visit):
    page = visit("tab=study")
    show_file(page)
    page.locator("#eh-yaml .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n# by hand\nrepeats: 4")
    show_settings(page)
    until(lambda: page.locator("#f-repeats").input_value() == "4")
    field(page, "orders").nth(1).check()
    until(lambda: "orders: one" in file_of(page))
    assert "# by hand" in file_of(page) and "repeats: 4" in file_of(page)
    page.locator("#eh-protocol").get_by_text("VisIT-Bench", exact=True).first.click()
    until(lambda: "as published" in page.locator("#eh-protocol").inner_text())
    page.locator('[data-field=unreadable][value="exclude"]').check()
    until(lambda: "preset: tie" in page.locator("#eh-protocol").inner_text())
    assert page.locator("#eh-protocol .l.changed").inner_text() == "Unreadable"
    page.get_by_text("Back to the preset").click()
    until(lambda: page.locator("#eh-protocol .l.changed").count() == 0)
    assert "# by hand" in file_of(page)


def test_what_is_typed_while_the_server_is_slow_reaches_the_form_after_the_file_is_left(visit):
    page = visit("tab=study")
    show_settings(page)
    until(lambda: page.locator("#f-repeats").input_value() == "1")
    until(lambda: not page.locator("body.eh-following").count())
    held: list[Route] = []
    slow = True
    page.route("**/queue/join*", lambda sent: held.append(sent) if slow else sent.continue_())
    show_file(page)
    page.locator("#eh-yaml .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nrepeats: 4")
    until(lambda: page.evaluate("1") and held)  # the first of a burst is on its way
    page.locator("#eh-more summary").first.click()
    until(lambda: not page.locator("#eh-yaml .cm-focused").count())
    slow = False
    for one in held:
        one.continue_()
    until(lambda: page.locator("#f-repeats").input_value() == "4")


def test_a_key_stays_with_the_page_and_a_test_shows_the_reply(visit, app):
    with JudgeServer(behaviour=say("Overall, Response A is better.")) as server:
        page = visit("tab=study")
        page.get_by_role("button", name="Add a second judge", exact=True).click()
        field(page, "judge.1.base_url").fill(server.base_url)
        page.locator("#f-judge-1-key").fill(CANARY)
        field(page, "judge.1.model").fill("judge")
        field(page, "judge.1.model").press("Tab")
        drawer = page.locator(".eh-drawer.on")
        until(lambda: "Use judge" in drawer.inner_text())
        assert "key set" in page.locator('#eh-judges [data-key-of="judge"]').inner_text()
        drawer.locator(".ft").get_by_text("Test: 1 call").click()
        shown = until(lambda: drawer.locator(".t").count() and drawer.locator(".t").inner_text())
        assert "Overall, Response A is better." in shown and "ok" in shown
        box = drawer.locator(".ft .eh-tested").bounding_box()  # beside the button that was pressed
        assert box["y"] >= 0 and box["y"] + box["height"] <= page.viewport_size["height"]
        assert CANARY not in page.content()
        kept = page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])"
        )
        assert CANARY not in kept
    for path in Path(app.store).parent.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_a_key_typed_while_the_judge_is_renamed_is_kept(visit):
    """The server learns the new name of the judge while its key is typed under the name before."""
    page = visit("tab=study")
    page.get_by_role("button", name="Add a second judge", exact=True).click()
    key = page.locator("#f-judge-1-key")
    key.wait_for()
    page.evaluate(
        """key => {
          const put = (node, value, ...events) => {
            node.value = value;
            events.forEach(name => node.dispatchEvent(new Event(name, {bubbles: true})));
          };
          put(document.querySelector('[data-field="judge.1.model"]'), "judge", "input", "change");
          put(document.querySelector("#f-judge-1-key"), key, "input");
        }""",
        CANARY,
    )
    until(lambda: "Use judge" in page.locator(".eh-drawer.on").inner_text())
    until(lambda: "key set" in page.locator('#eh-judges [data-key-of="judge"]').inner_text())
    assert key.input_value() == CANARY


def test_another_address_is_asked_for_before_its_key(visit):
    with JudgeServer(models=("judge-a", "judge-b"), api_keys={CANARY}) as server:
        page = visit("tab=study")
        page.get_by_label("Change embedded", exact=True).click()
        drawer, key = page.locator(".eh-drawer.on"), page.locator("#f-judge-0-key")
        drawer.get_by_role("button", name="Other address").click()
        key.wait_for()
        until(lambda: page.evaluate("document.activeElement.id") == "f-judge-0-base-url")
        assert field(page, "judge.0.base_url").input_value() == "" and key.is_disabled()
        assert drawer.get_by_text("Check the key").count() == 0
        assert says(page.locator("#eh-plan").inner_text(), "address", "missing")
        page.keyboard.type(server.base_url)
        until(key.is_enabled)
        assert field(page, "judge.0.base_url").input_value() == server.base_url
        assert page.evaluate("document.activeElement.id") == "f-judge-0-base-url"
        key.fill(CANARY)
        drawer.get_by_text("Check the key").click()
        drawer.get_by_text("judge-b", exact=True).click()
        until(lambda: "Use judge-b" in drawer.inner_text())
        until(lambda: "key set" in page.locator('#eh-judges [data-key-of="judge-b"]').inner_text())
        assert "price unknown" in page.locator("#eh-judges").inner_text()


def test_a_missing_key_is_typed_where_the_reason_stands_and_then_the_study_can_be_run(visit, app):
    page = visit("tab=study")
    page.get_by_role("button", name="Add a second judge", exact=True).click()
    page.locator("#f-judge-1-key").wait_for()
    page.keyboard.press("Escape")
    plan, run = page.locator("#eh-plan"), page.locator("#eh-run")
    plan.locator("[data-needs-key]").wait_for()
    assert not run.is_visible() and not plan.locator(".eh-cost").is_visible()
    ticks = plan.locator(".eh-block .eh-chks span:visible")
    assert [text[0] for text in ticks.all_inner_texts()] == ["✓"] * 3  # data, judge, prompt
    assert says(page.locator("#eh-steps").inner_text(), "gpt-4o-mini", "no key")
    assert "No key typed" in page.locator("#eh-judges").inner_text()
    plan.get_by_label("Key of gpt-4o-mini").fill("two words")
    plan.get_by_text("Use this key").click()
    until(lambda: "white space" in plan.inner_text())  # not taken: the reason and the field stay
    assert not run.is_visible()
    plan.get_by_label("Key of gpt-4o-mini").fill(CANARY)
    assert plan.locator("[data-needs-key]").is_visible()  # while it is typed
    page.keyboard.press("Enter")
    until(run.is_visible)
    assert plan.locator(".eh-cost").is_visible() and not plan.locator(".eh-block").is_visible()
    assert page.evaluate("document.activeElement.id") == "eh-run"
    assert "has no key" not in page.locator("#eh-steps").inner_text()
    assert "No key typed" not in page.locator("#eh-judges").inner_text()
    assert says(page.locator("#eh-judges").inner_text(), "key set", "https://api.openai.com")
    assert CANARY not in page.content()
    for path in Path(app.store).parent.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_a_table_is_read_by_its_guessed_columns_and_a_bad_file_names_its_line(visit, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("nr,question,m_response,n_response\n1,Why?,so it is,so be it\n", "utf-8")
    page = visit()
    choose(page, table, then="Choose a judge")
    until(lambda: page.locator("#eh-study input").input_value() == "mine")
    page.locator("#eh-columns").wait_for()
    assert page.locator("#f-role-responses-m").input_value() == "m_response"
    assert "so be it" in page.locator("#eh-records .eh-pv").inner_text()
    assert "mine.csv" in page.locator("#eh-study-title").inner_text()
    bad = tmp_path / "items.jsonl"
    line = {"id": "q1", "instruction": "Say hello.", "responses": {"x": 5, "y": "hello"}}
    bad.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.get_by_text("Replace", exact=True).click()
    chooser.value.set_files(str(bad))
    until(lambda: "line 1" in page.locator("#eh-plan").inner_text())
    assert not page.locator("#eh-run").is_visible()
    assert "Choose another file" in page.locator("#eh-plan").inner_text()
    page.get_by_text("Other sources").click()
    field(page, "kind").nth(0).check()
    until(page.locator("#eh-run").is_visible)


def test_what_to_buy_next_changes_the_study_and_makes_no_call(visit):
    page = visit("tab=study")
    page.get_by_text("Is that enough?").click()
    page.locator("#eh-power-fold[open]").wait_for()
    assert page.locator("#eh-power-fold svg").first.is_visible()
    page.get_by_label("Add: A second reply to each call").click()
    until(lambda: "repeats: 2" in file_of(page))
    until(lambda: "24 comparisons × 2 orders" in page.locator("#eh-plan").text_content())
    assert page.locator("#eh-power-fold").get_attribute("open") is not None  # stays unfolded
    page.get_by_label("Add: 50 more questions").click()
    until(lambda: "62 questions" in page.locator("#eh-steps").inner_text())
    page.locator('[data-field="sample"][value="first 50"]').check()
    until(lambda: "50 questions" in page.locator("#eh-steps").inner_text())
    assert "take: first" in file_of(page)


def test_the_form_is_that_of_the_study_in_the_header(visit):
    page = visit("tab=study")
    page.locator('[data-field="sample"][value="random 50"]').check()
    mine = until(page.locator("#eh-study input").input_value)
    until(lambda: "50 questions" in page.locator("#eh-steps").inner_text())
    for name, said in (("Probe set, four options", "again"), (mine, "50 questions")):
        page.locator("#eh-study input").click()
        page.get_by_role("option", name=name, exact=True).click()
        place = "#eh-plan" if said == "again" else "#eh-steps"
        until(lambda place=place, said=said: said in page.locator(place).inner_text())
    page.get_by_role("tab", name="Home", exact=True).click()
    page.locator("#eh-home-new").click()
    until(lambda: page.locator("#eh-study input").input_value() not in ("", mine))
    until(lambda: "12 questions" in page.locator("#eh-steps").inner_text())


def test_recorded_verdicts_open_in_results_without_a_key(visit, tmp_path):
    games = (("x", "y", "model_a"), ("y", "x", "model_b"))
    rows = [
        {"model_a": a, "model_b": b, "winner": w, "judge": "j", "question_id": q}
        for q in range(6)
        for a, b, w in games
    ]
    file = tmp_path / "battles.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    page = visit()
    choose(page, file, then="Show results")
    until(lambda: page.locator("#eh-study input").input_value() == "battles")
    page.wait_for_selector("#eh-results-data p")
    until(lambda: "tab=results" in address(page))


def test_a_folder_of_shards_opens_from_its_path(visit, tmp_path):
    done = Store(tmp_path / "done.db")
    text = "name: s\ndata: {source: probe, count: 4}\nprompts: [brief-letters]\njudges: "
    run_text(done, text + "[{name: a, model: simulated, accuracy: 0.8, seed: 1}]")
    folder = tmp_path / "many-shards"
    write_shard(folder / "0.parquet", [AskOutcome(j) for j in done.judgements("s")])
    done.close()
    page = visit("tab=study")
    page.get_by_text("Other sources").click()
    field(page, "kind").nth(1).check()
    page.locator('input[data-field="data.source"]').fill(str(folder))
    page.locator('input[data-field="data.source"]').press("Tab")
    until(lambda: "48 recorded verdicts" in page.locator("#eh-records").inner_text())
    until(lambda: "verdicts, but no questions" in page.locator("#eh-plan").inner_text())
    page.get_by_text("Open the verdicts").click()
    until(lambda: page.locator("#eh-study input").input_value() == "many-shards")
    page.wait_for_selector("#eh-results-data p")
    # The verdicts took the place of the study that was begun in the form, with its name.
    until(lambda: says(page.locator("#eh-note").inner_text(), "4 items", "recorded"))


def test_a_prompt_is_edited_in_a_drawer_and_saved_as_a_version(visit):
    page = visit("tab=study")
    page.get_by_label("Edit brief-letters").click()
    editor = page.locator("#eh-draft .cm-content")
    until(lambda: "brief-letters" in editor.inner_text())
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# mine\n")
    page.keyboard.press("Control+End")
    page.keyboard.type("\nextraction: visit-extraction")
    until(lambda: "every variable is known" in page.locator("#eh-prompt-body").inner_text())
    page.locator("#eh-save-prompt").click()
    until(lambda: "Saved as version 2" in page.locator("#eh-prompt").inner_text())
    page.get_by_text("Compare this prompt with").click()
    until(lambda: "version 2" in page.locator("#eh-judges").inner_text())
    page.locator("#eh-prompt-drawer").wait_for(state="hidden")  # the study has both prompts now
    until(lambda: page.locator("#eh-judges .eh-jc").count() == 3)  # a judge, two prompts


def test_on_a_phone_the_form_fits_and_run_is_at_hand(visit):
    page = visit("tab=study", width=390, theme="dark")
    page.evaluate("document.querySelector('#eh-protocol').scrollIntoView()")
    bar = page.locator("#eh-run-bar button")
    box = until(bar.bounding_box)
    assert box["y"] + box["height"] <= 900 and "Run" in bar.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    show_settings(page)
    page.get_by_label("Change embedded").click()
    page.wait_for_selector('[data-field="judge.0.kind"]')
    assert page.locator(".eh-drawer.on").bounding_box()["width"] == 390
    nameless = page.evaluate(
        "[...document.querySelectorAll('.eh-form :is(input, select, textarea)')].filter("
        "n => !n.labels?.length && !n.ariaLabel && n.offsetParent).map(n => n.outerHTML)"
    )
    assert nameless == []


def test_the_keyboard_reaches_a_drawer_and_comes_back(visit):
    page = visit("tab=study")
    page.get_by_label("Change embedded").focus()
    page.keyboard.press("Enter")
    page.locator(".eh-drawer.on").wait_for()
    inside = "document.activeElement.closest('.eh-drawer') !== null"
    until(lambda: page.evaluate(inside))
    for _ in range(40):
        page.keyboard.press("Tab")
        assert page.evaluate(inside)
    page.keyboard.press("Escape")
    page.locator(".eh-drawer.on").wait_for(state="detached")
    until(lambda: page.evaluate("document.activeElement.ariaLabel") == "Change embedded")
