"""Events of the Study tab that open study files, examples, stored studies, data files and recorded
verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from components.html.pieces import notice_html
from components.layout.header import Header
from components.study.file.lenient_study import START_YAML, FormState
from components.study.form.data_step.data_source import RECORDED
from components.study.form_layout_tab import QUIET, StudyTab
from components.study.form_updates_tab import form_outputs, form_updates
from components.study.jobs import REPORTED_ERRORS, open_recorded_verdicts, use_upload
from components.study.plan.draft_studies import keep_changes, save_new_study
from components.study.plan.example_files import example_text
from studies.files.upload_names import hide_hashes
from studies.store.store import Store


def bind_files(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    _bind_studies(tab, header, store)
    _bind_records(tab, header, tabs, store)


def open_new_study(store: Store, text: str, view: FormState, tested: Any) -> list[Any]:
    """Save a study file as a new study; return values for `form_outputs` and for the study menu."""
    name, made = save_new_study(text, store)
    fresh = FormState(study=name, opened=made, unsaved=view.unsaved, last_change=view.last_change)
    return [*form_updates(made, fresh, tested, "", store), study_menu(store, name)]


def study_menu(store: Store, name: str) -> Any:
    """Gradio update of the study menu: all studies of the store, with one of them chosen."""
    names = [line.name for line in store.studies()]
    return gr.Dropdown(choices=names, value=name) if name else gr.skip()


def _bind_studies(tab: StudyTab, header: Header, store: Store) -> None:
    """Bind the events that open another study in the form: a new study, a file or an example."""
    outputs = [*form_outputs(tab), header.study]

    def open_file(path: str, text: str, view: FormState, tested: Any) -> list[Any]:
        try:
            return open_new_study(store, Path(path).read_text("utf-8"), view, tested)
        except UnicodeDecodeError:
            why = notice_html("bad", "Not opened.", "A study file must be UTF-8 text.")
            said = replace(view, notice_html=why)
            return [*form_updates(text, said, tested, "", store, before=view), gr.skip()]

    def open_new(view: FormState, tested: Any) -> list[Any]:
        return open_new_study(store, START_YAML, view, tested)

    def open_example(name: str | None, view: FormState, tested: Any) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        return open_new_study(store, example_text(name), view, tested)

    state = [tab.yaml, tab.view, tab.tested]
    tab.open_file.upload(open_file, [tab.open_file, *state], outputs, **QUIET)
    tab.new.click(open_new, state[1:], outputs, **QUIET)
    tab.example.input(open_example, [tab.example, *state[1:]], outputs, **QUIET)


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
                skipped = [gr.skip()] * len(form_outputs(tab))
                return [*skipped, study_menu(store, name), gr.Tabs(selected="results")]
        except REPORTED_ERRORS as error:
            said = replace(view, notice_html=notice_html("bad", title, hide_hashes(str(error))))
            return [*form_updates(text, said, tested, "", store, before=view), *stays]
        if not view.study:
            return [*open_new_study(store, made, view, tested), gr.skip()]
        seen = replace(view, kind="", item=0, notice_html="")
        keep_changes(store, view.study, made)
        return [*form_updates(made, seen, tested, "", store, before=view), *stays]

    state = [tab.yaml, tab.view, tab.tested]
    tab.upload.upload(take, [tab.upload, *state], outputs, **QUIET).then(
        None, None, None, js="() => evenhand.rememberTab()"
    )
