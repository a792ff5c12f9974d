"""Headlines of Creation-MMBench and Grade Score from rows written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from components.results.protocol import creation_panels, grade_panel
from metrics.protocols.creation_table import CreationRow
from metrics.protocols.grade_table import UNRELATED_PRESENT
from studies.domain import Estimate
from tests.page_words import says

NONE = Estimate(None)


def row(model: str, reward: Estimate = NONE, vfs: Estimate = NONE) -> CreationRow:
    return CreationRow(model, vfs, NONE, reward, Estimate(0.6, 0.5, 0.7), {}, 0, 0)


def finding(*rows: CreationRow, baseline: str = "base", pairing: str = "baseline") -> Any:
    study: Any = SimpleNamespace(study=SimpleNamespace(baseline=baseline, pairing=pairing))
    return creation_panels.creation_headline(study, rows)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.0, 9.0, "ahead of"),
        (-9.0, -1.0, "behind"),
        (-1.0, 9.0, "not differ"),
        (0.0, 9.0, "not differ"),
        (None, None, "not differ"),
    ],
)
def test_the_first_model_is_ahead_if_its_whole_interval_is(
    low: float | None, high: float | None, word: str
) -> None:
    title, lead = finding(row("m", Estimate(4.0, low, high)), row("n", Estimate(-2.0)), row("o"))
    assert title.startswith("Of 2 models, m ") and word in title and title.endswith("base.")
    assert "+4.0" in lead and "60" in lead


def test_without_a_baseline_the_others_are_named() -> None:
    title, _ = finding(row("m", Estimate(4.0, 1.0, 9.0)), pairing="all")
    assert title.endswith("the others.")


def test_without_levels_the_highest_factuality_leads_and_without_both_nothing() -> None:
    title, _ = finding(row("m", vfs=Estimate(7.25)), row("n", vfs=Estimate(8.5)), row("o"))
    assert title.startswith("n ") and "8.50 of 10" in title
    near = finding(row("m", vfs=Estimate(7.25, 6, 8)), row("n", vfs=Estimate(8.5, 8, 9)))[0]
    assert says(near, "n has", "overlaps", "of m.") and not says(title, "overlaps")
    assert "8.5" not in " ".join(finding(row("m")))
    assert creation_panels._highest_factuality_row([row("m")]) is None


def test_key_figures_are_those_of_the_first_reward_and_the_highest_factuality() -> None:
    rows = [row("x"), row("m", Estimate(4.0, 1.0, 9.0)), row("n", vfs=Estimate(8.5, 8.0, 9.0))]
    reward, rate, factuality = creation_panels.creation_kpis(rows)
    assert reward.value == "+4.0" and reward.note.startswith("m ")
    assert rate.value.startswith("60.0") and factuality.value == "8.50"
    assert creation_panels.creation_kpis([row("x")]) == []


def cell(judge: str, prompt: str, grade: float | None, state: str = "", options: int = 3) -> Any:
    one = Estimate(grade, None, None, 9, 4)
    return SimpleNamespace(
        judge=judge, prompt=prompt, unrelated=state, options=(options,), grade=one, entropy=one
    )


def test_judges_are_ranked_by_their_mean_grade_and_an_unknown_one_is_last() -> None:
    cells = [cell("a", "p", 0.2), cell("b", "p", 0.9), cell("c", "p", None), cell("a", "q", 0.6)]
    assert grade_panel.rank_judges(cells) == ["b", "a", "c"]
    sized = [cell("a", "p", 1.0, options=n) for n in (5, 3, 5)]
    assert grade_panel.list_numbers_of_options(sized) == [3, 5]


def test_a_matrix_says_whether_the_unrelated_option_was_shown_and_how_many_options() -> None:
    with_it = grade_panel._heatmap_by_unrelated_option(
        UNRELATED_PRESENT, [cell("a", "p", 0.5, UNRELATED_PRESENT)], "Grade"
    )
    without = grade_panel._heatmap_by_unrelated_option(
        "", [cell("a", "p", 0.5, options=4)], "Grade"
    )
    assert "with the unrelated" in with_it and "without" not in with_it
    assert "without an unrelated" in without and "N = 4, 4 items" in without
    mixed = [cell("a", "p", 0.5, options=n) for n in (3, 4)]
    both = grade_panel._heatmap_by_unrelated_option("", mixed, "Grade")
    assert "N = 3, 4" in both and "each N" in both and "each N" not in without
    assert (
        grade_panel.show_heatmap([*mixed, cell("a", "p", 0.5, UNRELATED_PRESENT)], "Grade").count(
            "unrelated option"
        )
        == 2
    )
    assert "rotated" in grade_panel.show_heatmap([], "Grade")
