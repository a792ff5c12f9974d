"""A plot that redraws without flicker, HTML whose buttons reach Python, a segmented switch.

Functions and not subclasses: Gradio writes a .pyi file beside every module that subclasses
one of its components. Their JavaScript is assets/page.js, which theme.head() puts into the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import gradio as gr
import plotly

from components.charts.figures import Figure
from components.server.compression import PLOTLY_JS

_PLOT_TEMPLATE = '<div class="eh-plot" style="height:{height}px"></div>'
# The template does not mention the value, so Gradio never touches what Plotly drew. No template
# may hold {{value}}: Gradio runs what is rendered as JavaScript, and data could hold ${…}.
_PLOT_SCRIPT = "evenhand.plot(element, props, trigger, watch, {path!r}); /* triggers 'select' */"
_CLICK_SCRIPT = "evenhand.clicks(element, trigger, watch); /* triggers 'select' */"


@cache
def plotly_script() -> str:
    """The path of plotly's own packaged script, opened for serving (this one file, no folder).

    Its version goes with it: browsers may keep the file for good (see components.server.compression).
    """
    if not PLOTLY_JS.is_file():
        raise FileNotFoundError(
            f"{PLOTLY_JS} is missing: reinstall plotly, its wheel carries the script of all our plots."
        )
    gr.set_static_paths(PLOTLY_JS)
    return f"{PLOTLY_JS.as_posix()}?v={plotly.__version__}"


def PlotlyView(
    value: Figure | None = None,
    *,
    height: int = 380,
    elem_classes: list[str] | str = "",
    **options: Any,
) -> gr.HTML:
    """A plot. `value` is a figure of components.charts.figures; return a new one to redraw (zoom is kept).

    `.select(fn)`: a click on a mark that has customdata; fn takes `event: gr.EventData`, and
    `event._data` is {"customdata": …, "x": …, "y": …}. `height` only holds the place until the
    first draw; afterwards the figure's own height counts.
    """
    view = gr.HTML(
        _figure_json(value),
        html_template=_PLOT_TEMPLATE.format(height=height),
        js_on_load=_PLOT_SCRIPT.format(path=plotly_script()),
        apply_default_css=False,
        elem_classes=_css_classes("eh-html eh-plot-view", elem_classes),
        **options,
    )
    # Gradio's page keeps values in deep reactive state and compares them by writing them out: a
    # figure of 2,000 numbers takes it seconds on a slow machine, the same figure as text nothing.
    view.postprocess = _figure_json
    return view


def _figure_json(figure: Figure | str | None) -> str | None:
    return json.dumps(figure, separators=(",", ":")) if isinstance(figure, dict) else figure


def ClickableHTML(
    value: str = "", *, elem_classes: list[str] | str = "", **options: Any
) -> gr.HTML:
    """HTML of components.html.panel or components.html.matrix.

    `.select(fn)`: a click on an element with data-select; fn takes `event: gr.EventData`, and
    `event._data` is the object written there, e.g. {"judge": "gpt-4", "category": "coding"}.
    """
    return gr.HTML(
        value,
        js_on_load=_CLICK_SCRIPT,
        apply_default_css=False,
        elem_classes=_css_classes("eh-html", elem_classes),
        **options,
    )


def Switch(names: Sequence[str], label: str, **options: Any) -> gr.Radio:
    """A segmented control: one of a few words, all of them in view."""
    return gr.Radio(
        list(names),
        value=names[0],
        label=label,
        show_label=False,
        container=False,
        interactive=True,
        elem_classes="eh-seg",
        **options,
    )


def _css_classes(own: str, given: list[str] | str) -> list[str]:
    return own.split() + (given.split() if isinstance(given, str) else list(given))
