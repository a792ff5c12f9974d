"""Edits of a judge: values equal to the default leave the study file; providers are suggested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.study.file import judge_entries
from components.study.file.judge_entries import edit_judge, new_judge, unique_name
from components.study.file.lenient_study import START_YAML, read_lenient_study
from components.study.file.yaml_edit import put_value
from components.study.form.form_rows import judge_form
from components.study.form.judges import judge_cards, provider_title
from tests.page_words import text_of

JUDGE = {"name": "sim", "model": "simulated", "first_bias": 0.3, "accuracy": 0.8}


def slider_value(judge: dict[str, object], key: str) -> float:
    html = judge_form(judge, "judge.0", "sim")
    tag = re.search(rf'<input[^>]*data-field="judge\.0\.{key}"[^>]*>', html)
    assert tag, key
    found = re.search(r'value="([^"]*)"', tag.group())
    assert found, tag.group()
    return float(found.group(1))


RIGHT = pytest.mark.parametrize("key", ["accuracy", "sensitivity", "specificity"])
"""Probabilities of a right verdict, which are 1 if the file has none."""


@RIGHT
def test_a_probability_of_zero_stays_in_the_file_and_on_the_slider(key: str) -> None:
    made = edit_judge(JUDGE, key, "0")
    assert made[key] == 0.0
    assert slider_value(made, key) == 0.0


@RIGHT
def test_without_an_entry_a_right_verdict_is_certain(key: str) -> None:
    made = edit_judge(JUDGE, key, "1")
    assert key not in made
    assert slider_value(made, key) == 1.0


def test_other_simulation_settings_leave_the_file_at_zero() -> None:
    made = edit_judge(JUDGE, "first_bias", "0")
    assert "first_bias" not in made
    assert slider_value(made, "first_bias") == 0.0


def test_a_judge_that_names_a_provider_shows_its_address_and_key_variable() -> None:
    html = judge_form({"name": "j", "model": "llama", "provider": "groq"}, "judge.0", "j")
    assert 'value="https://api.groq.com/openai/v1"' in html
    assert 'value="GROQ_API_KEY"' in html


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        ({"input": 2}, ("$2.00", "free")),
        ({"output": 3}, ("free", "$3.00")),
        ({"input": 2, "output": 8}, ("$2.00", "$8.00")),
        ({"input": 0.5, "output": None}, ("$0.50", "free")),
    ],
)
def test_a_price_named_in_the_file_counts_nothing_for_what_it_leaves_out(
    price: dict[str, float | None], shown: tuple[str, str]
) -> None:
    assert card_prices(price=price) == [", ".join(shown)]


@pytest.mark.parametrize("price", [{}, {"input": 0, "output": 0}, {"input": None}])
def test_a_price_of_nothing_is_free(price: dict[str, float | None]) -> None:
    assert card_prices(price=price) == ["free"]


def test_a_price_is_that_of_the_list_or_unknown_and_vision_is_told_beside_it() -> None:
    assert card_prices(price={"input": "cheap"}) == ["price unknown"]
    assert card_prices(vision=True) == ["price unknown", "sees images"]
    listed = card_prices(model="gpt-4o-mini", base_url="https://api.openai.com/v1")
    assert listed == ["$0.15, $0.60"]
    local = card_prices(model="gpt-4o-mini", base_url="http://127.0.0.1:9/v1")
    assert local == ["price unknown"], "prices are those of providers"


def card_prices(**judge: object) -> list[str]:
    """What the card of a judge says after its host and key, without the last words."""
    entry = {"name": "j", "model": "m", "base_url": "http://h/v1", **judge}
    study = read_lenient_study(put_value(START_YAML, ("judges",), [entry]), Path())
    card = (
        text_of(judge_cards(study, {}))
        .split("Change ", 1)[1]
        .split(" Add a second")[0]
        .split(" ! error")[0]
    )
    _, _, *cost = card.split(" · ")
    return [re.sub(" per million (in|out)put tokens", "", one) for one in cost]


@pytest.mark.parametrize(("judge", "title"), [
    ({"model": "simulated"}, "simulated"), ({"model": "embedded"}, "built in"),
    ({"model": "m", "provider": "openai"}, "OpenAI"),
    ({"model": "m", "base_url": "https://api.openai.com/v1"}, "OpenAI"),
    ({"model": "m", "base_url": "http://h/v1"}, "other address"),
])  # fmt: skip
def test_the_provider_of_a_judge_is_named(judge: dict[str, str], title: str) -> None:
    assert provider_title(judge) == title


@pytest.mark.parametrize(
    ("before", "key", "typed", "after"),
    [
        ({"temperature": 0.5}, "temperature", "", {"temperature": None}),
        ({}, "vision", True, {"vision": True}),
        ({"vision": True}, "vision", False, {}),
        ({}, "max_tokens", "7", {"max_tokens": 7}),
        ({"max_tokens": 7}, "max_tokens", "", {}),
        ({}, "read", "text", {}),
        ({}, "read", "probabilities", {"read": "probabilities"}),
        ({}, "price.input", "2", {"price": {"input": 2}}),
        ({"price": {"input": 2}}, "price.output", "0.5", {"price": {"input": 2, "output": 0.5}}),
        ({"price": {"input": 2}}, "price.input", "", {}),
        ({"price": "free"}, "price.input", "", {}),
        ({}, "extra_body", '{"k": 1}', {"extra_body": {"k": 1}}),
        ({"extra_body": {"k": 1}}, "extra_body", " ", {}),
    ],
)
def test_an_endpoint_has_in_the_file_what_differs_from_its_default(before, key, typed, after):
    judge = {"name": "j", "model": "m", "base_url": "http://h/v1"}
    assert edit_judge({**judge, **before}, key, typed) == {**judge, **after}


def test_weights_of_positions_are_a_list_of_numbers_and_gone_if_empty() -> None:
    made = edit_judge(JUDGE, "slot_weights", "1, .5,")
    assert made["slot_weights"] == [1.0, 0.5]
    assert edit_judge(made, "slot_weights", " , ") == JUDGE


@pytest.mark.parametrize(("key", "typed", "said"), [
    ("colour", "red", "not a setting"), ("extra_body", "{", "not valid JSON"),
    ("extra_body", "[1]", "a JSON object"), ("max_tokens", "2.5", "max_tokens"),
    ("kind", "oracle", "named 'oracle'"),
])  # fmt: skip
def test_what_cannot_be_a_setting_is_named(key: str, typed: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        edit_judge(JUDGE, key, typed)


def test_a_free_name_has_the_first_free_number() -> None:
    taken = [{"name": "a"}, {"name": "a-2"}, {"name": "a-4"}, {}]
    assert [unique_name(name, taken) for name in ("a", "b", "a-2")] == ["a-3", "b", "a-2-2"]
    assert new_judge("endpoint", taken, "a")["name"] == "a-3"
    assert new_judge("embedded", [])["name"] == "embedded"


def test_another_kind_of_judge_keeps_name_and_family_only() -> None:
    made = edit_judge({**JUDGE, "family": "f"}, "kind", "embedded")
    assert (made["name"], made["family"], made["model"]) == ("sim", "f", "embedded")
    assert not {"first_bias", "accuracy"} & set(made)
    assert edit_judge(JUDGE, "kind", "simulated") == JUDGE


@pytest.mark.parametrize(
    ("judge", "public", "variable_set", "needed"),
    [
        ({"provider": "openai", "model": "m"}, False, False, True),
        ({"provider": "openai", "model": "m"}, False, True, False),
        ({"provider": "openai", "model": "m"}, True, True, False),
        ({"provider": "openai", "model": "m", "api_key_env": ""}, True, True, True),
        ({"base_url": "https://api.openai.com/v1", "model": "m"}, True, True, True),
        ({"base_url": "http://10.0.0.7/v1", "model": "m"}, False, False, False),
        ({"model": "simulated"}, True, False, False),
    ],
)
def test_a_key_is_asked_for_where_a_provider_is_paid_and_no_variable_has_it(
    judge, public, variable_set, needed, monkeypatch
):
    monkeypatch.setattr(judge_entries, "is_public", lambda: public)
    monkeypatch.setattr(judge_entries, "secret_value", lambda _: "key" if variable_set else "")
    assert judge_entries.needs_typed_key(judge) is needed
