"""Evenhand: is your LLM judge even-handed? The front door: settings, store, tabs, launch."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import gradio as gr

from components import demo, header, inspect_tab, results_tab, run_tab, study_tab
from components.inspect_selection import selection_from
from components.live import LiveViews
from components.scene import Scene
from components.theme import launch_look
from judges.engine import Engine
from studies.errors import EvenhandError
from studies.store import Store

TABS = ("study", "run", "results", "inspect")
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True)
class Page:
    """The parts of the page, so that the front door can connect one to another."""

    wanted: gr.State
    """What the address asked for, until the study it names is shown."""
    header: header.Header
    tabs: gr.Tabs
    by_name: dict[str, gr.Tab]
    study: study_tab.StudyTab
    run: run_tab.RunTab
    results: results_tab.ResultsTab
    inspect: inspect_tab.InspectTab


def create_page(store: Store, engine: Engine) -> gr.Blocks:
    """All tabs are built before any is bound, so that one may bind to another's components."""
    live = LiveViews(store)
    with gr.Blocks(title="Evenhand", analytics_enabled=False) as blocks:
        page = build()
        study_tab.bind(page.study, page.header, page.tabs, store, engine)
        run_tab.bind(page.run, page.header, store, engine, live)
        results_tab.bind(page.results, page.header, store)
        inspect_tab.bind(page.inspect, store)
        bind_opening(blocks, page, store)
        bind_view(page, store, engine, live)
        bind_marks(page, store)
    return blocks


def build() -> Page:
    wanted = gr.State({})
    top = header.build()
    with gr.Tabs(elem_id="eh-tabs", selected="study") as tabs:
        with gr.Tab("Study", id="study") as on_study:
            study = study_tab.build()
        with gr.Tab("Run", id="run") as on_run:
            run = run_tab.build()
        with gr.Tab("Results", id="results") as on_results:
            results = results_tab.build()
        with gr.Tab("Inspect", id="inspect") as on_inspect:
            inspect = inspect_tab.build()
    by_name = dict(zip(TABS, (on_study, on_run, on_results, on_inspect), strict=True))
    return Page(wanted, top, tabs, by_name, study, run, results, inspect)


def bind_opening(blocks: gr.Blocks, page: Page, store: Store) -> None:
    """The address carries the view: a link shows a collaborator exactly what you see."""

    def open_page(request: gr.Request) -> list[Any]:
        names = study_tab.study_names(store)
        wanted = dict(request.query_params)
        name = wanted.get("study", "")
        if name and name not in names:
            gr.Warning(f"There is no study named {name!r} here.")
        chosen = name if name in names else demo.PAIRS if demo.PAIRS in names else None
        tab = wanted.get("tab", "study")
        return [
            wanted,
            gr.Dropdown(choices=names, value=chosen),
            gr.Tabs(selected=tab if tab in TABS else "study"),
            *study_tab.show_first(store),
            *study_tab.show_start(store),
        ]

    outputs = [
        page.wanted, page.header.study, page.tabs, *study_tab.opening_outputs(page.study),
    ]  # fmt: skip
    blocks.load(open_page, None, outputs, **QUIET)


def bind_view(page: Page, store: Store, engine: Engine, live: LiveViews) -> None:
    """The study in the header is shown in every tab; a tab that is opened is brought up to date."""
    top, run, results = page.header, page.run, page.results

    def show_run(name: str) -> list[Any]:
        return [*run_tab.show(store, engine, live, name), run_tab.show_running(engine, name)]

    def show_study(name: str, wanted: dict[str, str]) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        seen = wanted if wanted.get("study", name) == name else {}
        inspected = seen if seen.get("tab") == "inspect" else {}
        return [
            {},
            header.show_note(store, name),
            *results_tab.settle(store, name, results, {} if inspected else seen),
            *show_run(name),
            *inspect_tab.show(store, selection_from({**inspected, "study": name})),
        ]

    def show_results(name: str, *values: Any) -> list[Any]:
        return results_tab.show(store, name, results, values)

    drawn = {"fn": show_results, "inputs": [top.study, *results.inputs], "outputs": results.outputs}
    run_outputs = [*run.outputs, top.pill]
    outputs = [
        page.wanted, top.note, *results.inputs, *run_outputs,
        *inspect_tab.refresh_outputs(page.inspect),
    ]  # fmt: skip
    top.study.change(show_study, [top.study, page.wanted], outputs, **QUIET).then(
        **drawn, **QUIET
    ).then(None, top.study, None, js="(study) => evenhand.remember({study})").then(
        None, results.inputs, None, js=results_tab.address_script(results)
    )
    page.by_name["run"].select(show_run, top.study, run_outputs, **QUIET)
    page.by_name["results"].select(**drawn, **QUIET)
    top.share.click(None, None, None, js="() => evenhand.copyLink()")


def bind_marks(page: Page, store: Store) -> None:
    """Every mark is one click from the replies behind it."""
    results = page.results

    def open_marked(event: gr.EventData, name: str, *values: Any) -> Any:

        _, chosen, _ = results_tab.read(results, values)
        selection = results_tab.selection_of(Scene(store, name, chosen), event._data)
        return [gr.Tabs(selected="inspect"), *inspect_tab.show(store, selection)]

    def open_first(event: gr.EventData) -> Any:
        selection = selection_from({**event._data, "study": demo.PAIRS})
        return [demo.PAIRS, gr.Tabs(selected="inspect"), *inspect_tab.show(store, selection)]

    def open_reply(name: str, event: gr.EventData) -> Any:
        selection = selection_from({**event._data, "study": name})
        return [gr.Tabs(selected="inspect"), *inspect_tab.show(store, selection)]

    shown = [page.tabs, *inspect_tab.refresh_outputs(page.inspect)]
    remember = {"js": "() => evenhand.remember({tab: 'inspect'})"}
    for mark in results.clickable:
        mark.select(open_marked, [page.header.study, *results.inputs], shown, **QUIET).then(
            None, None, None, **remember
        )
    page.run.replies.select(open_reply, page.header.study, shown, **QUIET).then(
        None, None, None, **remember
    )
    page.study.table.select(open_first, None, [page.header.study, *shown], **QUIET).then(
        None, None, None, **remember
    )


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
    blocks = create_page(store, engine)
    blocks.queue(default_concurrency_limit=16)
    try:
        blocks.launch(
            server_name=chosen.host, server_port=chosen.port, show_error=False,
            state_session_capacity=200, **launch_look(),
        )  # fmt: skip
    finally:
        engine.close()
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
