"""Cards on the claims of three papers: numbers from the printed tables and the recorded demo."""

from __future__ import annotations

import json
import re
from html import unescape

import pandas as pd
import pytest

from components.home.paper_claims import (
    LARGER_JUDGE,
    claims_html,
    paper_claims,
    recorded_rates,
)
from components.study.plan import demo_studies
from components.study.plan.example_files import example_names
from studies.frames.frame import TIE
from studies.store.store import Store
from tests.page_words import says

MAX_WORDS = 30


@pytest.fixture(scope="module")
def demo(module_store: Store) -> Store:
    demo_studies.open_demo(module_store)
    return module_store


def by_question(store: Store, words: str):
    return next(card for card in paper_claims(store) if words in card.question)


def test_each_paper_has_two_cards_and_each_card_opens_a_study(demo):
    cards = paper_claims(demo)
    papers = [card.paper.split(" (")[0] for card in cards]
    assert {papers.count(name) for name in papers} == {2} and len(set(papers)) == 3
    stored = {line.name for line in demo.studies()}
    for card in cards:
        assert card.study in (example_names() if card.action == "example" else stored)
        for text in (card.printed, card.ours, card.doubt):
            assert len(text.split()) <= MAX_WORDS, text
    sent = re.findall(r'data-select="([^"]+)"', claims_html(demo))
    assert [json.loads(unescape(one))["study"] for one in sent] == [card.study for card in cards]


def test_rates_of_the_larger_judge_are_those_of_a_count_by_hand(demo):
    frame = demo.frame(demo_studies.LARGER_STUDY)
    picks = frame[~frame["noise"] & frame["status"].isin(["ok", "extracted"])]
    assert (picks["pick"] != TIE).all()
    right = same = both_right = pairs = 0
    by_pair = picks.assign(good=picks["pick"] == picks["truth"]).groupby(
        ["item", "comparison"], observed=True
    )
    for _, rows in by_pair:
        orders = rows.drop_duplicates("shown")
        assert len(orders) == 2
        good = orders["good"].tolist()
        pairs, right = pairs + 1, right + sum(good) / 2
        same += good[0] == good[1]
        both_right += all(good)
    got = recorded_rates(frame)
    assert got.decided == pytest.approx(same / pairs)
    assert got.right == pytest.approx(right / pairs, abs=0.02)
    assert got.right_when_decided == pytest.approx(both_right / same)
    assert f"{100 * got.decided:.0f}" in by_question(demo, "both orders").ours


def test_votes_in_both_orders_leave_the_recorded_rates_as_they_were(demo):
    frame = demo.frame(demo_studies.LARGER_STUDY)
    asks = frame[["item", "comparison", "shown"]].drop_duplicates().index
    votes = frame.loc[asks].assign(judge="human:ann", prompt="vote", pick=0)
    both = pd.concat([frame.astype({"judge": str, "prompt": str}), votes], ignore_index=True)
    both = both.astype({name: kind for name, kind in frame.dtypes.items() if name == "pick"})
    both = both.astype(dict.fromkeys(frame.columns[frame.dtypes == "category"], "category"))
    assert recorded_rates(both) == recorded_rates(frame)


def test_a_store_without_the_demo_cites_the_papers_only(store):
    cards = paper_claims(store)
    assert cards and not any(LARGER_JUDGE in card.ours for card in cards)
    assert all(card.action == "example" for card in cards)


def test_printed_counts_are_those_of_the_tables(demo):
    unrelated = by_question(demo, "unrelated option")
    assert "31 of 40" in unrelated.printed and "15 of 80" in unrelated.doubt
    assert says(by_question(demo, "see the images").ours, "3 of", "16")
    assert "8 of 8" in by_question(demo, "both orders").printed
    assert "4 of 10" in by_question(demo, "warning").printed
