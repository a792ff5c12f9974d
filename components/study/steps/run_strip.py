"""The line of the three steps, and the strip with the Run button: the cost of a run, or why the
study cannot be run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from components.html.format import count, dollars, tokens
from components.html.markup import Markup
from components.html.templates import macros
from components.study.file.controls import controls
from components.study.file.judge_entries import judge_name, judge_test_key
from components.study.file.lenient_study import LenientStudy
from components.study.form.data_step.records_report import count_planned_orders
from components.study.plan.cost_preview import ForecastByJudge, plan_kpis
from components.study.plan.study_preview import StudyPreview
from components.study.steps.blockers import (
    Blocker,
    FulfilledRequirement,
    fulfilled_requirements,
    key_blockers,
)
from components.study.steps.power_panel import precision_text
from judges.planning.plan import Plan
from judges.security.key_consents import origin_of
from studies.spec.presentations import resolve_contestants

html: Final = macros("study/steps/run_strip.html")
Mark = Literal["done", "todo", "wrn"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the form: number, title, summary, state (`mark`: done, to do, or with a warning),
    and CSS selector of the panel that a click shows."""

    number: int
    title: str
    text: str
    mark: Mark
    panel: str


def steps_html(
    preview: StudyPreview,
    numbers: ForecastByJudge | None,
    blockers: list[Blocker],
    tested: Mapping[str, Any],
) -> Markup:
    """HTML of the three steps. A step may have two texts: the browser shows the one about a missing
    key until the key is typed, since typed keys are known only in the browser. `numbers`: forecast
    of the calls, None without a plan; `blockers`: reasons why the study cannot be run, other than
    missing keys; `tested`: results of the form's tests of judges and addresses, by key (see
    `open_judge_drawer` in form/judges.py)."""
    missing = key_blockers(preview.lenient_study)
    usual = study_steps(preview, numbers, blockers, tested)
    keyless = study_steps(preview, numbers, [*blockers, *missing], tested) if missing else usual
    pairs = list(zip(usual, keyless, strict=True))
    return controls.form_part(html.step_bar(pairs, [blocker.key_of for blocker in missing]))


def study_steps(
    preview: StudyPreview,
    numbers: ForecastByJudge | None,
    blockers: list[Blocker],
    tested: Mapping[str, Any],
) -> list[Step]:
    """The three steps of the form: data, judge and prompt, run. Step 1 or 2 gets a warning if one
    of the `blockers` is in it; step 2 also if a judge's test call failed, unless all replies of
    this judge are stored. Step 3 says "not possible yet" if there is any blocker or no forecast."""
    last = "not possible yet"
    if numbers is not None and not blockers:
        last = f"{_format_new_calls(numbers)}, {dollars(numbers.dollars)}"
    study = preview.lenient_study
    made = [
        Step(1, "Data", data_summary(preview), "done", "#eh-step-data"),
        Step(2, "Judge and prompt", _judge_and_prompt_summary(study), "done", "#eh-judges"),
        Step(3, "Check and run", last, "todo", "#eh-step-run"),
    ]
    faults = {blocker.step: blocker.text for blocker in reversed(blockers) if blocker.step < 3}
    for judge in study.judges:
        check = tested.get(judge_test_key(judge))
        left = None if numbers is None else numbers.by_judge.get(judge_name(judge))
        if left is not None and not left.asks:
            continue  # its replies are stored: the failed test no longer matters
        if check is not None and check.read.status == "error":
            faults.setdefault(2, f"the test of {judge_name(judge)} failed")
    return [
        replace(step, text=faults[step.number], mark="wrn") if step.number in faults else step
        for step in made
    ]


def data_summary(preview: StudyPreview) -> str:
    items = count(len(preview.items), "question")
    if preview.plan is None:
        return items if preview.items else "nothing chosen"
    names = resolve_contestants(preview.plan.study, preview.plan.items)
    if len(names) == 2:
        return f"{items}, {names[0]} against {names[1]}"
    return f"{items}, {count(len(names), 'model')}"


def _judge_and_prompt_summary(study: LenientStudy) -> str:
    judges, prompts = [judge_name(judge) for judge in study.judges], study.prompts
    return ", ".join(
        names[0] if len(names) == 1 else count(len(names), noun)
        for names, noun in ((judges, "judge"), (prompts, "prompt"))
        if names
    )


def _format_new_calls(numbers: ForecastByJudge) -> str:
    return count(numbers.new_asks, "new call" if numbers.stored else "call")


def cost_strip(
    preview: StudyPreview, plan: Plan, numbers: ForecastByJudge, saved_as: str
) -> Markup:
    """HTML strip with calls, price and time of the run; while a judge has no key, the browser shows
    the request for the key instead. `saved_as`: name of the new study that Run would start; empty
    if Run starts this study."""
    study = preview.lenient_study
    missing = key_blockers(study)
    unknown = [name for name, one in numbers.by_judge.items() if one.dollars is None][:1]
    unpriced = [
        (str(place), judge_name(judge))
        for place, judge in enumerate(study.judges)
        if judge_name(judge) in unknown and numbers.new_asks
    ]
    reasons = _reasons_html(missing, fulfilled_requirements(preview)) if missing else ""
    return controls.form_part(
        html.cost_strip(
            numbers,
            _format_new_calls(numbers),
            unpriced[:1],
            _list_cost_details(plan, numbers),
            saved_as,
            reasons,
            plan_kpis(plan, numbers),
        )
    )


def blocked_strip(blockers: Sequence[Blocker], met: Sequence[FulfilledRequirement]) -> Markup:
    """HTML strip of a study that cannot be run: the first reason with its button, then all reasons,
    numbered, and the conditions that are met."""
    return controls.form_part(_reasons_html(blockers, met))


def _reasons_html(blockers: Sequence[Blocker], met: Sequence[FulfilledRequirement]) -> Markup:
    """HTML of the reasons why a study cannot be run: a sentence for each, with its button or key
    field; then, if there are several, a list of all reasons; then the conditions that are met. The
    browser leaves out a missing key once the key is typed, and shows only the first sentence that
    is left."""
    hosts = [origin_of(blocker.key_url) or "this address" for blocker in blockers]
    return html.reasons(list(zip(blockers, hosts, strict=True)), met)


def _call_factors_text(plan: Plan, numbers: ForecastByJudge) -> str:
    """Factors of the number of calls, such as "103 comparisons × 2 orders + 41 repeats"."""
    asked, orders = numbers.asks - numbers.noise, count_planned_orders(plan)
    what = "judgement" if plan.judges_single_answers else "comparison"
    made = count(asked // orders, what)
    if orders > 1:
        made += f" × {orders} orders"
    return f"{made} + {count(numbers.noise, 'repeat')}" if numbers.noise else made


def _list_cost_details(plan: Plan, numbers: ForecastByJudge) -> list[str]:
    per_call = (numbers.prompt_tokens + numbers.completion_tokens) / max(1, numbers.new_asks)
    parts = [_call_factors_text(plan, numbers)]
    if numbers.new_asks:
        parts.append(f"{tokens(per_call)} tokens a call on average")
    cost, budget = numbers.dollars, plan.study.budget_usd
    if budget is not None and cost is not None:
        parts.append(
            f"within the budget of {dollars(budget)}"
            if cost <= budget
            else "the cost is above the budget: the run stops before it costs more than "
            f"{dollars(budget)}"
        )
    return [part for part in (*parts, precision_text(plan, numbers)) if part]
