"""HTML helpers for the opened comparison: untrusted text, expandable parts, sections, images."""

from collections.abc import Iterable
from typing import Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, attributes, escape, fill, join
from components.inspect.load_comparison import ItemImage

MAX_TEXT: Final = 40_000
"""Maximum characters of one text on the page; the store keeps the full text."""


def section_heading(title: str, aside: str = "") -> Markup:
    return fill('<div class="eh-sect"><h3>{}</h3>{}</div>', title, aside)


def columns_html(cards: Iterable[str]) -> Markup:
    return fill('<div class="eh-two">{}</div>', join(cards))


def drawer(title: str, body: str, kind: str, opened: bool = False) -> Markup:
    made = attributes({"class": f"eh-{kind}", "open": "open" if opened else None})
    return fill("<details{}><summary>{}</summary>{}</details>", made, title, body)


def images_html(pictures: Iterable[ItemImage], words: str) -> Markup:
    """HTML of an item's images in a row; a remote image is not fetched but becomes a link with the
    text `words`."""
    return fill(
        '<div class="eh-pictures">{}</div>', join(_image_html(one, words) for one in pictures)
    )


def _image_html(image: ItemImage, words: str) -> Markup:
    if image.source:
        return fill('<img alt="{}" src="{}" loading="lazy">', image.name, image.source)
    if image.link:
        rel = Markup('target="_blank" rel="noopener noreferrer nofollow"')
        return fill('<a href="{}" {}>{}</a>', image.link, rel, words)
    return fill('<span class="hint">{}</span>', image.name)


def missing_note(text: str) -> Markup:
    return fill('<p class="eh-mute eh-absent">{}</p>', text)


def text_html(text: str) -> Markup:
    return escape(truncate_text(text)) + hidden_length_note(text)


def truncate_text(text: str) -> str:
    return text[:MAX_TEXT]


def hidden_length_note(text: str) -> Markup:
    rest = len(text) - MAX_TEXT
    return (
        fill('<span class="eh-mute"> \u2026 {}</span>', count(rest, "more character"))
        if rest > 0
        else EMPTY
    )
