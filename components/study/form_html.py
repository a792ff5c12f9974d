"""HTML of the Study form, made from a study file and the form's state; this module does not import
gradio."""

from __future__ import annotations

from collections.abc import Mapping

from components.html.markup import Markup
from components.html.pieces import finding_html
from components.study.file.controls import form_part, step_heading
from components.study.file.lenient_study import FormState
from components.study.form.data_step import data_source as study_data
from components.study.form.data_step import slice_form
from components.study.form.data_step.records_report import records_html
from components.study.form.data_step.slice_profile_html import profile_html
from components.study.form.headline import study_question
from components.study.form.judge_cards import judge_cards
from components.study.form.key_consent import consent_notices
from components.study.form.prompt_list import prompt_cards, prompt_library
from components.study.form.prompt_panel import (
    NEW_PROMPT_YAML,
    compare_prompts,
    current_prompt,
    editor_preview,
    prompt_heading,
    template_and_preview,
)
from components.study.plan.cost_preview import ForecastByJudge
from components.study.plan.idle_cache import RECORDS
from components.study.plan.study_preview import StudyPreview
from components.study.steps.column_roles import missing_roles, roles_html
from components.study.steps.comparison_preview import comparisons_html
from components.study.steps.judge_drawer import judge_drawer
from components.study.steps.more_settings import more_settings
from judges.operations.check_judge import JudgeCheck
from studies.domain import Item
from studies.spec.keys import STUDY
from studies.texts.slice_statistics import profile_slice


def render_form(
    bench: StudyPreview,
    view: FormState,
    tested: Mapping[str, JudgeCheck],
    draft: str = "",
    numbers: ForecastByJudge | None = None,
) -> list[str]:
    """HTML of all parts of the form; `draft` is the text in the prompt editor."""
    return [
        render_title(bench),
        render_notices(bench, view),
        render_source(bench, view),
        render_records(bench, view),
        render_judges(bench, view, tested),
        more_settings(bench, view),
        judge_drawer(bench.lenient_study, view, tested, numbers),
        render_prompt_title(bench, view),
        render_prompt_body(bench, view, draft),
    ]


def render_title(bench: StudyPreview) -> Markup:
    return finding_html(
        study_question(bench.lenient_study), "Three steps. No call is made before you press Run."
    )


def render_notices(bench: StudyPreview, view: FormState) -> str:
    """HTML of the notice on the last change, and of requests for consent to send keys."""
    parts = [view.notice_html if view.panel != "prompts" else ""]
    if bench.plan is not None:
        parts.append(consent_notices(bench.plan.study))
    return "".join(parts)


def render_source(bench: StudyPreview, view: FormState) -> Markup:
    head = step_heading(1, "Data", slice_form.sample_switch(bench))
    return form_part(
        head, study_data.source_card(bench, view), roles_html(bench), seen=view.last_change
    )


def render_records(bench: StudyPreview, view: FormState) -> Markup:
    missing = missing_roles(bench)
    why = f"Choose the column of {missing[0]}." if missing else ""
    return form_part(
        comparisons_html(bench, view, why), records_html(bench, view), seen=view.last_change
    )


def render_judges(bench: StudyPreview, view: FormState, tested: Mapping[str, JudgeCheck]) -> Markup:
    sheet = bench.lenient_study
    head = step_heading(2, "Judge and prompt")
    return form_part(head, judge_cards(sheet, tested), prompt_cards(sheet), seen=view.last_change)


def render_prompt_title(bench: StudyPreview, view: FormState) -> Markup:
    shown = current_prompt(bench.lenient_study, view)
    return form_part(
        prompt_heading(bench, view, shown.prompt if shown else None), seen=view.last_change
    )


def render_prompt_body(bench: StudyPreview, view: FormState, draft: str = "") -> Markup:
    if view.panel != "prompts":
        return form_part(seen=view.last_change)
    if view.mode == "library":
        return form_part(prompt_library(bench.lenient_study), seen=view.last_change)
    if view.mode == "editor":
        return form_part(
            editor_preview(bench, view, draft or NEW_PROMPT_YAML), seen=view.last_change
        )
    if view.mode == "compare":
        return form_part(compare_prompts(bench, view), seen=view.last_change)
    shown = current_prompt(bench.lenient_study, view)
    return form_part(template_and_preview(bench, view, shown), seen=view.last_change)


def initial_draft(bench: StudyPreview, view: FormState) -> str:
    """Initial text of the prompt editor: the prompt shown, or the starting text of a new prompt."""
    if view.prompt == "@new":
        return NEW_PROMPT_YAML
    shown = current_prompt(bench.lenient_study, view)
    return shown.prompt.yaml if shown else NEW_PROMPT_YAML


def render_slice_profile(bench: StudyPreview, view: FormState) -> Markup:
    if bench.records is None or not bench.items:
        return form_part()
    items = tuple(bench.records.items) if view.whole else bench.items
    named = bench.lenient_study.raw(*STUDY.contestants)
    players = tuple(str(name) for name in named) if isinstance(named, list) else ()
    key = ("profile", _ItemsByIdentity(items), players)
    found = RECORDS.compute_once(key, None, lambda: profile_slice(items, players))
    total = len(bench.records.items)
    html = profile_html(found, whole=view.whole, slice_size=len(bench.items), total=total)
    return form_part(html, seen=view.last_change)


class _ItemsByIdentity:
    """Cache key of a slice profile: two keys are equal if they contain the same item objects."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ItemsByIdentity) and len(self.items) == len(other.items) and all(
            mine is its for mine, its in zip(self.items, other.items, strict=True)
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((len(self.items), id(self.items[0]) if self.items else 0))
