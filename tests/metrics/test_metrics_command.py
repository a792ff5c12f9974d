"""python -m metrics on a store: a run of simulated judges, split by every column."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from metrics.__main__ import main, render_tables
from metrics.summary.summary import summarise_frame
from studies.store.store import Store
from tests.judges.small_studies import run_text
from tests.page_words import says
from tests.samples import sample

STUDY = """
name: {name}
data: {{source: probe, categories: [maths, coding], per: {{category: 3}}, seed: 3}}
contestants: [precise, flawed]
judges:
  - {{name: always first, model: simulated, first_bias: 1, seed: 1}}
  - {{name: fair, model: simulated, accuracy: 1, seed: 2}}
prompts: [brief-letters]
noise_floor: 0.5
{more}
"""


ALWAYS = {"elo", "bradley_terry", "win_rate", "head_to_head", "position", "counts"}


def run_into(store: Store, name: str, more: str = "") -> None:
    run_text(store, STUDY.format(name=name, more=more))


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("measured") / "evenhand.db"
    store = Store(path)
    run_into(store, "one")
    store.close()
    yield path


@pytest.fixture(scope="module")
def two_studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("measured") / "two.db"
    store = Store(path)
    run_into(store, "plain")
    run_into(store, "merged", "combine: strict\nunreadable: tie")
    store.close()
    yield path


PRINTED: dict[tuple[str, ...], str] = {}
"""Output by arguments: no test writes into the stores of this file."""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    if arguments not in PRINTED:
        assert main([*arguments, "--json"]) == 0
        PRINTED[arguments] = capsys.readouterr().out
    return json.loads(PRINTED[arguments])


def test_a_store_becomes_one_json_object(store_path, capsys):
    got = printed(capsys, str(store_path), "--quick")
    first, fair = (got["position"][judge]["brief-letters"] for judge in ("always first", "fair"))
    assert (first["consistency"]["value"], first["first_share"]["value"]) == (0, 1)
    assert (fair["consistency"]["value"], fair["accuracy"]["value"]) == (1, 1)
    # Always first gives each half its verdicts; the fair judge gives precise all of its: 3/4.
    assert got["win_rate"]["precise"]["value"] == pytest.approx(0.75)
    assert got["counts"]["planned"] == got["counts"]["asked"] == got["counts"]["by_status"]["ok"]
    assert 0 < got["counts"]["noise"] < got["counts"]["asked"]
    contrast = {one["measure"]: one for one in got["contrasts"]}["consistency"]
    assert (contrast["left"], contrast["right"], contrast["raw"]["value"]) in {
        ("always first", "fair", -1),
        ("fair", "always first", 1),
    }


def test_the_store_says_what_its_frame_says(store_path, capsys):
    store = Store(store_path)
    frame = store.frame("one")
    store.close()
    got = printed(capsys, str(store_path), "--quick")
    wanted = summarise_frame(frame, quick=True)
    assert got["position"] == json.loads(json.dumps(wanted["position"]))
    assert got["bradley_terry"] == json.loads(json.dumps(wanted["bradley_terry"]))


@pytest.mark.parametrize("by", sample(["judge", "prompt", "category", "judge,prompt"], "judge"))
def test_every_split_holds_the_whole_object_again(store_path, capsys, by):
    got = printed(capsys, str(store_path), "--by", by, "--quick")
    depth = by.count(",") + 1

    def cells(value: dict, left: int) -> list[dict]:
        return [value] if left == 0 else [c for one in value.values() for c in cells(one, left - 1)]

    found = cells(got["by"], depth)
    assert sum(one["counts"]["asked"] for one in found) == got["counts"]["asked"]
    for one in found:
        assert {"elo", "bradley_terry", "win_rate", "head_to_head", "position", "counts"} <= set(
            one
        )
        assert "by" not in one
    if by.startswith("judge"):
        assert set(got["by"]) == {"always first", "fair"}


def test_a_split_by_judge_has_that_judges_numbers(store_path, capsys):
    got = printed(capsys, str(store_path), "--by", "judge", "--quick")
    assert got["by"]["fair"]["win_rate"]["precise"]["value"] == 1
    assert got["by"]["always first"]["win_rate"]["precise"]["value"] == 0.5
    assert list(got["by"]["fair"]["position"]) == ["fair"]


def test_quick_keeps_every_field_and_says_what_is_missing(store_path, capsys):
    whole = printed(capsys, str(store_path))
    quick = printed(capsys, str(store_path), "--quick")
    assert set(whole) == set(quick)
    for name, rating in quick["elo"].items():
        assert set(rating) == set(whole["elo"][name])
        assert rating["value"] == pytest.approx(whole["elo"][name]["value"])
        assert rating["low"] is rating["order_low"] is None
        assert "quick" in rating["note"]
        assert whole["elo"][name]["low"] <= rating["value"] <= whole["elo"][name]["high"]
        assert "200 rounds" in whole["elo"][name]["method"]


def test_a_studys_own_rules_have_their_own_numbers(store_path, two_studies, capsys):
    got = printed(capsys, str(two_studies), "--study", "merged", "--quick")
    assert (got["protocol"]["combine"], got["protocol"]["unreadable"]) == ("strict", "tie")
    # Strict 2-0: always first is a tie on every pair, the fair judge a win: (1 + ½)/2.
    assert got["protocol"]["win_rate"]["precise"]["value"] == pytest.approx(0.75)
    assert "protocol" not in printed(capsys, str(store_path), "--quick")


def test_several_studies_want_a_name_and_a_wrong_name_lists_them(two_studies, capsys):
    assert main([str(two_studies)]) == 2
    said = capsys.readouterr().err
    assert "plain" in said and "merged" in said
    assert main([str(two_studies), "--study", "missing"]) == 2
    assert "missing" in capsys.readouterr().err


def test_an_empty_store_is_an_answer_or_one_clear_line(tmp_path, capsys):
    Store(tmp_path / "empty.db").close()
    code = main([str(tmp_path / "empty.db"), "--json"])
    got = capsys.readouterr()
    assert code == 2 and got.err.startswith("error: ")


def test_tables_for_people_say_judge_interval_and_n(store_path, capsys):
    assert main([str(store_path), "--by", "judge", "--quick"]) == 0
    out = capsys.readouterr().out
    for part in ("## elo", "## position", "## contrasts", "## fair · win_rate", "consistency"):
        assert part in out
    assert "adjusted [" in out
    assert "nan" not in out.lower().replace("nanny", "")


def test_something_that_is_neither_store_nor_table_is_named(tmp_path, capsys):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff\xfe")
    assert main([str(path)]) == 2
    assert "picture.png" in capsys.readouterr().err


@pytest.mark.extra
def test_it_runs_as_a_command(store_path):
    done = subprocess.run(
        [sys.executable, "-m", "metrics", str(store_path), "--json", "--quick"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) >= {"elo", "bradley_terry", "position", "counts"}


def test_no_p_is_printed_as_zero(capsys):
    told = list(render_tables({"tests": {
        "sign": {"p": 3e-9, "statistic": 1, "note": ""},
        "mcnemar": {"p": 0.0278, "statistic": 1, "note": ""},
        "bowker": {"p": None, "statistic": None, "note": "no pair"},
    }}))  # fmt: skip
    assert [line.split(maxsplit=1)[1] for line in told[1:]] == [
        "p < 0.0001", "p 0.0278", "– (no pair)",
    ]  # fmt: skip


def test_a_store_of_a_newer_version_is_one_line(store_path, tmp_path, capsys):
    newer = tmp_path / "newer.db"
    newer.write_bytes(store_path.read_bytes())
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version=99")
    assert main([str(newer)]) == 2
    assert says(capsys.readouterr().err, "written", "newer", "schema 99")


def test_a_voter_who_stands_out_is_a_line_with_the_reason():
    flags = [{"rule": "apart", "reason": "sides with the others on 30\u202f% of 264", "p": 0.0004}]
    (_, line) = render_tables({"agreement": {"voters": {"ann": {"flags": flags}}}})
    assert line.split("  ", 1)[0] == "voters"
    assert says(line, "sides", "others", "30", "264")


def test_sections_without_a_number_come_last() -> None:
    missing = {"value": None, "low": None, "high": None, "n": 0, "unit": "", "note": "none"}
    known = missing | {"value": 6.3, "low": 5.0, "high": 7.0, "n": 9}
    lines = list(
        render_tables({"elo": {}, "position": {"j": {"entropy": missing}}, "ratings": {"m": known}})
    )
    assert [line.strip() for line in lines if line.startswith("\n##")] == [
        "## ratings",
        "## elo",
        "## position",
    ]
    assert "6.300" in lines[1]
