"""The summary object, from frames, a battles CSV, and the command line."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from metrics.__main__ import main
from metrics.estimation.prompt_kinds import NO_PICKS_NOTE
from metrics.position.position_measures import NO_SETS_NOTE
from metrics.summary.summary import summarise_frame
from tests.metrics.frames import build, pair, rotated
from tests.samples import sample

ESTIMATE = {"value", "low", "high", "n", "items", "unit", "level", "method", "note"}
POSITION = {
    "first_share", "entropy", "tie_rate", "consistency", "conflict", "hard_flips", "soft_flips",
    "expected_consistency", "kappa", "noise_floor", "accuracy", "primacy", "recency", "fairness",
    "position_term", "stability",
}  # fmt: skip
ROWS = [row for k in range(4) for row in pair(f"q{k}", 0, k % 2, category="ab"[k % 2])]

NONE = (None, None)


@cache
def plain_summary() -> dict[str, Any]:
    """The summary of `ROWS`. Computed once; not to be changed in place."""
    return summarise_frame(build(ROWS))


def estimates(value, path=()):
    if isinstance(value, dict):
        if {"value", "low", "high"} <= value.keys():
            yield path, value
        else:
            for key, one in value.items():
                yield from estimates(one, (*path, key))
    elif isinstance(value, list):
        for k, one in enumerate(value):
            yield from estimates(one, (*path, k))


def test_every_number_carries_its_interval_n_and_unit():
    got = plain_summary()
    found = list(estimates(got))
    assert len(found) > 20
    for path, one in found:
        assert set(one) >= ESTIMATE, path
        assert one["value"] is not None or one["note"], path
    assert set(got["position"]["j"]["p"]) >= POSITION
    assert {"order_low", "order_high"} <= set(got["elo"]["x"])
    assert got["counts"]["planned"] == got["counts"]["asked"] == 8
    assert got["counts"]["by_status"]["ok"] == 8


def test_a_prompt_that_only_scores_is_not_said_to_lack_verdicts():
    """Both of its replies to each pair can be used, but they name no answer."""
    scored = [
        {**row, "status": "ok", "prompt": "scores"}
        for k in range(4)
        for row in pair(f"q{k}", *NONE)
    ]
    lost = [row for k in range(4) for row in pair(f"q{k}", *NONE, prompt="lost")]
    found = summarise_frame(build([*ROWS, *scored, *lost]))["position"]["j"]
    unknown = [one for _, one in estimates(found["scores"]) if one["value"] is None]
    assert len(unknown) > 10 and {one["note"] for one in unknown} == {NO_PICKS_NOTE}
    assert found["lost"]["consistency"]["note"] == NO_SETS_NOTE
    assert found["p"]["consistency"]["value"] == 0.5


def test_the_grade_comes_in_the_papers_order():
    got = summarise_frame(build([row for k in range(5) for row in rotated(f"q{k}", [1, 2, 0])]))
    assert list(got["grade"]["j"]["choice"])[:3] == ["grade", "entropy", "choice"]
    assert set(got["strength"]) == {"o0", "o1", "o2"}


def test_by_splits_into_nested_cells():
    got = summarise_frame(build(ROWS), by=["judge", "category"])
    assert set(got["by"]["j"]) == {"a", "b"}
    # Even items pick slot 0 twice (flips), odd ones 0 then 1 (x both times).
    assert got["by"]["j"]["b"]["win_rate"]["x"]["value"] == 1
    assert got["by"]["j"]["a"]["win_rate"]["x"]["value"] == 0.5


def test_a_protocol_rule_has_its_own_numbers():
    got = summarise_frame(build(ROWS), combine="strict", unreadable="tie")
    assert got["protocol"]["combine"] == "strict"
    # Two flips are ties, two are wins: (2 + 1)/4.
    assert got["protocol"]["win_rate"]["x"]["value"] == pytest.approx(0.75)
    assert "protocol" not in plain_summary()


def test_the_same_records_print_the_same_numbers():
    again = summarise_frame(build(ROWS), rng=np.random.default_rng(7))
    assert json.dumps(plain_summary()) == json.dumps(again)


PEOPLE = [
    {"item": f"q{k}", "shown": "xy", "pick": 0, "judge": f"human:{who}", "prompt": "v", "orders": 1}
    for k in range(3)
    for who in "ab"
]
FRAMES = {
    "none": build([]),
    "unreadable": build([*pair("q1", None, None), *pair("q2", None, None)]),
    "ties": build([row for k in range(3) for row in pair(f"q{k}", "tie", "tie")]),
    "one contestant": build([{"item": "q", "shown": ["x"], "pick": None, "orders": 1}]),
    "one order": build([{"item": q, "shown": "xy", "pick": 0, "orders": 1} for q in "abc"]),
    "one item": build(pair("q", 0, 0)),
    "separable": build([row for k in range(3) for row in pair(f"q{k}", 0, 1)]),
    "two islands": build([*pair("q1", 0, 0), *pair("q2", 0, 0, x="u", y="v")]),
    "options": build([*rotated("q1", [0, 0, 0]), *rotated("q2", [None] * 4)]),
    "people": build([*ROWS, *PEOPLE]),
    "three judges": build([{**row, "judge": j} for j in "abc" for row in ROWS]),
    "five levels": build([{**row, "margin": 2} for row in ROWS]),
    "scores": build(
        [
            {"item": "q", "shown": s, "pick": None, "status": "ok", "scores": [7, 8]}
            for s in ("xy", "yx")
        ]
    ),
    "everything else": build(
        [
            {
                **row, "length": (10, 20), "p": (0.7, 0.3), "family": "f", "families": ("f", "g"),
                "known_answer": 0, "labels": "BA" if k % 4 < 2 else "AB",
            }
            for k, row in enumerate(ROWS)
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sample(FRAMES, "everything else"))
def test_no_record_is_too_poor_for_an_answer(name):
    got = summarise_frame(FRAMES[name], by=["judge"])
    json.dumps(got, allow_nan=False)
    for path, one in estimates(got):
        assert one["value"] is not None or one["note"], path


def battles(tmp_path, text: str):
    path = tmp_path / "battles.csv"
    path.write_text(text)
    return str(path)


CSV = """model_a,model_b,winner,judge,item
x,y,model_a,j,1
y,x,model_b,j,1
x,y,model_a,j,2
y,x,model_a,j,2
x,z,tie (bothbad),j,3
"""


def test_a_battles_csv_becomes_one_json_object(tmp_path, capsys):
    assert main([battles(tmp_path, CSV), "--json", "--by", "judge"]) == 0
    got = json.loads(capsys.readouterr().out)
    # x: three wins of four against y, a tie with z: 3.5 of 5.
    assert got["win_rate"]["x"]["value"] == pytest.approx(0.7)
    assert got["head_to_head"]["x"]["y"]["value"] == pytest.approx(0.75)
    assert got["position"]["j"]["all"]["consistency"]["value"] == 0.5
    assert got["by"]["j"]["counts"]["asked"] == 5


def test_without_a_judge_column_the_key_is_all(tmp_path, capsys):
    assert main([battles(tmp_path, "model_a,model_b,winner\nx,y,model_a\n"), "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert list(got["position"]) == ["all"]
    assert "one order" in got["position"]["all"]["all"]["first_share"]["note"]


def test_tables_for_people_name_every_part(tmp_path, capsys):
    assert main([battles(tmp_path, CSV), "--by", "judge"]) == 0
    out = capsys.readouterr().out
    for heading in ("## elo", "## win_rate", "## position", "## j · counts"):
        assert heading in out


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("model_a,winner\nx,model_a\n", [], "missing: model_b"),
        ("model_a,model_b,winner\nx,y,z\n", [], "row 1"),
        (CSV, ["--by", "weather"], "known: judge, prompt, category"),
    ],
)
def test_a_wrong_file_or_option_is_one_clear_line(tmp_path, capsys, text, more, said):
    assert main([battles(tmp_path, text), *more]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_file_is_named(capsys):
    assert main(["/no/such/file"]) == 2
    assert "/no/such/file" in capsys.readouterr().err
