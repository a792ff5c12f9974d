"""Loading the slice of a `data` block: filters, sorting, seeded sample."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import AnswerCheck, Item
from studies.errors import SourceError, StudyError
from studies.sources.load import load_items, load_source, source_path
from studies.sources.slice_selection import field_value, select_slice
from studies.spec.study import DataSpec
from tests.page_words import pattern
from tests.studies.small_items import item, line, write_lines

# 30 items, numbered so that text order and number order agree; three categories in turn.
ITEMS = [item(f"q{n:02}", category="abc"[n % 3], meta={"task": f"t{n % 6}"}) for n in range(30)]


def ids(items: list[Item]) -> list[str]:
    return [made.id for made in items]


def sliced(**values: Any) -> list[str]:
    return ids(select_slice(ITEMS, DataSpec(**values)))


def test_the_built_in_set_needs_no_path() -> None:
    assert len(load_items(DataSpec(source="probe"), Path("nowhere"))) == 64


def test_a_path_is_relative_to_the_study_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "mine.JSONL", [line("b"), line("a")])
    assert ids(load_items(DataSpec(source="mine.JSONL"), tmp_path)) == ["a", "b"]


def test_what_is_neither_built_in_nor_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"neither a built-in set \(probe\) nor an existing file"):
        load_source(DataSpec(source="probes"), tmp_path)
    with pytest.raises(SourceError, match=r"cannot read .*table\.csv: No such file"):
        load_source(DataSpec(source="table.csv"), tmp_path)


def test_a_home_folder_of_nobody_is_an_error_in_words() -> None:
    with pytest.raises(SourceError, match="no such user"):
        source_path(DataSpec(source="~no-such-person/items.jsonl"), Path())


def test_an_unknown_format_and_keys_of_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=pattern("data.format: 'xml'", "not", "auto")):
        load_source(DataSpec(format="xml"), tmp_path)
    with pytest.raises(StudyError, match=r"data\.join: not used"):
        load_source(DataSpec(join=("id",)), tmp_path)


def test_filters_come_before_the_sample() -> None:
    # 10 items are in category a; a sample of 4 of 30 would hold about one of them.
    assert len(sliced(categories=("a",), count=4)) == 4
    assert sliced(categories=("a",)) == [f"q{n:02}" for n in range(0, 30, 3)]


def test_a_category_nobody_has_is_a_misspelling_and_not_an_empty_wish() -> None:
    named = [replace(ITEMS[0], category="writing"), replace(ITEMS[1], category="maths")]
    with pytest.raises(
        StudyError, match=r"'writting' \(did you mean 'writing'\?\)\. Found: maths,"
    ):
        select_slice(named, DataSpec(categories=("maths", "writting")))


def test_nothing_left_is_an_error_that_names_the_source() -> None:
    with pytest.raises(SourceError, match=pattern("no", "'probe' passes", "filters")):
        sliced(where={"meta.task": ("t9",)})


def test_options_counts_answers_and_an_empty_one_is_none() -> None:
    three = item("a", "xyz")
    empty = replace(item("b", "xyz"), responses={"x": "1", "y": "2", "z": " "})
    assert ids(select_slice([three, empty], DataSpec(options=3))) == ["a"]
    assert ids(select_slice([three, empty], DataSpec(options=2))) == ["b"]


def test_where_keeps_any_of_its_values_in_every_field() -> None:
    # t0 is n = 0, 6, 12, …; t3 is n = 3, 9, …; all of them are in category a.
    assert len(sliced(where={"meta.task": ("t0", "t3"), "category": ("a",)})) == 10
    assert len(sliced(where={"id": ("q03", "q04")})) == 2


def test_a_field_nobody_knows_is_named_with_the_known_ones() -> None:
    with pytest.raises(StudyError, match=pattern("no field 'colour'", "category")):
        sliced(where={"colour": ("red",)})
    with pytest.raises(StudyError, match=r"no field 'checks\.follow'; known: checks\.follows"):
        sliced(where={"checks.follow": ("true",)})


def test_followed_needs_every_check_and_harmful_needs_one() -> None:
    def checked(*marks: tuple[bool, bool]) -> Item:
        checks = tuple(
            AnswerCheck("ann", "x", follows, None, harmful) for follows, harmful in marks
        )
        return replace(ITEMS[0], checks=checks)

    split = checked((True, False), (False, True))
    assert field_value(split, "checks.follows") == "false"
    assert field_value(split, "checks.harmful") == "true"
    fine = checked((True, False), (True, False))
    assert (field_value(fine, "checks.follows"), field_value(fine, "checks.harmful")) == (
        "true",
        "false",
    )
    assert field_value(ITEMS[0], "checks.follows") == "unchecked"


def test_a_stratified_slice_takes_as_many_of_each() -> None:
    kept = select_slice(ITEMS, DataSpec(per={"category": 2}))
    assert sorted(made.category for made in kept) == ["a", "a", "b", "b", "c", "c"]
    # Four items of each task would be wanted, five are there: 6 tasks x 4.
    assert len(sliced(per={"meta.task": 4})) == 24
    assert len(sliced(per={"meta.task": 99})) == 30


def test_strata_are_drawn_one_by_one_and_not_in_step() -> None:
    # With one draw of places for all strata, the chosen numbers would be 3 n + 0, + 1, + 2 of the
    # same n in each; 20 seeds in a row of that would be a bug.
    def places(seed: int, category: str) -> list[int]:
        kept = select_slice(ITEMS, DataSpec(per={"category": 2}, seed=seed))
        return [int(made.id[1:]) // 3 for made in kept if made.category == category]

    assert any(places(seed, "a") != places(seed, "b") for seed in range(20))


@given(st.integers(0, 10**6), st.integers(1, 29), st.randoms(use_true_random=False))
def test_a_larger_sample_holds_the_smaller_whatever_the_order_of_the_file(
    seed: int, count: int, random: Any
) -> None:
    shuffled = list(ITEMS)
    random.shuffle(shuffled)
    small = ids(select_slice(shuffled, DataSpec(count=count, seed=seed)))
    large = ids(select_slice(ITEMS, DataSpec(count=count + 1, seed=seed)))
    assert len(small) == count and set(small) < set(large)
    assert small == sorted(small)


def test_another_seed_is_another_slice_and_the_same_seed_the_same() -> None:
    assert sliced(count=10, seed=1) == sliced(count=10, seed=1)
    assert len({tuple(sliced(count=10, seed=seed)) for seed in range(20)}) == 20


def test_every_item_is_drawn_about_as_often_as_any_other() -> None:
    # 300 slices of 10 from 30: each item is expected 100 times, standard deviation about 8.
    drawn = [name for seed in range(300) for name in sliced(count=10, seed=seed)]
    counts = {name: drawn.count(name) for name in ids(ITEMS)}
    assert all(100 - 5 * 8.2 < count < 100 + 5 * 8.2 for count in counts.values())
