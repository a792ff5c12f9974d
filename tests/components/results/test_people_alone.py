"""A study with votes by people only: people are shown as its single judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, judge_rows_or_people_rows
from components.filtering.raters import Raters
from components.results.bias.computed import load_bias
from components.results.controls.mark_selection import inspect_filters_for_mark
from components.results.ranking.computed import load_ranking
from components.results.view_drawing import show_data_note
from components.results.wins.panels import study_win_rates
from components.share.drawer_html import export_buttons_html
from studies.store.store import Store
from tests.page_words import says, text_of
from tests.voted_studies import Sheet


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    kept = Store(tmp_path / "evenhand.db")
    votes, judged = Sheet("votes"), Sheet("judged")
    for n in range(8):  # x wins 6 items, y two; ann and bob agree
        said = "x" if n < 6 else "y"
        votes.votes(f"q{n}", ann=said, bob=said)
        judged.votes(f"q{n}", ann=said).both(f"q{n}", "judge", "yy")
    votes.save(kept)
    judged.save(kept)
    yield kept
    kept.close()


def test_the_page_counts_their_votes_as_those_of_one_judge(store: Store) -> None:
    scene = FilteredStudy(store, "votes")
    assert list(scene.measured_judge_rows["judge"].cat.categories) == ["people"]
    assert study_win_rates(scene)["x"].value == pytest.approx(0.75)
    ranking = load_ranking(scene)
    assert (
        ranking.largest_group_leaderboard is not None
        and ranking.largest_group_leaderboard.names[0] == "x"
    )
    assert load_bias(scene).call_count == 16


def test_their_votes_are_not_called_judgements(store: Store) -> None:
    """Two people voted on 8 pairs; beside a judge, ann voted on 8 and it judged 8 in two orders."""
    votes, judged = (FilteredStudy(store, name) for name in ("votes", "judged"))
    for shown in (show_data_note(votes), export_buttons_html(votes)):
        assert says(text_of(shown), "16 votes") and not says(text_of(shown), "judgement")
    for shown in (show_data_note(judged), export_buttons_html(judged)):
        assert says(text_of(shown), "16 judgements", "8 votes")
    for chosen in (Filter(category="none"), Filter(contestants=("nobody",))):
        empty = text_of(show_data_note(FilteredStudy(store, "votes", chosen)))
        assert says(empty, "No judgement", "votes", "passes")


def test_agreement_still_sees_each_of_them(store: Store) -> None:
    voices = Raters(FilteredStudy(store, "votes"))
    assert set(voices.rows["judge"].astype(str)) == {"human:ann", "human:bob"}
    assert voices.has_people and voices.filtered_rater_names == []


def test_a_mark_opens_the_votes_of_all(store: Store) -> None:
    scene = FilteredStudy(store, "votes")
    opened = inspect_filters_for_mark(scene, {"judge": "people", "contestant": "x"})
    assert (opened.judge, opened.contestant) == ("", "x")


def test_beside_a_judge_people_stay_apart_unless_one_is_asked_for(store: Store) -> None:
    scene = FilteredStudy(store, "judged")
    assert set(scene.measured_judge_rows["judge"].astype(str)) == {"judge"}
    assert study_win_rates(scene)["x"].value == pytest.approx(0.0)
    ann = FilteredStudy(store, "judged", Filter(judge="human:ann"))
    assert set(judge_rows_or_people_rows(ann.frame)["judge"].astype(str)) == {"human:ann"}
    assert study_win_rates(ann)["x"].value == pytest.approx(0.75)
