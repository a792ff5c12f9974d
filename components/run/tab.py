"""Layout and events of the Run tab; its actions are in components/run/actions_tab.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.pieces import panel_heading
from components.layout.header import Header
from components.layout.widgets import ClickableHTML, HiddenText, PlotlyView
from components.run import actions_tab, live_figures, past_runs, status_html
from components.server.gradio_private import click_data, current_blocks
from judges.engine.engine import Engine
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
UPDATE_ADDRESS: Final = "(run) => evenhand.scope('run', ['run'], [''], [run])"


@dataclass(frozen=True)
class RunTab:
    timer: gr.Timer
    state: gr.Textbox
    """Id and state of the shown run as text; the list of runs is redrawn when it changes."""
    finding: gr.HTML
    see: gr.Button
    """Button that opens Results; shown when every call has been made."""
    start: gr.Button
    retry: gr.Button
    pause: gr.Button
    stop: gr.Button
    notify: gr.Button
    """Switch of a browser notification at the end of the run; assets/page.js binds it."""
    notices: gr.HTML
    keys: gr.Column
    key_note: gr.HTML
    key_origin: gr.Textbox
    """The only origin, named on the page, to which a key typed here is sent."""
    key: gr.Textbox
    key_go: gr.Button
    progress: gr.HTML
    kpis: gr.HTML
    outcome: gr.HTML
    """HTML of the results so far during a run; after the run, of the flips and next steps."""
    failures: gr.HTML
    share: gr.HTML
    elo: gr.HTML
    wins: gr.HTML
    which: gr.Radio
    replies: gr.HTML
    scope: gr.Radio
    runs: gr.HTML
    opened: gr.HTML
    run_id: gr.Textbox

    @property
    def outputs(self) -> list[Any]:
        """The Gradio outputs of `actions_tab.render`, in the order of its return values."""
        return [
            self.timer, self.state, self.finding, self.see, self.start, self.retry, self.pause,
            self.stop, self.notify, self.notices, self.keys, self.key_note, self.key_origin,
            self.key_go, self.progress, self.kpis, self.outcome, self.failures, self.share,
            self.elo, self.wins, self.replies,
        ]  # fmt: skip

    @property
    def components_opening_judgements(self) -> list[gr.HTML]:
        """Components whose clicks open judgements in Inspect."""
        return [self.kpis, self.outcome, self.failures, self.replies]


def build() -> RunTab:
    run_id = HiddenText("run", elem_id="eh-run-id")
    state = HiddenText("state", elem_id="eh-run-state")
    timer = gr.Timer(0.5, active=False)
    with gr.Row(elem_classes="eh-title-row"):
        told = ClickableHTML(elem_id="eh-run-finding")
        see, start, retry, pause, stop, notify = _build_buttons()
    notices = ClickableHTML(elem_id="eh-run-notices")
    with gr.Column(elem_classes="eh-panel", visible=False) as keys:
        key_note, key, key_go = _build_key_field()
    key_origin = HiddenText("host of the key", elem_id="eh-run-key-origin")
    progress = ClickableHTML(elem_id="eh-progress", elem_classes="eh-panel")
    kpis = ClickableHTML(elem_id="eh-run-kpis")
    outcome = ClickableHTML(elem_id="eh-run-outcome")
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        share, elo, wins = (_chart_panel(*chart) for chart in status_html.LIVE_CHARTS)
    failures = ClickableHTML(elem_id="eh-run-failures")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(panel_heading("Last replies", "newest first"))
            which = _segmented_switch(status_html.REPLY_SCOPES, "Which replies")
        replies = ClickableHTML(elem_id="eh-replies")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(panel_heading("Runs", "newest run first; click a run to open it"))
            scope = _segmented_switch(past_runs.SCOPES, "Runs of")
        runs = ClickableHTML(elem_id="eh-runs")
        opened = ClickableHTML(elem_id="eh-run-opened")
    return RunTab(
        timer, state, told, see, start, retry, pause, stop, notify, notices, keys, key_note,
        key_origin, key, key_go, progress, kpis, outcome, failures, share, elo, wins, which,
        replies, scope, runs, opened, run_id,
    )  # fmt: skip


def _build_buttons() -> tuple[gr.Button, ...]:
    fit: dict[str, Any] = {"elem_classes": "eh-fit", "visible": False}
    return (
        gr.Button("See results", variant="primary", elem_id="eh-see-results", **fit),
        gr.Button("Run", variant="primary", elem_id="eh-start", **fit),
        gr.Button("Retry", elem_id="eh-retry", **fit),
        gr.Button("Pause", elem_id="eh-pause", **fit),
        gr.Button("Stop", variant="stop", elem_id="eh-stop", **fit),
        gr.Button("Notify me at the end", elem_id="eh-notify", **fit),
    )


def _build_key_field() -> tuple[gr.HTML, gr.Textbox, gr.Button]:
    note = ClickableHTML(elem_id="eh-run-key-note")
    with gr.Row(elem_classes="eh-key-row"):
        key = gr.Textbox(
            "", label="Key", type="password", interactive=True, elem_id="eh-run-key",
            info="the key is sent to this server only, kept in memory for this run, and never "
            "exported",
        )  # fmt: skip
        go = gr.Button("Test and run", elem_classes="eh-fit", elem_id="eh-run-key-go")
    return note, key, go


def _segmented_switch(choices: tuple[str, ...], label: str) -> gr.Radio:
    return gr.Radio(
        list(choices), value=choices[0], label=label, show_label=False, container=False,
        interactive=True, elem_classes="eh-seg",
    )  # fmt: skip


def _chart_panel(title: str, subtitle: str, elem_id: str) -> gr.HTML:
    heading = panel_heading(title, subtitle)
    return PlotlyView(height=250, heading=heading, elem_id=elem_id)


def bind(
    tab: RunTab,
    header: Header,
    store: Store,
    engine: Engine,
    live: live_figures.LiveStudies,
    on_tab: gr.Tab | None = None,
) -> None:
    """Connect the events. The page stores only the name of the study and the id of the run."""
    look = actions_tab.RunActions(store, engine, live)
    inputs, outputs = [header.study, tab.which], [*tab.outputs, header.pill]
    past: dict[str, Any] = {
        "fn": look.runs_and_opened_run_html, "inputs": [header.study, tab.scope, tab.run_id],
        "outputs": [tab.runs, tab.opened], **QUIET,
    }  # fmt: skip
    tab.timer.tick(look.redraw_on_timer, inputs, outputs, trigger_mode="once", **QUIET)
    tab.see.click(None, None, None, js="() => evenhand.openTab('results')")
    tab.notify.click(None, None, None, js="() => evenhand.toggleNotify()")
    tab.which.change(look, inputs, outputs, **QUIET)
    typed = [*inputs, tab.key, tab.key_origin]
    for button, act in ((tab.start, look.start), (tab.retry, look.retry)):
        button.click(act, typed, [*outputs, tab.key], **QUIET).then(**past)
    # Outside the queue: a click reaches the engine even while figures are being drawn.
    tab.pause.click(look.pause_or_resume, inputs, outputs, queue=False, **QUIET)
    tab.stop.click(look.stop, inputs, outputs, queue=False, **QUIET).then(**past)
    tab.notices.select(look.perform_notice_action, typed, [*outputs, tab.key], **QUIET).then(**past)
    tab.key_go.click(look.start, typed, [*outputs, tab.key], **QUIET).then(**past)
    _bind_past_runs(tab, header, store, past, on_tab)
    header.pill.change(None, header.pill, None, js="(pill) => evenhand.title(pill)")


def _bind_past_runs(
    tab: RunTab, header: Header, store: Store, redraw: dict[str, Any], on_tab: gr.Tab | None
) -> None:
    """Bind the events of the list of past runs. It is redrawn (with the event settings `redraw`)
    when the tab is opened, a run changes its state, or another study or scope (this study, all
    studies) is chosen. A run is opened when it is clicked, or when the address of the page names
    it."""
    header.study.change(**redraw)
    tab.scope.change(**redraw)
    if on_tab is not None:
        on_tab.select(**redraw)
    tab.state.change(**redraw)

    def open_run(name: str, event: gr.EventData) -> list[Any]:
        asked = click_data(event)
        asked = asked if isinstance(asked, Mapping) else {}
        if asked.get("study") in {line.name for line in store.studies()}:
            return [gr.skip(), asked["study"]]
        return [str(asked.get("run", ""))[:40], name]

    for part in (tab.runs, tab.opened):
        part.select(open_run, header.study, [tab.run_id, header.study], **QUIET).then(**redraw)

    def run_id_in_address(request: gr.Request) -> str:
        return str(request.query_params.get("run", ""))[:40]

    if (blocks := current_blocks()) is not None:
        blocks.load(run_id_in_address, None, tab.run_id, **QUIET).then(**redraw)
    tab.run_id.change(None, tab.run_id, None, js=UPDATE_ADDRESS)
