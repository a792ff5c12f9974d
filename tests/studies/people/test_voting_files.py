"""Export and import of votes (CSV) and of checks (with items) without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.__main__ import main
from studies.domain import AnswerCheck, Ask, Item, Judgement, Verdict
from studies.errors import SourceError
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts
from studies.files.items import parse_items
from studies.files.table_formats.spreadsheet_guard import guard_formula
from studies.files.tables import read_table
from studies.people.vote_session import open_vote_session
from studies.sources.formats.own_exports import unguarded_text, vote_row
from studies.spec.study import Study
from studies.store.ballot_queries import VotingRules, voter_id
from studies.store.store import Store

COMMENTS = ["", "=SUM(A1)", "'quoted", "two\nlines, and a comma", "+1", "'=both", "ünï"]


def voted(store: Store) -> None:
    items = [
        Item(f"q{k}", f"=question {k}", {"@ x".strip("@ "): "a", "-y": "b"}, f"c{k % 2}",
             reference="r") for k in range(8)
    ]  # fmt: skip
    store.save_study(Study("s"), items, ())
    store.set_voting_rules("s", VotingRules(repeats=0.2))
    for who in ("ann", "=bob"):
        at = open_vote_session(store, "s", voter_id(who), "levels")
        verdicts = [Verdict(0, 2), Verdict("tie", 0), Verdict(1, 1)]
        turn = 0
        while (ballot := at.next_ballot()) is not None:
            said = verdicts[turn % 3]
            at.vote(ballot.position, ballot.done, said, COMMENTS[turn % len(COMMENTS)])
            turn += 1


def test_votes_go_out_and_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    voted(store)
    assert (
        write_export(store, "s", "votes", tmp_path / "votes.csv") == 18
    )  # 2 people x (8 + 1 repeat)
    write_export(store, "s", "items", tmp_path / "items.jsonl")
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
    write_export(store, "s", "votes", tmp_path / "votes.csv")
    other = Store(tmp_path / "other.db")
    loaded = import_verdicts(other, tmp_path / "votes.csv", "s")
    assert loaded.format == "evenhand-votes" and "items.jsonl" in " ".join(loaded.summary_lines())
    assert len(other.frame("s")) == 18
    other.close()


@pytest.mark.parametrize(
    ("cell", "told"),
    [("picked", "not among"), ("shown", "JSONDecodeError"), ("status", "unknown status")],
)
def test_a_row_that_is_no_vote_is_named(tmp_path: Path, cell: str, told: str) -> None:
    ask = Ask("k", "q", "human:ann", "vote", ("x", "y"), ("A", "B"))
    row = vote_row(Judgement(ask, "ok", Verdict(0), rule="vote", time=1.0)) | {cell: "nonsense"}
    names = ",".join(row)
    cells = ",".join('"' + str(value).replace('"', '""') + '"' for value in row.values())
    (tmp_path / "votes.csv").write_text(f"{names}\n{cells}\n", encoding="utf-8")
    other = Store(tmp_path / "s.db")
    with pytest.raises(SourceError, match=f"votes.csv, line 2: not a vote.*{told}"):
        import_verdicts(other, tmp_path / "votes.csv", "s")
    other.close()


@given(st.text(max_size=12))
def test_every_text_survives_the_guard_and_none_runs_as_a_formula(text: str) -> None:
    cell = guard_formula(text)
    assert unguarded_text(cell) == text
    assert not str(cell).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_what_people_verified_goes_out_with_the_items(store: Store, tmp_path: Path) -> None:
    store.save_study(Study("s"), [Item("q", "why?", {"x": "a"}, reference="r")], ())
    ann = open_vote_session(store, "s", voter_id("ann"), "verify")
    ballot = ann.next_ballot()
    assert ballot is not None
    ann.store_verification(ballot.position, ballot.done, AnswerCheck("", "", False, "answer"))
    write_export(store, "s", "items", tmp_path / "items.jsonl")
    (item,) = parse_items(read_table(tmp_path / "items.jsonl"))
    assert item.checks == (AnswerCheck("human:ann", "@reference", False, "answer", False),)
