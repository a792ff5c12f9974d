"""Results: position bias, ranking, win rates, for one selection of judge, prompt and category."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import gradio as gr
import pandas as pd

from components import bias_view, ranking_view
from components.format import NARROW
from components.header import Header
from components.inspect_selection import Selection, selection_from
from components.panels import data_line, finding, heading, how, key, wrap
from components.plot import ClickableHTML, PlotlyView
from components.rows import ALL, Filter, choices, row_names
from studies.records import EVIDENCE
from studies.store import Store

VIEWS: Final = ("Position bias", "Ranking", "Win rates")


@dataclass(frozen=True)
class ResultsTab:
    view: gr.Radio
    judge: gr.Dropdown
    prompt: gr.Dropdown
    category: gr.Dropdown
    finding: gr.HTML
    kpis: gr.HTML
    pages: gr.Tabs
    measure: gr.Radio
    matrix_head: gr.HTML
    matrix: gr.HTML
    slots: gr.HTML
    flips: gr.HTML
    leaders: gr.HTML
    elo: gr.HTML
    heads: gr.HTML
    rates: gr.HTML
    rate_matrix: gr.HTML
    data: gr.HTML

    @property
    def filters(self) -> list[gr.Dropdown]:
        return [self.judge, self.prompt, self.category]

    @property
    def clickable(self) -> list[gr.HTML]:
        """What a click turns into a selection of judgements."""
        return [
            self.matrix, self.slots, self.flips, self.leaders, self.elo, self.heads, self.rates,
            self.rate_matrix,
        ]  # fmt: skip


def build() -> ResultsTab:
    with gr.Row(elem_classes="eh-panel-head eh-filters"):
        view = _switch(VIEWS, "View")
        judge, prompt, category = (
            gr.Dropdown(
                [ALL],
                value=ALL,
                label=label,
                show_label=False,
                container=False,
                interactive=True,
                elem_classes="eh-filter",
                elem_id=f"eh-filter-{label.lower()}",
            )
            for label in ("Judge", "Prompt", "Category")
        )
    told = ClickableHTML()
    kpis = ClickableHTML()
    with gr.Tabs(selected=VIEWS[0], elem_classes="eh-view") as pages:
        with gr.Tab(VIEWS[0], id=VIEWS[0]):
            measure, matrix_head, matrix, slots, flips = _build_bias()
        with gr.Tab(VIEWS[1], id=VIEWS[1]):
            leaders, elo, heads = _build_ranking()
        with gr.Tab(VIEWS[2], id=VIEWS[2]):
            rates, rate_matrix = _build_wins()
    data = ClickableHTML()
    return ResultsTab(
        view, judge, prompt, category, told, kpis, pages, measure, matrix_head, matrix, slots,
        flips, leaders, elo, heads, rates, rate_matrix, data,
    )  # fmt: skip


def _switch(names: tuple[str, ...], label: str) -> gr.Radio:
    return gr.Radio(
        list(names), value=names[0], label=label, show_label=False, container=False,
        interactive=True, elem_classes="eh-seg",
    )  # fmt: skip


def _build_bias() -> tuple[gr.Radio, gr.HTML, gr.HTML, gr.HTML, gr.HTML]:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=19):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(heading("Consistency", bias_view.SUBTITLES["Consistency"]))
                measure = _switch(tuple(bias_view.MEASURES), "Measure")
            matrix = ClickableHTML(elem_id="eh-matrix")
            ClickableHTML(how(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=10):
            ClickableHTML(
                heading("Which slot is chosen", f"% of decisive verdicts, 95{NARROW}% CI")
            )
            ClickableHTML(
                wrap('<div class="eh-row">', key("first", "shown first"),
                     key("second", "shown second"), key("even", "even"), "</div>")
            )  # fmt: skip
            slots = PlotlyView(height=300, elem_id="eh-slots")
            ClickableHTML(how(HOW_SLOTS))
    with gr.Column(elem_classes="eh-panel"):
        keys = [("first", "toward the first shown"), ("second", "toward the second")]
        ClickableHTML(
            heading("Which way verdicts flip", "pairs whose verdict changed with the order", keys)
        )
        flips = ClickableHTML(elem_id="eh-flips")
        ClickableHTML(how(HOW_FLIPS))
    return measure, head, matrix, slots, flips


def _build_ranking() -> tuple[gr.HTML, gr.HTML, gr.HTML]:
    with gr.Column(elem_classes="eh-panel"):
        subtitle = f"Bradley–Terry on the Elo scale, ties as half a win; 95{NARROW}% CI by items"
        ClickableHTML(heading("Leaderboard", subtitle))
        leaders = ClickableHTML(elem_id="eh-leaders")
        ClickableHTML(how(HOW_RANKING))
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=29):
            subtitle = (
                f"one order of the same battles; band: 95{NARROW}% of 100 shuffled orders; K 4"
            )
            ClickableHTML(heading("Elo as battles come in", subtitle))
            elo = PlotlyView(height=380, elem_id="eh-elo")
            ClickableHTML(how(HOW_ELO))
        with gr.Column(elem_classes="eh-panel", scale=20):
            ClickableHTML(heading("Head-to-head", "row beats column, %, ties as half"))
            heads = ClickableHTML(elem_id="eh-heads")
    return leaders, elo, heads


def _build_wins() -> tuple[gr.HTML, gr.HTML]:
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=10):
            ClickableHTML(heading("Win rate", f"%, 95{NARROW}% CI by items, ties as half"))
            rates = PlotlyView(height=260, elem_id="eh-rates")
            ClickableHTML(how(HOW_WINS))
        with gr.Column(elem_classes="eh-panel", scale=19):
            ClickableHTML(
                heading("Win rate by category", f"%; 95{NARROW}% CI; below half is blank")
            )
            table = ClickableHTML(elem_id="eh-rate-matrix")
    return rates, table


HOW_MATRIX: Final = (
    "Each comparison is asked in every planned order. It survives if all orders name the same "
    "answer (or all a tie): `consistency = surviving / read in all orders`. Entropy is that of the "
    "slot chosen, divided by log2 N. A reply that cannot be read lowers n, never the value. "
    "Intervals: Wilson at the effective n, items as clusters."
)
HOW_SLOTS: Final = (
    "Decisive verdicts of comparisons read in all orders, so content cancels: whatever differs "
    "from even is the place. `share = verdicts for the slot / decisive verdicts`."
)
HOW_FLIPS: Final = (
    "A pair flips if the two orders do not mirror each other, ties included. A side is called "
    "preferred if an exact sign test on the flips has p < .05 after Holm's adjustment."
)
HOW_RANKING: Final = (
    "Each readable verdict of each order is one battle. "
    "`P(a beats b) = 1/(1 + 10^((Rb − Ra)/400))` is fitted by maximum likelihood; intervals by the "
    "item sandwich. Ranks are ranges that the intervals of differences allow."
)
HOW_ELO: Final = (
    "`R += 4 (S − E)` battle by battle, start 1000. The order of battles is luck: the band shows "
    "what other orders of the items would have given. The tick at the right end is Bradley–Terry."
)
HOW_WINS: Final = (
    "`(wins + ties/2) / readable verdicts`. Among N options a win is being chosen, so even is 1/N. "
    "Wilson intervals at the effective n, items as clusters."
)


def bind(tab: ResultsTab, header: Header, store: Store) -> None:
    """A filter redraws what is in view; the study in the header resets the filters."""
    inputs = [header.study, tab.view, *tab.filters, tab.measure]

    def redraw(name: str, view: str, judge: str, prompt: str, category: str, measure: str) -> Any:
        return show(store, name, view, Filter(judge, prompt, category), measure)

    for control in (*tab.filters, tab.view):
        control.change(
            redraw, inputs, outputs(tab), show_progress="hidden", trigger_mode="always_last",
            api_visibility="private",
        )  # fmt: skip

    def remeasure(name: str, judge: str, prompt: str, category: str, measure: str) -> Any:
        frame = Filter(judge, prompt, category).apply(store.frame(name))
        return _measure_head(measure), bias_view.show_matrix(frame, measure)

    tab.measure.change(
        remeasure, [header.study, *tab.filters, tab.measure], [tab.matrix_head, tab.matrix],
        show_progress="hidden", trigger_mode="always_last", api_visibility="private",
    )  # fmt: skip


def outputs(tab: ResultsTab) -> list[Any]:
    return [
        tab.pages, tab.finding, tab.kpis, tab.matrix_head, tab.matrix, tab.slots, tab.flips,
        tab.leaders, tab.elo, tab.heads, tab.rates, tab.rate_matrix, tab.data,
    ]  # fmt: skip


def show(store: Store, name: str, view: str, chosen: Filter, measure: str) -> list[Any]:
    """Only the view that is looked at is computed; the others are left as they are."""
    if not name:
        return [gr.skip()] * 13
    frame = chosen.apply(store.frame(name))
    told = {
        VIEWS[0]: bias_view.show_finding,
        VIEWS[1]: ranking_view.show_ranking_finding,
        VIEWS[2]: ranking_view.show_wins_finding,
    }[view](frame)
    failures = int((~frame["status"].isin(list(EVIDENCE))).sum())
    top = [gr.Tabs(selected=view), finding(*told), bias_view.show_kpis(frame, failures, len(frame))]
    bias = ranking = wins = None
    if view == VIEWS[0]:
        bias = [
            _measure_head(measure), bias_view.show_matrix(frame, measure),
            bias_view.show_slots(frame), bias_view.show_flips(frame),
        ]  # fmt: skip
    elif view == VIEWS[1]:
        ranking = [
            ranking_view.show_leaderboard(frame), ranking_view.show_elo(frame),
            ranking_view.show_head_to_head(frame),
        ]  # fmt: skip
    else:
        wins = [ranking_view.show_win_rates(frame), ranking_view.show_win_matrix(frame)]
    rest = [*(bias or _skips(4)), *(ranking or _skips(3)), *(wins or _skips(2))]
    return [*top, *rest, show_data(store, name, frame)]


def selection_of(store: Store, name: str, chosen: Filter, mark: Any) -> Selection:
    """From a mark that was clicked to the judgements behind it, within the filters."""
    said = mark.get("customdata", mark) if isinstance(mark, dict) else {}
    values = {k: v for k, v in asdict(chosen).items() if v != ALL}
    values |= {k: v for k, v in said.items() if v != "All"} if isinstance(said, dict) else {}
    if "row" in values:
        by_row = {row: cell for cell, row in row_names(store.frame(name)).items()}
        judge_and_prompt = by_row.get(str(values.pop("row")), ("", ""))
        values["judge"], values["prompt"] = judge_and_prompt
    if "opponent" in values:
        values["against"] = values.pop("opponent")
    return selection_from({**values, "study": name})


def _skips(n: int) -> list[Any]:
    return [gr.skip() for _ in range(n)]


def _measure_head(measure: str) -> str:
    return heading(f"{measure} by prompt and category", bias_view.SUBTITLES[measure])


def show_filters(store: Store, name: str) -> list[Any]:
    """The choices a study offers; a filter that has nothing to choose from shows so."""
    frame = store.frame(name)
    return [
        gr.Dropdown(choices=choices(frame, column), value=ALL)
        for column in ("judge", "prompt", "category")
    ]


def show_data(store: Store, name: str, frame: pd.DataFrame) -> str:
    """What is real here, and what is simulated."""
    study = store.study(name)
    simulated = [judge.name for judge in study.judges if judge.kind == "simulated"]
    real = [judge.name for judge in study.judges if judge.kind != "simulated"]
    parts = [f"{len(frame):,} judgements of {name}."]
    if real:
        parts.append(f"Real replies: {', '.join(real)}.")
    if simulated:
        parts.append(f"Simulated judges, with known parameters: {', '.join(simulated)}.")
    return data_line(" ".join(parts))
