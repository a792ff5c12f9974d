"""Judges of a study file: values that are refused, such as keys."""

from __future__ import annotations

import pytest

from studies.errors import StudyError
from studies.spec.judge_spec import parse_judge
from tests.page_words import pattern

URL = "https://judge.example/v1"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-Abc123Abc123Abc123Abc123",
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
        "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
        "0123456789abcdef0123456789abcdef",
        "two words",
        "$OPENAI_API_KEY",
    ],
)
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(key: str) -> None:
    entry = {"name": "j", "model": "m", "base_url": URL, "api_key_env": key}
    with pytest.raises(StudyError, match=pattern("name", "variable")) as refused:
        parse_judge(entry, "judges[0]")
    assert "judges[0]" in str(refused.value)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "my_key", "_K2", "KEY_OF_THE_SECOND_ACCOUNT_AT_THE_PROVIDER_2"]
)
def test_names_of_variables_are_taken(name: str) -> None:
    entry = {"name": "j", "model": "m", "base_url": URL, "api_key_env": name}
    assert parse_judge(entry, "judges[0]").api_key_env == name
