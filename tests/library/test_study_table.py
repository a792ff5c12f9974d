"""Studies from tables and files, and their audits against `python -m metrics --json`."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.recorded_demo import demo_study
from metrics.__main__ import main as metrics_command
from metrics.labels.label_sections import pass_fail_section
from studies.errors import SourceError
from studies.exchange.recorded_studies import import_verdicts
from studies.frames.frame import NO_PICK, TIE
from studies.sources.load import ASSETS_FOLDER
from studies.store.store import Store
from tests.metrics.battle_frames import golden
from tests.page_words import pattern

ROWS = [
    ("q1", "x", "y", "x", "kind", "x"),
    ("q1", "y", "x", "second", "kind", "x"),
    ("q2", "x", "y", "tie", "kind", "y"),
    ("q2", "y", "x", None, "kind", "y"),
]
COLUMNS = ["q", "a", "b", "w", "j", "t"]
NAMES = {"item": "q", "first": "a", "second": "b", "winner": "w", "judge": "j", "truth": "t"}


def small_table() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=COLUMNS)


def numbers_of(part: Any) -> Iterator[tuple[float | None, float | None, float | None]]:
    """Every number of a summary in order: estimates as triples, others as values."""
    if isinstance(part, dict):
        if {"value", "low", "high"} <= part.keys():
            yield part["value"], part["low"], part["high"]
            part = {
                k: v
                for k, v in part.items()
                if k not in ("value", "low", "high", "n", "items", "unit", "level")
            }
        for inner in part.values():
            yield from numbers_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from numbers_of(inner)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield part, None, None


def numbers_in(table: pd.DataFrame) -> list[tuple[float | None, ...]]:
    rows = table[["value", "low", "high"]].itertuples(index=False)
    return [tuple(None if math.isnan(x) else x for x in row) for row in rows]


def test_winners_are_contestants_slots_ties_or_missing() -> None:
    frame = eh.study(small_table(), **NAMES).frame
    assert frame["pick"].tolist() == [0, 1, TIE, NO_PICK]
    assert frame["status"].astype(str).tolist() == ["ok", "ok", "ok", "unreadable"]
    assert frame["truth"].tolist() == [0, 1, 1, 0]
    assert frame["orders"].tolist() == [2, 2, 2, 2]


def test_usual_column_names_are_found_and_unknown_ones_are_named_in_the_error() -> None:
    table = small_table()[["q", "a", "b", "w"]]
    found = eh.study(table.set_axis(["item", "model_a", "model_b", "winner"], axis=1))
    assert len(found.frame) == 4
    with pytest.raises(SourceError, match=pattern("no column", "second, winner")):
        eh.study(table)
    with pytest.raises(SourceError, match="no column 'judge'"):
        eh.study(small_table(), **{**NAMES, "judge": "judge"})


def test_an_unknown_winner_names_its_row() -> None:
    table = small_table()
    table.loc[2, "w"] = "nonsense"
    with pytest.raises(SourceError, match=pattern("row 3: winner", "'nonsense'")):
        eh.study(table, **NAMES)


def test_the_table_of_an_audit_has_every_number_of_the_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    battles = pd.DataFrame(
        [
            (f"q{n}", *(("x", "y") if order else ("y", "x")), winner, f"judge {n % 2}")
            for n in range(12)
            for order, winner in enumerate(("model_a", "model_b" if n % 3 else "model_a"))
        ],
        columns=["item", "model_a", "model_b", "winner", "judge"],
    )
    file = tmp_path / "battles.csv"
    battles.to_csv(file, index=False)
    assert metrics_command([str(file), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for data in (battles, file):
        table = eh.audit(data).table
        assert numbers_in(table) == list(numbers_of(printed))
    row = table[(table.judge == "judge 0") & (table.measure == "consistency")].iloc[0]
    expected = printed["position"]["judge 0"]["all"]["consistency"]
    assert (row.value, row.low, row.high) == tuple(expected[k] for k in ("value", "low", "high"))
    assert (row.n, row["items"], row.note) == tuple(expected[k] for k in ("n", "items", "note"))


@pytest.mark.records
@pytest.mark.extra
def test_prd_gives_the_numbers_of_the_command_with_and_without_a_store(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "prd.db"
    store = Store(path)
    import_verdicts(store, records / "prd", "prd")
    store.close()
    assert metrics_command([str(path), "--json"]) == 0
    printed = list(numbers_of(json.loads(capsys.readouterr().out)))
    assert len(printed) > 1000
    assert numbers_in(eh.audit(path).table) == printed
    assert numbers_in(eh.audit(records / "prd").table) == printed


@pytest.mark.records
@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_the_published_ratings_of_evalica_come_out_of_three_columns(
    name: str, records: Path
) -> None:
    table = pd.read_csv(records / "evalica" / f"{name}.csv", dtype={"left": str, "right": str})
    _, scores = golden(name, "elo")
    got = eh.elo(table.left, table.right, table.winner, rounds=0, orders=0)
    assert len(got) == len(scores)
    assert (got["rating"] - scores).abs().max() < 1e-9


def test_ratings_have_intervals_around_their_value() -> None:
    first, second = ["a", "b", "a", "c"] * 30, ["b", "c", "c", "a"] * 30
    winner = ["first", "second", "first", "tie", "second", "first", "first", "second"] * 15
    for table in (eh.elo(first, second, winner), eh.bradley_terry(first, second, winner)):
        assert set(table.index) == {"a", "b", "c"}
        assert (table["low"] < table["high"]).all() and table["n"].sum() == 240
    bt = eh.bradley_terry(first, second, winner)
    assert ((bt["low"] < bt["rating"]) & (bt["rating"] < bt["high"])).all()


def test_remedies_name_rules_with_their_price() -> None:
    found = eh.remedies(demo_study("second"))
    single = found.table[found.table["rule"] == "single"]
    assert (single["calls"] == 1).all() and len(single) == 6  # one for each prompt
    assert found.recommendation == found.section["recommendation"]["sentence"] != ""
    assert found.recommendation.split()[0] in found._repr_html_()
    with pytest.raises(SourceError, match=pattern("no comparison", "known better")):
        eh.remedies(small_table().rename(columns={"a": "first", "b": "second", "w": "winner"}))


def test_the_larger_recorded_judge_is_right_more_often_with_graded_replies_in_both_orders() -> None:
    """Its replies with one prompt, counted from the file: right
    calls, and comparisons that both orders decide; the mean probability of the two orders is right
    more often than one call."""
    quality = {"offtopic": 0, "flawed": 1, "padded": 2, "precise": 2}
    right: dict[tuple[str, frozenset[str]], list[bool]] = {}
    graded: dict[tuple[str, frozenset[str]], float] = {}
    unread: set[tuple[str, frozenset[str]]] = set()
    with gzip.open(ASSETS_FOLDER / "demo" / "second.jsonl.gz", "rt") as lines:
        for judgement in map(json.loads, lines):
            ask = judgement["ask"]
            good, bad = sorted(ask["shown"], key=lambda name: -quality[name])
            verdict, pair = judgement["verdict"], (ask["item"], frozenset(ask["shown"]))
            if judgement["status"] != "ok":
                unread.add(pair)
            elif ask["prompt"] == "brief-reference" and quality[good] > quality[bad]:
                right.setdefault(pair, []).append(ask["shown"][verdict["pick"]] == good)
                chances = verdict["label_probabilities"]
                graded[pair] = graded.get(pair, 0) + chances[ask["shown"].index(good)] - 0.5
    right = {pair: orders for pair, orders in right.items() if pair not in unread}
    agreed = [orders[0] for orders in right.values() if len({*orders}) == 1]
    assert len(right) == 319  # of 64 items and 5 pairs with a better answer; one is unreadable

    table = eh.remedies(demo_study("second")).table
    rules = table[table["prompt"] == "brief-reference"].set_index("rule")
    assert rules.loc["single", "agreement"] == pytest.approx(
        sum(sum(orders) / 2 for orders in right.values()) / 319
    )
    assert rules.loc["agree", "decided"] == pytest.approx(len(agreed) / 319)
    assert rules.loc["agree", "right_when_decided"] == pytest.approx(sum(agreed) / len(agreed))
    assert rules.loc["graded", "agreement"] == pytest.approx(
        sum(graded[pair] > 0 for pair in right) / 319
    )
    assert rules.loc["single", "agreement_low"] > 0.8
    assert rules.loc["graded", "agreement"] > rules.loc["single", "agreement_high"]


def test_single_answers_of_the_recorded_judge_are_measured_against_the_design() -> None:
    """Counted from the replies: PASS and FAIL under the first prompt, and the design's halves."""
    passed = {True: 0, False: 0}
    read = {True: 0, False: 0}
    with gzip.open(ASSETS_FOLDER / "demo" / "single.jsonl.gz", "rt") as lines:
        for judgement in map(json.loads, lines):
            if judgement["ask"]["prompt"] == "pass-fail" and judgement["verdict"]:
                good = judgement["ask"]["shown"][0] in ("precise", "padded")
                read[good] += 1
                passed[good] += "verdict: pass" in judgement["reply"].lower()
    rates = pass_fail_section(demo_study("single").frame)["qwen2.5-coder-1.5b"]["pass-fail"]
    assert rates["sensitivity"].value == pytest.approx(passed[True] / read[True])
    assert rates["specificity"].value == pytest.approx(1 - passed[False] / read[False])
    true = rates["true_pass_rate"]
    assert true.low < 0.5 < true.high  # two of four answers are good
