"""Injection suspects of a slice, before anything is asked: how many, whose, and their words."""

from __future__ import annotations

from typing import Final

from components.format import count, safe
from components.suspects.marked import foreign_html, said_of
from studies.profile import Profile
from studies.suspects import Suspect

MOST: Final = 20


def suspects_drawer(found: Profile) -> str:
    """A closed list that says in its head how many there are; nothing where there are none."""
    if not found.suspects:
        return ""
    items = len({one.item for one in found.suspects})
    title = f"{count(len(found.suspects), 'injection suspect')} in {count(items, 'item')}"
    rows = "".join(_row(one) for one in found.suspects[:MOST])
    more = len(found.suspects) - MOST
    rest = f'<p class="hint">and {count(more)} more</p>' if more > 0 else ""
    told = (
        "These texts speak to the judge. They are asked as they are: Results shows the numbers "
        "with and without them, and Inspect has them under Suspects."
    )
    return (
        f'<details class="eh-soft eh-drawer eh-suspects"><summary>{safe(title)}</summary>'
        f'<p class="eh-small">{safe(told)}</p><ul>{rows}</ul>{rest}</details>'
    )


def _row(one: Suspect) -> str:
    return (
        f'<li><b>{safe(one.item)}</b> <span class="eh-mute">{safe(said_of(one))}</span>'
        f'<q dir="auto">{foreign_html(one.quote)}</q></li>'
    )
