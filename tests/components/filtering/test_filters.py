"""Filters of the page on a small frame: models, names of rows, people."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
import pandas as pd
import pytest

from components.filtering import filters
from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter, short_rater_names
from components.results.controls.filter_bar_tab import _build_filter, initial_filter_menus
from studies.domain import Item
from studies.spec.study import Study
from studies.store.store import Store
from tests.studies.small_items import ask, item, judged


@pytest.fixture
def frame(store: Store) -> pd.DataFrame:
    """Comparisons x-y by two judges, x-z and y-z by one, and a vote on x-y."""
    asks = [
        ask("a", "q1", "xy"),
        ask("b", "q1", "yx", judge="k"),
        ask("c", "q2", "xz", prompt="r"),
        ask("d", "q2", "yz"),
        ask("e", "q1", "xy", judge="human:anna", prompt=""),
    ]
    items = [item("q1", "xyz", category="maths"), item("q2", "xyz", category="law")]
    recorded = [judged(one) for one in asks]
    store.save_study(Study("s"), items, (), recorded=recorded, only_recorded=True)
    return store.frame("s")


def shown(rows: pd.DataFrame) -> list[str]:
    return sorted(str(text).replace(filters.SEP, "") for text in rows["shown"])


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({}, ["xy", "xy", "xz", "yx", "yz"]),
        ({"contestants": ("x",)}, ["xy", "xy", "xz", "yx"]),
        ({"contestants": ("x", "y")}, ["xy", "xy", "yx"]),
        ({"contestants": ("x", "y", "z")}, ["xy", "xy", "xz", "yx", "yz"]),
        ({"contestants": ("nobody",)}, []),
        ({"judge": "k"}, ["yx"]),
        ({"prompt": "r"}, ["xz"]),
        ({"category": "law"}, ["xz", "yz"]),
        ({"category": "law", "contestants": ("x",)}, ["xz"]),
    ],
)
def test_one_model_keeps_its_comparisons_and_several_those_among_them(
    frame: pd.DataFrame, chosen: dict[str, object], left: list[str]
) -> None:
    found = Filter(**chosen).apply(frame)  # type: ignore[arg-type]
    assert shown(found) == left
    assert set(found["judge"].cat.categories) == set(found["judge"].astype(str))


def test_a_row_without_answers_matches_no_model(frame: pd.DataFrame) -> None:
    first = pd.Series([True, *[False] * (len(frame) - 1)], index=frame.index)
    blank = frame.assign(shown=frame["shown"].mask(first))
    found = Filter(contestants=("x", "y", "z"))._contestant_mask(blank)
    assert found.tolist() == [False, *[True] * (len(frame) - 1)]


def test_suspects_are_left_out_only_if_they_are_marked(frame: pd.DataFrame) -> None:
    chosen = Filter(suspects=filters.WITHOUT_SUSPECTS)
    marked = frame.assign(**{filters.SUSPECT_COLUMN: [True, False, False, True, False]})
    assert len(chosen.apply(frame.drop(columns=filters.SUSPECT_COLUMN, errors="ignore"))) == 5
    assert len(chosen.apply(marked)) == 3 and len(Filter().apply(marked)) == 5


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        ([("j", "p")], ["j"]),
        ([("j", "p"), ("k", "p")], ["j", "k"]),
        ([("j", "p"), ("j", "q")], ["p", "q"]),
        ([("j", "p"), ("k", "q")], ["j, p", "k, q"]),
        ([("j", "p"), ("j", "q"), ("k", "p")], ["j, p", "j, q", "k, p"]),
        ([], []),
    ],
)
def test_a_row_is_named_by_the_part_that_tells_it_apart(
    cells: list[tuple[str, ...]], names: list[str]
) -> None:
    found = short_rater_names(cells)
    assert list(found) == cells and list(found.values()) == names


def test_rows_of_a_frame_are_named_with_the_cells_that_occur(frame: pd.DataFrame) -> None:
    machines = Filter().apply(filters.judge_rows_or_people_rows(frame))
    assert filters.rater_names(machines) == {
        ("j", "p"): "j, p", ("j", "r"): "j, r", ("k", "p"): "k, p",
    }  # fmt: skip


def test_people_are_one_judge_only_where_no_model_judges(frame: pd.DataFrame) -> None:
    assert len(filters.judge_rows_or_people_rows(frame)) == 4
    assert filters.pool_people_if_no_judge(frame) is frame
    people = Filter(judge="human:anna").apply(frame)
    assert len(filters.judge_rows_or_people_rows(people)) == 1
    assert set(filters.pool_people_if_no_judge(people)["judge"].astype(str)) == {filters.PEOPLE}
    none = frame.iloc[:0]
    assert filters.pool_people_if_no_judge(none) is none


def test_a_menu_offers_all_and_each_value_in_order(frame: pd.DataFrame) -> None:
    assert filters.filter_choices(frame, "category") == [filters.ALL_CHOICE, "law", "maths"]
    assert filters.filter_choices(frame, "prompt") == [filters.ALL_CHOICE, "p", "r"]


def test_models_with_a_comma_in_their_names_are_chosen_by_the_address(store: Store) -> None:
    names = ("llama, 7b", "gpt", "llama")
    item = Item("q", "why?", dict.fromkeys(names, "so"))
    made = [
        judged(replace(ask(str(k), "q", "xy"), shown=pair))
        for k, pair in enumerate((names[:2], names[1:]))
    ]
    store.save_study(Study("s"), [item], (), recorded=made, only_recorded=True)
    menus = initial_filter_menus(FilteredStudy(store, "s"), {"contestants": "llama, 7b,gpt"})
    assert set(menus["contestants"].value) == {"llama, 7b", "gpt"}


def test_the_menu_of_models_has_the_name_of_all_other_places() -> None:
    with gr.Blocks():
        assert _build_filter("contestants").label == "Models"
