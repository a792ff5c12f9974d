"""Report cards in the Results tab: a one-page summary per judge, in sentences and numbers."""

from __future__ import annotations

from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import Raters
from components.html.markup import EMPTY, Markup
from components.results.cards.card_html import report_cards, show_card
from components.results.view.result_view import Body, Control, ControlState, Extra, Panel, View

NAME: Final = "Report cards"


def bind(parts: Any) -> None:
    """Connect the print button; printing happens in the browser only."""
    parts.extras["print"].click(
        None, None, None, js="() => window.print()", api_visibility="private"
    )


def card_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    """State of the menu of judges. The first judge has the empty value, so that the default view
    has a short address."""
    names = list(Raters(filtered).names)
    default = names[0] if names else ""
    offered = [(name, "" if name == default else name) for name in names]
    value = wanted if wanted in names and wanted != default else ""
    return ControlState(value, offered or [("\u2013", "")])


def draw_card(filtered: FilteredStudy, card: str) -> Markup:
    """Draw the chosen card; if no verdict of the chosen judge passes the filters, draw the first
    card with verdicts."""
    raters = Raters(filtered)
    names = list(raters.names)
    wanted = card or (names[0] if names else "")
    in_view = raters.in_view
    return show_card(raters, wanted if wanted in in_view or not in_view else in_view[0])


CARD: Final = Panel(
    "card",
    draw_card,
    (Body("card", "eh-card", clickable=True),),
    controls=(
        Control(
            "card", "Judge", [("", "")], "menu", "eh-card-judge", searchable=False, state=card_state
        ),
    ),
    extras=(Extra("print", "button", "Print or save as PDF", "eh-print"),),
    css="eh-panel eh-sheet",
    head_css="eh-filters eh-sheet-bar",
    json_keys=(
        "position.*.*.consistency",
        "position.*.*.first_share",
        "position.*.*.position_term",
        "agreement.pairs.*.people.share",
        "agreement.judges.*.*",
        "position.*.*.accuracy",
        "--by judge: by.*.length.longer",
        "self_preference.against_outsiders.*.excess",
        "self_preference.term",
    ),
)
VIEW: Final = View(NAME, (CARD,), kpis=lambda _: EMPTY, bind=bind, report=report_cards)
"""The view Report cards; it has no headline, because each card begins with a name and sentences."""
