"""Judgements from files: impossible verdicts are errors, duplicates count once."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metrics.position import position_measures
from studies.domain import Ask, Item, Judgement, Verdict, assign_recorded_keys
from studies.errors import SourceError
from studies.exchange.export import write_export
from studies.exchange.recorded_studies import import_verdicts, read_exported_judgements
from studies.files.shards import AskOutcome, write_shard
from studies.frames.battle_frame import frame_from_battles
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.page_words import pattern, says
from tests.studies.sources.source_files import loaded

ASK = Ask("k", "q1", "j", "pairs", ("x", "y"), ("A", "B"), orders=2)
SWAPPED = replace(ASK, key="s", shown=("y", "x"))
SCORED = replace(ASK, key="f", prompt="facts")


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def row(verdict: dict[str, Any] | None, status: str = "ok", **ask: Any) -> dict[str, Any]:
    whole = asdict(Judgement(replace(ASK, **ask), "ok", Verdict(0)))
    return {**whole, "status": status, "verdict": verdict}


@pytest.mark.parametrize("pick", [2, 5, -1, -2, 1.5, True, "7", "-1"])
def test_a_pick_that_no_slot_has_is_an_error_that_names_its_line(
    tmp_path: Path, pick: object
) -> None:
    # −1 and −2 are how the store writes a tie and no pick: they must not come in by a file.
    path = lines(tmp_path / "j.jsonl", row({"pick": 0}), row({"pick": pick}, repeat=1))
    with pytest.raises(SourceError, match=r"j\.jsonl, line 2: not a judgement: .*pick is"):
        loaded(path)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [({"pick": 0, "margin": 7}, "margin is 7"), (None, "no verdict"), ({"pick": None}, "no verd")],
)
def test_evidence_without_a_verdict_is_none(tmp_path: Path, verdict: Any, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        loaded(lines(tmp_path / "j.jsonl", row(verdict)))


@pytest.mark.parametrize("status", ["unreadable", "truncated", "error"])
def test_a_reply_that_was_not_read_needs_no_verdict(tmp_path: Path, status: str) -> None:
    (found,) = loaded(lines(tmp_path / "j.jsonl", row(None, status))).judgements
    assert (found.status, found.verdict) == (status, None)


def test_a_shard_whose_pick_no_slot_has_is_refused(store: Store, tmp_path: Path) -> None:
    write_shard(tmp_path / "a.parquet", [AskOutcome(Judgement(ASK, "ok", Verdict(1)))])
    write_shard(tmp_path / "b.parquet", [AskOutcome(Judgement(SWAPPED, "ok", Verdict(2)))])
    with pytest.raises(SourceError, match=pattern("b.parquet", "not judgements: pick", "2")):
        import_verdicts(store, DataSpec(str(tmp_path)), "wrong")
    (tmp_path / "b.parquet").unlink()
    write_shard(tmp_path / "b.parquet", [AskOutcome(Judgement(SWAPPED, "ok", Verdict("tie")))])
    import_verdicts(store, DataSpec(str(tmp_path)), "right")
    assert sorted(store.frame("right")["pick"]) == [-1, 1]


def test_a_judgement_that_is_there_twice_counts_once(store: Store, tmp_path: Path) -> None:
    # An export put together with itself; and a third line that says otherwise: the first counts.
    both = [row({"pick": 0}), row({"pick": 1}, shown=("y", "x"))]
    path = lines(tmp_path / "j.jsonl", *both, *both, row({"pick": 1}))
    assert len(read_exported_judgements(path, "s")) == 2
    found = import_verdicts(store, path, "twice")
    assert any(note.startswith("3 judgements skipped: dupl") for note in found.notes)
    frame = store.frame("twice")
    assert frame["pick"].tolist() == [0, 1]
    assert (
        position_measures.consistency(frame).n == 1 and position_measures.noise_floor(frame).n == 0
    )


def test_much_better_in_a_mapped_table_keeps_its_margin(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("q,one,two,won\na,x,y,A>>B\nb,x,y,b>a\nc,x,y,A=B\n", encoding="utf-8")
    mapping = {"q": "instruction", "one": "first", "two": "second", "won": "winner"}
    found = loaded(path, mapping=mapping).judgements
    assert [(j.verdict.pick, j.verdict.margin) for j in found if j.verdict] == [
        (0, 2), (1, 1), ("tie", 0),
    ]  # fmt: skip


def test_autoarena_leaves_out_a_model_against_itself(tmp_path: Path) -> None:
    path = tmp_path / "heads.csv"
    path.write_text("prompt,model_a,model_b,response_a,response_b,winner\n"
                    "q,x,x,a,b,A\nq,x,y,a,b,B\n", encoding="utf-8")  # fmt: skip
    found = loaded(path)
    assert [j.ask.shown for j in found.judgements] == [("x", "y")]
    assert "compared with itself" in found.notes[0]


# -- out again -----------------------------------------------------------------------------------

ITEMS = [Item("q1", "Why?", {"x": "so", "y": "thus"})]
MIXED = [
    Judgement(ASK, "ok", Verdict(0)),
    Judgement(SWAPPED, "unreadable"),
    Judgement(SCORED, "ok", Verdict(scores=(7.0, 5.0))),
    Judgement(replace(SCORED, key="g", shown=("y", "x")), "unreadable"),
]


@pytest.fixture
def mixed(store: Store) -> Store:
    made = assign_recorded_keys("mixed", MIXED)
    store.save_study(Study("mixed"), ITEMS, (), recorded=made, only_recorded=True)
    return store


def test_scores_of_two_answers_are_nobody_s_win_in_llm_comparator(
    mixed: Store, tmp_path: Path
) -> None:
    # x won once; the factuality scores picked nobody, and −1 would say that y won.
    write_export(mixed, "mixed", "llm-comparator", tmp_path / "c.json")
    (example,) = json.loads((tmp_path / "c.json").read_text("utf-8"))["examples"]
    assert example["score"] == 1.0
    assert [rating["score"] for rating in example["individual_rater_scores"]] == [1.0]


def test_scores_of_two_answers_are_no_failed_games_in_pair_files(
    mixed: Store, tmp_path: Path
) -> None:
    assert write_export(mixed, "mixed", "mt-bench", tmp_path / "p.jsonl") == 1
    (game,) = map(json.loads, (tmp_path / "p.jsonl").read_text("utf-8").splitlines())
    assert (game["judge"][1], game["g1_winner"], game["g2_winner"]) == ("pairs", "model_1", "error")


def test_battles_of_ours_come_back_with_their_prompt_and_no_invented_question(
    mixed: Store, tmp_path: Path
) -> None:
    write_export(mixed, "mixed", "arena", tmp_path / "b.csv")
    found = loaded(tmp_path / "b.csv")
    assert [(j.ask.prompt, j.ask.item) for j in found.judgements] == [("pairs", "q1")]
    assert found.items[0].instruction == ""


def unknown_order(store: Store) -> Store:
    made = [Judgement(replace(ASK, key="", item=f"q{k}", orders=0), "ok", Verdict(k % 2))
            for k in range(4)]  # fmt: skip
    items = [Item(f"q{k}", "Why?", {"x": "so", "y": "thus"}) for k in range(4)]
    study = Study("unknown")
    store.save_study(
        study, items, (), recorded=assign_recorded_keys("unknown", made), only_recorded=True
    )
    return store


@pytest.mark.parametrize(("format", "ending"), [("arena", "csv"), ("llm-comparator", "json")])
def test_an_order_that_nobody_knows_is_not_made_up_on_the_way_out(
    store: Store, tmp_path: Path, format: str, ending: str
) -> None:
    path = tmp_path / f"out.{ending}"
    assert write_export(unknown_order(store), "unknown", format, path) == 4
    found = loaded(path)
    assert [j.ask.orders for j in found.judgements] == [0] * 4 and not found.order_known
    assert [j.verdict.pick for j in found.judgements if j.verdict] == [0, 1, 0, 1]


def test_metrics_take_no_place_from_battles_of_unknown_order(store: Store, tmp_path: Path) -> None:
    write_export(unknown_order(store), "unknown", "arena", tmp_path / "b.csv")
    frame = frame_from_battles(pd.read_csv(tmp_path / "b.csv", dtype=str))
    got = position_measures.first_share(frame)
    assert got.value is None and says(got.note, "answer", "shown first")
    assert write_export(store, "unknown", "mt-bench", tmp_path / "p.jsonl") == 0  # neither game


def test_a_battle_without_a_name_is_an_error(tmp_path: Path) -> None:
    table = pd.DataFrame({"model_a": ["x", "x"], "model_b": ["y", " "], "winner": ["tie", "tie"]})
    with pytest.raises(ValueError, match=pattern("2", "column model_b", "empty")):
        frame_from_battles(table)


def test_what_was_not_read_has_no_slot_in_the_flat_table(store: Store, tmp_path: Path) -> None:
    # Label probabilities below one half: a pick may be there, but it is no verdict.
    made = assign_recorded_keys("s", [Judgement(ASK, "unreadable", Verdict(1, label_mass=0.4))])
    store.save_study(Study("s"), ITEMS, (), recorded=made, only_recorded=True)
    write_export(store, "s", "csv", tmp_path / "flat.csv")
    with (tmp_path / "flat.csv").open(encoding="utf-8", newline="") as out:
        (line,) = csv.DictReader(out)
    assert (line["status"], line["slot"], line["picked"], line["margin"]) == (
        "unreadable", "", "", "",
    )  # fmt: skip


def test_an_unread_reply_has_no_margin_in_the_flat_table(mixed: Store, tmp_path: Path) -> None:
    write_export(mixed, "mixed", "csv", tmp_path / "flat.csv")
    with (tmp_path / "flat.csv").open(encoding="utf-8", newline="") as out:
        margins = [(line["prompt"], line["status"], line["margin"]) for line in csv.DictReader(out)]
    assert margins == [("pairs", "ok", "1"), ("pairs", "unreadable", ""), ("facts", "ok", ""),
                       ("facts", "unreadable", "")]  # fmt: skip


def test_a_vote_for_nobody_is_no_vote(tmp_path: Path) -> None:
    head = "item,judge,prompt,shown,picked,margin,scores,status,orders,repeat,seconds,time,comment"
    path = tmp_path / "votes.csv"
    line = 'q1,human:ann,vote,"[""x"", ""y""]",{},,,{},1,0,1.0,5.0,\n'
    path.write_text(f"{head}\n{line.format('y', 'ok')}{line.format('', 'ok')}", encoding="utf-8")
    with pytest.raises(SourceError, match=r"line 3: not a vote: .*nothing is picked"):
        loaded(path)
    path.write_text(f"{head}\n{line.format('y', 'ok')}{line.format('', 'empty')}", encoding="utf-8")
    assert [j.status for j in loaded(path).judgements] == ["ok", "empty"]
