"""Report section on remedies: recommendation, chart of cost and gain, table of rules, and verdict
patterns."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup, join
from components.html.panel import finding_html
from components.results.remedies.advice_panel import remedy_finding
from components.results.remedies.computed import load_remedies
from components.results.remedies.frontier_svg import frontier_chart
from components.results.remedies.panel_pieces import panel, wrapped
from components.results.remedies.reason_panels import patterns_panel
from components.results.remedies.remedy_table import rules_table


def remedies_report(filtered: FilteredStudy) -> Markup:
    """HTML of the report section; empty if no better answer is known."""
    view = load_remedies(filtered)
    if view.cell is None:
        return EMPTY
    what = "the majority of people" if view.by_people else "known answers"
    subtitle = (
        f"% agreement with {what}, undecided counts half; 95{NARROW_SPACE}% CI, "
        f"n {count(view.comparisons)}"
    )
    title = f"All rules on the same {count(view.comparisons, 'comparison')}"
    head = finding_html(*remedy_finding(view))
    charts = panel("What each remedy costs and gains", subtitle, frontier_chart(view, False))
    rules = panel(title, "differences adjusted for all rules", rules_table(view))
    return join([head, wrapped(charts, rules, patterns_panel(view))])
