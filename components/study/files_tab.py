"""Events of the Study tab that open study files, examples, stored studies, data files and recorded
verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.html.pieces import notice_html
from components.layout.header import Header
from components.study.file.lenient_study import START_YAML, FormState
from components.study.form.data_source import RECORDED
from components.study.form_layout_tab import StudyTab
from components.study.form_updates_tab import form_outputs, form_updates
from components.study.jobs import (
    REPORTED_ERRORS,
    open_recorded_verdicts,
    stored_study_yaml,
    use_upload,
)
from components.study.plan.example_files import example_text
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def bind_files(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    _bind_studies(tab, header, store)
    _bind_records(tab, header, tabs, store)


def _bind_studies(tab: StudyTab, header: Header, store: Store) -> None:
    """Bind the events that open another study in the form: a new one, a file, an example, a stored
    one."""
    outputs = form_outputs(tab)

    def fresh(text: str, view: FormState, tested: Any) -> list[Any]:
        """Outputs that show a study file in the form, with the state of the form reset."""
        return form_updates(
            text,
            FormState(last_change=view.last_change, deselected_judges=view.deselected_judges),
            tested,
            "",
            store.folder,
        )

    def refused(text: str, view: FormState, tested: Any, title: str, why: str) -> list[Any]:
        said = replace(view, notice_html=notice_html("bad", title, why))
        return form_updates(text, said, tested, "", store.folder, before=view)

    def open_file(path: str, text: str, view: FormState, tested: Any) -> list[Any]:
        try:
            return fresh(Path(path).read_text("utf-8"), view, tested)
        except UnicodeDecodeError:
            return refused(text, view, tested, "Not opened.", "A study file is UTF-8 text.")

    def open_new(view: FormState, tested: Any) -> list[Any]:
        return fresh(START_YAML, view, tested)

    def open_example(name: str | None, view: FormState, tested: Any) -> list[Any]:
        return fresh(example_text(name), view, tested) if name else [gr.skip()] * len(outputs)

    def edit(name: str | None, text: str, view: FormState, tested: Any) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        try:
            return fresh(stored_study_yaml(store, name), view, tested)
        except REPORTED_ERRORS as error:
            return refused(text, view, tested, "This study cannot be edited.", str(error))

    state = [tab.yaml, tab.view, tab.tested]
    tab.open_file.upload(open_file, [tab.open_file, *state], outputs, **QUIET)
    tab.new.click(open_new, state[1:], outputs, **QUIET)
    tab.example.input(open_example, [tab.example, *state[1:]], outputs, **QUIET)
    tab.edit.click(edit, [header.study, *state], outputs, **QUIET)


def _bind_records(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    """Bind the events of an uploaded file: use it as data of the study, or open its recorded
    verdicts as a new study."""
    outputs = [*form_outputs(tab), header.study, tabs]

    def take(paths: list[str] | None, text: str, view: FormState, tested: Any) -> list[Any]:
        if not paths:
            return [gr.skip()] * len(outputs)
        stays: list[Any] = [gr.skip(), gr.skip()]
        title = "This file cannot be used."
        try:
            made = use_upload(text, [Path(path) for path in paths], store.folder)
            if view.kind == RECORDED:
                title = "These verdicts cannot be opened."
                name = open_recorded_verdicts(made, store)
                names = [line.name for line in store.studies()]
                stays = [gr.Dropdown(choices=names, value=name), gr.Tabs(selected="results")]
        except REPORTED_ERRORS as error:
            said = replace(view, notice_html=notice_html("bad", title, str(error)))
            return [*form_updates(text, said, tested, "", store.folder, before=view), *stays]
        seen = replace(view, kind="", item=0, notice_html="")
        return [*form_updates(made, seen, tested, "", store.folder, before=view), *stays]

    state = [tab.yaml, tab.view, tab.tested]
    tab.upload.upload(take, [tab.upload, *state], outputs, **QUIET).then(
        None, None, None, js="() => evenhand.rememberTab()"
    )
