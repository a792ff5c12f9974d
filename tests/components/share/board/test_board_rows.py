"""Rows of a board, from records written by hand: facts, verdicts behind them, sets and places."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from components.share.board import board_rows
from components.share.board.board_page import board_page
from components.share.board.record_tree import StudyRecords
from studies.domain import Ask, Item, Judgement, JudgeSpec, Preference, Usage, Verdict
from studies.spec.study import Study
from tests.page_words import says

DAY = 86_400.0


def record(
    item: str, shown: str, pick: int | str | None = 0, judge: str = "one", **more: Any
) -> Judgement:
    asked = {
        name: more.pop(name) for name in ("noise", "reads", "repeat", "prompt") if name in more
    }
    ask = Ask(
        f"r{item}{shown}{judge}{len(asked)}", item, judge, asked.pop("prompt", "p"), tuple(shown),
        ("A", "B", "C")[: len(shown)], orders=2, **asked,
    )  # fmt: skip
    verdict = None if pick is None else Verdict(pick)  # type: ignore[arg-type]
    return Judgement(ask, more.pop("status", "ok"), verdict, **more)


def records_of(*found: Judgement, **more: Any) -> StudyRecords:
    items = sorted({one.ask.item for one in found})
    texts = {name: f"answer of {name}" for name in "xyz"}
    made = tuple(Item(item, f"question {item}", texts) for item in items)
    values = {"identities": {}, "source": "hand", "by": "us", **more}
    study = values.pop("study", Study("By hand"))
    return StudyRecords("by-hand", study, made, found, (), **values)


def rows_of(records: StudyRecords) -> list[dict[str, Any]]:
    return [row for row, _, _ in board_rows.rows_with_verdicts_and_sets(records)]


# ---- facts of a row ------------------------------------------------------------------------------


def test_costs_and_tokens_are_of_one_comparison_and_leave_repeats_out() -> None:
    """Two comparisons with two calls each: 4 x 0.002 dollars for 2 comparisons are 4 dollars per
    1000; 4 x (100 + 20) tokens for 2 are 240. The repeat of a call counts in neither."""
    paid = {"cost": 0.002, "usage": Usage(100, 20), "model": "m-1"}
    found = [record(item, shown, **paid) for item in "ab" for shown in ("xy", "yx")]
    dear = record("a", "xy", noise=True, cost=9.0, usage=Usage(9_000, 9), time=3 * DAY + 5)
    row = rows_of(records_of(*found, dear))[0]
    assert row["dollars_per_1000"] == 4.0 and row["tokens"] == 240
    assert row["asked"] == row["readable"] == 5
    assert row["model"] == "m-1" and row["date"] == "1970-01-04"
    assert (row["study"], row["name"], row["by"]) == ("by-hand", "By hand", "us")


def test_an_unknown_price_of_one_call_leaves_no_cost() -> None:
    found = [record("a", "xy", cost=0.002), record("a", "yx", cost=None)]
    row = rows_of(records_of(*found))[0]
    assert row["dollars_per_1000"] is None and row["tokens"] is None
    assert row["date"] == "" and row["model"] == "not reported"


def test_a_free_judge_costs_nothing_and_half_known_tokens_count() -> None:
    found = [
        record("a", "xy", cost=0.0, usage=Usage(10, None), model="m-2"),
        record("a", "yx", cost=0.0, usage=Usage(None, 6), model="m-1"),
    ]
    row = rows_of(records_of(*found))[0]
    assert row["dollars_per_1000"] == 0 and row["tokens"] == 16 and row["model"] == "m-1, m-2"


def test_imported_verdicts_have_no_hashes_and_none_can_be_read_again() -> None:
    found = [record("a", "xy"), record("a", "yx", None, status="unreadable")]
    row = rows_of(records_of(*found))[0]
    assert row["imported"] and row["prompt_hash"] == row["reading_hash"] == row["requested"] == ""
    assert (row["asked"], row["readable"], row["not_read_again"]) == (2, 1, 1)


def test_a_judge_that_was_called_shows_the_model_it_requested() -> None:
    spec = JudgeSpec(name="one", model="gpt-x", endpoint="https://a.example/v1")
    made = JudgeSpec(name="two", model="simulated")
    found = [record("a", shown, judge=judge) for shown in ("xy", "yx") for judge in ("one", "two")]
    found[0] = replace(found[0], rule="probabilities")
    identities = {"one": "https://a.example/v1", "two": "simulated 7"}
    records = records_of(*found, study=Study("By hand", judges=(spec, made)), identities=identities)
    one, two = rows_of(records)
    assert one["requested"] == "gpt-x" and two["requested"] == "simulated 7"
    assert not one["imported"] and not one["simulated"] and two["simulated"]
    assert len(one["reading_hash"]) == 12 and one["prompt_hash"] == ""
    assert (one["not_read_again"], two["not_read_again"]) == (1, 0)


@pytest.mark.parametrize(
    ("one", "lacks"),
    [
        (record("a", "xy"), False),
        (record("a", "xy", status="extracted"), True),
        (record("a", "xy", rule="probabilities"), True),
        (record("a", "xy", rule="probabilities", top_logprobs="[]"), False),
        (record("a", "xy", rule="letters"), False),
    ],
)
def test_a_verdict_lacks_its_reply_if_tokens_or_the_reader_are_missing(
    one: Judgement, lacks: bool
) -> None:
    assert board_rows._cannot_be_read_again(one) is lacks


def test_people_and_verdicts_on_single_answers_have_no_row() -> None:
    found = [
        record("a", "xy"),
        record("a", "xy", judge="human:anna"),
        record("a", "x", judge="pointwise"),
        record("a", "xy", judge="reader", reads="key"),
    ]
    assert [row["judge"] for row in rows_of(records_of(*found))] == ["one"]
    assert board_rows._comparison_indices_by_rater(found) == {
        ("one", "p"): [0],
        ("human:anna", "p"): [1],
    }


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(None, None), (math.nan, None), (math.inf, None), (0.12345678, 0.123457), (1, 1.0)],
)
def test_numbers_have_six_decimals_and_none_is_infinite(
    value: float | None, rounded: float | None
) -> None:
    assert board_rows._round_or_none(value) == rounded


def test_zero_has_no_sign() -> None:
    found = board_rows._round_or_none(-1e-9)
    assert found == 0 and math.copysign(1, found) == 1


def test_an_amount_per_comparison_needs_an_amount_and_a_comparison() -> None:
    assert board_rows._mean_per_comparison(None, 4, 1000) is None
    assert board_rows._mean_per_comparison(2.0, 0, 1000) is None
    assert board_rows._mean_per_comparison(2.0, 4, 1000) == 500
    assert board_rows._mean_per_comparison(0.0, 4, 1000) == 0


def test_models_are_counted_by_judge() -> None:
    found = [
        record("a", "xy", model="m"), record("b", "xy", model="m"), record("c", "xy", model="n"),
        record("a", "xy", judge="two", model="n"), record("b", "xy", judge="two"),
    ]  # fmt: skip
    assert board_rows.reported_models(found) == {"one": {"m": 2, "n": 1}, "two": {"n": 1}}


# ---- the verdicts behind a row -------------------------------------------------------------------


def test_each_verdict_has_its_line_models_choice_truth_and_flip() -> None:
    """Item a flips: x is chosen in one order, y in the other. Item b is a tie twice, c unusable."""
    mine = [
        record("a", "xy", 0), record("a", "yx", 0), record("b", "xz", "tie"),
        record("b", "zx", "tie"), record("c", "xy", None, status="unreadable"),
        record("c", "yx", 1, noise=True), record("d", "yx", 1),
    ]  # fmt: skip
    right = np.array([9, 1, 0, -1, -1, -1, 1, 1])
    found = board_rows._verdicts_json(mine, [1, 2, 3, 4, 5, 6, 7], right)
    assert found["models"] == ["x", "y", "z"]
    assert found["rows"] == [
        [2, "a", [0, 1], 0, 1, 1, 0],
        [3, "a", [1, 0], 0, 0, 1, 0],
        [4, "b", [0, 2], -1, -1, 0, 0],
        [5, "b", [2, 0], -1, -1, 0, 0],
        [6, "c", [0, 1], None, -1, 0, 0],
        [7, "c", [1, 0], 1, 1, 0, 1],
        [8, "d", [1, 0], 1, 1, 0, 0],
    ]


def test_the_verdicts_called_wrong_are_those_that_the_accuracy_counts() -> None:
    """Of x, y and z only z is beaten: x and y are right, so that z alone is a wrong choice."""
    orders = ("xyz", "yzx", "zxy")
    found = [record("a", shown, shown.index("xyz"[k])) for k, shown in enumerate(orders)]
    records = records_of(*found)
    known = [Preference("by-design", (one, "z"), one) for one in "xy"]
    known.append(Preference("by-design", ("x", "y"), "tie"))
    records = replace(records, items=tuple(replace(i, human=tuple(known)) for i in records.items))
    ((row, verdicts, _),) = board_rows.rows_with_verdicts_and_sets(records)
    assert [line[4] for line in verdicts["rows"]] == [1, 1, 0]
    assert row["numbers"]["accuracy"]["value"] == pytest.approx(2 / 3, abs=1e-5)
    assert row["numbers"]["first_share"]["neutral"] == pytest.approx(1 / 3)


def test_a_comparison_with_a_missing_order_does_not_flip() -> None:
    found = [record("a", shown, 0) for shown in ("xyz", "yzx", "zxy")]
    found = [replace(one, ask=replace(one.ask, orders=3)) for one in found]
    assert board_rows._flipped_comparisons(found)
    found[2] = replace(found[2], status="unreadable", verdict=None)
    assert board_rows._flipped_comparisons(found) == set(), "consistency does not count it either"


def test_a_time_in_milliseconds_is_no_date() -> None:
    found = [record("a", shown, time=1.7e12) for shown in ("xy", "yx")]
    assert rows_of(records_of(*found))[0]["date"] == ""
    found.append(record("b", "xy", time=DAY))
    assert rows_of(records_of(*found))[0]["date"] == "1970-01-02"


@pytest.mark.parametrize(
    ("second", "flips"),
    [
        (record("a", "yx", 1), False),
        (record("a", "yx", 0), True),
        (record("a", "yx", "tie"), True),
        (record("a", "yx", 0, status="unreadable"), False),
        (record("a", "yx", 0, noise=True), False),
        (record("a", "yx", None), False),
        (record("b", "yx", 0), False),
        (record("a", "zx", 0), False),
    ],
)
def test_a_comparison_flips_if_its_orders_choose_different_answers(
    second: Judgement, flips: bool
) -> None:
    found = board_rows._flipped_comparisons([record("a", "xy", 0), second])
    assert found == ({("a", frozenset("xy"))} if flips else set())


def test_repeats_of_an_order_count_by_their_most_frequent_choice() -> None:
    both = frozenset("xy")
    noisy = [record("a", "xy", 0), record("a", "xy", 0, repeat=1), record("a", "xy", 1, repeat=2)]
    assert board_rows._flipped_comparisons(noisy) == set(), "one order cannot flip"
    assert board_rows._flipped_comparisons([*noisy, record("a", "yx", 1)]) == set()
    assert board_rows._flipped_comparisons([*noisy, record("a", "yx", 0)]) == {("a", both)}
    even = noisy[1:]
    assert board_rows._flipped_comparisons([*even, record("a", "yx", "tie")]) == set()
    assert board_rows._flipped_comparisons([*even, record("a", "yx", 1)]) == {("a", both)}


# ---- sets of items and whole boards --------------------------------------------------------------


def test_a_set_counts_comparisons_once_and_leaves_repeats_out() -> None:
    found = [
        record("a", "xy"), record("a", "yx"), record("b", "xz"), record("b", "xz", repeat=1),
        record("c", "xy", noise=True),
    ]  # fmt: skip
    content = {"a": "1", "b": "2", "c": "3"}
    one = board_rows._describe_judged_set(found, content, "hand")
    assert (one["items"], one["comparisons"], one["models"]) == (2, 2, ["x", "y", "z"])
    assert one["source"] == "hand" and len(one["hash"]) == 12
    fewer = board_rows._describe_judged_set(found[1:4], content, "elsewhere")
    assert fewer["hash"] == one["hash"], "the order shown and the source do not matter"
    assert board_rows._describe_judged_set(found[:2], content, "hand")["hash"] != one["hash"]
    other = board_rows._describe_judged_set(found, {**content, "a": "4"}, "hand")
    assert other["hash"] != one["hash"], "an item with another text is another set"


def test_a_board_sorts_rows_and_sets_and_counts_all_verdicts() -> None:
    small = records_of(record("a", "xy", judge="z", time=DAY), record("a", "yx", judge="z"))
    large = [
        record(item, shown, judge=judge, time=5 * DAY)
        for judge in ("b", "a")
        for item in ("q1", "q2")
        for shown in ("xy", "yx")
    ]
    board, verdicts = board_rows.compute_board([small, records_of(*large)], "Title")
    assert [(row["id"], row["judge"]) for row in board["rows"]] == [
        ("1", "a"),
        ("2", "b"),
        ("3", "z"),
    ]
    assert [one["items"] for one in board["sets"].values()] == [2, 1]
    assert (board["verdicts"], board["date"], board["title"]) == (10, "1970-01-06", "Title")
    assert list(verdicts) == ["1", "2", "3"] and '"models":["x","y"]' in verdicts["3"]
    keys = [column["key"] for column in board["columns"]]
    assert "consistency" in keys and "accuracy" not in keys, "no better answer is known here"
    known = [one for row in board["rows"] for one in row["numbers"].values()]
    numbers = sum(one["value"] is not None for one in known)
    page = board_page(board, "0c1d3326")
    assert 0 < numbers < len(known)
    assert says(page, "board verify") and "0c1d3326" in page


def test_a_board_without_a_study_is_empty() -> None:
    board, verdicts = board_rows.compute_board([], "Empty")
    assert board["rows"] == [] and board["verdicts"] == 0 and board["date"] == ""
    assert verdicts == {} and board["sets"] == {} and board["columns"] == []


def number(low: float | None, high: float | None, value: float | None = 0.5) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


@pytest.mark.parametrize(
    ("key", "interval", "merit"),
    [
        ("accuracy", (0.6, 0.8), (0.6, 0.8)),
        ("unusable", (0.1, 0.3), (-0.3, -0.1)),
        ("first_share", (0.6, 0.9), (-0.4, -0.1)),
        ("first_share", (0.1, 0.3), (-0.4, -0.2)),
        ("first_share", (0.4, 0.7), (-0.2, 0.0)),
        ("first_share", (0.5, 0.7), (-0.2, 0.0)),
    ],
)
def test_a_merit_is_higher_for_the_better_interval(
    key: str, interval: tuple[float, float], merit: tuple[float, float]
) -> None:
    assert board_rows._interval_where_higher_is_better(key, number(*interval)) == pytest.approx(
        merit
    )


def test_a_number_without_an_interval_has_no_merit() -> None:
    for one in (number(None, 0.5), number(0.5, None), number(0.4, 0.6, None)):
        assert board_rows._interval_where_higher_is_better("accuracy", one) is None


def test_equal_intervals_that_touch_share_their_places() -> None:
    """[.5, .6] ends where [.6, .7] begins: neither is surely ahead. A row without an interval takes
    no place away."""
    rows: list[dict[str, Any]] = []
    for one in (number(0.5, 0.6), number(0.6, 0.7), number(0.5, 0.6), number(None, None)):
        numbers = {key: number(None, None, None) for key in board_rows.COLUMNS}
        rows.append({"numbers": {**numbers, "accuracy": one, "longer": dict(one)}})
    board_rows.add_rank_ranges(rows)
    places = [row["numbers"]["accuracy"]["place"] for row in rows]
    assert places == [[1, 3], [1, 3], [1, 3], None]
    assert all(row["numbers"]["longer"]["place"] is None for row in rows)


def test_among_four_options_the_best_first_share_is_nearest_to_a_quarter() -> None:
    rows: list[dict[str, Any]] = []
    for one in (number(0.22, 0.28, 0.25), number(0.45, 0.55)):
        numbers = {key: number(None, None, None) for key in board_rows.COLUMNS}
        rows.append({"numbers": {**numbers, "first_share": {**one, "neutral": 0.25}}})
    board_rows.add_rank_ranges(rows)
    assert [row["numbers"]["first_share"]["place"] for row in rows] == [[1, 1], [2, 2]]
    assert (
        board_rows._interval_where_higher_is_better(
            "first_share", {**number(0.2, 0.3), "neutral": None}
        )
        is None
    )
