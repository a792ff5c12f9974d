"""The pass/fail view: sentence, areas that open their replies, refusal, and the report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.format import MIN_COLOURED_ITEMS
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import Selection
from components.results.bias import tab as bias_tab
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.controls.results_parts_tab import OUTPUTS
from components.results.overview import tab as overview_tab
from components.results.pass_fail import panels, rate_tables
from components.results.pass_fail import pass_fail_panels as pass_fail_tab
from components.results.pass_fail.computed import load_pass_fail
from components.results.pass_fail.panels import (
    ALL_ANSWERS,
    AREAS,
    ERRORS,
    MAX_ROWS,
    confusion_areas,
    confusion_box_sizes_text,
    format_rates_for_report,
    option_order_panel,
    pass_fail_order_headline,
)
from components.results.pass_fail.pass_fail_panels import render_confusion_areas
from components.results.pass_fail.rate_tables import pass_rates_paper_table, rates_table
from components.results.pass_fail.scores import score_panels
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.share.report import ReportFigures, report_sections
from metrics.labels.pass_by_order import pass_rates_by_order
from metrics.labels.pass_fail import Confusion
from metrics.labels.reliability import ReliabilityPoint
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from studies.frames.point_columns import EXPECTED_COLUMN
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says, text_of

COUNTS = {
    ("pass", "pass"): 97, ("fail", "pass"): 3, ("pass", "fail"): 39, ("fail", "fail"): 61,
    ("pass", ""): 83, ("fail", ""): 17, ("", "pass"): 4,
}  # fmt: skip
FIRST = pass_fail_tab.VIEW.start_values
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


def test_a_filter_on_the_judge_leaves_the_claim_on_its_pass_rate_as_it_is(store: Store) -> None:
    """Of 100 answers, 5 bad ones pass: the excess of .05 excludes 0 for one judge, with a t of
    2.28, but not for three, where t would have to exceed 2.43."""
    lines = [
        f"q{k},text {k},{judge},{'pass' if k < (55 if judge == 'a' else 50) else 'fail'},"
        f"{'pass' if k < 50 else 'fail'}"
        for judge in "abc"
        for k in range(100)
    ]
    path = store.path.with_name("three.csv")
    path.write_text("\n".join(["question,answer,judge,verdict,label", *lines]), encoding="utf-8")
    import_verdicts(store, path, "three")
    leads = [
        pass_fail_tab.headline(FilteredStudy(store, "three", chosen))[1]
        for chosen in (Filter(), Filter(judge="a"))
    ]
    assert leads[0] == leads[1] and says(leads[1], "no significant difference", "adjusted", "3")


def test_the_sentence_comes_first(store: Store) -> None:
    title, lead = pass_fail_tab.headline(FilteredStudy(store, "checks"))
    assert title == "The judge passes 97 % of good answers and 39 % of bad ones."
    assert re.search(r"true pass rate is \*\*59.% \[\d+, \d+\]\*\*, the observed one 73.%", lead)
    assert says(lead, "14 points [", "too high")
    assert max(len(text.split()) for text in (title, lead)) <= 25


def test_agreement_and_kappa_have_their_intervals_in_the_tile_and_the_report(store: Store) -> None:
    results = load_pass_fail(FilteredStudy(store, "checks"))
    rates = results.shown_result.rates
    kappa = f"κ {rates.kappa.value:.2f} [{rates.kappa.low:.2f}, {rates.kappa.high:.2f}]"
    share = f"[{100 * rates.agreement.low:.1f}, {100 * rates.agreement.high:.1f}]"
    told = str(pass_fail_tab.kpis(FilteredStudy(store, "checks")))
    assert says(told, share, kappa) and kappa in format_rates_for_report(results.shown_result)


def test_position_says_that_the_effect_of_the_order_is_unknown(store: Store) -> None:
    filtered = FilteredStudy(store, "checks")
    title, lead = bias_tab.headline(filtered)
    assert says(title, "order", "unknown") and not says(title, "97")
    assert says(lead, "No answer", "different orders")
    assert overview_tab.headline(filtered) == pass_fail_tab.headline(filtered)


def test_a_refused_correction_gives_its_reason(store: Store) -> None:
    _, lead = pass_fail_tab.headline(FilteredStudy(store, "blind"))
    assert "True pass rate" not in lead and says(lead, "hardly distinguishes good")


def test_without_labels_the_view_asks_for_them(store: Store) -> None:
    bare = FilteredStudy(store, "bare")
    title, lead = pass_fail_tab.headline(bare)
    assert "passes 75" in title and says(lead, "No answer", "label")
    assert "eh-areas" not in str(pass_fail_tab.VIEW.render(bare, FIRST)["areas"])


def test_each_area_opens_exactly_its_replies(store: Store) -> None:
    filtered = FilteredStudy(store, "checks")
    areas = str(pass_fail_tab.VIEW.render(filtered, FIRST)["areas"])
    found = re.findall(r'data-select="([^"]+)"', areas)
    marks = [json.loads(unescape(text)) for text in found]
    assert {mark["checked"] for mark in marks} == {name for name, _, _ in AREAS}
    for mark in marks:
        selection = inspect_filters_for_mark(filtered, mark)
        assert load_inspect_page(store, selection).total == CELLS[mark["checked"]]
    wrong = re.findall(r'class="b16"[^>]*data-select="([^"]+)"', areas)
    assert len(wrong) == 2 and all("pass_bad" in one or "fail_good" in one for one in wrong)


@pytest.mark.parametrize("cell", ["pass_odd", "odd_good", "pass", "good_pass_"])
def test_an_address_with_an_unknown_area_opens_no_replies(store: Store, cell: str) -> None:
    """Neither a half that is known, nor both, may open the replies of another area."""
    assert load_inspect_page(store, Selection(study="checks", checked=cell)).total == 0


def test_wrong_verdicts_are_listed_with_their_questions(store: Store) -> None:
    assert not pass_fail_tab.VIEW.render(FilteredStudy(store, "checks"), FIRST).get("wrong")
    lines = ["question,answer,verdict,label"]
    lines += [f"Is {n} even?,No.,{'pass' if n % 2 else 'fail'},fail" for n in range(14)]
    lines.append("Is 15 odd?,Yes.,fail,pass")
    path = store.path.with_name("asked.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "asked")
    filtered = FilteredStudy(store, "asked")
    passes, fails = (
        str(pass_fail_tab.VIEW.render(filtered, {"errors": errors})["wrong"]) for errors in ERRORS
    )
    assert says(passes, "7 answers", "false pass") and "false fail" not in passes
    assert (
        says(fails, "1 answer", "false fail<")
        and "Is 15 odd?" in fails
        and "Is 15 odd?" not in passes
    )
    marks = [
        json.loads(unescape(text))
        for html in (passes, fails)
        for text in re.findall(r'data-select="([^"]+)"', html)
    ]
    assert len(marks) == MAX_ROWS + 1 + 1  # some of the seven, all of them, and the false fail
    totals = [
        load_inspect_page(store, inspect_filters_for_mark(filtered, mark)).total for mark in marks
    ]
    assert totals == [1] * MAX_ROWS + [7, 1]


def test_wrong_verdicts_on_answers_to_one_question_are_all_counted(store: Store) -> None:
    lines = [f"Is {n} odd?,{model},No.,pass,fail" for n in range(6) for model in "xyz"]
    path = store.path.with_name("models.csv")
    path.write_text("\n".join(["question,model,answer,verdict,label", *lines]), encoding="utf-8")
    import_verdicts(store, path, "models")
    made = pass_fail_tab.VIEW.render(FilteredStudy(store, "models"), FIRST)
    assert "<b>18</b>" in str(made["areas"]), "18 answers"
    assert says(str(made["wrong"]), "18 answers", "false pass") and "Open all 18" in str(
        made["wrong"]
    )


def test_only_fitting_views_are_offered(store: Store, judged: Store) -> None:
    points = offered_views(FilteredStudy(store, "checks"))
    assert set(VIEWS) - set(points) == {"Nudges", "Paper"}
    assert set(VIEWS) - set(offered_views(FilteredStudy(judged, "two judges"))) == {"Paper"}


def test_the_tab_draws_the_view(store: Store) -> None:
    controls = VIEWS["Agreement"].start_values
    made = render_view_uncached(FilteredStudy(store, "checks"), "Agreement", controls)
    shown = " ".join(str(made[name]) for name in OUTPUTS)
    assert "κ 0.58" in shown and "always passes: 50.0" in shown
    assert says(shown, "never counted", "fail")


@pytest.mark.extra
def test_the_report_has_the_section_and_no_pairs(store: Store, tmp_path: Path) -> None:
    body = str(report_sections(FilteredStudy(store, "checks"), ReportFigures()))
    assert says(body, "passes 97", "good", "39")
    assert "false passes" in body and "Rogan and Gladen" in body
    assert "both orders" not in body and "None of the" not in body


ORDERED = """
name: ordered
data: {source: probe, count: 30, seed: 3}
contestants: [precise, flawed]
judges: [{name: leaning, model: simulated, first_bias: 0.4, accuracy: 0.8, seed: 2}]
prompts: [pass-fail]
options: rotations
"""


def test_each_cell_of_the_order_opens_the_replies_of_its_group(store: Store) -> None:
    run_text(store, ORDERED)
    filtered = FilteredStudy(store, "ordered")
    results = load_pass_fail(filtered)
    whole = pass_rates_by_order(filtered.measured_judge_rows, results.shown_rater)
    assert results.shift == whole and whole.shift.value is not None
    html = str(option_order_panel(results))
    marks = [
        json.loads(unescape(text))
        for text in re.findall(r'class="eh-shift[^>]*data-select="([^"]+)"', html)
    ]
    groups = {(c, g) for c, parts in results.shift_parts.items() for g in parts}
    assert len(marks) == 1 + len(groups) and len(groups) > 3 and ALL_ANSWERS in html
    assert f"{100 * whole.shift.value:+.1f}".replace("-", "−") in html
    totals = [
        load_inspect_page(store, inspect_filters_for_mark(filtered, mark)).total for mark in marks
    ]
    assert totals[0] == load_inspect_page(store, inspect_filters_for_mark(filtered, {})).total
    assert all(0 < total <= totals[0] for total in totals[1:])
    by_category = [n for mark, n in zip(marks, totals, strict=True) if "category" in mark]
    assert sum(by_category) == totals[0]


def test_a_shift_is_marked_only_if_it_holds_for_all_groups_together() -> None:
    """The interval shown is the adjusted one, so that the mark and the interval agree: for 10
    groups, t of 39 degrees at .0025 is 2.976 in place of 2.023, and .09 becomes .132."""

    def cell(shift: Estimate, tests: int) -> str:
        return str(panels._pass_rate_shift_cell("coding", shift, {}, tests))

    clear, edge = Estimate(0.2, 0.1, 0.3, 40, 40), Estimate(0.1, 0.01, 0.19, 40, 40)
    assert "not significant" not in cell(clear, 1) + cell(clear, 10) + cell(edge, 1)
    assert says(cell(edge, 1), "[1.0, 19.0]")
    assert says(cell(edge, 10), "[−3.2, 23.2]", "not significant")
    assert "not significant" in cell(Estimate(0.1), 1)
    assert says(pass_fail_tab.ORDER.subtitle, "those of", "models and categories", "adjusted")


@pytest.mark.parametrize(
    ("counts", "enlarged"),
    [((60, 40, 45, 55), False), ((250, 5, 178, 77), True), ((300, 300, 20, 20), True)],
)
def test_the_caption_says_if_a_small_box_is_enlarged(counts, enlarged):
    names = ("pass_good", "fail_good", "pass_bad", "fail_bad")
    table = SimpleNamespace(**dict(zip(names, counts, strict=True)))
    results = SimpleNamespace(shown_result=SimpleNamespace(rates=SimpleNamespace(confusion=table)))
    assert says(confusion_box_sizes_text(results), "small", "enlarged") is enlarged


def test_a_judge_worse_than_chance_is_drawn_below_zero(store: Store) -> None:
    """Youden's J is −0.6 here: its mark is left of that of chance, 0."""
    counts = {("pass", "pass"): 2, ("fail", "pass"): 8, ("pass", "fail"): 8, ("fail", "fail"): 2}
    import_table(store, "reversed", counts)
    results = load_pass_fail(FilteredStudy(store, "reversed"))
    assert (
        results.shown_result is not None
        and results.shown_result.rates.youden.value == pytest.approx(-0.6)
    )
    row = str(rates_table(results)).partition("Youden")[2]
    at = {kind: float(re.search(rf'"{kind}" style="left:([\d.]+)%', row)[1]) for kind in "cp"}
    assert 0 < at["p"] < at["c"]


@pytest.mark.parametrize("repeats", [0.0, 1.0])
def test_the_order_of_pass_and_fail_is_stated_beside_repeats(store: Store, repeats: float) -> None:
    """A judge that flips a coin changes its verdict in each order, and as often on a repeat."""
    name = f"coin{repeats}"
    judge = "{name: coin, model: simulated, seed: 1, sensitivity: 0.5, specificity: 0.5}"
    run_text(
        store,
        f"name: {name}\ndata: {{source: probe, count: 12}}\ncontestants: [precise]\n"
        f"judges: [{judge}]\nprompts: [pass-fail]\noptions: rotations\nnoise_floor: {repeats}\n",
    )
    results = load_pass_fail(FilteredStudy(store, name))
    order = results.order[results.shown_rater]
    title, lead = pass_fail_order_headline(results)
    assert says(title, f"{100 * order.changed.value:.0f}", "another verdict")
    assert says(lead, "noise") is (order.noise_floor.value is None) is (not repeats)
    if order.noise_floor.value is not None:
        assert says(lead, "repeats", f"{100 * order.noise_floor.value:.0f}")


def test_a_headline_names_its_judge_if_there_are_several(store: Store) -> None:
    judges = ", ".join(f"{{name: {one}, model: simulated, seed: 1}}" for one in ("ada", "bob"))
    run_text(
        store,
        "name: two judges pass\ndata: {source: probe, count: 4}\ncontestants: [precise]\n"
        f"judges: [{judges}]\nprompts: [pass-fail, score-scale]\n",
    )
    whole = FilteredStudy(store, "two judges pass")
    assert pass_fail_tab.headline(whole)[0].startswith(("ada passes", "bob passes"))
    assert any(f"of {name} is" in score_panels.headline(whole)[0] for name in ("ada", "bob"))
    alone = FilteredStudy(store, "two judges pass", Filter(judge="ada"))
    assert pass_fail_tab.headline(alone)[0].startswith("The judge passes")


def test_the_areas_of_the_diagram_are_as_large_as_their_numbers() -> None:
    shown = SimpleNamespace(rates=SimpleNamespace(confusion=Confusion(9, 2, 4, 5)))
    results: Any = SimpleNamespace(shown_result=shown, shown_rater=("j", "p"))
    html = confusion_areas(results)
    columns = html.split('<div class="col" ')[1:]
    assert [re.findall(r"flex-grow:(\d+)", one) for one in columns] == [
        ["13", "9", "4"], ["7", "2", "5"],
    ]  # fmt: skip
    assert "good <b>13</b>" in columns[0] and "bad <b>7</b>" in columns[1]
    assert [one.count('class="b16"') for one in columns] == [1, 1]
    shown.rates.confusion = Confusion(0, 3, 0, 0)
    assert confusion_areas(results).count('class="col"') == 1, "no good answer"


def test_filters_that_leave_no_verdict_leave_no_number(store: Store) -> None:
    nothing = FilteredStudy(store, "checks", Filter(judge="nobody"))
    results = load_pass_fail(nothing)
    assert (results.shown_rater, results.shown_result, results.shift) == (None, None, None)
    for text in (panels.pass_fail_headline(results)[0], render_confusion_areas(nothing).bodies):
        assert says(str(text), "No pass/fail verdict") and not re.search(r"\d", str(text))
    assert panels.pass_fail_kpis(results) == "" and not panels.is_pass_rate_wrong(results)
    assert pass_fail_tab.render_rates(nothing) == ""
    assert pass_fail_tab.report_rates(nothing) is panels.wrong_verdicts_html(nothing, "") is None
    assert pass_fail_order_headline(results) is option_order_panel(results) is None
    assert pass_rates_paper_table(nothing) is None


def test_the_surest_wrong_verdicts_come_first_and_each_item_once() -> None:
    """Probability of a pass, by item; of items judged twice the surer verdict counts."""
    pass_probability = {"a": 0.6, "b": 0.9, "c": 0.7, "d": 0.8, "e": 0.55, "f": 0.65}
    rows = pd.DataFrame([*pass_probability.items(), ("a", 0.95)], columns=["item", EXPECTED_COLUMN])
    passes = panels._select_surest_rows(rows, passed=True)
    assert [*passes["item"]] == ["a", "b", "d", "c", "f"] and MAX_ROWS == 5
    fails = panels._select_surest_rows(rows, passed=False)
    assert [*fails["item"]] == ["e", "a", "f", "c", "d"]
    plain = panels._select_surest_rows(rows[["item"]], passed=True)
    assert [*plain["item"]] == ["a", "b", "c", "d", "e"]


def test_without_false_fails_the_list_of_them_says_so(store: Store) -> None:
    lines = [
        "question,answer,verdict,label",
        "Is 2 odd?,Yes.,pass,fail",
        "Is 3 odd?,Yes.,pass,pass",
    ]
    path = store.path.with_name("lenient.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "lenient")
    lenient = FilteredStudy(store, "lenient")
    passes, fails = (panels.wrong_verdicts_html(lenient, errors) for errors in ERRORS)
    assert says(passes, "1 answer", "false pass") and says(fails, "no false fail")
    assert panels.wrong_verdicts_html(lenient, "another") == passes


def test_letters_and_orders_of_options_have_a_sentence_each(store: Store) -> None:
    """Orders and letters crossed: 4 arrangements; two orders alone: the table pools them."""
    run_text(store, ORDERED.replace("name: ordered", "name: lettered").replace(
        "options: rotations", "options: crossed"))  # fmt: skip
    results = load_pass_fail(FilteredStudy(store, "lettered"))
    found = results.order[results.shown_rater]
    texts = panels.option_order_sentences(found)
    shifts = text_of(option_order_panel(results)).split("Pass rate (0")[1:]
    letter, expected = found.letter.share.value, found.letter.expected.value
    assert says(texts[3], "letter A", f"{100 * letter:.1f}", f"{100 * expected:.1f}")
    assert len(found.shift) == len(texts) == 4
    for told, (name, shift) in zip(shifts, found.shift.items(), strict=True):
        assert name.replace(" ", ", ") in told and f"{shift.value:.3f}".lstrip("-0") in told
    assert panels.option_order_sentences(replace(found, letter=None)) == texts[:3]


def test_a_group_without_a_difference_has_a_dash_and_no_button(store: Store) -> None:
    made = panels._pass_rate_shift_cell("coding", Estimate(None, note="no"), {}, 1)
    assert "–" in made and "<button" not in made
    many = Estimate(0.5, 0.4, 0.6, 40, MIN_COLOURED_ITEMS)
    few = replace(many, items=MIN_COLOURED_ITEMS - 1)
    assert '"few' in str(panels._pass_rate_shift_cell("coding", few, {}, 1)).replace(" few", '"few')
    assert "few" not in panels._pass_rate_shift_cell("coding", many, {}, 1)
    unsure = panels._pass_rate_shift_cell("coding", Estimate(0.5, -0.1, 0.9, 40, 40), {}, 1)
    sure = panels._pass_rate_shift_cell("c", many, {}, 1)
    assert "not significant" in unsure and "not significant" not in sure


def test_verdicts_without_probabilities_are_not_called_probabilities() -> None:
    """Without, 50 % is an answer that passes in one of two verdicts."""
    for by_probability in (False, True):
        points = tuple(ReliabilityPoint(x, Estimate(x), by_probability) for x in (0.0, 0.5, 1.0))
        results: Any = SimpleNamespace(reliability={("j", "p"): points}, shown_rater=("j", "p"))
        table = str(rate_tables._reliability_table(results))
        assert ("robability" in table) is by_probability
        assert says(text_of(table), "50", "100")
        assert ("verdicts that pass" in table) is not by_probability
