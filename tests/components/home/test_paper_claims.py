"""Cards on the claims of three papers: numbers from the printed tables and the recorded demo."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from html import unescape

import pandas as pd
import pytest

from components.home.paper_claims import (
    LARGER_JUDGE,
    claims_html,
    one_and_both_order_rates,
    paper_claims,
)
from components.study.plan import demo_studies
from components.study.plan.example_files import example_names
from studies.frames.frame import TIE
from studies.store.store import Store
from tests.page_words import says

MAX_WORDS = 30


@pytest.fixture
def demo(recorded_demos: Store) -> Store:
    return recorded_demos


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
    columns = ("prompt", "item", "comparison", "shown", "first", "second", "pick", "known_answer")
    by_pair = defaultdict(list)  # (order, winner, position of the better answer, was it chosen)
    for *pair, shown, first, second, pick, better in zip(*map(picks.get, columns), strict=True):
        won = "tie" if pick == TIE else (first, second)[pick]
        by_pair[tuple(pair)].append((shown, won, better, pick == better))
    both = [rows for rows in by_pair.values() if len({row[0] for row in rows}) == 2]
    same = [rows for rows in both if len({row[1] for row in rows}) == 1 and rows[0][1] != "tie"]
    known = [rows for rows in both if all(row[2] >= 0 for row in rows)]
    agreed = [all(row[3] for row in rows) for rows in same if all(row[2] >= 0 for row in rows)]
    got = one_and_both_order_rates(frame)
    assert got.decided == pytest.approx(len(same) / len(both))
    right = sum(sum(row[3] for row in rows) / len(rows) for rows in known)
    assert got.right == pytest.approx(right / len(known))
    assert got.right_when_decided == pytest.approx(sum(agreed) / len(agreed))
    assert f"{100 * got.decided:.0f}" in by_question(demo, "both orders").ours


def test_votes_in_both_orders_leave_the_recorded_rates_as_they_were(demo):
    frame = demo.frame(demo_studies.LARGER_STUDY)
    asks = frame[["item", "comparison", "shown"]].drop_duplicates().index
    votes = frame.loc[asks].assign(judge="human:ann", prompt="vote", pick=0)
    both = pd.concat([frame.astype({"judge": str, "prompt": str}), votes], ignore_index=True)
    both = both.astype({name: kind for name, kind in frame.dtypes.items() if name == "pick"})
    both = both.astype(dict.fromkeys(frame.columns[frame.dtypes == "category"], "category"))
    assert one_and_both_order_rates(both) == one_and_both_order_rates(frame)


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
