"""Collect: what happens in the fold of the Study tab where items and captions are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.collect.layout_tab import CAPTION, ITEM, CollectTab, length_script
from components.collect.view import (
    ANSWERS,
    WHOLE,
    Ground,
    caption_of,
    ground_of,
    images_of,
    listed,
    read_version,
    save_caption,
    save_item,
    show_item,
    versions_of,
)
from components.study.errands import Went
from components.study.layout_tab import StudyTab
from components.study.sheet import View
from components.study.show_tab import form_outputs, show_form
from studies.collect import MOST_CAPTION, MOST_INSTRUCTION, NewItem
from studies.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}


def bind_collect(study: StudyTab, store: Store) -> None:
    tab = study.collect
    _bind_view(tab, study, store)
    _bind_saving(tab, study, store)


def _bind_view(tab: CollectTab, study: StudyTab, store: Store) -> None:
    chosen = [tab.preview, tab.image, tab.caption]

    def fill(text: str) -> list[Any]:
        return show_offered(ground_of(text, store.folder), store.folder)

    def choose(id: str | None, text: str) -> list[Any]:
        return show_chosen(ground_of(text, store.folder), id)

    def part(id: str | None, image: str | None, text: str) -> str:
        return caption_of(ground_of(text, store.folder).item(id), image or WHOLE)

    def turn(which: str) -> list[Any]:
        return [gr.Column(visible=which == ITEM), gr.Column(visible=which == CAPTION)]

    tab.fold.expand(fill, study.yaml, _offered(tab), **QUIET)
    tab.which.change(turn, tab.which, [tab.item_form, tab.caption_form], **QUIET)
    tab.item.change(choose, [tab.item, study.yaml], chosen, **QUIET)
    tab.image.input(part, [tab.item, tab.image, study.yaml], tab.caption, **QUIET)
    for box, length, most in (
        (tab.instruction, tab.length, MOST_INSTRUCTION),
        (tab.caption, tab.caption_length, MOST_CAPTION),
    ):
        box.change(None, box, length, js=length_script(most), **QUIET)


def _offered(tab: CollectTab) -> list[Any]:
    """What `show_offered` fills, in its order."""
    return [tab.category, *tab.names, tab.item, tab.version]


def show_offered(ground: Ground, folder: Path) -> list[Any]:
    """What the study's data knows: its categories, who plays in it, its items, its versions."""
    names = [*ground.contestants, *[""] * ANSWERS][:ANSWERS]
    items, versions = listed(ground), versions_of(ground, folder)
    return [
        gr.Dropdown(choices=ground.categories),
        *(gr.Textbox(name) for name in names),
        gr.Dropdown(choices=items, value=items[0][1] if items else None),
        gr.Dropdown(
            choices=versions, value=ground.source if versions else None, visible=bool(versions)
        ),
    ]


def show_chosen(ground: Ground, id: str | None) -> list[Any]:
    item = ground.item(id)
    several = images_of(item)
    first = several[1] if several else WHOLE
    return [
        show_item(ground, item),
        gr.Dropdown(choices=several, value=first if several else None, visible=bool(several)),
        caption_of(item, first),
    ]


def _bind_saving(tab: CollectTab, study: StudyTab, store: Store) -> None:
    state = [study.yaml, study.view, study.tested, study.draft]
    outputs = [*form_outputs(study), *_offered(tab), tab.said]
    cleared = [tab.instruction, tab.images, tab.addresses, tab.reference, tab.context, *tab.answers]

    def shown(went: Went, text: str, view: View, tested: Any, draft: str) -> list[Any]:
        """The form on the new version; where nothing was saved, what was typed stays."""
        if went.text == text:
            return [*[gr.skip()] * (len(outputs) - 1), went.said]
        fresh = View(seen=view.seen, parked=view.parked)
        made = show_form(went.text, fresh, tested, draft, store.folder, before=view)
        return [*made, *show_offered(ground_of(went.text, store.folder), store.folder), went.said]

    def keep_item(*typed: Any) -> list[Any]:
        *form, text, view, tested, draft = typed
        went = save_item(text, store.folder, *new_item(form))
        done = went.text != text
        empty = [("" if box is not tab.images else None) if done else gr.skip() for box in cleared]
        return [*shown(went, text, view, tested, draft), *empty]

    def keep_caption(
        id: str | None, image: str | None, caption: str, by: str, text: str, *rest: Any
    ) -> list[Any]:
        went = save_caption(text, store.folder, id, caption, image or WHOLE, by)
        return shown(went, text, *rest)

    def turn_to(source: str | None, text: str, *rest: Any) -> list[Any]:
        return shown(Went(read_version(text, store.folder, source or ""), ""), text, *rest)

    fields = [tab.instruction, tab.images, tab.addresses, tab.licence, tab.category, tab.reference,
              tab.context, tab.by, tab.fresh, *tab.names, *tab.answers]  # fmt: skip
    tab.save_item.click(keep_item, [*fields, *state], [*outputs, *cleared], **QUIET)
    tab.save_caption.click(
        keep_caption, [tab.item, tab.image, tab.caption, tab.by, *state], outputs, **QUIET
    )
    tab.version.input(turn_to, [tab.version, *state], outputs, **QUIET)


def new_item(form: list[Any]) -> tuple[NewItem, bool, list[tuple[str, str]]]:
    """The form's values as an item to be, whether it starts a new file, and the answers typed."""
    instruction, images, addresses, licence, category, reference, context, by, fresh = form[:9]
    names, answers = form[9 : 9 + ANSWERS], form[9 + ANSWERS :]
    lines = [line.strip() for line in (addresses or "").splitlines() if line.strip()]
    made = NewItem(
        instruction or "", [Path(path) for path in images or ()], lines, licence or "",
        category or "", reference or "", context or "", by=by or "",
    )  # fmt: skip
    typed = [(name or "", answer or "") for name, answer in zip(names, answers, strict=True)]
    return made, bool(fresh), typed
