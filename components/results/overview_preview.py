"""The Overview as plain HTML, shown by the loading screen until the page's controls are ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.html.markup import EMPTY, Markup, fill
from components.results.overview.tab import NAME
from components.results.view_drawing import find_drawn
from studies.store.store import Store

CARDS: Final = ("bias", "ranking", "people")
ADDRESS_NAMES: Final = frozenset(("study", "tab", "view", "__theme"))
"""Query parameters with which the Overview opens without filters."""


def overview_preview(store: Store, address: Mapping[str, str]) -> Markup | None:
    """HTML of the Overview for a page with these query parameters; None if it opens with something
    else, or if the Overview has not been drawn since the study last changed."""
    if address.get("tab") != "results" or address.get("view", NAME) != NAME:
        return None
    if not set(address) <= ADDRESS_NAMES or not (study := address.get("study")):
        return None
    drawn = find_drawn(store, study, NAME)
    if drawn is None or not drawn.get("kpis"):
        return None
    cards = [fill('<div class="eh-panel">{}</div>', drawn[name]) for name in CARDS]
    return fill("{}{}<div>{}</div>", drawn["finding"], drawn["kpis"], EMPTY.join(cards))
