"""A measure of the texts of replies, declared once, is wherever single answers are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.cards.point_card import PointCard
from components.results.overview import tab as summary
from components.results.pass_fail.reply_texts import (
    reply_text_measures_paper_table,
    reply_text_measures_table,
)
from components.share.paper_text import paper_tables
from components.study.plan.demo_studies import PAIRS_STUDY, SINGLE_STUDY
from metrics.catalogue.record import DECLARED, MeasureRecord
from metrics.estimation.measures import Measure, reply_fact_tally
from studies.frames.reply_facts import REPLY_FACTS
from studies.store.store import Store


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[MeasureRecord]:
    """Share of replies with an odd number of characters, as a new module would declare it."""
    monkeypatch.setitem(REPLY_FACTS, "odd_text", lambda text: len(text) % 2)
    record = MeasureRecord(
        key="odd_replies",
        name="Odd replies",
        question="nudges",
        definition="replies with an odd number of characters",
        paths=("position.*.*.odd_replies", "position_pooled.odd_replies"),
        measure=Measure("odd_replies", "share", reply_fact_tally("odd_text"), empty="no replies"),
        outlets=frozenset({"matrix", "card", "paper"}),
    )
    monkeypatch.setitem(DECLARED, record.key, record)
    yield record


def shares_by_hand(store: Store) -> dict[tuple[str, str], float]:
    texts: dict[tuple[str, str], list[bool]] = {}
    for one in store.judgements(SINGLE_STUDY):
        if one.reply and not one.ask.noise:
            texts.setdefault((one.ask.judge, one.ask.prompt), []).append(len(one.reply) % 2 == 1)
    return {cell: sum(odd) / len(odd) for cell, odd in texts.items()}


def test_it_is_on_card_summary_and_paper_table(declared: MeasureRecord, demo_store: Store) -> None:
    wanted = shares_by_hand(demo_store)
    assert len(wanted) > 1 and len(set(wanted.values())) > 1
    filtered = FilteredStudy(demo_store, SINGLE_STUDY)
    for (judge, prompt), share in wanted.items():
        frame = filtered.frame
        rows = frame[(frame["judge"] == judge) & (frame["prompt"] == prompt)]
        found = {name: value for name, _, value, _ in PointCard(rows).measures}
        assert found[declared.name].value == pytest.approx(share)
    text = re.sub("<[^>]+>", " ", unescape(str(reply_text_measures_table(filtered))))
    assert declared.name in text and declared.name in str(
        summary.render_card_or_judge_tables(filtered)
    )
    assert all(f"{100 * share:.1f}" in text for share in wanted.values())
    table = reply_text_measures_paper_table(filtered)
    assert table is not None and table.name in paper_tables(filtered)
    assert [float(row[1]) for row in table.rows] == pytest.approx(
        [100 * share for share in wanted.values()], abs=0.06
    )


def test_comparisons_and_measures_without_a_value_have_no_such_table(
    declared: MeasureRecord, demo_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reply_text_measures_table(FilteredStudy(demo_store, PAIRS_STUDY)) is None
    monkeypatch.delitem(DECLARED, declared.key)
    assert reply_text_measures_paper_table(FilteredStudy(demo_store, SINGLE_STUDY)) is None
