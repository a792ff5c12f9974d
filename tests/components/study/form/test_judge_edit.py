"""Edits of a judge: values equal to the default leave the study file; providers are suggested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.study.file.judge_entries import edit_judge
from components.study.file.lenient_study import START_YAML, read_lenient_study
from components.study.file.yaml_edit import put_value
from components.study.form.form_rows import judge_form
from components.study.form.judges import judge_cards
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
