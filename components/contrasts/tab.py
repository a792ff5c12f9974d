"""Results, contrasts: two judges or two prompts on the same items. Panels and what fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.contrasts.families import FAMILIES, WITHIN
from components.contrasts.items import show_items
from components.contrasts.pair import Pair
from components.contrasts.sides import Side, elsewhere, first_two, sides
from components.contrasts.view import show_categories, show_family, show_finding, subtitle
from components.drawing.panels import finding, heading, how, wrap
from components.format import NARROW
from components.plot import ClickableHTML, Switch
from components.results_parts import Parts, pick
from components.scene import Scene

NAME: Final = "Contrasts"
KEYS: Final = (
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="thick"></i>one by one</span>'
    '<span class="eh-key"><i class="thin"></i>adjusted for the family</span>'
    '<span class="eh-key"><i class="chance"></i>no difference</span></div>'
)


def build() -> Parts:
    with gr.Row(elem_classes="eh-title-row eh-sides"):
        told = ClickableHTML(elem_id="eh-contrast-told")
        left = _side("A", "eh-left")
        right = _side("B", "eh-right")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            head = ClickableHTML(heading("Paired differences"))
            family = Switch(list(FAMILIES), "Family of measures")
        ClickableHTML(wrap(KEYS))
        table = ClickableHTML(elem_id="eh-contrasts")
        ClickableHTML(how(HOW_FAMILY))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=1):
            with gr.Row(elem_classes="eh-panel-head eh-one-filter"):
                head_within = ClickableHTML(heading("By category"))
                within = gr.Dropdown(
                    list(WITHIN), value=next(iter(WITHIN)), label="Measure by category",
                    show_label=False, container=False, interactive=True, elem_id="eh-within",
                    elem_classes="eh-filter",
                )  # fmt: skip
            categories = ClickableHTML(elem_id="eh-contrast-categories")
            ClickableHTML(how(HOW_CATEGORIES))
        with gr.Column(elem_classes="eh-panel", scale=1):
            head_items = ClickableHTML(heading("Items that differ most"))
            items = ClickableHTML(elem_id="eh-contrast-items")
    lower = [head_within, categories, head_items, items]
    return Parts(
        shown=[told, head, table, *lower],
        clickable=[table, categories, items],
        controls={"left": left, "right": right, "family": family, "within": within},
        alone={
            "family": ([told, head, table], show_upper),
            "within": (lower, show_lower),
        },
    )


def _side(label: str, elem_id: str) -> gr.Dropdown:
    """Empty stands for what a study opens with, so that an address need not say it."""
    return gr.Dropdown(
        [("", "")], value="", label=label, show_label=False, container=False, interactive=True,
        elem_id=elem_id, elem_classes="eh-filter eh-side", filterable=False,
    )  # fmt: skip


HOW_FAMILY: Final = (
    "Every item is drawn with both sides' verdicts, so what makes an item hard cancels: "
    "`d = measure(A) − measure(B)` on the items both have, interval by the item jackknife. "
    "Adjusted: the same error times the 95\u202f% quantile of the family's largest |t| over 1,000 "
    "item bootstrap rounds (max-t), so that all intervals of the family hold at once.\n\n"
    "Not told apart: the adjusted interval covers 0. That is not proof of equality: read its width."
)
HOW_CATEGORIES: Final = (
    "The categories are a family of their own, adjusted by max-t over its members. A category "
    "with fewer than five items is not in it."
)


def tell(scene: Scene) -> tuple[str, str]:
    """The finding depends on the sides, so the view tells it itself."""
    return "", ""


def kpis(scene: Scene) -> str:
    return ""


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    known = sides(scene)
    names = [*known, *elsewhere(scene)]
    made: dict[str, Any] = {}
    for control, default in zip(("left", "right"), first_two(scene, known), strict=True):
        offered = [(name, "" if name == default else name) for name in names]
        offered = offered if default else [("\u2013", ""), *offered]
        chosen = wanted.get(control, "")
        value = chosen if chosen in names and chosen != default else ""
        made[control] = gr.Dropdown(choices=offered, value=value)
    made["family"] = gr.Radio(value=pick(wanted.get("family"), list(FAMILIES)))
    measures = list(WITHIN)
    made["within"] = gr.Dropdown(choices=measures, value=pick(wanted.get("within"), measures))
    return made


def pair_of(scene: Scene, left: str, right: str) -> Pair:
    """The two sides as the controls name them; what is empty or gone is the default."""
    known = sides(scene)
    if {left, right} - {""} - set(known):
        known |= elsewhere(scene)
    first, second = (left, right) if {left, right} <= set(known) else first_two(scene, known)
    nobody = Side("")
    return Pair(
        scene, known.get(left) or known.get(first, nobody),
        known.get(right) or known.get(second, nobody),
    )  # fmt: skip


def show(scene: Scene, left: str, right: str, family: str, within: str) -> list[Any]:
    pair = pair_of(scene, left, right)
    return [*_upper(pair, family), *_lower(pair, within)]


def show_upper(scene: Scene, left: str, right: str, family: str, within: str) -> list[Any]:
    return _upper(pair_of(scene, left, right), family)


def show_lower(scene: Scene, left: str, right: str, family: str, within: str) -> list[Any]:
    return _lower(pair_of(scene, left, right), within)


def _upper(pair: Pair, family: str) -> list[Any]:
    title = "Paired differences" if pair.trouble else f"Paired differences, {_minus(pair)}"
    return [
        finding(*show_finding(pair, family)), heading(title, subtitle(pair)),
        show_family(pair, family),
    ]  # fmt: skip


def _lower(pair: Pair, within: str) -> list[Any]:
    points = f"points, {_minus(pair)}; 95{NARROW}% CI, adjusted for the categories"
    compared = WITHIN[within]
    return [
        heading(f"{within} by category", "" if pair.trouble else points),
        show_categories(pair, within),
        heading("Items that differ most", f"{within.lower()}: {compared.told}"),
        show_items(pair, compared),
    ]  # fmt: skip


def _minus(pair: Pair) -> str:
    return f"{pair.left.name} minus {pair.right.name}"
