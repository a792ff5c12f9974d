"""The prompt editor of the Study tab: check while somebody types, save, import."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.drawing.pieces import notice
from components.format import count
from components.study import draw as study_draw
from components.study.bench import bench
from components.study.edit import put
from components.study.errands import REFUSED
from components.study.layout_tab import StudyTab
from components.study.prompt_panel import saved_name
from components.study.sheet import View, own_prompts, read_sheet
from components.study.show_tab import form_outputs, show_form
from judges.prompt_import import import_judge_prompts
from judges.prompt_library import save_prompt
from studies.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def bind_prompts(tab: StudyTab, store: Store) -> None:
    state = [tab.yaml, tab.view, tab.tested]

    def check_draft(draft: str, text: str, view: View) -> Any:
        if view.mode != "editor":
            return gr.skip()
        return study_draw.prompt_body(bench(text, store.folder), view, draft)

    tab.draft.change(
        check_draft, [tab.draft, tab.yaml, tab.view], tab.body, trigger_mode="always_last", **QUIET
    )

    def save(draft: str, text: str, view: View, tested: Any) -> list[Any]:
        made, seen = saved(draft, text, view, store.folder)
        return show_form(made, seen, tested, draft, store.folder, before=view)

    tab.save_prompt.click(save, [tab.draft, *state], form_outputs(tab), **QUIET)

    def take(path: str, draft: str, text: str, view: View, tested: Any) -> list[Any]:
        seen = imported(Path(path), view, store.folder)
        return show_form(text, seen, tested, draft, store.folder, before=view)

    tab.import_prompts.upload(
        take, [tab.import_prompts, tab.draft, *state], form_outputs(tab), **QUIET
    )


def saved(draft: str, text: str, view: View, folder: Path) -> tuple[str, View]:
    """A new version beside the store; the study asks with it in place of the one it came from."""
    try:
        prompt = save_prompt(draft, own_prompts(folder))
    except REFUSED as error:
        return text, replace(view, said=notice("bad", "Not saved.", str(error)))
    name, names = saved_name(prompt, folder), read_sheet(text, folder).prompts
    old = view.prompt or (names or [""])[0]
    kept = [name if one == old else one for one in names]
    made = put(text, ("prompts",), list(dict.fromkeys([*kept, name])))
    told = f"{prompt.name}, version {prompt.version}, sha {prompt.sha[:8]}. The study asks with it."
    return made, replace(view, prompt=name, mode="side", said=notice("calm", "Saved.", told))


def imported(path: Path, view: View, folder: Path) -> View:
    """MT-Bench's judge_prompts.jsonl: what fits is saved, what does not is said."""
    try:
        found = import_judge_prompts(path)
        kept = [save_prompt(prompt.yaml, own_prompts(folder)) for prompt in found.prompts]
    except REFUSED as error:
        return replace(view, said=notice("bad", "No prompt was imported.", str(error)))
    refused = "; ".join(f"{name}: {why}" for name, why in found.refused[:3])
    told = f"{count(len(kept), 'prompt')}, now under Prompts."
    if refused:
        told += f" {count(len(found.refused))} cannot be asked here: {refused}."
    said = notice("warn" if refused else "calm", "Imported.", told)
    first = saved_name(kept[0], folder) if kept else view.prompt
    return replace(view, said=said, prompt=first, mode="side")
