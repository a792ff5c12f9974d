"""Colours and dash patterns of the models' lines in charts."""

from __future__ import annotations

from typing import Final

PALETTE_SIZE: Final = 7
"""Number of distinct line colours; further models are grey and named on hover."""


def contestant_colour(index: int) -> str:
    return f"var(--c{index + 1})" if index < PALETTE_SIZE else "var(--tie)"


def contestant_dash(index: int) -> str:
    """Dash pattern ("solid" or "dash") of the line of the model with this index from 0: dashed for
    the sixth and seventh colour, which colour-blind readers may confuse with the first five."""
    return "solid" if index < 5 else "dash" if index < PALETTE_SIZE else "solid"
