"""Whether a judge prefers its own family, in Nudges and in Summary."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.results.nudges import own_family_panel, tab
from components.results.overview.tab import render_own_family_line
from metrics.win_rates.own_family_excess import own_family_excess
from tests.page_words import says, text_of
from tests.voted_studies import Sheet

FAMILIES = {"x": "red", "y": "blue"}


@pytest.fixture
def kin(store):
    """`partial`, of the family of x, gives it 33 of 36 pairs in both orders (its family y wins 3);
    `neutral`, of another family, gives x one half of them."""
    sheet = Sheet("kin")
    for k in range(36):
        sheet.both(f"q{k}", "partial", "yy" if k < 3 else "xx")
        sheet.both(f"q{k}", "neutral", "xx" if k % 2 else "yy")
    sheet.save(store, families=FAMILIES, judge_families={"partial": "red", "neutral": "green"})
    return FilteredStudy(store, "kin")


def test_the_excess_is_told_in_both_views_with_the_interval_of_the_json(kin):
    """33/36 - 1/2 = 41.7 points."""
    excess = own_family_excess(kin.measured_judge_rows)["partial"].excess
    assert excess.value == pytest.approx(33 / 36 - 1 / 2)
    bounds = f"[{100 * excess.low:.1f}, {100 * excess.high:.1f}]"
    table, line = text_of(tab.OWN_FAMILY.renderer(kin)), text_of(str(render_own_family_line(kin)))
    assert says(table, "partial", "family red", "91.7", "50.0", f"+41.7 {bounds}")
    assert says(line, "own family?", "partial", f"41.7 points {bounds}", "higher", "other families")
    assert "neutral" not in f"{table}{line}"  # no answer is of its family


def test_a_chosen_judge_is_still_compared_with_the_others(kin, store):
    chosen = FilteredStudy(store, "kin", Filter(judge="partial"))
    assert own_family_panel.own_family_sentence(chosen) == own_family_panel.own_family_sentence(kin)
    assert own_family_panel.render_own_family(chosen) is not None
    other = FilteredStudy(store, "kin", Filter(judge="neutral"))
    assert own_family_panel.render_own_family(other) is None
    assert render_own_family_line(other) is None


def test_a_judge_without_excess_is_not_named_as_biased(store):
    sheet = Sheet("fair")
    for k in range(36):
        for judge in ("one", "two"):
            sheet.both(f"q{k}", judge, "xx" if k % 2 else "yy")
    sheet.save(store, families=FAMILIES, judge_families={"one": "red", "two": "blue"})
    assert says(own_family_panel.own_family_sentence(FilteredStudy(store, "fair")), "No judge")
    alone = FilteredStudy(store, "fair", Filter(judge="one"))
    assert says(own_family_panel.own_family_sentence(alone), "one", "not", "own family")
