"""What the Study tab shows for a study file: its form, and its plan."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from components import room
from components.format import count, dollars, safe
from components.study import draw as study_draw
from components.study.bench import Bench, bench
from components.study.data import RECORDED, UPLOAD, kind_shown
from components.study.fields import form
from components.study.layout_tab import StudyTab
from components.study.plan import left_of, no_plan, plan_strip, run_words, told, tryout
from components.study.sheet import View
from judges.plan import owned
from studies.store import Store


def form_outputs(tab: StudyTab) -> list[Any]:
    """What `show_form` returns, in its order."""
    return [tab.yaml, tab.view, *tab.drawn, tab.upload, tab.writing, tab.draft, tab.profile]


def show_form(
    text: str, view: View, tested: Any, draft: str, folder: Path, before: View | None = None
) -> list[Any]:
    """The file and the form that shows it; the editor is filled when it is opened."""
    look = bench(text, folder)
    was = before or View()
    opened = view.mode == "editor" and (was.mode, was.prompt) != (view.mode, view.prompt)
    words = study_draw.draft_of(look, view) if opened or not draft else draft
    turned = view.whole != was.whole
    return [
        text,
        replace(view, shown=text),
        *study_draw.drawn(look, view, tested, words),
        gr.File(visible=kind_shown(look.sheet, view) in (UPLOAD, RECORDED)),
        gr.Column(visible=view.mode == "editor"),
        gr.Code(words) if opened else gr.skip(),
        study_draw.slice_profile(look, view) if turned else gr.skip(),
    ]


def show_plan_of(look: Bench, view: View, store: Store) -> list[Any]:
    """The plan box is always true: it is computed from the very file that Run reads."""
    saved = _download(look.sheet.text)
    if look.plan is None:
        off, no_try = (gr.Button(words, interactive=False) for words in ("Run", "Try one item"))
        return [no_plan(), off, no_try, "", study_draw.slice_profile(look, view), saved]
    numbers, once = told(look.plan, store), told(tryout(look.plan), store)
    words = run_words(numbers, left_of(owned(look.plan, store), store))
    trial = f"or try one item: {count(once.asks, 'ask')}, {dollars(once.dollars)}"
    press = (
        f'<button type="button" class="eh-btn primary" data-press="#eh-run">{safe(words)}</button>'
    )
    return [
        plan_strip(look.plan, numbers),
        gr.Button(words, interactive=True),
        gr.Button(trial, interactive=True),
        form(press),
        study_draw.slice_profile(look, view),
        saved,
    ]


def _download(text: str) -> str:
    """A file for the download button, in Gradio's own folder of temporary files."""
    folder = room.folder() / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)
