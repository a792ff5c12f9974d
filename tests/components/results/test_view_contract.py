"""Choices of a view's controls from an address."""

from __future__ import annotations

from components.results.view.address_choices import choice_or_default


def test_an_address_with_a_former_text_still_selects_the_choice() -> None:
    choices = ("Grade", "Above chance")
    assert choice_or_default("Above the coin", choices) == "Above chance"
    assert choice_or_default("Above chance", choices) == "Above chance"


def test_an_unknown_choice_falls_back_to_the_default_then_to_the_first() -> None:
    assert choice_or_default("nonsense", ("a", "b"), "b") == "b"
    assert choice_or_default(None, ("a", "b")) == "a"
    assert choice_or_default("a", ()) is None
