"""Table of a report card: accuracies as defined in several papers, beside Evenhand's accuracy."""

from __future__ import annotations

from typing import Final

from components.filtering.raters import accuracy_label
from components.html.format import DASH, count, interval, number
from components.html.markup import EMPTY, Markup, fill
from components.html.tables.table import plain_table
from components.results.cards.report_card import ReportCard
from metrics.position.position_measures import accuracy
from metrics.protocols.printed_accuracies import PRINTED_BY, printed_accuracies
from studies.domain import Estimate

_NAMES: Final = {
    "average_of_orders": "Average of both orders",
    "right_in_both_orders": "Right in both orders",
    "orders_merged": "Both orders merged",
    "unusable_as_tie": "Accuracy if ties and unusable replies are half right",
}
_OWN_RULE: Final = (
    "Evenhand's definition: each usable verdict counts separately; a tie counts as wrong"
)


def show_accuracies(card: ReportCard) -> Markup:
    """HTML table of accuracies; empty if no better answer is known, or the judge chooses among more
    than two options."""
    found = printed_accuracies(card.planned_rows)
    if not found:
        return EMPTY
    own = accuracy_label(card.raters.filtered)
    rows = [_row(own, accuracy(card.planned_rows), _OWN_RULE)]
    rows += [_row(_NAMES[name], got, PRINTED_BY[name]) for name, got in found.items()]
    table = plain_table(("Definition", "Accuracy, %", "95 % CI", "n", "Source"), rows)
    return fill("<section><h3>Accuracy as defined in papers</h3>{}</section>", table)


def _row(name: str, estimate: Estimate, source: str) -> tuple[str, ...]:
    if estimate.value is None:
        return (name, DASH, "", "0", source)
    return (
        name,
        number(100 * estimate.value, 1),
        interval(estimate, 1, scale=100),
        count(estimate.n),
        source,
    )
