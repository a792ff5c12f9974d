"""Texts of the Remedies view from results written by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.pass_fail.computed import load_pass_fail
from components.results.remedies import point_remedies_panel
from components.results.remedies.computed import RemedyResults
from components.results.remedies.improve_panel import _mistake_rows
from components.results.remedies.panels import _unpriced_judges_notes
from components.results.remedies.point_remedies_panel import _rules_by_agreement_table
from components.study.plan.demo_studies import SINGLE_STUDY
from metrics.labels.point_rules import PointAdvice, PointRemedies, PointRule
from metrics.labels.true_pass_rate import CORRECTED_METHOD
from metrics.remedies.budget_plan import BudgetPlan
from metrics.remedies.rule_names import advised_rule_text
from metrics.summary.alignment.learn_mistakes import JudgeMistakes
from studies.domain import Estimate
from studies.store.store import Store
from tests.demo_store import copy_demo
from tests.page_words import says, text_of

HALF, THIRD, ALL = Estimate(0.5), Estimate(1 / 3), Estimate(1.0)


@pytest.mark.parametrize(("source", "people"), [("known answers", False), ("people", True)])
def test_better_answers_come_from_people_or_are_known(source: str, people: bool) -> None:
    study: Any = SimpleNamespace(grid=SimpleNamespace(source=source, size=7))
    results = RemedyResults(None, study, None, None)  # type: ignore[arg-type]
    assert (results.is_winner_from_people, results.comparison_count) == (people, 7)
    assert ("people" in results.winner_source) is people
    assert ("known" in results.winner_source) is not people
    assert (results.judge, results.prompt) == ("", "")


def test_mistakes_are_listed_in_all_then_by_position_label_and_category() -> None:
    assert _mistake_rows(None, "pairs") == []
    pairs = JudgeMistakes(HALF, {"maths": ALL}, {"first": THIRD, "second": HALF})
    names = [name for name, _ in _mistake_rows(pairs, "pairs")]
    assert says(names[0], "all verdicts", "tie", "mistake")
    assert [name.split()[-1] for name in names[1:]] == ["first", "second", "maths"]
    assert [one for _, one in _mistake_rows(pairs, "pairs")] == [HALF, THIRD, HALF, ALL]
    single = JudgeMistakes(HALF, {"maths": ALL}, by_label={"pass": THIRD})
    rows = [("all verdicts", HALF), ("label pass", THIRD), ("maths", ALL)]
    assert _mistake_rows(single, "pass") == rows
    assert says(_mistake_rows(single, "score")[0][0], "all verdicts", "mistake", "one step")


def notes(currency: Any, costs: tuple[float, ...], *unpriced: str) -> list[str]:
    results: Any = SimpleNamespace(
        study=SimpleNamespace(raters=[("gpt", "p"), ("gpt", "q"), ("claude", "p")]),
        price_hint=lambda judges: f"step for {len(judges)}",
    )
    steps: Any = tuple(SimpleNamespace(cost=cost) for cost in costs)
    return _unpriced_judges_notes(results, BudgetPlan(currency, steps, unpriced))


def test_judges_without_a_price_and_local_ones_are_named_once() -> None:
    assert notes("dollars", (0.1, 0.2)) == []
    (left_out,) = notes("dollars", (0.1,), "gpt")
    assert says(left_out, "Left out", "gpt") and left_out.endswith("step for 1")
    (free,) = notes("dollars", (0.0, 0.1))
    assert says(free, "local judge", "nothing")
    assert len(notes("dollars", (0.0,), "gpt")) == 2
    (calls,) = notes("calls", (0.0, 1.0))
    assert says(calls, "No price", "gpt and claude", "counted in calls")
    assert calls.count("gpt") == 1 and calls.endswith("step for 3")


def test_the_advised_rule_is_marked_and_one_call_is_the_baseline() -> None:
    rules = (
        PointRule("single", 1, Estimate(0.75, 0.6, 0.9, 40, 20)),
        PointRule("repeats", 3, ALL, HALF, Estimate(0.25, 0.125, 0.375, 40, 20)),
        PointRule("arrangements", 2, ALL, HALF, Estimate(0.0, -0.125, 0.125, 40, 20)),
    )

    def rows(kind: Any, advice: Any) -> list[str]:
        found = PointRemedies(kind, rules, {}, advice)
        html = _rules_by_agreement_table(("j", "p"), found)
        return [text_of(row) for row in html.split("<tr")[2:]]

    one, repeats, arrangements = rows("pass", PointAdvice("repeats", 3, ALL))
    assert "baseline" in one and "75" in one and "baseline" not in repeats + arrangements
    assert ["recommended" in row for row in (one, repeats, arrangements)] == [False, True, False]
    assert "+25.0 [12.5, 37.5]" in repeats and "[−12.5, 12.5]" in arrangements
    assert not any("recommended" in row for row in rows("pass", None))
    told = advised_rule_text("threshold", 1.99, 0.995), advised_rule_text("shift", 2, -0.5)
    assert says(told[0], "all calls", "99.5 %", "1.99 calls") and says(told[1], "by −0.50")
    scores = rows("scores", None)
    assert "0.75" in scores[0] and "+0.25" in scores[1]


@pytest.mark.parametrize(("method", "estimated"), [("Wilson", False), (CORRECTED_METHOD, True)])
def test_only_a_corrected_pass_rate_is_called_an_estimate(
    method: str, estimated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = SimpleNamespace(observed_pass_rate=Estimate(0.84))
    found = SimpleNamespace(rates=rates, true_pass_rate=Estimate(0.5, method=method))
    shown: Any = SimpleNamespace(results={("j", "p"): found})
    monkeypatch.setattr(point_remedies_panel, "load_pass_fail", lambda _: shown)
    told = text_of(str(point_remedies_panel._true_pass_rate_sentence(shown, ("j", "p"))))
    assert says(told, "84", "50") and ("estimated" in told) is estimated
    assert ("by the labels" in told) is not estimated


def test_one_call_has_the_agreement_of_the_view_agreement_or_says_on_what(tmp_path, monkeypatch):
    copy_demo(tmp_path / "demo.db")
    store = Store(tmp_path / "demo.db")
    filtered = FilteredStudy(store, SINGLE_STUDY, Filter(prompt="pass-fail"))
    ((rater, shown),) = load_pass_fail(filtered).results.items()
    one, right = shown.rates.agreement, shown.rates.confusion
    assert one.value == (right.pass_good + right.fail_bad) / right.total
    lead = point_remedies_panel.single_answer_rules_headline(filtered)[1]
    assert says(lead, "One call", f"{100 * one.value:.1f}", f"[{100 * one.low:.1f}", "of verdicts")
    # On fewer verdicts than Agreement has, the mean over the answers is named as such.
    remedies = point_remedies_panel.load_single_answer_rules(filtered)[rater]
    fewer = replace(remedies, verdicts=remedies.verdicts - 1)
    told = point_remedies_panel._one_call_sentence(filtered, rater, fewer)
    single = remedies.rules[0].value
    assert says(told, f"{100 * single.value:.1f}", "on the", f"{single.n} answers")
    store.close()


def test_the_true_pass_rate_of_the_same_answers_is_the_same_for_every_prompt(tmp_path):
    """Half of the 256 answers are labelled good; the prompts differ in their unreadable replies."""
    copy_demo(tmp_path / "demo.db")
    store = Store(tmp_path / "demo.db")
    found = load_pass_fail(FilteredStudy(store, SINGLE_STUDY)).results
    assert len(found) == 2 and len({one.rates.unusable for one in found.values()}) == 2
    for one in found.values():
        assert (one.true_pass_rate.value, one.true_pass_rate.n) == (0.5, 256)
        observed = one.rates.observed_pass_rate.value
        assert abs(one.excess.value - (observed - 0.5)) < 1e-12
    store.close()
