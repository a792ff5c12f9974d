"""Report section on remedies: recommendation, chart, rules, verdict patterns; table for a paper."""

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
from components.results.view.paper_table import (
    EMPTY_CELL,
    PaperTable,
    interval_cell,
    percent_cells,
    slice_text,
)
from metrics.remedies.recommendation import points
from metrics.remedies.rule_names import rule_words


def remedies_report(filtered: FilteredStudy) -> Markup:
    """HTML of the report section; empty if no better answer is known."""
    results = load_remedies(filtered)
    if results.cell is None:
        return EMPTY
    what = "the majority of people" if results.by_people else "the known better answers"
    subtitle = (
        f"% of comparisons in which a rule agrees with {what}, undecided counts half; "
        f"95{NARROW_SPACE}% CI, "
        f"n {count(results.comparisons)}"
    )
    title = f"All rules, computed on the same {count(results.comparisons, 'comparison')}"
    head = finding_html(*remedy_finding(results))
    charts = panel("Price and agreement of each remedy", subtitle, frontier_chart(results, False))
    rules = panel(
        title,
        "intervals of the differences to one call are widened to hold for all rules together",
        rules_table(results),
    )
    return join([head, wrapped(charts, rules, patterns_panel(results))])


def remedies_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of remedies for the judge shown on the page, all on the same comparisons."""
    data = load_remedies(filtered)
    if data.cell is None:
        return None
    rows = tuple(
        (
            rule_words(line.rule).title,
            f"{line.rule.price:g}",
            *percent_cells(line.agreement),
            EMPTY_CELL if line.adjusted is None else points(line.adjusted.value),
            EMPTY_CELL if line.adjusted is None else interval_cell(line.adjusted, 100, 1),
            *(percent_cells(one)[0] for one in (line.decided, line.right_when_decided)),
        )
        for line in data.table
        if line.complete
    )
    what = "the majority of people" if data.by_people else "the known better answers"
    caption = (
        f"Remedies for {data.judge} on {filtered.name}: agreement with {what} in % (undecided "
        "counts "
        f"half) on the same {count(data.comparisons, 'comparison')}. The difference to one call "
        "is in points; its intervals hold for all rules together. The last columns are % decided "
        f"and % right when decided. {slice_text(filtered)}"
    )
    head = (
        "Rule",
        "Calls",
        "Agreement",
        "95 % CI",
        "Difference",
        "Adjusted CI",
        "Decided",
        "Right",
    )
    return PaperTable("Remedies", caption, head, rows)
