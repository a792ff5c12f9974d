"""The strip with the Run button: the cost of a run, or why the study cannot be run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from components.html.format import count, dollars, duration, tokens
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.study.file.controls import form_part, html_id, key_reason_field
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.plan.cost_preview import ForecastByJudge, plan_kpis
from components.study.plan.study_preview import StudyPreview
from components.study.steps.blockers import Blocker, key_blockers
from components.study.steps.comparison_preview import planned_orders
from components.study.steps.met_conditions import MetCondition, met_conditions
from components.study.steps.power_panel import precision_text
from judges.planning.plan import Plan
from judges.security.key_consents import origin_of

_CHECKED: Final = Markup("<i>✓</i>")
_POWER_LINK: Final = Markup(
    '<button type="button" class="eh-link" data-goto="#eh-power-fold" '
    'data-press="#eh-power-fold:not([open]) > summary">Is that enough?</button>'
)


def cost_strip(
    preview: StudyPreview, plan: Plan, numbers: ForecastByJudge, saved_as: str
) -> Markup:
    """HTML strip with calls, price and time of the run; while a judge has no key, the browser shows
    the request for the key instead. `saved_as`: name of the new study that Run would start; empty
    if Run starts this study."""
    study = preview.lenient_study
    missing = key_blockers(study)
    body = fill(
        '<div class="eh-cost"><h2><span class="eh-step todo">3</span>Check and run</h2>'
        '<p class="big">{}{}</p><div class="eh-chks">{}</div>{}</div>{}',
        _amounts(numbers),
        _price_link(study, numbers),
        join(fill("<span>{}{}</span>", _CHECKED, text) for text in _checks(plan, numbers))
        + _POWER_LINK,
        fill('<p class="hint">{}</p>', f"Run starts a new study: “{saved_as}”.")
        if saved_as
        else EMPTY,
        _reasons_html(missing, met_conditions(preview)) if missing else EMPTY,
    )
    details = fill(
        "<details class='eh-how eh-tell' data-keep='amounts'><summary>Tokens, cost and time by "
        "judge</summary>{}</details>",
        plan_kpis(plan, numbers),
    )
    return form_part(body, details)


def blocked_strip(blockers: Sequence[Blocker], met: Sequence[MetCondition]) -> Markup:
    """HTML strip of a study that cannot be run: the first reason with its button, then all reasons,
    numbered, and the conditions that are met."""
    return form_part(_reasons_html(blockers, met))


def _reasons_html(blockers: Sequence[Blocker], met: Sequence[MetCondition]) -> Markup:
    """HTML of all reasons: a sentence for each, with its button or key field, then a list of the
    reasons and the conditions that are met. The browser shows only the first sentence, and leaves
    out reasons that no longer apply; a single reason is not listed."""
    heads = join(_reason_html(blocker, at) for at, blocker in enumerate(blockers))
    alone = "" if len(blockers) < 2 else None
    listed = join(
        fill(
            "<span{}>{}</span>",
            attributes(
                {"class": "no", "data-key-missing": blocker.key_of or None, "hidden": alone}
            ),
            blocker.text,
        )
        for blocker in blockers
    )
    return fill(
        '<div class="eh-block" data-reasons>{}<div class="eh-chks">{}{}</div></div>',
        heads,
        listed,
        join(map(_met_html, met)),
    )


def _met_html(condition: MetCondition) -> Markup:
    made = attributes(
        {"data-key-typed": condition.key_of or None, "hidden": "" if condition.key_of else None}
    )
    return fill("<span{}>{}{}</span>", made, _CHECKED, condition.text)


def _reason_html(blocker: Blocker, place: int) -> Markup:
    made = attributes(
        {
            "class": "head",
            "data-reason": "",
            "data-needs-key": blocker.key_of or None,
            "hidden": "" if place else None,
        }
    )
    if blocker.key_of:
        field = html_id(f"reason.{place}.key")
        host = origin_of(blocker.key_url) or "this address"
        mend = key_reason_field(blocker.key_of, field, blocker.key_url, host)
    else:
        mend = mend_button(blocker)
    return fill(
        '<div{}><p class="big"><b>Nothing to run yet:</b> {}</p>{}</div>',
        made,
        blocker.sentence,
        mend,
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


def _price_link(study: LenientStudy, numbers: ForecastByJudge) -> Markup:
    """HTML link to the first judge whose price is unknown; empty if all prices are known."""
    unknown = [name for name, one in numbers.by_judge.items() if one.dollars is None]
    places = [at for at, judge in enumerate(study.judges) if judge_name(judge) in unknown[:1]]
    if not places or not numbers.new:
        return EMPTY
    act = json.dumps({"do": "open judge", "judge": str(places[0])})
    return fill(
        ' <button type="button" class="eh-link" data-do="{}">set the price of {}</button>',
        act,
        unknown[0],
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
    asked, orders = numbers.asks - numbers.noise, planned_orders(plan)
    made = count(asked // max(1, orders), "comparison")
    if orders > 1:
        made += f" × {orders} orders"
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
