"""Gradio outputs of the Study tab for a study file: the form and the plan."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from components.html.format import count, dollars
from components.html.markup import fill
from components.server import temp_files
from components.study import form_html as study_draw
from components.study.file.controls import form_part
from components.study.file.lenient_study import FormState
from components.study.form.data_source import RECORDED, UPLOAD, current_source_kind
from components.study.form_layout_tab import StudyTab
from components.study.plan.cost_preview import (
    empty_plan_kpis,
    forecast_by_judge,
    one_item_plan,
    plan_kpis,
    run_button_text,
)
from components.study.plan.study_preview import StudyPreview, build_preview
from judges.planning.plan import assign_owner
from studies.store.store import Store


def form_outputs(tab: StudyTab) -> list[Any]:
    """The Gradio outputs of `form_updates`, in the order of its return values."""
    return [
        tab.yaml,
        tab.view,
        *tab.form_components,
        tab.upload,
        tab.writing,
        tab.draft,
        tab.profile,
    ]


def form_updates(
    text: str,
    view: FormState,
    tested: Any,
    draft: str,
    folder: Path,
    before: FormState | None = None,
) -> list[Any]:
    """Values that show a study file in the form; the prompt editor is filled when it is opened."""
    look = build_preview(text, folder)
    was = before or FormState()
    opened = view.mode == "editor" and (was.mode, was.prompt) != (view.mode, view.prompt)
    words = study_draw.initial_draft(look, view) if opened or not draft else draft
    turned = view.whole != was.whole
    return [
        text,
        replace(view, shown=text),
        *study_draw.render_form(look, view, tested, words),
        gr.File(visible=current_source_kind(look.lenient_study, view) in (UPLOAD, RECORDED)),
        gr.Column(visible=view.mode == "editor"),
        gr.Code(words) if opened else gr.skip(),
        study_draw.render_slice_profile(look, view) if turned else gr.skip(),
    ]


def plan_updates(look: StudyPreview, view: FormState, store: Store) -> list[Any]:
    """Values that show the plan of the study file which Run would use."""
    saved = _write_download(look.lenient_study.text)
    if look.plan is None:
        off, no_try = (gr.Button(words, interactive=False) for words in ("Run", "Try one item"))
        return [
            empty_plan_kpis(),
            off,
            no_try,
            "",
            study_draw.render_slice_profile(look, view),
            saved,
        ]
    plan = assign_owner(look.plan, store)
    numbers = forecast_by_judge(plan, store)
    once = forecast_by_judge(assign_owner(one_item_plan(look.plan), store), store)
    words = run_button_text(numbers)
    trial = f"or try one item: {count(once.new, 'call')}, {dollars(once.dollars)}"
    press = fill(
        '<button type="button" class="eh-btn primary" data-press="#eh-run">{}</button>', words
    )
    return [
        plan_kpis(look.plan, numbers),
        gr.Button(words, interactive=True),
        gr.Button(trial, interactive=True),
        form_part(press),
        study_draw.render_slice_profile(look, view),
        saved,
    ]


def _write_download(text: str) -> str:
    """Write the study file for the download button into Gradio's temporary folder."""
    folder = temp_files.temp_folder() / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)
