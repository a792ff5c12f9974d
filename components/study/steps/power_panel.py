"""Precision of a planned study: how far its shares may be off, and what more questions would add.

Shares are taken at 50 %, where an interval is widest, and the verdicts on one question to correlate
by ASSUMED_CORRELATION, so that m of them count as m/(1 + (m − 1)ρ).
"""

from __future__ import annotations

import math
from typing import Final

from components.html.format import count, dollars, number
from components.html.markup import Markup, fill
from components.html.table import Table
from components.study.plan.cost_preview import ASSUMED_CORRELATION, ForecastByJudge
from judges.planning.plan import Plan
from metrics.estimation.power import design_effect

_NORMAL_95: Final = 1.96
_STEPS: Final = (0.5, 1.0, 2.0, 4.0)
"""Numbers of questions in the table, as multiples of the planned number."""


def half_width(questions: int, per_question: float) -> float:
    """Half-width of the 95 % interval of a share of 50 %, from `per_question` comparisons each."""
    if not questions:
        return 1.0
    counted = questions * per_question / design_effect(per_question, ASSUMED_CORRELATION)
    return min(1.0, _NORMAL_95 * 0.5 / math.sqrt(counted))


def comparisons_per_question(plan: Plan, numbers: ForecastByJudge) -> float:
    """Comparisons of one judge with one prompt on a question; both orders are one comparison."""
    rows = max(1, len(plan.study.judges) * len(plan.prompts))
    asked = (numbers.asks - numbers.noise) / rows / max(1, len(plan.items))
    orders = 2 if plan.study.pair_orders == "both" else 1
    return max(asked / orders / max(1, plan.study.repeats), 1.0)


def precision_text(plan: Plan, numbers: ForecastByJudge) -> str:
    width = half_width(len(plan.items), comparisons_per_question(plan, numbers))
    share = "share of flips" if plan.study.pair_orders == "both" else "first-position share"
    return f"{share} known to ± {number(100 * width)} points"


def power_html(plan: Plan, numbers: ForecastByJudge) -> Markup:
    """Table of the interval and the cost with fewer and with more questions."""
    per = comparisons_per_question(plan, numbers)
    rows = [_power_row(plan, numbers, per, step) for step in _STEPS if len(plan.items) * step >= 2]
    head = ["questions", "calls", "cost", "95 % interval of a share of 50 %"]
    note = (
        "An interval of half the width needs four times the questions. Repeating the same calls "
        "reduces only the judge's noise."
    )
    return fill(
        '<h3>More questions narrow the interval</h3>{}<p class="hint">{}</p>',
        Table(head, rows, "eh-jt", box="").html(),
        note,
    )


def _power_row(plan: Plan, numbers: ForecastByJudge, per: float, step: float) -> list[str]:
    questions = round(len(plan.items) * step)
    scale = questions / max(1, len(plan.items))
    cost = None if numbers.dollars is None else numbers.dollars * scale
    planned = " (planned)" if step == 1 else ""
    return [
        f"{count(questions)}{planned}",
        count(round(numbers.asks * scale)),
        dollars(cost),
        f"± {number(100 * half_width(questions, per), 1)} points",
    ]
