"""Files into the Study tab: study files, examples, stored studies, records, recorded verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.drawing.pieces import notice
from components.header import Header
from components.study.data import RECORDED
from components.study.errands import REFUSED, open_verdicts, study_text, take_upload
from components.study.examples import example_text
from components.study.layout_tab import StudyTab
from components.study.sheet import START, View
from components.study.show_tab import form_outputs, show_form
from studies.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def bind_files(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    _bind_studies(tab, header, store)
    _bind_records(tab, header, tabs, store)


def _bind_studies(tab: StudyTab, header: Header, store: Store) -> None:
    """Another study in the form: a new one, a file, an example, one that is stored."""
    outputs = form_outputs(tab)

    def fresh(text: str, view: View, tested: Any) -> list[Any]:
        """What was open of the last study is closed."""
        return show_form(text, View(seen=view.seen, parked=view.parked), tested, "", store.folder)

    def refused(text: str, view: View, tested: Any, title: str, why: str) -> list[Any]:
        said = replace(view, said=notice("bad", title, why))
        return show_form(text, said, tested, "", store.folder, before=view)

    def open_file(path: str, text: str, view: View, tested: Any) -> list[Any]:
        try:
            return fresh(Path(path).read_text("utf-8"), view, tested)
        except UnicodeDecodeError:
            return refused(text, view, tested, "Not opened.", "A study file is UTF-8 text.")

    def open_new(view: View, tested: Any) -> list[Any]:
        return fresh(START, view, tested)

    def open_example(name: str | None, view: View, tested: Any) -> list[Any]:
        return fresh(example_text(name), view, tested) if name else [gr.skip()] * len(outputs)

    def edit(name: str | None, text: str, view: View, tested: Any) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        try:
            return fresh(study_text(store, name), view, tested)
        except REFUSED as error:
            return refused(text, view, tested, "This study cannot be edited.", str(error))

    state = [tab.yaml, tab.view, tab.tested]
    tab.open_file.upload(open_file, [tab.open_file, *state], outputs, **QUIET)
    tab.new.click(open_new, state[1:], outputs, **QUIET)
    tab.example.input(open_example, [tab.example, *state[1:]], outputs, **QUIET)
    tab.edit.click(edit, [header.study, *state], outputs, **QUIET)


def _bind_records(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    """Uploaded records become the data of the study; verdicts open as a study of their own."""
    outputs = [*form_outputs(tab), header.study, tabs]

    def take(paths: list[str] | None, text: str, view: View, tested: Any) -> list[Any]:
        if not paths:
            return [gr.skip()] * len(outputs)
        stays: list[Any] = [gr.skip(), gr.skip()]
        title = "This file cannot be used."
        try:
            made = take_upload(text, [Path(path) for path in paths], store.folder)
            if view.kind == RECORDED:
                title = "These verdicts cannot be opened."
                name = open_verdicts(made, store)
                names = [line.name for line in store.studies()]
                stays = [gr.Dropdown(choices=names, value=name), gr.Tabs(selected="results")]
        except REFUSED as error:
            said = replace(view, said=notice("bad", title, str(error)))
            return [*show_form(text, said, tested, "", store.folder, before=view), *stays]
        seen = replace(view, kind="", item=0, said="")
        return [*show_form(made, seen, tested, "", store.folder, before=view), *stays]

    state = [tab.yaml, tab.view, tab.tested]
    tab.upload.upload(take, [tab.upload, *state], outputs, **QUIET).then(
        None, None, None, js="() => evenhand.rememberTab()"
    )
