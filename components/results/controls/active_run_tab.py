"""Results during an active run: a notice "Partial", and a redraw every five seconds.

A partial sample may favour one judge, prompt or category, so no headline is shown until the run has
ended. The timer runs only during a run, and redraws a view only while it is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.format import count
from components.html.markup import Markup
from components.html.panel import notice_html
from judges.engine.engine import Engine

REFRESH_SECONDS: Final = 5
PRESS_IF_VISIBLE: Final = (
    "() => { const view = document.querySelector('.eh-view'); "
    "if (!document.hidden && view?.getClientRects().length) "
    "document.querySelector('#eh-refresh')?.click(); }"
)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Number of calls done and planned in an active run."""

    done: int
    planned: int


@dataclass(frozen=True)
class RunFollower:
    """Hidden Gradio components that redraw the Results tab during a run."""

    timer: gr.Timer
    refresh: gr.Button
    """Button that updates the choices of the filters, then draws the view."""

    @property
    def hidden(self) -> list[Any]:
        return [self.timer, self.refresh]


def build() -> RunFollower:
    timer = gr.Timer(REFRESH_SECONDS, active=False, render=False)
    refresh = gr.Button("Refresh", visible="hidden", elem_id="eh-refresh", render=False)
    return RunFollower(timer, refresh)


def bind_timer(follower: RunFollower) -> None:
    follower.timer.tick(None, None, None, js=PRESS_IF_VISIBLE)


def run_progress(engine: Engine | None, study: str) -> RunProgress | None:
    """Progress of a study's active run; None without one. Call this before drawing a view: if the
    run ends during the drawing, the view is then drawn once more."""
    # Readers of a shared study see its progress too: `active_run` is for its owner only.
    run = engine.latest_run(study) if engine and study else None
    if run is None or run.finished.is_set():
        return None
    counts = run.snapshot().counts
    planned = counts.get("planned", 0)
    return RunProgress(planned - counts.get("pending", 0), planned)


def mark_partial(drawn: Mapping[str, Any], progress: RunProgress | None) -> dict[str, Any]:
    """Contents of a view; during a run, the notice "Partial" replaces the finding."""
    return dict(drawn) if progress is None else {**drawn, "finding": partial_notice(progress)}


def partial_notice(progress: RunProgress) -> Markup:
    return notice_html(
        "warn",
        f"Partial: {count(progress.done)} of {count(progress.planned)} calls done.",
        "The numbers below will change. The summary sentence appears when the run ends. "
        f"Updated every {REFRESH_SECONDS} s.",
    )


def choice_updates(
    filters: Mapping[str, Sequence[str]], controls: Mapping[str, Sequence[str]]
) -> list[Any]:
    """Gradio updates with the choices of menus and switches; the values stay unchanged."""
    menus = [gr.Dropdown(choices=list(known)) for known in filters.values()]
    return [*menus, *(gr.Radio(choices=list(known)) for known in controls.values())]
