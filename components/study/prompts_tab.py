"""The prompt editor of the Study tab: check while typing, save, import."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.html.format import count
from components.html.pieces import notice_html
from components.study import form_html as study_draw
from components.study.file.controls import form_button, form_part
from components.study.file.lenient_study import (
    FormState,
    available_prompts,
    find_prompt,
    own_prompts_folder,
    read_lenient_study,
)
from components.study.file.yaml_edit import put_value
from components.study.form.prompt_panel import saved_prompt_path
from components.study.form_layout_tab import StudyTab
from components.study.form_updates_tab import form_outputs, form_updates
from components.study.jobs import REPORTED_ERRORS
from components.study.plan.draft_studies import keep_changes
from components.study.plan.study_preview import build_preview
from judges.rendering.prompt_library import import_judge_prompts, save_prompt
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def bind_prompts(tab: StudyTab, store: Store) -> None:
    state = [tab.yaml, tab.view, tab.tested]

    def check_draft(draft: str, text: str, view: FormState) -> Any:
        if view.panel != "prompts" or view.mode != "editor":
            return gr.skip()
        return study_draw.render_prompt_body(build_preview(text, store.folder), view, draft)

    tab.draft.change(
        check_draft, [tab.draft, tab.yaml, tab.view], tab.body, trigger_mode="always_last", **QUIET
    )

    def save(draft: str, text: str, view: FormState, tested: Any) -> list[Any]:
        made, seen = save_draft(draft, text, view, store.folder)
        keep_changes(store, view.study, made)
        return form_updates(made, seen, tested, draft, store, before=view)

    tab.save_prompt.click(save, [tab.draft, *state], form_outputs(tab), **QUIET)

    def take(path: str, draft: str, text: str, view: FormState, tested: Any) -> list[Any]:
        seen = import_prompt_file(Path(path), view, store.folder)
        return form_updates(text, seen, tested, draft, store, before=view)

    tab.import_prompts.upload(
        take, [tab.import_prompts, tab.draft, *state], form_outputs(tab), **QUIET
    )


def save_draft(draft: str, text: str, view: FormState, folder: Path) -> tuple[str, FormState]:
    """Save the edited prompt as a new version; return the study file that uses this version, and
    the form state."""
    try:
        prompt = save_prompt(draft, own_prompts_folder(folder))
    except REPORTED_ERRORS as error:
        return text, replace(view, notice_html=notice_html("bad", "Not saved.", str(error)))
    name, names = saved_prompt_path(prompt, folder), read_lenient_study(text, folder).prompts
    old = view.prompt or (names or [""])[0]
    kept = [name if one == old else one for one in names]
    made = put_value(text, ("prompts",), list(dict.fromkeys([*kept, name])))
    told = f"{prompt.name}, sha {prompt.sha[:8]}. "
    replaced = old if old in names and old != name else ""
    told += "The study uses this prompt"
    before = _version_text(replaced, prompt.name, folder) if replaced else ""
    told += f" in place of {before}." if replaced else "."
    said = notice_html("calm", f"Saved as version {prompt.version}.", told)
    if replaced:
        both = {"do": "prompt", "prompt": replaced, "on": True, "close": True}
        words = f"Compare this prompt with {before} on the same items"
        said += form_part(form_button(words, both, kind="small"), seen=view.last_change)
    return made, replace(view, prompt=name, mode="side", panel="prompts", notice_html=said)


def _version_text(reference: str, name: str, folder: Path) -> str:
    """Text that names a replaced prompt: "version 1" (or another number) if `reference`, its entry
    in the study file, is a version of the prompt `name`; else `reference` itself."""
    found = find_prompt(reference, available_prompts(folder), folder)
    if found is None or found.prompt.name != name:
        return reference
    return f"version {found.prompt.version}"


def import_prompt_file(path: Path, view: FormState, folder: Path) -> FormState:
    """Import MT-Bench's judge_prompts.jsonl: save valid prompts, report the others."""
    try:
        found = import_judge_prompts(path)
        kept = [save_prompt(prompt.yaml, own_prompts_folder(folder)) for prompt in found.prompts]
    except REPORTED_ERRORS as error:
        return replace(view, notice_html=notice_html("bad", "No prompt was imported.", str(error)))
    refused = "; ".join(f"{name}: {why}" for name, why in found.rejected[:3])
    told = f"{count(len(kept), 'prompt')}, now under Prompts."
    if refused:
        told += f" {count(len(found.rejected))} cannot be used here: {refused}."
    said = notice_html("warn" if refused else "calm", "Imported.", told)
    first = saved_prompt_path(kept[0], folder) if kept else view.prompt
    return replace(view, notice_html=said, prompt=first, mode="side", panel="prompts")
