"""Small pieces of the opened comparison: foreign text, drawers, sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from components.format import attributes, count, safe
from components.inspect.data import Picture

MOST_TEXT: Final = 40_000
"""Characters of one text on the page; the store has the rest."""


def section(title: str, aside: str = "") -> str:
    return f'<div class="eh-sect"><h3>{safe(title)}</h3>{aside}</div>'


def side_by_side(cards: Iterable[str]) -> str:
    return f'<div class="eh-two">{"".join(cards)}</div>'


def drawer(title: str, body: str, kind: str, opened: bool = False) -> str:
    made = attributes({"class": f"eh-{kind} eh-drawer", "open": "open" if opened else None})
    return f"<details{made}><summary>{safe(title)}</summary>{body}</details>"


def pictures_html(pictures: Iterable[Picture], words: str) -> str:
    """Images of an item in a row; one that is elsewhere is a link of these words, not read."""
    return f'<div class="eh-pictures">{"".join(_picture(one, words) for one in pictures)}</div>'


def _picture(one: Picture, words: str) -> str:
    if one.source:
        return f'<img alt="{safe(one.name)}" src="{safe(one.source)}" loading="lazy">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<a href="{safe(one.link)}" {rel}>{safe(words)}</a>'
    return f'<span class="hint">{safe(one.name)}</span>'


def absent(text: str) -> str:
    return f'<p class="eh-mute eh-absent">{safe(text)}</p>'


def text_html(text: str) -> str:
    return safe(cut(text)) + more_of(text)


def cut(text: str) -> str:
    return text[:MOST_TEXT]


def more_of(text: str) -> str:
    rest = len(text) - MOST_TEXT
    return (
        f'<span class="eh-mute"> \u2026 {count(rest, "more character")}</span>' if rest > 0 else ""
    )
