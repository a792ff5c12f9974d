"""The pass/fail view: sentence, areas that open their replies, refusal, and the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gradio as gr
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.inspect.load_comparison import load_view
from components.results import results_tab
from components.results.controls.mark_selection import mark_selection
from components.results.pass_fail import tab as pass_fail_tab
from components.results.pass_fail.panels import AREAS
from components.results.pass_fail.scores import tab as scores_tab
from components.results.protocol import tab as protocol_tab
from components.results.view_drawing import SHARED_VIEWS, VIEWS, offered_views, render_panels
from components.share.report import ReportFigures, report_sections
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.page_words import says

COUNTS = {
    ("pass", "pass"): 97, ("fail", "pass"): 3, ("pass", "fail"): 39, ("fail", "fail"): 61,
    ("pass", ""): 83, ("fail", ""): 17, ("", "pass"): 4,
}  # fmt: skip
CELLS = {"pass_good": 97, "fail_good": 3, "pass_bad": 39, "fail_bad": 61}


def import_table(store: Store, name: str, counts: dict[tuple[str, str], int]) -> None:
    lines = [f"{verdict},{label}" for (verdict, label), n in counts.items() for _ in range(n)]
    path = store.path.with_name(f"{name}.csv")
    path.write_text("\n".join(["verdict,label", *lines]) + "\n", encoding="utf-8")
    import_verdicts(store, path, name)


@pytest.fixture(scope="module")
def store(module_store: Store) -> Store:
    import_table(module_store, "checks", COUNTS)
    blind = {("pass", "pass"): 60, ("fail", "pass"): 40, ("pass", "fail"): 58,
             ("fail", "fail"): 42, ("pass", ""): 50}  # fmt: skip
    import_table(module_store, "blind", blind)
    import_table(module_store, "bare", {("pass", ""): 30, ("fail", ""): 10})
    return module_store


def test_the_sentence_comes_first(store: Store) -> None:
    title, lead = pass_fail_tab.finding(FilteredStudy(store, "checks"))
    assert title == "The judge passes 97 % of good answers and 39 % of bad ones."
    assert re.search(r"true pass rate is \*\*59.% \[\d+, \d+\]\*\*, the observed one 73.%", lead)
    assert "points too high" in lead
    assert max(len(text.split()) for text in (title, lead)) <= 25


def test_a_refused_correction_gives_its_reason(store: Store) -> None:
    _, lead = pass_fail_tab.finding(FilteredStudy(store, "blind"))
    assert "True pass rate" not in lead and says(lead, "hardly distinguishes good")


def test_without_labels_the_view_asks_for_them(store: Store) -> None:
    bare = FilteredStudy(store, "bare")
    title, lead = pass_fail_tab.finding(bare)
    assert "passes 75" in title and says(lead, "No verdict", "label")
    assert "eh-areas" not in str(pass_fail_tab.VIEW.render(bare, {})["areas"])


def test_each_area_opens_exactly_its_replies(store: Store) -> None:
    filtered = FilteredStudy(store, "checks")
    areas = str(pass_fail_tab.VIEW.render(filtered, {})["areas"])
    marks = [json.loads(text.replace("&quot;", '"').replace("&#x27;", "'"))
             for text in re.findall(r'data-select="([^"]+)"', areas)]  # fmt: skip
    assert {mark["checked"] for mark in marks} == {name for name, _, _ in AREAS}
    for mark in marks:
        selection = mark_selection(filtered, mark)
        assert load_view(store, selection).total == CELLS[mark["checked"]]
    wrong = re.findall(r'class="b16"[^>]*data-select="([^"]+)"', areas)
    assert len(wrong) == 2 and all("pass_bad" in one or "fail_good" in one for one in wrong)


def test_only_fitting_views_are_offered(store: Store, judged: Store) -> None:
    assert offered_views(FilteredStudy(store, "checks")) == [pass_fail_tab.NAME, *SHARED_VIEWS]
    pairs = offered_views(FilteredStudy(judged, "two judges"))
    without = {pass_fail_tab.NAME, scores_tab.NAME, protocol_tab.NAME}  # it has no preset
    assert set(pairs) == set(VIEWS) - without


def test_the_tab_draws_the_view(store: Store) -> None:
    with gr.Blocks():
        tab = results_tab.build()
    made = render_panels(FilteredStudy(store, "checks"), pass_fail_tab.NAME, {})
    updates = tab.view_updates(pass_fail_tab.NAME, made)
    assert len(updates) == len(tab.view_outputs(pass_fail_tab.NAME))
    shown = " ".join(str(part) for part in updates)
    assert "κ 0.58" in shown and "always “pass”: 50.0" in shown
    assert says(shown, "never counted", "fail")


def test_the_report_has_the_section_and_no_pairs(store: Store, tmp_path: Path) -> None:
    body = str(report_sections(FilteredStudy(store, "checks"), ReportFigures()))
    assert says(body, "passes 97", "good", "39")
    assert "false passes" in body and "Rogan and Gladen" in body
    assert "both orders" not in body and "None of its" not in body
