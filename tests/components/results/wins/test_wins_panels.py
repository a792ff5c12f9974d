"""Win-rate view: rates, missing verdicts, people and judges, length, five levels."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from contextlib import closing
from html import unescape

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import STRICT_RULE, Filter
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.nudges import length_panel as wins_length
from components.results.nudges import tab as nudges_tab
from components.results.protocol import blocks as protocol_view
from components.results.protocol.tab import VIEW as PROTOCOL
from components.results.view_drawing import VIEWS
from components.results.wins import panels as wins_view
from components.results.wins import precision_panel
from metrics.win_rates import length_bins
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from studies.store.store import Store
from tests.components.written_replies import answered, endpoint, write_items
from tests.page_words import says, text_of
from tests.voted_studies import Sheet, save

NAME = "wins"
ITEMS = 20


def write(planned, rng) -> str:
    """x wins q0 … q11 and y the rest, in both orders; three asks of q0 and q1 cannot be read; the
    second judge always says x."""
    number = int(planned.ask.item[1:])
    silent = number == 0 or (number == 1 and planned.ask.shown[0] == "x")
    if planned.ask.judge == "fair" and silent:
        return "Both are good."
    winner = "x" if number < 12 or planned.ask.judge == "fan" else "y"
    return f"[[{'AB'[planned.ask.shown.index(winner)]}]]"


@pytest.fixture(scope="module")
def won(module_store: Store) -> Store:
    items = [
        {
            "id": f"q{n}", "instruction": f"Question {n}?", "category": "ab"[n % 2],
            "responses": {"x": "word " * (2 if n < 12 else 1), "y": "word " * (1 if n < 12 else 2)},
            "human": [{"judge": "ann", "shown": ["x", "y"], "picked": "x" if n < 5 else "y"}]
            if n < 10 else [],
        }
        for n in range(ITEMS)
    ]  # fmt: skip
    path = write_items(module_store.path.with_name("items.jsonl"), items)
    values = {"name": NAME, "data": {"source": str(path)}, "prompts": ["mt-bench-pair"],
              "judges": [endpoint("fair"), endpoint("fan")]}  # fmt: skip
    answered(module_store, values, write)
    return module_store


def fair(store: Store) -> FilteredStudy:
    return FilteredStudy(store, NAME, Filter(judge="fair"))


def test_rates_are_those_of_the_readable_verdicts_best_first(won):
    # 40 asks, 3 unreadable (q0 twice, q1 once): x has 21 of 37.
    rates = wins_view.study_win_rates(fair(won))
    assert list(rates) == ["x", "y"]
    assert rates["x"].value == pytest.approx(21 / 37)


def test_what_is_missing_is_said_with_what_it_would_do(won):
    # All lost 21/40, all won 24/40. As ties, the rate would hardly change: that is not said.
    html = wins_view.show_win_rates(fair(won))
    assert says(html, "3", "40 verdicts", "missing")
    assert "instead" not in html
    assert says(html, "lost", "52.5", "won", "60.0")
    assert "Open 3" in html and "&quot;status&quot;: &quot;failures&quot;" in html


def test_one_missing_verdict_is_said_in_the_singular(store):
    """Of 4 verdicts on two items, one is missing."""
    name = Sheet("one missing").both("q0", "ada", "xx").save(store)
    with closing(sqlite3.connect(store.path)) as file, file:
        file.execute(
            "UPDATE judgements SET status='error', pick=NULL "
            "WHERE seq=(SELECT max(seq) FROM judgements)"
        )
    told = text_of(wins_view.show_win_rates(FilteredStudy(Store(store.path), name)))
    assert says(told, "1 of", "verdict", "is missing") and not says(told, "are missing")


def test_a_study_with_nothing_missing_has_no_notice(won):
    html = wins_view.show_win_rates(FilteredStudy(won, NAME, Filter(judge="fan")))
    assert "missing" not in html and "100.0</b>" in html


def test_a_possible_range_holds_the_rate_that_it_is_shown_with(store):
    """One verdict for x lacks its second order. Counted by orders x has 1 of 3, at most 2 of 4. By
    the strict rule the pair is left out, x has 0 of 1, and nothing is known about a range."""
    name = Sheet("halves").both("q0", "ada", "x?").both("q1", "ada", "yy").save(store)
    html = wins_view.show_win_rates(FilteredStudy(store, name))
    assert says(html, "Range of", "win rate") and "25.0–50.0" in html
    strict = FilteredStudy(store, name, Filter(rule="win only if both orders agree"))
    assert wins_view.study_win_rates(strict)["x"].value == 0
    html = wins_view.show_win_rates(strict)
    assert "Range of" not in html and "–50.0" not in html and "1 of 4 verdicts" in html


def test_the_ties_of_merged_orders_open_no_list_of_tied_verdicts(store):
    name = Sheet("merged").both("q0", "ada", "xy").both("q1", "ada", "==").save(store)
    sent = "&quot;slot&quot;: -1"
    html = wins_view.show_win_rates(FilteredStudy(store, name))
    assert sent in html and says(html, "50.0", "of verdicts")
    strict = FilteredStudy(store, name, Filter(rule="win only if both orders agree"))
    html = wins_view.show_win_rates(strict)
    assert sent not in html and says(html, "100.0", "the orders combined")


def test_missing_verdicts_on_single_answers_are_not_missing_in_win_rates(store):
    rows = [("q0", "ada", "p", shown, "x", 2) for shown in (("x", "y"), ("y", "x"))]
    rows += [(f"q{k}", "ada", "points", ("x",), None, 1) for k in range(3)]
    save(store, "kinds", rows)
    assert "missing" not in wins_view.show_win_rates(FilteredStudy(store, "kinds"))


def test_the_matrix_splits_by_category_judge_and_prompt(won):
    scene = FilteredStudy(won, NAME)
    for by, names in (("Category", "ab"), ("Judge", ("fair", "fan")), ("Prompt", ("mt-bench",))):
        html = wins_view.show_matrix(scene, by, "Judges")
        assert all(name in html for name in names), by
        assert f"&quot;{by.lower()}&quot;" in html


def _gaps(scene):
    """(model, category) -> win rate by judges minus win rate by people."""
    found = wins_view.win_rates_of_judges_and_people(scene)
    return {key: one.bias for key, one in found.items()}


def test_judges_are_held_against_people_on_the_same_pairs(won):
    # Ann voted on q0 … q9: x five times. The judges say x in every one of these ten: 1 − 5/10.
    scene = FilteredStudy(won, NAME)
    gaps = _gaps(scene)
    assert gaps["x", ""].value == pytest.approx(0.5)
    assert gaps["y", ""].value == pytest.approx(-0.5)
    assert gaps["x", ""].items == 10
    assert "<b>50</b>" in wins_view.show_matrix(scene, "Category", "People")
    assert "<b>+50</b>" in wins_view.show_matrix(scene, "Category", "Difference")


def test_people_are_heard_whatever_judge_is_chosen(won):
    # fair alone: q0 is unread, so nine cases; it says x in all of them, Ann in q1 … q4.
    assert _gaps(fair(won))["x", ""].value == pytest.approx(1 - 4 / 9)


def test_nobody_voted_is_an_answer(judged):
    scene = FilteredStudy(judged, "two judges")
    assert says(wins_view.show_matrix(scene, "Category", "People"), "No votes", "people")
    assert _gaps(scene) == {}


def test_length_that_decides_everything_has_a_slope_and_symmetric_bins(won):
    # In q0 … q11 x is twice as long and wins, in the others y is, and wins: the longer always wins.
    effect = wins_length.length_effect(fair(won).measured_judge_rows)
    assert effect.odds_ratio.value > 20
    values = [b.win_rate.value for b in effect.bins]
    assert values == [0, 1] and effect.bins[0].ratio == pytest.approx(-effect.bins[1].ratio)
    said = wins_length.length_effect_sentence(effect, None)
    assert says(said, "Twice", "multiplies", "odds") and says(said, "need not", "cause")


def test_a_slope_is_recovered_from_verdicts_that_follow_it():
    # P(win) = 1/(1 + exp(−β·log2 ratio)) with β = ln 3 and ratios ½ and 2: 3 of 4 longer ones win.
    ratio = np.tile([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0], 25)
    won_by = np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], 25)
    odds = length_bins._odds_ratio(ratio, won_by, np.arange(200))
    assert odds.value == pytest.approx(3, rel=1e-3)
    assert odds.low < 3 < odds.high


def test_the_headline_of_nudges_without_twins_is_the_share_of_longer_answers(won):
    """The fair judge picks the longer answer of 17 pairs in both orders and of one in one order."""
    title, _ = nudges_tab.headline(fair(won))
    assert says(title, "100\u202f%", "+50 points") and "not significant" not in title
    # The fan picks it in 12 of 20 pairs: binomial test against ½, p = .50.
    title, _ = nudges_tab.headline(FilteredStudy(won, NAME, Filter(judge="fan")))
    assert says(title, "60\u202f%", "+10 points", "not significant.")


def test_an_odds_ratio_whose_interval_contains_one_is_not_significant():
    odds = wins_length.LengthEffect((), Estimate(1.77, 0.9, 3.51))
    sure = wins_length.LengthEffect((), Estimate(2.0, 1.1, 3.5))
    told = wins_length.length_effect_sentence(sure, odds)
    assert says(told, "[1.1, 3.5];", "[0.90, 3.51], not significant.")
    assert says(wins_length.length_effect_sentence(odds, None), "[0.90, 3.51], not significant.")


def test_equal_lengths_say_nothing():
    odds = length_bins._odds_ratio(np.zeros(4), np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4))
    assert odds.value is None
    told = wins_length.length_effect_sentence(wins_length.LengthEffect((), odds), None)
    assert says(told, "cannot be estimated")


def test_raw_and_length_held_equal_stand_side_by_side(won):
    html = wins_length.show_length_controlled_win_rates(fair(won))
    assert "against x" in html and "length held equal" in html
    assert "43.2</b>" in html  # y's raw rate: 16 of 37


def test_a_rate_with_a_wide_interval_has_no_change(won, monkeypatch):
    """The change of y, +40.8 points, is shown only if no interval is wider than 50 points."""
    for low, shown in ((0.5, True), (0.2, False)):
        held = {"y": Estimate(0.84, low, 0.99, 37)}
        monkeypatch.setattr(
            wins_length.length_effects, "length_controlled_win_rates", lambda *_, held=held: held
        )
        monkeypatch.setattr(wins_length, "head_to_head", lambda rows: {
            "y": {"x": Estimate(0.432, 0.3, 0.6, 37)}})  # fmt: skip
        assert ("+40.8" in wins_length.show_length_controlled_win_rates(fair(won))) is shown


def test_ties_and_levels_are_there_only_where_judges_have_them(won):
    scene = FilteredStudy(won, NAME)
    assert wins_view.show_five_levels(scene) == ""
    assert wins_view.show_tie_rates(scene) == ""


def test_an_empty_selection_is_an_answer_everywhere(won):
    nobody = FilteredStudy(won, NAME, Filter(judge="nobody"))
    assert says(wins_view.show_win_rates(nobody), "No win rates")
    assert wins_length.win_rate_by_length_figure(nobody) is None
    assert "No lengths here" in wins_length.show_length_controlled_win_rates(nobody)
    assert wins_view.show_tie_rates(nobody) == "" == wins_view.show_five_levels(nobody)


@pytest.mark.records
@pytest.mark.parametrize("chosen", [Filter(), Filter(judge="gpt-4"), Filter(rule=STRICT_RULE)])
def test_the_difference_is_the_cell_of_judges_minus_that_of_people(records, store, chosen):
    import_verdicts(store, records / "prd", "prd")
    scene = FilteredStudy(store, "prd", chosen)
    judges, people, difference = (
        {
            (model, group): value
            for data in re.findall(r'data-heat="([^"]*)"', html)
            for model, group, value, *_ in json.loads(unescape(data))["cells"]
        }
        for html in (
            wins_view.show_matrix(scene, "Category", voice) for voice in wins_view.RATER_CHOICES
        )
    )
    assert difference == pytest.approx({at: judges[at] - people[at] for at in judges})
    assert len(difference) >= 45 and people["vicuna-13b", "All"] == pytest.approx(0.403125)


@pytest.mark.extra
@pytest.mark.records
def test_the_length_effect_of_real_verdicts_is_that_of_the_drawing(records, store):
    # LOOKS, screen 10, in words: the odds by 7.8 for gpt-4 and 9.3 for people. Ours are characters.
    import_verdicts(store, records / "prd", "prd")
    scene = FilteredStudy(store, "prd", Filter(judge="gpt-4"))
    effect = wins_length.length_effect(scene.measured_judge_rows)
    assert 6 < effect.odds_ratio.value < 10
    assert math.isfinite(effect.odds_ratio.low) and effect.odds_ratio.low > 3
    # data/README.md: win rates by gpt-4 as judge.
    rates = wins_view.study_win_rates(scene)
    assert rates["gpt-4"].value == pytest.approx(0.85625)
    assert rates["bard"].value == pytest.approx(0.24453125)


def test_names_from_data_stay_text_in_every_panel(tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    store = Store(tmp_path / "evenhand.db")
    items = [
        {"id": f"q{n}", "instruction": "?", "category": f"{evil} c", "meta": {"task": f"{evil} t"},
         "responses": {evil: f"one {n}", "base": f"two {n}"}, "criteria": {"subjective": "s"},
         "human": [{"judge": evil, "shown": [evil, "base"], "picked": evil}]}
        for n in range(6)
    ]  # fmt: skip
    path = write_items(tmp_path / "items.jsonl", items)
    values = {
        "name": evil, "data": {"source": str(path)}, "pairing": "baseline", "baseline": "base",
        "prompts": ["creation-subjective", "visit-reference-free"], "judges": [endpoint(evil)],
    }  # fmt: skip
    answered(
        store, values,
        lambda planned, rng: "Overall, Response A is better.\nFinal Verdict is: [[A>>B]]",
    )  # fmt: skip
    scene = FilteredStudy(store, evil)
    controls = {
        "beside": None, "score": "Grade", "printed": "Grade", "split": "Models", "cell": "Reward",
        "table": "People", "correlation": "Spearman", "scores": {evil: {evil: 1.0, "base": 2.0}},
    }  # fmt: skip
    drawn = PROTOCOL.render(scene, controls)
    shown = {name for name, part in drawn.items() if part is True}
    assert {"visit", "creation_panel", "people", "games", "others_panel"} <= shown
    made = [
        *drawn.values(), wins_view.show_win_rates(scene), wins_view.show_five_levels(scene),
        wins_length.show_length_controlled_win_rates(scene), protocol_view.show_kpis(scene),
        *(str(protocol_view.render_creation_tables(scene, split, "Reward"))
          for split in ("Categories", "Tasks")),
        *(wins_view.show_matrix(scene, "Category", voice) for voice in wins_view.RATER_CHOICES),
    ]  # fmt: skip
    texts = [text for text in made if isinstance(text, str)]
    assert sum("&lt;img" in text for text in texts) > 10
    assert not any("<img" in text for text in texts)
    figure = drawn["scatter"]
    seen = [figure["layout"], *(trace.get("hovertext") for trace in figure["data"])]
    assert "<img" not in str(seen)
    store.close()


def test_the_plan_to_narrow_the_interval_is_a_sentence_with_its_key(won):
    filtered = FilteredStudy(won, NAME)
    plan = precision_panel.plan_leader_precision(filtered)
    said = precision_panel.leader_precision_sentence(plan)
    assert said.startswith("Twice the ") and says(said, "narrows", "win rate", plan.contestant)
    assert "twice the repeats" in said.lower()
    html = precision_panel.show_leader_precision(filtered)
    assert f'data-key="precision.{plan.contestant}.narrowing"' in html


def test_the_win_rate_of_a_model_names_its_json_key(won):
    assert 'data-key="win_rate.x"' in wins_view.show_win_rates(FilteredStudy(won, NAME))


def test_a_jury_of_three_is_shown_with_its_worth(store):
    rows = []
    for k in range(12):
        for judge, said in (("a", "x"), ("b", "x" if k % 3 else "y"), ("c", "y" if k % 4 else "x")):
            rows += [(f"q{k}", judge, "p", shown, said, 2) for shown in (("x", "y"), ("y", "x"))]
    save(store, "panel", rows)
    html = precision_panel.show_jury_win_rates(FilteredStudy(store, "panel"))
    assert says(html, "3", "majority decides 100")
    assert 'data-key="jury.coverage"' in html


def test_the_jury_and_the_ties_have_the_highest_first(store):
    """The jury prefers y; judge b ties most often."""
    rows = []
    for k in range(12):
        for judge, said in (("a", "y"), ("b", "y" if k % 3 else "tie"), ("c", "y" if k else "x")):
            rows += [(f"q{k}", judge, "p", shown, said, 2) for shown in (("x", "y"), ("y", "x"))]
    save(store, "ordered", rows)
    ordered = FilteredStudy(store, "ordered")
    jury = precision_panel.show_jury_win_rates(ordered)
    assert jury.index("jury.win_rate.y") < jury.index("jury.win_rate.x")
    ties = wins_view.show_tie_rates(ordered)
    assert ties.index("ties by b") < ties.index("ties by a") < ties.index("ties by c")


def test_two_judges_with_ties_have_tie_models_and_no_jury(store):
    rows = [
        (f"q{k}", judge, "p", shown, ("tie", "x", "y")[k % 3], 2)
        for k in range(12)
        for judge in "ab"
        for shown in (("x", "y"), ("y", "x"))
    ]
    save(store, "two", rows)
    ranking = VIEWS["Ranking"]
    two = FilteredStudy(store, "two")
    made = ranking.render(two, ranking.initial_values(two))
    assert (made["jury_panel"], made["tie_models_panel"]) == (False, True)
    (shown,) = (panel for panel in ranking.panels if panel.name == "tie_models")
    assert "Jury" not in f"{shown.title} {shown.subtitle} {shown.how}"


def test_a_category_named_like_the_total_has_a_column_of_its_own(store):
    """In "All" x wins all ten verdicts of judges and votes, in the other category none."""
    sheet = Sheet("named")
    for n in range(20):
        sheet.both(f"q{n}", "j", "xx" if n < 10 else "yy")
        sheet.votes(f"q{n}", ann="x")
    sheet.save(store, categories={f"q{n}": "All" if n < 10 else "b" for n in range(20)})
    scene = FilteredStudy(store, "named")
    for raters, values in (("Judges", ("50", "100", "0")), ("Difference", ("-50", "0", "-100"))):
        drawn = wins_view.show_matrix(scene, "Category", raters)
        heat = json.loads(unescape(re.search(r'data-heat="([^"]*)"', drawn)[1]))
        assert heat["columns"] == ["All (total)", "All", "b"]
        shown = {column: value for row, column, value, *_ in heat["cells"] if row == "x"}
        assert [shown[name] for name in heat["columns"]] == [int(one) / 100 for one in values]
        marks = [json.loads(unescape(one)) for one in re.findall(r'data-select="([^"]*)"', drawn)]
        assert {"contestant": "x"} in marks and {"contestant": "x", "category": "All"} in marks
        chosen = inspect_filters_for_mark(scene, {"contestant": "x", "category": "All"})
        assert chosen.category == "All"


def test_the_jury_is_worth_as_many_judges_as_its_errors_say(monkeypatch):
    def told(votes, correlation) -> str:
        monkeypatch.setattr(precision_panel, "effective_judges", lambda rows: votes)
        monkeypatch.setattr(precision_panel, "verdict_correlation", lambda rows: correlation)
        return precision_panel._effective_judges_sentence(None)

    assert says(told(Estimate(2.34, 1.5, 2.9), 0.5), "worth 2.3", "[1.5, 2.9]", "judges.")
    assert says(told(Estimate(None), 0.456), "correlate 0.46.") and told(None, None) == ""


def test_without_pairs_of_both_judges_and_people_have_no_difference(store):
    sheet = Sheet("apart").both("q0", "j", "xx").votes("q1", ann="x")
    sheet.both("q2", "mute", "??").save(store)
    whole = FilteredStudy(store, "apart")
    assert says(wins_view.show_matrix(whole, "Category", "Difference"), "No pair", "both")
    assert "<table" in wins_view.show_matrix(whole, "Category", "People")
    hidden = FilteredStudy(store, "apart", Filter(category="none"))
    assert says(wins_view.show_matrix(hidden, "Category", "People"), "No vote passes")
    mute = FilteredStudy(store, "apart", Filter(judge="mute"))
    assert wins_view.show_matrix(mute, "Category", "Judges") == wins_view.NOTHING_YET_HTML
