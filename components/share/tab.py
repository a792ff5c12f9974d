"""The Share drawer: link to the current view, exports, report, tables for a paper."""

import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.markup import EMPTY, Markup, escape
from components.layout.widgets import ClickableHTML, Switch
from components.server.gradio_private import click_data
from components.server.limits import temp_files
from components.share import drawer_html, paper_text, report
from components.share import link_tab as share_link_tab
from components.share.board import board_files, record_tree
from studies.errors import EvenhandError, build_write_error
from studies.exchange.export import EXPORT_FORMATS, write_export
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "minimal", "api_visibility": "private"}


@dataclass(frozen=True)
class ShareTab:
    drawer: gr.Column
    close: gr.Button
    exports: gr.HTML
    file: gr.DownloadButton
    table: gr.Radio
    printed: gr.HTML
    words: gr.HTML
    links: share_link_tab.ShareLinks | None
    """Links to the study, in public mode only."""


def build(*, shared: bool = False) -> ShareTab:
    with gr.Column(visible=False, elem_id="eh-share-drawer", elem_classes="eh-drawer") as drawer:
        with gr.Row(elem_classes="eh-drawer-head"):
            ClickableHTML(Markup('<div class="eh"><h2>Share this view</h2></div>'))
            close = gr.Button("Close", elem_id="eh-share-close", elem_classes="eh-fit")
        ClickableHTML(drawer_html.link_to_view_html())
        links = share_link_tab.build() if shared else None
        exports = ClickableHTML(elem_id="eh-exports")
        file = gr.DownloadButton("file", visible="hidden", elem_id="eh-export-file")
        table = Switch(paper_text.TABLE_NAMES, "Table", elem_id="eh-paper-which")
        printed = ClickableHTML(elem_id="eh-paper-table")
        words = ClickableHTML()
    return ShareTab(drawer, close, exports, file, table, printed, words, links)


def bind(
    tab: ShareTab,
    opener: gr.Button,
    filter_inputs: list[Any],
    filtered_of: Callable[..., FilteredStudy | None],
) -> None:
    """Bind the events of the drawer. `opener`: the button that opens it. `filtered_of`: function
    that gets the values of `filter_inputs` and returns the study with its filters, or None if no
    study is chosen."""

    def open_drawer(*values: Any) -> list[Any]:
        filtered = filtered_of(*values)
        if filtered is None:
            return [gr.Column(visible=True), "", gr.skip(), "", ""]
        names = list(paper_text.paper_tables(filtered))
        return [
            gr.Column(visible=True),
            drawer_html.export_buttons_html(filtered),
            gr.Radio(choices=names, value=names[0] if names else None),
            drawer_html.paper_table_html(filtered, names[0] if names else ""),
            drawer_html.methods_html(filtered),
        ]

    opened = [tab.drawer, tab.exports, tab.table, tab.printed, tab.words]
    opener.click(open_drawer, filter_inputs, opened, **QUIET).then(
        None, None, None, js="() => evenhand.openDrawer()"
    )
    tab.close.click(lambda: gr.Column(visible=False), None, tab.drawer, queue=False, **QUIET)

    def show_table_as_printed(name: str, *values: Any) -> Markup:
        filtered = filtered_of(*values)
        return EMPTY if filtered is None else drawer_html.paper_table_html(filtered, name)

    tab.table.input(show_table_as_printed, [tab.table, *filter_inputs], tab.printed, **QUIET)
    _bind_exports(tab, filter_inputs, filtered_of)


def _bind_exports(
    tab: ShareTab, filter_inputs: list[Any], filtered_of: Callable[..., FilteredStudy | None]
) -> None:
    """Bind the event by which a click on an export button writes the file and downloads it; one
    event serves all buttons. Parameters as for `bind`."""

    def write_clicked_export(event: gr.EventData, *values: Any) -> Any:
        filtered = filtered_of(*values)
        if filtered is None:
            raise gr.Error("Choose a study first.")
        try:
            written = write_export_file(filtered.store, filtered.name, _clicked_export_name(event))
        except EvenhandError as error:
            raise gr.Error(escape(error), title="Export failed", duration=None) from None
        return gr.DownloadButton(value=str(written))

    tab.exports.select(write_clicked_export, filter_inputs, tab.file, **QUIET).success(
        None, None, None, js="() => evenhand.download('#eh-export-file')"
    )


def _clicked_export_name(event: gr.EventData) -> str:
    """Name of the export format that was clicked, or of the report or board; raise gr.Error for an
    unknown name."""
    sent = click_data(event)
    name = str(sent.get("export")) if isinstance(sent, Mapping) else ""
    known = (*EXPORT_FORMATS, drawer_html.REPORT_NAME, drawer_html.BOARD_NAME)
    if name not in known:
        raise gr.Error(escape(f"There is no such file to make. Known: {', '.join(known)}."))
    return name


def write_export_file(store: Store, study: str, name: str) -> Path:
    """Write the export format, report or board called `name` to a new folder inside Gradio's
    temporary files; return the path of the file. EvenhandError if it cannot be made or written."""
    folder = temp_files.temp_folder() / uuid.uuid4().hex
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise build_write_error(folder, error) from None
    stem = re.sub(r"[^A-Za-z0-9]+", "-", study).strip("-").lower()[:60] or "study"
    if name == drawer_html.REPORT_NAME:
        path = folder / f"{stem}-report.html"
        report.write_report(store, study, path)
        return path
    if name == drawer_html.BOARD_NAME:
        path = folder / f"{stem}-board.zip"
        board_files.zip_board([record_tree.records_of_store(store, study)], path)
        return path
    suffix = EXPORT_FORMATS[name].suffix
    path = folder / (f"{stem}{suffix}" if suffix == f".{name}" else f"{stem}-{name}{suffix}")
    write_export(store, study, name, path)
    return path
