"""Panels on pass/fail verdicts: how often the judge is right, the true pass rate, order effects."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup
from components.html.pieces import empty_state, panel_heading
from components.results.pass_fail import panels, rate_tables
from components.results.pass_fail.computed import load_pass_fail
from components.results.view import result_view
from components.results.view.unusable_replies import load_unusable_shares
from metrics.labels.label_sections import pass_fail_sentence

AREAS_TITLE: Final = "Verdicts of the judge against the labels"


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    return panels.pass_fail_headline(load_pass_fail(filtered))


def order_headline(filtered: FilteredStudy) -> tuple[str, str] | None:
    return panels.pass_fail_order_headline(load_pass_fail(filtered))


def kpis(filtered: FilteredStudy) -> Markup:
    return panels.pass_fail_kpis(load_pass_fail(filtered))


def render_confusion_areas(filtered: FilteredStudy) -> result_view.Content:
    results = load_pass_fail(filtered)
    if results.shown_result is None:
        none = empty_state(*panels.pass_fail_headline(results))
        return result_view.Content({"areas": none}, panel_heading(AREAS_TITLE))
    labelled = count(results.shown_result.rates.confusion.total, "verdict")
    who, sizes = " · ".join(results.shown_rater or ()), panels.confusion_box_sizes_text(results)
    heading = panel_heading(AREAS_TITLE, f"{who}; {labelled} on labelled answers; {sizes}")
    return result_view.Content({"areas": panels.confusion_areas(results)}, heading)


def render_rates(filtered: FilteredStudy) -> Markup:
    results = load_pass_fail(filtered)
    return rate_tables.rates_table(results) if results.shown_result else EMPTY


def render_judges(filtered: FilteredStudy) -> Markup | None:
    """Render the table of rates by judge and prompt; None if there would be only one row."""
    return rate_tables.judges_table(load_pass_fail(filtered), load_unusable_shares(filtered))


def report_rates(filtered: FilteredStudy) -> result_view.ReportPanel | None:
    """Report section on pass/fail verdicts compared with labels, by judge and prompt; None without
    such verdicts."""
    found = load_pass_fail(filtered)
    if found.shown_result is None:
        return None
    sections = [
        (" · ".join(rater), f"{pass_fail_sentence(one)} {panels.format_rates_for_report(one)}")
        for rater, one in found.results.items()
    ]
    subtitle = f"{' · '.join(found.shown_rater or ())}; verdicts compared with the labels; "
    subtitle += f"95{NARROW_SPACE}% CI by item"
    body = rate_tables.rates_table(found) + panels.html.report(sections)
    return result_view.ReportPanel("Pass or fail", subtitle, body)


def render_rates_by_group(filtered: FilteredStudy) -> Markup | None:
    """Render the rates by model and category; None if there are neither several models nor several
    categories."""
    return rate_tables.rates_by_group_table(load_pass_fail(filtered))


def render_option_order_effect(filtered: FilteredStudy) -> Markup | None:
    """Render the effect of the order of the options; None if there was one order."""
    return panels.option_order_panel(load_pass_fail(filtered))


AREAS: Final = result_view.Panel(
    "areas",
    render_confusion_areas,
    (result_view.Body("areas", "eh-pass-areas", clickable=True),),
    AREAS_TITLE,
    scale=9,
    in_report=lambda filtered: load_pass_fail(filtered).shown_result is not None,
    table=rate_tables.confusion_paper_table,
    json_keys=("pass_fail.*.*.confusion.*",),
)
RATES: Final = result_view.Panel(
    "rates",
    render_rates,
    (result_view.Body("rates", "eh-pass-rates", clickable=True),),
    "How often is the judge right?",
    f"95{NARROW_SPACE}% CI by item",
    about=load_pass_fail,
    how="Sensitivity: passes among answers labelled good. Specificity: fails among answers "
    "labelled bad. Unusable replies enter no rate. Intervals: Wilson, by item.\n\nYouden's J "
    "is sensitivity + specificity − 1. True pass rate: labels are used where they exist; "
    "elsewhere (observed + specificity − 1) / J, with the limits of Lang and Reiczigel. The "
    "estimate assumes that the judge errs equally often on labelled and unlabelled answers. It is "
    "computed only if J is at least 0.2 and the lower limit of J above 0.06.",
    scale=17,
    report=report_rates,
    table=rate_tables.pass_rates_paper_table,
    json_keys=(
        "pass_fail.*.*.sensitivity",
        "pass_fail.*.*.specificity",
        "pass_fail.*.*.precision",
        "pass_fail.*.*.youden",
        "reliability.*.*",
    ),
)
JUDGES: Final = result_view.Panel(
    "judges",
    render_judges,
    (result_view.Body("judges", "eh-pass-judges", clickable=True),),
    "All judges",
    f"rates in %, 95{NARROW_SPACE}% CI by item",
    json_keys=(
        "pass_fail.*.*.true_pass_rate",
        "pass_fail.*.*.observed_pass_rate",
        "pass_fail.*.*.kappa",
    ),
)
ORDER: Final = result_view.Panel(
    "order",
    render_option_order_effect,
    (result_view.Body("order", "eh-pass-order", clickable=True),),
    "Does the order of the options matter?",
    "% of answers passed when “pass” is listed first and, for the same answers, when “fail” is; "
    f"95{NARROW_SPACE}% CI by item; those of the shifts of models and categories are adjusted for "
    "their number",
    about=load_pass_fail,
    needs="both orders of the options: set `options: rotations` in the study file",
    table=rate_tables.pass_fail_order_paper_table,
    json_keys=(
        "pass_by_order.*.*.shift",
        "pass_by_order.*.*.by_category.*.shift",
        "option_order.*.*",
    ),
)
WRONG: Final = result_view.Panel(
    "wrong",
    panels.wrong_verdicts_html,
    (result_view.Body("wrong", "eh-pass-wrong", clickable=True),),
    "Wrong verdicts",
    "answers whose label contradicts the verdict; if probabilities are stored, the verdicts to "
    "which the judge gave the highest probability come first",
    about=load_pass_fail,
    controls=(result_view.Control("errors", "Errors", panels.ERRORS, elem_id="eh-pass-errors"),),
    scale=13,
    json_keys=("pass_fail.*.*.confusion.*",),
)
PARTS_PANEL: Final = result_view.Panel(
    "pass_parts",
    render_rates_by_group,
    (result_view.Body("pass_parts", "eh-pass-parts", clickable=True),),
    "By model and category",
    f"rates in %, errors as counts; 95{NARROW_SPACE}% CI by item; click a name to read its replies",
    about=load_pass_fail,
    report=render_rates_by_group,
    json_keys=("--by category: pass_fail.*.*.observed_pass_rate",),
)
VIEW: Final = result_view.View(
    "Pass or fail",
    (
        result_view.PanelGroup((AREAS, RATES)),
        result_view.fold(WRONG.title, WRONG),
        result_view.fold("All judges, models and categories", JUDGES, PARTS_PANEL),
    ),
    headline,
    kpis,
    json_keys=(
        "pass_fail.*.*.true_pass_rate",
        "pass_fail.*.*.observed_pass_rate",
        "pass_fail.*.*.excess",
        "pass_fail.*.*.agreement",
        "pass_fail.*.*.unusable",
    ),
)
"""Panels of the view Agreement on pass/fail verdicts, with their headline and key figures."""
