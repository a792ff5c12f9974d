"""Pass/fail verdicts in the report file."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import fill, join
from components.html.panel import wrap
from components.results.pass_fail import panels
from components.results.pass_fail.computed import load_pass_fail
from components.results.view.result_view import ReportPanel
from metrics.labels.label_sections import pass_fail_sentence


def report_rates(filtered: FilteredStudy) -> ReportPanel | None:
    """Report section on pass/fail verdicts compared with labels, by judge and prompt."""
    found = load_pass_fail(filtered)
    if found.shown is None:
        return None
    texts = join(
        fill(
            "<p><b>{} · {}</b>: {} {}</p>",
            judge,
            prompt,
            pass_fail_sentence(one),
            panels.report_lines(one),
        )
        for (judge, prompt), one in found.results.items()
    )
    subtitle = f"verdicts of the judge compared with the labels; 95{NARROW_SPACE}% CI by item"
    return ReportPanel("Pass or fail", subtitle, panels.rates_table(found) + wrap(texts))
