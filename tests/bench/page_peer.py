"""The same page as others would build it: the same numbers in gr.Plot and gr.Dataframe.

One process a page, so that one's memory and threads are not another's:
    python -m tests.bench.page_peer live ours|timer|generator PORT
    python -m tests.bench.page_peer filter peer PORT STORE
    python -m tests.bench.page_peer empty peer PORT
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr
import numpy as np
import plotly.graph_objects as go

from components.charts.elo_chart import elo_curve_figure
from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE, Filter, filter_choices
from components.layout.theme import appearance_launch_arguments
from components.layout.widgets import PlotlyView
from components.results.bias import tab
from components.results.bias.computed import load_bias
from components.results.bias.flip_leans import flip_leans
from components.results.bias.pair_tests import pair_test_rows
from components.results.bias.panels import chosen_slot_histogram
from components.results.bias.sentences import bias_headline
from components.server.gradio_private import disable_status_updates
from studies.store.store import Store
from tests.bench.big_store import NAME

EVERY = 0.5
PLOTS = 3
NAMES = [f"model-{n}" for n in range(5)]


# --------------------------------------------------------------------------- live charts


def live_figure(began: float, plot: int) -> dict[str, Any]:
    """Five ratings that grow with the run; the moment it was made stands in an annotation."""
    battles = max(2, int(40 * (time.monotonic() - began)))
    rng = np.random.default_rng(plot)
    walks = 1000 + rng.normal(0, 4, (len(NAMES), battles)).cumsum(axis=1)
    curves = {name: walk.tolist() for name, walk in zip(NAMES, walks, strict=True)}
    figure = elo_curve_figure(list(range(battles)), curves, height=250)
    stamp = {"text": f"{time.time() * 1000:.0f}", "showarrow": False, "xref": "paper", "x": 0.1}
    figure["layout"]["annotations"].append({**stamp, "yref": "paper", "y": 0.9, "name": "stamp"})
    return figure


def as_plotly(figure: dict[str, Any] | None) -> go.Figure:
    """What gr.Plot takes; it knows no CSS variables, so colours are plain."""
    text = _plain(figure or {"data": [], "layout": {}})
    return go.Figure(data=text["data"], layout=text["layout"], skip_invalid=True)


def _plain(part: Any) -> Any:
    if isinstance(part, dict):
        return {k: _plain(v) for k, v in part.items() if k not in ("unifiedhovertitle",)}
    if isinstance(part, list):
        return [_plain(value) for value in part]
    if isinstance(part, str) and "var(" in part:
        return "rgba(31,111,178,0.2)" if part.startswith("alpha") else "#1F6FB2"
    return part


def live_page(kind: str) -> gr.Blocks:
    began = time.monotonic()

    def now() -> list[Any]:
        made = [live_figure(began, plot) for plot in range(PLOTS)]
        return made if kind == "ours" else [as_plotly(figure) for figure in made]

    def endless() -> Iterator[list[Any]]:
        while True:
            yield now()
            time.sleep(EVERY)

    with gr.Blocks(analytics_enabled=False) as page, gr.Row():
        plots = [PlotlyView(height=250) if kind == "ours" else gr.Plot() for _ in range(PLOTS)]
        quiet: dict[str, Any] = {"show_progress": "hidden"}
        if kind == "generator":
            page.load(endless, None, plots, **quiet)
        else:
            gr.Timer(EVERY).tick(now, None, plots, trigger_mode="once", **quiet)
        if kind == "ours":
            disable_status_updates(page)
    return page


# ------------------------------------------------------------------ a filter over judgements


def filter_page(store: Store) -> gr.Blocks:
    """The finding, the matrix, the slots, the flips and the tests, as gr.Plot and gr.Dataframe."""

    def show(judge: str) -> list[Any]:
        began = time.perf_counter()
        scene = FilteredStudy(store, NAME, Filter(judge=judge))
        bias = load_bias(scene)
        rows = list(bias.names.values())
        columns = ["All", *bias.category_sizes]
        cells = {
            **{(bias.names[r], "All"): e.value for r, e in bias.by_rater("consistency").items()},
            **{(bias.names[c[:2]], c[2]): e.value
               for c, e in bias.by_category("consistency").items()},
        }  # fmt: skip
        z = [[cells.get((row, column)) for column in columns] for row in rows]
        heat = go.Figure(go.Heatmap(z=z, x=columns, y=rows, texttemplate="%{z:.2f}"))
        flips = [[r.name, r.first, r.second, r.flips] for r in flip_leans(bias)]
        tests = [[r.name, *(t.p for t in r.tests.values())] for r in pair_test_rows(bias)]
        made = [bias_headline(bias)[0], heat, as_plotly(chosen_slot_histogram(bias)), flips, tests]
        print(f"python {1000 * (time.perf_counter() - began):.1f}", flush=True)
        return [*made, judge]

    frame = store.frame(NAME)
    tab.headline(FilteredStudy(store, NAME))
    with gr.Blocks(analytics_enabled=False) as page:
        judge = gr.Dropdown(
            filter_choices(frame, "judge"), value=ALL_CHOICE, label="Judge", elem_id="judge"
        )
        told = gr.Markdown()
        with gr.Row():
            matrix, slots = gr.Plot(elem_id="matrix"), gr.Plot(elem_id="slots")
        flips = gr.Dataframe(headers=["row", "first", "second", "flips"], elem_id="flips")
        tests = gr.Dataframe(elem_id="tests")
        done = gr.Textbox(elem_id="done")
        outputs = [told, matrix, slots, flips, tests, done]
        judge.input(show, judge, outputs, show_progress="hidden")
        page.load(show, judge, outputs, show_progress="hidden")
    return page


def empty_page() -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False) as page:
        gr.Button()
    return page


def main() -> None:
    what, kind, port, *rest = sys.argv[1:]
    if what == "empty":
        page = empty_page()
    else:
        page = live_page(kind) if what == "live" else filter_page(Store(Path(rest[0])))
    page.queue(default_concurrency_limit=16)
    page.launch(server_port=int(port), quiet=True, **appearance_launch_arguments())


if __name__ == "__main__":
    main()
