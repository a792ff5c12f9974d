"""Rows of a panel of next steps: a title, a text and a button each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from components.html.markup import Markup, attributes, fill, join


class NextStep(NamedTuple):
    """A row of a panel of next steps: title, text, label and attributes of the button."""

    title: str
    text: str
    words: str
    opens: Mapping[str, object]


def step_rows(steps: Iterable[NextStep]) -> Markup:
    """HTML rows of next steps, each with its button."""
    return join(
        fill(
            '<div class="eh-todo"><div><b>{}</b><div class="d">{}</div></div>'
            "<button{}>{}</button></div>",
            step.title,
            step.text,
            attributes({"type": "button", "class": "eh-btn", **step.opens}),
            step.words,
        )
        for step in steps
    )
