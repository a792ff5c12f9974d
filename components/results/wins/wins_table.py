"""Win rates as a table for a paper."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rule_text
from components.html.format import count
from components.results.view.paper_table import PaperTable, percent_cells, slice_text
from metrics.win_rates.win_rates import win_rate


def wins_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of the models' win rates, from pairs and from choices among several options."""
    if filtered.machines.empty:
        return None
    rates = win_rate(filtered.machines, *filtered.rule)
    rows = tuple((name, *percent_cells(e), count(e.n)) for name, e in rates.items() if e.n)
    caption = (
        f"Win rates on {filtered.name}: (wins + ties/2) / usable verdicts, 95 % Wilson "
        "intervals at "
        f"the effective n. {rule_text(*filtered.rule)} {slice_text(filtered)}"
    )
    return PaperTable("Win rates", caption, ("Model", "Win rate", "95 % CI", "n"), rows)
