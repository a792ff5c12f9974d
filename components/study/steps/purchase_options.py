"""Table of additions that would narrow the interval of a planned study: more questions, a further
judge, prompt or repeat; with their calls, cost and gain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.html.format import count, dollars, number, share, slot_name
from components.html.markup import Markup
from components.html.templates import macros
from components.study.file.lenient_study import LenientStudy, available_prompts
from components.study.steps.planned_study import PlannedStudy
from judges.planning.plan_checks import skip_reason
from judges.rendering.prompt import Prompt
from judges.rendering.prompt_library import LibraryPrompt
from metrics.estimation.planning.variance_components import ITEM, REPEAT
from metrics.win_rates.planned_width import (
    JUDGE,
    ORDER,
    PROMPT,
    PlannedWidth,
    variance_shares_by_source,
)
from studies.domain import Item
from studies.spec.keys import DATA, STUDY

html: Final = macros("study/steps/power.html")
_MIN_STEP: Final = 50
"""Minimum number of additional questions offered, unless the data have fewer."""
NEEDS_PROBABILITIES: Final = "label-probability"
"""Prompt that needs token probabilities, which many judges do not return."""
_SOURCES: Final = {
    ITEM: ("Questions", "the choice of questions"),
    ORDER: ("Order of the answers", "the order of the answers"),
    JUDGE: ("Judge", "the judge"),
    PROMPT: ("Prompt", "the prompt"),
    REPEAT: ("Single replies", "random variation between replies"),
}


@dataclass(frozen=True, slots=True)
class PurchaseOption:
    """One way to narrow the interval of the planned measure. `calls`: number of additional calls;
    `width`: width of the interval afterwards; `change`: change of the form that its button Add
    makes, None for no button."""

    facet: str
    """Source of variance that the option reduces, such as ITEM or JUDGE."""
    text: str
    calls: int
    width: PlannedWidth
    change: Mapping[str, Any] | None
    warning: str = ""
    assumed: bool = False
    """Whether the width is only a best case, because the variance is not measured yet."""


def purchase_options(planned: PlannedStudy, study: LenientStudy) -> list[PurchaseOption]:
    """The additions that can be made to the plan: more questions (without a button if the data have
    no more), a judge, a prompt of the library that fits the study, a repeat of each call. If pairs
    are judged in both orders and the data have enough questions, also: twice the questions, in one
    order."""
    plan, asks, assumed = planned.plan, planned.numbers.asks, planned.measured is None
    now, judges, prompts = len(plan.items), planned.size.judges, len(plan.prompts)
    repeats, left = plan.study.repeats, planned.available - now
    more = min(left, max(now, _MIN_STEP)) if left > 0 else now
    larger = {"set": str(DATA.count), "to": str(0 if left == more else now + more)}
    made = [
        PurchaseOption(
            ITEM, f"{count(more)} more questions", round(asks * more / max(1, now)),
            planned.width(items=now + more), larger if left > 0 else None,
            "" if left > 0 else "the data have no more questions: choose a larger file",
        ),
        PurchaseOption(
            JUDGE, f"A {_ordinal(judges + 1)} judge", asks // judges,
            planned.width(judges=judges + 1), {"do": "add judge"},
            "cost computed with the price of the present judges", assumed,
        ),
    ]  # fmt: skip
    if (found := _choose_prompt_to_add(plan.prompts, plan.items[:20], study)) is not None:
        add = {"do": "prompt", "prompt": found.name_in_study_file(study.folder), "on": True}
        text = f"A {_ordinal(prompts + 1)} prompt, {found.prompt.name}"
        width = planned.width(prompts=prompts + 1)
        made.append(PurchaseOption(PROMPT, text, asks // prompts, width, add, assumed=assumed))
    made.append(
        PurchaseOption(
            REPEAT, f"A {_ordinal(repeats + 1)} reply to each call",
            (asks - planned.numbers.noise) // max(1, repeats), planned.width(repeats=repeats + 1),
            {"set": str(STUDY.repeats), "to": str(repeats + 1)}, assumed=assumed,
        )
    )  # fmt: skip
    if planned.size.orders == 2 and planned.available >= 2 * now and planned.compares_pairs:
        to = 0 if planned.available == 2 * now else 2 * now
        one = {"do": "set", "values": {str(DATA.count): str(to), str(STUDY.orders): "one"}}
        text, width = "One order only, twice the questions", planned.width(items=2 * now, orders=1)
        warning = "with one order, position bias cannot be measured"
        made.append(PurchaseOption(ORDER, text, 0, width, one, warning))
    return made


def _choose_prompt_to_add(
    prompts: Sequence[Prompt], items: Sequence[Item], study: LenientStudy
) -> LibraryPrompt | None:
    """A prompt of the library that could be added to the study; None if there is none. It has the
    protocol of the study's first prompt, can be used for all `items`, and needs no token
    probabilities. If several fit, the one most like the first prompt, by name and verdict
    format."""
    first, own = prompts[0], {prompt.name for prompt in prompts}

    def dissimilarity(entry: LibraryPrompt) -> tuple[bool, bool]:
        family = first.name.partition("-")[0]
        return entry.prompt.name.partition("-")[0] != family, entry.prompt.verdict != first.verdict

    for entry in sorted(available_prompts(study.folder), key=dissimilarity):
        one = entry.prompt
        if one.name in own or one.protocol != first.protocol or one.name == NEEDS_PROBABILITIES:
            continue
        if not any(skip_reason(one, item, (*prompts, one)) for item in items):
            return entry
    return None


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth")
    return words[n - 1] if n <= len(words) else slot_name(n - 1)


# ---------------------------------------------------------------------------------- HTML


def plan_additions_html(planned: PlannedStudy, study: LenientStudy) -> Markup:
    """HTML of the sources of variance, the advice, and the table of options."""
    options = purchase_options(planned, study)
    now = planned.width().half
    best = best_option(options, now)
    parts = (
        {}
        if planned.measured is None
        else variance_shares_by_source(planned.verdict_variance_components, planned.size)
    )
    shown = [
        (name, _SOURCES[name][0], parts[name]) for name in _SOURCES if (parts.get(name, 0) >= 0.005)
    ]
    rows = [
        (
            option,
            dollars(planned.cost_of(option.calls)) if option.calls else dollars(0),
            f"{'at best ' * (option.assumed or option.width.at_best)}±\u00a0"
            f"{number(100 * option.width.half, 1)}",
            number(100 * (option.width.half - now), 1, signed=True),
        )
        for option in options
    ]
    return html.purchases(
        planned, shown, _first_addition_and_reason(planned, best, parts), rows, best, ORDER
    )


def best_option(options: Sequence[PurchaseOption], half_width: float) -> PurchaseOption | None:
    """The option that narrows the interval most for each additional call; None if no option is
    known to narrow it. `half_width`: half the width of the interval now. Options whose width is
    only assumed, and those without additional calls, do not count."""
    known = [
        one
        for one in options
        if one.calls and not one.assumed and not one.width.at_best and one.width.half < half_width
    ]
    return max(known, key=lambda one: (half_width - one.width.half) / one.calls, default=None)


def _first_addition_and_reason(
    planned: PlannedStudy, best: PurchaseOption | None, parts: Mapping[str, float]
) -> tuple[str, str]:
    """The addition to make first (empty if none is certain to help), and the reason; `best`: the
    result of `best_option`; `parts`: measured share of each source of variance."""
    if best is None:
        return "", (
            "None of these additions is certain to narrow the interval of the "
            f"{planned.planned_measure_name}; the changes above are the best case."
        )
    noun = {ITEM: "questions", JUDGE: "another judge", PROMPT: "another prompt", REPEAT: "repeats"}
    first = f"Add {noun[best.facet]} first."
    if planned.measured is None:
        return first, (
            "More questions narrow the interval; the effect of another judge, prompt or repeat "
            "becomes known with the first run."
        )
    largest = max(parts, key=lambda name: parts[name])
    part, source = share(parts[largest], 0), _SOURCES[largest][1]
    return (
        first,
        f"{part} of the variance of the {planned.planned_measure_name} is due to {source}.",
    )
