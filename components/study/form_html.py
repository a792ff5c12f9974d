"""HTML of the Study form, made from a study file and the form's state; this module does not import
gradio."""

from __future__ import annotations

from collections.abc import Mapping

from components.html.markup import Markup
from components.html.pieces import finding_html
from components.study.file.controls import controls
from components.study.file.lenient_study import FormState
from components.study.form import judges, more_settings, prompts
from components.study.form.data_step import data_source, records_report, slice_form, table_columns
from components.study.form.data_step.slice_profile import profile_html
from components.study.plan.cost_preview import ForecastByJudge
from components.study.plan.idle_cache import RECORDS
from components.study.plan.study_preview import StudyPreview
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
        more_settings.more_settings(bench, view),
        judges.judge_drawer(bench.lenient_study, view, tested, numbers),
        render_prompt_title(bench, view),
        render_prompt_body(bench, view, draft),
    ]


def render_title(bench: StudyPreview) -> Markup:
    question = more_settings.study_question(bench.lenient_study)
    return finding_html(question, "Three steps. No call is made before you press Run.")


def render_notices(bench: StudyPreview, view: FormState) -> str:
    """HTML of the notice on the last change, and of requests for consent to send keys."""
    notice = view.notice_html if view.panel != "prompts" else ""
    if bench.plan is None:
        return notice
    return notice + more_settings.consent_notices(bench.plan.study)


def render_source(bench: StudyPreview, view: FormState) -> Markup:
    head = controls.step_heading(1, "Data", slice_form.sample_switch(bench))
    card = data_source.source_card(bench, view)
    return controls.form_part(head + card + table_columns.roles_html(bench), seen=view.last_change)


def render_records(bench: StudyPreview, view: FormState) -> Markup:
    missing = table_columns.missing_roles(bench)
    why = f"Choose the column of {missing[0]}." if missing else ""
    shown = records_report.comparisons_html(bench, view, why)
    return controls.form_part(shown + records_report.records_html(bench, view), view.last_change)


def render_judges(bench: StudyPreview, view: FormState, tested: Mapping[str, JudgeCheck]) -> Markup:
    study, head = bench.lenient_study, controls.step_heading(2, "Judge and prompt")
    cards = judges.judge_cards(study, tested) + prompts.prompt_cards(study)
    return controls.form_part(head + cards, seen=view.last_change)


def render_prompt_title(bench: StudyPreview, view: FormState) -> Markup:
    shown = prompts.current_prompt(bench.lenient_study, view)
    heading = prompts.prompt_heading(bench, view, shown.prompt if shown else None)
    return controls.form_part(heading, seen=view.last_change)


def render_prompt_body(bench: StudyPreview, view: FormState, draft: str = "") -> Markup:
    body = Markup()
    if view.panel != "prompts":
        pass
    elif view.mode == "library":
        body = prompts.prompt_library(bench.lenient_study)
    elif view.mode == "editor":
        body = prompts.editor_preview(bench, view, draft or prompts.NEW_PROMPT_YAML)
    elif view.mode == "compare":
        body = prompts.compare_prompts(bench, view)
    else:
        shown = prompts.current_prompt(bench.lenient_study, view)
        body = prompts.template_and_preview(bench, view, shown)
    return controls.form_part(body, seen=view.last_change)


def initial_draft(bench: StudyPreview, view: FormState) -> str:
    """Initial text of the prompt editor: the prompt shown, or the starting text of a new prompt."""
    shown = prompts.current_prompt(bench.lenient_study, view) if view.prompt != "@new" else None
    return shown.prompt.yaml if shown else prompts.NEW_PROMPT_YAML


def render_slice_profile(bench: StudyPreview, view: FormState) -> Markup:
    if bench.records is None or not bench.items:
        return controls.form_part()
    items = tuple(bench.records.items) if view.whole else bench.items
    named = bench.lenient_study.raw(*STUDY.contestants)
    players = tuple(str(name) for name in named) if isinstance(named, list) else ()
    key = ("profile", _ItemsByIdentity(items), players)
    found = RECORDS.compute_once(key, None, lambda: profile_slice(items, players))
    total = len(bench.records.items)
    html = profile_html(found, whole=view.whole, slice_size=len(bench.items), total=total)
    return controls.form_part(html, seen=view.last_change)


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
