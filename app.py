"""Evenhand: is your LLM judge even-handed? The front door: settings, store, tabs, launch."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from components import demo, header, results_tab, run_tab, study_tab
from components.live import LiveViews
from components.theme import launch_look
from judges.runs import Engine
from studies.errors import EvenhandError
from studies.store import Store

TABS = ("study", "run", "results")


def create_page(store: Store, engine: Engine) -> gr.Blocks:
    """All tabs are built before any is bound, so that one may bind to another's components."""
    live = LiveViews(store)
    with gr.Blocks(title="Evenhand", analytics_enabled=False) as page:
        top = header.build()
        with gr.Tabs(elem_id="eh-tabs", selected="study") as tabs:
            with gr.Tab("Study", id="study"):
                study = study_tab.build()
            with gr.Tab("Run", id="run"):
                run = run_tab.build()
            with gr.Tab("Results", id="results"):
                results = results_tab.build()
        study_tab.bind(study, top, run, tabs, store, engine)
        run_tab.bind(run, top, store, engine, live)
        results_tab.bind(results, top, store)
        bind_view(page, top, tabs, study, run, results, store, engine, live)
    return page


def bind_view(
    page: gr.Blocks,
    top: header.Header,
    tabs: gr.Tabs,
    study: study_tab.StudyTab,
    run: run_tab.RunTab,
    results: results_tab.ResultsTab,
    store: Store,
    engine: Engine,
    live: LiveViews,
) -> None:
    """The study in view and the address: a link shows a collaborator exactly what you see."""
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

    def open_page(request: gr.Request) -> list[Any]:
        names = study_tab.study_names(store)
        wanted = request.query_params.get("study", "")
        chosen = wanted if wanted in names else demo.PAIRS if demo.PAIRS in names else ""
        tab = request.query_params.get("tab", "study")
        if wanted and wanted not in names:
            gr.Warning(f"There is no study named {wanted!r} here.")
        return [
            gr.Dropdown(choices=names, value=chosen or None),
            gr.Tabs(selected=tab if tab in TABS else "study"),
            *study_tab.show_first(store),
            *study_tab.show_plan_of(study_tab.study_yaml(study_tab.START), store.path.parent),
            *study_tab.show_choices(study_tab.SOURCES[0], "", store.path.parent),
        ]

    form = dict(zip(study_tab.Form.__dataclass_fields__, study.fields, strict=True))
    opened = page.load(
        open_page,
        None,
        [
            top.study, tabs, study.finding, study.table, study.data, study.plan, study.run,
            study.coverage, study.item, study.prompt, study.said, study.save_file,
            form["categories"], form["contestants"],
        ],
        **quiet,
    )  # fmt: skip

    def show_study(name: str, view: str, measure: str) -> list[Any]:
        if not name:
            return [gr.skip()] * 31
        chosen = results_tab.Filter()
        return [
            header.show_note(store, name),
            *results_tab.show_filters(store, name),
            *results_tab.show(store, name, view, chosen, measure),
            *run_tab.show(store, engine, live, name),
            header.show_pill(run_tab._snapshot(engine, name)),
        ]

    outputs = [top.note, *results.filters, *results_tab.outputs(results), *run.outputs, top.pill]
    remember = "(study) => evenhand.remember({study})"
    top.study.change(show_study, [top.study, results.view, results.measure], outputs, **quiet).then(
        None, top.study, None, js=remember
    )
    tabs.change(
        lambda name, view, measure: show_study(name, view, measure),
        [top.study, results.view, results.measure], outputs, **quiet,
    )  # fmt: skip
    top.share.click(None, None, None, js="() => evenhand.copyLink()")
    del opened


def port_is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    on_space = "SPACE_ID" in os.environ
    parser.add_argument("--host", default="0.0.0.0" if on_space else "127.0.0.1")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "7860")))
    parser.add_argument("--store", type=Path, default=None, help="the SQLite file to use")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    chosen = options(arguments)
    if not port_is_free(chosen.host, chosen.port):
        print(
            f"error: port {chosen.port} on {chosen.host} is taken. Is another Evenhand running? "
            f"Open http://{chosen.host}:{chosen.port}, or choose another with --port",
            file=sys.stderr,
        )
        return 2
    try:
        store = Store(chosen.store)
        demo.open_demo(store)
    except EvenhandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    engine = Engine()
    page = create_page(store, engine)
    page.queue(default_concurrency_limit=16)
    try:
        page.launch(
            server_name=chosen.host, server_port=chosen.port, show_error=False,
            state_session_capacity=200, **launch_look(),
        )  # fmt: skip
    finally:
        engine.close()
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
