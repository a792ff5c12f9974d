"""Creation-MMBench's main table, row by row, from judgements."""

from __future__ import annotations

import pandas as pd
import pytest

from metrics.estimation import row_selection
from metrics.protocols.creation_levels import LEVELS
from metrics.protocols.creation_table import creation_table
from tests.metrics.frames import RECORDS, build, pair


def dual(item: str, first, second, margins=(1, 1), model="m", **more):
    """The baseline first, then the model first."""
    rows = pair(item, first, second, x="base", y=model, prompt="creation-subjective", **more)
    for row, margin in zip(rows, margins, strict=True):
        row["margin"] = margin
    return rows


def scored(item: str, shown, scores, **more):
    status = "ok" if scores else "unreadable"
    more = {"prompt": "creation-factuality", "status": status, **more}
    return {"item": item, "shown": shown, "pick": None, "scores": scores, **more}


STUDY = [
    *dual("q1", 1, 0, (2, 1), category="Literary"),  # m much better, better
    *dual("q2", "tie", None, category="Literary"),  # tie, fail
    *dual("q3", 0, 1, (1, 2), category="Common"),  # worse, much worse
    *dual("q1", 1, 0, (1, 1), model="k", category="Literary"),  # k better twice
    scored("q1", ("base", "m"), [5, 8], category="Literary"),
    scored("q1", ("m", "base"), [6, 5], category="Literary"),
    scored("q3", ("base", "m"), None, category="Common"),
]


def test_a_row_has_scores_counts_and_what_failed():
    rows = creation_table(build(STUDY), "base")[()]
    assert [row.model for row in rows] == ["k", "m"]  # Reward 50 before 0
    m = rows[1]
    assert [m.counts[level] for level in LEVELS] == [1, 1, 1, 1, 1]
    # The unread factuality reply of q3 is a failure of the score only.
    assert (m.fail, m.vfs_fail) == (1, 1)
    assert (m.reward.value, m.win_rate.value, m.win_rate.n) == (0, pytest.approx(0.4), 5)
    assert (m.vfs.value, m.baseline_vfs.value) == (7, 5)
    assert rows[0].vfs.value is None and rows[0].vfs.note
    assert rows[0].reward.value == 50


def test_categories_and_tasks_pool_their_judgements():
    table = creation_table(build(STUDY), "base", ["category"])
    literary = {row.model: row for row in table[("Literary",)]}
    # q1: +100, +50; q2: 0 and a fail. 150 over 3.
    assert literary["m"].reward.value == pytest.approx(50)
    common = {row.model: row for row in table[("Common",)]}
    assert common["m"].reward.value == pytest.approx(-75) and "k" not in common
    tasks = row_selection.add_column_by_item(
        build(STUDY), "task", {"q1": "poem", "q2": "poem", "q3": "email"}
    )
    assert set(creation_table(tasks, "base", ["task"])) == {("poem",), ("email",)}


def test_people_and_noise_are_not_in_the_table():
    extra = [
        {**dual("q1", 0, 1)[0], "judge": "human:ann", "orders": 1},
        {**dual("q1", 0, 1)[0], "noise": True},
    ]
    with_extra = creation_table(build([*STUDY, *extra]), "base")
    assert with_extra == creation_table(build(STUDY), "base")


def test_nothing_read_is_a_reason_not_a_zero():
    assert creation_table(build([]), "base") == {}
    (row,) = creation_table(build(dual("q", None, None)), "base")[()]
    assert (row.reward.value, row.win_rate.value, row.vfs.value) == (None, None, None)
    assert (row.fail, sum(row.counts.values())) == (2, 0)
    assert row.reward.note and row.vfs.note
    (only,) = creation_table(build([scored("q", ("base", "m"), None)]), "base")[()]
    assert (only.vfs_fail, only.fail, only.reward.value) == (1, 0, None)
    (ties,) = creation_table(build(dual("q", "tie", "tie")), "base")[()]
    assert (ties.reward.value, ties.win_rate.value) == (0, 0)


def test_table_5_comes_out_of_judgements_with_its_counts():
    # Counts of table 5 spread over items as judgements, and back through the page's own code.
    path = RECORDS.parent / "reference" / "creation_mmbench_table5.csv"
    if not path.exists():
        pytest.skip(f"PUBLISHED TABLES ABSENT: no {path}; set EVENHAND_RECORDS beside them")
    table = pd.read_csv(path).dropna(subset=["much_better"])
    for printed in table.head(3).to_dict("records"):
        rows, k = [], 0
        for level, (pick, margin) in {
            "much_better": (1, 2), "better": (1, 1), "tie": ("tie", 0), "worse": (0, 1),
            "much_worse": (0, 2), "fail": (None, 0),
        }.items():  # fmt: skip
            for _ in range(int(printed[level])):
                shown = ("base", "model") if k % 2 == 0 else ("model", "base")
                slot = pick if pick in (None, "tie") or k % 2 == 0 else 1 - pick
                rows.append({"item": f"q{k // 2}", "shown": shown, "pick": slot, "margin": margin})
                k += 1
        (row,) = creation_table(build(rows), "base")[()]
        assert row.reward.value == pytest.approx(printed["reward"], abs=0.01)
        assert 100 * row.win_rate.value == pytest.approx(printed["win_rate"], abs=0.01)
        assert row.fail == printed["fail"]
        assert row.reward.low < row.reward.value < row.reward.high
