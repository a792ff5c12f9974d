"""Choices of a view's controls from an address."""

from __future__ import annotations

from components.results.view.address_choices import pick_choice


def test_an_address_with_a_former_text_still_selects_the_choice() -> None:
    choices = ("Grade", "Above chance")
    assert pick_choice("Above the coin", choices) == "Above chance"
    assert pick_choice("Above chance", choices) == "Above chance"


def test_an_unknown_choice_falls_back_to_the_default_then_to_the_first() -> None:
    assert pick_choice("nonsense", ("a", "b"), "b") == "b"
    assert pick_choice(None, ("a", "b")) == "a"
    assert pick_choice("a", ()) is None
