"""Exported cells never run as formulas, and every text is restored by the import."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.domain import Ask, Item, Judgement, Usage, Verdict
from studies.exchange.export import EXPORT_FORMATS, write_export
from studies.exchange.recorded_studies import read_exported_judgements
from studies.files.table_formats.spreadsheet_guard import (
    BATTLE_COLUMNS,
    FLAT_COLUMNS,
    OWN_CSV_HEADERS,
    guard_formula,
    unguard_formula,
)
from studies.files.tables import read_table
from studies.sources.load import load_source
from studies.spec.study import DataSpec, Study
from studies.store.store import Store
from tests.attacks.attack_list import MODES
from tests.attacks.attack_log import attempt, in_mode

FORMULAS = "formulas in exports"
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
TEXTS = st.one_of(
    st.text(max_size=12),
    st.builds("".join, st.lists(st.sampled_from(["'", *RISKY, "1", "x", '"', ","]), max_size=6)),
)


@pytest.mark.parametrize("mode", MODES)
@given(TEXTS)
def test_a_guarded_text_never_begins_like_a_formula_and_always_comes_back(mode, text):
    with in_mode(mode), attempt(FORMULAS, mode, text):
        cell = guard_formula(text)
        assert isinstance(cell, str) and not cell.startswith(RISKY)
        assert unguard_formula(cell) == text


@given(st.one_of(st.integers(), st.floats(), st.booleans(), st.none()))
def test_numbers_stay_numbers(value):
    assert guard_formula(value) is value


def test_an_apostrophe_of_somebody_s_own_is_left_alone():
    assert guard_formula("'tis") == "'tis" and unguard_formula("'tis") == "'tis"


def stored(path: Path, name: str, reply: str, category: str) -> Store:
    """A study in which all texts from outside are hostile."""
    store = Store(path)
    items = [Item("q1", "why?", {name: "a", "plain": "b"}, category=category)]
    asks = [Ask(f"k{n}", "q1", "judge", "p", shown, ("A", "B"), orders=2)
            for n, shown in enumerate([(name, "plain"), ("plain", name)])]  # fmt: skip
    judged = [
        Judgement(ask, "ok", Verdict(0, 1), rule="r", reply=reply, usage=Usage(3, 1), cost=-0.5,
                  seconds=1.5, model=reply, time=5.0, detail=reply)
        for ask in asks
    ]  # fmt: skip
    named = Study("s", baseline="plain")
    store.save_study(named, items, (), (), recorded=judged, only_recorded=True)
    return store


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "'=1+1", "''-1",
           '=HYPERLINK("http://x.example";"x")', "=cmd|' /C calc'!A0"]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_in_every_csv_that_is_written_no_cell_runs(text, tmp_path, each_mode):
    name = text if text.isprintable() and text[0] != "@" else "plain name"
    store = stored(tmp_path / "a.db", name, text, text)
    written = [form for form, how in EXPORT_FORMATS.items() if how.suffix == ".csv"]
    assert set(written) == {"csv", "arena", "alpaca-eval", "votes"}
    for form in written:
        write_export(store, "s", form, tmp_path / f"{form}.csv")
        with attempt(FORMULAS, each_mode, f"{form}: {text}"):
            for row in cells(tmp_path / f"{form}.csv"):
                texts = [cell for column, cell in row.items() if column != "cost"]
                assert not any(cell.startswith(RISKY) for cell in texts), row
    (first, _) = cells(tmp_path / "csv.csv")
    assert first["cost"] == "-0.5" and first["seconds"] == "1.5"  # numbers, not texts
    store.close()


def test_the_columns_by_which_our_own_files_are_known_are_those_that_are_written(tmp_path):
    store = stored(tmp_path / "a.db", "x", "r", "c")
    for form, columns in (("csv", FLAT_COLUMNS), ("arena", BATTLE_COLUMNS)):
        write_export(store, "s", form, tmp_path / f"{form}.csv")
        assert (
            read_table(tmp_path / f"{form}.csv").columns == columns and columns in OWN_CSV_HEADERS
        )
    assert {row["category"] for row in cells(tmp_path / "csv.csv")} == {"c"}
    assert {
        FLAT_COLUMNS[:-4],
        FLAT_COLUMNS[:-5],
        FLAT_COLUMNS[:-7],
        BATTLE_COLUMNS[:-1],
    } <= OWN_CSV_HEADERS  # what earlier versions wrote is still read as ours
    assert write_export(store, "s", "votes", tmp_path / "votes.csv") == 0
    assert (tmp_path / "votes.csv").read_text("utf-8").startswith("item,judge,prompt,shown,")
    store.close()


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8
).map(lambda text: f"={text}'")


@settings(max_examples=15)
@given(NAMES, TEXTS.filter(lambda text: "\0" not in text and "\r" not in text))
def test_what_was_exported_is_imported_as_it_was(tmp_path_factory, name, text):
    folder = tmp_path_factory.mktemp("trip")
    store = stored(folder / "a.db", name, text, "-c")
    for form in ("csv", "arena", "jsonl", "parquet"):
        write_export(store, "s", form, folder / f"{form}{EXPORT_FORMATS[form].suffix}")
    asked = list(store.judgements("s"))
    store.close()
    flat = read_table(folder / "csv.csv").rows
    assert {row["reply"] for row in flat} == {text} == {row["detail"] for row in flat}
    assert {row["shown"] for row in flat} == {f"{name} | plain", f"plain | {name}"}
    arena = load_source(DataSpec("arena.csv"), folder)
    assert {j.ask.shown for j in arena.judgements} == {(name, "plain"), ("plain", name)}
    assert {item.category for item in arena.items} == {"-c"}
    for form in ("jsonl", "parquet"):  # lossless, and without any guard in the file
        back = [replace(j, ask=replace(j.ask, key="")) for j in read_exported_judgements(
            folder / f"{form}.{form}", "x")]  # fmt: skip
        assert back == [replace(j, ask=replace(j.ask, key="")) for j in asked]


def test_somebody_else_s_csv_keeps_its_apostrophes(tmp_path):
    (tmp_path / "a.csv").write_text("question,answer\n'=1,''-x\n", "utf-8")
    assert read_table(tmp_path / "a.csv").rows == [{"question": "'=1", "answer": "''-x"}]


@pytest.mark.extra
def test_metrics_read_an_exported_name_as_it_was(tmp_path):
    store = stored(tmp_path / "a.db", "=x", "r", "c")
    write_export(store, "s", "arena", tmp_path / "battles.csv")
    store.close()
    assert "'=x" in (tmp_path / "battles.csv").read_text("utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "metrics", str(tmp_path / "battles.csv"), "--json"],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert '"=x"' in done.stdout and "'=x" not in done.stdout, done.stderr
