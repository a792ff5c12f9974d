"""Remedies view: numbers of PRD as drawn, pilots with their calls, the rule that is applied."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html import unescape
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from components.charts.svg_pieces import CHARACTER_WIDTH, LEFT, Canvas
from components.filtering.filtered_study import FilteredStudy, combine_rule_clause
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.inspect.comparison_index import filter_comparisons, index_comparisons
from components.inspect.url_selection import Selection
from components.results.cards.card_html import report_cards_html
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import card_sentences
from components.results.nudges.own_family_panel import excess_by_judge
from components.results.remedies import charts_svg, panels, tab
from components.results.remedies.charts_svg import (
    RADIUS,
    Box,
    box_around,
    frontier_chart,
    place_marks,
    reserve_room_for_name,
    risk_coverage_chart,
)
from components.results.remedies.computed import load_remedies
from components.results.remedies.panels import (
    MAX_TICKS,
    NO_PAIRS_FINDING,
    _list_budget_steps,
    axis_ticks,
    best_rule_sentence,
    both_order_patterns_panel,
    budget_html,
    budget_title,
    other_judges_panel,
    pilots_panel,
    recommendation_panel,
    remedy_headline,
    rules_table,
)
from components.results.remedies.pilots import offered_pilots, pilot_study_text
from components.results.remedies.point_remedies_panel import single_answer_rules_headline
from components.results.remedies.tab import (
    remedies_paper_table,
    remedies_report,
    render_budget,
    render_lower_panels,
)
from components.results.view.unreadable_share import FORMAT_ADVICE
from components.results.view.unusable_replies import EMPTY_FILTERS, load_unusable_shares
from components.results.view_drawing import VIEWS, view_headline
from components.share.paper_text import methods_paragraph
from judges.money.costs import price_of
from judges.planning.plan import asks_of, make_plan
from metrics.remedies.budget_plan import BudgetPlan
from metrics.remedies.changed_comparisons import rule_key
from metrics.summary.measured_study import read_stored_study
from metrics.summary.summary import to_plain_data
from studies.domain import Ask, Estimate, Item, Judgement, JudgeSpec, Verdict
from studies.errors import StudyError
from studies.exchange.recorded_studies import import_verdicts, save_recorded_study
from studies.sharing.read_only_store import ReadOnlyStore
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec, parse_study
from studies.store.store import Store
from tests.components.written_replies import write_items
from tests.judges.small_studies import run_text
from tests.metrics.frames import records
from tests.page_words import says, text_of
from tests.samples import sample
from tests.voted_studies import Sheet, save

JUDGES = ("gpt-4", "claude-v1", "bard", "gpt-3.5-turbo", "vicuna-13b")
STUDY = """
name: one judge
data: {source: probe, seed: 1}
contestants: [precise, flawed]
judges:
  - {name: "<b>biased", model: simulated, graded_signal: 0.9, graded_first: 0.8,
     read: probabilities, seed: 1}
prompts: [label-probability]
"""


@pytest.fixture(scope="module")
def prd(module_store: Store) -> Store:
    import_verdicts(module_store, records("prd"), "prd")
    return module_store


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("simulated") / "evenhand.db")
    run_text(store, STUDY)
    yield store
    store.close()


def shown(store: Store, judge: str):
    return FilteredStudy(store, "prd", Filter(judge=judge))


def test_gpt_4_as_drawn(prd):
    results = load_remedies(shown(prd, "gpt-4"))
    title, lead = remedy_headline(results)
    assert says(title, "gpt-4", "add up", "chosen in this way", "+1.5", "[")
    assert says(lead, "usual rule", "loses agreement (−1.9 points [−3.0, −0.8]).")
    card = ReportCard(Raters(shown(prd, "gpt-4")), "gpt-4")
    advice = card_sentences(card.facts, card.text_by_key)[2]
    assert (advice.rule, advice.text) == ("remedy", title), "card and view give the same advice"
    table = rules_table(results)
    assert re.findall(r'data-rule="(\d+)"', table)[:3] == ["1", "2", "3"], "as in the chart"
    for text in ("77.7", "73.9", "+1.9", "−1.9", "Open 110", "79.2"):
        assert text in table
    assert [line.rule.id for line in results.pareto_frontier(by_dollars=False)][:2] == [
        "single",
        "pool",
    ]
    assert "Use this rule" in recommendation_panel(results)
    assert "75.8" in recommendation_panel(results)


def test_a_judge_of_its_own_answers_is_known_by_its_name(prd):
    """The win rate of gpt-4 by gpt-4 is that of the records' README; the study names no family."""
    found = excess_by_judge(shown(prd, "gpt-4"))
    assert list(found) == ["gpt-4"] and found["gpt-4"].own.value == pytest.approx(0.85625)
    assert "self_preference" in read_stored_study(prd.path, "prd").summarise(quick=True)


@pytest.mark.parametrize("unreadable", [0.0, 0.25])
def test_card_view_and_report_say_first_that_replies_cannot_be_read(unreadable, store):
    judge = f"{{name: keen, model: simulated, seed: 5, unreadable_rate: {unreadable}}}"
    run_text(store, f"name: s\ndata: {{source: probe}}\ncontestants: [precise, flawed]\n"
             f"judges: [{judge}]\nprompts: [brief-letters]\n")  # fmt: skip
    filtered = FilteredStudy(store, "s")
    title, lead = tab.headline(filtered)
    card = ReportCard(Raters(filtered), "keen")
    advice = card_sentences(card.facts, card.text_by_key)[2].text
    assert (advice == FORMAT_ADVICE) == (title == FORMAT_ADVICE) == (unreadable > 0)
    assert (FORMAT_ADVICE in unescape(remedies_report(filtered))) == (unreadable > 0)
    told, rest = remedy_headline(load_remedies(filtered))
    assert lead.endswith(f"{told} {rest}".strip()) if unreadable else (title, lead) == (told, rest)
    shares = load_unusable_shares(filtered)
    assert shares["keen", "brief-letters"].value == pytest.approx(unreadable, abs=0.15)


def set_status(store: Store, old: str, new: str) -> None:
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute("UPDATE judgements SET status=? WHERE status=?", (new, old))


@pytest.mark.parametrize("prompts", ["brief-letters", "score-scale", "pass-fail"])
def test_calls_without_a_reply_are_no_reason_to_change_the_format(prompts, store):
    """About 40 % of calls are unusable, as errors; then the same replies are unreadable."""
    judge = "{name: keen, model: simulated, seed: 5, unreadable_rate: 0.4}"
    run_text(store, "name: s\ndata: {source: probe}\ncontestants: [precise, flawed]\n"
             f"judges: [{judge}]\nprompts: [{prompts}]\n")  # fmt: skip
    for old, new in (("unreadable", "error"), ("error", "unreadable")):
        set_status(store, old, new)
        filtered = FilteredStudy(Store(store.path), "s")
        shares = load_unusable_shares(filtered)
        assert shares["keen", prompts].value > 0.2
        told = [tab.headline(filtered)[0], text_of(str(report_cards_html(filtered)))]
        assert [FORMAT_ADVICE in one for one in told] == 2 * [new == "unreadable"]


@pytest.mark.parametrize("helped", [True, False])
def test_advice_names_its_prompt_if_the_study_has_several(helped, store):
    """With graded replies a biased judge gains from both orders; with letters alone it does not."""
    first = "label-probability" if helped else "brief-numbers"
    text = (
        STUDY if helped else re.sub(r"graded_signal.*\n.*probabilities", "first_bias: 0.5", STUDY)
    )
    for name, prompts in (("one", first), ("two", f"{first}, brief-letters")):
        run_text(store, text.replace("one judge", name).replace("label-probability", prompts))
        results = load_remedies(filtered := FilteredStudy(store, name, Filter(prompt=first)))
        chosen = results.advice.chosen is not None
        assert chosen is helped
        texts = [
            " ".join(tab.headline(filtered)),
            results.advice.sentence,
            budget_html(results, 40),
        ]
        texts += [recommendation_panel(results)] * chosen
        named = ["with the prompt " in text_of(str(one)).lower() for one in texts]
        assert named == [name == "two"] * len(texts)
        assert f"prompt {first}" in texts[1] or name == "one"


def test_the_prompt_whose_replies_cannot_be_read_is_named(store):
    """Half of the replies to one prompt cannot be read, none of those to the other."""
    rows = [
        (f"q{k}", "keen", prompt, (who,), None, 1)
        for k in range(8) for prompt in ("p", "q") for who in ("x", "y")
    ]  # fmt: skip
    asks = [Ask("", *row[:3], row[3], ("1", "2", "3"), orders=1) for row in rows]
    good = Verdict(None, 1, (2.0,))
    made = [
        Judgement(ask, "unreadable")
        if ask.prompt == "q" and ask.shown == ("x",)
        else Judgement(ask, "ok", good, "recorded")
        for ask in asks
    ]
    items = [Item(f"q{k}", "why?", {"x": "so", "y": "well"}) for k in range(8)]
    loaded = LoadedSource(items, made, "table", "written here")
    save_recorded_study(store, "two prompts", DataSpec(source="x.csv"), loaded)
    title, lead = tab.headline(FilteredStudy(store, "two prompts"))
    assert title == FORMAT_ADVICE and says(lead, "50", "keen", "prompt q", "cannot")


def test_remedies_of_what_the_filters_leave(store, prd):
    prompts = "prompts: [brief-letters, pass-fail]\n"
    run_text(store, "name: mixed\ndata: {source: probe, count: 4}\ncontestants: [precise, flawed]\n"
             f"judges: [{{name: keen, model: simulated, seed: 5}}]\n{prompts}")  # fmt: skip
    found = {
        prompt: tab.headline(FilteredStudy(store, "mixed", Filter(prompt=prompt)))[0]
        for prompt in ("all", "pass-fail")
    }
    assert (
        found["pass-fail"]
        == single_answer_rules_headline(FilteredStudy(store, "mixed", Filter(prompt="pass-fail")))[
            0
        ]
    )
    assert NO_PAIRS_FINDING[0] not in found.values()
    for where, name in ((store, "mixed"), (prd, "prd")):  # in every view, not only this one
        nothing = FilteredStudy(where, name, Filter(prompt="neither"))
        assert {view_headline(view, nothing) for view in VIEWS.values()} == {EMPTY_FILTERS}


def test_the_step_to_a_price_depends_on_stored_tokens(prd, simulated):
    unknown = load_remedies(shown(prd, "gpt-4"))
    assert not unknown.inputs.tokens
    chart = charts_svg.frontier_chart(unknown, by_dollars=False)
    assert unknown.price_hint(["gpt-4"]) in unescape(chart)
    counted = load_remedies(FilteredStudy(simulated, "one judge"))
    assert counted.price_hint([counted.judge]) != unknown.price_hint(["gpt-4"])


def test_without_a_choice_the_judge_that_agrees_most_is_shown(prd):
    assert load_remedies(FilteredStudy(prd, "prd")).judge == "gpt-4"


def test_the_identity_has_the_studys_own_numbers(prd):
    text = both_order_patterns_panel(load_remedies(shown(prd, "gpt-4")))
    for number in ("392", "65", "90", "28", "81", "29"):
        assert f"<td>{number}</td>" in text
    assert "(81 − 29) ÷ 4 ÷ 685" in text
    assert not says(text, "gains so little") and not says(text, "another judge"), "adding up gains"


@pytest.mark.parametrize(("items", "full"), [(6, False), (200, True)])
def test_a_judge_that_is_right_on_many_items_is_offered_nothing(items, full, store):
    """Lower end by Wilson: of 6 items 6/(6 + 1.96²) = 61 %, of 200 200/(200 + 1.96²) = 98.1 %."""
    rows = [
        (f"q{k}", judge, "p", pair, "x" if judge == "sharp" else pair[0], 2)
        for k in range(items) for judge in ("sharp", "first") for pair in (("x", "y"), ("y", "x"))
    ]  # fmt: skip
    save(store, "full", rows, design={f"q{k}": "x" for k in range(items)})
    results = load_remedies(FilteredStudy(store, "full", Filter(judge="sharp")))
    title, lead = remedy_headline(results)
    assert says(title, *(("sharp", "hardly anything") if full else ("No remedy was", "sharp")))
    assert says(lead, "100.0 %", f"{items} comparisons")
    assert "would have" not in lead + results.advice.sentence
    assert "100.0 %" in results.advice.sentence
    assert (pilots_panel(results) == "") is full
    other = load_remedies(FilteredStudy(store, "full", Filter(judge="first")))
    assert says(pilots_panel(other), "each of", "items")


def test_vicuna_is_told_no_and_offered_another_judge(prd):
    results = load_remedies(shown(prd, "vicuna-13b"))
    assert says(remedy_headline(results)[0], "No remedy", "vicuna-13b")
    assert recommendation_panel(results) == ""
    assert "Show remedies for gpt-4" in other_judges_panel(results)
    assert "+17.4 points" in other_judges_panel(results)
    assert says(other_judges_panel(results), "agrees with the majority")
    assert {line.rule.members for line in results.rule_estimates} == {(("vicuna-13b", "prd"),)}


def test_a_judge_that_a_remedy_helps_is_still_compared_with_a_better_one(prd):
    """A remedy helps bard, but one call of gpt-4 (75.8 %) agrees more often, so the plan of the
    budget asks gpt-4 and has no room for bard's rule."""
    results = load_remedies(shown(prd, "bard"))
    title, lead = remedy_headline(results)
    assert says(title, "Ask bard") and says(lead, "One call of gpt-4", "75.8")
    assert "Show remedies for gpt-4" in render_lower_panels(results.filtered)
    assert says(budget_html(results, 1000), "Ask gpt-4 once")
    # Two judges in both orders agree in 79.2 %, three in 79.7 %: not significantly more often.
    assert says(str(render_budget(results.filtered, "40").heading), "significantly more often")
    (left_out,) = (one for one in results.missing_rules if one.startswith("Juries"))
    assert says(left_out, "gpt-4", "claude-v1") and "vicuna-13b" not in left_out
    best = load_remedies(shown(prd, "gpt-4"))
    assert best.better_judge_one_call is None and other_judges_panel(best) == ""
    assert "Juries" not in "".join(best.missing_rules)


def test_the_gains_of_the_page_are_those_of_the_json(prd):
    """Limits in points as the page shows them for gpt-4, with juries that are and are not named;
    the page does not show the jury of gpt-4 and bard."""
    named = (("gpt-4", "gpt-3.5-turbo"), ("gpt-4", "bard"))
    found = read_stored_study(prd.path, "prd", named).summarise(quick=True)["remedies"]
    table = load_remedies(shown(prd, "gpt-4")).rule_estimates
    rules = found["rules"]["gpt-4"]["prd"]
    assert {key: line["adjusted"] for key, line in rules.items() if key != "single"} == {
        rule_key(line.rule): to_plain_data(line.adjusted) for line in table[1:]
    }

    def limits(line: dict[str, Any]) -> list[float]:
        return [round(100 * line["adjusted"][end], 1) for end in ("low", "high")]

    assert limits(rules["pool"]) == [0.8, 3.0]
    assert limits(rules["jury-both|gpt-4|gpt-3.5-turbo"]) == [1.3, 5.5]
    juries = found["juries"]
    assert limits(juries["gpt-4 + gpt-3.5-turbo"]["jury-both"]) == [1.3, 5.5]
    assert [limits(one["jury-both"]) for one in juries.values() if one["picked"]] == [[1.6, 6.3]]
    (five,) = (one for name, one in juries.items() if name.count(" + ") == 4)
    assert limits(five["jury-both"]) == [0.5, 5.7]
    assert limits(five["jury"]) and limits(juries["gpt-4 + bard"]["jury-both"])


def test_open_lists_the_comparisons_that_the_rule_changes(prd):
    index = index_comparisons(prd.frame("prd"))
    chosen = Selection(study="prd", judge="gpt-4", rule="pool")
    assert len(filter_comparisons(index, chosen)) == 110
    jury = Selection(study="prd", judge="gpt-4", rule="jury-both|gpt-4|gpt-3.5-turbo")
    assert len(filter_comparisons(index, jury)) == 203
    unknown = Selection(study="prd", judge="gpt-4", rule="no such rule")
    assert len(filter_comparisons(index, unknown)) == 0


def test_every_output_is_filled(prd):
    parts = tab.VIEW.render(shown(prd, "gpt-4"), {"cost": "Dollars", "budget": ""})
    hidden = {name for name, value in parts.items() if not value}
    assert hidden == {"point_remedies_panel"}
    bodies = {body.name for panel in tab.VIEW.panels for body in panel.bodies}
    assert bodies - set(parts) == {"point_remedies"}
    assert says(parts["frontier"], "No dollars", "no price")
    assert parts["frontier"].count("<svg") == 2  # a wide and a narrow drawing


def test_charts_have_a_mark_for_each_rule_and_each_margin(prd):
    results = load_remedies(shown(prd, "gpt-4"))
    rules = [line for line in results.rule_estimates if line.complete and not line.rule.votes]
    assert frontier_chart(results, by_dollars=False).count("<circle") == 2 * len(rules)
    assert risk_coverage_chart(results).count('class="d"') == 2 * 6


def test_no_rule_beats_a_rule_on_the_frontier_at_its_price_or_less(prd):
    """In whatever order the rules stand in the table."""
    results = load_remedies(shown(prd, "gpt-4"))
    listed = [line for line in results.rule_estimates if line.complete and not line.rule.votes]
    for by_dollars in (False, True):
        marks = [
            (results.rule_price(one, by_dollars), -(one.agreement.value or 0)) for one in listed
        ]
        beaten = {
            mark for mark in marks for other in marks
            if other != mark and other[0] <= mark[0] and other[1] <= mark[1]
        }  # fmt: skip
        for lines in (results.rule_estimates, results.rule_estimates[::-1]):
            again = replace(results)
            vars(again)["rule_estimates"] = lines
            found = again.pareto_frontier(by_dollars)
            assert [
                (results.rule_price(one, by_dollars), -(one.agreement.value or 0)) for one in found
            ] == sorted(set(marks) - beaten)


def test_a_line_leads_from_a_mark_that_was_moved_to_its_price(prd):
    results = load_remedies(shown(prd, "gpt-4"))
    costs = [mark.cost for mark in charts_svg._list_rule_marks(results, False)]
    wide, narrow = frontier_chart(results, False).split("</svg>")[:2]
    for drawing, canvas in ((wide, Canvas(820, 290)), (narrow, Canvas(340, 300, narrow=True))):
        place, _ = charts_svg._cost_axis(canvas, costs, False)
        prices = {f"{place(cost):.1f}" for cost in costs}
        moved = [x for x in re.findall(r'<circle cx="([\d.]+)"', drawing) if x not in prices]
        lines = re.findall(r'class="moved" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', drawing)
        assert moved and sorted(end for _, end in lines) == sorted(moved)
        assert all(start in prices for start, _ in lines)


@pytest.mark.parametrize("narrow", [False, True])
def test_no_mark_covers_another_and_none_leaves_the_drawing(narrow):
    canvas = Canvas(340, 300, narrow=narrow)
    wanted = [(300.0, 100.0 + 2 * k) for k in range(9)]
    placed = place_marks(wanted, [True] + [False] * 8, canvas)
    assert placed[0] == wanted[0]
    for one, other in combinations(placed, 2):
        assert not box_around(one).overlaps(box_around(other))
    assert all(LEFT <= x <= 340 - RADIUS for x, _ in placed)


def test_a_name_without_room_is_left_out():
    canvas, taken = Canvas(340, 300), [Box(0, 0, 340, 300)]
    assert reserve_room_for_name("75.8 One call", (100, 100), (80, 120), taken, canvas) is None
    free = reserve_room_for_name("75.8 One call", (100, 100), (80, 120), [], canvas)
    assert free is not None and free.anchor == "start" and free.y < 80


def test_report_and_paper_have_the_table(prd):
    view = shown(prd, "gpt-4")
    assert "77.7" in remedies_report(view)
    rows = {row[0]: row for row in remedies_paper_table(view).rows}
    assert rows["Both orders, added up"][1:3] == ("2", "77.7")
    assert rows["Both orders, added up"][4] == "+1.9"


def test_an_applied_rule_is_followed_and_named(prd):
    before = prd.version("prd")
    assert FilteredStudy(prd, "prd").rule[0] == "pooled"
    prd.set_combine_rule("prd", "pool")
    view = shown(prd, "gpt-4")
    assert prd.version("prd") != before
    assert view.rule[0] == "majority"
    assert combine_rule_clause(view) == "; a win in one order and a tie in the other is a win"
    assert says(methods_paragraph(view), "both orders", "or", "one order")
    assert "In use" in recommendation_panel(load_remedies(view))
    prd.set_combine_rule("prd", "single")
    assert FilteredStudy(prd, "prd").rule[0] == "pooled"


def sends(panel: str, name: str) -> bool:
    """Whether a button of the panel sends the field `name`."""
    found = re.findall(r'data-select="([^"]+)"', panel)
    return any(name in json.loads(unescape(text)) for text in found)


def test_a_reader_is_offered_no_button_that_changes_the_study(simulated):
    reader = ReadOnlyStore(simulated.path)
    view, owned = (load_remedies(FilteredStudy(one, "one judge")) for one in (reader, simulated))
    assert sends(recommendation_panel(owned), "use") and sends(pilots_panel(owned), "pilot")
    assert not sends(recommendation_panel(view), "use")
    assert pilots_panel(view) and not sends(pilots_panel(view), "pilot")
    simulated.set_combine_rule("one judge", view.advice.chosen.rule.id)
    used = recommendation_panel(load_remedies(FilteredStudy(reader, "one judge")))
    assert "In use" in used and not sends(used, "use")
    simulated.set_combine_rule("one judge", "single")
    reader.close()


def test_a_jury_is_applied_and_named(prd):
    rule = "jury-both|gpt-4|gpt-3.5-turbo"
    prd.set_combine_rule("prd", rule)
    everyone, alone = FilteredStudy(prd, "prd"), shown(prd, "gpt-4")
    assert everyone.rule[0] == rule
    assert combine_rule_clause(everyone) == (
        "; two judges, both orders (gpt-4 and gpt-3.5-turbo; four verdicts added up)"
    )
    assert says(methods_paragraph(everyone), "four", "added up")
    outcomes = everyone.counted_outcomes
    assert {str(name) for name in outcomes["judge"]} == {"gpt-4 + gpt-3.5-turbo"}
    assert len(outcomes) == 800  # one for each comparison
    assert alone.rule[0] == "majority"  # one judge is shown: its own two orders
    assert "Undo" in recommendation_panel(load_remedies(alone))
    prd.set_combine_rule("prd", "single")


def test_an_unknown_rule_is_refused(prd):
    with pytest.raises(StudyError):
        prd.set_combine_rule("prd", "coin")
    assert prd.study("prd").combine in ("single", "pooled")


def test_pilots_are_runnable_and_make_the_calls_they_announce(simulated):
    results = load_remedies(FilteredStudy(simulated, "one judge"))
    found = {pilot.kind: pilot for pilot in offered_pilots(results)}
    assert "probabilities" not in found  # graded replies are stored
    assert {"repeats", "warning", "reference", "describe", "jury"} <= set(found)
    assert found["repeats"].price_text == "240 calls, free (local)"
    for kind in ("repeats", "examples", "warning", "reference", "describe"):
        plan = make_plan(parse_study(found[kind].yaml, "pilot", Path()))
        assert sum(1 for _ in asks_of(plan)) == found[kind].calls


def test_a_pilot_compares_the_models_that_the_filter_leaves(store):
    """Items of the category `late` compare a and c; those of `early`, which come first, a and b."""
    rows, kinds = [], {}
    for k in range(12):
        other, kinds[f"q{k:02}"] = ("b", "early") if k < 8 else ("c", "late")
        for shown in (("a", other), (other, "a")):
            rows.append((f"q{k:02}", "ada", "p", shown, "a", 2))
    save(store, "models", rows, categories=kinds, design=dict.fromkeys(kinds, "a"))
    for category, models in (("late", ("a", "c")), ("early", ("a", "b")), ("all", ("a", "b"))):
        results = load_remedies(FilteredStudy(store, "models", Filter(category=category)))
        assert {one.study.contestants for one in offered_pilots(results)} == {models}


def test_the_rules_of_a_finished_pilot_join_the_table(simulated):
    filtered = FilteredStudy(simulated, "one judge")
    text = pilot_study_text(filtered, "repeats")
    assert sum(1 for _ in asks_of(run_text(simulated, text))) == 240
    results = load_remedies(filtered)
    kinds = {(one.kind, one.estimate.rule.id) for one in results.pilot_rules}
    assert ("repeats", "repeats(3)-both") in kinds
    assert "from pilots" in rules_table(results)
    chart = frontier_chart(results, by_dollars=False)
    for place, one in enumerate(results.pilot_rules, start=1):
        assert chart.count(f'data-rule="P{place}"') == 2  # wide and narrow
        tips = re.findall(rf'data-rule="P{place}"[^>]* data-tip="([^"]*)"', chart)
        measured = f"{100 * (one.estimate.agreement.value or 0):.1f} "
        assert len(tips) == 2 and all(tip.startswith(measured) for tip in tips), chart[:3000]
        assert says(tips[0], "pilot repeats", f"{one.estimate.agreement.n} comparisons")
        assert f'data-rule="P{place}"' in rules_table(results)


@pytest.mark.parametrize(
    ("kind", "prompt"), [("reference", "brief-reference"), ("describe", "brief-describe")]
)
def test_a_pilot_of_another_prompt_adds_that_prompt_to_the_frontier(simulated, kind, prompt):
    filtered = FilteredStudy(simulated, "one judge")
    plan = run_text(simulated, pilot_study_text(filtered, kind))
    assert sum(1 for _ in asks_of(plan)) == 160  # two prompts, both orders, 40 items
    items = simulated.items("one judge")
    asked = [one for one in asks_of(plan) if one.ask.prompt == prompt]
    for one in asked:
        sent = "\n".join(str(message["content"]) for message in one.call.messages)
        assert (items[one.ask.item].reference in sent) == (kind == "reference")
        assert says(sent, "Do not rate") == (kind == "describe")
        assert bool(one.call.parameters.get("logprobs")) == (kind == "reference")
    results = load_remedies(filtered)
    joined = {one.estimate.rule.id: one for one in results.pilot_rules if one.kind == kind}
    assert set(joined) >= {f"prompt:{prompt}", f"prompt:{prompt}+pool"}
    assert joined[f"prompt:{prompt}"].estimate.agreement.n == 40
    assert kind not in {pilot.kind for pilot in offered_pilots(results)}
    place = [one.estimate.rule.id for one in results.pilot_rules].index(f"prompt:{prompt}") + 1
    assert frontier_chart(results, by_dollars=False).count(f'data-rule="P{place}"') == 2


def test_a_pilot_has_the_price_of_its_longer_replies(prd):
    known = load_remedies(shown(prd, "gpt-4"))
    kinds = {pilot.kind for pilot in offered_pilots(known)}
    assert "reference" not in kinds and "describe" in kinds  # PRD has no reference answers
    prices = {("gpt-4", "prd"): 0.01}
    view = replace(known, inputs=replace(known.inputs, prices=prices))
    found = {pilot.kind: pilot for pilot in offered_pilots(view)}
    assert found["warning"].cost == pytest.approx(found["warning"].calls * 0.01)
    listed = price_of(JudgeSpec(name="gpt-4", model="gpt-4"))
    longer = 200 * listed.output / 1e6 if listed else 0.0
    describe = found["describe"]
    # Half of the calls have the new prompt, whose replies are longer by a description.
    assert describe.cost == pytest.approx(describe.calls * (0.01 + longer / 2))


def test_names_from_data_stay_text(simulated):
    results = load_remedies(FilteredStudy(simulated, "one judge"))
    parts = [
        rules_table(results),
        both_order_patterns_panel(results),
        pilots_panel(results),
        recommendation_panel(results),
    ]
    assert all("<b>biased" not in part for part in parts)
    assert any("&lt;b&gt;biased" in part for part in parts)


def test_graded_replies_beat_hard_ones_for_a_biased_judge(simulated):
    results = load_remedies(FilteredStudy(simulated, "one judge"))
    lines = {line.rule.id: line for line in results.rule_estimates}
    assert lines["graded"].agreement.value > lines["single"].agreement.value + 0.05
    assert results.advice.chosen.rule.id in ("graded", "calibrated")
    points, caption = results.risk_curve
    assert len(points) > 10 and says(caption, "mean score", "margin")


def test_the_short_table_keeps_the_recommended_and_the_usual_rules(prd, monkeypatch):
    results = load_remedies(shown(prd, "gpt-4"))
    rows = [row for row in panels._rule_rows_of_study(results) if row.estimate.complete]
    rows = [row for row in rows if not row.estimate.rule.votes][:9]
    usual = ["single", "agree"]
    monkeypatch.setattr(panels, "MAX_BEST_RULES", 4)
    for last in usual:  # these two come last, behind more best rules than there is room for
        rows.sort(key=lambda row: row.estimate.rule.id == last)
    rows = [replace(row, best=True, picked=n == 6) for n, row in enumerate(rows)]
    monkeypatch.setattr(panels, "_rule_rows_of_study", lambda results: rows)
    shown_rows = []
    monkeypatch.setattr(panels.html, "best_rules", shown_rows.extend)
    panels.best_rules_table(results)
    kept = [row.number for row in shown_rows]
    assert kept == [rows[n].number for n in (0, 6, 7, 8)]
    assert [row.estimate.rule.id for row in rows[7:]] == usual


def test_a_budget_is_answered_with_a_rule_and_a_number_of_comparisons(prd):
    known = load_remedies(shown(prd, "gpt-4"))
    prices = {cell: 0.021 if cell[0] == "gpt-4" else 0.001 for cell in known.study.raters}
    view = replace(known, inputs=replace(known.inputs, prices=prices))
    assert view.budget_plan is not None and view.budget_plan.currency == "dollars"
    assert [step.cost for step in view.budget_plan.steps] == sorted(
        s.cost for s in view.budget_plan.steps
    )
    # 800 comparisons of the study; one call of gpt-4 costs $16.8, both orders $33.6.
    assert panels.budget_amount(view, panels.STUDY) == pytest.approx(33.6)
    assert panels.budget_amount(view, "10") == 10.0
    answer = budget_html(view, 40.0)
    assert says(answer, "800 comparisons", "gpt-4") and view.all_comparison_count == 800
    dearest = view.budget_plan.steps[-1]
    assert f"up to {int(40 / dearest.cost):,}" in answer
    assert answer.count('class="l r0"') == len(view.budget_plan.steps)
    steps = [replace(dearest, cost=cost) for cost in (0.0030, 0.0031, 0.01)]
    lines = [line[1] for line in _list_budget_steps(BudgetPlan("dollars", (*steps,)), 0.1, ())]
    assert lines == ["up to 10", "11 to 32", "33 to 33"]
    steps = [replace(dearest, cost=cost) for cost in (0.0092, 0.0095, 0.02)]
    lines = [line[1] for line in _list_budget_steps(BudgetPlan("dollars", (*steps,)), 0.1, ())]
    assert lines == ["up to 5", "6 to 10", "as many"], "the range has no number"
    little = budget_html(view, 0.4)
    assert says(little, "$0.40", "pays", "400", "800 comparisons")
    assert "$42" in rules_table(view), "1,000 comparisons in both orders"


def test_without_a_price_the_budget_is_counted_in_calls(prd):
    known = load_remedies(shown(prd, "gpt-4"))
    assert known.budget_plan is not None and known.budget_plan.currency == "calls"
    # Both orders, the recommended rule, need 1,600 calls for 800 comparisons: the budget at first.
    # The agreement of one call (75.8 %) stands in other panels, once.
    money = panels.budget_amount(known, "40")
    assert money == 1600 and says(budget_title(known, money), "1,600 calls")
    told = budget_html(known, money)
    assert says(told, "Ask gpt-4", "both orders", "1,600 calls")
    assert says(remedy_headline(known)[0], "Ask gpt-4", "both orders")
    assert says(budget_html(known, 1000.0), "Ask gpt-4 once", "800 calls")
    assert "agreement" not in told.lower()
    assert says(told, "No price", "known", "calls")
    some = replace(known, inputs=replace(known.inputs, prices={("gpt-4", "prd"): 0.021}))
    assert some.budget_plan is not None and set(some.budget_plan.unpriced) == {
        judge for judge, _ in known.study.raters
    } - {"gpt-4"}
    members = {member for step in some.budget_plan.steps for member in step.rule.members}
    assert members == {("gpt-4", "prd")}, "an unknown price is never free"
    assert says(budget_html(some, 40.0), "Left out", "claude-v1")
    tokens = dict.fromkeys(known.study.raters, 500.0)
    counted = replace(known, inputs=replace(known.inputs, tokens=tokens))
    assert "<th>Tokens</th>" in rules_table(counted) and "1,000</td>" in rules_table(counted)
    nothing = load_remedies(shown(prd, "vicuna-13b"))
    dear = dict.fromkeys(known.study.raters, 0.021)
    free = replace(nothing, inputs=replace(nothing.inputs, prices=dear))
    assert says(remedy_headline(free)[1], "one call", "$40", "1,904 comparisons")


def test_a_local_judge_can_judge_any_number(simulated):
    store = simulated
    results = load_remedies(FilteredStudy(store, "one judge"))
    assert results.budget_plan is not None and results.budget_plan.steps[0].cost == 0
    assert says(budget_html(results, 40.0), "any number of")


@pytest.mark.parametrize("judge", sample(JUDGES, "gpt-4", "vicuna-13b"))
def test_headline_and_budget_of_a_free_judge_never_contradict_each_other(prd, judge):
    """All rules of a local judge cost nothing; the budget then names the recommended rule or one
    call, never a rule that is better by luck."""
    known = load_remedies(shown(prd, judge))
    prices = {(judge, "prd"): 0.0}
    view = replace(known, inputs=replace(known.inputs, prices=prices))
    title, _ = remedy_headline(view)
    answer = best_rule_sentence(view.budget_plan, 40.0, view.all_comparison_count)
    alone = view.advice.chosen is not None and len(view.advice.chosen.rule.members) == 1
    if view.advice.chosen is None:
        assert title.startswith("No remedy was shown")
        assert f"Ask {judge} once" in answer
    elif alone:
        assert f"Ask {judge} once**" not in answer


def test_rules_that_cannot_be_computed_have_their_reason(prd, simulated):
    store = simulated
    local = load_remedies(FilteredStudy(store, "one judge"))
    table = rules_table(local)
    assert says(table, "votes", "people", "Vote") and says(table, "Juries", "no other judge")
    assert "need graded replies" not in table
    recorded = rules_table(load_remedies(shown(prd, "gpt-4")))
    assert "need graded replies" in recorded and says(recorded, "Repeats", "three times")


@pytest.mark.parametrize("judge", sample(JUDGES, "gpt-4", "vicuna-13b"))
def test_texts_of_the_risk_chart_do_not_cover_each_other(prd, judge):
    drawn = risk_coverage_chart(load_remedies(shown(prd, judge)))
    for narrow in drawn.split("<svg")[1:]:
        boxes = []
        for x, y, text in re.findall(
            r'class="[nb]" x="([\d.]+)" y="([\d.]+)" text-anchor="start">([^<]+)<', narrow
        ):
            left, line = float(x), float(y)
            boxes.append(Box(left, line - 12, left + CHARACTER_WIDTH * len(text), line + 3))
        assert boxes
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_dollars_are_off_with_a_reason(prd, simulated):
    assert load_remedies(shown(prd, "vicuna-13b")).no_dollars_reason == (
        "no price is known for vicuna-13b"
    )
    local = load_remedies(FilteredStudy(simulated, "one judge"))
    assert not local.can_compare_in_dollars and "cost nothing" in local.no_dollars_reason
    assert "eh-no-dollars" in frontier_chart(local, by_dollars=False)


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        ((-0.035, 0.104), [0, 0.05, 0.1]),
        ((-0.025, 0.025), [-0.02, 0, 0.02]),
        ((-0.7, 0.6), [-0.5, 0, 0.5]),
    ],
)
def test_the_axis_of_differences_has_few_round_ticks(axis, ticks):
    assert axis_ticks(axis) == pytest.approx(ticks) and len(ticks) <= MAX_TICKS


def test_the_head_of_the_differences_names_its_ticks(prd):
    table = rules_table(load_remedies(shown(prd, "gpt-4")))
    head = table.partition('class="eh-axis"')[2].partition("</div>")[0]
    assert ">0</span>" in head and ">+" in head


def test_a_pilot_has_no_twins_and_the_price_of_the_judge_that_costs(tmp_path):
    store = Store(tmp_path / "evenhand.db")
    run_text(store, STUDY + "twins: quick\n")
    known = load_remedies(FilteredStudy(store, "one judge"))
    prices = {("<b>biased", "label-probability"): 0.01}
    view = replace(known, inputs=replace(known.inputs, prices=prices))
    found = {one.kind: one for one in offered_pilots(view)}
    plan = make_plan(parse_study(found["warning"].yaml, "pilot", Path()))
    assert sum(1 for _ in asks_of(plan)) == found["warning"].calls == 160
    assert found["jury"].calls == 160 and found["jury"].cost == pytest.approx(80 * 0.01)
    store.close()


@pytest.mark.parametrize(
    ("source", "orders", "said"),
    [("items.jsonl", "both", "must be known"), ("probe, count: 6", "one", "in both orders")],
)
def test_without_remedies_the_headline_says_what_is_missing(store, tmp_path, source, orders, said):
    line = {"instruction": "q", "responses": {"m": "x", "n": "y"}}
    write_items(tmp_path / "items.jsonl", [{"id": f"q{k}", **line} for k in range(6)])
    run_text(
        store,
        f"name: bare\ndata: {{source: {source}}}\norders: {orders}\nprompts: [brief-letters]\n"
        "judges: [{name: sim, model: simulated, seed: 3}]\n",
        tmp_path,
    )
    assert said in remedy_headline(load_remedies(FilteredStudy(store, "bare")))[0]


def test_without_remedies_the_headline_names_the_true_reason(store):
    """Two people prefer x on the even questions, one each x and y on the odd ones. `half` has
    verdicts on a third of the questions, `lost` in one of two orders."""
    sheet = Sheet("voted")
    for n in range(12):
        sheet.both(f"q{n}", "ada", "xx").votes(f"q{n}", ann="x", bob="y" if n % 2 else "x")
        if n < 4:
            sheet.both(f"q{n}", "half", "xx")
    sheet.save(store, categories={f"q{n}": ("even", "odd")[n % 2] for n in range(12)})

    def told(name: str, **chosen: str) -> str:
        filtered = FilteredStudy(store, name, Filter(**chosen))
        return " ".join(remedy_headline(load_remedies(filtered)))

    assert says(told("voted", category="odd"), "must be known", "half of", "votes")
    assert says(told("voted", judge="half"), "No remedy", "known better answer", "fewer than half")
    assert "Name their column" not in told("voted", category="odd")
    for name, said in (("lost", "x?"), ("once", "x"), ("nobody", "")):
        sheet = Sheet(name)
        for n in range(4):
            if said:
                (sheet.both if len(said) > 1 else sheet.once)(f"q{n}", "ada", said)
            sheet.votes(f"q{n}", ann="x", bob="x")
        sheet.save(store)
    assert says(told("lost"), "4 comparisons", "not every judge", "both orders")
    assert says(told("once"), "4 comparisons", "not every judge", "in one order")
    assert says(told("nobody"), "for judges", "by people")
    sheet = Sheet("known")
    sheet.both("q0", "ada", "xx").both("q1", "ada", "xx").votes("q0", ann="x").save(
        store, categories={"q0": "voted", "q1": "not"}
    )
    assert says(told("known", category="not"), "No comparison", "filters")


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.01, 0.1, "gains agreement"),
        (-0.1, -0.01, "loses agreement"),
        (-0.1, 0.1, "shows no significant difference"),
        (-0.1, 0.0, "shows no significant difference"),
        (0.0, 0.1, "shows no significant difference"),
    ],
)
def test_the_usual_rule_gains_or_loses_only_if_its_interval_excludes_zero(low, high, found):
    def results(rule: str, changed: int = 1) -> SimpleNamespace:
        line = SimpleNamespace(
            adjusted=Estimate((low + high) / 2, low, high),
            rule=SimpleNamespace(id=rule),
            changed=changed,
        )
        return SimpleNamespace(rule_estimates=[line])

    assert found in panels._orders_must_agree_sentence(results("agree"))
    assert panels._orders_must_agree_sentence(results("pool")) == ""
    assert says(panels._orders_must_agree_sentence(results("agree", 0)), "the same credit")


def test_without_a_judge_or_a_plan_nothing_is_drawn(prd):
    nobody = load_remedies(shown(prd, "nobody"))
    assert nobody.rater is None and nobody.risk_curve == ([], "")
    assert nobody.advice is None and nobody.next_better_costlier_rule is None
    assert panels.budget_html(SimpleNamespace(budget_plan=None), 1.0) == ""
    assert panels.budget_html(SimpleNamespace(budget_plan=SimpleNamespace(steps=())), 1.0) == ""


def test_a_rule_of_a_pilot_is_drawn_at_its_calls_and_in_dollars_if_its_price_is_known(monkeypatch):
    rule = SimpleNamespace(calls_per_comparison=6)
    pilots = [
        SimpleNamespace(estimate=SimpleNamespace(rule=rule), inputs=price, kind="repeats")
        for price in (None, 0.5)
    ]
    monkeypatch.setattr(
        charts_svg, "dollars_per_thousand_comparisons", lambda estimate, inputs: inputs
    )
    results = SimpleNamespace(
        rule_estimates=[], pilot_rules=pilots, pareto_frontier=lambda by_dollars: []
    )
    calls, money = ([(mark.number, mark.cost, mark.pilot)
                     for mark in charts_svg._list_rule_marks(results, by_dollars)]
                    for by_dollars in (False, True))  # fmt: skip
    assert calls == [("P1", 6, "repeats"), ("P2", 6, "repeats")]
    assert money == [("P2", 0.5, "repeats")]


def test_the_box_around_a_mark_has_it_in_the_middle():
    box = box_around((10.0, 20.0), 3.0)
    assert (box.left, box.top, box.right, box.bottom) == (7.0, 17.0, 13.0, 23.0)


@pytest.mark.parametrize(("beyond", "anchor"), [(0.0, "start"), (0.5, "end")])
def test_a_name_that_would_leave_the_drawing_ends_at_its_mark(beyond, anchor):
    """The drawing ends at 340 − 16; a name starts one radius to the left of its mark."""
    text, canvas = "75.8 One call", Canvas(340, 300)
    x = 340 - 16 + charts_svg.RADIUS - CHARACTER_WIDTH * len(text) + beyond
    place = reserve_room_for_name(text, (x, 100.0), (80.0, 120.0), [], canvas)
    side = charts_svg.RADIUS * (1 if beyond else -1)
    assert place is not None and place.anchor == anchor
    assert (place.x, place.y) == (pytest.approx(x + side), 72.0)
