"""Events of the Study tab that open, save or import files: study files, examples, data files,
recorded verdicts, and prompts of the prompt editor."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from components.html.format import count
from components.html.pieces import notice_html
from components.layout.header import Header
from components.study import form_html
from components.study.file import lenient_study, yaml_edit
from components.study.file.controls import controls
from components.study.file.lenient_study import START_YAML, FormState, user_prompts_folder
from components.study.form.data_step.data_source import RECORDED
from components.study.form.prompts import saved_prompt_path
from components.study.form_layout_tab import QUIET, StudyTab
from components.study.form_updates_tab import form_and_plan_updates, form_outputs
from components.study.jobs import REPORTED_ERRORS, import_recorded_verdicts, save_uploads_as_data
from components.study.plan import draft_studies, example_files
from components.study.plan.study_preview import build_preview
from judges.rendering.prompt_library import read_judge_prompts, save_prompt
from studies.files.upload_names import hide_hashes
from studies.store.store import Store


def bind_files(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    _bind_studies(tab, header, store)
    _bind_records(tab, header, tabs, store)


def save_and_show_new_study(
    store: Store, text: str, state: FormState, tested: Any, name: str = ""
) -> list[Any]:
    """Save the study file `text` as a new study called `name` (if empty: as the file says), and
    show it in the form. A file that is not valid is shown, but not saved. Returns the values for
    `form_outputs`, then one for the study menu. `tested`: results of the form's tests of judges and
    addresses, by key (see `open_judge_drawer` in form/judges.py)."""
    name, made = draft_studies.save_new_study(text, store, name)
    fresh = FormState(study=name, opened=made, unsaved=state.unsaved, last_change=state.last_change)
    return [*form_and_plan_updates(made, fresh, tested, "", store), study_menu_update(store, name)]


def study_menu_update(store: Store, name: str) -> Any:
    """Gradio update of the study menu: all studies of the store, with the study `name` chosen; no
    change if `name` is empty."""
    names = [line.name for line in store.studies()]
    return gr.Dropdown(choices=names, value=name) if name else gr.skip()


def _bind_studies(tab: StudyTab, header: Header, store: Store) -> None:
    """Bind the events that open another study in the form: a new study, a file or an example."""
    outputs = [*form_outputs(tab), header.study]

    def open_file(path: str, text: str, state: FormState, tested: Any) -> list[Any]:
        try:
            return save_and_show_new_study(store, Path(path).read_text("utf-8"), state, tested)
        except UnicodeDecodeError:
            why = notice_html("bad", "Not opened.", "A study file must be UTF-8 text.")
            said = replace(state, notice_html=why)
            return [*form_and_plan_updates(text, said, tested, "", store, before=state), gr.skip()]

    def save_and_open_start_study(state: FormState, tested: Any) -> list[Any]:
        return save_and_show_new_study(store, START_YAML, state, tested)

    def open_example(name: str | None, state: FormState, tested: Any) -> list[Any]:
        if not name:
            return [gr.skip()] * len(outputs)
        return save_and_show_new_study(store, example_files.example_text(name), state, tested)

    state = [tab.yaml, tab.state, tab.tested]
    tab.open_file.upload(open_file, [tab.open_file, *state], outputs, **QUIET)
    tab.new.click(save_and_open_start_study, state[1:], outputs, **QUIET)
    tab.example.input(open_example, [tab.example, *state[1:]], outputs, **QUIET)


def _bind_records(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store) -> None:
    """Bind the events of an uploaded file: use it as data of the study, or open its recorded
    verdicts as a new study."""
    outputs = [*form_outputs(tab), header.study, tabs]

    def use_uploaded_records(
        paths: list[str] | None, text: str, state: FormState, tested: Any
    ) -> list[Any]:
        if not paths:
            return [gr.skip()] * len(outputs)
        stays: list[Any] = [gr.skip(), gr.skip()]
        title = "This file cannot be used."
        try:
            made = save_uploads_as_data(text, [Path(path) for path in paths], store.folder)
            if state.kind == RECORDED:
                title = "These verdicts cannot be opened."
                name = import_recorded_verdicts(made, store)
                skipped = [gr.skip()] * len(form_outputs(tab))
                return [*skipped, study_menu_update(store, name), gr.Tabs(selected="results")]
        except REPORTED_ERRORS as error:
            said = replace(state, notice_html=notice_html("bad", title, hide_hashes(str(error))))
            return [*form_and_plan_updates(text, said, tested, "", store, before=state), *stays]
        if not draft_studies.is_without_calls(
            store, state.study
        ):  # verdicts of a study stay with its data
            called = Path(paths[0]).stem[: draft_studies.MAX_NAME] if state.study else ""
            return [*save_and_show_new_study(store, made, state, tested, called), gr.skip()]
        seen = replace(state, kind="", item=0, notice_html="")
        draft_studies.save_study_if_without_calls(store, state.study, made)
        return [*form_and_plan_updates(made, seen, tested, "", store, before=state), *stays]

    state = [tab.yaml, tab.state, tab.tested]
    tab.upload.upload(use_uploaded_records, [tab.upload, *state], outputs, **QUIET).then(
        None, header.study, None, js="(study) => evenhand.rememberTab(study)"
    )


# -------------------------------------------------------------------------- prompt editor


def bind_prompts(tab: StudyTab, store: Store) -> None:
    state = [tab.yaml, tab.state, tab.tested]

    def draw_editor(draft: str, text: str, state: FormState) -> Any:
        if state.panel != "prompts" or state.mode != "editor":
            return gr.skip()
        return form_html.render_prompt_body(build_preview(text, store.folder), state, draft)

    tab.draft.change(
        draw_editor, [tab.draft, tab.yaml, tab.state], tab.body, trigger_mode="always_last", **QUIET
    )

    def save_edited_prompt(draft: str, text: str, state: FormState, tested: Any) -> list[Any]:
        made, seen = save_prompt_draft(draft, text, state, store.folder)
        draft_studies.save_study_if_without_calls(store, state.study, made)
        return form_and_plan_updates(made, seen, tested, draft, store, before=state)

    tab.save_prompt.click(save_edited_prompt, [tab.draft, *state], form_outputs(tab), **QUIET)

    def import_uploaded_prompts(
        path: str, draft: str, text: str, state: FormState, tested: Any
    ) -> list[Any]:
        seen = import_mt_bench_prompts(Path(path), state, store.folder)
        return form_and_plan_updates(text, seen, tested, draft, store, before=state)

    tab.import_prompts.upload(
        import_uploaded_prompts, [tab.import_prompts, tab.draft, *state], form_outputs(tab), **QUIET
    )


def save_prompt_draft(
    draft: str, text: str, state: FormState, folder: Path
) -> tuple[str, FormState]:
    """Save the edited prompt `draft` as a new version, and use it in the study file `text` in place
    of the prompt that was edited. Return study file and form state; if the prompt is not valid, the
    file is unchanged and the state's notice says why."""
    try:
        prompt = save_prompt(draft, user_prompts_folder(folder))
    except REPORTED_ERRORS as error:
        return text, replace(state, notice_html=notice_html("bad", "Not saved.", str(error)))
    name, names = (
        saved_prompt_path(prompt, folder),
        lenient_study.read_lenient_study(text, folder).prompts,
    )
    old = state.prompt or (names or [""])[0]
    kept = [name if one == old else one for one in names]
    made = yaml_edit.put_value(text, ("prompts",), list(dict.fromkeys([*kept, name])))
    told = f"{prompt.name}, sha {prompt.sha[:8]}. "
    replaced = old if old in names and old != name else ""
    told += "The study uses this prompt"
    before = _replaced_prompt_text(replaced, prompt.name, folder) if replaced else ""
    told += f" in place of {before}." if replaced else "."
    said = notice_html("calm", f"Saved as version {prompt.version}.", told)
    if replaced:
        both = {"do": "prompt", "prompt": replaced, "on": True, "close": True}
        words = f"Compare this prompt with {before} on the same items"
        said += controls.form_part(
            controls.form_button(words, both, kind="small"), seen=state.last_change
        )
    return made, replace(state, prompt=name, mode="side", panel="prompts", notice_html=said)


def _replaced_prompt_text(reference: str, name: str, folder: Path) -> str:
    """Name of the replaced prompt in a notice: "version 1" if `reference`, its entry in the study
    file, is another version of the prompt `name`; else `reference`."""
    found = lenient_study.find_prompt(reference, lenient_study.available_prompts(folder), folder)
    if found is None or found.prompt.name != name:
        return reference
    return f"version {found.prompt.version}"


def import_mt_bench_prompts(path: Path, state: FormState, folder: Path) -> FormState:
    """Read MT-Bench's judge_prompts.jsonl and save its usable prompts. The notice in the returned
    form state names the first unusable ones, or the reason why the file cannot be read."""
    try:
        found = read_judge_prompts(path)
        kept = [save_prompt(prompt.yaml, user_prompts_folder(folder)) for prompt in found.prompts]
    except REPORTED_ERRORS as error:
        return replace(state, notice_html=notice_html("bad", "No prompt was imported.", str(error)))
    refused = "; ".join(f"{name}: {why}" for name, why in found.rejected[:3])
    told = f"{count(len(kept), 'prompt')}, now under Prompts."
    if refused:
        told += f" {count(len(found.rejected))} cannot be used here: {refused}."
    said = notice_html("warn" if refused else "calm", "Imported.", told)
    first = saved_prompt_path(kept[0], folder) if kept else state.prompt
    return replace(state, notice_html=said, prompt=first, mode="side", panel="prompts")
