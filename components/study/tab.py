"""Events of the Study tab, which is the form of one study.

The study file in the editor is the only place of all settings: the form shows this text, and Run
uses it. The browser numbers the changes made in the form, and sends each again until the server has
applied it."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import gradio as gr

from components.html.markup import Markup, escape
from components.html.pieces import notice_html
from components.layout.header import Header
from components.run import actions_tab
from components.study import collect_tab, form_html, form_updates_tab, jobs
from components.study.file.judge_entries import judge_name, judge_test_key
from components.study.file.lenient_study import START_YAML, FormState, read_lenient_study
from components.study.file.yaml_edit import put_value
from components.study.files_tab import bind_files, bind_prompts, study_menu_update
from components.study.form.judges import LOCAL_SERVERS, model_list_key, open_judge_drawer
from components.study.form.more_settings import store_key_consent
from components.study.form_changes import apply_changes
from components.study.form_layout_tab import QUIET, StudyTab
from components.study.jobs import REPORTED_ERRORS
from components.study.plan import draft_studies
from components.study.plan.draft_studies import save_study_if_without_calls
from components.study.plan.study_preview import build_preview
from components.study.steps import blockers, run_strip
from judges.engine.engine import Engine
from judges.operations.list_models import find_local_servers
from judges.security.key_consents import KeyDestination, TypedKeys, parse_typed_keys
from studies.errors import EvenhandError
from studies.spec.keys import STUDY
from studies.store.store import Store

LATEST_ONLY: Final[dict[str, Any]] = {"trigger_mode": "always_last", **QUIET}
TYPED_TEXT: Final = "(text, ...rest) => [evenhand.typedInFile() ? text : '', ...rest]"
"""Script that sends the study file if somebody types or has typed in it, else "". A change made by
the form is drawn already; if it were drawn again, later, it could overwrite the next change."""
OPEN_RUN_TAB: Final = "(study) => evenhand.openWhenShown('run', study)"
"""Script that opens the Run tab as soon as the page shows the study of the new run."""
MARK_STARTING: Final = "() => evenhand.starting(true)"
MARK_ENDED: Final = "() => evenhand.starting(false)"


def bind(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    _bind_form(tab, header, store, engine)
    _bind_header(tab, header, store)
    bind_files(tab, header, tabs, store)
    bind_prompts(tab, store)
    collect_tab.bind_collect(tab, store)
    _bind_jobs(tab, header, tabs, store, engine)
    _bind_runs(tab, header, store, engine)


def _bind_form(tab: StudyTab, header: Header, store: Store, engine: Engine) -> None:
    inputs = [tab.edits, tab.yaml, tab.state, tab.tested, tab.draft]
    outputs = [*form_updates_tab.form_outputs(tab), header.study]

    def apply_and_save_form_edits(
        edits: str, text: str, state: FormState, tested: Any, draft: str
    ) -> list[Any]:
        made, seen = apply_changes(text, state, json.loads(edits or "[]"), store.folder)
        made, seen, named = save_form(store, engine, made, seen)
        return [
            *form_updates_tab.form_and_plan_updates(made, seen, tested, draft, store, before=state),
            named,
        ]

    tab.edits.select(apply_and_save_form_edits, inputs, outputs, **LATEST_ONLY)

    def redraw_after_typing(text: str, state: FormState, tested: Any) -> list[Any]:
        return _save_and_redraw_if_changed(tab, store, text, state, tested) if text else skipped

    skipped = [gr.skip()] * len(_redrawn_parts(tab))
    tab.yaml.change(
        redraw_after_typing,
        [tab.yaml, tab.state, tab.tested],
        _redrawn_parts(tab),
        js=TYPED_TEXT,
        **LATEST_ONLY,
    )


def _redrawn_parts(tab: StudyTab) -> list[Any]:
    """The components for which `_save_and_redraw_if_changed` returns values. The drawers and the
    form state are not among them, since a change of the form may arrive at the same time."""
    form = [tab.title, tab.said, tab.source, tab.records, tab.judges, tab.more]
    return [*form, *tab.plan_components]


def _save_and_redraw_if_changed(
    tab: StudyTab, store: Store, text: str, state: FormState, tested: Any
) -> list[Any]:
    """Save the study file after it was typed or changed by a slow job, if its study has no calls
    yet, and return values for `_redrawn_parts`. If the form already shows this file, nothing is
    saved or redrawn."""
    if state.shown.strip() == text.strip():
        return [gr.skip()] * len(_redrawn_parts(tab))
    save_study_if_without_calls(store, state.study, text)
    look, numbers = form_updates_tab.preview_and_forecast(text, store)
    title, said, source, records, judges, more, *_ = form_html.render_form(look, state, tested)
    plan = form_updates_tab.plan_updates(look, state, store, numbers, tested)
    return [title, said, source, records, judges, more, *plan]


def save_form(
    store: Store, engine: Engine, text: str, state: FormState
) -> tuple[str, FormState, Any]:
    """Save a changed form; return study file, form state and an update of the study menu.

    A new form becomes a new study. Changes of a study without calls are saved in it; those of a
    study with calls are saved by Run. Another name in the form renames the study; if that fails,
    the form's notice says why. For a study that cannot be renamed, the name is that of the copy
    that Run saves."""
    if not state.study and text.strip() == state.opened.strip():
        return text, state, gr.skip()
    if not state.study:
        name, text = draft_studies.save_new_study(text, store)
        return text, replace(state, study=name, opened=text), study_menu_update(store, name)
    wanted = str(read_lenient_study(text, store.folder).value_in_file(*STUDY.name) or "")
    if (
        wanted == state.study
        or not wanted
        or not draft_studies.is_renamable(store, engine, state.study)
    ):
        save_study_if_without_calls(store, state.study, text)
        return text, state, gr.skip()
    try:
        name = draft_studies.rename_from_form(store, state.study, wanted)
    except REPORTED_ERRORS as error:
        said = notice_html("bad", "Not renamed.", str(error))
        text = put_value(text, STUDY.name.path, state.study)
        return text, replace(state, notice_html=said), gr.skip()
    save_study_if_without_calls(store, name, text)
    former = (*state.former_names, state.study)
    return text, replace(state, study=name, former_names=former), study_menu_update(store, name)


def _bind_header(tab: StudyTab, header: Header, store: Store) -> None:
    """Bind the hidden button that loads the header's study into the form; the page presses it when
    the Study tab becomes visible."""
    outputs = form_updates_tab.form_outputs(tab)

    def load_header_study(name: str | None, text: str, state: FormState, tested: Any) -> list[Any]:
        if not name:  # a new study, whose form is drawn once
            drawn = bool(state.opened)
            return [gr.skip()] * len(outputs) if drawn else show_initial_form(store, text)
        if name in state.former_names and name not in study_names(store):
            return [gr.skip()] * len(outputs)  # renamed while this request was on its way
        if name == state.study:  # calls may have been stored since the plan was drawn
            look, numbers = form_updates_tab.preview_and_forecast(text, store)
            plan = form_updates_tab.plan_updates(look, state, store, numbers, tested)
            fresh = dict(zip(tab.plan_components, plan, strict=True))
            return [fresh.get(part, gr.skip()) for part in outputs]
        return open_study(store, name, text, state, tested)

    tab.follow.click(
        load_header_study, [header.study, tab.yaml, tab.state, tab.tested], outputs, **LATEST_ONLY
    ).then(None, header.study, None, js="(study) => evenhand.followed(study)")


def open_study(store: Store, name: str, text: str, state: FormState, tested: Any) -> list[Any]:
    """Values for `form_outputs` that show a stored study, with its unsaved changes if there are
    any. If it cannot be read, the form of a new study, with a notice. `text`: the study file shown
    until now; the form state keeps it if it has unsaved changes. `tested`: results of the form's
    tests of judges and addresses, by key (see `open_judge_drawer` in form/judges.py)."""
    unsaved = dict(state.unsaved)
    if state.study and text.strip() != state.opened.strip():
        unsaved[state.study] = text
    notice = ""
    try:
        stored = jobs.stored_study_yaml(store, name)
    except REPORTED_ERRORS as error:
        stored = START_YAML
        notice = notice_html("bad", "This study cannot be edited.", str(error))
    fresh = FormState(
        study=name,
        opened=stored,
        unsaved=unsaved,
        last_change=state.last_change,
        notice_html=notice,
    )
    return form_updates_tab.form_and_plan_updates(
        unsaved.pop(name, stored), fresh, tested, "", store
    )


def _bind_jobs(tab: StudyTab, header: Header, tabs: gr.Tabs, store: Store, engine: Engine) -> None:
    state = [tab.yaml, tab.state, tab.tested]
    outputs = [tab.tested, tab.yaml, tab.said, header.study, tabs]

    def open_results_of(name: str) -> list[Any]:
        return [study_menu_update(store, name), gr.Tabs(selected="results")]

    def run_form_job(
        job: str, keys: str, text: str, state: FormState, tested: Mapping[str, Any]
    ) -> list[Any]:
        """Run a slow job of the form: `job` is JSON whose key "do" names it; `keys` are the typed
        API keys, as JSON. Returns values for `tested` (the results of tests), study file, notice,
        study menu and tabs. The fields of the form are not redrawn, so that text typed meanwhile is
        kept."""
        asked, typed = json.loads(job or "{}"), parse_typed_keys(keys)
        do, folder, consents = asked.get("do"), store.folder, engine.consents(store)
        made: list[Any] = [gr.skip()] * len(outputs)
        if do == "test":
            name = str(asked["judge"])
            check = jobs.test_judge(text, folder, name, typed, consents, engine)
            judges = read_lenient_study(text, folder).judges
            keys_of = [judge_test_key(judge) for judge in judges if judge_name(judge) == name]
            made[0] = {**tested, **dict.fromkeys(keys_of, check)}
        elif do == "find servers":
            made[0] = {**tested, LOCAL_SERVERS: find_local_servers()}
        elif do == "models":
            found = jobs.request_judge_models(text, folder, int(asked["judge"]), typed, consents)
            made[0] = {**tested, model_list_key(found.address): found}
        elif do in ("describe", "fetch"):
            if do == "fetch":
                went = jobs.fetch_private_dataset(text, store, typed)
            else:
                went = jobs.describe_images(text, store, engine, asked, typed)
            made[1:3] = [went.text, went.notice_html]
        elif do == "allow key":
            pair = KeyDestination(str(asked.get("variable")), str(asked.get("origin")))
            refused = store_key_consent(consents, pair)
            made[2] = refused + form_html.render_notices(build_preview(text, folder), state)
        elif do == "open study" and str(asked["study"]) in study_names(store):
            made[3:] = open_results_of(str(asked["study"]))
        elif do == "recorded":
            try:
                made[3:] = open_results_of(jobs.import_recorded_verdicts(text, store))
            except REPORTED_ERRORS as error:
                made[2] = notice_html("bad", "These verdicts cannot be opened.", str(error))
        return made

    def redraw_judges(text: str, state: FormState, tested: Any) -> list[Markup]:
        look, numbers = form_updates_tab.preview_and_forecast(text, store)
        drawer = open_judge_drawer(look.lenient_study, state, tested)
        steps = run_strip.steps_html(
            look, numbers, blockers.find_blockers_besides_keys(look), tested
        )
        return [form_html.render_judges_and_prompts(look, state, tested), drawer, steps]

    tab.errand.select(
        run_form_job, [tab.errand, tab.keys, *state], outputs, trigger_mode="once", **QUIET
    ).then(
        partial(_save_and_redraw_if_changed, tab, store), state, _redrawn_parts(tab), **QUIET
    ).then(redraw_judges, state, [tab.judges, tab.drawer, tab.steps], **QUIET).then(
        None, header.study, None, js="(study) => evenhand.idle(study)"
    )


def _bind_runs(tab: StudyTab, header: Header, store: Store, engine: Engine) -> None:
    outputs = [tab.state, header.study]

    def start_from_form(text: str, keys: str, state: FormState, one_item: bool) -> list[Any]:
        """Start the run of the study file `text` or, with `one_item`, a trial on one item. Before a
        run, a study without calls gets the name in the file."""
        wanted = str(read_lenient_study(text, store.folder).value_in_file(*STUDY.name) or "")
        if (
            wanted != state.study
            and draft_studies.is_without_calls(store, state.study)
            and not one_item
        ):
            with contextlib.suppress(EvenhandError):
                draft_studies.rename_from_form(store, state.study, wanted)
        name = start_study(store, engine, text, parse_typed_keys(keys), one_item=one_item)
        if one_item:  # the form stays that of the whole study
            return [gr.skip(), study_menu_update(store, name)]
        return [replace(state, study=name, opened=text), study_menu_update(store, name)]

    for button, one_item in ((tab.run, False), (tab.attempt, True)):
        start = partial(start_from_form, one_item=one_item)
        button.click(None, None, None, js=MARK_STARTING)
        event = button.click(start, [tab.yaml, tab.keys, tab.state], outputs, **QUIET)
        event.success(None, header.study, None, js=OPEN_RUN_TAB)
        event.failure(None, None, None, js=MARK_ENDED)


def start_study(
    store: Store,
    engine: Engine,
    text: str,
    typed: TypedKeys | None = None,
    *,
    one_item: bool = False,
) -> str:
    """Save the study of the study file `text` (with `one_item`, a trial on one item) and start its
    run, unless one is active; return the study's name. gr.Error if it cannot be run."""
    try:
        plan = jobs.save_plan_for_run(text, store, one_item=one_item)
    except REPORTED_ERRORS as error:
        raise gr.Error(escape(error), title="This study cannot be run", duration=None) from None
    actions_tab.start_run(store, engine, plan.study.name, typed)
    return plan.study.name


def show_initial_form(store: Store, typed: str = "") -> list[Any]:
    """Values that show the form of a new study, which is saved at the first change of the form.
    `typed`: text that the visitor has typed in the study file before the form was drawn."""
    return form_updates_tab.form_and_plan_updates(
        typed or START_YAML, FormState(opened=START_YAML), {}, "", store
    )


def study_names(store: Store) -> list[str]:
    return [line.name for line in store.studies()]
