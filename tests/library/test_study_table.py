"""Studies from tables and files, and their audits against `python -m metrics --json`."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import __main__ as command_module
from evenhand import page_views, remedy_rates
from evenhand.auditing import twin_table
from evenhand.recorded_demo import demo_study
from evenhand.table_input import as_table
from metrics.__main__ import main as metrics_command
from metrics.labels.label_sections import pass_fail_section
from metrics.ratings.battles import battles_from_codes, extract_battles
from studies.errors import SourceError
from studies.exchange.recorded_studies import import_verdicts
from studies.frames.battle_frame import encode_battles
from studies.frames.frame import NO_PICK, TIE
from studies.sources.load import ASSETS_FOLDER
from studies.store.store import Store
from tests.components.conftest import STUDY
from tests.conftest import ROOT
from tests.judges.small_studies import run_text
from tests.metrics.battle_frames import golden
from tests.page_words import pattern, says

ROWS = [
    ("q1", "x", "y", "x", "kind", "x"),
    ("q1", "y", "x", "second", "kind", "x"),
    ("q2", "x", "y", "tie", "kind", "y"),
    ("q2", "y", "x", None, "kind", "y"),
]
COLUMNS = ["q", "a", "b", "w", "j", "t"]
NAMES = {"item": "q", "first": "a", "second": "b", "winner": "w", "judge": "j", "truth": "t"}
BATTLE = ["first", "second", "winner"]


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
    assert frame["known_answer"].tolist() == [0, 1, 1, 0]
    assert frame["orders"].tolist() == [2, 2, 2, 2]


def test_usual_column_names_are_found_and_unknown_ones_are_named_in_the_error() -> None:
    table = small_table()[["q", "a", "b", "w"]]
    found = eh.study(table.set_axis(["item", "model_a", "model_b", "winner"], axis=1))
    assert len(found.frame) == 4
    with pytest.raises(SourceError, match=pattern("no column", "second, winner")):
        eh.study(table)
    with pytest.raises(SourceError, match="no column 'judge'"):
        eh.study(small_table(), **{**NAMES, "judge": "judge"})


@pytest.mark.parametrize("name", ["item", "id", "question_id", "qid", "prompt_id"])
def test_a_column_of_items_is_found_by_its_usual_names(name: str, tmp_path: Path) -> None:
    table = small_table()[["q", "a", "b", "w"]].set_axis([name, *BATTLE], axis=1)
    indexed = table.set_index(name)
    table.to_csv(tmp_path / "t.csv", index=False)
    for found in map(eh.read, [tmp_path / "t.csv"]):
        assert found.frame["orders"].tolist() == [2, 2, 2, 2]
    for found in map(eh.study, (table, indexed)):
        assert found.frame["item"].nunique() == 2
        assert found.frame["orders"].tolist() == [2, 2, 2, 2]


def test_rows_that_become_items_are_said(tmp_path: Path) -> None:
    table = small_table()[["q", "a", "b", "w"]].set_axis(["topic", *BATTLE], axis=1)
    table.to_csv(tmp_path / "t.csv", index=False)
    for found in (eh.study(table), eh.read(tmp_path / "t.csv")):
        assert found.frame["item"].nunique() == 4
        note, unused = found.notes
        assert says(note, "each row", "which item", "item='") and note in str(eh.audit(found))
        assert says(unused, "not used: topic;", "mapping={")
    numbered = table.assign(id=range(4))
    assert says(eh.study(numbered).notes[0], "'id' differs", "every row")
    assert eh.study(table, item="topic").notes == ("items: the column 'topic'",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["x", "x", "tie", ""], None),
        (["A", "B", "tie", ""], None),
        (["model_a", "MODEL_B", "tie (bothbad)", ""], None),
        (["[[A]]", "[[B]]", "[[C]]", ""], None),
        (["first", "second", "draw", ""], None),
        (["0", "1", "2", ""], {0: "first", 1: "second", 2: "tie"}),
        (["1", "2", "0", ""], {1: "A", 2: "B", 0: "tie"}),
    ],
)
def test_a_csv_and_a_table_know_the_same_winners(
    given: list[str], words: dict[int, str] | None, tmp_path: Path
) -> None:
    names = ["model_a", "model_b"] if words is None else BATTLE[:2]
    table = small_table()[["q", "a", "b"]].set_axis(["item", *names], axis=1)
    table["winner"] = given
    table.to_csv(tmp_path / "t.csv", index=False)
    for found in (eh.study(table, words=words), eh.read(tmp_path / "t.csv", words=words)):
        assert found.frame["pick"].tolist() == [0, 1, TIE, NO_PICK]
        assert found.frame["status"].astype(str).tolist()[3] == "unreadable"
    if words:
        with pytest.raises(SourceError, match=pattern("row 1: winner", "tie; say", "words={")):
            eh.study(table)


def test_scores_of_two_answers_are_read_as_a_table_and_as_a_file(tmp_path: Path) -> None:
    table = small_table()[["q", "a", "b"]].set_axis(["qid", *BATTLE[:2]], axis=1)
    table = table.assign(score_a=[3, 1, 2, 5], score_b=[1, 3, 2, 4])
    table.to_csv(tmp_path / "t.csv", index=False)
    for found in (eh.study(table), eh.read(tmp_path / "t.csv")):
        assert found.frame["pick"].tolist() == [0, 1, TIE, 0]
        assert found.frame["orders"].tolist() == [2, 2, 2, 2]
        assert found.frame["score_0"].tolist() == [3, 1, 2, 5]


def test_tables_of_other_kinds_give_the_same_study() -> None:
    import pyarrow as pa

    wanted = eh.study(table := small_table(), **NAMES).frame

    class Polars:
        """The methods that a polars DataFrame has, as far as they are used."""

        def to_dicts(self) -> list[dict[str, object]]:
            return table.to_dict("records")

        def to_dict(self, *, as_series: bool) -> dict[str, list[object]]:
            assert not as_series
            return table.to_dict("list")

    given = [table.to_dict("list"), table.to_dict("records"), pa.table(table), Polars()]
    for data in given:
        pd.testing.assert_frame_equal(eh.study(data, **NAMES).frame, wanted)


@pytest.mark.parametrize("data", [pd.Series([1]), [], 3, {"a": 1}, None, [1, 2]])
def test_what_is_no_table_is_refused_in_one_sentence(data: object) -> None:
    for call in (eh.study, eh.audit, eh.remedies):
        with pytest.raises(SourceError, match=pattern("not a table", "give a DataFrame")):
            call(data)


def test_errors_name_python_arguments(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("q,x,y\n1,a,b\n")
    with pytest.raises(SourceError, match="mapping=") as found:
        eh.read(file)
    assert "data." not in str(found.value) and "--" not in str(found.value)
    with pytest.raises(SourceError, match=r"mapping=: .*no column 'z'") as found:
        eh.read(file, mapping={"z": "id"})
    with pytest.raises(SourceError, match=pattern("no column for", "mapping={column: field}")):
        eh.study(pd.read_csv(file))


def test_battles_of_columns_are_those_of_their_frame() -> None:
    names = ["item", "model_a", "model_b", "winner", "judge", "truth"]
    table = small_table().set_axis(names, axis=1)
    table.loc[4] = ["q3", "x", "x", "x", "kind", "x"]  # left out: a model meets itself
    direct, framed = battles_from_codes(encode_battles(table)), eh.study(table).frame
    for name, value in vars(extract_battles(framed)).items():
        if name != "judges":
            assert np.array_equal(getattr(direct, name), value), name


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


@pytest.mark.extra
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
    assert true.value == pytest.approx(read[True] / sum(read.values())) and true.low is None


def test_the_page_is_started_with_the_study_s_store_and_this_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    def start(command: list[str], env: dict[str, str], **_: object) -> SimpleNamespace:
        started.append((command, env))
        return SimpleNamespace(poll=lambda: 0, terminate=lambda: None, wait=lambda *_: 0)

    monkeypatch.setattr(page_views.subprocess, "Popen", start)
    monkeypatch.setattr(page_views, "_wait_until_page_answers", lambda *_: None)
    store = Store(tmp_path / "mine.db")
    run_text(store, STUDY.replace("two judges", "a & b"))
    store.close()
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    page = page_views.show(eh.read(tmp_path / "mine.db"), port=4711)
    ((command, env),) = started
    assert command[command.index("--store") + 1] == str(tmp_path / "mine.db")
    assert command[command.index("--port") + 1] == "4711"
    assert env["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/elsewhere"]
    assert page.address == "http://127.0.0.1:4711/?study=a+%26+b&tab=results"


def test_columns_may_be_numbered_and_control_characters_reach_no_terminal() -> None:
    rows = [(f"q{k}", *pair, "a", "j\x1b[31m", "a") for k in range(6) for pair in ("ab", "ba")]
    roles = {"item": 0, "first": 1, "second": 2, "winner": 3, "judge": 4, "truth": 5}
    found = eh.study(pd.DataFrame(rows), **roles)  # type: ignore[arg-type]
    assert found.frame["item"].nunique() == 6
    assert "judges: j\\x1b[31m" in repr(found) and "\x1b" not in str(eh.remedies(found))


class OtherTable:
    """A table of a library that is known only by its method `to_pandas`."""

    def to_pandas(self) -> pd.DataFrame:
        return pd.DataFrame({"winner": ["x"]}, index=pd.Index(["q1"], name="item"))


def test_a_table_that_can_become_one_of_pandas_is_read() -> None:
    assert as_table(OtherTable()).to_dict("records") == [{"item": "q1", "winner": "x"}]


def test_names_in_a_table_of_remedies_are_inert() -> None:
    table = pd.DataFrame([dict.fromkeys(remedy_rates.COLUMNS, 0.5)]).assign(judge="<script>")
    html = remedy_rates.RemedyComparison({}, table, "<b>")._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html and "&lt;b&gt;" in html
    assert "0.500" in html


def test_names_in_a_table_of_twins_are_inert() -> None:
    table = pd.DataFrame([dict.fromkeys(twin_table._COLUMNS, 0.25)]).assign(judge="<script>")
    made = twin_table.TwinComparison(table, {("<i>", "<u>"): "<b>"})
    html = made._repr_html_()
    assert not any(tag in html for tag in ("<script", "<i>", "<u>")) and "<b><b>" not in html
    for name in ("<script>", "<i> · ", " · <u></b>: <b>"):
        assert escape(name).replace("&lt;/b&gt;", "</b>") in html
    assert "<td>0.250</td>" in html and 'border="' not in html and "<th>0</th>" not in html
    assert repr(made) == str(made)
    assert str(made).splitlines()[0] == "<i> · <u>: <b>" and "0.250" in str(made)


def test_columns_of_ratings_have_one_length_and_known_winners() -> None:
    with pytest.raises(SourceError, match=r"model_a 2, model_b 2, winner 1"):
        eh.elo(["x", "x"], ["y", "y"], ["x"])
    with pytest.raises(SourceError):
        eh.elo(["x"], ["y"], ["nobody"])
    whole = eh.elo(["x", "x"], ["y", "y"], ["x", "x"], rounds=9, orders=9)
    alone = eh.elo(["x", "x"], ["y", "y"], ["x", "x"], rounds=9, orders=9, intervals=False)
    assert alone["rating"].tolist() == whole["rating"].tolist()
    assert alone["low"].isna().all()


def test_a_study_without_twins_has_no_effects_of_twins() -> None:
    with pytest.raises(SourceError, match="verdicts on twins"):
        twin_table.twins(eh.study(small_table(), **NAMES))


def test_the_package_lists_its_names() -> None:
    assert dir(eh) == sorted(eh.__all__)


def test_a_command_whose_package_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> Any:
        def load(_: str) -> Any:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        return load

    monkeypatch.setattr(command_module, "import_module", missing("gradio"))
    assert command_module.main(["demo"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.setattr(command_module, "import_module", missing("evenhand.nothing"))
    with pytest.raises(ModuleNotFoundError):
        command_module.main(["demo"])


def test_a_jury_is_a_row_of_the_remedies_of_a_judge_and_one_without_a_prompt() -> None:
    line = {"calls": 2.0, "agreement": None}
    juries = {"a + b": {"jury-both": line, "members": ["a", "b"]}}
    section = {"rules": {"a": {"p": {"jury-both|a|b": line}}}, "juries": juries}
    kept: list[tuple[Any, dict[str, Any]]] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(remedy_rates, "_remedy_row", lambda line, **more: kept.append((line, more)))
        assert list(remedy_rates._remedy_rows(section)) == [None, None]
    (_, own), (found, more) = kept
    assert found is line and (own["judge"], own["rule"]) == ("a", "jury-both|a|b")
    assert own["title"] == more["title"] == "Two judges, both orders"
    assert (more["judge"], more["prompt"], more["rule"]) == ("a + b", "", "jury-both")
