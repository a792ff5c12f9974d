"""Votes leave a store as a CSV and come into another as they were; checks travel with items."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.__main__ import main
from studies.ballots import Voting, person
from studies.errors import SourceError
from studies.exports import export
from studies.recorded import open_file
from studies.records import Ask, Check, Item, Judgement, Verdict
from studies.sources.native import items_of
from studies.sources.tables import read_table
from studies.sources.vote_table import guarded, plain, row_of
from studies.store import Store
from studies.study import Study
from studies.voting import booth

COMMENTS = ["", "=SUM(A1)", "'quoted", "two\nlines, and a comma", "+1", "'=both", "ünï"]


def voted(store: Store) -> None:
    items = [
        Item(f"q{k}", f"=question {k}", {"@ x".strip("@ "): "a", "-y": "b"}, f"c{k % 2}",
             reference="r") for k in range(8)
    ]  # fmt: skip
    store.save_study(Study("s"), items, ())
    store.set_voting("s", Voting(repeats=0.2))
    for who in ("ann", "=bob"):
        at = booth(store, "s", person(who), "levels")
        verdicts = [Verdict(0, 2), Verdict("tie", 0), Verdict(1, 1)]
        turn = 0
        while (ballot := at.next()) is not None:
            said = verdicts[turn % 3]
            at.vote(ballot.position, ballot.done, said, COMMENTS[turn % len(COMMENTS)])
            turn += 1


def test_votes_go_out_and_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    voted(store)
    assert export(store, "s", "votes", tmp_path / "votes.csv") == 18  # 2 people x (8 + 1 repeat)
    export(store, "s", "items", tmp_path / "items.jsonl")
    fresh = tmp_path / "fresh.db"
    arguments = ["import", str(tmp_path / "votes.csv"), "--name", "s", "--store", str(fresh)]
    assert main([*arguments, "--files", f"items={tmp_path / 'items.jsonl'}"]) == 0
    other = Store(fresh)
    mine, theirs = (one.frame("s").drop(columns="seq") for one in (store, other))
    assert mine.astype(str).equals(theirs.astype(str))
    told = [
        [(j.reply, j.time, j.seconds, j.verdict, j.ask.shown) for j in one.judgements("s")]
        for one in (store, other)
    ]
    assert told[0] == told[1] and any(j[0] == "'=both" for j in told[1])
    other.close()


def test_without_their_items_votes_are_read_with_a_note(store: Store, tmp_path: Path) -> None:
    voted(store)
    export(store, "s", "votes", tmp_path / "votes.csv")
    other = Store(tmp_path / "other.db")
    loaded = open_file(other, tmp_path / "votes.csv", "s")
    assert loaded.format == "evenhand-votes" and "items.jsonl" in " ".join(loaded.told())
    assert len(other.frame("s")) == 18
    other.close()


@pytest.mark.parametrize(
    ("cell", "told"),
    [("picked", "not among"), ("shown", "JSONDecodeError"), ("status", "unknown status")],
)
def test_a_row_that_is_no_vote_is_named(tmp_path: Path, cell: str, told: str) -> None:
    ask = Ask("k", "q", "human:ann", "vote", ("x", "y"), ("A", "B"))
    row = row_of(Judgement(ask, "ok", Verdict(0), rule="vote", time=1.0)) | {cell: "nonsense"}
    names = ",".join(row)
    cells = ",".join('"' + str(value).replace('"', '""') + '"' for value in row.values())
    (tmp_path / "votes.csv").write_text(f"{names}\n{cells}\n", encoding="utf-8")
    other = Store(tmp_path / "s.db")
    with pytest.raises(SourceError, match=f"votes.csv, line 2: not a vote.*{told}"):
        open_file(other, tmp_path / "votes.csv", "s")
    other.close()


@given(st.text(max_size=12))
def test_every_text_survives_the_guard_and_none_runs_as_a_formula(text: str) -> None:
    cell = guarded(text)
    assert plain(cell) == text
    assert not str(cell).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_what_people_verified_goes_out_with_the_items(store: Store, tmp_path: Path) -> None:
    store.save_study(Study("s"), [Item("q", "why?", {"x": "a"}, reference="r")], ())
    ann = booth(store, "s", person("ann"), "verify")
    ballot = ann.next()
    assert ballot is not None
    ann.check(ballot.position, ballot.done, Check("", "", False, "answer"))
    export(store, "s", "items", tmp_path / "items.jsonl")
    (item,) = items_of(read_table(tmp_path / "items.jsonl"))
    assert item.checks == (Check("human:ann", "@reference", False, "answer", False),)
