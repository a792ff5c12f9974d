"""The panel of the people who voted, on votes cast through the real ballot box."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import count

import pytest
from voted_studies import Sheet, six_items

from components.agreement import tab as agreement_tab
from components.agreement.data import Agreement
from components.agreement.disputes import AGAINST_PEOPLE
from components.agreement.tables import (
    best_prompt,
    best_stand_in,
    show_coefficients,
    show_corrected,
    show_stand_ins,
)
from components.agreement.view import show_finding, show_matrix
from components.agreement.voters import SHOWN, caveat, show_sought, show_voters, told
from components.inspect.rows import comparisons, in_view
from components.results_tab import selection_of
from components.rows import Filter
from components.scene import Scene
from components.voices import Voices
from metrics.corrected import corrected_win_rates
from studies.ballots import Voting, person
from studies.recorded import save_recorded
from studies.records import Verdict
from studies.sources.load import load_source
from studies.store import Store
from studies.study import DataSpec
from studies.voting import booth


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def agreement(store: Store, study: str) -> Agreement:
    return Agreement(Voices(Scene(store, study, Filter())))


def judged(store: Store, items: int, name: str = "s") -> None:
    """`good` says x in both orders; `first` takes what stands first. x is better everywhere."""
    sheet = Sheet(name)
    for k in range(items):
        sheet.both(f"q{k}", "good", "xx").both(f"q{k}", "first", "xy")
    sheet.save(store)


def cast(store: Store, who: str, say, name: str = "s", seconds: float = 9.0) -> int:
    """Somebody votes until nothing is left; `say` takes the ballot and names a slot. So many."""
    ticks = count(1e9, seconds)
    at = replace(booth(store, name, person(who), "pair"), clock=lambda: float(next(ticks)))
    n = 0
    while (ballot := at.next()) is not None:
        at.vote(ballot.position, ballot.done, Verdict(say(ballot)))
        n += 1
    return n


def better(ballot) -> int:
    return ballot.shown.index("x")


@pytest.fixture
def voted(store):
    """Three who see what is better, and one who always takes the first; a tenth comes twice."""
    judged(store, 30)
    store.set_voting("s", Voting(votes=4, repeats=0.1))
    for who in ("ann", "bob", "cy"):
        cast(store, who, better)
    cast(store, "left", lambda ballot: 0)
    return store


def test_everybody_has_a_line_and_who_stands_out_a_reason(voted):
    data = agreement(voted, "s")
    said = text(show_voters(data))
    assert told(data) == "4 people, 132 votes; 1 stands out, and stays in all numbers"
    assert said.index("left") < said.index("ann")
    assert "one side" in said
    # Sides are drawn in blocks of two: of 30 and 3 repeats x is first in half, give or take one.
    assert "takes the first answer in 33 of 33 decisive votes" in said
    # Swapped, who takes the first changes their mind each time; the others never do.
    left, ann = data.voters[0], next(one for one in data.voters if one.name == "ann")
    assert (left.steady.value, left.steady.n, ann.steady.value) == (0.0, 3, 1.0)
    assert ann.first.value == pytest.approx(0.5, abs=0.05) and ann.seconds is not None


def test_flagged_people_stay_and_the_numbers_without_them_stand_beside(voted):
    data = agreement(voted, "s")
    said = text(show_voters(data))
    assert "What it changes" in said and "Without left, %" in said
    # All four: of six pairs of people three hold `left`, who sides with them on half.
    assert data.by_all_votes["two people"].value == pytest.approx((3 + 3 * 0.5) / 6, abs=0.02)
    assert data.without_flagged["two people"].value == 1.0
    assert data.persons.voters == 4


def test_a_name_opens_that_persons_votes(voted):
    html = show_voters(agreement(voted, "s"))
    assert "&quot;judge&quot;: &quot;human:ann&quot;" in html
    chosen = selection_of(Scene(voted, "s"), {"judge": "human:ann"})
    assert chosen.judge == "human:ann"
    # 30 pairs; three of them in both orders are still one comparison each.
    assert len(in_view(comparisons(voted.frame("s")), chosen)) == 30


def test_who_was_asked_twice_has_one_vote_in_the_majority(voted):
    data = agreement(voted, "s")
    # `good` says x; the majority is x wherever three of four say so, repeats or not.
    assert data.with_people("good").share.value == 1.0
    assert data.persons.pair.share.n == 30 * 6


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
    assert before.count("<tr") - 1 == SHOWN and "Show 288 more" in after
    assert "40 more people voted; export" in text(html)


# -- votes that were not chosen at random ----------------------------------------------------------


@pytest.fixture
def sought(store):
    """`first` flips everywhere, so all can be sought; ann votes so, then bob at random."""
    judged(store, 20)
    store.set_voting("s", Voting(votes=1, repeats=0.0, each=8, choose="flipped"))
    assert cast(store, "ann", better) == 8
    store.set_voting("s", Voting(votes=2, repeats=0.0, each=10))
    assert cast(store, "bob", better) == 10
    return store


def test_estimates_say_that_some_votes_were_sought(sought):
    data = agreement(sought, "s")
    assert (data.sought, data.votes_cast) == (8, 18)
    assert "8 of 18 votes" in text(show_sought(data)) and "not chosen at random" in caveat(data)
    shown = agreement_tab.show(Scene(sought, "s"), "κ", AGAINST_PEOPLE)
    told_so = [part for part in shown if isinstance(part, str) and "not chosen at random" in part]
    assert len(told_so) >= 6  # matrix, both orders, numbers, stand-ins, distances, categories …
    assert "Pairs chosen at random, %" in show_voters(data)
    assert data.at_random["good"].n == 20 and data.by_all_votes["good"].n > 20


def test_corrected_win_rates_rest_on_random_votes_alone(sought):
    data = agreement(sought, "s")
    got = data.corrected["x"]
    assert got.people.n == 10 and "8 votes on pairs that were not chosen" in got.corrected.note
    frame = sought.frame("s")
    alone = frame[~((frame["chosen"] == "flipped").to_numpy())]
    assert corrected_win_rates(alone.drop(columns="chosen"))["x"].people == got.people
    assert "8 votes on pairs that were not chosen at random are left out" in text(
        show_corrected(data)
    )


def test_with_sought_votes_alone_nothing_is_corrected(store):
    judged(store, 12)
    store.set_voting("s", Voting(votes=1, repeats=0.0, choose="flipped"))
    cast(store, "ann", better)
    said = text(show_corrected(agreement(store, "s")))
    assert "No pair was voted on at random" in said


def test_votes_of_a_file_are_nobodys_choice(store):
    six_items().save(store)
    data = agreement(store, "voted")
    assert data.sought == 0 and show_sought(data) == "" and caveat(data) == ""
    assert "chosen" not in store.frame("voted")
    assert "What it changes" not in show_voters(data)
    assert told(data) == "3 people, 18 votes; nobody stands out"


# -- what else the issue asks of the tab -----------------------------------------------------------


def test_one_order_and_both_stand_side_by_side_in_every_coefficient(store):
    six_items().save(store)
    said = text(show_coefficients(agreement(store, "voted")))
    for head in ("Same verdict", "Without ties", "κ", "α", "MAE", "Within 1"):
        assert head in said
    first = said[said.index("first") : said.index("two people")]
    # One order: 5 of 12. Both: every merged verdict is a tie, people tie once in six.
    assert "41.7" in first and "both orders" in first and "16.7" in first
    # MAE, both orders: J is 0 everywhere; P is 1 four times, 1/3, 0: (4 + 1/3)/6.
    assert "0.72" in first


def test_alpha_is_a_coefficient_of_the_matrix(store):
    six_items().save(store)
    data = agreement(store, "voted")
    value = data.table["good"]["people"].alpha.value
    assert f"{value:.2f}" in show_matrix(data, "α")


def test_which_prompt_would_replace_a_person_best(store):
    sheet = six_items("prompts")
    for k in range(6):
        sheet.both(f"q{k}", "good", "yy", "hasty").both(f"q{k}", "first", "yx", "hasty")
    sheet.save(store)
    data = agreement(store, "prompts")
    assert {one.judge for one in data.prompt_stand_ins} == {"p", "hasty"}
    said = text(show_stand_ins(data))
    assert "good with the prompt p would replace a person best" in said
    assert "Of 2 prompts, all judges together, p comes closest" in said
    assert best_prompt([]) == ""
    six_items().save(store)
    alone = agreement(store, "voted")
    assert alone.prompt_stand_ins == []
    assert "prompt" not in best_stand_in(alone.stand_ins, alone.voices.names)


def test_prds_people_as_drawn(records, store):
    spec = DataSpec(str(records / "prd"), "prd")
    save_recorded(store, "PRD", spec, load_source(spec, store.path.parent))
    data = agreement(store, "PRD")
    assert told(data) == "3 people, 1,760 votes; nobody stands out"
    said = text(show_voters(data))
    assert said.count("480") >= 2 and "vote1" in said


def test_a_real_crowd_without_a_judge(records, store):
    """LLMFAO: 124 workers, 8,931 votes; some side with the others far less than those do."""
    spec = DataSpec(str(records / "evalica" / "llmfao.csv"))
    save_recorded(store, "crowd", spec, load_source(spec, store.path.parent))
    data = agreement(store, "crowd")
    assert (len(data.voters), data.votes_cast) == (124, 8931)
    title, lead = show_finding(data)
    assert title.startswith("Two people side with each other on") and "124 people" in lead
    assert 1 <= len(data.flagged) <= 12
    apart = [one for one in data.voters if one.flags and one.flags[0].rule == "apart"]
    assert len(apart) >= 3
    assert all(one.flags[0].p < 0.05 and one.others.value < one.rest for one in apart)
    assert "Show 112 more" in show_voters(data)
    # Nobody is removed: with and without stand side by side.
    assert data.by_all_votes["two people"].n > data.without_flagged["two people"].n
    assert data.without_flagged["two people"].value > data.by_all_votes["two people"].value
