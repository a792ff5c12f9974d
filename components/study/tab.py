"""Events of the Study tab, which is the form of one study.

The text of the study file in the editor is the only state: the form shows it, and Run uses it.
Changes in the form are sent to the server as a list of numbered changes (assets/page.js gives the
reason).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.html.markup import Markup, escape
from components.html.pieces import notice_html
from components.layout.header import Header
from components.run import tab as run_tab
from components.study import form_html as study_draw
from components.study.collect_tab import bind_collect
from components.study.file.lenient_study import START_YAML, FormState
from components.study.files_tab import bind_files
from components.study.form.key_consent import allow_key
from components.study.form_changes import apply_changes
from components.study.form_layout_tab import StudyTab as StudyTab
from components.study.form_layout_tab import build as build
from components.study.form_updates_tab import form_outputs, form_updates, plan_updates
from components.study.jobs import (
    REPORTED_ERRORS,
    describe_images,
    fetch_private,
    open_recorded_verdicts,
    prepare_run,
    test_judge,
)
from components.study.plan.study_preview import build_preview
from components.study.prompts_tab import bind_prompts
from judges.engine.engine import Engine
from judges.security.key_consents import Pair
from judges.security.key_origins import TypedKeys, read_typed
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
LATEST_ONLY: Final[dict[str, Any]] = {"trigger_mode": "always_last", **QUIET}
REMEMBER_RUN_TAB: Final = "() => evenhand.remember({tab: 'run'})"
MARK_IDLE: Final = "() => evenhand.idle()"


def bind(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    _bind_form(tab, store)
    bind_files(tab, header, tabs, store)
    bind_prompts(tab, store)
    bind_collect(tab, store)
    _bind_jobs(tab, header, tabs, store, engine)
    _bind_runs(tab, header, tabs, store, engine)


def _bind_form(tab: StudyTab, store: Store) -> None:
    inputs = [tab.edits, tab.yaml, tab.view, tab.tested, tab.draft]

    def change(edits: str, text: str, view: FormState, tested: Any, draft: str) -> list[Any]:
        made, seen = apply_changes(text, view, json.loads(edits or "[]"), store.folder)
        return form_updates(made, seen, tested, draft, store.folder, before=view)

    tab.edits.select(change, inputs, form_outputs(tab), **LATEST_ONLY)

    def replan(text: str, view: FormState, tested: Any, draft: str) -> list[Any]:
        look = build_preview(text, store.folder)
        plan = plan_updates(look, view, store)
        # The form already shows the text that it wrote itself; drawing it late would undo typing.
        if view.shown == text:
            return [*plan, *[gr.skip()] * len(tab.form_components)]
        return [*plan, *study_draw.render_form(look, view, tested, draft)]

    watched = [tab.yaml, tab.view, tab.tested, tab.draft]
    tab.yaml.change(replan, watched, [*tab.plan_components, *tab.form_components], **LATEST_ONLY)


def _bind_jobs(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    state = [tab.yaml, tab.view, tab.tested]
    outputs = [tab.tested, tab.yaml, tab.said, header.study, tabs]

    def results(name: str) -> list[Any]:
        names = gr.Dropdown(choices=study_names(store), value=name)
        return [names, gr.Tabs(selected="results")]

    def run(
        errand: str, keys: str, text: str, view: FormState, tested: Mapping[str, Any]
    ) -> list[Any]:
        """Run a slow job. Its result redraws no form field, so that text typed meanwhile is not
        overwritten."""
        asked = json.loads(errand or "{}")
        made: list[Any] = [gr.skip()] * len(outputs)
        if asked.get("do") == "test":
            name = str(asked["judge"])
            made[0] = {
                **tested,
                name: test_judge(
                    text, store.folder, name, read_typed(keys), engine.consents(store)
                ),
            }
        elif asked.get("do") in ("describe", "fetch"):
            if asked["do"] == "fetch":
                went = fetch_private(text, store, read_typed(keys))
            else:
                went = describe_images(text, store, engine, asked, read_typed(keys))
            made[1:3] = [went.text, went.notice_html]
        elif asked.get("do") == "allow key":
            pair = Pair(str(asked.get("variable")), str(asked.get("origin")))
            refused = allow_key(engine.consents(store), pair)
            made[2] = refused + study_draw.render_notices(build_preview(text, store.folder), view)
        elif asked.get("do") == "open study" and str(asked["study"]) in study_names(store):
            made[3:] = results(str(asked["study"]))
        elif asked.get("do") == "recorded":
            try:
                made[3:] = results(open_recorded_verdicts(text, store))
            except REPORTED_ERRORS as error:
                made[2] = notice_html("bad", "These verdicts cannot be opened.", str(error))
        return made

    def redraw(text: str, view: FormState, tested: Any) -> Markup:
        return study_draw.render_judges(build_preview(text, store.folder), view, tested)

    tab.errand.select(
        run, [tab.errand, tab.keys, *state], outputs, trigger_mode="once", **QUIET
    ).then(redraw, state, tab.judges, **QUIET).then(None, None, None, js=MARK_IDLE)


def _bind_runs(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    outputs = [header.study, tabs]

    def opened(name: str) -> list[Any]:
        return [gr.Dropdown(choices=study_names(store), value=name), gr.Tabs(selected="run")]

    def run(text: str, keys: str) -> list[Any]:
        return opened(start_study(store, engine, text, read_typed(keys)))

    def attempt(text: str, keys: str) -> list[Any]:
        return opened(start_study(store, engine, text, read_typed(keys), one_item=True))

    for button, start in ((tab.run, run), (tab.attempt, attempt)):
        event = button.click(start, [tab.yaml, tab.keys], outputs, **QUIET)
        event.success(None, None, None, js=REMEMBER_RUN_TAB)


def start_study(
    store: Store,
    engine: Engine,
    text: str,
    typed: TypedKeys | None = None,
    *,
    one_item: bool = False,
) -> str:
    """Save the study and start its run, or continue with its active run; return the study's
    name."""
    try:
        plan = prepare_run(text, store, one_item=one_item)
    except REPORTED_ERRORS as error:
        raise gr.Error(escape(error), title="This study cannot be run", duration=None) from None
    run_tab.start_run(store, engine, plan.study.name, typed)
    return plan.study.name


def opening_outputs(tab: StudyTab) -> list[Any]:
    """The Gradio outputs of `show_initial_form`, in the order of its return values."""
    return [*tab.plan_components, *tab.form_components]


def show_initial_form(store: Store) -> list[Any]:
    """Values that show the initial form and its plan."""
    look = build_preview(START_YAML, store.folder)
    return [*plan_updates(look, FormState(), store), *study_draw.render_form(look, FormState(), {})]


def show_study_file(store: Store, text: str, view: FormState, tested: Any) -> list[Any]:
    """Values for `form_outputs` that show another study file in the form."""
    fresh = FormState(last_change=view.last_change, deselected_judges=view.deselected_judges)
    return form_updates(text, fresh, tested, "", store.folder)


def study_names(store: Store) -> list[str]:
    return [line.name for line in store.studies()]
