"""Run: start, pause, resume, stop; progress, spend and failures; curves that move while it asks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import gradio as gr

from components.format import NARROW, count, dollars, duration, interval, safe, share
from components.header import Header, show_pill
from components.live import LiveViews, Picture
from components.panels import (
    Kpi,
    ReplyRow,
    finding,
    heading,
    kpi_strip,
    last_replies,
    notice,
    progress_bar,
    status_badge,
    wrap,
)
from components.plot import ClickableHTML, PlotlyView
from judges.errors import PlanError
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.plan import stored_plan
from judges.engine import Engine
from judges.runs import Run, Snapshot
from studies.errors import EvenhandError
from studies.records import EVIDENCE, STATUSES
from studies.store import Store

REPLIES = ("All", "Failures only")


@dataclass(frozen=True)
class RunTab:
    run_id: gr.Textbox
    timer: gr.Timer
    finding: gr.HTML
    start: gr.Button
    pause: gr.Button
    stop: gr.Button
    notices: gr.HTML
    progress: gr.HTML
    kpis: gr.HTML
    share: gr.HTML
    elo: gr.HTML
    wins: gr.HTML
    which: gr.Radio
    replies: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        return [
            self.run_id, self.timer, self.finding, self.start, self.pause, self.stop, self.notices,
            self.progress, self.kpis, self.share, self.elo, self.wins, self.replies,
        ]  # fmt: skip


def build() -> RunTab:
    run_id = gr.Textbox(visible="hidden", elem_id="eh-run-id", label="run")
    timer = gr.Timer(0.5, active=False)
    with gr.Row(elem_classes="eh-title-row"):
        told = ClickableHTML(elem_id="eh-run-finding")
        start = gr.Button("Run", variant="primary", elem_classes="eh-fit", elem_id="eh-start")
        pause = gr.Button("Pause", elem_classes="eh-fit", elem_id="eh-pause", visible=False)
        stop = gr.Button(
            "Stop", variant="stop", elem_classes="eh-fit", elem_id="eh-stop", visible=False
        )
    notices = ClickableHTML()
    with gr.Column(elem_classes="eh-panel"):
        progress = ClickableHTML(elem_id="eh-progress")
    kpis = ClickableHTML()
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        share_plot = _plot(
            "First-slot share",
            f"decisive verdicts, 95{NARROW}% CI; do not stop on it",
            "eh-live-share",
        )
        elo_plot = _plot("Elo", "in the order of arrival, K 4", "eh-live-elo")
        wins_plot = _plot("Win rate", f"%, 95{NARROW}% CI, ties as half", "eh-live-wins")
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(heading("Last replies", "newest first"))
            which = gr.Radio(
                list(REPLIES), value=REPLIES[0], label="Which replies", show_label=False,
                container=False, interactive=True, elem_classes="eh-seg",
            )  # fmt: skip
        replies = ClickableHTML(elem_id="eh-replies")
    return RunTab(
        run_id, timer, told, start, pause, stop, notices, progress, kpis, share_plot, elo_plot,
        wins_plot, which, replies,
    )  # fmt: skip


def _plot(title: str, subtitle: str, elem_id: str) -> gr.HTML:
    with gr.Column(elem_classes="eh-panel"):
        ClickableHTML(heading(title, subtitle))
        return PlotlyView(height=250, elem_id=elem_id)


def bind(tab: RunTab, header: Header, store: Store, engine: Engine, live: LiveViews) -> None:
    """The page holds only a run's id: whoever opens it sees the same run."""

    def show_now(name: str, which: str) -> list[Any]:
        return [*show(store, engine, live, name, which), show_running(engine, name)]

    inputs = [header.study, tab.which]
    outputs = [*tab.outputs, header.pill]
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    tab.timer.tick(show_now, inputs, outputs, trigger_mode="once", **quiet)
    tab.which.change(show_now, inputs, outputs, **quiet)

    def start(name: str, which: str) -> list[Any]:
        begin(store, engine, name)
        return show_now(name, which)

    tab.start.click(start, inputs, outputs, **quiet)

    def steer(action: str) -> Any:
        def act(name: str, which: str) -> list[Any]:
            run = engine.running(name)
            if run is not None:
                _steer(run, action)
            return show_now(name, which)

        return act

    # Outside the queue: a click reaches the engine even while figures are being drawn.
    tab.pause.click(steer("pause"), inputs, outputs, queue=False, **quiet)
    tab.stop.click(steer("stop"), inputs, outputs, queue=False, **quiet)


def _steer(run: Run, action: str) -> None:
    if action == "stop":
        run.stop()
        run.wait(2)
    elif run.state == "paused":
        run.resume()
    else:
        run.pause()


def begin(store: Store, engine: Engine, name: str, keys: dict[str, str] | None = None) -> Run:
    """Asks what is missing of a stored study; a run that is on is returned as it is."""
    running = engine.running(name)
    if running is not None:
        return running
    try:
        return engine.start(stored_plan(store, name), store, keys=keys)
    except (EvenhandError, EmbeddedUnavailable, WeightsMissing, PlanError) as error:
        raise gr.Error(str(error), title="This study cannot be run", duration=None) from None


def show_running(engine: Engine, name: str) -> str:
    """The pill in the header, while a run of this study is on."""
    run = engine.latest(name)
    return "" if run is None else show_pill(run.snapshot())


def show(
    store: Store, engine: Engine, live: LiveViews, name: str, which: str = REPLIES[0]
) -> list[Any]:
    """The tab for a study: its live run, its last run, or what a run would ask."""
    if not name:
        return [gr.skip()] * 13
    run = engine.latest(name)
    snapshot = run.snapshot() if run else None
    on = run is not None and not run.finished.is_set()
    counts = snapshot.counts if snapshot and on else store.counts(name, recorded=True)
    picture = live.of(name).picture()
    pending = counts.get("pending", 0) + (0 if on else counts.get("error", 0))
    return [
        run.id if run else "",
        gr.Timer(active=on),
        show_finding(name, counts, snapshot, on),
        gr.Button(f"Run {count(pending)} asks", visible=not on and pending > 0),
        gr.Button("Resume" if snapshot and snapshot.state == "paused" else "Pause", visible=on),
        gr.Button(visible=on),
        show_notices(snapshot) + show_failures(store, name, counts),
        progress_bar({s: counts[s] for s in STATUSES if counts.get(s)}, counts["planned"]),
        show_kpis(snapshot, counts, picture),
        *_figures(picture),
        show_replies(store, name, which),
    ]


def _figures(picture: Picture) -> tuple[Any, Any, Any]:
    return picture.share_figure, picture.elo_figure, picture.wins_figure


def show_finding(
    name: str, counts: dict[str, int] | Any, snapshot: Snapshot | None, on: bool
) -> str:
    planned, pending = counts.get("planned", 0), counts.get("pending", 0)
    if counts.get("recorded"):
        return finding(name, "Recorded: there is nothing to ask. Results shows what it holds.")
    done = planned - pending
    lead = "It goes on if you close this page." if on else "Only what is missing is asked."
    if not pending and not on:
        lead = "All asked. A second run makes no call."
    if snapshot and snapshot.state == "paused":
        lead = "Paused: no new call. Answers in flight are still stored."
    return finding(f"{name}: {count(done)} of {count(planned)} asked", lead)


def show_notices(snapshot: Snapshot | None) -> str:
    """The reason for waiting or stopping is always said."""
    if snapshot is None:
        return ""
    parts = [notice("warn", "Waiting.", text) for text in snapshot.waiting]
    if snapshot.state == "failed":
        parts.append(notice("bad", "Stopped.", f"{snapshot.reason} What was answered is kept."))
    elif snapshot.state == "stopped" and snapshot.reason:
        parts.append(notice("calm", "Stopped.", f"{snapshot.reason}. What was answered is kept."))
    return "".join(parts)


def show_failures(store: Store, name: str, counts: Any) -> str:
    """Failures by kind: how many, what they do to the numbers, and the last of them as it came."""
    kinds = [s for s in STATUSES if s not in EVIDENCE and counts.get(s)]
    if not kinds:
        return ""
    latest = store.latest(name, 200, failures_only=True)
    rows = []
    for status in kinds:
        example = next((j for j in latest if j.status == status), None)
        told = ": ".join(filter(None, (example.detail, example.reply[-160:]))) if example else ""
        rows.append(
            f'<div class="eh-row">{status_badge(status, counts[status])}'
            f'<span class="eh-small eh-mute">{safe(told[:240])}</span></div>'
        )
    lead = "<b>Kept and counted, never scored.</b> The last of each kind:"
    return wrap(f'<div class="eh-notice calm"><div>{lead}{"".join(rows)}</div></div>')


def show_kpis(snapshot: Snapshot | None, counts: Any, picture: Picture) -> str:
    done = counts.get("planned", 0) - counts.get("pending", 0)
    failures = sum(counts.get(status, 0) for status in STATUSES if status not in EVIDENCE)
    kinds = ", ".join(f"{counts[s]} {s}" for s in STATUSES if s not in EVIDENCE and counts.get(s))
    kpis = [
        _rate(snapshot),
        _left(snapshot),
        _spent(snapshot),
        Kpi("Not evidence", count(failures), f"of {count(done)}", kinds or "every reply was read"),
        _first(picture),
    ]
    return kpi_strip(kpis)


def _rate(snapshot: Snapshot | None) -> Kpi:
    if snapshot is None or not snapshot.rate:
        return Kpi("Rate", "–", note="no run is on" if snapshot is None else snapshot.state)
    unit, value = (
        ("asks/s", snapshot.rate) if snapshot.rate >= 1 else ("asks/min", 60 * snapshot.rate)
    )
    return Kpi("Rate", f"{value:.1f}", unit, f"{snapshot.in_flight} in flight")


def _left(snapshot: Snapshot | None) -> Kpi:
    if snapshot is None:
        return Kpi("Left", "–", note="not started")
    started = time.strftime("%H:%M", time.localtime(snapshot.started))
    if snapshot.eta is None:
        took = (snapshot.ended or time.time()) - snapshot.started
        return Kpi("Left", "–", note=f"started {started}, {duration(took)} so far")
    ends = time.strftime("%H:%M", time.localtime(time.time() + snapshot.eta))
    return Kpi("Left", duration(snapshot.eta), note=f"started {started}, ends about {ends}")


def _spent(snapshot: Snapshot | None) -> Kpi:
    if snapshot is None:
        return Kpi("Spent", "–", note="not started")
    note = f"{count(snapshot.unpriced)} calls at an unknown price" if snapshot.unpriced else ""
    if snapshot.budget:
        part = min(1.0, snapshot.spent / snapshot.budget)
        return Kpi(
            "Spent",
            dollars(snapshot.spent),
            f"of {dollars(snapshot.budget)}",
            note,
            meter=(part, part),
        )
    return Kpi("Spent", dollars(snapshot.spent), note=note or "no budget set")


def _first(picture: Picture) -> Kpi:
    estimate = picture.share
    if estimate.value is None:
        return Kpi("First-slot share", "–", note=estimate.note or "nothing read in all orders yet")
    bounds = interval(estimate, 1, scale=100)
    return Kpi(
        "First-slot share", share(estimate.value, 1), note=f"{bounds}, n {count(estimate.n)}"
    )


def show_replies(store: Store, name: str, which: str) -> str:
    latest = store.latest(name, 8, failures_only=which == REPLIES[1])
    if not latest:
        return wrap('<p class="eh-small eh-mute">No replies yet.</p>')
    return last_replies(
        [
            ReplyRow(
                j.status,
                j.verdict.pick if j.verdict and j.readable else None,
                j.ask.shown,
                j.reply or j.detail,
                {"key": j.ask.key},
            )
            for j in latest
        ]
    )
