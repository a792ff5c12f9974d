"""Voters panel, on votes cast through real vote sessions."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import count

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.inspect.comparison_index import filter_comparisons, index_comparisons
from components.results.agreement import tab as agreement_tab
from components.results.agreement.computed import Agreement
from components.results.agreement.disputes import AGAINST_PEOPLE
from components.results.agreement.panels import agreement_headline, show_matrix
from components.results.agreement.people_tables import (
    best_voter_replacement_sentence,
    prompt_best_replacing_voter_sentence,
    show_coefficients,
    show_corrected_win_rates,
    show_voter_replacements,
)
from components.results.agreement.voters_panel import (
    UNFOLDED_VOTERS,
    disputed_pair_vote_share_line,
    show_disputed_pair_votes_notice,
    show_voters,
    voters_subtitle,
)
from components.results.controls.mark_selection import inspect_filters_for_mark
from metrics.win_rates.prediction_powered import corrected_win_rates
from studies.domain import Verdict
from studies.exchange.recorded_studies import save_recorded_study
from studies.people.vote_session import open_vote_session
from studies.sources.load import load_source
from studies.spec.study import DataSpec
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store
from tests.page_words import says
from tests.voted_studies import PICKS, Sheet, six_items


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def agreement(store: Store, study: str) -> Agreement:
    return Agreement(Raters(FilteredStudy(store, study, Filter())))


def judged(store: Store, items: int, name: str = "s") -> None:
    """`good` says x in both orders; `first` takes what stands first. x is better everywhere."""
    sheet = Sheet(name)
    for k in range(items):
        sheet.both(f"q{k}", "good", "xx").both(f"q{k}", "first", "xy")
    sheet.save(store)


def cast(store: Store, who: str, say, name: str = "s", seconds: float = 9.0) -> int:
    """Vote until no ballot is left; `say` maps a ballot to a slot. Returns the number of votes."""
    ticks = count(1e9, seconds)
    at = replace(
        open_vote_session(store, name, voter_id(who), "pair"), clock=lambda: float(next(ticks))
    )
    n = 0
    while (ballot := at.next_ballot()) is not None:
        at.vote(ballot.position, ballot.done, Verdict(say(ballot)))
        n += 1
    return n


def better(ballot) -> int:
    return ballot.shown.index("x")


@pytest.fixture(scope="module")
def voted(tmp_path_factory):
    """Three who see what is better, and one who always takes the first; a tenth comes twice."""
    store = Store(tmp_path_factory.mktemp("voted") / "evenhand.db")
    judged(store, 30)
    store.set_voting_rules("s", VotingRules(votes=4, repeats=0.1))
    for who in ("ann", "bob", "cy"):
        cast(store, who, better)
    cast(store, "left", lambda ballot: 0)
    yield store
    store.close()


def test_everybody_has_a_line_and_who_stands_out_a_reason(voted):
    data = agreement(voted, "s")
    said = text(show_voters(data))
    assert says(voters_subtitle(data), "4", "132", "1 person", "flagged", "all votes")
    assert said.index("left") < said.index("ann")
    assert "one position" in said
    # Sides are drawn in blocks of two: of 30 and 3 repeats x is first in half, give or take one.
    assert says(said, "picks", "33", "33 decisive")
    # Swapped, who takes the first changes their mind each time; the others never do.
    left, ann = data.voters[0], next(one for one in data.voters if one.name == "ann")
    assert (left.steady.value, left.steady.n, ann.steady.value) == (0.0, 3, 1.0)
    assert ann.first.value == pytest.approx(0.5, abs=0.05) and ann.seconds is not None


def test_flagged_people_stay_and_the_numbers_without_them_stand_beside(voted):
    data = agreement(voted, "s")
    said = text(show_voters(data))
    assert says(said, "Agreement", "subset", "votes") and "Without left, %" in said
    # All four: of six pairs of people three hold `left`, who sides with them on half.
    assert data.agreement_by_all_votes["two people"].value == pytest.approx(
        (3 + 3 * 0.5) / 6, abs=0.02
    )
    assert data.agreement_without_flagged_voters["two people"].value == 1.0
    assert data.voter_agreement.voters == 4


def test_a_name_opens_that_persons_votes(voted):
    html = show_voters(agreement(voted, "s"))
    assert "&quot;judge&quot;: &quot;human:ann&quot;" in html
    chosen = inspect_filters_for_mark(FilteredStudy(voted, "s"), {"judge": "human:ann"})
    assert chosen.judge == "human:ann"
    # 30 pairs; three of them in both orders are still one comparison each.
    assert len(filter_comparisons(index_comparisons(voted.frame("s")), chosen)) == 30


def test_who_was_asked_twice_has_one_vote_in_the_majority(voted):
    data = agreement(voted, "s")
    # `good` says x; the majority is x wherever three of four say so, repeats or not.
    assert data.coefficients_with_people("good").share.value == 1.0
    assert data.voter_agreement.pair.share.n == 30 * 6


def test_names_are_made_inert(store):
    sheet = Sheet("names")
    for k in range(4):
        sheet.votes(f"q{k}", **{"<img src=x onerror=alert(1)>": "x", "ann": "x"}).both(
            f"q{k}", "j", "xx"
        )
    sheet.save(store)
    html = show_voters(agreement(store, "names"))
    assert "<img" not in html and "&lt;img" in html


def test_hundreds_are_folded_away(store):
    sheet, rng = Sheet("crowd"), random.Random(1)
    people = [f"p{k:03}" for k in range(340)]
    for k in range(6):
        sheet.both(f"q{k}", "j", "xx")
        sheet.votes(f"q{k}", **{who: rng.choice("xxxy") for who in people})
    sheet.save(store)
    html = show_voters(agreement(store, "crowd"))
    before, _, after = html.partition("<details")
    assert before.count("<tr") - 1 == UNFOLDED_VOTERS and "Show 288 more" in after
    assert says(text(html), "40", "people voted; export")


# -- votes that were not chosen at random ----------------------------------------------------------


@pytest.fixture(scope="module")
def sought(tmp_path_factory):
    """`first` flips everywhere, so all can be sought; ann votes so, then bob at random."""
    store = Store(tmp_path_factory.mktemp("sought") / "evenhand.db")
    judged(store, 20)
    store.set_voting_rules("s", VotingRules(votes=1, repeats=0.0, each=8, choose="flipped"))
    assert cast(store, "ann", better) == 8
    store.set_voting_rules("s", VotingRules(votes=2, repeats=0.0, each=10))
    assert cast(store, "bob", better) == 10
    yield store
    store.close()


def test_estimates_say_that_some_votes_were_sought(sought):
    data = agreement(sought, "s")
    assert (data.not_random_pair_vote_count, data.vote_count) == (8, 18)
    assert "8 of 18 votes" in text(show_disputed_pair_votes_notice(data)) and says(
        disputed_pair_vote_share_line(data), "not chosen", "random"
    )
    controls = {"agree": "κ", "apart": AGAINST_PEOPLE}
    shown = agreement_tab.VIEW.render(FilteredStudy(sought, "s"), controls)
    marked = {name for name, part in shown.items() if "not chosen at random" in str(part)}
    assert marked >= {"matrix", "merged_orders", "coefficients", "replacements", "distances"}
    assert says(show_voters(data), "Pairs chosen", "random")
    assert (
        data.agreement_on_random_pairs["good"].n == 20
        and data.agreement_by_all_votes["good"].n > 20
    )


def test_corrected_win_rates_rest_on_random_votes_alone(sought):
    data = agreement(sought, "s")
    got = data.win_rates_corrected_by_votes["x"]
    assert got.people.n == 10 and says(got.corrected.note, "8 votes", "not chosen")
    frame = sought.frame("s")
    alone = frame[~((frame["chosen"] == "flipped").to_numpy())]
    assert corrected_win_rates(alone.drop(columns="chosen"))["x"].people == got.people
    assert says(text(show_corrected_win_rates(data)), "8 votes", "not chosen")


def test_with_sought_votes_alone_nothing_is_corrected(store):
    judged(store, 12)
    store.set_voting_rules("s", VotingRules(votes=1, repeats=0.0, choose="flipped"))
    cast(store, "ann", better)
    said = text(show_corrected_win_rates(agreement(store, "s")))
    assert says(said, "No vote", "randomly chosen")


def test_votes_on_three_answers_correct_no_win_rate(store):
    sheet = Sheet("three")
    for who in ("j", "human:ann"):
        sheet.rows += [("q", who, "p", tuple(shown), PICKS["x"], 1) for shown in ("xyz", "zyx")]
    data = agreement(store, sheet.save(store))
    assert data.raters.has_people
    assert says(text(show_corrected_win_rates(data)), "No vote on two answers")


def test_votes_of_a_file_are_nobodys_choice(store):
    six_items().save(store)
    data = agreement(store, "voted")
    assert (
        data.not_random_pair_vote_count == 0
        and show_disputed_pair_votes_notice(data) == ""
        and disputed_pair_vote_share_line(data) == ""
    )
    assert "chosen" not in store.frame("voted")
    assert "of the votes" not in show_voters(data)
    assert says(voters_subtitle(data), "3", "18 votes", "none is flagged")


# -- what else the issue asks of the tab -----------------------------------------------------------


def test_one_order_and_both_stand_side_by_side_in_every_coefficient(store):
    six_items().save(store)
    said = text(show_coefficients(agreement(store, "voted")))
    for head in ("Same verdict", "Without ties", "κ", "α", "MAE", "Scores within 1"):
        assert head in said
    first = said[said.index("first") : said.index("two people")]
    # One order: 5 of 12. Both: every merged verdict is a tie, people tie once in six.
    assert "41.7" in first and "both orders" in first and "16.7" in first
    # MAE, both orders: J is 0 everywhere; P is 1 four times, 1/3, 0: (4 + 1/3)/6.
    assert "0.72" in first
    assert says(said, "Both orders:", "wins in both", "tie") and says(said, "MAE:", "mean distance")
    assert says(said, "Within 1", "at most 1")


def test_alpha_is_a_coefficient_of_the_matrix(store):
    six_items().save(store)
    data = agreement(store, "voted")
    value = data.agreement_by_rater_pair["good"]["people"].alpha.value
    assert f"{value:.2f}" in show_matrix(data, "α")


def test_which_prompt_would_replace_a_person_best(store):
    sheet = six_items("prompts")
    for k in range(6):
        sheet.both(f"q{k}", "good", "yy", "hasty").both(f"q{k}", "first", "yx", "hasty")
    sheet.save(store)
    data = agreement(store, "prompts")
    assert {one.judge for one in data.prompts_replacing_a_voter} == {"p", "hasty"}
    said = text(show_voter_replacements(data))
    assert says(said, "Best replacement", "good")
    assert says(said, "2", "pooled", "replaces a person")
    assert prompt_best_replacing_voter_sentence([]) == ""
    one_judge = Agreement(Raters(FilteredStudy(store, "prompts", Filter(judge="good"))))
    assert one_judge.raters.has_people and len(one_judge.raters.filtered_rater_names) == 2
    assert one_judge.prompts_replacing_a_voter == []
    single = Raters(FilteredStudy(store, "prompts", Filter(judge="good", prompt="p")))
    said = text(show_voter_replacements(Agreement(single)))
    assert says(said, "good", "replaces") and "replacement" not in said and "100" not in said
    six_items().save(store)
    alone = agreement(store, "voted")
    assert alone.prompts_replacing_a_voter == []
    assert "prompt" not in best_voter_replacement_sentence(
        alone.judges_replacing_a_voter, alone.raters.names
    )


@pytest.mark.extra
def test_prds_people_as_drawn(records, store):
    spec = DataSpec(str(records / "prd"), "prd")
    save_recorded_study(store, "PRD", spec, load_source(spec, store.path.parent))
    data = agreement(store, "PRD")
    assert says(voters_subtitle(data), "3", "1,760 votes", "none is flagged")
    said = text(show_voters(data))
    assert said.count("480") >= 2 and "vote1" in said
    # Of 320 pairs with one vote, all show claude-v1 first: 58 % may be its quality.
    (cell,) = re.findall(r'data-tip="([^"]*)"><?[^<]*58<', show_voters(data))
    assert says(cell, "better answers may", "been shown first")


@pytest.mark.extra
def test_a_real_crowd_without_a_judge(records, store):
    """LLMFAO: 124 workers, 8,931 votes; some side with the others far less than those do."""
    spec = DataSpec(str(records / "evalica" / "llmfao.csv"))
    save_recorded_study(store, "crowd", spec, load_source(spec, store.path.parent))
    data = agreement(store, "crowd")
    assert (len(data.voters), data.vote_count) == (124, 8931)
    title, lead = agreement_headline(data)
    assert says(title, "Two people", "agree in") and "124 people" in lead
    assert 1 <= len(data.flagged_voters) <= 12
    apart = [one for one in data.voters if one.flags and one.flags[0].rule == "apart"]
    assert len(apart) >= 3
    assert all(one.flags[0].p < 0.05 and one.others.value < one.rest for one in apart)
    assert "Show 112 more" in show_voters(data)
    # Nobody is removed: with and without stand side by side.
    assert (
        data.agreement_by_all_votes["two people"].n
        > data.agreement_without_flagged_voters["two people"].n
    )
    assert (
        data.agreement_without_flagged_voters["two people"].value
        > data.agreement_by_all_votes["two people"].value
    )
