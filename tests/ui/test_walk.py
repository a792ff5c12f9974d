"""The whole path: read, filter, click, inspect, hand on the link; run, pause, reload, stop."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.bias.computed import load_bias
from components.results.bias.sentences import bias_headline
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judges.small_studies import endpoint, study_plan
from tests.ui.conftest import open_filters, open_fold, open_view
from tests.ui.test_page import asked, tab
from tests.ui.visitors import Visitor
from tests.waiting import until

pytestmark = pytest.mark.browser
DEMO = "Probe set, embedded judge"
SLOW = "A judge that takes its time"
BOTH = [(1440, "light"), (390, "dark")]
TEXTS = "p, h1, h2, h3, dt, dd, td, th, label, button, summary, small"
SCROLL = ".eh-heat-box, .cm-editor, pre, .eh-orders, .table-wrap"
"""Boxes that may scroll sideways by themselves."""
OVERFLOW = f"""() => {{
  const out = [];
  for (const node of document.querySelectorAll('.gradio-container :is({TEXTS})')) {{
    if (!node.getClientRects().length || !node.textContent.trim()) continue;
    if (node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('{SCROLL}'))
      out.push(`${{node.tagName}} ${{node.className}} ${{node.textContent.trim().slice(0, 40)}}`);
  }}
  if (document.documentElement.scrollWidth > innerWidth) out.push('it scrolls sideways');
  return out.slice(0, 5);
}}"""


def address(page) -> dict[str, str]:
    """What the address carries, the theme apart: everybody has their own."""
    found = parse_qs(urlsplit(page.evaluate("location.href")).query)
    return {name: values[0] for name, values in found.items() if name != "__theme"}


def overflow(page) -> list[str]:
    """Elements with text that stick out of the window."""
    return page.evaluate(OVERFLOW)


def opened(page) -> str:
    """The comparison that Inspect shows."""
    return page.locator(".eh-inspect-open [data-key]").first.get_attribute("data-key") or ""


@pytest.mark.parametrize(("width", "theme"), BOTH)
def test_from_the_first_screen_to_a_reply_and_on_to_a_colleague(visit, width, theme):
    page = visit(width=width, theme=theme)
    assert "changes its verdict on" in page.locator("#eh-first-finding h1").inner_text()
    assert overflow(page) == []

    tab(page, "Results")
    page.get_by_text("Does the ranking hold?").first.wait_for()
    open_view(page, "Position")
    table = "#eh-matrix table.wide" if width > 760 else "#eh-matrix table.tall"
    page.wait_for_selector(f"{table} td button")
    before = page.locator(f"{table} td button").count()
    open_filters(page)
    page.locator("#eh-filter-prompt input").click()
    page.get_by_role("option", name="brief-letters").click()
    until(lambda: page.locator(f"{table} td button").count() < before)
    until(lambda: address(page).get("prompt") == "brief-letters")
    assert overflow(page) == []

    cell = page.locator(f"{table} td button").nth(2)
    clicked = json.loads(cell.get_attribute("data-select"))
    cell.click()
    page.wait_for_selector(".eh-inspect-open [data-key]")
    until(lambda: address(page).get("tab") == "inspect")
    until(lambda: address(page).get("category") == clicked.get("category"))
    assert address(page)["prompt"] == "brief-letters"
    first = opened(page)
    page.locator(".eh-inspect-open [data-keys~=j]").first.click()
    second = until(lambda: (now := opened(page)) != first and now)
    assert overflow(page) == []

    page.locator("#eh-share").click()
    link = until(lambda: page.locator("#eh-link").text_content())
    assert "__theme" not in link
    other = visit(urlsplit(link).query, width=width, theme=theme)
    other.wait_for_selector(".eh-inspect-open [data-key]")
    until(lambda: opened(other) == second)
    assert address(other) == address(page)
    filters, theirs = (p.locator(".eh-inspect-filters").first.inner_text() for p in (page, other))
    assert filters == theirs


@pytest.mark.parametrize(("width", "theme"), BOTH)
def test_a_link_to_results_opens_the_same_panels(visit, width, theme):
    asked_for = "measure=Entropy&view=Position&prompt=brief-numbers&contestants=padded"
    page = visit(f"study={quote(DEMO)}&tab=results&{asked_for}", width=width, theme=theme)
    until(
        lambda: (
            "Position entropy by" in page.locator(".eh-panel:has(#eh-matrix) h2").first.inner_text()
        )
    )
    assert page.locator("#eh-filter-prompt input").input_value() == "brief-numbers"
    until(lambda: address(page).get("contestants") == "padded")
    assert address(page)["measure"] == "Position entropy"
    open_view(page, "Ranking")
    page.wait_for_selector("#eh-elo .main-svg")
    until(lambda: address(page).get("view") == "Ranking")
    assert overflow(page) == []


# ---------------------------------------------------------------- charts that stay themselves


def test_a_run_is_replayed_by_keyboard_and_its_numbers_are_taken_along(visit, tmp_path):
    page = visit(f"study={quote(DEMO)}&tab=results&view=Ranking&curves=One%20order")
    page.wait_for_selector("#eh-elo .main-svg")
    scrubber = page.locator("#eh-elo input[type=range]")
    scrubber.focus()
    end = int(scrubber.get_attribute("max"))
    page.keyboard.press("Home")
    said = page.locator("#eh-elo .eh-replay p")
    until(lambda: said.inner_text().startswith("After 0 battles: 1,000"))
    page.keyboard.press("ArrowRight")
    assert scrubber.input_value() == "1"
    page.keyboard.press("End")
    until(lambda: said.inner_text().startswith(f"After {end:,} battles"))
    values = re.findall(r"([\d,]+) ([a-z]+)(?: ·|$)", said.inner_text().split(": ")[1])
    ends = {name: int(value.replace(",", "")) for value, name in values}
    rows = [line.split(",") for line in saved(page, "#eh-elo", "CSV", tmp_path).splitlines()]
    last = {row[0]: float(row[2]) for row in rows[1:] if int(row[1]) == end}
    assert {name: round(value) for name, value in last.items()} == ends


def saved(page, inside: str, kind: str, folder) -> str:
    """What the menu in the corner of a panel hands out."""
    menu = page.locator(f".eh-panel:has({inside}) > details.eh-save").last
    menu.locator("summary").focus()
    if not menu.evaluate("menu => menu.open"):
        page.keyboard.press("Enter")
    button = menu.get_by_role("button", name=f"as {kind}").first
    button.wait_for()
    with page.expect_download() as waiting:
        button.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path.read_bytes().decode("utf-8", errors="replace")


def test_a_matrix_is_saved_as_picture_drawing_and_numbers(visit, tmp_path):
    page = visit(f"study={quote(DEMO)}&tab=results&view=Position")
    page.wait_for_selector("#eh-matrix td button")
    page.wait_for_selector(".eh-panel:has(#eh-matrix) > details.eh-save", state="attached")
    shown = page.locator("#eh-matrix table.wide tbody tr").first.locator("td b").all_inner_texts()
    numbers = saved(page, "#eh-matrix", "CSV", tmp_path).splitlines()
    assert numbers[0] == "row,category,measure,value,low,high,n,items"
    first = numbers[1].split(",")[0]
    values = [float(line.split(",")[3]) for line in numbers[1:] if line.startswith(first)]
    assert [f"{100 * value:.0f}" for value in values] == shown
    drawing = saved(page, "#eh-matrix", "SVG", tmp_path)
    assert drawing.startswith("<svg")
    assert all(f">{value}<" in drawing for value in shown)
    heat = page.locator("#eh-matrix .eh-heat-box").first.get_attribute("data-heat") or "{}"
    plain = drawing.replace("\u00a0", " ").replace("\u202f", " ")
    ends = [end.replace("\u202f", " ") for end in json.loads(heat)["legend"]]
    assert len(ends) >= 2 and all(end in plain for end in ends), "the legend"
    assert saved(page, "#eh-matrix", "PNG", tmp_path)[1:4] == "PNG"


def test_a_matrix_is_saved_with_its_legend_from_a_view_without_charts(visit, tmp_path):
    page = visit(f"study={quote(DEMO)}&tab=results&view=Agreement")
    open_fold(page, "Other definitions of agreement")
    page.wait_for_selector("#eh-agree td button")
    page.wait_for_selector(".eh-panel:has(#eh-agree) > details.eh-save", state="attached")
    drawing = saved(page, "#eh-agree", "SVG", tmp_path).replace("\u00a0", " ")
    ends = page.locator(".eh-panel:has(#eh-agree) .eh-scale > span").all_inner_texts()[:2]
    assert len(ends) == 2 and all(f">{end}<".replace("\u202f", " ") in drawing for end in ends)


def test_text_that_looks_like_a_formula_is_harmless_in_a_spreadsheet(visit):
    page = visit()
    rows = [["=1+1", -3.5], ['say "hi", you', None], ["@x", "+1"], ["-2", "\tx"]]
    made = page.evaluate("table => evenhand.save.csv(table)", {"columns": ["a", "b"], "rows": rows})
    assert made.split("\r\n") == [
        "a,b", "'=1+1,-3.5", '"say ""hi"", you",', "'@x,'+1", "'-2,'\tx", "",
    ]  # fmt: skip


def test_a_chart_keeps_its_zoom_when_numbers_come_in(visit):
    page = visit(f"study={quote(DEMO)}&tab=results&view=Ranking")
    page.wait_for_selector("#eh-elo .main-svg")
    plot = "document.querySelector('#eh-elo .eh-plot')"
    page.evaluate(
        f"Plotly.relayout({plot}, {{'xaxis.range': [100, 300], 'yaxis.range': [950, 1050]}})"
    )
    page.evaluate(f"{plot}.dataset.kept = 'the same element'")
    tab(page, "Study")
    tab(page, "Results")
    page.wait_for_timeout(1500)
    assert page.evaluate(f"{plot}.layout.xaxis.range") == [100, 300]
    assert page.evaluate(f"{plot}.dataset.kept") == "the same element"


def test_who_wants_no_motion_gets_steps(browser, app):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{app.url}/?study={quote(DEMO)}&tab=results&view=Ranking&curves=One%20order")
    page.wait_for_selector("#eh-elo .main-svg")
    scrubber = page.locator("#eh-elo input[type=range]")
    end = int(scrubber.get_attribute("max"))
    page.get_by_label("Replay the run").click()
    assert int(scrubber.input_value()) == -(-end // 10)
    page.wait_for_timeout(300)
    assert int(scrubber.input_value()) == -(-end // 10)
    context.close()


# ----------------------------------------------------------------------------- a run


@pytest.fixture(scope="module")
def slow(app, tmp_path_factory):
    """Forty asks to a judge that takes two seconds for each, one after the other: the run does not
    end before it is paused, however slow the page."""
    with JudgeServer(latency=(2.0, 2.2)) as server:
        plan = study_plan(
            tmp_path_factory.mktemp("walk"), [endpoint(server.base_url, "slow")], 40, name=SLOW,
            concurrency=1,
        )  # fmt: skip
        store = Store(app.store)
        save_plan(plan, store)
        store.close()
        yield server


def test_a_run_is_started_paused_reloaded_resumed_and_stopped(visit, slow):
    page = visit(f"tab=run&study={quote(SLOW)}")
    page.locator("#eh-start").click()
    until(lambda: asked(page)[0] >= 2)
    page.locator("#eh-pause").click()
    until(lambda: page.locator("#eh-pause").inner_text() == "Resume")
    page.reload()
    page.wait_for_selector("#eh-run-finding h1", state="attached")
    until(lambda: page.locator("#eh-pause").is_visible())
    paused = until(lambda: asked(page)[0])
    assert page.locator("#eh-pause").inner_text() == "Resume"
    assert address(page) == {"tab": "run", "study": SLOW}
    page.locator("#eh-pause").click()
    until(lambda: asked(page)[0] > paused)
    page.locator("#eh-stop").click()
    page.locator("#eh-start").wait_for(state="visible")
    done, planned = asked(page)
    assert paused < done < planned == 40
    phone = visit(f"tab=run&study={quote(SLOW)}", width=390, theme="dark")
    until(lambda: asked(phone) == (done, planned))
    assert overflow(phone) == []


# ------------------------------------------------------------------ twelve visitors at once

STUDY = """
name: {name}
data: {{source: probe, count: {count}, seed: 3}}
contestants: [precise, flawed]
judges: [{{name: judge of {name}, model: simulated, first_bias: 0.{bias}, seed: {bias}}}]
prompts: [brief-letters]
"""


def walk_through_a_run(app, number: int) -> tuple[int, int]:
    """Own study, own run: what this visitor is told, and what was planned."""
    name = f"visitor {number}"
    store = Store(app.store)
    save_plan(
        make_plan(parse_study(STUDY.format(name=name, count=6 + number, bias=number + 1))), store
    )
    planned = store.status_counts(name)["planned"]
    store.close()
    visitor = Visitor(app.url)
    visitor.open()
    seen = visitor.fire("eh-start", "click", {"eh-study": name})
    for _ in range(100):
        told = seen["eh-run-finding"]
        assert name in told, told
        assert not re.search(rf"visitor (?!{number}\b)\d", told), told
        done = re.search(r"([\d,]+) of ([\d,]+) calls done", told)
        if done and done.group(1) == done.group(2):
            return int(done.group(2).replace(",", "")), planned
        seen = visitor.fire("", "tick", {"eh-study": name}, fills="eh-run-finding")
    raise AssertionError(f"{name} was never told that its run ended: {told}")


def look_at_results(app, prompt: str) -> tuple[str, str]:
    """The finding through this visitor's filter, and what it has to be."""
    visitor = Visitor(app.url)
    visitor.open()
    visitor.fire("eh-study", "change", {"eh-study": DEMO}, fills="eh-filter-prompt")
    values = visitor.asking({"eh-study": DEMO, "eh-filter-prompt": prompt})
    seen = visitor.fire("eh-draw", "click", values)
    told = next(str(text) for text in seen.values() if "eh-finding" in str(text))
    store = Store(app.store)
    title, _ = bias_headline(load_bias(FilteredStudy(store, DEMO, Filter(prompt=prompt))))
    store.close()
    return told, title


def test_twelve_visitors_at_once_get_their_own_answers(app):
    prompts = ["brief-letters", "brief-numbers", "brief-examples", "brief-warning"]
    with ThreadPoolExecutor(12) as pool:
        runs = [pool.submit(walk_through_a_run, app, number) for number in range(6)]
        looks = [pool.submit(look_at_results, app, prompts[n % 4]) for n in range(6)]
        for run in runs:
            told, planned = run.result(180)
            assert told == planned > 0
        for look in looks:
            told, title = look.result(180)
            assert title in unescape(re.sub(r"<[^>]+>", "", told))  # an interval is a span
