"""List of injection suspects in a slice, shown before the run."""

from __future__ import annotations

from typing import Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, join
from components.inspect.injection_marks import describe_suspect, untrusted_text_html
from studies.texts.injection import InjectionSuspect
from studies.texts.slice_statistics import SliceProfile

MAX_LISTED: Final = 20


def suspects_list(found: SliceProfile) -> Markup:
    """HTML of an expandable list of injection suspects and their number; empty without suspects."""
    if not found.suspects:
        return EMPTY
    items = len({one.item for one in found.suspects})
    title = f"{count(len(found.suspects), 'injection suspect')} in {count(items, 'item')}"
    rows = join(_suspect_row(one) for one in found.suspects[:MAX_LISTED])
    more = len(found.suspects) - MAX_LISTED
    rest = fill('<p class="hint">and {} more</p>', count(more)) if more > 0 else ""
    explanation = (
        "These texts contain instructions to the judge; they are sent unchanged. The "
        "Results tab shows the numbers with and without them."
    )
    return fill(
        '<details class="eh-soft eh-suspects"><summary>{}</summary>'
        '<p class="eh-small">{}</p><ul>{}</ul>{}</details>',
        title,
        explanation,
        rows,
        rest,
    )


def _suspect_row(one: InjectionSuspect) -> Markup:
    return fill(
        '<li><b>{}</b> <span class="eh-mute">{}</span><q dir="auto">{}</q></li>',
        one.item,
        describe_suspect(one),
        untrusted_text_html(one.quote),
    )
