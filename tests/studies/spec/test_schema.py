"""The published JSON schema: equal to the models, and as strict as the parser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.errors import StudyError
from studies.spec.field_reader import load_yaml
from studies.spec.judge_spec import parse_judge
from studies.spec.keys import DATA, JUDGE, PROTOCOL_KEYS, SIMULATION, STUDY, StudyKey
from studies.spec.presets import PRESETS
from studies.spec.schema import SCHEMA_FILE, schema_text
from studies.spec.study import dump_study, parse_study, study_from_mapping
from tests.page_words import pattern
from tests.studies.spec.test_field_reader import anything

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(schema_text())
STUDY_FILES = sorted(
    [*(ROOT / "assets/studies").glob("*.yaml"), *(ROOT / "assets/demo").glob("*.yaml")]
)
JSON_TYPES = {
    "string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list,
    "object": dict, "null": type(None),
}  # fmt: skip


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value fits a JSON schema, for the words that this schema uses."""
    if "$ref" in schema and not fits(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]):
        return False
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if isinstance(value, bool) and "boolean" not in kinds:
            return False
        if not any(isinstance(value, JSON_TYPES[kind]) for kind in kinds):
            return False
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return False
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        return False
    if isinstance(value, (int, float)):
        return schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(
            fits(one, schema.get("items", {})) for one in value
        )
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        if not set(schema.get("required", ())) <= set(value):
            return False
        if others is False:
            return all(name in known and fits(one, known[name]) for name, one in value.items())
        rest = {} if others is True else others
        return all(fits(one, known.get(name, rest)) for name, one in value.items())
    return True


def test_the_published_schema_is_that_of_the_models() -> None:
    published = (ROOT / SCHEMA_FILE).read_text(encoding="utf-8")
    assert published == schema_text(), f"run: python -m studies.spec.schema > {SCHEMA_FILE}"


def test_the_schema_lists_every_key_in_order() -> None:
    assert list(SCHEMA["properties"]) == [key.name for key in STUDY]
    assert list(SCHEMA["$defs"]["Data"]["properties"]) == [key.name for key in DATA]
    both = [key.name for key in (*JUDGE, *SIMULATION)]
    assert list(SCHEMA["$defs"]["SimulatedJudge"]["properties"]) == both
    assert SCHEMA["required"] == [STUDY.name.name]


@pytest.mark.parametrize("path", STUDY_FILES, ids=lambda path: path.stem)
def test_every_study_file_names_the_schema_and_fits_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == ROOT / SCHEMA_FILE
    assert fits(load_yaml(text), SCHEMA)


@pytest.mark.parametrize("name", PRESETS)
def test_the_values_of_a_preset_fit_the_schema(name: str) -> None:
    assert fits({"name": name, **PRESETS[name].values_for("probe")}, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "prompts: [a]",
        "name: s\nrepeats: 0",
        "name: s\nrepeats: 1.5",
        "name: s\nnoise_floor: 2",
        "name: s\ncombine: sometimes",
        "name: s\ncontestant: [a]",
        "name: s\ndata: {count: many}",
        "name: s\ndata: {per: {category: 0}}",
        "name: s\ndata: {where: {a: []}}",
        "name: s\njudges: [{name: a}]",
        "name: s\njudges: [{model: embedded, accuracy: 1}]",
        "name: s\njudges: [{model: simulated, accuracy: 2}]",
        "name: s\njudges: [{model: embedded, price: {in: 1}}]",
        "name: s\nextraction: {juge: a}",
        "name: s\ncombine: coin",
        "name: s\ncombine: jury-both|alone",
        "name: s\ncombine: margin(2)",
    ],
)
def test_what_the_parser_refuses_the_schema_refuses(text: str) -> None:
    assert not fits(load_yaml(text), SCHEMA)
    with pytest.raises(StudyError):
        parse_study(text)


@pytest.mark.parametrize(
    "rule", ["pool", "calibrated", "margin(0.25)", "repeats(3)-both", "prompt:x", "jury|a b|c/d"]
)
def test_remedies_are_values_of_combine(rule: str) -> None:
    text = f"name: s\ncombine: '{rule}'"
    assert fits(load_yaml(text), SCHEMA)
    assert parse_study(text).combine == rule
    assert parse_study(dump_study(parse_study(text))).combine == rule


@given(st.sampled_from([*STUDY, *DATA]), anything)
def test_any_value_of_a_key_is_read_or_refused_in_words(key: StudyKey, value: object) -> None:
    values: object = value
    for name in reversed(key.path):
        values = {name: values}
    try:
        study_from_mapping({"name": "s", **values}, "file")  # type: ignore[dict-item]
    except StudyError as error:
        assert str(error).startswith("file: ") and "\n" not in str(error)


@given(st.sampled_from([*JUDGE, *SIMULATION]), anything)
def test_any_value_of_a_judge_is_read_or_refused_in_words(key: StudyKey, value: object) -> None:
    for model in ("embedded", "simulated"):
        try:
            parse_judge({"model": model, key.name: value}, "file: judges[0]")
        except StudyError as error:
            assert str(error).startswith(f"file: judges[0].{key.name}")


def test_keys_are_named_as_attributes_and_a_misspelt_one_is_an_error() -> None:
    assert str(DATA.count) == "data.count" and [*DATA.count] == ["data", "count"]
    assert JUDGE.base_url.attribute == "endpoint"
    assert STUDY.budget_usd not in PROTOCOL_KEYS and STUDY.combine in PROTOCOL_KEYS
    with pytest.raises(AttributeError, match=pattern("Study", "no key 'combined'")):
        _ = STUDY.combined
