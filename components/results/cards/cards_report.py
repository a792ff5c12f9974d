"""Report cards in the report file."""

from __future__ import annotations

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, join
from components.html.panel import wrap
from components.results.cards.card_html import show_card

MAX_CARDS: Final = 12
"""Maximum number of report cards in the report file; a line gives the number of further cards."""


def report_cards(filtered: FilteredStudy) -> Markup:
    """HTML report section with one report card per judge and prompt, as on the page."""
    raters = Raters(filtered)
    names = list(raters.in_view)
    cards = join(
        fill('<section class="eh-panel eh-sheet">{}</section>', show_card(raters, name))
        for name in names[:MAX_CARDS]
    )
    left = len(names) - MAX_CARDS
    more = wrap(fill("<p>The page has {}.</p>", count(left, "more card"))) if left > 0 else EMPTY
    return cards + more
