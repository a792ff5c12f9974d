"""Values of a study file that may be incomplete or wrong, as the form reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.study.file.lenient_study import (
    normalise_value,
    percent_text,
    read_lenient_study,
    value_text,
)


@pytest.mark.parametrize(
    ("entry", "text", "number"),
    [
        ("criteria: be kind", "be kind", 0.0),
        ("criteria: 2.5", "2.5", 2.5),
        ("criteria: 0", "0", 0.0),
        ("criteria: [a, b]", "", 0.0),
        ("criteria: {a: b}", "", 0.0),
        ("criteria: null", "", 0.0),
        ("name: s", "", 0.0),
    ],
)
def test_a_value_is_read_as_a_text_or_a_number_whatever_the_file_has(
    entry: str, text: str, number: float
) -> None:
    study = read_lenient_study(f"{entry}\n", Path())
    assert study.text_value("criteria") == text
    assert study.number_or_zero("criteria") == number


def test_an_entry_that_is_no_mapping_is_no_judge_and_cannot_be_edited_away() -> None:
    study = read_lenient_study("judges: [{name: a}, b]\n", Path())
    assert study.judges == [{"name": "a"}]
    with pytest.raises(ValueError, match="judges"):
        study.editable_judges()
    assert read_lenient_study("judges: [{name: a}]\n", Path()).editable_judges() == [{"name": "a"}]
    assert read_lenient_study("", Path()).judges == []


def test_a_value_other_than_that_of_the_preset_names_the_preset_s() -> None:
    def differing(*lines: str) -> str | None:
        study = read_lenient_study("\n".join(lines), Path())
        return study.differing_preset_value("repeats")

    assert differing("preset: visit-bench", "repeats: 3") == "1"
    assert differing("preset: visit-bench", "repeats: 1") is None
    assert differing("preset: visit-bench") is None
    assert differing("repeats: 3") is None, "without a preset"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a", 2], "a, 2"), ((), "none"), ({"a": [1, 2], "b": True}, "a 1, 2, b true"),
        ({}, "none"), (False, "false"), (0.25, "0.25"), (2.0, "2"), (12000, "12,000"), ("", "none"),
        ("x", "x"), (None, "None"),
    ],
)  # fmt: skip
def test_a_value_in_a_hint_reads_as_words(value: object, text: str) -> None:
    assert value_text(value) == text


def test_equal_values_of_other_types_compare_equal_but_a_switch_is_no_number() -> None:
    assert normalise_value((1, {"a": (2,)})) == [1.0, {"a": [2.0]}]
    assert normalise_value(True) is True and normalise_value("1") == "1"
    assert type(normalise_value({1: 2})["1"]) is float
    assert percent_text(0.125) == "12\u202f%" and percent_text(0.2) == "20\u202f%"
