"""The strip with the Run button: the cost of a run, or why the study cannot be run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import count, dollars, duration, tokens
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.study.file.controls import form_part
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.form.judge_settings import ENDPOINT, judge_address, judge_kind, judge_variable
from components.study.plan.cost_preview import ForecastByJudge, plan_kpis
from components.study.plan.public_checks import is_public
from components.study.steps.blockers import Blocker
from components.study.steps.power_panel import precision_text
from judges.planning.plan import Plan
from studies.settings import secret_value
from studies.spec.provider_presets import provider_presets

_CHECKED: Final = Markup("<i>✓</i>")
_POWER_LINK: Final = Markup(
    '<button type="button" class="eh-link" data-goto="#eh-power-fold" '
    'data-press="#eh-power-fold:not([open]) > summary">Is that enough?</button>'
)


def cost_strip(study: LenientStudy, plan: Plan, numbers: ForecastByJudge, saved_as: str) -> Markup:
    """HTML strip with calls, price and time of a run; `saved_as`: name of the copy that Run would
    start, "" if it starts the study itself."""
    missing = keyless_judges(study)
    body = fill(
        '<div class="eh-cost"><h2><span class="eh-step todo">3</span>Check and run</h2>'
        '<p class="big">{}</p><div class="eh-chks">{}</div>{}</div>{}',
        _amounts(numbers),
        join(fill("<span>{}{}</span>", _CHECKED, text) for text in _checks(plan, numbers))
        + _POWER_LINK,
        fill('<p class="hint">{}</p>', f"Run starts a new study: “{saved_as}”.")
        if saved_as
        else EMPTY,
        join(_key_blocker(name, place, url) for name, place, url in missing),
    )
    details = fill(
        "<details class='eh-how eh-tell' data-keep='amounts'><summary>Tokens, cost and time by "
        "judge</summary>{}</details>",
        plan_kpis(plan, numbers),
    )
    return form_part(body, details)


def blocked_strip(blockers: Sequence[Blocker]) -> Markup:
    """HTML strip of a study that cannot be run: the first reason with its button, then all reasons,
    numbered."""
    first = blockers[0]
    listed = join(
        fill('<span class="no"><i>{}</i>{}</span>', place, blocker.text)
        for place, blocker in enumerate(blockers, 1)
    )
    return form_part(
        fill(
            '<div class="eh-block"><div><p class="big"><b>Nothing to run yet:</b> {}</p>'
            '<div class="eh-chks">{}</div></div>{}</div>',
            first.sentence,
            listed if len(blockers) > 1 else EMPTY,
            mend_button(first),
        )
    )


def mend_button(blocker: Blocker) -> Markup:
    action, errand = (
        json.dumps(dict(sent), ensure_ascii=False) if sent else None
        for sent in (blocker.action, blocker.errand)
    )
    made = attributes(
        {
            "type": "button", "class": "eh-btn primary", "data-do": action, "data-errand": errand,
            "data-press": blocker.press or None, "data-goto": blocker.goto or None,
        }
    )  # fmt: skip
    return fill("<button{}>{}</button>", made, blocker.button)


def keyless_judges(study: LenientStudy) -> list[tuple[str, int, str]]:
    """Judges that need a key but have none on this machine, as (name, index, address). A key typed
    into the page stays in the browser; the browser then hides the notice on the missing key."""
    return [
        (judge_name(judge), place, judge_address(judge))
        for place, judge in enumerate(study.judges)
        if judge_kind(judge) == ENDPOINT and _needs_typed_key(judge)
    ]


def _needs_typed_key(judge: Mapping[str, Any]) -> bool:
    url, variable = judge_address(judge), judge_variable(judge)
    paid = any(preset.serves(url) and preset.api_key_env for preset in provider_presets().values())
    if is_public():
        return paid and not variable
    return paid and not (variable and secret_value(variable))


def _key_blocker(name: str, place: int, url: str) -> Markup:
    """HTML strip on a missing key; the browser shows it until the key is typed."""
    needed = Blocker(
        2, f"{name} has no key", f"The judge {name} has no key. Type one; it stays in memory only.",
        f"Enter the key of {name}", {"do": "open judge", "judge": str(place)},
    )  # fmt: skip
    return fill(
        '<div class="eh-block" data-needs-key="{}" data-key-url="{}"><div><p class="big">'
        "<b>Nothing to run yet:</b> {}</p></div>{}</div>",
        name,
        url,
        needed.sentence,
        mend_button(needed),
    )


def _amounts(numbers: ForecastByJudge) -> Markup:
    calls = count(numbers.new, "new call" if numbers.stored else "call")
    stored = f" ({count(numbers.stored)} stored)" if numbers.stored else ""
    cost = dollars(numbers.dollars)
    price = fill(", about <b>{}</b>", cost) if numbers.dollars else fill(", <b>{}</b>", cost)
    if not numbers.new:
        return fill(
            "<b>All {} are stored</b>: there is nothing to run", count(numbers.asks, "call")
        )
    return fill("<b>{}</b>{}{}, <b>{}</b>", calls, stored, price, duration(numbers.seconds))


def _factors(plan: Plan, numbers: ForecastByJudge) -> str:
    """Factors of the number of calls, such as "103 comparisons × 2 orders + 41 repeats"."""
    asked = numbers.asks - numbers.noise
    orders = 2 if plan.study.pair_orders == "both" else 1
    made = (
        f"{count(asked // orders, 'comparison')} × 2 orders"
        if orders == 2
        else (count(asked, "comparison"))
    )
    return f"{made} + {count(numbers.noise, 'repeat')}" if numbers.noise else made


def _checks(plan: Plan, numbers: ForecastByJudge) -> list[str]:
    study = plan.study
    made = _factors(plan, numbers)
    per_call = (numbers.prompt_tokens + numbers.completion_tokens) / max(1, numbers.new)
    parts = [made]
    if numbers.new:
        parts.append(f"{tokens(per_call)} tokens a call on average")
    cost, budget = numbers.dollars, study.budget_usd
    if budget is not None and cost is not None:
        within = cost <= budget
        parts.append(
            f"within the budget of {dollars(budget)}"
            if within
            else "the cost is above the budget: the run stops before it costs more than "
            f"{dollars(budget)}"
        )
    return [*parts, precision_text(plan, numbers)]
