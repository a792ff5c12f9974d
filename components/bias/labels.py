"""Slot or label? Told apart where labels were crossed: a place and its name pull differently."""

from __future__ import annotations

from typing import Final

from components.bias.counts import Bias
from components.bias.view import blamed
from components.drawing.forest_rows import Axis, axis_head, forest_row, value_text
from components.drawing.pieces import empty, wrap
from components.format import count, interval, rich, safe, share
from studies.records import Estimate

AXIS: Final = Axis(chance=0.5)
NOT_CROSSED: Final = (
    "First always had the first label here, so a taste for the place and one for its name look the "
    "same. `labels: crossed` in the study turns the labels of half of the pairs: no ask more."
)


def pair_labels(bias: Bias) -> str:
    """For each row the share of the first slot and of the label that sorts first, against half."""
    slots, labels = bias.each("slot"), bias.each("label")
    rows = [row for row in bias.names if slots[row].value is not None]
    if not rows:
        return empty("Labels were not crossed.", NOT_CROSSED)
    head = (
        f'<div class="eh-sl h"><span>Row</span>{axis_head(AXIS)}'
        f'<span class="eh-num">First slot</span>{axis_head(AXIS)}'
        '<span class="eh-num">First label</span><span>Finding</span></div>'
    )
    body = "".join(_line(bias, row, slots[row], labels[row]) for row in rows)
    return wrap(head, body)


def _line(bias: Bias, row: tuple[str, ...], slot: Estimate, label: Estimate) -> str:
    names = list(bias.labels(row))
    label_name = names[0] if names else "first"
    told = blamed(slot, label, names)
    parts = (
        (slot, "the first slot", "slot"),
        (label, f"the label “{label_name}”", f"label {label_name}"),
    )
    marks = "".join(_forest(one, what, word) for one, what, word in parts)
    return (
        f'<div class="eh-sl"><span class="nm">{safe(bias.names[row[0], row[1]])}</span>{marks}'
        f'<span class="eh-small tx">{rich(told)}</span></div>'
    )


def _forest(estimate: Estimate, what: str, word: str) -> str:
    value = value_text(share(estimate.value, 0), interval(estimate, 0, scale=100))
    tip = f"{share(estimate.value, 1)} {interval(estimate, 1, scale=100)}\nof decisive verdicts go "
    tip += f"to {what}; even is 50\nn {count(estimate.n)}"
    return (
        f'<div class="plot">{forest_row(estimate, AXIS, tip=tip)}</div>'
        f'<span class="eh-num eh-nw val"><span class="eh-small wd">{safe(word)} </span>'
        f"{value}</span>"
    )
