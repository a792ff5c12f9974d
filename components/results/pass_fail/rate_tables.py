"""Tables of pass/fail verdicts, on the page and for a paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import rater_column_head, rater_names
from components.html.format import NARROW_SPACE, share
from components.html.markup import EMPTY, Markup
from components.html.pieces import notice_html, wrap
from components.html.tables import typed_columns
from components.html.tables.forest_cells import Axis, fit_share_axis
from components.html.tables.typed_columns import TypedColumn, ValueRow, measure_column, page_table
from components.html.tables.value_table import PERCENT, SCORE
from components.results.pass_fail.computed import GROUP_WORDS, PassFailResults, load_pass_fail
from components.results.view.paper_table import PaperTable, describe_items_and_filters
from components.results.view.unusable_replies import unusable_column
from metrics.catalogue.records import RECORDS
from metrics.labels.label_sections import REVERSAL_NOTE
from metrics.labels.true_pass_rate import is_by_labels
from studies.domain import Estimate, Rater

SENSITIVITY: Final = measure_column("pass_fail.sensitivity", "rates.sensitivity", "Sensitivity")
SPECIFICITY: Final = measure_column("pass_fail.specificity", "rates.specificity", "Specificity")
KAPPA: Final = measure_column("pass_fail.kappa", "rates.kappa", "κ")
OBSERVED: Final = measure_column(
    "pass_fail.observed_pass_rate", "rates.observed_pass_rate", "Observed"
)
TRUE: Final = measure_column("true_pass_rate", "true_pass_rate", "True")
JUDGE_COLUMNS: Final = (SENSITIVITY, SPECIFICITY, KAPPA, OBSERVED, TRUE)
PAPER_COLUMNS: Final = (
    SENSITIVITY,
    SPECIFICITY,
    measure_column("pass_fail.youden", "rates.youden", "J"),
    KAPPA,
    measure_column("pass_fail.base_rate", "rates.base_rate", "Base", interval=False),
    OBSERVED,
    TRUE,
    TypedColumn("n", attrgetter("rates.confusion.total"), paper="n", interval=False),
)
PART_COLUMNS: Final = (
    measure_column("pass_fail.sensitivity", "sensitivity"),
    measure_column("pass_fail.specificity", "specificity"),
    measure_column("pass_fail.kappa", "kappa"),
    measure_column("pass_fail.observed_pass_rate", "observed_pass_rate", n=True),
    TypedColumn("False passes", attrgetter("confusion.pass_bad")),
    TypedColumn("False fails", attrgetter("confusion.fail_good")),
)
CONFUSION_COLUMNS: Final = tuple(
    TypedColumn(head, attrgetter(path), paper=head, interval=False)
    for head, path in (
        ("Good, passed", "rates.confusion.pass_good"),
        ("Good, failed", "rates.confusion.fail_good"),
        ("Bad, passed", "rates.confusion.pass_bad"),
        ("Bad, failed", "rates.confusion.fail_bad"),
        ("Unusable", "rates.unusable"),
    )
)
ORDER_COLUMNS: Final = (
    measure_column("option_order.changed", "changed", "Changed"),
    measure_column("option_order.noise_floor", "noise_floor", "Noise"),
    measure_column("option_order.first", "first_place", "First"),
    measure_column("option_order.expected", "expected_first", "Expected", interval=False),
    TypedColumn("n", attrgetter("changed.n"), paper="n", interval=False),
)
INTERVALS_TEXT: Final = "95 % intervals over items"
ORDER_DEFINITIONS: Final = {
    "Changed": "% of answers with another verdict in another order of the options",
    "Noise": "% of verdicts that change when repeated in the same order",
    "First": "% of verdicts for the option listed first",
    "Expected": "value of First without an order effect",
}
"""Head of a column of the table for a paper -> what its values are."""
RATE_DEFINITIONS: Final = {
    "Sensitivity": "% of verdicts on good answers that pass",
    "Specificity": "% of verdicts on bad answers that fail",
    "J": "sensitivity + specificity − 1",
    "κ": "agreement beyond chance",
    "Base": "% of labelled verdicts whose answer is good",
    "Observed": "% of all verdicts that pass",
    "True": "% of verdicts on answers that are good, by the label if there is one, else by the "
    "observed rate corrected for the judge's errors (Rogan and Gladen, limits of Lang and "
    "Reiczigel)",
}


def as_sentence(text: str) -> str:
    """The text with a capital first letter and a full stop; an empty text stays empty."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def rates_table(results: PassFailResults) -> Markup:
    """HTML tables for the judge and prompt shown: sensitivity, specificity, precision and
    Youden's J with intervals; then the share of good labels by the probability of a pass that
    the judge gave. A warning follows if its pass rate is corrected and its errors differ between
    models. A notice instead,
    without labels."""
    found = results.shown_result
    if found is None or not found.rates.confusion.total:
        return notice_html("calm", results.why_unlabelled)
    rates, base = found.rates, found.rates.base_rate.value
    rows = [
        ValueRow(RECORDS[f"pass_fail.{key}"].name, (estimate, style, chance), note=note)
        for key, note, estimate, style, chance in (
            ("sensitivity", "% of good answers that pass", rates.sensitivity, PERCENT, 0.5),
            ("specificity", "% of bad answers that fail", rates.specificity, PERCENT, 0.5),
            ("precision",
             f"% of passes whose label is good (of all labels, {share(base, 0)} are "
             "good)", rates.precision, PERCENT, base),
            ("youden", "sensitivity + specificity − 1; 0 is chance level; below 0.2 the pass "
             "rate is not corrected", rates.youden, SCORE, 0.0),
        )
    ]  # fmt: skip
    head = f"Value, 95{NARROW_SPACE}% CI"
    table = _estimates_with_plots_table("Rate", head, rows, "Rates of the judge")
    made = wrap(table, _reliability_table(results))
    warning = notice_html("warn", as_sentence(REVERSAL_NOTE))
    corrects = found.may_reverse_ranking and not is_by_labels(found.true_pass_rate)
    return made + warning if corrects else made


def _reliability_table(results: PassFailResults) -> Markup:
    """HTML table of the share of good answers among the answers to which the judge gave the same
    probability of a pass; without probabilities, among those with the same share of passes in
    several verdicts. Empty if there is only one such value, or only 0 and 1."""
    points = results.reliability.get(results.shown_rater or ("", ""), ())
    if len(points) < 2 or all(one.value in (0.0, 1.0) for one in points):
        return EMPTY  # one verdict per answer without probabilities: precision says the same
    by, row = "share of the judge's verdicts that pass", "passes"
    if points[0].by_probability:
        by, row = "judge's probability of a pass", "probability"
    rows = [
        ValueRow(f"{row} {share(one.value, 0)}", (one.label, PERCENT, one.value)) for one in points
    ]
    heads = (by.capitalize(), "Good answers, %")
    label = f"% of answers labelled good, by the {by}"
    return _estimates_with_plots_table(*heads, rows, label, named=False)


def _estimates_with_plots_table(
    first: str, head: str, rows: Sequence[ValueRow], label: str, named: bool = True
) -> Markup:
    """HTML table of estimates and their plots; values of a row: estimate, number format, chance.
    `first` and `head`: heads of the columns of names and of estimates; `label`: name of the table
    for screen readers; `named`: whether the hover card of an estimate contains the row's name (that
    of a plot always does)."""
    found = [row.values[0] for row in rows]
    below = any(end is not None and end < 0 for one in found for end in (one.low, one.value))
    axis = fit_share_axis(found, holds=(0.0, 1.0)) if below else Axis()  # J may be negative
    columns = [
        TypedColumn(head, itemgetter(0), itemgetter(1), n=True),
        TypedColumn("", itemgetter(0), itemgetter(1), axis=axis, chance=itemgetter(2)),
    ]
    return page_table(first, columns, rows, label, named)


def judges_table(results: PassFailResults, unusable: Mapping[Rater, Estimate]) -> Markup | None:
    """HTML table of pass/fail rates and the share of unusable replies (`unusable`) by judge and
    prompt; None if there would be only one row."""
    if len(results.results) < 2:
        return None

    def read_by_rater(column: TypedColumn) -> TypedColumn:
        return replace(column, get=lambda rater: column.get(results.results[rater]))

    columns = [*map(read_by_rater, JUDGE_COLUMNS), unusable_column(unusable)]
    return wrap(rater_table(columns, results.results, "Judges"))


def rater_table(columns: Sequence[TypedColumn], raters: Iterable[Rater], label: str) -> Markup:
    """HTML table with a row for each judge and prompt; the columns compute their cells from the
    pair (judge, prompt). `label` names the table for screen readers."""
    rows = [
        ValueRow(" · ".join(rater), rater, {"judge": rater[0], "prompt": rater[1]})
        for rater in raters
    ]
    return page_table("Judge · prompt", columns, rows, label, named=False)


def rates_by_group_table(results: PassFailResults) -> Markup | None:
    """HTML table of the rates by model and by category; None if there are neither several models
    nor several categories."""
    if not results.parts or results.shown_rater is None:
        return None
    judge, prompt = results.shown_rater
    rows = [
        ValueRow(name, one, {"judge": judge, "prompt": prompt, column: name}, GROUP_WORDS[column])
        for column, parts in results.parts.items()
        for name, one in parts.items()
    ]
    label = "Pass rates and error rates by model and category"
    return wrap(page_table("Model or category", PART_COLUMNS, rows, label))


def paper_table_by_judge(
    filtered: FilteredStudy,
    name: str,
    title: str,
    columns: Sequence[TypedColumn],
    found: Mapping[tuple[str, str], Any],
    end: str,
    definitions: Mapping[str, str] | None = None,
) -> PaperTable | None:
    """Table for a paper with one row for each (judge, prompt) in `found`; the `columns` compute the
    cells of a row from the value that `found` has for this judge and prompt. None without model
    judges.

    The caption is `title`, then the definition of each column that has a value (`definitions`:
    column head -> text), then `end`."""
    if filtered.measured_judge_rows.empty or filtered.has_only_people:
        return None
    names = rater_names(filtered.measured_judge_rows)
    rows = [ValueRow(names[rater], one) for rater, one in found.items()]
    head = typed_columns.paper_head(rater_column_head(names), columns)
    told = [
        f"{one.paper}: {definitions[one.paper]}."
        for one in columns
        if definitions and one.paper in definitions
        if any(one.get(values).value is not None for values in found.values())
    ]
    caption = " ".join([title, *told, end])
    return PaperTable(name, caption, head, typed_columns.paper_rows(columns, rows))


def confusion_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper: verdicts on good and on bad answers; None without model judges."""
    title = (
        f"Verdicts on labelled answers of {filtered.name}: how many good and bad answers each "
        "judge passed and failed. Unusable replies are never counted as a fail."
    )
    end = describe_items_and_filters(filtered, labelled=True)
    results = load_pass_fail(filtered).results
    found = {rater: one for rater, one in results.items() if one.rates.confusion.total}
    return paper_table_by_judge(filtered, "Confusion", title, CONFUSION_COLUMNS, found, end)


def pass_rates_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper: sensitivity, specificity, Youden's J, κ, base rate, and observed and true
    pass rate; None without model judges."""
    title = f"Pass/fail verdicts on {filtered.name} against labels."
    end = f"{describe_items_and_filters(filtered)} {INTERVALS_TEXT}; n: labelled verdicts."
    found = load_pass_fail(filtered).results
    return paper_table_by_judge(
        filtered, "Pass or fail", title, PAPER_COLUMNS, found, end, RATE_DEFINITIONS
    )


def pass_fail_order_paper_table(filtered: FilteredStudy) -> PaperTable | None:
    """Table for a paper: effect of the order of pass and fail; None without model judges."""
    title = f"Order of the options pass and fail on {filtered.name}."
    items = describe_items_and_filters(filtered)
    end = f"{items} {INTERVALS_TEXT}; n: answers judged in both orders."
    found = load_pass_fail(filtered).order
    return paper_table_by_judge(
        filtered, "Pass/fail order", title, ORDER_COLUMNS, found, end, ORDER_DEFINITIONS
    )
