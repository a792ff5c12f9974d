"""Actions of the Run tab: start, retry, pause and stop a run; each redraws the tab."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from components.charts.figure_parts import Figure
from components.html.markup import EMPTY, Markup, escape
from components.layout.header import run_pill_html
from components.run import failed_replies, live_figures, notices, partial_results, status_html
from components.run.past_runs import run_html, runs_html
from components.run.run_facts import RunFacts, judges_to_call, load_run_facts
from components.server.gradio_private import click_data
from judges.engine.engine import Engine
from judges.engine.pending_asks import statuses_to_retry
from judges.engine.run import Run
from judges.engine.run_state import RunSettings
from judges.judge_errors import KeyRefused, PlanError
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.operations.check_judge import check_judge
from judges.planning.plan import load_stored_plan
from judges.security.key_consents import KeyDestination, TypedKey, TypedKeys, typed_keys_of_judges
from studies.errors import EvenhandError
from studies.settings import secret_value
from studies.store.store import Store


class RunActions:
    """Event handlers of the Run tab. All but `runs_and_opened_run_html` return the
    outputs of the redrawn tab; those that may use a typed key also return a value for the key
    field. `scope`, a value of REPLY_SCOPES, says whether the tab lists all latest replies or only
    unusable ones."""

    def __init__(self, store: Store, engine: Engine, live: live_figures.LiveStudies) -> None:
        self._store, self._engine, self._live = store, engine, live

    def __call__(self, name: str, scope: str) -> list[Any]:
        shown = render(self._store, self._engine, self._live, name, scope)
        return [*shown, show_latest_run_pill(self._engine, name)]

    def redraw_on_timer(self, name: str, scope: str) -> list[Any]:
        """Redraw the tab when the timer fires, and deactivate the timer once no run is active; no
        other handler deactivates it."""
        shown = self(name, scope)
        if not name or isinstance(shown[0], gr.Timer) or self._engine.active_run(name) is not None:
            return shown
        return [gr.Timer(active=False), *shown[1:]]

    def runs_and_opened_run_html(self, name: str, scope: str, opened: str) -> list[Any]:
        """HTML of the list of runs, and of the run `opened` (an id). `scope`, here a value of
        `past_runs.SCOPES`: whether the list has the runs of this study or of all studies."""
        if not name:
            return ["", ""]
        return [runs_html(self._store, name, scope, opened), run_html(self._store, opened, name)]

    def start(self, name: str, scope: str, key: str = "", origin: str = "") -> list[Any]:
        return self._start_with_key(name, scope, key, origin)

    def retry(self, name: str, scope: str, key: str = "", origin: str = "") -> list[Any]:
        again = statuses_to_retry(self._store.status_counts(name))
        return self._start_with_key(name, scope, key, origin, RunSettings(retry_statuses=again))

    def _start_with_key(
        self, name: str, scope: str, key: str, origin: str, settings: RunSettings | None = None
    ) -> list[Any]:
        """Start a run. A typed `key` is first tested, with one call to each judge that lacks a key;
        if one of these calls fails, a warning shows its error and nothing is started. If a key is
        missing and none was typed, a warning asks for it. `origin`: the only origin (scheme, host
        and port) to which the key may be sent. `settings`: which calls are made again."""
        known = load_run_facts(self._store, self._engine, self._live.quotes, name)
        lacking = known.judges_without_key
        typed = dict.fromkeys(lacking, TypedKey(key, origin)) if key.strip() else {}
        if lacking and not typed and self._needs_key(name, lacking):
            gr.Warning(escape(f"Type the key of {' and '.join(lacking)} first."))
        elif refused := try_typed_keys(self._store, name, typed) if typed else "":
            gr.Warning(escape(refused))
        else:
            start_run(self._store, self._engine, name, typed, settings=settings)
            return [*self(name, scope), ""]
        return [*self(name, scope), gr.skip()]

    def _needs_key(self, name: str, lacking: Collection[str]) -> bool:
        """Whether a judge named in `lacking` also has no key in its environment variable. A judge
        can be in `lacking` although it has one: its key was refused in the last run."""
        judges = judges_to_call(self._store.study(name))
        keyless = [judge for judge in judges if not secret_value(judge.api_key_env or "")]
        return any(judge.name in lacking for judge in keyless)

    def pause_or_resume(self, name: str, scope: str) -> list[Any]:
        """Pause the active run, or resume it if it is paused."""
        run = self._engine.active_run(name)
        if run is not None:
            (partial(resume_or_warn, run) if run.state == "paused" else run.pause)()
        return self(name, scope)

    def stop(self, name: str, scope: str) -> list[Any]:
        run = self._engine.active_run(name)
        if run is not None:
            run.stop()
            run.wait(2)
        return self(name, scope)

    def perform_notice_action(
        self, name: str, scope: str, event: gr.EventData, key: str = "", origin: str = ""
    ) -> list[Any]:
        """Perform the action of a button that was clicked in a notice; an unknown action does
        nothing. `key` and `origin`: a typed key, and the only origin to which it may be sent."""
        asked = notices.parse_notice_click(click_data(event))
        if asked.get("do") == "start":
            return self._start_with_key(name, scope, key, origin)
        do: dict[str, Callable[[], object]] = {
            "allow": lambda: self._allow_key_for_origin(asked.get("variable"), asked.get("origin")),
            "go": lambda: self._apply_to_active_run(name, resume_or_warn),
            "raise": lambda: self._start_with_budget(name, asked.get("budget")),
            "leave_out": lambda: self._apply_to_active_run(
                name, lambda run: run.leave_out_judge(str(asked.get("judge")))
            ),
            "at_most": lambda: self._apply_to_active_run(
                name,
                lambda run: run.limit_in_flight(
                    str(asked.get("judge")), _parse_in_flight_limit(asked.get("calls"))
                ),
            ),
        }
        do.get(str(asked.get("do")), lambda: None)()
        return [*self(name, scope), gr.skip()]

    def _apply_to_active_run(self, name: str, act: Callable[[Run], None]) -> None:
        run = self._engine.active_run(name)
        if run is not None:
            act(run)

    def _start_with_budget(self, name: str, budget: object) -> None:
        if isinstance(budget, (int, float)) and budget > 0:
            start_run(self._store, self._engine, name, budget=float(budget))

    def _allow_key_for_origin(self, variable: object, origin: object) -> None:
        try:
            consents = self._engine.consents(self._store)
            consents.store_consent(KeyDestination(str(variable), str(origin)))
        except (PlanError, OSError) as error:
            gr.Warning(escape(error))


def resume_or_warn(run: Run) -> None:
    """Resume a paused run. If a public page has too many active runs, show a warning instead."""
    try:
        run.resume()
    except PlanError as error:
        gr.Warning(escape(error), title="Still paused", duration=None)


def _parse_in_flight_limit(value: object) -> int:
    return max(1, value) if isinstance(value, int) else 1


def try_typed_keys(store: Store, name: str, typed: TypedKeys) -> str:
    """Test typed keys: make one call to each judge that has one, until a call fails. Return the
    error of that call, or why a key may not be sent; "" if all calls succeed."""
    plan = load_stored_plan(store, name)
    try:
        keys = typed_keys_of_judges(judges_to_call(plan.study), typed)
    except KeyRefused as error:
        return str(error)
    for judge in judges_to_call(plan.study):
        if judge.name in keys:  # of the extraction judge, a judging call tests the key as well
            alone = replace(plan, study=replace(plan.study, judges=(judge,)))
            checked = check_judge(alone, judge, keys)
            if checked.read.status == "error":
                return f"{judge.name}: {checked.read.detail}"
    return ""


def start_run(
    store: Store,
    engine: Engine,
    name: str,
    typed: TypedKeys | None = None,
    *,
    settings: RunSettings | None = None,
    budget: float | None = None,
) -> Run:
    """Start a run of the missing calls of a stored study and return it; if the study has an active
    run, return that one. gr.Error if the study cannot be run. `typed`: judge -> key that the user
    typed. `settings`: which calls are made again. `budget`: maximum dollars for the whole study, in
    this run only, in place of the study file's."""

    def start() -> Run:
        plan = load_stored_plan(store, name)
        if budget is not None:
            plan = replace(plan, study=replace(plan.study, budget_usd=budget))
        keys = typed_keys_of_judges(judges_to_call(plan.study), typed or {})
        return engine.start(plan, store, keys=keys, settings=settings)

    try:
        return engine.find_or_start_run(name, start)
    except (EvenhandError, EmbeddedUnavailable, WeightsMissing, PlanError) as error:
        raise gr.Error(escape(error), title="This study cannot be run", duration=None) from None


def show_latest_run_pill(engine: Engine, name: str) -> Markup:
    run = engine.latest_run(name)
    return EMPTY if run is None else run_pill_html(run.snapshot())


def render(
    store: Store,
    engine: Engine,
    live: live_figures.LiveStudies,
    name: str,
    scope: str = status_html.REPLY_SCOPES[0],
) -> list[Any]:
    """Values for all outputs of the tab (for an empty `name`, none changes). `scope`, a value of
    REPLY_SCOPES: whether all latest replies are listed or only unusable ones.

    The values may activate the timer that redraws the tab, but never deactivate it: values computed
    before a run started may reach the page after the start."""
    if not name:
        return [gr.skip()] * 22
    now = load_run_facts(store, engine, live.quotes, name)
    figures = live.for_study(name).figures(now.running)
    return [
        gr.Timer(active=True) if now.running else gr.skip(),
        f"{now.snapshot.id} {now.snapshot.state}" if now.snapshot else "",
        status_html.run_headline_html(now, live.study_headline(name) if now.complete else ""),
        *updated_run_buttons(now),
        notices.store_notices_html(store) + notices.study_notices_html(now),
        gr.Column(visible=len(now.key_origins) == 1),
        notices.key_request_notice(now) if now.judges_without_key else "",
        now.key_origins[0] if len(now.key_origins) == 1 else "",
        gr.Button(f"Test and {status_html.start_button_text(now.missing).lower()}"),
        status_html.progress_bar_html(now),
        status_html.run_kpis_html(now, figures),
        live.outcome(name) if now.complete else partial_results.partial_results_html(now, figures),
        failed_replies.failed_replies_html(store, now),
        *map(_chart_update, (figures.share_figure, figures.elo_figure, figures.wins_figure)),
        status_html.latest_replies_html(store, name, scope),
    ]


def _chart_update(figure: Figure | None) -> Any:
    """Update of a chart; a figure that does not apply to the study (None) hides it."""
    return gr.update(visible=False) if figure is None else gr.update(value=figure, visible=True)


def updated_run_buttons(facts: RunFacts) -> list[gr.Button]:
    """The buttons See results, Run, Retry, Pause, Stop and Notify, with prices; buttons that do not
    apply are hidden."""
    idle = not facts.running and not facts.has_recorded_verdicts and facts.owned
    return [
        gr.Button(visible=facts.complete or facts.has_recorded_verdicts),
        gr.Button(status_html.start_button_text(facts.missing), visible=idle and facts.pending > 0),
        gr.Button(status_html.retry_button_text(facts), visible=idle and facts.offers_retry),
        gr.Button("Resume" if facts.paused else "Pause", visible=facts.running and facts.owned),
        gr.Button(visible=facts.running and facts.owned),
        gr.Button(visible=facts.running),
    ]
