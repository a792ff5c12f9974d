"""Length in the view Nudges: headline and panels agree on whether it can be measured."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.nudges import length_panel, tab
from metrics.win_rates.length_bins import LENGTH_BIN_EDGES
from studies.domain import Estimate
from studies.exchange.recorded_studies import import_verdicts
from tests.page_words import says
from tests.voted_studies import six_items


@pytest.mark.parametrize(("other", "measured"), [("b says", False), ("b says more", True)])
def test_answers_of_equal_length_have_neither_headline_nor_panels(other, measured, store):
    lines = ["question_id,prompt,model_a,model_b,answer_a,answer_b,judge,winner"]
    for k in range(12):  # "a" wins 8 of 12, in both orders
        sides = [("a", f"a says {k}"), ("b", f"{other} {k}")]
        for (x, said), (y, answer) in (sides, sides[::-1]):
            lines.append(f"q{k},Why {k}?,{x},{y},{said},{answer},j,{'a' if k < 8 else 'b'}")
    path = store.path.with_name("table.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "s")
    filtered = FilteredStudy(store, "s")
    title, lead = tab.headline(filtered)
    assert says(f"{title} {lead}", "33") is measured and says(lead, "different") is not measured
    drawn = [tab.render_length_effect(filtered), tab.render_length_controlled_win_rates(filtered)]
    assert [one is not None for one in drawn] == [measured, measured]
    assert not measured or says(drawn[0].heading, "judge, with fit"), "the line is in the legend"


def test_lengths_that_differ_too_little_for_a_bin_are_told_so():
    """Edge of the middle bin: 2^0.17 = 1.125."""
    assert round(2**0.17, 3) == 1.125 and 0.17 in LENGTH_BIN_EDGES
    assert says(tab.LENGTH.needs, "lengths clearly differ")
    assert says(tab.LENGTH.how, "factor of 1.125)", "not drawn")


def test_the_curve_is_the_logistic_one_through_one_half_and_the_odds():
    """Odds of 3 for an answer twice as long: a win rate of 3/4 there, 1/4 at half the length."""
    curve = length_panel._fitted_curve_trace(Estimate(3.0))
    at = dict(zip((round(x, 6) for x in curve["x"]), curve["y"], strict=True))
    assert len(at) == 61 and (min(at), max(at)) == (-2.9, 2.9) and at[0.0] == 0.5
    for x, y in at.items():
        assert y == pytest.approx(3**x / (1 + 3**x))


def test_a_model_without_comparisons_has_no_length_held_equal(store, monkeypatch):
    six_items().save(store)
    filtered = FilteredStudy(store, "voted")
    assert "<table" in length_panel.show_length_controlled_win_rates(filtered)
    monkeypatch.setattr(length_panel, "length_control_opponent", lambda _: "nobody")
    assert says(
        length_panel.show_length_controlled_win_rates(filtered), "No comparisons", "with nobody"
    )


@pytest.mark.parametrize(("low", "high", "wide"), [(0.2, 0.7, False), (0.2, 0.71, True)])
def test_an_interval_wider_than_one_half_is_wide(low, high, wide):
    assert length_panel._is_interval_wide(Estimate(0.5, low, high)) is wide
    assert not length_panel._is_interval_wide(Estimate(0.5, None, high))
    assert not length_panel._is_interval_wide(None)
