"""Descriptions for judges that cannot see: who writes them, with which prompt, at what price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from components.html.format import count, dollars, escape
from components.study.file.controls import form_button, form_row, select_menu, subheading
from components.study.file.lenient_study import FormState
from components.study.plan.study_preview import StudyPreview
from judges.operations.image_descriptions import build_describe_plan
from judges.planning.plan import make_forecast
from judges.rendering.prompt import load_prompt
from studies.domain import JudgeSpec
from studies.errors import EvenhandError

DESCRIBE_PROMPTS: Final = (
    ("creation-describe", "in general"),
    ("creation-describe-query", "with an eye on the question"),
)


def describe_form(bench: StudyPreview, view: FormState) -> str:
    """A button with its price, where the slice has images; nothing where it has none."""
    seen = [item for item in bench.items if item.images]
    if not seen:
        return ""
    without = sum(not any(item.context) for item in seen)
    head = subheading(
        "Descriptions", f"{count(len(seen) - without)} of {count(len(seen))} have one"
    )
    judges = [
        judge for judge in _planned_judges(bench) if judge.vision and judge.kind == "endpoint"
    ]
    if not judges:
        told = (
            "A judge that reads only needs a description of each image. Add an endpoint that can "
            "see (tick Vision) and it can write them."
        )
        return f'{head}<p class="hint">{escape(told)}</p>'
    judge = next((one for one in judges if one.name == view.describer), judges[0])
    prompt = view.describing or DESCRIBE_PROMPTS[0][0]
    names = [(one.name, one.name) for one in judges]
    button = form_button(
        f"Describe {count(len(seen), 'item')}, {_price_text(bench, judge, prompt)}",
        {"do": "describe", "judge": judge.name, "prompt": prompt}, errand=True,
    )  # fmt: skip
    return (
        head
        + form_row("By", select_menu("describer", names, judge.name), to="describer")
        + form_row("How", select_menu("describing", DESCRIBE_PROMPTS, prompt), to="describing",
              hint="the study goes on with a new items file; the old one stays as it is")
        + f'<div class="eh-row">{button}</div>'
    )  # fmt: skip


def _planned_judges(bench: StudyPreview) -> tuple[JudgeSpec, ...]:
    return bench.plan.study.judges if bench.plan else ()


def _price_text(bench: StudyPreview, judge: JudgeSpec, prompt: str) -> str:
    assert bench.plan is not None  # there are judges only where there is a plan
    try:
        asked = load_prompt(prompt, bench.lenient_study.folder)
        texts: dict[str, str] = {}
        if "aspects" in asked.variables:  # written by a first run of asks about as long
            texts = dict.fromkeys((item.id for item in bench.items), "aspects")
        items = list(bench.items)
        plan = build_describe_plan(bench.plan.study, judge, asked, items, texts)
        some = replace(plan, items=plan.items[:20])
        told: Any = make_forecast(some)
    except EvenhandError:
        return dollars(None)
    scale = len(plan.items) / max(1, len(some.items)) * (2 if texts else 1)
    return dollars(None if told.dollars is None else told.dollars * scale)
