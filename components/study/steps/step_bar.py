"""The three steps of the form in one line, each with a summary and its state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from components.html.format import count, dollars
from components.html.markup import Markup, fill, join
from components.study.file.controls import form_part
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.plan.cost_preview import ForecastByJudge
from components.study.plan.study_preview import StudyPreview
from components.study.steps.blockers import Blocker, key_blockers
from studies.spec.presentations import resolve_contestants

Mark = Literal["done", "todo", "wrn"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the form: number, title, summary, state (`mark`), and panel shown by a click."""

    number: int
    title: str
    text: str
    mark: Mark
    panel: str


def steps_html(
    preview: StudyPreview, numbers: ForecastByJudge | None, blockers: list[Blocker]
) -> Markup:
    """HTML of the steps. A step may contain two texts, one of them on a missing key: the browser
    shows that one until all keys are typed. Only the browser has the typed keys."""
    missing = key_blockers(preview.lenient_study)
    usual = study_steps(preview, numbers, blockers)
    keyless = study_steps(preview, numbers, [*blockers, *missing]) if missing else usual
    judges = [blocker.key_of for blocker in missing]
    return form_part(fill('<div class="eh-stepbar">{}</div>', join(
        _step_html(step, other, judges) for step, other in zip(usual, keyless, strict=True)
    )))  # fmt: skip


def study_steps(
    preview: StudyPreview, numbers: ForecastByJudge | None, blockers: list[Blocker]
) -> list[Step]:
    faults = {number: [b.text for b in blockers if b.step == number] for number in (1, 2, 3)}
    made = [
        Step(1, "Data", data_summary(preview), "done", "#eh-step-data"),
        Step(
            2, "Judge and prompt", _judge_summary(preview.lenient_study), "done", "#eh-step-judge"
        ),
    ]
    checked = [
        Step(s.number, s.title, faults[s.number][0], "wrn", s.panel) if faults[s.number] else s
        for s in made
    ]
    last = "not possible yet"
    if numbers is not None and not blockers:
        cost = dollars(numbers.dollars)
        last = f"{count(numbers.new, 'new call' if numbers.stored else 'call')}, {cost}"
    return [*checked, Step(3, "Check and run", last, "todo", "#eh-step-run")]


def data_summary(preview: StudyPreview) -> str:
    items = count(len(preview.items), "question")
    if preview.plan is None:
        return items if preview.items else "nothing chosen"
    names = resolve_contestants(preview.plan.study, preview.plan.items)
    if len(names) == 2:
        return f"{items}, {names[0]} against {names[1]}"
    return f"{items}, {count(len(names), 'model')}"


def _judge_summary(study: LenientStudy) -> str:
    judges, prompts = [judge_name(judge) for judge in study.judges], study.prompts
    parts = [
        names[0] if len(names) == 1 else count(len(names), noun)
        for names, noun in ((judges, "judge"), (prompts, "prompt"))
        if names
    ]
    return ", ".join(parts)


def _step_html(step: Step, keyless: Step, judges: list[str]) -> Markup:
    """HTML button of a step; `keyless` is the step as shown while one of the judges has no key."""
    if step == keyless:
        return fill(
            '<button type="button" data-goto="{}">{}</button>', step.panel, _step_body(step)
        )
    return fill(
        '<button type="button" data-goto="{}" data-keys-of="{}"><span class="lacks">{}</span>'
        '<span class="has">{}</span></button>',
        step.panel,
        json.dumps(judges),
        _step_body(keyless),
        _step_body(step),
    )


def _step_body(step: Step) -> Markup:
    return fill(
        '<span class="eh-step {}">{}</span><span><b>{}</b><small>{}</small></span>',
        step.mark,
        "✓" if step.mark == "done" else step.number,
        step.title,
        step.text,
    )
