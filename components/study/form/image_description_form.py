"""Form for having images described for judges without vision: judge, prompt and price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from components.html.format import count, dollars
from components.html.markup import EMPTY, Markup, fill
from components.study.file.controls import form_button, form_row, select_menu, subheading
from components.study.file.lenient_study import FormState
from components.study.plan.study_preview import StudyPreview
from judges.operations.image_descriptions import build_describe_plan
from judges.planning.forecast import make_forecast
from judges.rendering.prompt import load_prompt
from studies.domain import JudgeSpec
from studies.errors import EvenhandError

DESCRIBE_PROMPTS: Final = (
    ("creation-describe", "general description"),
    ("creation-describe-query", "focused on the question"),
)


def describe_form(preview: StudyPreview, view: FormState) -> Markup:
    """HTML form for having images described, with the estimated price on its button; empty if no
    item of the slice has an image."""
    with_images = [item for item in preview.items if item.images]
    if not with_images:
        return EMPTY
    without = sum(not any(item.context) for item in with_images)
    head = subheading(
        "Image descriptions",
        f"{count(len(with_images) - without)} of {count(len(with_images))} items have one",
    )
    judges = [
        judge for judge in _planned_judges(preview) if judge.vision and judge.kind == "endpoint"
    ]
    if not judges:
        advice = (
            "Judges without vision need a description of each image. To generate descriptions, "
            "add an endpoint judge with Vision ticked."
        )
        return fill('{}<p class="hint">{}</p>', head, advice)
    judge = next((one for one in judges if one.name == view.describer), judges[0])
    prompt = view.describing or DESCRIBE_PROMPTS[0][0]
    names = [(one.name, one.name) for one in judges]
    button = form_button(
        f"Describe {count(len(with_images), 'item')}, {_price_text(preview, judge, prompt)}",
        {"do": "describe", "judge": judge.name, "prompt": prompt},
        errand=True,
    )
    return (
        head
        + form_row("Judge", select_menu("describer", names, judge.name), to="describer")
        + form_row(
            "Prompt",
            select_menu("describing", DESCRIBE_PROMPTS, prompt),
            to="describing",
            hint="the descriptions are saved in a new items file, which the study then uses; the "
            "old file is unchanged",
        )
        + fill('<div class="eh-row">{}</div>', button)
    )


def _planned_judges(preview: StudyPreview) -> tuple[JudgeSpec, ...]:
    return preview.plan.study.judges if preview.plan else ()


def _price_text(preview: StudyPreview, judge: JudgeSpec, prompt: str) -> str:
    assert preview.plan is not None  # `judge` comes from the plan
    try:
        describe_prompt = load_prompt(prompt, preview.lenient_study.folder)
        texts: dict[str, str] = {}
        if "aspects" in describe_prompt.variables:  # written by other calls
            texts = dict.fromkeys((item.id for item in preview.items), "aspects")
        items = list(preview.items)
        plan = build_describe_plan(preview.plan.study, judge, describe_prompt, items, texts)
        sample = replace(plan, items=plan.items[:20])
        forecast: Any = make_forecast(sample)
    except EvenhandError:
        return dollars(None)
    scale = len(plan.items) / max(1, len(sample.items)) * (2 if texts else 1)
    return dollars(None if forecast.dollars is None else forecast.dollars * scale)
