"""Results during an active run: a notice "Partial", and a redraw every five seconds.

A partial sample may favour one judge, prompt or category, so no headline is shown until the run has
ended. The timer runs only during a run, and redraws a view only while it is visible. A reader can
freeze the numbers; the timer then only counts the replies that are not in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.markup import EMPTY, Markup
from components.html.templates import macros
from components.layout.widgets import HiddenText
from judges.engine.engine import Engine
from studies.domain import count_stored_replies

REFRESH_SECONDS: Final = 5
_CONTROLS: Final = macros("results/controls/controls.html")


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Number of calls of a run whose replies are stored (`done`), and number of all its calls."""

    done: int
    planned: int


@dataclass(frozen=True)
class LiveRefresh:
    """Hidden Gradio components that redraw the Results tab during a run; and the line on new
    replies, which is visible while the reader has frozen the numbers."""

    timer: gr.Timer
    refresh: gr.Button
    """Button that updates the choices of the filters, then draws the view."""
    count_new: gr.Button
    """Button that counts the replies which the frozen numbers do not contain."""
    shown_calls: gr.Textbox
    """Number of calls in the frozen numbers; the page fills it in when it presses `count_new`."""
    new_replies: gr.HTML
    """Line on the new replies, visible only while the tab is frozen."""

    @property
    def hidden_components(self) -> list[Any]:
        return [self.timer, self.refresh, self.count_new, self.shown_calls]


def build_live_refresh(new_replies: gr.HTML) -> LiveRefresh:
    timer = gr.Timer(REFRESH_SECONDS, active=False, render=False)
    refresh = gr.Button("Refresh", visible="hidden", elem_id="eh-refresh", render=False)
    count_new = gr.Button("Count new", visible="hidden", elem_id="eh-news", render=False)
    shown = HiddenText("Calls shown", render=False)
    return LiveRefresh(timer, refresh, count_new, shown, new_replies)


def bind_live_refresh(live: LiveRefresh, study: gr.Dropdown, engine: Engine) -> None:
    live.timer.tick(None, None, None, js="() => evenhand.followRun()")

    def update_frozen_notice(name: str, shown_calls: str) -> list[Any]:
        now = latest_progress(engine, name)
        if now is None or not shown_calls.isdecimal():
            return [gr.skip(), EMPTY]
        running = active_run_progress(engine, name) is not None
        return [gr.Timer(active=running), frozen_notice(now, int(shown_calls), running)]

    live.count_new.click(
        update_frozen_notice, [study, live.shown_calls], [live.timer, live.new_replies],
        js="(study) => [study, evenhand.shownCalls()]", show_progress="hidden",
        trigger_mode="always_last", api_visibility="private",
    )  # fmt: skip
    study.change(None, None, None, js="() => evenhand.unfreeze()")


def active_run_progress(engine: Engine | None, study: str) -> RunProgress | None:
    """Progress of a study's active run; None without one.

    Call this before drawing a view: a view drawn with the progress of an active run is drawn again
    when the run has ended.
    """
    run = engine.latest_run(study) if engine and study else None
    return None if run is None or run.finished.is_set() else latest_progress(engine, study)


def latest_progress(engine: Engine | None, study: str) -> RunProgress | None:
    """Progress of a study's latest run in this process, active or ended; None if there was none."""
    # Readers of a shared study see its progress too: `active_run` is for its owner only.
    run = engine.latest_run(study) if engine and study else None
    if run is None:
        return None
    counts = run.snapshot().counts
    return RunProgress(count_stored_replies(counts), counts.get("planned", 0))


def put_partial_notice_as_headline(
    contents: Mapping[str, Any], progress: RunProgress | None
) -> dict[str, Any]:
    """The `contents` of a view (output name -> content); during a run (`progress` is not
    None), the notice "Partial" replaces the headline."""
    return dict(contents) if progress is None else {**contents, "finding": partial_notice(progress)}


def partial_notice(progress: RunProgress) -> Markup:
    """HTML notice "Partial" above the numbers, with the button that freezes them.

    It is not marked as a live region (`aria-live`), because screen readers would then read it
    out every five seconds."""
    made: Markup = _CONTROLS.partial(progress, REFRESH_SECONDS)
    return made


def frozen_notice(progress: RunProgress, shown: int, running: bool) -> Markup:
    """HTML line on the replies that the frozen numbers do not contain, with the button that shows
    them. `shown`: number of calls in the frozen numbers; `running`: whether the run is still
    active."""
    made: Markup = _CONTROLS.frozen(max(0, progress.done - shown), running)
    return made
