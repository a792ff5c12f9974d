"""Study files: accepted keys, their meaning, and the errors for the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.domain import JudgeSpec, Price
from studies.errors import StudyError
from studies.spec.study import (
    DataSpec,
    Study,
    dump_study,
    load_study,
    parse_study,
    study_from_mapping,
)
from tests.page_words import pattern, says

ASSETS = Path(__file__).parents[3] / "assets"

# Every key but the preset, which test_presets.py has.
WHOLE = """
name: demo
data:
  source: probe
  format: auto
  files: {model-x: a.csv}
  join: [image, instruction]
  mapping: {}
  split: test
  where: {}
  options: 0
  categories: [writing]
  count: 40
  per: {}
  seed: 7
contestants: [precise, flawed]
judges:
  - {name: local, model: embedded}
  - {name: gpt, model: gpt-4o, base_url: http://127.0.0.1:9000/v1, api_key_env: OPENAI_API_KEY,
     family: openai, temperature: 0, max_tokens: 4096, price: {input: 2.5, output: 10}}
  - {name: firstish, model: simulated, first_bias: 0.3, accuracy: 0.8, seed: 1}
prompts: [visit-reference-free]
pairing: all
baseline: "@reference"
new: model-x
reference_games: 100
families: {model-x: openai}
orders: both
labels: plain
unrelated: none
repeats: 1
noise_floor: 0.2
judge_sees: context
combine: pooled
unreadable: exclude
reading: default
extraction: {judge: gpt}
concurrency: 64
budget_usd: 5
"""


def refused(text: str) -> str:
    with pytest.raises(StudyError) as error:
        parse_study(text, "study.yaml")
    return str(error.value)


def judge(**more: Any) -> JudgeSpec:
    values = {"name": "j", "model": "m", "base_url": "http://127.0.0.1/v1", **more}
    return study_from_mapping({"name": "s", "judges": [values]}).judges[0]


def test_the_example_of_the_design_is_read_field_by_field() -> None:
    study = parse_study(WHOLE)
    assert study.data == DataSpec(
        files={"model-x": "a.csv"}, join=("image", "instruction"), split="test",
        categories=("writing",), count=40, seed=7,
    )  # fmt: skip
    local, gpt, firstish = study.judges
    assert (local.kind, local.read) == ("embedded", "probabilities")
    assert (gpt.kind, gpt.endpoint, gpt.price) == (
        "endpoint",
        "http://127.0.0.1:9000/v1",
        Price(2.5, 10.0),
    )
    assert firstish.simulation == {"first_bias": 0.3, "accuracy": 0.8, "seed": 1}
    assert study.extraction == gpt
    assert (study.noise_floor, study.concurrency, study.budget_usd) == (0.2, 64, 5.0)
    assert study.families == {"model-x": "openai"}


def test_what_is_not_written_has_the_value_of_the_design() -> None:
    study = parse_study("name: bare")
    assert (study.pairing, study.pair_orders, study.option_orders) == ("all", "both", "rotations")
    assert (study.labels, study.unrelated, study.repeats) == ("plain", "none", 1)
    assert (study.noise_floor, study.judge_sees, study.combine) == (0.0, "context", "pooled")
    assert (study.unreadable, study.reading, study.concurrency) == ("exclude", "default", 16)
    assert study.budget_usd is None and study.contestants == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: s\ncontestant: [x]", ["study.yaml: contestant: unknown key", "'contestants'?"]),
        ("name: s\ndata: {sauce: probe}", ["study.yaml: data.sauce: unknown key", "source"]),
        ("name: s\njudges: [{model: simulated, acuracy: 1}]", ["[0].acuracy", "'accuracy'"]),
        ("name: s\njudges: [{name: x}]", ["judges[0].model", "embedded, simulated"]),
        ("name: s\njudges: [{model: gpt-4o}]", ["judges[0].base_url", "'gpt-4o'"]),
        ("name: s\njudges: {model: embedded}", ["judges: expected a list"]),
        ("prompts: [p]", ["study.yaml: name", "a study needs a name"]),
        ("name: s\norders: bothh", ["orders: 'bothh' is not one of", "did you mean 'both'?"]),
        ("name: s\nrepeats: 0", ["repeats: expected a whole number 1-100, found 0"]),
        ("name: s\nrepeats: true", ["repeats: expected a whole number", "found True"]),
        ("name: s\nnoise_floor: 1.5", ["noise_floor: expected a number from 0 to 1, found 1.5"]),
        ("name: s\nnoise_floor: .nan", ["noise_floor: expected a number from 0 to 1"]),
        ("name: s\npairing: baseline", ["baseline: pairing: baseline needs a baseline"]),
        ("name: s\npairing: new\nbaseline: x", ["new: pairing: new needs the name"]),
        ("name: s\npairing: new\nbaseline: x\nnew: x", ["new: 'x' is also the baseline"]),
        ("name: s\ndata: {per: {category: 0}}", ["data.per: expected a whole number of items"]),
        ("", ["study.yaml: expected key: value lines, found nothing"]),
        ("- a\n- b", ["expected key: value lines, found list"]),
        ("name: [", ["study.yaml: not valid YAML", "line 1"]),
        ("name: s\nsplit_date: 2024-13-45", ["not valid YAML", "month"]),
        ("name: s\nprompts: " + "[" * 500, ["not valid YAML"]),
    ],
)  # fmt: skip
def test_an_error_names_the_file_the_field_and_what_would_fit(text: str, told: list[str]) -> None:
    message = refused(text)
    assert all(part in message for part in told), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: s\n# a comment\nrepeats: 0", 3),
        ("name: s\ndata:\n  source: probe\n  cuont: 3", 4),
        ("name: s\njudges:\n- model: embedded\n- {model: embedded,\n   price: {input: x}}", 5),
        ("name: s\njudges:\n- {name: a, model: embedded}\n- {name: b}", 4),
        ("name: s\npairing: new\nbaseline: x", 0),
        ("name: s\ncontestants: &a [x, 'y: z', true]\nprompts: *a", 2),
    ],
)
def test_an_error_names_the_line_where_the_file_has_one(text: str, line: int) -> None:
    message = refused(text)
    assert message.endswith(f" (line {line})") if line else "(line" not in message, message


def test_a_key_written_twice_is_an_error_since_yaml_would_drop_the_first() -> None:
    message = refused("name: s\nprompts: [a]\nprompts: [b]")
    assert says(message, "'prompts'", "written twice") and "line 3" in message


@pytest.mark.parametrize("field", ["contestants", "prompts"])
def test_a_name_listed_twice_would_meet_itself_and_is_refused(field: str) -> None:
    assert f"{field}: 'x' is listed twice" in refused(f"name: s\n{field}: [x, y, x]")


@pytest.mark.parametrize(
    "text",
    [
        "contestants: [x, null]",
        "contestants: [x, yes]",
        "families: {x: null}",
        "families: {x: [openai]}",
        "data: {files: {x: null}}",
        "data: {where: {category: null}}",
        "data: {where: {category: []}}",
        "contestants: [x, '']",
    ],
)
def test_an_empty_value_or_a_yes_never_becomes_a_name(text: str) -> None:
    assert "found" in refused(f"name: s\n{text}") or "is empty" in refused(f"name: s\n{text}")


def test_two_judges_of_one_name_are_refused() -> None:
    text = "name: s\njudges: [{name: a, model: embedded}, {name: a, model: simulated}]"
    assert says(refused(text), "judges", "named")


def test_null_temperature_is_not_sent_and_an_absent_one_is_zero() -> None:
    assert judge(temperature=None).temperature is None
    assert judge().temperature == 0.0
    assert judge(temperature=0.7).temperature == 0.7


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:9000/v1", "expected http://"),
        ("https://me:secret@host/v1", "api_key_env"),
        ("https://host/v1?api-key=secret", "api_key_env"),
        ("https://secret@host/v1", "api_key_env"),
        ("https://me:secret@host:99999/v1", "api_key_env"),
        ("http://[::1/v1", "expected http://"),
        ("https://host:99999/v1", "expected http://"),
    ],
)
def test_a_base_url_is_an_address_and_hides_no_key(url: str, told: str) -> None:
    with pytest.raises(StudyError, match="base_url") as error:
        judge(base_url=url)
    assert told in str(error.value) and "secret" not in str(error.value)


def test_a_base_url_with_and_without_its_last_slash_is_one_endpoint() -> None:
    assert judge(base_url="http://h/v1/") == judge(base_url="http://h/v1")


def test_an_extra_body_that_is_no_json_is_refused_before_anything_is_hashed() -> None:
    text = "name: s\njudges: [{model: m, base_url: 'http://h', extra_body: {since: 2024-01-02}}]"
    assert says(refused(text), "judges[0].extra_body: expected", "JSON supports")


@pytest.mark.parametrize(
    "weights", ["[1, two]", "[1, -1]", "[0, 0, 1]", "[.inf, 1]", "1", "[true, 1]"]
)
def test_slot_weights_are_numbers_and_some_lie_on_the_first_two(weights: str) -> None:
    text = f"name: s\njudges: [{{model: simulated, first_bias: 1, slot_weights: {weights}}}]"
    assert says(refused(text), "judges[0].slot_weights: expected", "non-negative weight")


def test_slot_weights_without_first_bias_would_do_nothing_and_are_refused() -> None:
    text = "name: s\njudges: [{model: simulated, slot_weights: [1, 2]}]"
    assert "set first_bias too" in refused(text)


def test_an_extraction_judge_is_one_above_or_one_of_its_own() -> None:
    known = "name: s\njudges: [{name: a, model: simulated}]\nextraction: "
    assert (
        parse_study(known + "{judge: a}").extraction == parse_study(known + "{judge: a}").judges[0]
    )
    own = parse_study(known + "{judge: {name: b, model: simulated, seed: 2}}").extraction
    assert own is not None and own.name == "b"
    assert says(refused(known + "{judge: c}"), "no", "named 'c'", "judges")
    assert "extraction.judge" in refused(known + "{judge: null}")
    assert says(refused(known + "{judge: {name: a, model: embedded}}"), "another judge", "named")


def test_yes_in_where_is_compared_as_the_word_true() -> None:
    study = parse_study("name: s\ndata: {where: {checks.follows: yes, category: [a, b]}}")
    assert study.data.where == {"checks.follows": ("true",), "category": ("a", "b")}


def test_numbers_and_dates_without_quotes_are_names_too() -> None:
    assert parse_study("name: 2024-05-06\ncontestants: [7, 7b]").contestants == ("7", "7b")
    assert parse_study("name: 2024-05-06").name == "2024-05-06"


@pytest.mark.parametrize("path", sorted(ASSETS.rglob("*.yaml")), ids=lambda path: path.name)
def test_the_studies_we_ship_load(path: Path) -> None:
    assert load_study(path).name


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"cannot read the study file .*gone\.yaml: No such file"):
        load_study(tmp_path / "gone.yaml")
    (tmp_path / "latin.yaml").write_bytes("name: Größe".encode("latin-1"))
    with pytest.raises(StudyError, match=pattern("latin.yaml", "study file", "not UTF-8")):
        load_study(tmp_path / "latin.yaml")


def test_the_folder_of_a_study_is_not_written_down(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("name: s", encoding="utf-8")
    study = load_study(tmp_path / "s.yaml")
    assert study.folder == tmp_path
    assert str(tmp_path) not in dump_study(study)


names = st.text("abcdefghijklmnopqrstuvwxyz-: 0189é@#'\"{[,", min_size=1, max_size=8).map(
    lambda name: name.strip() or "x"
)
rates = st.floats(0, 1).map(lambda value: round(value, 3))
judges = st.one_of(
    st.builds(
        lambda name, price, temperature, seed, extra: {
            "name": name, "model": "gpt", "base_url": "http://127.0.0.1:9/v1", "price": price,
            "temperature": temperature, "seed": seed, "extra_body": extra,
        },
        names,
        st.none() | st.fixed_dictionaries({"input": rates, "output": rates}),
        st.none() | rates,
        st.none() | st.integers(0, 9),
        st.dictionaries(names, st.none() | st.booleans() | st.integers() | names, max_size=2),
    ),
    st.builds(
        lambda name, bias: {"name": name, "model": "simulated", "first_bias": bias, "seed": 3},
        names, rates,
    ),
    st.builds(
        lambda name, read: {"name": name, "model": "embedded", "read": read},
        names, st.sampled_from(["text", "probabilities"]),
    ),
)  # fmt: skip


@given(
    values=st.fixed_dictionaries(
        {"name": names},
        optional={
            "contestants": st.lists(names, unique=True, max_size=3),
            "judges": st.lists(judges, unique_by=lambda judge: judge["name"], max_size=3),
            "families": st.dictionaries(names, names, max_size=2),
            "orders": st.sampled_from(["both", "one", "rotations", "williams", "all"]),
            "noise_floor": rates,
            "budget_usd": st.none() | rates,
            "repeats": st.integers(1, 5),
            "data": st.fixed_dictionaries(
                {},
                optional={
                    "source": names,
                    "where": st.dictionaries(names, st.lists(names, min_size=1), max_size=2),
                    "per": st.dictionaries(names, st.integers(1, 3), max_size=2),
                    "count": st.integers(0, 5),
                },
            ),
        },
    )
)
def test_what_the_page_writes_the_command_line_reads_back(values: dict[str, Any]) -> None:
    study = study_from_mapping(values)
    assert parse_study(dump_study(study)) == study


def test_a_study_left_at_its_defaults_is_one_line() -> None:
    assert dump_study(Study(name="s")) == "name: s\n"
