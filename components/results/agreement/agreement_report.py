"""Agreement in the report file, and the table of agreement among people for a paper."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup
from components.html.panel import finding_html
from components.html.tables.table import plain_table
from components.results.agreement import panels
from components.results.agreement.computed import load_agreement
from components.results.view.paper_table import (
    PaperTable,
    decimal_cell,
    interval_cell,
    percent_cells,
    slice_text,
)
from components.results.view.result_view import ReportPanel
from metrics.agreement.pairwise_agreement import agreement_among_people


def compares_judges(filtered: FilteredStudy) -> bool:
    """Whether the view has at least one judge to compare with another judge or with people."""
    data = load_agreement(filtered)
    return bool(
        not filtered.has_only_people
        and data.judges
        and (len(data.judges) > 1 or data.raters.has_people)
    )


def report_headline(filtered: FilteredStudy) -> Markup:
    if not compares_judges(filtered):
        return EMPTY
    return finding_html(*panels.agreement_finding(load_agreement(filtered)))


def report_people(filtered: FilteredStudy) -> ReportPanel | None:
    """Report section on agreement among people; None for a study with model judges."""
    table = people_table(filtered)
    if table is None or not table.rows:
        return None
    subtitle = (
        "how often, in %, two votes on the same two answers are equal, and Krippendorff's α; "
        f"95{NARROW_SPACE}% CI"
    )
    return ReportPanel("Agreement among people", subtitle, plain_table(table.head, table.rows))


def people_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table of agreement among people; None for a study with model judges."""
    if not filtered.has_only_people:
        return None
    found = agreement_among_people(filtered.filter.apply(filtered.stored_frame))
    measures = (
        ("Two people agree", found.pair.share),
        ("Two people agree, votes for a tie left out", found.pair.decisive),
        ("A person agrees with the majority of the others", found.others.share),
    )
    rows = [(name, *percent_cells(got), count(got.n)) for name, got in measures if got.n]
    alpha = found.pair.alpha
    if alpha.value is not None:
        rows.append(
            ("Krippendorff's α", decimal_cell(alpha), interval_cell(alpha, 1, 2), count(alpha.n))
        )
    caption = (
        f"Agreement among people on {filtered.name}: how often, in %, two votes on the same two "
        f"answers are equal; Krippendorff's α is corrected for chance. {count(found.voters)} "
        f"people. {slice_text(filtered)} 95 % intervals over items."
    )
    return PaperTable("Agreement", caption, ("Agreement", "%", "95 % CI", "n"), tuple(rows))
