"""Events of the Collect section in the Study tab, where items and captions are written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from components.study import form_updates_tab, jobs
from components.study.collect import collect_layout_tab, save_collected
from components.study.collect.collect_layout_tab import READ_ANSWERS, CollectTab
from components.study.collect.save_collected import (
    ANSWER_BOXES,
    WHOLE_ITEM,
    CollectTarget,
    existing_caption,
    load_collect_target,
)
from components.study.file.lenient_study import FormState
from components.study.form_layout_tab import QUIET, StudyTab
from components.study.plan.draft_studies import save_study_if_without_calls
from studies.people.new_items import MAX_CAPTION_CHARS, MAX_INSTRUCTION_CHARS, NewItem
from studies.store.store import Store


def bind_collect(study: StudyTab, store: Store) -> None:
    tab = study.collect
    _bind_choices(tab, study, store)
    _bind_saving(tab, study, store)


def _bind_choices(tab: CollectTab, study: StudyTab, store: Store) -> None:
    chosen = [tab.preview, tab.image, tab.caption]

    def fill_menus(text: str, typed: str) -> list[Any]:
        return choice_updates(load_collect_target(text, store.folder), store.folder, typed)

    def show_item(item_id: str | None, text: str) -> list[Any]:
        return show_selected_item(load_collect_target(text, store.folder), item_id)

    def show_caption_of_image(item_id: str | None, image: str | None, text: str) -> str:
        return existing_caption(
            load_collect_target(text, store.folder).item(item_id), image or WHOLE_ITEM
        )

    def switch_form(form: str) -> list[Any]:
        return [
            gr.Column(visible=form == collect_layout_tab.ITEM_FORM),
            gr.Column(visible=form == collect_layout_tab.CAPTION_FORM),
        ]

    tab.fold.expand(
        fill_menus, [study.yaml, tab.typed], _collect_form_outputs(tab), js=READ_ANSWERS, **QUIET
    )
    tab.which.change(switch_form, tab.which, [tab.item_form, tab.caption_form], **QUIET)
    tab.item.change(show_item, [tab.item, study.yaml], chosen, **QUIET)
    tab.image.input(show_caption_of_image, [tab.item, tab.image, study.yaml], tab.caption, **QUIET)
    for box, length, most in (
        (tab.instruction, tab.length, MAX_INSTRUCTION_CHARS),
        (tab.caption, tab.caption_length, MAX_CAPTION_CHARS),
    ):
        box.change(None, box, length, js=collect_layout_tab.character_count_script(most), **QUIET)


def _collect_form_outputs(tab: CollectTab) -> list[Any]:
    """The Gradio outputs of `choice_updates`, in the order of its return values."""
    return [tab.category, tab.answers, tab.item, tab.version]


def choice_updates(target: CollectTarget, folder: Path, typed: str = "") -> list[Any]:
    """Gradio updates that make the form fit the data `target`: menu of categories, fields for the
    answers, menu of items, menu of versions of the data (hidden if there is only one version).
    `typed`: answers typed so far, as JSON, which stay in their fields."""
    items, versions = (
        save_collected.caption_item_choices(target),
        save_collected.version_choices(target, folder),
    )
    return [
        gr.Dropdown(choices=target.categories),
        collect_layout_tab.answer_fields_html(read_answers(typed), target.contestants),
        gr.Dropdown(choices=items, value=items[0][1] if items else None),
        gr.Dropdown(
            choices=versions, value=target.source if versions else None, visible=bool(versions)
        ),
    ]


def show_selected_item(target: CollectTarget, item_id: str | None) -> list[Any]:
    item = target.item(item_id)
    several = save_collected.image_choices(item)
    first = several[1] if several else WHOLE_ITEM
    return [
        save_collected.caption_task_html(target, item),
        gr.Dropdown(choices=several, value=first if several else None, visible=bool(several)),
        existing_caption(item, first),
    ]


def _bind_saving(tab: CollectTab, study: StudyTab, store: Store) -> None:
    state = [study.yaml, study.state, study.tested, study.draft, tab.typed]
    outputs = [*form_updates_tab.form_outputs(study), *_collect_form_outputs(tab), tab.said]
    cleared = [tab.instruction, tab.images, tab.addresses, tab.reference, tab.context]

    def save_and_show_study_file(
        result: jobs.JobResult, text: str, state: FormState, tested: Any, draft: str, typed: str
    ) -> list[Any]:
        """Save the study file of `result` in its study, unless the study has calls already; return
        the outputs that show it in the form. `text` is the study file before the change; if
        `result` has the same text, only the notice is shown."""
        if result.text == text:
            return [*[gr.skip()] * (len(outputs) - 1), result.notice_html]
        fresh = replace(state, kind="", item=0, notice_html="")
        save_study_if_without_calls(store, state.study, result.text)
        made = form_updates_tab.form_and_plan_updates(
            result.text, fresh, tested, draft, store, before=state
        )
        return [
            *made,
            *choice_updates(load_collect_target(result.text, store.folder), store.folder, typed),
            result.notice_html,
        ]

    def save_typed_item(*typed: Any) -> list[Any]:
        *form, text, state, tested, draft, answers = typed
        made, fresh = read_item_and_new_file_choice(form)
        went = save_collected.save_item(text, store.folder, made, fresh, read_answers(answers))
        done = went.text != text
        empty = [("" if box is not tab.images else None) if done else gr.skip() for box in cleared]
        return [*save_and_show_study_file(went, text, state, tested, draft, ""), *empty]

    def save_typed_caption(
        item_id: str | None, image: str | None, caption: str, by: str, text: str, *rest: Any
    ) -> list[Any]:
        went = save_collected.save_caption(
            text, store.folder, item_id, caption, image or WHOLE_ITEM, by
        )
        return save_and_show_study_file(went, text, *rest)

    def use_chosen_version(source: str | None, text: str, *rest: Any) -> list[Any]:
        return save_and_show_study_file(
            jobs.JobResult(save_collected.set_data_version(text, store.folder, source or ""), ""),
            text,
            *rest,
        )

    fields = [tab.instruction, tab.images, tab.addresses, tab.licence, tab.category, tab.reference,
              tab.context, tab.by, tab.fresh]  # fmt: skip
    read: dict[str, Any] = {"js": READ_ANSWERS, **QUIET}
    tab.save_item.click(save_typed_item, [*fields, *state], [*outputs, *cleared], **read)
    tab.save_caption.click(
        save_typed_caption, [tab.item, tab.image, tab.caption, tab.by, *state], outputs, **read
    )
    tab.version.input(use_chosen_version, [tab.version, *state], outputs, **read)


def read_item_and_new_file_choice(form: list[Any]) -> tuple[NewItem, bool]:
    """Return the new item, and whether to start a new data file with it. `form`: values of the
    form's fields, in this order: instruction, images, addresses of images, licence, category,
    reference, context, author, new file."""
    instruction, images, addresses, licence, category, reference, context, by, fresh = form
    lines = [line.strip() for line in (addresses or "").splitlines() if line.strip()]
    made = NewItem(
        instruction or "", [Path(path) for path in images or ()], lines, licence or "",
        category or "", reference or "", context or "", by=by or "",
    )  # fmt: skip
    return made, bool(fresh)


def read_answers(typed: str) -> list[tuple[str, str]]:
    """(model, answer) of the first ANSWER_BOXES rows typed in the browser, given as JSON; empty if
    the text is not such a list."""
    try:
        rows = json.loads(typed or "[]")
        return [(str(name), str(answer)) for name, answer in rows][:ANSWER_BOXES]
    except (TypeError, ValueError):
        return []
