"""HTML helpers of the opened comparison: untrusted text, drawers, sections, images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from components.html.format import attributes, count, escape
from components.inspect.load_comparison import ItemImage

MAX_TEXT: Final = 40_000
"""Characters of one text shown on the page; the store keeps the full text."""


def section_heading(title: str, aside: str = "") -> str:
    return f'<div class="eh-sect"><h3>{escape(title)}</h3>{aside}</div>'


def columns_html(cards: Iterable[str]) -> str:
    return f'<div class="eh-two">{"".join(cards)}</div>'


def drawer(title: str, body: str, kind: str, opened: bool = False) -> str:
    made = attributes({"class": f"eh-{kind} eh-drawer", "open": "open" if opened else None})
    return f"<details{made}><summary>{escape(title)}</summary>{body}</details>"


def images_html(pictures: Iterable[ItemImage], words: str) -> str:
    """Images of an item in a row; a remote image is a link labelled `words` and is not fetched."""
    return f'<div class="eh-pictures">{"".join(_image_html(one, words) for one in pictures)}</div>'


def _image_html(one: ItemImage, words: str) -> str:
    if one.source:
        return f'<img alt="{escape(one.name)}" src="{escape(one.source)}" loading="lazy">'
    if one.link:
        rel = 'target="_blank" rel="noopener noreferrer nofollow"'
        return f'<a href="{escape(one.link)}" {rel}>{escape(words)}</a>'
    return f'<span class="hint">{escape(one.name)}</span>'


def missing_note(text: str) -> str:
    return f'<p class="eh-mute eh-absent">{escape(text)}</p>'


def text_html(text: str) -> str:
    return escape(truncate_text(text)) + hidden_length_note(text)


def truncate_text(text: str) -> str:
    return text[:MAX_TEXT]


def hidden_length_note(text: str) -> str:
    rest = len(text) - MAX_TEXT
    return (
        f'<span class="eh-mute"> \u2026 {count(rest, "more character")}</span>' if rest > 0 else ""
    )
