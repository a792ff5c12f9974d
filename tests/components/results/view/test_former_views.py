"""Texts of the page name the views of Results by their present names."""

from __future__ import annotations

import re
from pathlib import Path

from components.results.view.address_choices import FORMER_COMPARISONS, FORMER_VIEWS
from components.results.view_drawing import VIEWS

COMPONENTS = Path(__file__).parents[4] / "components"
FORMER = "|".join(re.escape(name) for name in (*FORMER_VIEWS, *FORMER_COMPARISONS))
POINTER = re.compile(
    rf"\b(?:[Ss]ee|views?|under|in the view)\s+(?:the views?\s+)?[“\"']*(?:\w+ and )?({FORMER})\b"
)

EXAMPLES = (
    '"See the views "\n    "“Pass or fail” and “Scores”."',
    "not verdicts: see Ranking and Win rates.",
    "Win rates by people, seen in the overview",
)


def pointers(text: str) -> list[str]:
    joined = re.sub(r'"\s*\n\s*f?"', "", text)  # a text over several lines of code
    return [found[1] for found in POINTER.finditer(joined)]


def test_no_text_sends_a_reader_to_a_view_that_is_gone() -> None:
    assert not set(FORMER_VIEWS) & set(VIEWS)
    assert [pointers(text) for text in EXAMPLES] == [["Pass or fail"], ["Win rates"], []]
    found = {
        path.name: pointers(path.read_text("utf-8"))
        for path in COMPONENTS.rglob("*")
        if path.suffix in (".py", ".html")
    }
    assert {name: names for name, names in found.items() if names} == {}
