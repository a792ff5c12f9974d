"""The other parts of the form: the question of the study as heading, requests for consent to send
keys, image descriptions, and all optional settings in an expandable part."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from components.html import pieces, templates
from components.html.format import dollars, truncate
from components.html.markup import EMPTY, Markup, join
from components.study.file.controls import controls
from components.study.file.judge_entries import judge_name
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.form import form_rows, prompts
from components.study.form.data_step import slice_form
from components.study.form.judges import extraction_settings_html
from components.study.plan.study_preview import StudyPreview
from judges.judge_errors import PlanError
from judges.operations.image_descriptions import build_describe_plan
from judges.planning.forecast import forecast_plan
from judges.rendering.prompt import load_prompt
from judges.security.key_consents import Consents, KeyDestination, user_consents
from studies import domain, errors, settings
from studies.files.upload_names import original_name
from studies.spec.keys import DATA, JUDGE, STUDY
from studies.spec.study import Study

html: Final = templates.macros("study/form/more_settings.html")
DESCRIBE_PROMPTS: Final = (
    ("creation-describe", "general description"),
    ("creation-describe-query", "focused on the question"),
)


def study_question(study: LenientStudy, *, single_answers: bool = False) -> str:
    """The question that the study answers, such as "Which judge is even-handed on the probe set?".
    Its words depend on how many judges and prompts there are, and on whether comparisons or single
    answers are judged."""
    where = original_name(study.source)
    if study.source == "probe":
        where = "the probe set"
    elif study.source.startswith("hub:"):
        where = study.source[4:].partition("@")[0]
    judges = [judge_name(judge) for judge in study.judges]
    if not judges:
        return f"No judge selected for {where}"
    wanted = "right" if single_answers else "even-handed"
    if len(judges) > 1:
        return f"Which judge is {wanted} on {where}?"
    if len(study.prompts) > 1:
        return f"Which prompt makes {judges[0]} {wanted} on {where}?"
    return f"Is {judges[0]} {wanted} on {where}?"


def consent_notices(study: Study) -> Markup:
    """HTML notices that ask for consent to send a key: one for each pair of environment variable
    and host that the study uses and the user has not allowed. Empty in public mode."""
    if settings.is_public():
        return EMPTY
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    told = "Nothing is sent until you allow it. Allow it only if you trust that host with this key."
    return join(
        html.consent(pieces.notice_html("warn", f"This study wants to send ${pair.variable} to "
                                 f"{pair.origin}.", told), pair)
        for pair in user_consents().destinations_without_consent(judges)
    )  # fmt: skip


def store_key_consent(consents: Consents, pair: KeyDestination) -> Markup:
    """Store the user's consent to send the key in an environment variable to a host; return an
    error notice if that fails, else empty HTML."""
    try:
        consents.store_consent(pair)
    except (PlanError, OSError) as error:
        return pieces.notice_html("bad", "The consent could not be stored.", str(error))
    return EMPTY


# ---------------------------------------------------------------------- image descriptions


def image_description_form(preview: StudyPreview, state: FormState) -> Markup:
    """HTML form for having images described for judges without vision, with the estimated price on
    its button; empty if no item of the slice has an image."""
    with_images = [item for item in preview.items if item.images]
    if not with_images:
        return EMPTY
    without = sum(not any(item.context) for item in with_images)
    planned = preview.plan.study.judges if preview.plan else ()
    judges = [judge for judge in planned if judge.vision and judge.kind == "endpoint"]
    judge = next((one for one in judges if one.name == state.describer), next(iter(judges), None))
    prompt = state.describing or DESCRIBE_PROMPTS[0][0]
    return html.describe(
        len(with_images),
        without,
        [(one.name, one.name) for one in judges],
        judge,
        DESCRIBE_PROMPTS,
        prompt,
        _image_description_price(preview, judge, prompt) if judge else "",
    )


def _image_description_price(preview: StudyPreview, judge: domain.JudgeSpec, prompt: str) -> str:
    assert preview.plan is not None  # `judge` comes from the plan
    try:
        describe_prompt = load_prompt(prompt, preview.lenient_study.folder)
        texts: dict[str, str] = {}
        if "aspects" in describe_prompt.variables:  # written by other calls
            texts = dict.fromkeys((item.id for item in preview.items), "aspects")
        items = list(preview.items)
        plan = build_describe_plan(preview.plan.study, judge, describe_prompt, items, texts)
        sample = replace(plan, items=plan.items[:20])
        forecast: Any = forecast_plan(sample)
    except errors.EvenhandError:
        return dollars(None)
    scale = len(plan.items) / max(1, len(sample.items)) * (2 if texts else 1)
    return dollars(None if forecast.dollars is None else forecast.dollars * scale)


# -------------------------------------------------------------------------- more settings


def more_settings(preview: StudyPreview, state: FormState) -> Markup:
    """HTML of the optional settings in three columns: name and sample; protocol; unclear replies
    and images."""
    study = preview.lenient_study
    sees = any(judge.get(JUDGE.vision.name) for judge in study.judges)
    protocols = prompts.prompt_protocols(study)
    body = html.more_settings(
        settings_text(study),
        study.value_in_file(*STUDY.name) or "",
        slice_form.slice_form(preview, state),
        form_rows.preset_status_text(study),
        form_rows.protocol_form(study, protocols, preview.contestants, sees),
        extraction_settings_html(study) + image_description_form(preview, state),
    )
    return controls.form_part(body, seen=state.last_change)


def settings_text(study: LenientStudy) -> str:
    """The main settings with their values in one line, as heading of the expandable part."""
    single = prompts.prompt_protocols(study) == {"single"}
    orders = {"both": "both orders", "one": "one order", "": "both orders"}
    chosen = study.text_value(*STUDY.orders)
    unreadable = {"exclude": "unusable replies left out", "tie": "unusable replies count as ties"}
    noise = study.number_or_zero(*STUDY.noise_floor)
    budget: Any = study.value(*STUDY.budget_usd)
    known = isinstance(budget, (int, float))
    parts = [
        study.preset.title if study.preset else "",
        "" if single else orders.get(chosen, chosen),
        "labels swapped too" if study.text_value(*STUDY.labels) == "crossed" else "",
        f"each call {form_rows.repeats_text(noise, single)}" if noise else "",
        f"each call {study.text_value(*STUDY.repeats)} times"
        if study.text_value(*STUDY.repeats) not in ("", "1")
        else "",
        unreadable.get(study.text_value(*STUDY.unreadable), ""),
        f"budget {dollars(float(budget))}" if known else "no budget limit",
        f"filter {truncate(slice_form.filter_text(study), 40)}"
        if isinstance(study.value(*DATA.where), Mapping) and study.value(*DATA.where) else "",
        _question_sample_text(study) if study.value(*DATA.count) else "",
    ]  # fmt: skip
    return " · ".join(part for part in parts if part)


def _question_sample_text(study: LenientStudy) -> str:
    if study.text_value(*DATA.take) == "first":
        first = study.text_value(*DATA.count)
        return "the first question" if first == "1" else f"the first {first} questions"
    return f"seed {study.text_value(*DATA.seed)}"
