"""The Overview as plain HTML, shown by the loading screen until the page's controls are ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.html.markup import EMPTY, Markup, fill
from components.results.overview.tab import NAME

CARDS: Final = ("bias", "ranking", "people")
ADDRESS_NAMES: Final = frozenset(("study", "tab", "view", "__theme"))
"""The only query parameters that the address of an Overview without filters may have."""


def opens_overview(address: Mapping[str, str]) -> bool:
    """Whether a page with these query parameters opens with the Overview of a study, without
    filters."""
    return (
        bool(address.get("study"))
        and address.get("tab") == "results"
        and address.get("view", NAME) == NAME
        and set(address) <= ADDRESS_NAMES
    )


def preview_html(drawn: Mapping[str, Any]) -> Markup:
    """HTML of the drawn Overview (output name -> content): headline, key numbers and findings."""
    cards = [fill('<div class="eh-panel">{}</div>', drawn[name]) for name in CARDS]
    findings = fill('<div class="findings">{}</div>', EMPTY.join(cards))
    return EMPTY.join((drawn["finding"], drawn["kpis"], findings))
