"""The Position bias view of the Results tab: layout of its panels and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import accuracy_label
from components.html.format import NARROW_SPACE, count
from components.html.markup import Markup
from components.html.panel import LegendMark, how_computed, panel_heading
from components.layout.widgets import ClickableHTML, PlotlyView, Switch
from components.results.bias import panels as bias_view
from components.results.bias.bias_matrix import (
    BY_CATEGORY,
    BY_PROMPT,
    LAYOUTS,
    MEASURES,
    bias_matrix_html,
    measures_for,
)
from components.results.bias.computed import Bias, load_bias
from components.results.bias.evenness import ENTROPY_BAND_SUBTITLE, EVENNESS_RULE, load_evenness
from components.results.bias.many_options import option_finding, show_slot_effects
from components.results.bias.pair_tests import (
    ENTROPY_BAND_HEAD,
    OPTION_TEST_NAMES,
    PAIR_TEST_NAMES,
    load_option_rows,
    option_test_rows,
    order_test_family,
    order_tests_html,
    pair_test_rows,
)
from components.results.bias.sentences import PREFERENCE_RULE, bias_finding
from components.results.bias.slot_or_label import show_slot_or_label
from components.results.bias.unrelated_contrast import show_unrelated_contrast
from components.results.view_contract import ViewParts, pick_choice

NAME: Final = "Position bias"
DEFAULT_MEASURE: Final = "Consistency"
CHANGING_CONTROLS: Final = ("measure",)


def build() -> ViewParts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(
                    panel_heading(DEFAULT_MEASURE, MEASURES[DEFAULT_MEASURE].subtitle)
                )
                layout = Switch(LAYOUTS, "Columns", elem_id="eh-columns")
            measure = Switch(measures_for(2), "Measure", elem_id="eh-measure")
            matrix = ClickableHTML(elem_id="eh-matrix")
            ClickableHTML(how_computed(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10):
            slots_head = ClickableHTML(panel_heading("Which position is chosen"))
            slots = PlotlyView(height=300, elem_id="eh-slots")
            ClickableHTML(how_computed(HOW_SLOTS))
    with gr.Column(elem_classes="eh-panel") as flips_panel:
        keys: list[tuple[LegendMark, str]] = [
            ("first", "toward the first shown"),
            ("second", "toward the second"),
        ]
        ClickableHTML(
            panel_heading(
                "Which way verdicts flip", "pairs whose verdict changed with the order", keys
            )
        )
        flips = ClickableHTML(elem_id="eh-flips")
        ClickableHTML(how_computed(HOW_FLIPS))
    with gr.Column(elem_classes="eh-panel"):
        ClickableHTML(
            panel_heading(
                "Could this be chance?", "p, Holm-adjusted over all rows, whatever the filter"
            )
        )
        tests = ClickableHTML(elem_id="eh-order-tests")
        ClickableHTML(how_computed(HOW_TESTS))
    with gr.Column(elem_classes="eh-panel"):
        labels_head = ClickableHTML(panel_heading("Position or label?"))
        labels = ClickableHTML(elem_id="eh-slot-or-label")
        labels_how = ClickableHTML(how_computed(HOW_LABELS))
    with gr.Column(elem_classes="eh-panel", visible=False) as unrelated_panel:
        ClickableHTML(
            panel_heading(
                "With and without an unrelated option", "grade on the same items, equal N only"
            )
        )
        unrelated = ClickableHTML(elem_id="eh-unrelated")
        ClickableHTML(how_computed(HOW_UNRELATED))
    return ViewParts(
        outputs=[
            head,
            matrix,
            slots_head,
            slots,
            flips_panel,
            flips,
            labels_head,
            labels,
            labels_how,
            tests,
            unrelated_panel,
            unrelated,
        ],
        clickable=[matrix, slots, flips, labels],
        controls={"measure": measure, "columns": layout},
        partial_redraws=dict.fromkeys(("measure", "columns"), ([head, matrix], render_matrix)),
    )


HOW_MATRIX: Final = (
    "Each comparison is judged in every planned order. It is consistent if all orders choose the "
    "same answer (or all a tie): `consistency = consistent / judged in all orders`. Entropy: "
    "that of the chosen position, divided by log2 N. It varies little and shows no direction, so "
    "read it together with the consistency. An unusable reply lowers n, never the value.\n\n"
    "Lean: `(flips toward first − flips toward second) / pairs`. Position term: the γ of "
    "`logit P(first wins) = θ_first − θ_second + γ`, so a strong answer shown first does not count "
    "as bias. Grade: the harmonic mean of an item's slot entropy and the share of its most chosen "
    "answer. Intervals treat items as clusters: for "
    "shares Wilson at the effective sample size, for means Student's t, for the position term a "
    "sandwich standard error.\n\n" + EVENNESS_RULE
)
HOW_SLOTS: Final = (
    "Verdicts other than ties of comparisons judged in all orders, so content cancels out: any "
    "difference from even is due to the position. "
    "`share = verdicts for the position / verdicts other than ties`."
)
HOW_FLIPS: Final = (
    "A pair flips if its two orders do not choose the same answer (or both a tie).\n\n"
    + PREFERENCE_RULE
)
HOW_LABELS: Final = (
    "Let f be the share of the first position when the labels are A, B, and g its share when "
    "they are B, A: "
    "`position = (f + g)/2`, `label = (f + 1 − g)/2`; even is 50 for both. Among N options: the "
    "choice model `P(position s) ∝ exp(θ_option + γ_position + λ_label)`; shown is softmax(γ), the "
    "share of each position among equal answers. Intervals: jackknife "
    "over items for pairs, sandwich standard error over items for N options."
)
HOW_TESTS: Final = (
    "Null hypothesis: verdicts depend on content only. Sign: flips toward first are as likely as "
    "toward second (exact binomial). McNemar: the same by χ². Stuart–Maxwell: win, tie and loss of "
    "one answer have the same shares in both orders. Permutation: the choices of a comparison are "
    "exchanged over its orders, which has no effect if only content counts; "
    "exact for pairs, "
    "999 draws among N options. LR: likelihood-ratio test of positions (or labels) in the choice "
    "model. Among N options the entropy is shown with the middle 95 % of its permutation values."
    "\n\nHolm's step-down controls the family-wise error of each column over its rows."
)
HOW_UNRELATED: Final = (
    "The unrelated option is an answer to another item. Adding it increases N, and the grade of "
    "random choices changes with N; replacing the worst-ranked answer keeps N. Differences are "
    "paired by item; intervals are adjusted for all rows at once (max-t, bootstrap "
    "over items)."
)


def finding(filtered_study: FilteredStudy) -> tuple[str, str]:
    bias = load_bias(filtered_study)
    if bias.options == 2 or not bias.calls:
        return bias_finding(bias)
    return option_finding(bias, load_option_rows(filtered_study))


def kpis(filtered_study: FilteredStudy) -> Markup:
    return bias_view.bias_kpis_html(load_bias(filtered_study), accuracy_label(filtered_study))


def initial_controls(filtered_study: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Initial values of the view's controls, from the page address or from the data of a new
    study."""
    bias = load_bias(filtered_study)
    names = measures_for(bias.options)
    several = len({prompt for _, prompt in bias.names}) > 1
    sliced = not several or (bool(bias.categories) and bias.options == 2)
    layout = BY_CATEGORY if sliced else BY_PROMPT
    return {
        "measure": gr.Radio(choices=names, value=pick_choice(wanted.get("measure"), names)),
        "columns": gr.Radio(value=pick_choice(wanted.get("columns"), LAYOUTS, layout)),
    }


def available_choices(filtered_study: FilteredStudy) -> dict[str, list[str]]:
    """Choices of the controls in `CHANGING_CONTROLS`: the measures for this number of options."""
    return {"measure": measures_for(load_bias(filtered_study).options)}


def render(filtered_study: FilteredStudy, measure: str, columns: str) -> list[Any]:
    bias = load_bias(filtered_study)
    pairs = bias.options == 2
    return [
        *render_matrix(filtered_study, measure, columns),
        slots_heading(bias),
        bias_view.slot_figure(bias),
        gr.Column(visible=pairs),
        bias_view.flips_html(bias) if pairs else "",
        *render_labels(filtered_study, bias),
        render_tests(filtered_study, bias),
        gr.Column(visible=not pairs),
        "" if pairs else show_unrelated_contrast(filtered_study),
    ]


def render_matrix(filtered_study: FilteredStudy, measure: str, columns: str) -> list[Any]:
    """The outputs to redraw when the measure or the columns of the matrix change."""
    bias = load_bias(filtered_study)
    names = measures_for(bias.options)
    measure = measure if measure in names else names[0]
    rows = "judge" if len({judge for judge, _ in bias.names}) > 1 else "prompt"
    by = "prompt" if columns != BY_CATEGORY else "category"
    title = f"{measure} by {rows} and {by}" if rows != by else f"{measure} by {by}"
    frame = filtered_study.machines if MEASURES[measure].key == "position_term" else None
    evenness = (
        load_evenness(filtered_study)
        if bias.options > 2 and MEASURES[measure].key == "entropy" and columns == BY_PROMPT
        else None
    )
    subtitle = MEASURES[measure].subtitle if evenness is None else ENTROPY_BAND_SUBTITLE
    return [
        panel_heading(title, subtitle),
        bias_matrix_html(bias, measure, columns, frame, evenness),
    ]


def slots_heading(bias: Bias) -> Markup:
    even = f"1/{bias.options}" if bias.options > 2 else "even"
    keys: list[tuple[LegendMark, str]] = [("first", "1st"), ("second", "2nd")]
    if bias.options > 2:
        last = f"3rd to {bias.options}th" if bias.options > 3 else "3rd"
        keys.append(("tie", last))
    keys.append(("even", even))
    subtitle = (
        f"% of {count(bias.whole('slot 0').n)} verdicts other than ties, 95{NARROW_SPACE}% CI"
    )
    subtitle += "; prompts pooled" if bias_view.pools_prompts(bias) else ""
    return panel_heading("Which position is chosen", subtitle, keys)


def render_labels(filtered_study: FilteredStudy, bias: Bias) -> list[Any]:
    """Heading, panel and explanation on labels: two shares for pairs, the choice model for N
    options."""
    if bias.options == 2:
        subtitle = (
            f"% of verdicts other than ties, 95{NARROW_SPACE}% CI; labels crossed over positions"
        )
        return [
            panel_heading("Position or label?", subtitle),
            show_slot_or_label(bias),
            how_computed(HOW_LABELS),
        ]
    subtitle = f"% of choices for each position among equal answers, 95{NARROW_SPACE}% CI"
    effects = show_slot_effects(load_option_rows(filtered_study), bias)
    return [panel_heading("Effect of the position", subtitle), effects, how_computed(HOW_LABELS)]


def render_tests(filtered_study: FilteredStudy, bias: Bias) -> Markup:
    if bias.options == 2:
        rows, names = pair_test_rows(bias), PAIR_TEST_NAMES
        return order_tests_html(rows, names, "First : second", "Pairs", order_test_family(bias))
    rows, names = option_test_rows(load_option_rows(filtered_study), bias), OPTION_TEST_NAMES
    return order_tests_html(rows, names, ENTROPY_BAND_HEAD, "Choices", order_test_family(bias))
