"""Precision of a planned study: how wide the intervals of its shares will be, and what would narrow
them.

Widths are computed for a share of 50 %, the widest case. Before there are replies, the verdicts on
one question are assumed to have the correlation ρ = ASSUMED_CORRELATION, so that m of them count as
m/(1 + (m − 1)ρ) independent ones; afterwards the measured variance components are used.
"""

import math
from collections.abc import Iterator
from typing import Final

from components.html.format import NARROW_SPACE, count, number, points
from components.html.markup import Markup
from components.html.pieces import Kpi, kpi_strip
from components.study.file.controls import controls
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.plan.cost_preview import (
    ASSUMED_CORRELATION,
    ForecastByJudge,
    detectable_first_slot_share_kpi,
)
from components.study.steps import purchase_options, width_curve
from components.study.steps.planned_study import PlannedStudy, comparisons_per_question
from judges.planning.plan import Plan
from metrics.estimation.planning.power import design_effect, detectable_share
from metrics.win_rates.planned_width import detectable_win_rate
from studies.spec.presentations import resolve_contestants

_NORMAL_95: Final = 1.96
ASSUMED_FLIPS: Final = 0.3
"""Share of comparisons assumed to flip, to compute the smallest detectable position bias."""
_VOTES: Final = 40
"""Number of votes for which the panel states how wide the interval of the agreement with people
would be, if the data have no labels."""
_SIZES: Final = (50, 100, 200, 500, 1000, 2000, 5000)


def share_half_width(questions: int, per_question: float, at: float = 0.5) -> float:
    """Half the width, from 0 to 1, of the 95 % interval of a share whose value is `at`, if it is
    measured on this number of questions with `per_question` comparisons each; 1 without questions.
    The comparisons on one question are assumed to have the correlation ASSUMED_CORRELATION."""
    if not questions:
        return 1.0
    counted = questions * per_question / design_effect(per_question, ASSUMED_CORRELATION)
    return min(1.0, _NORMAL_95 * math.sqrt(at * (1 - at) / counted))


def precision_text(plan: Plan, numbers: ForecastByJudge) -> str:
    """Text on how precisely the position bias is expected to be known: "share of flips expected to
    be known to ± 5 points or better" or, if answers are shown in one order only, the same for the
    first-position share. "" if single answers are judged."""
    if plan.judges_single_answers:
        return ""
    width = share_half_width(len(plan.items), comparisons_per_question(plan, numbers))
    share = "share of flips" if plan.study.pair_orders == "both" else "first-position share"
    return f"{share} expected to be known to ± {points(number(100 * width))} or better"


def power_html(planned: PlannedStudy, study: LenientStudy, state: FormState) -> Markup:
    """HTML of the expandable part "What can this study tell?": key figures, the curve, and what to
    add next."""
    flips = precision_text(planned.plan, planned.numbers)
    half = number(100 * planned.width().half)
    body = purchase_options.html.power(
        f"{f'{flips} · ' if flips else ''}{planned.planned_measure_name} to ± {points(half)}",
        _plan_basis_text(planned),
        _selectable_question_counts(planned),
        len(planned.plan.items),
        planned.available,
        kpi_strip(list(_power_kpis(planned))),
        width_curve.curve_html(planned),
        purchase_options.plan_additions_html(planned, study),
    )
    return controls.form_part(body, seen=state.last_change)


def _plan_basis_text(planned: PlannedStudy) -> str:
    """Text on the sizes of the plan, and on whether its variances are measured or assumed."""
    size, models = planned.size, resolve_contestants(planned.plan.study, planned.plan.items)
    parts = [
        count(len(planned.plan.items), "question"),
        count(len(models), "model"),
        *(
            []
            if planned.plan.judges_single_answers
            else ["both orders" if size.orders == 2 else "one order"]
        ),
        count(size.judges, "judge"),
        *([count(size.prompts, "prompt")] if size.prompts > 1 else []),
    ]
    source = f"assumed: verdicts on one question have a correlation of {ASSUMED_CORRELATION:g}"
    if planned.measured is not None:
        source = f"from {count(planned.stored, 'stored reply')} of this study"
    return f"with {', '.join(parts)}; {source}"


def _selectable_question_counts(planned: PlannedStudy) -> list[int]:
    """Numbers of questions that the user can choose, the present and the highest possible one
    included; empty if there is no choice."""
    now, available = len(planned.plan.items), planned.available
    if available <= now and now < 2 * _SIZES[0]:
        return []
    fitting = [n for n in _SIZES if n < available and not 0.8 < n / now < 1.25][:3]
    return sorted({*fitting, now, available})


def _power_kpis(planned: PlannedStudy) -> Iterator[Kpi]:
    plan, numbers = planned.plan, planned.numbers
    per = comparisons_per_question(plan, numbers)
    questions = len(plan.items)
    if planned.size.orders == 2:
        tenth = number(100 * share_half_width(questions, per, at=0.1))
        yield Kpi(
            "Share of comparisons that flip when swapped",
            f"± {number(100 * share_half_width(questions, per))}",
            "points",
            f"95{NARROW_SPACE}% interval of this share if it is 50{NARROW_SPACE}%; ± {tenth} "
            f"points if it is 10{NARROW_SPACE}%",
        )
        yield _detectable_preference_kpi(questions * per / design_effect(per, ASSUMED_CORRELATION))
    elif not plan.judges_single_answers:
        yield detectable_first_slot_share_kpi(plan, numbers)
    half = planned.width().half
    found = number(100 * detectable_win_rate(half))
    rate = "win rate" if planned.compares_pairs else "share"
    yield Kpi(
        planned.planned_measure_name.capitalize(),
        f"± {number(100 * half)}",
        "points",
        f"95{NARROW_SPACE}% interval of the {planned.planned_measure_name}; with 80{NARROW_SPACE}% "
        f"power, a true {rate} of {found}{NARROW_SPACE}% or more is detected as different from "
        f"50{NARROW_SPACE}%",
    )
    yield _agreement_with_people_kpi(planned)


def _detectable_preference_kpi(comparisons: float) -> Kpi:
    """Key figure: the smallest preference for one position that can be detected among the flips of
    this number of comparisons, as a ratio such as "60 : 40". The share of flips is assumed to be
    ASSUMED_FLIPS."""
    flips = ASSUMED_FLIPS * comparisons
    found = detectable_share(flips)
    label = "Preference for a position"
    if found is None:
        return Kpi(
            label,
            "not detectable",
            note=f"expected: about {count(round(flips), 'flip')}, too few to detect a preference "
            "even if all are toward one position",
        )
    high = round(100 * found)
    return Kpi(
        label,
        f"{high} : {100 - high}",
        "of flips",
        "smallest ratio of flips toward one position to flips toward the other that is detected "
        f"with 80{NARROW_SPACE}% power; expected: about {count(round(flips), 'flip')}",
    )


def _agreement_with_people_kpi(planned: PlannedStudy) -> Kpi:
    labelled = sum(bool(item.human or item.labels) for item in planned.plan.items)
    label = "Agreement with people"
    if labelled:
        width = number(100 * share_half_width(labelled, 1))
        return Kpi(label, f"± {width}", "points", f"{count(labelled, 'question')} with labels")
    width = number(100 * share_half_width(_VOTES, 1))
    return Kpi(
        label,
        "not known",
        note=f"no question has votes or labels yet; with {_VOTES} votes (Vote tab), the "
        f"95{NARROW_SPACE}% interval of agreement with people is ± {points(width)}",
    )
