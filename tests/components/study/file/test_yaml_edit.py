"""Tests of study-file edits: one key changes; comments, unknown keys and layout stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.study.file.yaml_edit import (
    _copy_with_value,
    dump_study,
    parse_yaml,
    put_value,
    reset_to_source,
)

FILE = """\
# judges of the spring
name: spring   # keep this name
data:
  source: probe
  # twelve will do
  count: 12

judges:
  - {name: a, model: embedded}  # local
  - name: b
    model: simulated
# the end
repeats: 1
"""


def test_a_nested_value_is_replaced_and_every_comment_stays():
    made = put_value(FILE, ("data", "count"), 40)
    assert made == FILE.replace("count: 12", "count: 40")


def test_a_comment_behind_the_changed_value_stays():
    text = "name: a\nrepeats: 2  # noisy judges\ndata:\n  count: 12   # few\n"
    assert "repeats: 3  # noisy judges\n" in put_value(text, ("repeats",), 3)
    assert "  count: 20  # few\n" in put_value(text, ("data", "count"), 20)
    assert put_value("prompts: [a]  # one\n", ("prompts",), ["a", "b#c"]) == (
        "prompts: [a, b#c]  # one\n"
    )
    assert "noisy" not in put_value(text, ("repeats",), None), "it goes with its key"
    assert put_value("name: 'a # b'\n", ("name",), "c") == "name: c\n"


def test_a_new_key_stands_where_people_look_for_it():
    lines = put_value(FILE, ("data", "seed"), 7).splitlines()
    assert lines[lines.index("  count: 12") + 1] == "  seed: 7"
    lines = put_value(FILE, ("orders",), "one").splitlines()
    assert lines.index("orders: one") < lines.index("repeats: 1")
    assert lines.index("orders: one") > lines.index("    model: simulated")


def test_none_takes_a_key_out_and_an_emptied_block_goes_with_it():
    assert "repeats" not in put_value(FILE, ("repeats",), None)
    assert put_value("name: q\ndata:\n  count: 1\n", ("data", "count"), None) == "name: q\n"


def test_a_value_that_is_there_already_changes_nothing_at_all():
    assert put_value(FILE, ("data", "count"), 12) is FILE


def test_unknown_keys_stay_where_they_are():
    text = FILE + "sponsor: {name: us, since: 2024}\n"
    assert "sponsor: {name: us, since: 2024}" in put_value(text, ("repeats",), 3)


def test_braces_are_opened_where_a_block_of_lines_is_needed():
    made = put_value("name: q\ndata: {source: probe, count: 3}\n", ("data", "seed"), 1)
    assert parse_yaml(made) == {"name": "q", "data": {"source": "probe", "count": 3, "seed": 1}}


def test_an_anchor_costs_the_layout_never_the_meaning():
    text = "name: q\nfamilies: &f {x: one}\ncontestants: [x]\n"
    made = put_value(text, ("families",), {"x": "two"})
    assert parse_yaml(made) == {"name": "q", "families": {"x": "two"}, "contestants": ["x"]}


def test_another_source_begins_with_all_of_it():
    data = "{source: a.csv, categories: [x], count: 5, format: arena}"
    text = f"name: q\ndata: {data}\ncontestants: [m]\n"
    assert parse_yaml(reset_to_source(text, "b.csv")) == {"name": "q", "data": {"source": "b.csv"}}


def test_a_file_that_is_no_mapping_says_so():
    with pytest.raises(ValueError, match="key: value"):
        parse_yaml("- a\n- b\n")


NAMES = st.sampled_from(["name", "repeats", "prompts", "judges", "families", "orders", "x-own"])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
VALUES = st.one_of(
    st.integers(-5, 5), WORDS, st.booleans(), st.floats(-1, 1),
    st.lists(WORDS, min_size=1, max_size=3), st.dictionaries(WORDS, WORDS, min_size=1, max_size=2),
    st.lists(st.fixed_dictionaries({"name": WORDS, "model": WORDS}), min_size=1, max_size=2),
)  # fmt: skip


@given(st.dictionaries(NAMES, VALUES, max_size=4), NAMES, VALUES)
def test_the_file_then_says_what_was_put_and_everything_else_as_before(values, key, value):
    text = dump_study(values)
    assert parse_yaml(text) == values
    assert parse_yaml(put_value(text, (key,), value)) == {**values, key: value}
    assert parse_yaml(put_value(text, (key,), None)) == {
        k: v for k, v in values.items() if k != key
    }


def test_a_value_is_put_into_a_copy_at_any_depth():
    values = {"a": {"b": 1}, "c": 2}
    made = _copy_with_value(values, ("a", "b"), 5)
    assert made == {"a": {"b": 5}, "c": 2} and values["a"] == {"b": 1}
    assert _copy_with_value(values, ("c",), None) == {"a": {"b": 1}}
    assert _copy_with_value(values, ("x",), 3) == {**values, "x": 3}
    assert _copy_with_value(values, ("x", "y", "z"), 3)["x"] == {"y": {"z": 3}}
    assert _copy_with_value({"x": None}, ("x", "y"), 3) == {"x": {"y": 3}}


def test_an_emptied_block_goes_and_an_empty_value_of_the_file_stays():
    assert _copy_with_value({"a": {"b": 1}}, ("a", "b"), None) == {}
    assert _copy_with_value({"a": {"b": 1, "c": 2}}, ("a", "b"), None) == {"a": {"c": 2}}
    assert _copy_with_value({"a": ""}, ("a",), "") == {"a": ""}
    assert _copy_with_value({}, ("a",), 0) == {"a": 0}
    assert _copy_with_value({}, ("a", "b"), None) == {}


def test_a_value_that_is_no_block_is_not_written_over():
    for wrong in ("text", 7, [1]):
        with pytest.raises(ValueError, match="a: expected"):
            _copy_with_value({"a": wrong}, ("a", "b"), 1)
