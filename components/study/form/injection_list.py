"""List of suspected prompt injections in a slice, shown before the run."""

from __future__ import annotations

from typing import Final

from components.html.format import count, escape
from components.inspect.injection_marks import describe_suspect, untrusted_text_html
from studies.texts.injection import InjectionSuspect
from studies.texts.slice_statistics import SliceProfile

MAX_LISTED: Final = 20


def suspects_list(found: SliceProfile) -> str:
    """Folded list with the number of suspects in its heading; empty if there are none."""
    if not found.suspects:
        return ""
    items = len({one.item for one in found.suspects})
    title = f"{count(len(found.suspects), 'injection suspect')} in {count(items, 'item')}"
    rows = "".join(_suspect_row(one) for one in found.suspects[:MAX_LISTED])
    more = len(found.suspects) - MAX_LISTED
    rest = f'<p class="hint">and {count(more)} more</p>' if more > 0 else ""
    explanation = (
        "These texts address the judge and are sent unchanged. Results shows the numbers with and "
        "without them; Inspect lists them under Suspects."
    )
    return (
        f'<details class="eh-soft eh-drawer eh-suspects"><summary>{escape(title)}</summary>'
        f'<p class="eh-small">{escape(explanation)}</p><ul>{rows}</ul>{rest}</details>'
    )


def _suspect_row(one: InjectionSuspect) -> str:
    return (
        f"<li><b>{escape(one.item)}</b> "
        f'<span class="eh-mute">{escape(describe_suspect(one))}</span>'
        f'<q dir="auto">{untrusted_text_html(one.quote)}</q></li>'
    )
