"""Typed reading of a mapping, field by field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.errors import StudyError
from studies.spec.field_reader import FieldReader, load_yaml

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def told(values: object, read: str, *arguments: object) -> str:
    with pytest.raises(StudyError) as error:
        getattr(FieldReader(values, "file"), read)(*arguments)
    return str(error.value)


def test_a_field_that_is_absent_or_empty_has_its_default() -> None:
    read = FieldReader({"empty": None}, "file")
    assert read.text("empty", "d") == read.text("absent", "d") == "d"
    assert read.whole_number("absent", 7) == 7
    assert read.texts("absent") == ()


def test_what_nobody_asked_for_is_an_unknown_key_with_its_nearest_neighbour() -> None:
    read = FieldReader({"colour": "red"}, "file")
    read.text("color")
    with pytest.raises(StudyError, match=r"file: colour: unknown key \(did you mean 'color'\?\)"):
        read.refuse_unknown_keys()


def test_an_error_in_an_inner_mapping_names_the_whole_way() -> None:
    assert "study.yaml: data.count: " in str(
        FieldReader({}, "study.yaml: data").field_error("count", "no")
    )
    assert "study.yaml: data: " in str(FieldReader({}, "study.yaml").field_error("data", "no"))


def test_a_single_text_counts_as_a_list_of_one() -> None:
    assert FieldReader({"prompts": "p"}, "file").texts("prompts") == ("p",)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        ("text", True), ("text", ["a"]), ("text", {}), ("text", b"bytes"),
        ("texts", [None]), ("texts", {"a": 1}), ("text_map", {"a": None}), ("text_map", ["a"]),
        ("list_entries", "a"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_named_in_the_error(read: str, value: object) -> None:
    message = told({"key": value}, read, "key")
    assert message.startswith("file: key: expected ") and repr(value) in message


def test_numbers_have_bounds_and_yes_is_no_number() -> None:
    assert FieldReader({"one": 1}, "file").whole_number("one", 0, 0, 1) == 1
    assert "a whole number 2-3" in told({"one": 1}, "whole_number", "one", 0, 2, 3)
    assert "found True" in told({"yes": True}, "whole_number", "yes", 0)
    assert "found '1'" in told({"text": "1"}, "whole_number", "text", 0)


@given(anything)
def test_whatever_is_written_is_read_or_refused_in_words(value: object) -> None:
    read = FieldReader({"key": value}, "file")
    for attempt in (
        lambda: read.text("key"), lambda: read.whole_number("key", 0), lambda: read.texts("key"),
        lambda: read.text_map("key"), lambda: read.list_entries("key"),
        lambda: read.choice("key", "", "a"),
    ):  # fmt: skip
        try:
            attempt()
        except StudyError as error:
            assert str(error).startswith("file: key: ")


@given(st.text(max_size=60))
def test_no_text_makes_the_yaml_reader_raise_anything_but_a_told_error(text: str) -> None:
    try:
        load_yaml(text)
    except ValueError as error:
        assert str(error).startswith("not valid YAML: ")


def test_equal_keys_are_refused_at_any_depth_and_a_merge_key_is_no_second_writing() -> None:
    with pytest.raises(ValueError, match=r"'a' is written twice.*line 3"):
        load_yaml("outer:\n  a: 1\n  a: 2\n")
    merged = load_yaml("base: &b {a: 1}\nmore:\n  <<: *b\n  c: 2\n")
    assert merged == {"base": {"a": 1}, "more": {"a": 1, "c": 2}}
