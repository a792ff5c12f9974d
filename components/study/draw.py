"""The Study form drawn: every piece of it from a study file and what is in sight. No gradio."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from components.drawing.pieces import finding, notice
from components.study import data as study_data
from components.study import protocol as study_protocol
from components.study.bench import Bench
from components.study.consent import consent_notices
from components.study.describe import describe_form
from components.study.fields import form, step_head
from components.study.judges import judge_cards, judges_aside
from components.study.profile import profile_html
from components.study.prompt_list import prompt_list, protocols_of
from components.study.prompt_panel import (
    NEW,
    compared,
    editor_side,
    prompt_head,
    shown_prompt,
    side_by_side,
)
from components.study.records import records_html
from components.study.sheet import View
from components.study.words import lead, question
from judges.check import Checked
from studies.profile import Profile, profile
from studies.records import Item

PIECES: Final = ("title", "said", "source", "records", "judges", "protocol", "prompt", "body")
"""What `drawn` returns, in this order."""


def drawn(bench: Bench, view: View, tested: Mapping[str, Checked], draft: str = "") -> list[str]:
    """All pieces of the form; `draft` is the text in the prompt editor."""
    return [
        title(bench),
        said(bench, view),
        source(bench, view),
        records(bench, view),
        judges(bench, view, tested),
        protocol(bench, view),
        prompt_title(bench, view),
        prompt_body(bench, view, draft),
    ]


def title(bench: Bench) -> str:
    return finding(question(bench.sheet), lead(bench))


def said(bench: Bench, view: View) -> str:
    """What the last change could not do, and why the study cannot be run; nothing if it can."""
    parts = [view.said]
    if bench.fault and bench.fault != bench.data_fault:
        parts.append(notice("bad", "This study cannot be run yet.", bench.fault))
    if bench.plan is not None:
        parts.append(consent_notices(bench.plan.study, bench.sheet.folder))
    return "".join(parts)


def source(bench: Bench, view: View) -> str:
    head = step_head(1, "Data", study_data.aside(bench))
    return form(head, study_data.source_form(bench, view), seen=view.seen)


def records(bench: Bench, view: View) -> str:
    slice_of = study_data.slice_form(bench, view)
    return form(slice_of, records_html(bench, view), describe_form(bench, view), seen=view.seen)


def judges(bench: Bench, view: View, tested: Mapping[str, Checked]) -> str:
    sheet = bench.sheet
    head = step_head(2, "Judges and prompts", judges_aside(sheet))
    return form(head, judge_cards(sheet, view, tested), prompt_list(sheet), seen=view.seen)


def protocol(bench: Bench, view: View) -> str:
    sheet = bench.sheet
    sees = any(judge.get("vision") for judge in sheet.judges)
    head = step_head(3, "Protocol", study_protocol.aside(sheet))
    body = study_protocol.protocol_form(sheet, protocols_of(sheet), bench.contestants, sees)
    return form(head, body, seen=view.seen)


def prompt_title(bench: Bench, view: View) -> str:
    shown = shown_prompt(bench.sheet, view)
    return form(prompt_head(bench, view, shown.prompt if shown else None), seen=view.seen)


def prompt_body(bench: Bench, view: View, draft: str = "") -> str:
    if view.mode == "editor":
        return form(editor_side(bench, view, draft or NEW), seen=view.seen)
    if view.mode == "compare":
        return form(compared(bench, view), seen=view.seen)
    shown = shown_prompt(bench.sheet, view)
    return form(side_by_side(bench, view, shown), seen=view.seen)


def draft_of(bench: Bench, view: View) -> str:
    """What the editor begins with: the prompt in sight, or a new one."""
    if view.prompt == "@new":
        return NEW
    shown = shown_prompt(bench.sheet, view)
    return shown.prompt.yaml if shown else NEW


def slice_profile(bench: Bench, view: View) -> str:
    if bench.loaded is None or not bench.items:
        return form(notice("calm", "No profile.", "It needs records that can be read."))
    items = tuple(bench.loaded.items) if view.whole else bench.items
    named = bench.sheet.raw("contestants")
    players = tuple(str(name) for name in named) if isinstance(named, list) else ()
    found = _profile(_Items(items), players)
    total = len(bench.loaded.items)
    html = profile_html(found, whole=view.whole, slice_size=len(bench.items), total=total)
    return form(html, seen=view.seen)


class _Items:
    """Items told apart by who they are, not by all their texts: a profile is worked out once."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Items) and len(self.items) == len(other.items) and all(
            mine is its for mine, its in zip(self.items, other.items, strict=True)
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((len(self.items), id(self.items[0]) if self.items else 0))


@lru_cache(maxsize=8)
def _profile(items: _Items, players: tuple[str, ...]) -> Profile:
    return profile(items.items, players)
