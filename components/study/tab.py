"""Study: what happens on the first screen and in the form from which a study is made and run.

The study file in the editor is the truth: the form is a view of it, and Run reads it. What a
reader does in the form comes as a list of numbered changes (assets/page.js says why).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components import demo
from components.collect.tab import bind_collect
from components.drawing.pieces import notice
from components.format import safe
from components.header import Header
from components.run import tab as run_tab
from components.study import draw as study_draw
from components.study.actions import apply
from components.study.bench import bench
from components.study.consent import allow_key
from components.study.errands import (
    REFUSED,
    describe_images,
    fetch_private,
    open_verdicts,
    ready,
    test_judge,
)
from components.study.files_tab import bind_files
from components.study.first import first_screen
from components.study.layout_tab import StudyTab as StudyTab
from components.study.layout_tab import build as build
from components.study.prompts_tab import bind_prompts
from components.study.sheet import START, View
from components.study.show_tab import form_outputs, show_form, show_plan_of
from judges.consents import Pair
from judges.engine import Engine
from judges.plan import owned, save_plan
from judges.typed_keys import TypedKeys, read_typed
from studies.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
LAST: Final[dict[str, Any]] = {"trigger_mode": "always_last", **QUIET}
TO_RUN: Final = "() => evenhand.remember({tab: 'run'})"
IDLE: Final = "() => evenhand.idle()"


def bind(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    _bind_form(tab, store)
    bind_files(tab, header, tabs, store)
    bind_prompts(tab, store)
    bind_collect(tab, store)
    _bind_errands(tab, header, tabs, store, engine)
    _bind_runs(tab, header, tabs, store, engine)


def _bind_form(tab: StudyTab, store: Store) -> None:
    inputs = [tab.edits, tab.yaml, tab.view, tab.tested, tab.draft]

    def change(edits: str, text: str, view: View, tested: Any, draft: str) -> list[Any]:
        made, seen = apply(text, view, json.loads(edits or "[]"), store.folder)
        return show_form(made, seen, tested, draft, store.folder, before=view)

    tab.edits.select(change, inputs, form_outputs(tab), **LAST)

    def replan(text: str, view: View, tested: Any, draft: str) -> list[Any]:
        look = bench(text, store.folder)
        plan = show_plan_of(look, view, store)
        # What the form itself wrote is in the form already; drawn late it would undo typing.
        if view.shown == text:
            return [*plan, *[gr.skip()] * len(tab.drawn)]
        return [*plan, *study_draw.drawn(look, view, tested, draft)]

    watched = [tab.yaml, tab.view, tab.tested, tab.draft]
    tab.yaml.change(replan, watched, [*tab.planned, *tab.drawn], **LAST)


def _bind_errands(
    tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine
) -> None:
    state = [tab.yaml, tab.view, tab.tested]
    outputs = [tab.tested, tab.yaml, tab.said, header.study, tabs]

    def results(name: str) -> list[Any]:
        names = gr.Dropdown(choices=study_names(store), value=name)
        return [names, gr.Tabs(selected="results")]

    def run(errand: str, keys: str, text: str, view: View, tested: Mapping[str, Any]) -> list[Any]:
        """What takes time. It draws no piece of the form, so that nobody's typing is undone."""
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
            made[1:3] = [went.text, went.said]
        elif asked.get("do") == "allow key":
            pair = Pair(str(asked.get("variable")), str(asked.get("origin")))
            refused = allow_key(engine.consents(store), pair)
            made[2] = refused + study_draw.said(bench(text, store.folder), view)
        elif asked.get("do") == "open study" and str(asked["study"]) in study_names(store):
            made[3:] = results(str(asked["study"]))
        elif asked.get("do") == "recorded":
            try:
                made[3:] = results(open_verdicts(text, store))
            except REFUSED as error:
                made[2] = notice("bad", "These verdicts cannot be opened.", str(error))
        return made

    def redraw(text: str, view: View, tested: Any) -> str:
        return study_draw.judges(bench(text, store.folder), view, tested)

    tab.errand.select(
        run, [tab.errand, tab.keys, *state], outputs, trigger_mode="once", **QUIET
    ).then(redraw, state, tab.judges, **QUIET).then(None, None, None, js=IDLE)


def _bind_runs(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    outputs = [header.study, tabs]

    def opened(name: str) -> list[Any]:
        return [gr.Dropdown(choices=study_names(store), value=name), gr.Tabs(selected="run")]

    def run(text: str, keys: str) -> list[Any]:
        return opened(start_study(store, engine, text, read_typed(keys)))

    def attempt(text: str, keys: str) -> list[Any]:
        return opened(start_study(store, engine, text, read_typed(keys), one_item=True))

    def again() -> list[Any]:
        plan = owned(demo.live_plan(store), store)
        save_plan(plan, store)
        run_tab.begin(store, engine, plan.study.name)
        return opened(plan.study.name)

    for button, start in ((tab.run, run), (tab.attempt, attempt)):
        event = button.click(start, [tab.yaml, tab.keys], outputs, **QUIET)
        event.success(None, None, None, js=TO_RUN)
    tab.again.click(again, None, outputs, **QUIET).success(None, None, None, js=TO_RUN)


def start_study(
    store: Store,
    engine: Engine,
    text: str,
    typed: TypedKeys | None = None,
    *,
    one_item: bool = False,
) -> str:
    """Saves the study and begins its run; a run of it that is on is joined."""
    try:
        plan = ready(text, store, one_item=one_item)
    except REFUSED as error:
        raise gr.Error(safe(error), title="This study cannot be run", duration=None) from None
    run_tab.begin(store, engine, plan.study.name, typed)
    return plan.study.name


def opening_outputs(tab: StudyTab) -> list[Any]:
    """What a freshly opened page fills: `show_first`, then `show_start`."""
    return [tab.finding, tab.table, tab.ways, tab.data, *tab.planned, *tab.drawn]


def show_first(store: Store) -> list[Any]:
    """The finding of the recorded demo, a line a prompt, and three ways on."""
    return list(first_screen(store))


def show_start(store: Store) -> list[Any]:
    """The form as it starts, and its plan."""
    look = bench(START, store.folder)
    return [*show_plan_of(look, View(), store), *study_draw.drawn(look, View(), {})]


def study_names(store: Store) -> list[str]:
    return [line.name for line in store.studies()]
