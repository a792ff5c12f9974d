"""Presets: default values under a study file, and the differences of a study from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.rendering.prompt import PROMPTS_FOLDER
from studies.errors import StudyError
from studies.spec.presets import PRESETS, merge_study_values
from studies.spec.study import (
    OPTION_ORDERS,
    PAIR_ORDERS,
    PROTOCOLS,
    PresetDifference,
    Study,
    dump_study,
    parse_study,
    preset_differences,
    study_from_mapping,
    study_to_mapping,
)


def study(preset: str, **more: Any) -> Study:
    named = {"baseline": "model-x"} if preset == "arena-hard" else {}
    return study_from_mapping(
        {"name": "s", "preset": preset, "data": {"source": "a.jsonl"}, **named, **more}
    )


# ---- what they set -----------------------------------------------------------------------------


def test_the_presets_are_those_of_the_design() -> None:
    assert list(PRESETS) == [
        "visit-bench",
        "grade-score",
        "creation-mmbench",
        "mt-bench",
        "arena-hard",
    ]


def test_visit_bench_is_the_code_s_rule_on_verified_items() -> None:
    made = study("visit-bench")
    assert made.prompts == ("visit-reference-free",)
    assert (made.pairing, made.pair_orders) == ("all", "both")
    assert (made.combine, made.unreadable, made.reading) == ("strict", "tie", "default")
    assert made.data.where == {"checks.follows": ("true", "unchecked")}


def test_grade_score_rotates_three_options_under_four_prompts() -> None:
    made = study("grade-score")
    assert made.prompts == ("grade-simple", "grade-criteria", "grade-debias", "grade-points")
    assert (made.option_orders, made.unrelated, made.data.options) == ("rotations", "none", 3)
    assert study_from_mapping({"name": "s", "preset": "grade-score"}).data.options == 4


def test_creation_mmbench_meets_the_reference_twice_and_pools() -> None:
    made = study("creation-mmbench")
    assert (made.pairing, made.baseline, made.pair_orders) == ("baseline", "@reference", "both")
    assert (made.combine, made.judge_sees) == ("pooled", "images")
    assert len(made.prompts) == 3 and made.data.categories == ()
    assert study_from_mapping({"name": "s", "preset": "creation-mmbench"}).data.categories == (
        "visual",
    )


def test_mt_bench_merges_two_games_and_drops_errors() -> None:
    made = study("mt-bench")
    assert made.prompts == ("mt-bench-pair", "mt-bench-single")
    assert (made.combine, made.unreadable) == ("strict", "exclude")


def test_arena_hard_needs_a_baseline_on_other_people_s_records() -> None:
    assert study("arena-hard").baseline == "model-x"
    with pytest.raises(StudyError, match="pairing: baseline needs a baseline"):
        study_from_mapping({"name": "s", "preset": "arena-hard", "data": {"source": "a.jsonl"}})


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_names_prompts_that_exist_and_says_where_it_departs(name: str) -> None:
    preset = PRESETS[name]
    assert all((PROMPTS_FOLDER / f"{prompt}.yaml").is_file() for prompt in preset.values["prompts"])
    assert preset.notes and all(note.endswith(".") for note in preset.notes)
    assert preset.name == name and preset.title and "20" in preset.source


# ---- layers ------------------------------------------------------------------------------------


def test_what_the_file_writes_wins_and_inside_data_key_by_key() -> None:
    made = study("visit-bench", combine="majority", data={"source": "b.jsonl", "count": 9})
    assert (made.combine, made.unreadable) == ("majority", "tie")
    assert made.data.count == 9 and "checks.follows" in made.data.where


def test_an_empty_line_leaves_the_preset_alone_and_an_empty_list_does_not() -> None:
    text = "name: s\npreset: grade-score\nprompts: null\ndata: {options: null, source: a.jsonl}"
    assert len(parse_study(text).prompts) == 4 and parse_study(text).data.options == 3
    text = "name: s\npreset: visit-bench\nprompts: []\ndata: {where: {}, source: a.jsonl}"
    assert parse_study(text).prompts == () and parse_study(text).data.where == {}


def test_layers_do_not_change_what_they_are_made_of() -> None:
    below: dict[str, Any] = {"data": {"options": 3}, "orders": "both"}
    above: dict[str, Any] = {"data": {"count": 2}, "orders": None}
    assert merge_study_values(below, above) == {
        "data": {"options": 3, "count": 2},
        "orders": "both",
    }
    assert below == {"data": {"options": 3}, "orders": "both"}


def test_an_unknown_preset_offers_the_nearest_word() -> None:
    with pytest.raises(StudyError) as error:
        parse_study("name: s\npreset: visit-bnech", "study.yaml")
    told = str(error.value)
    assert "study.yaml: preset: 'visit-bnech' is not one of visit-bench, grade-score" in told
    assert "did you mean 'visit-bench'?" in told


def test_a_wrong_key_beside_a_preset_is_still_an_error() -> None:
    with pytest.raises(StudyError, match="combin: unknown key"):
        parse_study("name: s\npreset: visit-bench\ncombin: strict")


# ---- differences -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_study_as_its_preset_has_it_differs_in_nothing(name: str) -> None:
    assert (
        preset_differences(study(name, judges=[{"model": "simulated"}], contestants=["x", "y"]))
        == ()
    )


def test_differences_are_what_the_reader_changed_of_the_protocol() -> None:
    made = study("visit-bench", combine="majority", labels="crossed", prompts=["brief-letters"],
                 data={"source": "b.jsonl", "where": {}, "count": 4})  # fmt: skip
    assert preset_differences(made) == (
        PresetDifference("prompts", ["brief-letters"], ["visit-reference-free"]),
        PresetDifference("labels", "crossed", "plain"),
        PresetDifference("combine", "majority", "strict"),
        PresetDifference("data.where", {}, {"checks.follows": ["true", "unchecked"]}),
    )


def test_what_the_pairing_does_not_use_is_no_difference() -> None:
    assert preset_differences(study("visit-bench", baseline="@reference")) == ()
    new = study("visit-bench", pairing="new", new="x", baseline="@reference", reference_games=5)
    assert [d.key for d in preset_differences(new)] == [
        "pairing",
        "baseline",
        "new",
        "reference_games",
    ]


def test_a_study_without_a_preset_differs_from_nothing() -> None:
    assert preset_differences(study_from_mapping({"name": "s", "combine": "strict"})) == ()


# ---- writing -----------------------------------------------------------------------------------


def test_a_study_writes_its_preset_and_only_what_differs_from_it() -> None:
    made = study("visit-bench", combine="pooled", unreadable="tie")
    assert study_to_mapping(made) == {
        "name": "s",
        "preset": "visit-bench",
        "data": {"source": "a.jsonl"},
        "combine": "pooled",  # the default of a study, and not of the preset
    }
    assert (
        dump_study(study_from_mapping({"name": "s", "preset": "mt-bench"}))
        == "name: s\npreset: mt-bench\n"
    )


def test_a_preset_taken_away_leaves_what_it_had_set() -> None:
    plain = replace(study("visit-bench"), preset="")
    assert study_to_mapping(plain)["combine"] == "strict"
    assert parse_study(dump_study(plain)) == plain


words = st.sampled_from(["x", "y", "precise", "@reference"])


@given(
    values=st.fixed_dictionaries(
        {"name": st.sampled_from(["s", "visit-bench", "preset"]), "preset": st.sampled_from(
            ["", *PRESETS])},
        optional={
            "prompts": st.lists(st.sampled_from(["visit-reference-free", "arena-hard", "p"]),
                                unique=True),
            "contestants": st.lists(words, unique=True),
            "protocol": st.sampled_from(["", *PROTOCOLS]),
            "pairing": st.sampled_from(["all", "baseline", "new"]),
            "baseline": st.sampled_from(["", "x", "@reference"]),
            "new": st.sampled_from(["", "z"]),
            "orders": st.sampled_from(["", *PAIR_ORDERS, *OPTION_ORDERS]),
            "labels": st.sampled_from(["plain", "crossed"]),
            "unrelated": st.sampled_from(["none", "add", "replace"]),
            "combine": st.sampled_from(["pooled", "strict", "majority"]),
            "unreadable": st.sampled_from(["exclude", "tie"]),
            "judge_sees": st.sampled_from(["context", "images"]),
            "reading": st.sampled_from(["default", "last", "gradelab"]),
            "data": st.fixed_dictionaries({}, optional={
                "source": st.sampled_from(["probe", "a.jsonl", ""]),
                "options": st.none() | st.integers(0, 5),
                "categories": st.lists(st.sampled_from(["visual", "maths"]), unique=True),
                "where": st.sampled_from([{}, {"checks.follows": True}, {"id": ["a", "b"]}]),
            }),
        },
    )
)  # fmt: skip
def test_whatever_was_changed_is_read_back_as_it_was(values: dict[str, Any]) -> None:
    try:
        made = study_from_mapping(values)
    except StudyError:  # a pairing without its baseline
        return
    assert parse_study(dump_study(made)) == made
    again = study_to_mapping(made)
    for difference in preset_differences(made):
        top, _, inner = difference.key.partition(".")
        assert (again[top][inner] if inner else again[top]) == difference.value
