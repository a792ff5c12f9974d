"""HTML of the Study form, made from a study file and the form's state; this module does not import
gradio."""

from collections.abc import Mapping

from components.html.markup import EMPTY, Markup
from components.html.pieces import finding_html
from components.study.file.controls import controls
from components.study.file.lenient_study import FormState
from components.study.form import judges, more_settings, prompts
from components.study.form.data_step import data_source, records_report, slice_form, table_columns
from components.study.form.data_step.slice_profile import profile_html
from components.study.plan import cost_preview, idle_cache
from components.study.plan.study_preview import StudyPreview
from components.study.steps import blockers
from judges.operations.check_judge import JudgeCheck
from studies.domain import Item
from studies.files.upload_names import original_name
from studies.spec.keys import STUDY
from studies.texts.slice_statistics import profile_slice


def render_form(
    preview: StudyPreview,
    state: FormState,
    tested: Mapping[str, JudgeCheck],
    draft: str = "",
    numbers: cost_preview.ForecastByJudge | None = None,
) -> list[str]:
    """HTML of all parts of the form, in the order of `StudyTab.form_components`. `tested`: results
    of the form's tests of judges and addresses, by key (see `open_judge_drawer` in form/judges.py);
    `draft`: text in the prompt editor; `numbers`: forecast of the calls, None without a plan."""
    return [
        render_title(preview),
        render_notices(preview, state),
        render_source(preview, state),
        render_records(preview, state),
        render_judges_and_prompts(preview, state, tested),
        more_settings.more_settings(preview, state),
        judges.open_judge_drawer(preview.lenient_study, state, tested, numbers),
        render_prompt_title(preview, state),
        render_prompt_body(preview, state, draft),
    ]


def render_title(preview: StudyPreview) -> Markup:
    question = more_settings.study_question(
        preview.lenient_study,
        single_answers=preview.plan is not None and preview.plan.judges_single_answers,
    )
    unread = preview.data_error and preview.records is None
    if unread and table_columns.mappable_table(preview) is None:
        question = f"{original_name(preview.lenient_study.source)} cannot be read"
    return finding_html(question, "Three steps. No call is made before you press Run.")


def render_notices(preview: StudyPreview, state: FormState) -> str:
    """HTML of the notice on the last change (not while the prompt drawer is open) and, with a plan,
    of requests for consent to send keys."""
    notice = state.notice_html if state.panel != "prompts" else ""
    if preview.plan is None:
        return notice
    return notice + more_settings.consent_notices(preview.plan.study)


def render_source(preview: StudyPreview, state: FormState) -> Markup:
    head = controls.step_heading(1, "Data", slice_form.sample_switch(preview))
    card = data_source.source_card(preview, state)
    return controls.form_part(
        head + card + table_columns.column_roles_html(preview), seen=state.last_change
    )


def render_records(preview: StudyPreview, state: FormState) -> Markup:
    missing = table_columns.missing_column_roles(preview)
    why = f"Choose the column of {missing[0]}." if missing else ""
    shown = EMPTY
    if not blockers.has_only_verdicts(preview):
        shown = records_report.comparisons_html(preview, state, why)
    return controls.form_part(
        shown + records_report.records_html(preview, state), state.last_change
    )


def render_judges_and_prompts(
    preview: StudyPreview, state: FormState, tested: Mapping[str, JudgeCheck]
) -> Markup:
    study, head = preview.lenient_study, controls.step_heading(2, "Judge and prompt")
    cards = judges.judge_cards(study, tested) + prompts.prompt_cards(study)
    return controls.form_part(head + cards, seen=state.last_change)


def render_prompt_title(preview: StudyPreview, state: FormState) -> Markup:
    shown = prompts.current_prompt(preview.lenient_study, state)
    heading = prompts.prompt_heading(preview, state, shown.prompt if shown else None)
    return controls.form_part(heading, seen=state.last_change)


def render_prompt_body(preview: StudyPreview, state: FormState, draft: str = "") -> Markup:
    body = Markup()
    if state.panel != "prompts":
        pass
    elif state.mode == "library":
        body = prompts.prompt_library(preview.lenient_study)
    elif state.mode == "editor":
        body = prompts.editor_preview(preview, state, draft or prompts.NEW_PROMPT_YAML)
    elif state.mode == "compare":
        body = prompts.prompt_differences_html(preview, state)
    else:
        shown = prompts.current_prompt(preview.lenient_study, state)
        body = prompts.template_and_preview(preview, state, shown)
    return controls.form_part(body, seen=state.last_change)


def initial_draft(preview: StudyPreview, state: FormState) -> str:
    """Initial text of the prompt editor: the prompt shown, or the starting text of a new prompt."""
    shown = prompts.current_prompt(preview.lenient_study, state) if state.prompt != "@new" else None
    return shown.prompt.yaml if shown else prompts.NEW_PROMPT_YAML


def render_slice_profile(preview: StudyPreview, state: FormState) -> Markup:
    if preview.records is None or not preview.items:
        return controls.form_part()
    items = tuple(preview.records.items) if state.whole else preview.items
    named = preview.lenient_study.value_in_file(*STUDY.contestants)
    players = tuple(str(name) for name in named) if isinstance(named, list) else ()
    key = ("profile", _ItemsByIdentity(items), players)
    found = idle_cache.RECORDS.compute_once(key, None, lambda: profile_slice(items, players))
    total = len(preview.records.items)
    html = profile_html(found, whole=state.whole, slice_size=len(preview.items), total=total)
    return controls.form_part(html, seen=state.last_change)


class _ItemsByIdentity:
    """Cache key of the statistics of the items that a study uses (its slice). Two keys are equal if
    they hold the very same item objects; the texts of the items are not compared."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ItemsByIdentity) and len(self.items) == len(other.items) and all(
            mine is its for mine, its in zip(self.items, other.items, strict=True)
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((len(self.items), id(self.items[0]) if self.items else 0))
