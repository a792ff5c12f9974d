"""The Inspect tab: read comparisons one by one, from a list that the server filters and pages."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from components.inspect.filter_bar import filter_bar
from components.inspect.list_html import detail_panel, list_html
from components.inspect.load_comparison import load_inspect_page
from components.inspect.url_selection import Selection, apply_click
from components.server.gradio_private import click_data
from studies.store.store import Store

_CLICKS = "evenhand.clicks(element, trigger, watch);"
_FIELDS_SCRIPT = f"{_CLICKS} evenhand.fields(element, trigger, watch); /* triggers 'select' */"
_LIST_SCRIPT = f"{_CLICKS} evenhand.follow(element, watch); /* triggers 'select' */"


@dataclass(frozen=True)
class InspectTab:
    """Gradio components of the tab: the state that holds the selection, and the three components
    that display it."""

    selection: gr.State
    filters: gr.HTML
    list: gr.HTML
    opened: gr.HTML


def build() -> InspectTab:
    """Create the filter bar, the list (left) and the opened comparison (right)."""
    selection = gr.State(Selection())
    filters = _clickable_html(_FIELDS_SCRIPT, "eh-inspect-filters")
    with gr.Row(elem_classes="eh-inspect"):
        listed = _clickable_html(_LIST_SCRIPT, "eh-inspect-list")
        opened = _clickable_html(_LIST_SCRIPT, "eh-inspect-open")
    return InspectTab(selection, filters, listed, opened)


def _clickable_html(script: str, elem_class: str) -> gr.HTML:
    """HTML component like `components.layout.widgets.ClickableHTML`, but with another script."""
    return gr.HTML(
        "", js_on_load=script, apply_default_css=False, elem_classes=["eh-html", elem_class]
    )


def outputs_of_render(tab: InspectTab) -> list[Any]:
    """The Gradio outputs of `render`, in the order of its return values."""
    return [tab.selection, tab.filters, tab.list, tab.opened]


def render(store: Store, selection: Selection) -> tuple[Selection, str, str, str]:
    """Load a selection; return it, corrected to the page and comparison actually shown, and the
    HTML of filter bar, list and opened comparison."""
    inspected = load_inspect_page(store, selection)
    return inspected.selection, filter_bar(inspected), list_html(inspected), detail_panel(inspected)


def bind(tab: InspectTab, store: Store) -> None:
    """Connect clicks and fields to one handler, which renders the changed selection."""

    def update_selection(
        selection: Selection, event: gr.EventData
    ) -> tuple[Selection, str, str, str]:
        return render(store, apply_click(selection, click_data(event)))

    for part in (tab.filters, tab.list, tab.opened):
        part.select(
            update_selection,
            tab.selection,
            outputs_of_render(tab),
            show_progress="hidden",
            trigger_mode="multiple",  # always_last would replay the first click's data
            api_visibility="private",
        )
