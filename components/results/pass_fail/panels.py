"""Panels of the pass/fail view: headline, key figures, confusion matrix, order of the options,
list of wrong verdicts. The template `pass_fail.html` has their HTML."""

from typing import Any, Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import short_rater_names
from components.html.format import (
    CLICK_HINT,
    MIN_COLOURED_ITEMS,
    count,
    decimal,
    number,
    percent,
    points,
    share,
    spaced_ci,
)
from components.html.heatmap import colour_scale_html
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import kpi_strip, notice_html, share_kpi, unusable_replies_kpi, wrap
from components.html.scales import ColourScale
from components.html.tables.typed_columns import TypedColumn, ValueRow, page_table
from components.html.tables.value_table import PERCENT, value_cell
from components.html.templates import macros
from components.results.pass_fail.computed import GROUP_WORDS, PassFailResults, load_pass_fail
from components.results.pass_fail.rate_tables import as_sentence
from metrics.catalogue.records import RECORDS
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.labels.label_sections import PassFailResult, format_pass_shares
from metrics.labels.labelled_rows import confusion_cell_mask
from metrics.labels.option_order import OptionOrder
from metrics.labels.true_pass_rate import true_rate_name
from studies.domain import Estimate
from studies.frames.point_columns import EXPECTED_COLUMN

html: Final = macros("results/pass_fail/pass_fail.html")
AREAS: Final = (
    ("pass_good", "good, passed", False),
    ("fail_good", "false fails", True),
    ("pass_bad", "false passes", True),
    ("fail_bad", "bad, failed", False),
)
"""Cells of the confusion matrix: field name, label of the area, whether its verdicts are wrong."""
SHIFT_SCALE: Final = ColourScale(
    "Shift",
    "b",
    0,
    0.2,
    (
        "no colour: no significant difference between the two orders",
        "full colour: pass rates of the two orders differ by 20 points or more",
    ),
    1,
    unit="points",
    signed=True,
    is_two_sided=True,
)
"""Colour scale of the difference between the two pass rates."""
ALL_ANSWERS: Final = "All answers"

KINDS: Final = {
    "False passes": ("pass_bad", "false pass", True),
    "False fails": ("fail_good", "false fail", False),
}
"""Choice of the switch -> (cell of the confusion table, noun, whether the verdict is a pass)."""
ERRORS: Final = tuple(KINDS)
MAX_ROWS: Final = 5
MAX_QUESTION: Final = 160


def pass_fail_headline(results: PassFailResults) -> tuple[str, str]:
    """Headline: the shares of good and of bad answers that the judge passes. Sentence below it:
    the true pass rate (from the labels, or estimated with them) and the observed one. Without
    labels, only the observed one is known. Without pass/fail verdicts, a message."""
    found = results.shown_result
    if found is None or results.shown_rater is None:
        return "No pass/fail verdict passes the filters.", "Remove a filter to see verdicts."
    rates, true = found.rates, found.true_pass_rate
    observed = share(rates.observed_pass_rate.value, 0)
    errors = format_pass_shares(rates.sensitivity.value, rates.specificity.value)
    several = len(results.results) > 1  # then the headline names the judge that it is about
    who = short_rater_names(list(results.results))[results.shown_rater] if several else "The judge"
    errors = errors.replace("The judge", who, 1)
    if not errors:
        return f"{who} passes {observed} of the answers.", results.why_unlabelled
    title = f"{errors}."
    if true.value is None:
        return title, f"The observed pass rate is {observed}. {as_sentence(true.note)}"
    rate = f"{share(true.value, 0)}{spaced_ci(true, 0, scale=100)}"
    gap = found.excess
    lead = f"The {true_rate_name(true)} is **{rate}**, the observed one {observed}"
    if not is_pass_rate_wrong(results):
        adjusted = f", adjusted for {count(results.tests)} judges and prompts"
        return title, f"{lead}: no significant difference{adjusted if gap.excludes_zero else ''}."
    sign = 1 if (gap.value or 0.0) > 0 else -1
    low, high = sorted(sign * (end or 0.0) for end in (gap.low, gap.high))
    bounds = spaced_ci(Estimate(None, low, high), 0, scale=100)
    size = f"{points(number(100 * sign * (gap.value or 0.0)))}{bounds}"
    return title, f"{lead}: the judge's pass rate is {size} too {'high' if sign > 0 else 'low'}."


def pass_fail_order_headline(results: PassFailResults) -> tuple[str, str] | None:
    """Headline: share of answers that get another verdict when "pass" and "fail" change places in
    the prompt. Sentence below it: the same share for repeats in one order, and the change of
    the pass rate. None if no answer was judged in both orders."""
    if results.shown_rater is None or results.shift is None:
        return None
    changed, shift = results.order[results.shown_rater].changed, results.shift.shift
    repeated = results.order[results.shown_rater].noise_floor
    if changed.value is None or shift.value is None:
        return None
    several = len(results.results) > 1
    by = f" by {short_rater_names(list(results.results))[results.shown_rater]}" if several else ""
    where = f"{percent(changed, 0, n=False)} of answers"
    title = f"{where} get another verdict{by} when pass and fail change places."
    if repeated.value is not None and not results.order[results.shown_rater].is_shown:
        title = (
            f"No effect of the order of pass and fail is shown: {where} get another verdict{by}."
        )
    beside = (
        "No answer was judged twice in one order, so part may be noise."
        if repeated.value is None
        else f"Of repeats in the same order, {percent(repeated, 0, n=False)} differ."
    )
    same = "" if shift.excludes_zero else ": no significant difference"
    size = f"{points(SHIFT_SCALE.text(shift.value))} {SHIFT_SCALE.interval(shift)}".rstrip()
    return title, f"{beside} With “pass” listed first, the pass rate differs by {size}{same}."


def is_pass_rate_wrong(results: PassFailResults) -> bool:
    """Whether observed and true pass rate differ significantly, adjusted for the number of judges
    and prompts; False if one of the two rates is unknown."""
    found = results.shown_result
    return bool(found and simultaneous_interval(found.excess, results.tests).excludes_zero)


def pass_fail_kpis(results: PassFailResults) -> Markup:
    """HTML row of key figures: true and observed pass rate, agreement with labels, verdicts changed
    by the order of the options (if measured), unusable replies; empty without pass/fail
    verdicts."""
    found = results.shown_result
    if found is None:
        return EMPTY
    rates = found.rates
    base = rates.base_rate.value
    always = "" if base is None else f"; a judge that always passes: {share(base)}"
    kappa = f"κ {number(rates.kappa.value, 2)}{spaced_ci(rates.kappa, 2)}"
    changed = results.order.get(results.shown_rater or ("", ""))
    kpis = [
        share_kpi(true_rate_name(found.true_pass_rate).capitalize(), found.true_pass_rate),
        share_kpi("Observed pass rate", rates.observed_pass_rate),
        share_kpi("Agreement with labels", rates.agreement, beside=f"{kappa}{always}"),
        *([share_kpi(RECORDS["option_order.changed"].name, changed.changed)]
          if changed else []),
        unusable_replies_kpi(
            rates.unusable, rates.unusable + rates.observed_pass_rate.n, "never counted as a fail"
        ),
    ]  # fmt: skip
    return kpi_strip(kpis)


SMALL_BOX, SMALL_COLUMN = 0.2, 0.4
"""A box is drawn larger than its number of verdicts asks for, so that its text has room, if it is
less than SMALL_BOX of its column's height, or the column less than SMALL_COLUMN of the width (see
.eh-areas in assets/style.css)."""


def confusion_box_sizes_text(results: PassFailResults) -> str:
    """Text on the diagram of verdicts against labels: the area of a box is its number of verdicts;
    a note is added if small boxes are drawn larger, so that their text has room."""
    found = results.shown_result
    table = found.rates.confusion if found else None
    columns = [] if table is None else [
        (table.pass_good, table.fail_good), (table.pass_bad, table.fail_bad)
    ]  # fmt: skip
    whole = sum(map(sum, columns))
    narrow = any(0 < sum(column) < SMALL_COLUMN * whole for column in columns)
    flat = any(0 < box < SMALL_BOX * sum(column) for column in columns for box in column)
    return "area = number of verdicts" + ("; small boxes enlarged" if narrow or flat else "")


def confusion_areas(results: PassFailResults) -> Markup:
    """HTML of the confusion matrix as four areas, each proportional to its number of verdicts
    (small ones are enlarged); wrong verdicts are plum-coloured. A notice without labels."""
    found = results.shown_result
    if found is None or not found.rates.confusion.total:
        return notice_html("calm", results.why_unlabelled)
    table = found.rates.confusion
    good, bad = table.pass_good + table.fail_good, table.pass_bad + table.fail_bad
    columns = [("good", good, AREAS[:2]), ("bad", bad, AREAS[2:])]
    return html.areas(columns, table, results.shown_rater)


def option_order_panel(results: PassFailResults) -> Markup | None:
    """HTML on the effect of listing "pass" or "fail" first; None if one order was used."""
    found = results.order.get(results.shown_rater or ("", ""))
    if found is None:
        return None
    texts = option_order_sentences(found)
    if len(found.shift) > 2:  # also letters were varied: the table pools them
        texts += [
            f"Pass rate (0 to 1) with the options in the order {name.replace(' ', ', ')} minus "
            f"pass rate in the other orders: {decimal(shift, 3)}."
            for name, shift in found.shift.items()
        ]
    return wrap(_pass_fail_order_table(results), html.paragraphs(texts))


def option_order_sentences(found: OptionOrder, noun: str = "verdict") -> list[str]:
    """Sentences on the effect of the order of the options; `noun`: "verdict" or "score"."""
    texts = [
        f"Answers with another {noun} in another order of the options: {percent(found.changed)}.",
        f"Share of {noun}s that change when repeated in the same order: "
        f"{percent(found.noise_floor) if found.noise_floor.value is not None else 'not measured'}.",
        f"Share of verdicts for the option listed first: {percent(found.first_place)}; expected "
        f"without an order effect: {share(found.expected_first.value)}.",
    ]
    if found.letter:
        texts.append(
            f"Share of verdicts for the option with the letter A: {percent(found.letter.share)}; "
            f"expected without a preference for A: {share(found.letter.expected.value)}."
        )
    return texts


def _pass_fail_order_table(results: PassFailResults) -> Markup:
    """HTML table: pass rate with pass listed first, with fail listed first, and their difference;
    one row for all answers, for each model and for each category. Empty if the difference was not
    computed."""
    if results.shift is None or results.shown_rater is None:
        return EMPTY
    whole: dict[str, Any] = dict(zip(("judge", "prompt"), results.shown_rater, strict=True))
    groups = [
        (name, column, one)
        for column, parts in results.shift_parts.items()
        for name, one in parts.items()
    ]
    first = _pass_rate_shift_cell(ALL_ANSWERS, results.shift.shift, whole, 1)
    rows = [ValueRow(ALL_ANSWERS, (results.shift, first))]
    for name, column, one in groups:
        cell = _pass_rate_shift_cell(name, one.shift, {**whole, column: name}, len(groups))
        rows.append(ValueRow(name, (one, cell), note=GROUP_WORDS[column]))
    table = page_table("Answers", SHIFT_COLUMNS, rows, "Pass rates by the option listed first")
    return table + colour_scale_html(SHIFT_SCALE)


SHIFT_COLUMNS: Final = (
    TypedColumn("Pass first, %", lambda row: row[0].pass_first),
    TypedColumn("Fail first, %", lambda row: row[0].fail_first),
    TypedColumn("Shift, points", lambda row: row[1]),
)


def _pass_rate_shift_cell(name: str, shift: Estimate, select: dict[str, Any], tests: int) -> Markup:
    """HTML button with `shift`, the change of the pass rate of the group `name` (pass listed
    first, minus fail listed first), and its interval, widened for `tests` groups. "not
    significant" is added if the interval contains 0. A click opens the judgements that `select`
    selects. If `shift` has no value, a dash."""
    if shift.value is None:
        return value_cell(shift, PERCENT, who=name)
    wide = simultaneous_interval(shift, max(tests, 1), bounds=(-1.0, 1.0))
    value, bounds = SHIFT_SCALE.text(shift.value), SHIFT_SCALE.interval(wide)
    same = "" if wide.excludes_zero else " not significant"
    lines = [
        f"{points(value)} {bounds}{same}",
        f"{name}: pass rate with pass listed first minus pass rate with fail listed first",
        f"{count(shift.items, 'item')}, n {count(shift.n)}",
        CLICK_HINT,
    ]
    colour = SHIFT_SCALE.css_class(0.0 if same else shift.value)
    css = colour if shift.items >= MIN_COLOURED_ITEMS else "few"
    return html.shift(css, select, lines, value, bounds + same)


def wrong_verdicts_html(filtered: FilteredStudy, errors: str) -> Markup | None:
    """HTML list of up to MAX_ROWS false passes or false fails (`errors`: one of ERRORS) of the
    judge and prompt shown; a sentence if there are none of this kind. None if there are none of
    either kind, or if no text of a question is stored."""
    rater = load_pass_fail(filtered).shown_rater
    if rater is None:
        return None
    frame = filtered.measured_judge_rows
    rows = frame[(frame["judge"] == rater[0]) & (frame["prompt"] == rater[1]) & ~frame["noise"]]
    found = {kind: rows[confusion_cell_mask(rows, kind)] for kind, *_ in KINDS.values()}
    surest = {kind: _select_surest_rows(found[kind], passed) for kind, _, passed in KINDS.values()}
    items = {str(item) for one in surest.values() for item in one["item"]}
    shown = filtered.store.questions(filtered.name, items) if items else {}
    if not any(text.strip() for text in shown.values()):
        return None
    kind, noun, _ = KINDS.get(errors, KINDS[ERRORS[0]])
    top = surest[kind]
    if top.empty:
        return wrap(fill('<p class="eh-small eh-mute">{}</p>', f"There is no {noun}."))
    lines = []
    for item, category in zip(top["item"].astype(str), top["category"], strict=True):
        question = " ".join((shown.get(item) or item).split())[:MAX_QUESTION]
        lines.append((item, question, str(category or "")))
    total = len(found[kind].drop_duplicates(["item", "first"]))
    title = f"{count(total, 'answer')} with a {noun}"
    select = {"judge": rater[0], "prompt": rater[1], "checked": kind}
    return html.wrong(title, lines, total, select)


def _select_surest_rows(rows: pd.DataFrame, passed: bool) -> pd.DataFrame:
    """The MAX_ROWS rows, each of another item, in which the judge was surest of its verdict. All
    verdicts in `rows` are passes (`passed`), or all are fails. If the judge's probabilities are
    unknown, the first rows."""
    if EXPECTED_COLUMN in rows:
        rows = rows.sort_values(EXPECTED_COLUMN, ascending=not passed, kind="stable")
    return rows.drop_duplicates("item").head(MAX_ROWS)


def format_rates_for_report(found: PassFailResult) -> str:
    """Text of one judge's rates, for the report."""
    rates = found.rates
    kappa = f"κ {number(rates.kappa.value, 2)}{spaced_ci(rates.kappa, 2)}"
    return (
        f"Sensitivity {percent(rates.sensitivity)}; specificity {percent(rates.specificity)}; "
        f"agreement with the labels {percent(rates.agreement)}, {kappa}; "
        f"{share(rates.base_rate.value)} of labels are good; unusable replies: "
        f"{count(rates.unusable)}."
    )
