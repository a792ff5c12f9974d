"""Measures of the texts of replies in a study of single answers, by judge and prompt: on the page
and for a paper. In a study of comparisons the matrix of Position lists these measures."""

from operator import itemgetter

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import Markup
from components.html.pieces import wrap
from components.html.tables.typed_columns import TypedColumn, ValueRow, page_table, record_column
from components.results.pass_fail.rate_tables import INTERVALS_TEXT, paper_table_by_judge
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.view.paper_table import PaperTable, describe_items_and_filters
from metrics.catalogue.record import MeasureRecord, Outlet
from metrics.catalogue.records import text_measure_records
from metrics.estimation.all_measures import estimate_all
from studies.domain import Estimate

Estimates = dict[tuple[str, str], dict[str, Estimate]]
"""(Judge, prompt) -> key of a measure -> estimate."""


def _estimate_reply_text_measures(
    filtered: FilteredStudy, outlet: Outlet
) -> tuple[list[MeasureRecord], Estimates]:
    """Measures of the texts of replies, such as their length: the records (definitions) of those
    that have a value, and (judge, prompt) -> key of a measure -> estimate. `outlet` is where they
    are shown, the page's "matrix" or a "paper". Both are empty for a study of comparisons."""
    measures = [one.measure for one in text_measure_records(outlet) if one.measure is not None]
    if not measures or has_comparisons(filtered):
        return [], {}
    columns = estimate_all(measures, filtered.measured_judge_rows, ("judge", "prompt"))
    shown = [
        one
        for one in text_measure_records(outlet)
        if any(cell.value is not None for cell in columns[one.key].values())
    ]
    raters = {(judge, prompt) for judge, prompt in next(iter(columns.values()))}
    return shown, {
        rater: {one.key: columns[one.key][rater] for one in shown} for rater in sorted(raters)
    }


def _measure_columns(shown: list[MeasureRecord]) -> list[TypedColumn]:
    return [
        record_column(one, itemgetter(one.key), paper=one.column_head, tip=one.description)
        for one in shown
    ]


def reply_text_measures_table(filtered: FilteredStudy) -> Markup | None:
    """HTML table of the measures of reply texts by judge and prompt, for a study that judges single
    answers only; None for a study with comparisons, without values, or with only one row."""
    shown, found = _estimate_reply_text_measures(filtered, "matrix")
    if not shown or len(found) < 2:
        return None
    rows = [
        ValueRow(f"{judge} · {prompt}", one, {"judge": judge, "prompt": prompt})
        for (judge, prompt), one in found.items()
    ]
    columns, label = _measure_columns(shown), "Texts of replies"
    return wrap(page_table("Judge · prompt", columns, rows, label, named=False))


def reply_text_measures_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper: measures of reply texts by judge and prompt; None without such measures,
    or without model judges."""
    shown, found = _estimate_reply_text_measures(filtered, "paper")
    if not shown:
        return None
    definitions = {one.column_head: one.description for one in shown}
    title, columns = f"Texts of the replies on {filtered.name}.", _measure_columns(shown)
    end = f"{describe_items_and_filters(filtered)} {INTERVALS_TEXT}."
    return paper_table_by_judge(filtered, "Replies", title, columns, found, end, definitions)
