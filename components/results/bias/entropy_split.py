"""Uncertainty of repeated verdicts, split into noise and the effect of the order."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.format import number, share
from components.html.markup import EMPTY, Markup, fill
from components.html.panel import wrap
from components.results.bias.computed import Bias
from metrics.estimation.entropy import split_entropy_by_order
from metrics.estimation.measures import CellKey
from studies.domain import Estimate

EntropySplit = dict[str, Estimate]


@memoise_by_study
def load_entropy_split(filtered: FilteredStudy) -> dict[CellKey, EntropySplit]:
    """Entropy of the verdict by judge and prompt: total, due to noise, due to order; only for
    judges and prompts with repeats in every order."""
    rows = filtered.machines
    if not len(rows) or not ((rows["repeat"] > 0).any()):
        return {}
    found: dict[CellKey, EntropySplit] = {}
    for (judge, prompt), part in rows.groupby(["judge", "prompt"], observed=True, sort=False):
        got = split_entropy_by_order(part)
        if got["total"].value:
            found[str(judge), str(prompt)] = got
    return found


def entropy_split_html(bias: Bias, split: dict[CellKey, EntropySplit]) -> Markup:
    """HTML sentence on how much of the uncertainty of each judge's verdicts is due to the order."""
    parts = []
    for cell, got in split.items():
        total, order = got["total"].value or 0.0, got["order"].value or 0.0
        if cell in bias.names and total > 0:
            name = bias.names[cell[0], cell[1]]
            parts.append(f"{name} {share(order / total, 0)} of {number(total, 2)} bits")
    if not parts:
        return EMPTY
    text = (
        f"Share of the verdicts' entropy that is due to the order: {', '.join(parts)}; the rest "
        "is noise between repeats. With few repeats, the order's share is overestimated."
    )
    return wrap(fill('<p class="eh-small eh-under" id="eh-entropy-split">{}</p>', text))
