"""Edits of a judge: values equal to the default leave the study file; providers are suggested."""

from __future__ import annotations

import re

import pytest

from components.study.file.judge_entries import edit_judge
from components.study.form.form_rows import judge_form

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
