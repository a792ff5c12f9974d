"""All optional settings in an expandable part, whose heading states their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.html.format import dollars, truncate
from components.html.markup import Markup, fill, join
from components.study.file.controls import form_part, form_row, percent_text, text_input
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.form import protocol_settings as study_protocol
from components.study.form.data_step import slice_form
from components.study.form.image_description_form import describe_form
from components.study.form.judge_cards import extraction_settings
from components.study.form.prompt_list import prompt_protocols
from components.study.plan.study_preview import StudyPreview
from studies.spec.keys import DATA, JUDGE, STUDY


def more_settings(preview: StudyPreview, view: FormState) -> Markup:
    """HTML of the optional settings in three columns: name and sample; protocol; unclear replies
    and images."""
    study = preview.lenient_study
    sees = any(judge.get(JUDGE.vision.name) for judge in study.judges)
    name = form_row(
        "Name",
        text_input(
            str(STUDY.name), study.raw(*STUDY.name) or "", label="Name of the study", slow=True
        ),
        to=str(STUDY.name),
    )
    columns = (
        ("Study and sample", name + slice_form.slice_form(preview, view)),
        (
            f"Protocol, {study_protocol.preset_status_text(study)}",
            study_protocol.protocol_form(study, prompt_protocols(study), preview.contestants, sees),
        ),
        ("Unclear replies, images", extraction_settings(study) + describe_form(preview, view)),
    )
    body = join(fill("<section><h3>{}</h3>{}</section>", title, part) for title, part in columns)
    return form_part(
        fill(
            '<details class="eh-fold" id="eh-more" data-keep="more settings"><summary><b>'
            'More settings</b><span class="eh-small">{}</span></summary>'
            '<div class="eh-mcols">{}</div></details>',
            settings_text(study),
            body,
        ),
        seen=view.last_change,
    )


def settings_text(study: LenientStudy) -> str:
    """The settings with their values in one line, as heading of the expandable part."""
    orders = {"both": "both orders", "one": "one order", "": "both orders"}
    chosen = study.text_value(*STUDY.orders)
    unreadable = {"exclude": "unusable replies left out", "tie": "unusable replies count as ties"}
    noise = study.share(*STUDY.noise_floor)
    budget: Any = study.value(*STUDY.budget_usd)
    known = isinstance(budget, (int, float))
    parts = [
        study.preset.title if study.preset else "",
        orders.get(chosen, chosen),
        "labels swapped too" if study.text_value(*STUDY.labels) == "crossed" else "",
        f"{percent_text(noise)} of calls repeated in the same order" if noise else "",
        f"each call {study.text_value(*STUDY.repeats)} times"
        if study.text_value(*STUDY.repeats) not in ("", "1")
        else "",
        unreadable.get(study.text_value(*STUDY.unreadable), ""),
        f"budget {dollars(float(budget))}" if known else "no budget limit",
        f"filter {truncate(slice_form.filter_text(study), 40)}"
        if isinstance(study.value(*DATA.where), Mapping) and study.value(*DATA.where) else "",
        _sample_text(study) if study.value(*DATA.count) else "",
    ]  # fmt: skip
    return " · ".join(part for part in parts if part)


def _sample_text(study: LenientStudy) -> str:
    if study.text_value(*DATA.take) == "first":
        return f"the first {study.text_value(*DATA.count)} questions"
    return f"seed {study.text_value(*DATA.seed)}"
