"""Panels of the pass/fail view: chart of the confusion matrix, rates with intervals."""

from __future__ import annotations

import json
from typing import Any, Final

from components.html.format import NARROW_SPACE, count, interval, number, percent, share
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.panel import Axis, notice_html, wrap
from components.html.pieces import Kpi, kpi_strip, share_kpi, unusable_replies_kpi
from components.html.tables.value_table import (
    PERCENT,
    SCORE,
    ColumnHead,
    NumberStyle,
    forest_cell,
    name_cell,
    value_cell,
    value_table,
)
from components.results.pass_fail.computed import GROUP_WORDS, PassFailResults
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.labels.label_sections import REVERSAL_NOTE, PassFailResult, errors_text
from metrics.labels.pass_fail import Confusion
from studies.domain import Estimate

AREAS: Final = (
    ("pass_good", "good, passed", False),
    ("fail_good", "false fails", True),
    ("pass_bad", "false passes", True),
    ("fail_bad", "bad, failed", False),
)
"""Cells of the confusion matrix: field name, label of the area, whether its verdicts are wrong."""
NO_LABELS: Final = (
    "No answer has a label. To measure the judge, add a column named label to the data file, or "
    "labels to the items."
)


def pass_fail_finding(results: PassFailResults) -> tuple[str, str]:
    """Headline and the sentence below it: pass rates among good and bad answers, true and observed
    pass rate."""
    found = results.shown
    if found is None:
        return (
            "This study has no pass/fail verdicts.",
            "This view is for judges whose verdict on a single answer is pass or fail.",
        )
    rates, true = found.rates, found.true_pass_rate
    observed = share(rates.observed_pass_rate.value, 0)
    errors = errors_text(rates.sensitivity.value, rates.specificity.value)
    if not errors:
        return f"The judge passes {observed} of the answers.", NO_LABELS
    title = f"{errors}."
    if true.value is None:
        return title, f"The observed pass rate is {observed}. {_sentence(true.note)}"
    bounds = interval(true, 0, scale=100)
    gap = (rates.observed_pass_rate.value or 0.0) - true.value
    lead = f"The true pass rate is **{share(true.value, 0)} {bounds}**, the observed one {observed}"
    if not is_pass_rate_wrong(results):
        return title, f"{lead}: no significant difference."
    high = "high" if gap > 0 else "low"
    return title, f"{lead}: the judge's pass rate is {number(100 * abs(gap))} points too {high}."


def is_pass_rate_wrong(results: PassFailResults) -> bool:
    """Whether the observed pass rate lies outside the interval of the true pass rate, adjusted for
    the number of judges and prompts."""
    if results.shown is None:
        return False
    observed = results.shown.rates.observed_pass_rate.value
    true = simultaneous_interval(results.shown.true_pass_rate, len(results.results))
    if observed is None or true.low is None or true.high is None:
        return False
    return not true.low <= observed <= true.high


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def pass_fail_kpis(results: PassFailResults) -> Markup:
    """HTML row of key figures: true and observed pass rate, agreement with labels, verdicts changed
    by the order of the options, unusable replies."""
    found = results.shown
    if found is None:
        return EMPTY
    rates = found.rates
    base = rates.base_rate.value
    always = "" if base is None else f"; a judge that always passes: {share(base)}"
    changed = results.order.get(results.cell or ("", ""))
    kpis = [
        share_kpi("True pass rate", found.true_pass_rate),
        share_kpi("Observed pass rate", rates.observed_pass_rate),
        Kpi(
            "Agreement with labels",
            share(rates.agreement.value),
            note=f"κ {number(rates.kappa.value, 2)}{always}" if base is not None else
            rates.agreement.note,
        ),
        *([share_kpi("Answers whose verdict depends on the order of the options", changed.changed)]
          if changed else []),
        unusable_replies_kpi(
            rates.unusable, rates.unusable + rates.observed_pass_rate.n, "never counted as a fail"
        ),
    ]  # fmt: skip
    return kpi_strip(kpis)


def confusion_areas(results: PassFailResults) -> Markup:
    """HTML of the confusion matrix as four areas, each proportional to its number of verdicts;
    wrong verdicts are plum-coloured."""
    found = results.shown
    if found is None or not found.rates.confusion.total:
        return notice_html("calm", NO_LABELS)
    table = found.rates.confusion
    good, bad = table.pass_good + table.fail_good, table.pass_bad + table.fail_bad
    columns = [
        _area_column(results, table, "good", good, AREAS[:2]),
        _area_column(results, table, "bad", bad, AREAS[2:]),
    ]
    return wrap(fill('<div class="eh-areas">{}</div>', join(columns)))


def _area_column(
    results: PassFailResults,
    table: Confusion,
    label: str,
    total: int,
    areas: tuple[tuple[str, str, bool], ...],
) -> Markup:
    if not total:
        return EMPTY
    made = [
        _area(results, name, words, wrong, getattr(table, name))
        for name, words, wrong in areas
        if getattr(table, name)
    ]
    return fill(
        '<div class="col" style="flex-grow:{}"><p class="eh-small">{} <b>{}</b></p>{}</div>',
        total,
        label,
        count(total),
        join(made),
    )


def _area(results: PassFailResults, name: str, words: str, wrong: bool, n: int) -> Markup:
    made = attributes(
        {
            "type": "button",
            "class": "b16" if wrong else None,
            "style": f"flex-grow:{n}",
            "data-select": json.dumps(_selection(results, name)),
            "data-tip": f"{count(n, 'verdict')}: {words}\nClick to open the replies",
        }
    )
    return fill("<button{}><b>{}</b> <span>{}</span></button>", made, count(n), words)


def _selection(results: PassFailResults, checked: str) -> dict[str, Any]:
    judge, prompt = results.cell or ("", "")
    return {"judge": judge, "prompt": prompt, "checked": checked}


def rates_table(results: PassFailResults) -> Markup:
    """HTML table of sensitivity, specificity, precision and Youden's J with intervals, for the
    judge and prompt shown."""
    found = results.shown
    if found is None or not found.rates.confusion.total:
        return notice_html("calm", NO_LABELS)
    rates = found.rates
    base = share(rates.base_rate.value, 0)
    rows = [
        _rate_row("Good answers passed", "sensitivity, %", rates.sensitivity, PERCENT, 0.5),
        _rate_row("Bad answers failed", "specificity, %", rates.specificity, PERCENT, 0.5),
        _rate_row(
            "Good answers among passed answers",
            f"precision: % of passes whose label is good (of all labels, {base} are good)",
            rates.precision,
            PERCENT,
            rates.base_rate.value
        ),
        _rate_row("Youden's J", "sensitivity + specificity − 1; 0 is chance level; "
            "below 0.2 the pass rate is not corrected",
                  rates.youden, SCORE, 0.0),
    ]  # fmt: skip
    heads = [
        ColumnHead("Rate", numeric=False),
        ColumnHead(f"Value, 95{NARROW_SPACE}% CI"),
        ColumnHead("", axis=Axis()),
    ]
    warning = notice_html("warn", _sentence(REVERSAL_NOTE)) if found.may_reverse else EMPTY
    table = value_table(heads, rows, label="Rates of the judge")
    return wrap(table, _reliability_table(results)) + warning


def _reliability_table(results: PassFailResults) -> Markup:
    """HTML table with one row per probability of a pass that the judge gave: share of good answers
    among the answers with this probability. Empty if the judge gave only one probability, or only
    0 and 1."""
    points = results.reliability.get(results.cell or ("", ""), ())
    if len(points) < 2 or all(one.value in (0.0, 1.0) for one in points):
        return EMPTY  # one verdict per answer without probabilities: precision says the same
    axis = Axis()
    heads = [
        ColumnHead("Judge's probability of a pass", numeric=False),
        ColumnHead("Good answers, %"),
        ColumnHead("", axis=axis),
    ]
    rows = [
        [
            name_cell(share(one.value, 0)),
            value_cell(one.label, PERCENT, n=True),
            forest_cell(one.label, Axis(chance=one.value), PERCENT, share(one.value, 0)),
        ]
        for one in points
    ]
    return value_table(
        heads, rows, label="% of answers labelled good, by the judge's probability of a pass"
    )


def _rate_row(
    name: str, note: str, estimate: Estimate, style: NumberStyle, chance: float | None
) -> list[Markup]:
    axis = Axis(chance=chance)
    plot = EMPTY if estimate.value is None else forest_cell(estimate, axis, style, name)
    return [name_cell(name, note=note), value_cell(estimate, style, who=name, n=True), plot]


def judges_table(results: PassFailResults) -> Markup:
    """HTML table of pass/fail rates by judge and prompt; empty if there would be only one row."""
    if len(results.results) < 2:
        return EMPTY
    heads = [
        ColumnHead("Judge · prompt", numeric=False),
        *(
            ColumnHead(text)
            for text in (
                "Sensitivity, %",
                "Specificity, %",
                "κ",
                "Observed pass rate, %",
                "True pass rate, %",
            )
        ),
    ]
    rows = [
        [
            name_cell(f"{judge} · {prompt}", {"judge": judge, "prompt": prompt}),
            value_cell(one.rates.sensitivity, PERCENT),
            value_cell(one.rates.specificity, PERCENT),
            value_cell(one.rates.kappa, SCORE),
            value_cell(one.rates.observed_pass_rate, PERCENT),
            value_cell(one.true_pass_rate, PERCENT),
        ]
        for (judge, prompt), one in results.results.items()
    ]
    return wrap(value_table(heads, rows, label="Judges"))


def parts_table(results: PassFailResults) -> Markup | None:
    """HTML table of the rates by model and by category; None if there are neither several models
    nor several categories."""
    if not results.parts or results.cell is None:
        return None
    judge, prompt = results.cell
    heads = [
        ColumnHead("Model or category", numeric=False),
        *(
            ColumnHead(text)
            for text in ("Sensitivity, %", "Specificity, %", "κ", "Observed pass rate, %")
        ),
        ColumnHead("False passes"),
        ColumnHead("False fails"),
    ]
    rows = [
        [
            name_cell(
                name, {"judge": judge, "prompt": prompt, column: name}, note=GROUP_WORDS[column]
            ),
            value_cell(one.sensitivity, PERCENT, who=name),
            value_cell(one.specificity, PERCENT, who=name),
            value_cell(one.kappa, SCORE, who=name),
            value_cell(one.observed_pass_rate, PERCENT, who=name, n=True),
            fill("{}", count(one.confusion.pass_bad)),
            fill("{}", count(one.confusion.fail_good)),
        ]
        for column, parts in results.parts.items()
        for name, one in parts.items()
    ]
    return wrap(value_table(heads, rows, label="Pass rates and error rates by model and category"))


def report_lines(found: PassFailResult) -> str:
    """Text of one judge's rates, for the report."""
    rates = found.rates
    return (
        f"Sensitivity {percent(rates.sensitivity)}; specificity {percent(rates.specificity)}; "
        f"agreement with the labels {percent(rates.agreement)}, κ {number(rates.kappa.value, 2)}; "
        f"{share(rates.base_rate.value)} of labels are good; unusable replies: "
        f"{count(rates.unusable)}."
    )
