"""Faults that a reader sees and a text search does not: found by looks.js in the page as drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_SCRIPT: Final = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")


def visible_faults(page) -> list[str]:
    """Cut or colliding texts, broken words and intervals, marks apart from their text."""
    return list(page.evaluate(f"() => {_SCRIPT}.faults()"))


def weak_texts(page, least: float = 4.5) -> list[str]:
    """Texts in cells of matrices whose contrast to their ground is below `least`."""
    return list(page.evaluate(f"least => {_SCRIPT}.contrasts(least)", least))
