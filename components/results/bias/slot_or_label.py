"""Panel that separates position preference from label preference, if labels are crossed."""

from __future__ import annotations

from typing import Final

from components.html.format import count, interval, share
from components.html.markup import Markup, fill, inline_markup, join
from components.html.pieces import empty_state, wrap
from components.html.tables.forest_cells import Axis, axis_html, forest_html, value_html
from components.results.bias.computed import Bias
from components.results.bias.panels import slot_or_label_sentence
from studies.domain import Estimate

SHARE_AXIS: Final = Axis(chance=0.5)
LABELS_NOT_CROSSED: Final = (
    "The first answer always had the first label, so the effects of position and label cannot be "
    "separated. Set `labels: crossed` to separate them."
)


def show_slot_or_label(bias: Bias) -> Markup:
    """HTML forest plots by judge and prompt: shares of the first position and of the first label,
    against 50 %."""
    slots, labels = bias.each("slot"), bias.each("label")
    rows = [row for row in bias.names if slots[row].value is not None]
    if not rows:
        return empty_state("Labels were not crossed.", LABELS_NOT_CROSSED)
    head = fill(
        '<div class="eh-sl h"><span>Judge, prompt</span>{}'
        '<span class="eh-num">First position</span>{}'
        '<span class="eh-num">First label</span><span>Finding</span></div>',
        axis_html(SHARE_AXIS),
        axis_html(SHARE_AXIS),
    )
    body = join(_label_row(bias, row, slots[row], labels[row]) for row in rows)
    return wrap(head, body)


def _label_row(bias: Bias, row: tuple[str, ...], slot: Estimate, label: Estimate) -> Markup:
    names = list(bias.labels(row))
    label_name = names[0] if names else "first"
    sentence = slot_or_label_sentence(slot, label, names)
    parts = (
        (slot, "the first position", "position"),
        (label, f"the label “{label_name}”", f"label {label_name}"),
    )
    marks = join(_forest_html(one, what, word) for one, what, word in parts)
    return fill(
        '<div class="eh-sl"><span class="nm">{}</span>{}<span class="eh-small tx">{}</span></div>',
        bias.names[row[0], row[1]],
        marks,
        inline_markup(sentence),
    )


def _forest_html(estimate: Estimate, what: str, word: str) -> Markup:
    value = value_html(share(estimate.value, 0), interval(estimate, 0, scale=100))
    tip = f"{share(estimate.value, 1)} {interval(estimate, 1, scale=100)}\n"
    tip += (
        f"of verdicts go to {what}, ties left out; 50 % means no preference\nn {count(estimate.n)}"
    )
    return fill(
        '<div class="plot">{}</div>'
        '<span class="eh-num eh-nw val"><span class="eh-small wd">{} </span>'
        "{}</span>",
        forest_html(estimate, SHARE_AXIS, tip=tip),
        word,
        value,
    )
