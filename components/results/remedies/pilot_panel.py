"""Panel of the pilots: remedies that need new replies, each with its calls, price and a button."""

from __future__ import annotations

from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, join
from components.results.remedies.computed import RemedyResults
from components.results.remedies.panel_pieces import button, panel
from components.results.remedies.pilots import Pilot, offered_pilots


def pilots_panel(results: RemedyResults) -> Markup:
    found = offered_pilots(results)
    if not found:
        return EMPTY
    opens = not results.filtered.store.read_only
    rows = join(_pilot_item(pilot, opens) for pilot in found)
    return panel(
        "Rules to try in a pilot",
        f"new replies are needed for {count(len(found), 'rule')}; a pilot study has one comparison "
        "for each of 40 items",
        rows,
    )


def _pilot_item(pilot: Pilot, opens: bool) -> Markup:
    """HTML row of a pilot; `opens`: whether the page has a Study tab that can open it."""
    return fill(
        '<div class="eh-pilot"><div><b>{}</b><div class="d">{}</div></div>'
        '<div class="c">{}</div>{}</div>',
        pilot.title,
        pilot.detail,
        pilot.price,
        button("Open pilot", {"pilot": pilot.kind}) if opens else EMPTY,
    )
