"""Who has which line: the colours and dashes of contestants."""

from __future__ import annotations

from typing import Final

PALETTE_SIZE: Final = 7
"""Contestants with a colour of their own; from the eighth on: grey, named on hover."""


def contestant_colour(index: int) -> str:
    return f"var(--c{index + 1})" if index < PALETTE_SIZE else "var(--tie)"


def contestant_dash(index: int) -> str:
    """From the sixth on the hues get close for some eyes: a dash tells them apart."""
    return "solid" if index < 5 else "dash" if index < PALETTE_SIZE else "solid"
