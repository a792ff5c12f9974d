"""The Remedies view of the Results tab: ways to use a biased judge, compared by cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE, count
from components.html.markup import EMPTY, fill, join
from components.html.panel import empty_state, how_computed, panel_heading
from components.layout.widgets import ClickableHTML, Switch
from components.results.remedies.advice_panel import recommendation_panel, remedy_finding
from components.results.remedies.computed import RemedyView, load_remedies
from components.results.remedies.frontier_svg import frontier_chart
from components.results.remedies.panel_pieces import wrapped
from components.results.remedies.pilot_panel import pilots_panel
from components.results.remedies.reason_panels import other_judges_panel, patterns_panel
from components.results.remedies.remedy_table import rules_table
from components.results.remedies.risk_svg import risk_chart
from components.results.view_contract import ViewParts, pick_choice

NAME: Final = "Remedies"
CALLS, DOLLARS = "Calls", "Dollars"
KEYS: Final = fill(
    '<div class="eh"><div class="eh-row eh-keys"><span class="eh-key"><i class="dot"></i>'
    'best at its price, joined</span><span class="eh-key"><i class="ring"></i>other rules, '
    "numbered as in the table</span></div></div>"
)


def build() -> ViewParts:
    recommendation = ClickableHTML(elem_id="eh-remedy-advice")
    with gr.Row(equal_height=True, elem_classes="eh-pair eh-remedy-charts"):
        with gr.Column(elem_classes="eh-panel", scale=9):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(panel_heading("What each remedy costs and gains"))
                cost = Switch([CALLS, DOLLARS], "Cost")
            ClickableHTML(KEYS)
            frontier = ClickableHTML(elem_id="eh-frontier")
        with gr.Column(elem_classes="eh-panel", scale=5):
            head_risk = ClickableHTML(panel_heading("Decide less, be right more"))
            risk = ClickableHTML(elem_id="eh-risk")
    with gr.Column(elem_classes="eh-panel"):
        head_table = ClickableHTML(panel_heading("All rules"))
        table = ClickableHTML(elem_id="eh-rules")
        ClickableHTML(how_computed(HOW_RULES))
    lower = ClickableHTML(elem_id="eh-remedy-lower")
    return ViewParts(
        outputs=[recommendation, head, frontier, head_risk, risk, head_table, table, lower],
        clickable=[frontier, table],
        controls={"cost": cost},
        partial_redraws={"cost": ([head, frontier], render_frontier)},
        private_components={"recommendation": recommendation, "lower": lower},
    )


HOW_RULES: Final = (
    "Credit of a comparison: right 1, undecided ½, wrong 0, so that undecided counts as a coin. "
    "One call is the mean of the two orders. Comparisons: those with a known better answer and "
    "usable replies of every judge in both orders. Intervals by item.\n\n"
    "Differences are paired by item and adjusted for all rules of the table (max-t). The headline "
    "uses another number: the best rule at each price is chosen on half of the items, its gain "
    "measured on the other half, both ways, 20 times.\n\n"
    "Ranking corrections (position term, length held equal, prediction-powered) correct the "
    "ranking, not single verdicts: see Ranking and Win rates."
)


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    return remedy_finding(load_remedies(filtered))


def kpis(filtered: FilteredStudy) -> str:
    return ""


def initial_controls(filtered: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    return {"cost": gr.Radio(value=pick_choice(wanted.get("cost"), [CALLS, DOLLARS]))}


def render(filtered: FilteredStudy, cost: str) -> list[Any]:
    view = load_remedies(filtered)
    if view.cell is None:
        return _empty_outputs(view)
    _, caption = view.curve
    return [
        recommendation_panel(view),
        *_frontier_outputs(view, cost),
        panel_heading("Decide less, be right more", f"% right when decided; {caption}"),
        wrapped(risk_chart(view)),
        panel_heading(
            f"All rules on the same {count(view.comparisons, 'comparison')}", _left_out(view)
        ),
        wrapped(rules_table(view)),
        _lower(view),
    ]


def render_frontier(filtered: FilteredStudy, cost: str) -> list[Any]:
    view = load_remedies(filtered)
    return _frontier_outputs(view, cost) if view.cell is not None else ["", ""]


def _frontier_outputs(view: RemedyView, cost: str) -> list[Any]:
    by_dollars = cost == DOLLARS and view.priced
    what = "the majority of people" if view.by_people else "known answers"
    subtitle = (
        f"% agreement with {what}, undecided counts half; 95{NARROW_SPACE}% CI, "
        f"n {count(view.comparisons)}"
    )
    return [
        panel_heading("What each remedy costs and gains", subtitle),
        wrapped(frontier_chart(view, by_dollars)),
    ]


def _left_out(view: RemedyView) -> str:
    missing = view.study.left_out
    parts = []
    if missing["no truth"]:
        why = "no majority of people" if view.by_people else "no known better answer"
        parts.append(f"{count(missing['no truth'], 'comparison')} with {why}")
    if missing["incomplete"]:
        parts.append(f"{count(missing['incomplete'])} without usable replies in both orders")
    for judge, prompt in view.study.incomplete_cells:
        parts.append(f"{judge} ({prompt}), with both orders on less than half")
    left = f"; left out: {', '.join(parts)}" if parts else ""
    return f"intervals of the differences are adjusted for all rules{left}"


def _lower(view: RemedyView) -> Any:
    """HTML of the lower panels: verdict patterns and pilots; if no rule helps, the other judges
    come first."""
    helped = view.advice is not None and view.advice.chosen is not None
    judges = EMPTY if helped else other_judges_panel(view)
    parts = [judges, patterns_panel(view), pilots_panel(view)]
    return wrapped(fill('<div class="eh-grid2">{}</div>', join(parts)))


def _empty_outputs(view: RemedyView) -> list[Any]:
    why = (
        "No comparison has a better answer known by design, by a label or by most people, with "
        "usable replies in both orders. Ask people in the Vote tab."
    )
    box = empty_state("Remedies need a majority of people or known answers.", why)
    return [box, panel_heading("What each remedy costs and gains"), "", "", "", "", "", ""]
