"""Panels on scores of single answers: arrangement heatmap, order effects, agreement with labels."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, Markup
from components.html.pieces import empty_state, panel_heading, wrap
from components.results.pass_fail.panels import html
from components.results.pass_fail.scores import panels, score_tables
from components.results.pass_fail.scores.computed import load_scores
from components.results.view.result_view import Body, Content, Panel, ReportPanel, View, fold
from components.results.view.unusable_replies import load_unusable_shares

MATRIX_TITLE: Final = "Scores by arrangement"


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    return panels.scores_headline(load_scores(filtered))


def order_headline(filtered: FilteredStudy) -> tuple[str, str] | None:
    """Headline and the sentence below it if scores in several orders of options or criteria are
    known; else None."""
    results = load_scores(filtered)
    rater = results.shown_rater or ("", "")
    order, criteria = results.order.get(rater), results.criteria.get(rater)
    known = (order is not None and order.changed.value is not None) or (
        criteria is not None and criteria.overall.changed.value is not None
    )
    return panels.scores_headline(results) if known else None


def label_agreement_headline(filtered: FilteredStudy) -> tuple[str, str] | None:
    return panels.label_agreement_headline(load_scores(filtered))


def kpis(filtered: FilteredStudy) -> Markup:
    return panels.scores_kpis(load_scores(filtered))


def render_matrix(filtered: FilteredStudy) -> Content:
    results = load_scores(filtered)
    if results.distribution is None:
        none = empty_state(*panels.scores_headline(results))
        return Content({"score_matrix": none}, panel_heading(MATRIX_TITLE))
    who, counted = " · ".join(results.shown_rater or ()), results.distribution.counted
    arranged = count(len(results.distribution.arrangements), "arrangement")
    subtitle = f"{who}; {arranged}; % of {counted}, 95{NARROW_SPACE}% CI"
    made = panels.score_by_arrangement_matrix(results) + panels.expected_levels_table(results)
    return Content({"score_matrix": made}, panel_heading(MATRIX_TITLE, subtitle))


def render_order_effects(filtered: FilteredStudy) -> Markup:
    results = load_scores(filtered)
    return EMPTY if results.distribution is None else panels.order_effects_html(results)


def render_agreement_with_labels(filtered: FilteredStudy) -> Markup | None:
    """Render the agreement of scores with labels, of the judge and prompt shown; None if none of
    their scores has a label."""
    results = load_scores(filtered)
    labelled = (
        results.distribution is not None and (results.shown_rater or ("", "")) in results.agreement
    )
    return score_tables.label_agreement_table(results) if labelled else None


def render_bias_by_model(filtered: FilteredStudy) -> Markup | None:
    """Render the mean of score − label by model, of the judge and prompt shown; None if fewer than
    two models have labelled scores."""
    results = load_scores(filtered)
    found = results.bias_by_model.get(results.shown_rater or ("", ""))
    text = f"Mean of score − label, scale points, 95{NARROW_SPACE}% CI"
    return wrap(panels.score_shift_table("Model", found, text)) if found else None


def render_contradictions(filtered: FilteredStudy) -> Markup | None:
    """Render the contradictions between scores and comparisons; None if no judge gave both."""
    return score_tables.scores_against_comparisons_table(load_scores(filtered))


def render_judges(filtered: FilteredStudy) -> Markup | None:
    """Render the table of scores by judge and prompt; None if there would be only one row."""
    return score_tables.score_judges_table(load_scores(filtered), load_unusable_shares(filtered))


def report_scores_by_arrangement(filtered: FilteredStudy) -> ReportPanel | None:
    """Report panel with the heatmap, and one sentence on each judge; None without scores."""
    results = load_scores(filtered)
    if results.distribution is None:
        return None
    sections = [
        (" · ".join(rater), panels.score_report_sentence(rater, results))
        for rater in results.distributions
    ]
    subtitle = (
        f"{' · '.join(results.shown_rater or ())}; % of {results.distribution.counted} with each "
        f"score, by order of options and criteria; 95{NARROW_SPACE}% CI by item"
    )
    levels = panels.expected_levels_table(results)
    content = panels.score_by_arrangement_matrix(results) + levels + html.report(sections)
    return ReportPanel(MATRIX_TITLE, subtitle, content)


MATRIX: Final = Panel(
    "score_matrix",
    render_matrix,
    (Body("score_matrix", "eh-score-matrix", clickable=True),),
    MATRIX_TITLE,
    report=report_scores_by_arrangement,
    table=score_tables.criteria_order_paper_table,
    json_keys=(
        "score_distribution.*.*.arrangements.*.shares.*",
        "score_distribution.*.*.criteria.*.expected",
    ),
)
ORDER: Final = Panel(
    "score_order",
    render_order_effects,
    (Body("score_order", "eh-score-order"),),
    "Do scores change?",
    about=load_scores,
    how="Arrangements (orders of options and of criteria) are compared on the same answer. The "
    "expected share of a position assumes no order effect: it is computed from each answer's "
    "verdicts, pooled over all orders. A rubric's score is the mean of the scores "
    "of its criteria; the heatmap counts the score of each criterion. Unusable replies enter "
    "no score. Intervals: by item.",
    report=lambda filtered: render_order_effects(filtered) or None,
    table=score_tables.option_order_paper_table,
    json_keys=("option_order.*.*.changed", "criteria_order.*.*", "point_repeats.*.*.deviation"),
)
LABELS: Final = Panel(
    "score_labels",
    render_agreement_with_labels,
    (Body("score_labels", "eh-score-agreement"),),
    "Agreement of scores with labels",
    "the judge's scores compared with labels from the data or from people",
    about=load_scores,
    needs=score_tables.NO_LABELS,
    report=render_agreement_with_labels,
    table=score_tables.score_agreement_paper_table,
    json_keys=("scores.*.*.mae", "scores.*.*.bias", "scores.*.*.within_one"),
)
BY_MODEL: Final = Panel(
    "score_bias_by_model",
    render_bias_by_model,
    (Body("score_bias_by_model", "eh-score-bias-by-model"),),
    "Scores minus labels by model",
    "a judge favours a model whose value is higher than those of the others",
    about=load_scores,
    json_keys=("scores.*.*.by_contestant.*.bias",),
)
AGAINST: Final = Panel(
    "score_contradictions",
    render_contradictions,
    (Body("score_contradictions", "eh-score-contradictions", clickable=True),),
    "Scores against comparisons",
    "of the pairs with different scores and no tie, % in which the judge's comparison prefers the "
    "answer that it scored lower",
    report=lambda one: render_contradictions(one) if load_scores(one).distribution else None,
    json_keys=("score_contradictions.*.*",),
)
JUDGES: Final = Panel(
    "score_judges",
    render_judges,
    (Body("score_judges", "eh-score-judges", clickable=True),),
    "All judges",
    "mean scores; % of answers with another score in another order of the options; "
    f"95{NARROW_SPACE}% CI by item",
    json_keys=("score_distribution.*.*.mean",),
)
VIEW: Final = View(
    "Scores",
    (LABELS, fold("By model", BY_MODEL), AGAINST, fold("Scores of all judges", JUDGES)),
    headline,
    kpis,
    json_keys=("score_distribution.*.*.mean", "option_order.*.*.changed"),
)
"""Panels of the view Agreement on scores, with their headline and key figures."""
