"""Common parts of the HTML of an opened comparison: its template, untrusted text, images."""

from collections.abc import Iterable
from typing import Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, escape, fill
from components.html.templates import macros
from components.inspect.load_comparison import ItemImage

html: Final = macros("inspect/inspect.html")
MAX_TEXT: Final = 40_000
"""Maximum characters of one text on the page; the store keeps the full text."""


def images_html(pictures: Iterable[ItemImage], words: str) -> Markup:
    """HTML of an item's images in a row; a remote image is not fetched but becomes a link with the
    text `words`."""
    return html.images(pictures, words)


def text_html(text: str) -> Markup:
    return escape(truncate_text(text)) + more_characters_note(text)


def truncate_text(text: str) -> str:
    return text[:MAX_TEXT]


def more_characters_note(text: str) -> Markup:
    rest = len(text) - MAX_TEXT
    return (
        fill('<span class="eh-mute"> \u2026 {}</span>', count(rest, "more character"))
        if rest > 0
        else EMPTY
    )
