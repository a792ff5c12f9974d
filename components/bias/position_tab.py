"""Results, position bias: does the place of an answer decide? The panels and what fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.bias import view as bias_view
from components.bias.counts import Bias, bias_in
from components.bias.labels import pair_labels
from components.bias.matrix import (
    BY_CATEGORY,
    BY_PROMPT,
    LAYOUTS,
    MEASURES,
    matrix_of,
    measures_for,
)
from components.bias.options import option_effects, option_finding
from components.bias.pair_tests import (
    CHOSEN,
    OPTION_TESTS,
    PAIR_TESTS,
    option_rows,
    option_tests,
    order_table_html,
    pair_tests,
)
from components.bias.unrelated import unrelated_of
from components.bias.words import RULE, finding_of
from components.drawing.panels import KeyMark, heading, how
from components.format import NARROW, count
from components.plot import ClickableHTML, PlotlyView, Switch
from components.results_parts import Parts, pick
from components.scene import Scene
from components.voices import right_label

NAME: Final = "Position bias"
MEASURE: Final = "Consistency"


def build() -> Parts:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(heading(MEASURE, MEASURES[MEASURE].subtitle))
                layout = Switch(LAYOUTS, "Columns", elem_id="eh-columns")
            measure = Switch(measures_for(2), "Measure", elem_id="eh-measure")
            matrix = ClickableHTML(elem_id="eh-matrix")
            ClickableHTML(how(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10):
            slots_head = ClickableHTML(heading("Which slot is chosen"))
            slots = PlotlyView(height=300, elem_id="eh-slots")
            ClickableHTML(how(HOW_SLOTS))
    with gr.Column(elem_classes="eh-panel") as flips_panel:
        keys: list[tuple[KeyMark, str]] = [
            ("first", "toward the first shown"), ("second", "toward the second"),
        ]  # fmt: skip
        ClickableHTML(
            heading("Which way verdicts flip", "pairs whose verdict changed with the order", keys)
        )
        flips = ClickableHTML(elem_id="eh-flips")
        ClickableHTML(how(HOW_FLIPS))
    with gr.Column(elem_classes="eh-panel"):
        ClickableHTML(heading("Could this be chance?", "p, adjusted by Holm for the rows shown"))
        tests = ClickableHTML(elem_id="eh-order-tests")
        ClickableHTML(how(HOW_TESTS))
    with gr.Column(elem_classes="eh-panel"):
        labels_head = ClickableHTML(heading("Slot or label?"))
        labels = ClickableHTML(elem_id="eh-slot-or-label")
        labels_how = ClickableHTML(how(HOW_LABELS))
    with gr.Column(elem_classes="eh-panel", visible=False) as unrelated_panel:
        ClickableHTML(
            heading("With and without an unrelated option", "grade on the same items, equal N only")
        )
        unrelated = ClickableHTML(elem_id="eh-unrelated")
        ClickableHTML(how(HOW_UNRELATED))
    return Parts(
        shown=[head, matrix, slots_head, slots, flips_panel, flips, labels_head, labels, labels_how,
               tests, unrelated_panel, unrelated],
        clickable=[matrix, slots, flips, labels],
        controls={"measure": measure, "columns": layout},
        alone=dict.fromkeys(("measure", "columns"), ([head, matrix], show_measure)),
    )  # fmt: skip


HOW_MATRIX: Final = (
    "Each comparison is asked in every planned order. It survives if all orders name the same "
    "answer (or all a tie): `consistency = surviving / read in all orders`. Entropy is that of the "
    "slot chosen, divided by log2 N: it has little range and no sign, so read it beside what "
    "survives. A reply that cannot be read lowers n, never the value.\n\n"
    "Lean: `(flips toward first − flips toward second) / pairs`. Position term: the γ of "
    "`logit P(first wins) = θ_first − θ_second + γ`, so a strong answer shown first is not taken "
    "for bias. Grade: the harmonic mean of an item's slot entropy and the share of its most chosen "
    "answer. Intervals: Wilson at the effective n, items as clusters; means by item-cluster t; the "
    "position term by the item sandwich."
)
HOW_SLOTS: Final = (
    "Decisive verdicts of comparisons read in all orders, so content cancels: whatever differs "
    "from even is the place. `share = verdicts for the slot / decisive verdicts`."
)
HOW_FLIPS: Final = (
    f"A pair flips if the two orders do not mirror each other, ties included.\n\n{RULE}"
)
HOW_LABELS: Final = (
    "With f the first-slot share under labels A, B and g under B, A: `slot = (f + g)/2`, "
    "`label = (f + 1 − g)/2`; even is 50 for both. Among N options: the choice model "
    "`P(slot s) ∝ exp(θ_option + γ_slot + λ_label)`; shown is softmax(γ), what each place would "
    "get among equal answers. Intervals: item jackknife, item sandwich."
)
HOW_TESTS: Final = (
    "All ask whether verdicts follow content only. Sign: are flips toward first as likely as "
    "toward second (exact binomial). McNemar: the same by χ². Stuart–Maxwell: do win, tie and loss "
    "of one answer have the same shares in both orders. Permutation: choices of a comparison are "
    "exchanged over its orders, which changes nothing if only content counts; exact for pairs, "
    "999 draws among N options. LR: what places (or labels) add to the choice model. Among N "
    "options the slots' entropy stands beside the middle 95 % of what the same exchanges give.\n\n"
    "Holm's step-down holds the error of each column over its rows."
)
HOW_UNRELATED: Final = (
    "The unrelated option is an answer to another item. Added, it makes N larger, and a coin's "
    "grade changes with N; replacing the worst-ranked answer keeps N. Differences are paired by "
    "item; intervals are max-t adjusted for all rows over the item bootstrap."
)


def tell(scene: Scene) -> tuple[str, str]:
    bias = bias_in(scene)
    if bias.options == 2 or not bias.asked:
        return finding_of(bias)
    return option_finding(bias, option_rows(scene))


def kpis(scene: Scene) -> str:
    return bias_view.kpis_of(bias_in(scene), right_label(scene))


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The controls as an address or a new study wants them."""
    bias = bias_in(scene)
    names = measures_for(bias.options)
    sliced = bool(bias.categories) or len({prompt for _, prompt in bias.names}) < 2
    layout = BY_CATEGORY if sliced else BY_PROMPT
    return {
        "measure": gr.Radio(choices=names, value=pick(wanted.get("measure"), names)),
        "columns": gr.Radio(value=pick(wanted.get("columns"), LAYOUTS, layout)),
    }


def show(scene: Scene, measure: str, columns: str) -> list[Any]:
    bias = bias_in(scene)
    pairs = bias.options == 2
    return [
        *show_measure(scene, measure, columns),
        slots_heading(bias),
        bias_view.slots_of(bias),
        gr.Column(visible=pairs),
        bias_view.flips_of(bias) if pairs else "",
        *show_labels(scene, bias),
        show_tests(scene, bias),
        gr.Column(visible=not pairs),
        "" if pairs else unrelated_of(scene),
    ]


def show_measure(scene: Scene, measure: str, columns: str) -> list[Any]:
    """Only what a change of the measure or of the columns touches."""
    bias = bias_in(scene)
    names = measures_for(bias.options)
    measure = measure if measure in names else names[0]
    rows = "judge" if len({judge for judge, _ in bias.names}) > 1 else "prompt"
    by = "prompt" if columns != BY_CATEGORY else "category"
    title = f"{measure} by {rows} and {by}" if rows != by else f"{measure} by {by}"
    frame = scene.machines if MEASURES[measure].key == "position_term" else None
    return [heading(title, MEASURES[measure].subtitle), matrix_of(bias, measure, columns, frame)]


def slots_heading(bias: Bias) -> str:
    even = f"1/{bias.options}" if bias.options > 2 else "even"
    keys: list[tuple[KeyMark, str]] = [("first", "1st"), ("second", "2nd"), ("even", even)]
    told = f"% of {count(bias.whole('slot 0').n)} decisive verdicts, 95{NARROW}% CI"
    told += "; prompts pooled" if bias_view.pools_prompts(bias) else ""
    return heading("Which slot is chosen", told, keys)


def show_labels(scene: Scene, bias: Bias) -> list[Any]:
    """Heading, panel and drawer: for pairs two shares, among N options the choice model."""
    if bias.options == 2:
        told = f"% of decisive verdicts, 95{NARROW}% CI; labels crossed over slots"
        return [heading("Slot or label?", told), pair_labels(bias), how(HOW_LABELS)]
    told = f"% that each place would get among equal answers, 95{NARROW}% CI"
    made = option_effects(option_rows(scene), bias)
    return [heading("What a place is worth", told), made, how(HOW_LABELS)]


def show_tests(scene: Scene, bias: Bias) -> str:
    if bias.options == 2:
        return order_table_html(pair_tests(bias), PAIR_TESTS, "First : second", "Pairs")
    rows = option_tests(option_rows(scene), bias)
    return order_table_html(rows, OPTION_TESTS, CHOSEN, "Choices")
