"""Gradio components of the page: Plotly chart, HTML with click events, segmented switch.

They are functions instead of classes, since Gradio writes a .pyi file beside every module that
subclasses one of its components. Their JavaScript is in assets/page.js, which theme.head_html()
includes.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import gradio as gr
import plotly

from components.charts.figure_parts import Figure
from components.html.markup import EMPTY, Markup
from components.layout.glossary import mark_terms
from components.server.compression import PLOTLY_JS
from components.server.gradio_private import set_postprocess

_PLOT_TEMPLATE = Markup('<div class="eh-plot" style="height:{height}px"></div>')
# The template does not contain the value, so that Gradio leaves Plotly's drawing in place. No
# template may contain {{value}}: Gradio evaluates it as JavaScript, and data could contain ${…}.
_PLOT_SCRIPT = "evenhand.plot(element, props, {send}, watch, {path!r}); /* triggers 'select' */"
_CLICK_SCRIPT = "evenhand.clicks(element, {send}, watch); /* triggers 'select' */"
_PANELS_SCRIPT = "evenhand.panels(element, props, trigger, watch, {path!r}); /* 'select' */"
_MARK_SCRIPT = "evenhand.sendMarks(trigger, {path!r}); /* triggers 'select' */"


@cache
def allow_and_get_plotly_path() -> str:
    """Return the URL path of the packaged Plotly script, and allow the server to serve this one
    file; FileNotFoundError if it is missing. The version in the path lets browsers cache the file
    without time limit (see components.server.compression)."""
    if not PLOTLY_JS.is_file():
        raise FileNotFoundError(
            f"{PLOTLY_JS} is missing, so no chart can be drawn: reinstall the package plotly"
        )
    gr.set_static_paths(PLOTLY_JS)
    return f"{PLOTLY_JS.as_posix()}?v={plotly.__version__}"


def PlotlyView(
    *, height: int = 380, marks: bool = False, heading: Markup = EMPTY, **options: Any
) -> gr.HTML:
    """A component that draws a figure of components.charts. A new figure with the same `revision`
    keeps the zoom.

    `.select(fn)` handles a click on a point or bar: fn takes `event: gr.EventData`, and
    `click_data(event)` is {"customdata": …, "x": …, "y": …}. With `marks`, the component
    `MarkEvents` handles the click instead. `height`: pixels reserved before the figure is drawn.
    `heading`: HTML above the figure, which also gives the component the frame of a panel."""
    component = gr.HTML(
        html_template=heading + _PLOT_TEMPLATE.format(height=height),
        js_on_load=_PLOT_SCRIPT.format(
            send=_click_function_name(marks), path=allow_and_get_plotly_path()
        ),
        apply_default_css=False,
        elem_classes=["eh-html", "eh-plot-view", *(["eh-panel"] if heading else ())],
        **options,
    )
    # Gradio's page compares values member by member: a figure of 2,000 numbers takes seconds on a
    # slow machine, the same figure as a string almost no time.
    set_postprocess(component, _figure_json)
    return component


def _figure_json(figure: Figure | str | None) -> str | None:
    return json.dumps(figure, separators=(",", ":")) if isinstance(figure, dict) else figure


def ClickableHTML(
    value: Markup = EMPTY,
    *,
    elem_classes: list[str] | str = "",
    marks: bool = False,
    **options: Any,
) -> gr.HTML:
    """A component for HTML whose elements with the attribute data-select can be clicked.

    `.select(fn)` handles a click: fn takes `event: gr.EventData`, and `click_data(event)` is the
    object in data-select, e.g. {"judge": "gpt-4", "category": "coding"}. With `marks`,
    MarkEvents (one handler for many components) gets the click instead. Glossary terms in labels
    become buttons that show the definition.
    """
    component = gr.HTML(
        _mark_terms_if_markup(value),
        js_on_load=_CLICK_SCRIPT.format(send=_click_function_name(marks)),
        apply_default_css=False,
        elem_classes=_css_classes("eh-html", elem_classes),
        **options,
    )
    set_postprocess(component, _mark_terms_if_markup)
    return component


def PanelsHTML(**options: Any) -> gr.HTML:
    """A component for the panels of a view: HTML with charts and controls. When the view is drawn
    again, a panel whose HTML has not changed keeps its chart, its zoom and its unfolded parts.

    `.select(fn)` handles clicks as in ClickableHTML, except clicks inside an element with the
    attribute data-marks, which go to MarkEvents. Changing a control inside an element with the
    attribute data-control draws the view again."""
    return gr.HTML(
        html_template=Markup('<div class="eh-panels"></div>'),
        js_on_load=_PANELS_SCRIPT.format(path=allow_and_get_plotly_path()),
        apply_default_css=False,
        **options,
    )


def MarkEvents() -> gr.HTML:
    """An invisible component; its `.select(fn)` handles the clicks of all components made with
    `marks=True`.

    One event for all is faster than one for each, since Gradio's script compares every component
    with the components of every event when a page is opened."""
    return gr.HTML(
        "",
        html_template=Markup("<i hidden></i>"),
        js_on_load=_MARK_SCRIPT.format(path=allow_and_get_plotly_path()),
        apply_default_css=False,
        elem_classes=["eh-html", "eh-wire"],
        render=False,
    )


def _click_function_name(marks: bool) -> str:
    """Name of the JavaScript function to which a component sends its clicks. With `marks`, all
    components share one function, whose clicks `MarkEvents` handles; without, each component
    triggers its own event."""
    return "evenhand.sendMark" if marks else "trigger"


def _mark_terms_if_markup(value: Any) -> Any:
    return mark_terms(value) if isinstance(value, Markup) else value


def HiddenText(label: str, value: str = "", **options: Any) -> gr.Textbox:
    """An invisible text that scripts and events of the page read and write."""
    return gr.Textbox(value, label=label, visible="hidden", container=False, **options)


def Switch(names: Sequence[str], label: str, **options: Any) -> gr.Radio:
    """A segmented control: a choice among a few names that are all visible."""
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
