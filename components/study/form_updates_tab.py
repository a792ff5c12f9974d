"""Gradio outputs of the Study tab for a study file: the form and the plan."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from components.html.format import count, dollars
from components.html.markup import EMPTY
from components.html.templates import macros
from components.server.limits import temp_files
from components.study import form_html, form_layout_tab, jobs
from components.study.file.lenient_study import FormState
from components.study.plan import cost_preview
from components.study.plan.cost_preview import ForecastByJudge, forecast_by_judge
from components.study.plan.study_preview import StudyPreview, build_preview
from components.study.steps import blockers, power_panel, run_strip
from components.study.steps.planned_study import planned_study
from judges.planning.plan import plan_for_current_visitor
from studies.spec.keys import STUDY
from studies.store.store import Store


def form_outputs(tab: form_layout_tab.StudyTab) -> list[Any]:
    """The Gradio outputs of `form_and_plan_updates`, in the order of its return values."""
    return [
        tab.yaml,
        tab.state,
        *tab.form_components,
        tab.prompt_drawer,
        tab.writing,
        tab.draft,
        *tab.plan_components,
    ]


def form_and_plan_updates(
    text: str,
    state: FormState,
    tested: Any,
    draft: str,
    store: Store,
    before: FormState | None = None,
) -> list[Any]:
    """Values for `form_outputs`: study file, form and plan. `text`: the study file. `tested`:
    results of the form's tests of judges and addresses, by key (see `open_judge_drawer` in
    form/judges.py). `draft`: text in the prompt editor. It is replaced by the text of the prompt
    now shown if the editor has just been opened or shows another prompt than in `before`, the
    former state."""
    look, numbers = preview_and_forecast(text, store)
    was = before or FormState()
    editing = state.panel == "prompts" and state.mode == "editor"
    was_editing = was.panel == "prompts" and was.mode == "editor"
    opened = editing and (was_editing, was.prompt) != (True, state.prompt)
    words = form_html.initial_draft(look, state) if opened or not draft else draft
    return [
        text,
        replace(state, shown=text),
        *form_html.render_form(look, state, tested, words, numbers),
        gr.Column(visible=state.panel == "prompts"),
        gr.Column(visible=editing),
        gr.Code(words) if opened else gr.skip(),
        *plan_updates(look, state, store, numbers, tested),
    ]


def preview_and_forecast(text: str, store: Store) -> tuple[StudyPreview, ForecastByJudge | None]:
    """Preview of a study file, and forecast of its calls (None without a plan). If the calls cannot
    be listed, because the settings do not fit an item or a judge has no weights, the preview has
    this error and no plan."""
    look = build_preview(text, store.folder)
    if look.plan is None:
        return look, None
    try:
        return look, forecast_by_judge(plan_for_current_visitor(look.plan, store), store)
    except jobs.REPORTED_ERRORS as error:
        return replace(look, plan=None, plan_error=str(error)), None


def plan_updates(
    preview: StudyPreview,
    state: FormState,
    store: Store,
    numbers: ForecastByJudge | None,
    tested: Mapping[str, Any],
) -> list[Any]:
    """Values for `plan_components`, in their order: steps, run strip, two buttons, run bar, slice
    profile, download and precision. If the study cannot be run, the strip has the reasons, and
    buttons, run bar and precision are hidden or empty. `tested`: results of the form's tests of
    judges and addresses, by key (see `open_judge_drawer` in form/judges.py)."""
    saved = _write_download(preview.lenient_study.text)
    profile = form_html.render_slice_profile(preview, state)
    found = blockers.find_blockers_besides_keys(preview)
    steps = run_strip.steps_html(preview, numbers, found, tested)
    if preview.plan is None or numbers is None or found:
        hidden = [gr.Button(visible=False), gr.Button(visible=False)]
        reasons = [*found, *blockers.key_blockers(preview.lenient_study)]
        reasons.sort(key=lambda reason: reason.step)
        strip = run_strip.blocked_strip(reasons, blockers.fulfilled_requirements(preview))
        return [steps, strip, *hidden, EMPTY, profile, saved, EMPTY]
    once_plan = plan_for_current_visitor(cost_preview.one_item_plan(preview.plan), store)
    once = forecast_by_judge(once_plan, store)
    words = cost_preview.run_button_text(numbers)
    trial = f"or try one question: {count(once.new_asks, 'call')}, {dollars(once.dollars)}"
    planned = planned_study(preview, preview.plan, numbers, store, state.study)
    return [
        steps,
        run_strip.cost_strip(preview, preview.plan, numbers, _name_of_study_copy(preview, state)),
        gr.Button(words, visible=True, interactive=True),
        gr.Button(trial, visible=True, interactive=True),
        macros("study/form_layout.html").run_bar(words),
        profile,
        saved,
        power_panel.power_html(planned, preview.lenient_study, state),
    ]


def _name_of_study_copy(preview: StudyPreview, state: FormState) -> str:
    """Name of the new study that Run would start; "" if Run starts the study in the header."""
    name = str(preview.lenient_study.value_in_file(*STUDY.name) or "")
    return name if state.study and name != state.study else ""


def _write_download(text: str) -> str:
    """Write the study file for the download button into Gradio's temporary folder; return its
    path."""
    folder = temp_files.temp_folder() / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)
